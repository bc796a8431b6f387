"""Outputs with gaps, as a user sees them."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal, multivariate_t

from nard import NARD
from nard.baselines import CAPME
from nard.covariance import log_density
from nard.data.cleaning import fill_missing
from nard.data.ledger import Ledger
from nard.fits.fitting import fitted_model
from nard.fits.methods import METHODS
from nard.selection import qvalues
from nard.simulate import make_regression

FAST = {"lam": 0.1, "relevance": "both", "hidden": 1, "tails": None}


def simulated(seed=0, share=0.2, n=80, d=15, m=12, **design):
    data = make_regression(n, d, m, relevant=0.3, density=0.4, edge_probability=0.2, random_state=seed, **design)
    lost = np.random.default_rng(seed).random(data.Y.shape) < share
    return data, np.where(lost, np.nan, data.Y)


@pytest.fixture(scope="module")
def fitted():
    data, Y = simulated()
    return NARD(**FAST).fit(data.X[:60], Y[:60]), data, Y


@pytest.mark.parametrize("tails", [np.inf, 4.0])
def test_density_is_that_of_the_marginals(tails):
    rng = np.random.default_rng(0)
    root = rng.standard_normal((5, 5))
    V, L = root @ root.T + np.eye(5), rng.standard_normal((2, 5))
    inflation = rng.uniform(1.0, 2.0, 30)
    E = rng.standard_normal((30, 5))
    E[rng.random(E.shape) < 0.4] = np.nan
    E[0], E[1, 1:] = 1.0, np.nan
    E[1, 0] = 0.5
    E = E[~np.isnan(E).all(axis=1)]
    inflation = inflation[: len(E)]
    found = log_density(E, np.linalg.inv(V), inflation, L, tails)
    for e, f, value in zip(E, inflation, found, strict=True):
        seen = ~np.isnan(e)
        S = (f * V + L.T @ L)[np.ix_(seen, seen)]
        density = multivariate_normal(np.zeros(len(S)), S)
        if np.isfinite(tails):
            density = multivariate_t(np.zeros(len(S)), S * (tails - 2) / tails, tails)
        assert value == pytest.approx(density.logpdf(e[seen]), rel=1e-9)


def test_log_likelihood_of_a_model_is_that_of_what_was_measured(fitted):
    model, data, Y = fitted
    mean = model.predict(data.X[60:])
    shared = (model._prediction.loadings * model._scaler.y_scale).T
    inflation = model._prediction.inflation(model._scaler.inputs(data.X[60:]))
    values = []
    for y, mu, f in zip(Y[60:], mean, inflation, strict=True):
        seen = ~np.isnan(y)
        S = (f * model.covariance_ + shared @ shared.T)[np.ix_(seen, seen)]
        values.append(multivariate_normal(mu[seen], S, allow_singular=True).logpdf(y[seen]))
    assert model.log_likelihood(data.X[60:], Y[60:]) == pytest.approx(np.mean(values), rel=1e-6)


def test_samples_without_any_output_do_not_count(fitted):
    model, data, Y = fitted
    more = np.vstack([Y, np.full((2, 12), np.nan)])
    assert model.log_likelihood(np.vstack([data.X, data.X[:2]]), more) == model.log_likelihood(data.X, Y)
    with pytest.raises(ValueError, match="no value"):
        model.log_likelihood(data.X[:2], more[-2:])
    with pytest.warns(UserWarning, match="2 of 62 samples have no output"):
        again = NARD(**FAST).fit(np.vstack([data.X[:60], data.X[:2]]), np.vstack([Y[:60], more[-2:]]))
    np.testing.assert_array_equal(again.coef_, model.coef_)


def tables(model):
    keys = ["feature", "target"], ["source", "target"]
    return [
        table.sort_values(key, ignore_index=True)
        for table, key in zip((model.associations(), model.edges()), keys, strict=True)
    ]


@pytest.mark.parametrize("change", ["units", "samples", "outputs"])
def test_findings_depend_on_nothing_else(fitted, change):
    model, data, Y = fitted
    X, Y = pd.DataFrame(data.X[:60]).add_prefix("x"), pd.DataFrame(Y[:60]).add_prefix("y")
    rng = np.random.default_rng(1)
    factor, options = 1.0, FAST
    if change == "units":
        Y, factor = 100.0 * Y + 7.0, 100.0
    elif change == "samples":
        order = rng.permutation(60)
        X, Y = X.iloc[order], Y.iloc[order]
    else:
        # The prior of the effects is learnt by folds of the outputs in their order.
        options = {**FAST, "relevance": "inputs"}
        model = NARD(**options).fit(X, Y)
        Y = Y[[f"y{i}" for i in rng.permutation(12)]]
    again = NARD(**options).fit(X, Y)
    first, second = tables(model)[0], tables(again)[0]
    np.testing.assert_allclose(second["weight"], factor * first["weight"], atol=0.02 * factor * first["weight"].std())
    edges = {frozenset(pair): z for *pair, z in tables(model)[1][["source", "target", "z"]].to_numpy()}
    for source, target, z in tables(again)[1][["source", "target", "z"]].to_numpy():
        assert edges[frozenset((source, target))] == pytest.approx(z, abs=0.05)


def test_predictions_are_better_than_with_means_filled_in():
    """And the estimate of V is not too small."""
    better = []
    for seed in range(5):
        data, Y = simulated(seed, 0.3, n=200)
        mean = np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y)
        models = [
            NARD(lam=0.1, relevance="entries", hidden=0, tails=None).fit(data.X[:100], y[:100]) for y in (Y, mean)
        ]
        better.append(np.subtract(*(model.log_likelihood(data.X[100:], data.Y[100:]) for model in models)))
    assert min(better) > 0


def test_too_few_values_are_named():
    data, Y = simulated()
    table = pd.DataFrame(Y, columns=[f"protein {i}" for i in range(12)])
    table.iloc[9:, 3] = np.nan
    with pytest.raises(
        ValueError, match=r"too few values: 'protein 3'; found: .* of 80 samples; expected: at least 10"
    ):
        NARD(**FAST).fit(data.X, table)


def test_baselines_do_not_take_gaps():
    data, Y = simulated()
    with pytest.raises(ValueError, match="Y contains NaN or infinity"):
        CAPME(lam=0.1, tau=0.1).fit(data.X, Y)


def test_one_output_with_gaps_is_that_of_the_samples_that_have_it():
    """A single output: gaps are samples that are left out."""
    data, Y = simulated(share=0.0, m=1)
    y = Y[:, 0].copy()
    y[::4] = np.nan
    seen = ~np.isnan(y)
    with pytest.warns(UserWarning, match="20 of 80 samples"):
        gaps = NARD(lam=0.1).fit(data.X, y)
    plain = NARD(lam=0.1).fit(data.X[seen], y[seen])
    np.testing.assert_array_equal(gaps.predict(data.X), plain.predict(data.X))
    pd.testing.assert_frame_equal(gaps.associations(), plain.associations())


def test_where_nothing_is_missing_nothing_of_it_is_used(monkeypatch):
    def used(*arguments, **named):
        raise AssertionError("there are no gaps")

    for place in ("Filled.alone", "Filled.together", "expected", "expected_alone"):
        monkeypatch.setattr(f"nard.algorithms.missing.{place}", used)
    monkeypatch.setattr("nard.algorithms.joint.sample_precision", used)
    monkeypatch.setattr("nard.algorithms.joint.OwnSamples", used)
    monkeypatch.setattr("nard.selection.edges.conditional", used)
    data, Y = simulated(share=0.0)
    model = NARD(**FAST).fit(data.X, Y)
    assert model._prediction.offset == 0.0
    assert len(model.edges()) == 66


def test_methods_that_take_no_gaps_get_imputed_values(tmp_path):
    """As the workflow fits them, and `nard fit`."""
    data, Y = simulated()
    X, Y = pd.DataFrame(data.X).add_prefix("x"), pd.DataFrame(Y).add_prefix("y")
    groups = pd.DataFrame({"side": [], "name": [], "genes": []})
    settings = {"lam": 0.1, "relevance": "entries", "hidden": 0, "fdr": 0.05, "time_budget": None}
    imputed = fill_missing(Y, "knn", "outputs", Ledger())
    for method, expected in (("sequential", Y), ("capme", imputed)):
        assert METHODS[method].takes_gaps == (expected is Y)
        found = fitted_model(method, settings, 1, X, Y, groups, tmp_path)
        again = fitted_model(method, settings, 1, X, expected, groups, tmp_path)
        np.testing.assert_array_equal(found.coef_, again.coef_)
        assert found.score(X, imputed) > 0.1


def test_an_output_that_is_measured_tells_of_one_that_is_not():
    """A copy with a little noise, half of it missing: its effect is known as well as that of the other."""
    errors = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((120, 3))
        shared = rng.standard_normal(120)
        Y = np.column_stack([X[:, 0] + shared, X[:, 0] + shared + 0.1 * rng.standard_normal(120)])
        truth = NARD(lam=0.01, relevance="inputs", hidden=0, tails=None).fit(X, Y).coef_[1, 0]
        Y[60:, 1] = np.nan
        gaps = NARD(lam=0.01, relevance="inputs", hidden=0, tails=None).fit(X, Y).coef_[1, 0]
        half = NARD(lam=0.01, relevance="inputs", hidden=0, tails=None).fit(X[:60], Y[:60]).coef_[1, 0]
        errors.append([abs(gaps - truth), abs(half - truth)])
    with_other, without = np.mean(errors, axis=0)
    assert with_other < 0.5 * without


@pytest.mark.parametrize("rule", ["cv", "ebic"])
def test_every_choice_takes_gaps(rule):
    data, Y = simulated(n=60, m=8)
    model = NARD(lam=rule).fit(data.X, Y)
    assert np.isfinite(model.lam_path_["score"]).all()
    assert np.isfinite(model.log_likelihood(data.X, Y))
    for table in (model.associations(), model.edges(), model.relevance()):
        assert np.isfinite(table["qvalue"]).all()


def rates(selected, true):
    return (selected & true).sum() / true.sum(), (selected & ~true).sum() / max(selected.sum(), 1)


@pytest.mark.slow
def test_error_rates_with_a_fifth_missing():
    """At a rate of 5 %, both kinds stay below 6 % on average, and edges have a null z of about unit variance."""
    found, spread = [], []
    for seed in range(40):
        data = make_regression(300, 73, 76, relevant=0.3, density=0.3, edge_probability=0.05, random_state=seed)
        lost = np.random.default_rng(seed).random(data.Y.shape) < 0.2
        model = NARD(lam=0.1, relevance="entries").fit(data.X, np.where(lost, np.nan, data.Y))
        upper = np.triu_indices(76, 1)
        test = model.edge_test_
        edges = rates(qvalues(test.pvalue[upper]) <= 0.05, data.edges[upper] != 0)
        entries = rates(model.entry_test_.qvalues() <= 0.05, data.coef.T != 0)
        found.append([*edges, *entries])
        spread.append(test.z[upper][~data.edges[upper].astype(bool)].std())
    edges_tpr, edges_fdr, entries_tpr, entries_fdr = np.mean(found, axis=0)
    assert edges_fdr <= 0.06
    assert entries_fdr <= 0.06
    assert entries_tpr >= 0.95
    assert edges_tpr >= 0.4
    assert np.mean(spread) == pytest.approx(1.0, abs=0.05)
