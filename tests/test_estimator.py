"""NARD as users meet it: names, units, errors, predictions, tuning, scikit-learn's own checks."""

import copy
import inspect
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpydoc.validate import validate
from scipy.stats import multivariate_normal, t
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from nard import NARD
from nard.algorithms import Data, RoughPass, minimise, starting_state
from nard.algorithms.evidence import posterior
from nard.algorithms.priors import make_alpha_prior, make_covariance_prior
from nard.estimator.scaling import Scaler
from nard.figures import plot_lam_path
from nard.simulate import make_regression


@parametrize_with_checks([NARD(), NARD(method="full", lam=0.1, relevance="inputs", hidden=0)])
def test_scikit_learn_checks(estimator, check):
    """No deviations."""
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return make_regression(150, 20, 8, random_state=0)


@pytest.fixture(scope="module")
def tables(data):
    X = pd.DataFrame(data.X, columns=[f"gene {i}" for i in range(20)], index=[f"s{i}" for i in range(150)])
    Y = pd.DataFrame(data.Y, columns=[f"protein {i}" for i in range(8)], index=X.index)
    return X, Y


@pytest.fixture(scope="module")
def model(tables):
    return NARD().fit(*tables)


def test_names_reach_every_table(model, tables):
    X, Y = tables
    assert set(model.relevance()["feature"]) == set(X.columns)
    associations = model.associations()
    assert set(associations["feature"]) == set(X.columns)
    assert set(associations["target"]) == set(Y.columns)
    edges = model.edges()
    assert len(edges) == 8 * 7 // 2
    assert set(edges["source"]) | set(edges["target"]) == set(Y.columns)


def test_tables_are_consistent(model):
    for table in (model.relevance(), model.associations(), model.edges()):
        assert table["pvalue"].between(0, 1).all()
        assert table["pvalue"].is_monotonic_increasing
        assert (table["qvalue"] >= table["pvalue"] - 1e-15).all()
        np.testing.assert_array_equal(table["selected"], table["qvalue"] <= 0.05)
    associations, edges = model.associations(), model.edges()
    for table, estimate in ((associations, "weight"), (edges, "partial_correlation")):
        np.testing.assert_allclose(table["z"], table[estimate] / table["sd"])
        np.testing.assert_allclose(table["pvalue"], 2 * t.sf(np.abs(table["z"]), table["degrees"]), rtol=1e-8)
    assert (np.sign(edges["partial_correlation"]) == -np.sign(edges["precision"])).all()
    assert model.associations(0.5)["selected"].sum() >= model.associations(0.01)["selected"].sum()


def test_finds_the_truth(model, data):
    selected = model.associations().query("selected")
    found = {(int(r.target.split()[1]), int(r.feature.split()[1])) for r in selected.itertuples()}
    true = {(i, j) for i, j in zip(*np.nonzero(data.coef), strict=True)}
    assert len(found & true) >= 0.95 * len(true)
    assert len(found - true) <= 0.15 * len(found)
    assert np.linalg.norm(model.coef_ - data.coef) < 0.25 * np.linalg.norm(data.coef)


def test_coefficients_are_the_sum_of_both_parts(data):
    """Names of the contract, and what each kind of relevance leaves out."""
    for relevance, parts in {"inputs": (True, False), "entries": (False, True), "both": (True, True)}.items():
        model = NARD(lam=0.1, relevance=relevance, alpha_prior=("gamma", 1.0, 1e-3)).fit(data.X, data.Y)
        assert model.relevance_ == relevance
        assert (model.input_coef_.any(), model.entry_coef_.any()) == parts
        np.testing.assert_array_equal(model.coef_, model.input_coef_ + model.entry_coef_)
        np.testing.assert_allclose(model.predict(data.X), data.X @ model.coef_.T + model.intercept_)
        assert model.hidden_.shape == (150, 0)
        assert model.hidden_loadings_.shape == (0, 8)
        assert model.cautions_ == []


def test_the_parts_are_chosen_by_held_out_samples(model):
    scores = model.scores_
    assert scores["relevance"].tolist() == ["inputs", "entries", "both"]
    assert scores["chosen"].sum() == 1
    (chosen,) = scores[scores["chosen"]].to_dict("records")
    assert chosen["relevance"] == model.relevance_
    assert chosen["lam"] == model.lam_
    eligible = scores[scores["r2"] >= scores["r2"].max() - 0.02]
    assert chosen["score"] == eligible["score"].max()


@pytest.mark.parametrize("shape", [(1.0, 1.0, (0.1, 0.2)), (0.2, 0.2, (0.5, 1.0))], ids=["dense", "sparse"])
def test_which_part_predicts_depends_on_the_truth(shape):
    """Many weak effects of every input are U's, few strong ones B's."""
    relevant, density, weights = shape
    drawn = make_regression(
        150, 20, 10, relevant=relevant, density=density, weight_range=weights, edge_probability=0.0, random_state=0
    )
    model = NARD(lam=0.1, hidden=0).fit(drawn.X, drawn.Y)
    assert model.input_coef_.any() == (density == 1.0)


@pytest.mark.parametrize("method", ["full", "sequential", "surrogate", "hybrid"])
def test_inputs_without_hidden_ones_are_the_paper_s_algorithm(data, method):
    """Bit by bit: the rough pass, its start and the minimiser, called directly."""
    model = NARD(method, lam=0.1, relevance="inputs", hidden=0).fit(data.X, data.Y)
    scaler = Scaler(data.X, data.Y, True)
    scaled = Data(scaler.inputs(data.X), scaler.outputs(data.Y))
    alpha_prior, cov_prior = make_alpha_prior(None, 8), make_covariance_prior(None, scaled.Y.var(axis=0))
    rough = RoughPass(scaled, cov_prior)
    problem = rough.problem(scaled, 0.1, alpha_prior, cov_prior)
    fallback = starting_state(problem, rough, "sequential", 1e-4) if method in ("full", "surrogate") else None
    start = starting_state(problem, rough, method, 1e-4)
    fit = minimise(problem, start, method, tol=1e-4, max_iter=500, fallback=fallback)
    post = posterior(problem, fit.state.alpha)
    coef = np.zeros((20, 8))
    coef[post.active] = post.mean
    assert np.array_equal(model.alpha_, fit.state.alpha)
    assert np.array_equal(model.coef_, (coef * (scaler.y_scale / scaler.x_scale[:, None])).T)
    assert np.array_equal(model.precision_, fit.state.omega / np.outer(scaler.y_scale, scaler.y_scale))
    assert np.array_equal(model.objective_, fit.objective)


def test_relevance_is_a_parameter_and_a_method(data):
    fitted = NARD(lam=0.1, relevance="inputs", hidden=0).fit(data.X, data.Y)
    assert fitted.relevance == "inputs"
    assert fitted.get_params()["relevance"] == "inputs"
    assert NARD().get_params()["relevance"] == "auto"
    assert repr(fitted) == "NARD(hidden=0, lam=0.1, relevance='inputs')"
    assert repr(NARD()) == "NARD()"
    table = fitted.relevance(0.1)
    assert isinstance(table, pd.DataFrame)
    pd.testing.assert_frame_equal(table, fitted.relevance_table(0.1))
    pd.testing.assert_frame_equal(fitted.relevance(fdr=0.1), table)
    for again in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted)), copy.copy(fitted)):
        assert again.relevance == "inputs"
        pd.testing.assert_frame_equal(again.relevance(0.1), table)


def test_a_copy_s_relevance_is_its_own(data):
    """The table is that of the model that is asked, not of the one that the parameter came from."""
    fitted = NARD(lam=0.1, relevance="inputs", hidden=0).fit(data.X, data.Y)
    other = clone(fitted)
    assert other.relevance == "inputs"
    with pytest.raises(NotFittedError):
        other.relevance()
    other.set_params(relevance="entries").fit(data.X, data.Y)
    assert (fitted.relevance, other.relevance) == ("inputs", "entries")
    assert other.relevance_ == "entries"
    assert np.isfinite(fitted.relevance()["alpha"]).any()
    assert np.isinf(other.relevance()["alpha"]).all()
    third = NARD(lam=0.1, hidden=0, relevance=fitted.relevance).fit(data.X[:100], data.Y[:100])
    assert not third.relevance()["statistic"].equals(fitted.relevance()["statistic"])


@pytest.fixture(scope="module")
def factors():
    """Five hidden inputs behind 40 outputs, and a few entries of ten inputs; the last 50 samples are held out."""
    rng = np.random.default_rng(0)
    W = np.where(rng.random((10, 40)) < 0.05, 0.8, 0.0)
    X, F = rng.standard_normal((250, 10)), rng.standard_normal((250, 5))
    L = 0.6 * rng.standard_normal((5, 40))
    Y = X @ W + F @ L + rng.standard_normal((250, 40))
    return X, Y, W, F, L


def test_hidden_inputs_are_found_and_shown(factors):
    X, Y, W, F, _ = factors
    model = NARD(lam=0.2, relevance="entries").fit(X[:200], Y[:200])
    assert model.hidden_.shape == (200, 5)
    assert model.hidden_loadings_.shape == (5, 40)
    np.testing.assert_allclose(model.hidden_.T @ model.hidden_ / 200, np.eye(5), atol=1e-8)
    true = F[:200] - F[:200].mean(axis=0)
    explained = ((model.hidden_.T @ true / 200) ** 2).sum(axis=0) / true.var(axis=0)
    assert (explained > 0.85).all()
    assert model.cautions_ == []
    found = model.associations(selected_only=True)
    pairs = {(int(r.feature[1:]), int(r.target[1:])) for r in found.itertuples()}
    assert len(pairs & set(zip(*np.nonzero(W), strict=True))) >= 0.9 * (W != 0).sum()


def test_hidden_inputs_that_are_not_allowed_for_are_warned_of(factors):
    X, Y, *_ = factors
    with pytest.warns(UserWarning, match='5 evident, 0 allowed for.*set hidden="auto"'):
        model = NARD(lam=0.2, relevance="inputs", hidden=0).fit(X[:200], Y[:200])
    assert model.cautions_ == [{"code": "hidden inputs off", "evident": 5, "used": 0}]
    with pytest.warns(UserWarning, match="2 allowed for"):
        NARD(lam=0.2, relevance="entries", hidden=2).fit(X[:200], Y[:200])


@pytest.mark.parametrize("params", [{"relevance": "entries"}, {"alpha_prior": ("gamma", 1, 1e-3)}], ids=["B", "U"])
def test_predictive_density_with_hidden_inputs(factors, params):
    """V(1 + xᵀΣx) + LᵀL: the loadings by their definition, density and standard deviations from dense matrices."""
    X, Y, *_ = factors
    model = NARD(lam=0.2, **({"hidden": 5, "relevance": "inputs"} | params)).fit(X[:200], Y[:200])
    L = model._prediction.loadings * model._scaler.y_scale
    assert len(L) == 5
    mean, std = model.predict(X[200:], return_std=True)
    basis = np.linalg.qr(model.hidden_, mode="complete")[0][:, 5:]
    scaled, new = ((part - X[:200].mean(axis=0)) / X[:200].std(axis=0) for part in (X[:200], X[200:]))
    active = model.active_
    # Σ is that of the inputs without what the hidden ones explain of them.
    rotated = (basis.T @ scaled)[:, active]
    sigma = np.linalg.inv(np.diag(model.alpha_[active]) + rotated.T @ rotated)
    inflation = 1.0 + np.einsum("ij,jk,ik->i", new[:, active], sigma, new[:, active])
    densities = [multivariate_normal(m, f * model.covariance_ + L.T @ L) for m, f in zip(mean, inflation, strict=True)]
    np.testing.assert_allclose(std**2, [np.diag(density.cov) for density in densities], rtol=1e-6)
    expected = np.mean([density.logpdf(y) for density, y in zip(densities, Y[200:], strict=True)])
    assert model.log_likelihood(X[200:], Y[200:]) == pytest.approx(expected, rel=1e-6)
    assert (np.abs(Y[200:] - mean) <= 1.96 * std).mean() == pytest.approx(0.95, abs=0.03)
    residuals = Y[:200] - model.predict(X[:200])
    least_squares = model.hidden_.T @ residuals / 200
    shrunk = np.linalg.norm(L, axis=1) / np.linalg.norm(least_squares, axis=1)
    np.testing.assert_allclose(L, shrunk[:, None] * least_squares, atol=1e-8)
    assert ((shrunk > 0.5) & (shrunk <= 1.0)).all()


def test_predictive_draws_have_the_stated_likelihood(factors):
    """Outputs drawn from the predictive density itself: their mean log density is minus its entropy."""
    X, Y, *_ = factors
    model = NARD(lam=0.2, relevance="entries", hidden=5).fit(X[:200], Y[:200])
    rng = np.random.default_rng(0)
    L = model._prediction.loadings * model._scaler.y_scale
    covariance = model.covariance_ + L.T @ L  # no column-wise part: the same for every sample
    drawn = model.predict(X) + rng.multivariate_normal(np.zeros(40), covariance, 250)
    entropy = 0.5 * np.linalg.slogdet(2.0 * np.pi * np.e * covariance)[1]
    # A log density varies by sqrt(m/2) between samples.
    assert model.log_likelihood(X, drawn) == pytest.approx(-entropy, abs=4 * np.sqrt(20 / 250))


def test_graph_is_ready_for_graphml(model, tmp_path):
    graph = model.to_networkx(associations=True)
    nx.write_graphml(graph, tmp_path / "network.graphml")
    read = nx.read_graphml(tmp_path / "network.graphml")
    assert set(read.nodes) == set(graph.nodes)
    kinds = nx.get_node_attributes(graph, "kind")
    assert sum(kind == "target" for kind in kinds.values()) == 8
    assert graph.number_of_edges() == model.edges()["selected"].sum() + model.associations()["selected"].sum()


def test_an_input_named_like_an_output_is_another_node(data):
    names = [f"p{i}" for i in range(8)]
    Y = pd.DataFrame(data.Y, columns=names)
    X = pd.DataFrame(data.Y + data.X[:, :8], columns=names)  # every input drives the output of its name
    graph = NARD(lam=0.1).fit(X, Y).to_networkx(associations=True)
    assert graph.has_edge("p0 (input)", "p0")
    assert not any(source == target for source, target in graph.edges)


@pytest.mark.parametrize("relevance", ["inputs", "entries", "both"])
def test_predictive_density_is_gaussian_with_the_stated_covariance(data, relevance):
    model = NARD(lam=0.1, relevance=relevance, hidden=0).fit(data.X[:100], data.Y[:100])
    X, Y = data.X[100:], data.Y[100:]
    mean, std = model.predict(X, return_std=True)
    inflation = np.ones(len(X))
    if model.active_.any():
        scaled = (X - data.X[:100].mean(axis=0)) / data.X[:100].std(axis=0)
        training = (data.X[:100] - data.X[:100].mean(axis=0)) / data.X[:100].std(axis=0)
        active = model.active_
        sigma = np.linalg.inv(np.diag(model.alpha_[active]) + training[:, active].T @ training[:, active])
        inflation += np.einsum("ij,jk,ik->i", scaled[:, active], sigma, scaled[:, active])
    np.testing.assert_allclose(std**2, np.outer(inflation, np.diag(model.covariance_)), rtol=1e-8)
    expected = np.mean(
        [multivariate_normal(m, model.covariance_ * f).logpdf(y) for m, f, y in zip(mean, inflation, Y, strict=True)]
    )
    assert model.log_likelihood(X, Y) == pytest.approx(expected, rel=1e-6)
    assert model.score(X, Y) > 0


def of_different_quality(data, seed=0, degrees=5.0):
    """Y with residuals of a multivariate t, of the same covariance."""
    fitted = data.X @ data.coef.T
    scale = np.sqrt((degrees - 2.0) / np.random.default_rng(seed).chisquare(degrees, len(data.X)))
    return fitted + (data.Y - fitted) * scale[:, None]


def test_samples_of_different_quality_have_a_predictive_density_with_heavy_tails():
    data = make_regression(400, 20, 12, random_state=3)
    Y = of_different_quality(data)
    model = NARD(hidden=0).fit(data.X[:250], Y[:250])
    assert model.tails_ == pytest.approx(5.0, abs=3.0)
    assert model.scores_.query("chosen")["tails"].tolist() == [model.tails_]
    normal = NARD(hidden=0, tails=None).fit(data.X[:250], Y[:250])
    held_out = data.X[250:], Y[250:]
    # What is gained is of the order of what a t with these tails gains in the truth, 0.6.
    assert model.log_likelihood(*held_out) > normal.log_likelihood(*held_out) + 0.3
    # What was chosen, given: nothing is cross-validated, and the density is the same.
    chosen = {"relevance": model.relevance_, "hidden": model.n_hidden_, "lam": model.lam_, "tails": model.tails_}
    assert NARD(**chosen).fit(data.X[:250], Y[:250]).log_likelihood(*held_out) == model.log_likelihood(*held_out)
    np.testing.assert_array_equal(model.predict(data.X, return_std=True), normal.predict(data.X, return_std=True))
    assert NARD(relevance="inputs", hidden=0).fit(data.X[:250], Y[:250]).tails_ is None


def test_normal_samples_rarely_have_a_predictive_density_with_heavy_tails():
    heavy = 0
    for seed in range(20):
        data = make_regression(100, 5, 8, random_state=seed)
        heavy += NARD(hidden=0, relevance="entries").fit(data.X, data.Y).tails_ is not None
    assert heavy <= 3


def test_predictive_intervals_cover():
    data = make_regression(400, 60, 10, random_state=5)
    model = NARD(lam=0.1, relevance="inputs", hidden=0).fit(data.X[:100], data.Y[:100])
    mean, std = model.predict(data.X[100:], return_std=True)
    coverage = (np.abs(data.Y[100:] - mean) <= 1.96 * std).mean()
    assert coverage == pytest.approx(0.95, abs=0.04)


@pytest.mark.parametrize("lam", ["cv", "ebic"])
def test_lambda_path(data, lam):
    model = NARD(lam=lam).fit(data.X, data.Y)
    path = model.lam_path_
    assert path["chosen"].sum() == 1
    best = path["score"].idxmax() if lam == "cv" else path["score"].idxmin()
    assert path.loc[best, "lam"] == model.lam_
    assert (np.diff(path["lam"]) < 0).all()
    assert path["n_edges"].iloc[0] <= path["n_edges"].iloc[-1]
    axes = plot_lam_path(model)
    assert axes.get_ylabel()
    with pytest.raises(ValueError, match="no path"):
        plot_lam_path(NARD(lam=0.1, relevance="inputs", hidden=0).fit(data.X, data.Y))


def test_cross_validation_does_not_pick_the_smallest_lambda_on_independent_outputs():
    data = make_regression(100, 10, 15, edge_probability=0.0, random_state=0)
    model = NARD().fit(data.X, data.Y)
    assert model.lam_ > 0.5 * model.lam_path_["lam"].max()


def test_same_seed_same_result(data):
    one, two = NARD(random_state=3).fit(data.X, data.Y), NARD(random_state=3).fit(data.X, data.Y)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.precision_, two.precision_)
    NARD(random_state=np.random.RandomState(0), order="random", lam=0.1).fit(data.X, data.Y)


def test_works_inside_scikit_learn(tables):
    X, Y = tables
    pipeline = make_pipeline(StandardScaler(), NARD(lam=0.1, relevance="inputs", hidden=0))
    assert cross_val_score(pipeline, X, Y, cv=3).min() > 0
    assert clone(NARD(lam=0.2)).lam == 0.2


@pytest.mark.parametrize(
    ("n", "d", "m"), [(30, 1, 5), (30, 5, 1), (20, 6, 40), (25, 200, 4), (3, 2, 2), (6, 3, 3), (40, 300, 60)]
)
@pytest.mark.parametrize("method", ["full", "sequential", "surrogate", "hybrid"])
def test_extreme_shapes_work(n, d, m, method):
    data = make_regression(n, d, m, random_state=0)
    model = NARD(method=method, lam=0.2).fit(data.X, data.Y)
    assert np.isfinite(model.coef_).all()
    assert np.linalg.eigvalsh(model.precision_)[0] > 0
    assert np.isfinite(model.log_likelihood(data.X, data.Y))
    assert len(model.associations()) == d * m
    assert model.relevance()["pvalue"].notna().all()


@pytest.mark.parametrize(
    ("n", "d", "m", "params"),
    [
        (100, 30, 12, {}),
        (50, 30, 3, {}),
        (60, 100, 5, {}),
        pytest.param(100, 300, 3, {}, marks=pytest.mark.slow),
        pytest.param(50, 200, 3, {"lam": "cv", "relevance": "auto", "hidden": "auto"}, marks=pytest.mark.slow),
        (30, 20, 4, {"cov_prior": ("inverse-wishart", 30.0, 30.0)}),
    ],
)
def test_nothing_relevant_at_all(n, d, m, params):
    """Each kind of finding turns up in about one of twenty data sets without any; four of 25 is the 97 % quantile.

    With d > N and few outputs J's minimum is interpolation, and almost everything used to be found.
    """
    hits = np.zeros(3)
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X, Y = rng.standard_normal((n, d)), rng.standard_normal((n, m))
        model = NARD(**({"lam": 0.2, "relevance": "inputs", "hidden": 0} | params)).fit(X, Y)
        hits += [table["selected"].any() for table in (model.relevance(), model.associations(), model.edges())]
    assert (hits <= 4).all()


def test_collinear_duplicated_and_constant_inputs():
    data = make_regression(120, 6, 5, relevant=1.0, random_state=0)
    X = np.column_stack([data.X, data.X[:, 0], data.X[:, 1] + data.X[:, 2], np.full(120, 7.0)])
    model = NARD(lam=0.1, relevance="inputs", hidden=0).fit(X, data.Y)
    assert np.isfinite(model.coef_).all()
    assert np.isinf(model.alpha_[-1])
    assert (model.coef_[:, -1] == 0).all()
    assert (model.associations().query("feature == 'x8'")["pvalue"] == 1).all()
    together = model.coef_[:, 0] + model.coef_[:, 6]
    np.testing.assert_allclose(together, data.coef[:, 0], atol=0.3)


def test_an_output_that_is_constant_in_a_fold():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 5)), rng.standard_normal((60, 4))
    Y[:, 2] = 0.0
    Y[7, 2] = 1.0
    model = NARD().fit(X, Y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.precision_).all()


def test_outputs_that_the_inputs_explain_exactly():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    Y = X @ rng.standard_normal((5, 3))
    model = NARD(lam=0.1).fit(X, Y)
    assert model.score(X, Y) > 0.9999
    assert np.isfinite(model.objective_).all()


@pytest.mark.parametrize(
    ("kernel", "params"), [("rbf", None), ("polynomial", None), ("polynomial", {"n_components": 80})]
)
def test_kernels_see_what_a_line_cannot(kernel, params):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 4))
    signal = np.column_stack([X[:, 0] ** 2, X[:, 1] * X[:, 2], X[:, 0] ** 2 - X[:, 3] ** 2])
    Y = signal + 0.3 * rng.standard_normal(signal.shape)
    linear = NARD(lam=0.1).fit(X[:300], Y[:300]).score(X[300:], Y[300:])
    curved = NARD(lam=0.1, kernel=kernel, kernel_params=params).fit(X[:300], Y[:300])
    assert curved.score(X[300:], Y[300:]) > linear + 0.2
    assert curved.predict(X[300:], return_std=True)[1].shape == (200, 3)


@pytest.mark.parametrize("params", [None, {"n_components": 300}])
def test_as_many_landmarks_as_samples_still_predict(params):
    """In the landmarks' own basis every sample was explained by its own bump, and held-out R² was −0.006."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 11))
    signal = np.column_stack([np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2, np.cos(X[:, 1]) * X[:, 2], 0.8 * X[:, 3]])
    Y = signal + 0.5 * rng.standard_normal(signal.shape)
    model = NARD(lam=0.1, kernel="rbf", kernel_params=params).fit(X[:300], Y[:300])
    assert model.score(X[300:], Y[300:]) > 0.35


def test_polynomial_features_keep_their_names(tables):
    X, Y = tables
    model = NARD(lam=0.1, relevance="inputs", hidden=0, kernel="polynomial").fit(X[["gene 0", "gene 1"]], Y)
    assert "gene 0 gene 1" in model.relevance()["feature"].tolist()


def broken(tables, what):
    X, Y = (table.copy() for table in tables)
    if what == "nan":
        X.loc["s3", "gene 2"] = np.nan
    elif what == "inf":
        Y.loc["s3", "protein 1"] = np.inf
    elif what == "large input":
        X.loc["s3", "gene 2"] = 1e200
    elif what == "large output":
        Y.loc["s3", "protein 1"] = -1e160
    elif what == "opposite":
        Y.loc[["s3", "s4"], "protein 1"] = 1.7e308, -1.7e308
    elif what == "small":
        X[["gene 2", "gene 3"]] *= 1e-90
    elif what == "constant":
        Y["protein 4"] = 2.5
    elif what == "duplicate":
        X = X.rename(columns={"gene 1": "gene 0"})
    elif what == "rows":
        Y = Y.iloc[:-1]
    elif what == "order":
        Y = Y.iloc[::-1]
    elif what == "samples":
        Y = Y.rename(index=lambda name: f"other {name}")
    elif what == "few":
        X, Y = X.iloc[:2], Y.iloc[:2]
    elif what == "transposed":
        X, Y = X.T, Y.T
    elif what == "text":
        X = X.astype(object)
        X.iloc[0, 0] = "high"
    return X, Y


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("nan", r"X contains NaN or infinity: 1 values in 1 column\(s\) \('gene 2'\), first in row 's3'"),
        ("inf", r"Y contains infinity.*'protein 1'"),
        ("large input", r"X has values too large .* 1 column\(s\) \('gene 2'\), up to 1e\+200 in 'gene 2'.*Correct"),
        ("large output", r"Y has values too large.*up to 1e\+160 in 'protein 1'"),
        ("opposite", r"Y has values too large.*up to 1\.7e\+308 in 'protein 1'"),
        ("small", r"X has values too large or too small .* 2 column\(s\) \('gene 2', 'gene 3'\).*in other units"),
        ("constant", r"1 output\(s\) are constant: 'protein 4'. Drop"),
        ("duplicate", "duplicate column names: 'gene 0'"),
        ("rows", "inconsistent numbers of samples"),
        ("order", r"different order. Reorder: Y = Y.loc\[X.index\]"),
        ("samples", "indexed by different samples"),
        ("few", "minimum of 3 is required"),
        ("transposed", r"samples belong in rows: fit\(X.T, Y.T\)"),
        ("text", "high"),
    ],
)
def test_bad_data_is_named(tables, what, message):
    for lam in (0.1, "cv"):
        with pytest.raises(ValueError, match=message):
            NARD(lam=lam).fit(*broken(tables, what))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"method": "fast"}, "method must be one of"),
        ({"lam": "aic"}, "lam must be"),
        ({"lam": -1}, "lam must be"),
        ({"relevance": "columns"}, "relevance must be one of"),
        ({"relevance": None}, "relevance must be one of"),
        ({"relevance": ["inputs"]}, "relevance must be one of"),
        ({"hidden": -1}, "hidden must be"),
        ({"hidden": 1.5}, "hidden must be"),
        ({"hidden": True}, "hidden must be"),
        ({"hidden": "some"}, "hidden must be"),
        ({"own": ["gene 0"]}, "own must be"),
        ({"tails": 2}, "tails must be a number > 2"),
        ({"tails": "heavy"}, "tails must be a number > 2"),
        ({"kernel": "sigmoid"}, "kernel must be"),
        ({"kernel": "rbf", "kernel_params": {"gama": 1}}, "kernel_params.*gamma"),
        ({"alpha_prior": ("gamma", 1.0)}, "alpha_prior must be"),
        ({"alpha_prior": ("gamma", 1.0, 0.0)}, "rate b must be positive"),
        ({"alpha_prior": ("gamma", -9.0, 1.0)}, "must exceed"),
        ({"cov_prior": ("wishart", 1, 1)}, "cov_prior must be"),
        ({"cov_prior": ("inverse-wishart", np.eye(3), 1)}, "8×8"),
        ({"tol": 0}, "tol must be"),
        ({"standardize": "no"}, "standardize must be"),
        ({"kernel_params": {"degree": 2}}, "kernel_params must be None while"),
        ({"lam": np.inf}, "lam must be"),
        ({"max_iter": 2.5}, "max_iter must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"update": "newton"}, "update must be"),
        ({"order": "best"}, "order must be"),
    ],
)
def test_bad_parameters_are_named(tables, params, message):
    with pytest.raises(ValueError, match=message):
        NARD(**({"lam": 0.1, "relevance": "inputs", "hidden": 0} | params)).fit(*tables)


def test_too_many_monomials_say_what_to_do():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="n_components"):
        NARD(kernel="polynomial").fit(rng.standard_normal((10, 600)), rng.standard_normal((10, 2)))


def test_likelihood_checks_the_outputs_names(model, tables):
    X, Y = tables
    with pytest.raises(ValueError, match="not those of the fit"):
        model.log_likelihood(X, Y.iloc[:, ::-1])
    with pytest.raises(ValueError, match="different order"):
        model.log_likelihood(X, Y.iloc[::-1])


def test_numpy_scalars_are_as_good(data):
    one, two = (
        NARD(lam=lam, relevance="inputs", hidden=hidden, standardize=standardize).fit(data.X, data.Y)
        for lam, hidden, standardize in ((0.1, 0, True), (np.float64(0.1), np.int64(0), np.True_))
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_not_fitted():
    calls = (
        lambda m: m.relevance(),
        lambda m: m.edges(),
        lambda m: m.predict(np.ones((2, 2))),
        lambda m: m.log_likelihood(np.ones((2, 2)), pd.DataFrame(np.ones((2, 2)))),
    )
    for call in calls:
        with pytest.raises(NotFittedError):
            call(NARD())


def test_not_converged_names_the_remedy(data):
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        NARD(lam=0.05, relevance="inputs", hidden=0, max_iter=1, tol=1e-12).fit(data.X, data.Y)


def test_a_degenerate_prior_is_warned_of():
    data = make_regression(20, 30, 4, random_state=0)
    with pytest.warns(UserWarning, match="Take a ≥ 1"):
        NARD(lam=0.1, relevance="inputs", hidden=0, alpha_prior=("gamma", 0.5, 0.1)).fit(data.X, data.Y)


def test_verbose_prints_progress(data, capsys):
    NARD(verbose=True).fit(data.X, data.Y)
    printed = capsys.readouterr().out
    assert "J = " in printed
    assert "λ = " in printed


@pytest.mark.parametrize("relevance", ["auto", "entries", "both"])
@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "rbf", "kernel_params": {"n_components": 20}},
        {"kernel": "polynomial"},
        {"alpha_prior": ("gamma", 1.5, 1e-3)},
        {"cov_prior": ("inverse-wishart", 0.5, 5.0)},
        {"standardize": False},
        {"lam": "ebic"},
    ],
    ids=["rbf", "polynomial", "gamma", "inverse-wishart", "as it is", "ebic"],
)
def test_every_option_works_with_entries(data, relevance, params):
    model = NARD(**({"lam": 0.1, "relevance": relevance} | params)).fit(data.X[:100, :5], data.Y[:100])
    assert model.converged_
    assert (np.diff(model.objective_[model.n_bound_ :]) <= 1e-8 * np.abs(model.objective_[-1])).all()
    assert model.entry_test_.prior is not None
    assert np.isfinite(model.log_likelihood(data.X[100:, :5], data.Y[100:]))
    assert len(model.associations()) == len(model.feature_labels_) * 8


def test_a_prior_on_the_covariance_counts_with_entries(data):
    strong = NARD(lam=0.1, relevance="entries", cov_prior=("inverse-wishart", 1e4, 1e4)).fit(data.X, data.Y)
    np.testing.assert_allclose(np.diag(strong.covariance_), data.Y.var(axis=0), rtol=0.05)


def test_own_inputs_by_name_and_by_mapping(tables):
    X, Y = tables
    assert not NARD(lam=0.1, relevance="entries").fit(X, Y).associations()["own"].any()
    own = {"protein 0": ["gene 3", "gene 1", "gene 3", "unknown"], "protein 5": ["gene 1"], "absent": ["gene 2"]}
    table = NARD(lam=0.1, relevance="entries", own=own).fit(X, Y).associations().query("own")
    pairs = set(zip(table["target"], table["feature"], strict=True))
    assert pairs == {("protein 0", "gene 1"), ("protein 0", "gene 3"), ("protein 5", "gene 1")}


def test_priors_change_the_fit_as_they_should(data):
    flat = NARD(lam=0.1, relevance="inputs", hidden=0).fit(data.X, data.Y)
    gamma = NARD(lam=0.1, relevance="inputs", hidden=0, alpha_prior=("gamma", 1.0, 1e-3)).fit(data.X, data.Y)
    assert gamma.active_.all()
    assert not flat.active_.all()
    strong = NARD(lam=0.1, relevance="inputs", hidden=0, cov_prior=("inverse-wishart", 1e4, 1e4)).fit(data.X, data.Y)
    np.testing.assert_allclose(np.diag(strong.covariance_), data.Y.var(axis=0), rtol=0.05)


def public_objects():
    yield "nard.NARD"
    yield "nard.graphical_lasso"
    yield "nard.simulate.make_regression"
    yield "nard.simulate.make_precision"
    yield "nard.figures.plot_lam_path"
    for name, member in inspect.getmembers(NARD, inspect.isfunction):
        if not name.startswith("_") and member.__module__.startswith("nard"):
            yield f"nard.NARD.{name}"


@pytest.mark.parametrize("name", list(public_objects()))
def test_docstrings_are_complete(name):
    """numpydoc's validation of parameters, returns and examples."""
    required = {"GL08", "SS03", "PR01", "PR02", "PR03", "PR04", "PR07", "RT01", "RT03", "EX01"}
    errors = [error for error in validate(name)["errors"] if error[0] in required]
    assert not errors


@pytest.mark.parametrize("relevance", ["inputs", "entries"])
def test_selected_associations_are_those_of_the_whole_table(relevance):
    data = make_regression(100, 30, 8, random_state=0)
    names = [f"x{j}" for j in range(30)]
    X, Y = pd.DataFrame(data.X, columns=names), pd.DataFrame(data.Y, columns=names[:8])
    model = NARD(lam=0.1, relevance=relevance, hidden=0).fit(X, Y)
    whole = model.associations(fdr=0.1)
    part = model.associations(fdr=0.1, selected_only=True)
    assert 0 < len(part) < len(whole)
    pd.testing.assert_frame_equal(part, whole[whole["selected"]].reset_index(drop=True), rtol=1e-10)
    assert whole["own"].sum() == (8 if relevance == "entries" else 0)
    assert part["probability"].notna().any() == (relevance == "entries")
