"""MRCE against the authors' package, its optimality conditions, and the problems it contains."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from nard import graphical_lasso
from nard.baselines.mrce import (
    MRCE,
    Moments,
    alternate,
    approximate,
    coefficients_given,
    largest_lams,
    solve,
    validated_lassos,
)
from nard.simulate import make_regression

PENALTIES = [(0.05, 0.2), (0.1, 0.05), (0.2, 0.1)]
TIGHT = 1e-10


def centred(shape=(80, 12, 6), seed=0, **kwargs):
    data = make_regression(*shape, relevant=0.5, edge_probability=0.3, random_state=seed, **kwargs)
    return data.X - data.X.mean(axis=0), data.Y - data.Y.mean(axis=0)


def written_out(X, Y, lam1, lam2, B, omega):
    """The objective from its definition, on the residuals themselves."""
    S = (Y - X @ B).T @ (Y - X @ B) / len(X)
    penalised = np.abs(omega).sum() - (0.0 if X.shape[1] >= len(X) else np.trace(omega))
    fit = np.trace(S @ omega) - np.linalg.slogdet(omega)[1]
    return fit + lam1 * penalised + 2 * lam2 * np.abs(B).sum()


@pytest.mark.parametrize("problem", ["tiny", "small"])
@pytest.mark.parametrize(("lam1", "lam2"), PENALTIES)
def test_as_low_as_the_original_and_equal_where_it_is_as_low(golden, problem, lam1, lam2):
    def read(name):
        return pd.read_csv(golden / f"{problem}_{name}.csv", header=None).to_numpy()

    X, Y = read("X"), read("Y")
    B, omega = (read(f"mrce_lam1_{lam1}_lam2_{lam2}_{name}") for name in ("B", "Omega"))
    model = MRCE(lam1, lam2, tol=1e-9, max_iter=5000).fit(X, Y)
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    theirs = written_out(X, Y, lam1, lam2, B, 0.5 * (omega + omega.T))  # theirs is symmetric to 3e-5 only
    ours = written_out(X, Y, lam1, lam2, model.coef_.T, model.precision_)
    assert ours <= theirs + 1e-6 * abs(theirs)
    if ours >= theirs - 1e-6 * abs(theirs):
        np.testing.assert_allclose(model.coef_.T, B, atol=1e-3)
        np.testing.assert_allclose(model.precision_, omega, atol=1e-3)


@pytest.mark.parametrize("shape", [(80, 12, 6), (30, 40, 8), (20, 5, 25), (40, 6, 1)])
def test_objective_is_the_one_written_out_and_never_rises(shape):
    X, Y = centred(shape)
    model = MRCE(0.2, 0.1).fit(X, Y)
    value = written_out(X, Y, 0.2, 0.1, model.coef_.T, model.precision_)
    assert model.objective_[-1] == pytest.approx(value, rel=1e-6)
    # Each step is exact up to rounding only.
    assert np.diff(model.objective_).max() <= 1e-12 * np.abs(model.objective_).max()
    assert len(model.objective_) == 2 * model.n_iter_
    assert model.converged_


@pytest.mark.parametrize("shape", [(80, 12, 6), (25, 40, 5)])
def test_optimality_conditions(shape):
    lam1, lam2 = 0.1, 0.15
    X, Y = centred(shape)
    moments = Moments.of(X, Y)
    found = solve(moments, lam1, lam2, tol=TIGHT, max_iter=20_000)
    assert found.converged
    B, omega = found.B, found.network.precision
    assert 0 < np.count_nonzero(B) < B.size
    # half the gradient of Tr(SΩ) in B lies within ±λ₂, and at −λ₂ sign(b) where b is not zero
    gradient = X.T @ (X @ B - Y) @ omega / len(X)
    assert np.abs(gradient).max() <= lam2 + 1e-4
    np.testing.assert_allclose(gradient[B != 0], -lam2 * np.sign(B[B != 0]), atol=1e-4)
    # and so does that in Ω within ±λ₁ off the diagonal; on it it vanishes, or is −λ₁ where d ≥ n
    gradient = (Y - X @ B).T @ (Y - X @ B) / len(X) - np.linalg.inv(omega)
    off = ~np.eye(len(omega), dtype=bool)
    np.testing.assert_allclose(np.diag(gradient), -lam1 if shape[1] >= shape[0] else 0.0, atol=1e-3)
    assert np.abs(gradient[off]).max() <= lam1 + 1e-3
    edges = off & (omega != 0)
    np.testing.assert_allclose(gradient[edges], -lam1 * np.sign(omega[edges]), atol=1e-3)


def lassos(X, Y, alphas):
    fits = [Lasso(alpha, fit_intercept=False, tol=1e-10).fit(X, y) for alpha, y in zip(alphas, Y.T, strict=True)]
    return np.column_stack([fit.coef_ for fit in fits])


def test_identity_precision_gives_separate_lassos():
    X, Y = centred()
    B, settled = coefficients_given(Moments.of(X, Y), np.eye(6), 0.1, np.zeros((12, 6)), tol=1e-14)
    assert settled
    np.testing.assert_allclose(B, lassos(X, Y, np.full(6, 0.1)), atol=1e-6)


def test_without_edges_the_lassos_differ_by_the_residual_variance_only():
    X, Y = centred()
    model = MRCE(1e6, 0.1, tol=1e-12).fit(X, Y)
    assert not model.edges()["selected"].any()
    variances = ((Y - X @ model.coef_.T) ** 2).mean(axis=0)
    np.testing.assert_allclose(np.diag(model.precision_), 1 / variances, rtol=1e-5)
    np.testing.assert_allclose(model.coef_.T, lassos(X, Y, 0.1 * variances), atol=1e-5)


@pytest.mark.parametrize("variant", ["exact", "approximate"])
def test_without_coefficients_it_is_the_graphical_lasso(variant):
    X, Y = centred()
    if variant == "approximate":  # its network is given the separate lassos, which here find nothing
        Y = Y - X @ np.linalg.lstsq(X, Y)[0]
    model = MRCE(0.1, 1e6, variant=variant, tol=1e-9, random_state=0).fit(X, Y)
    assert not model.coef_.any()
    network = graphical_lasso(Y.T @ Y / len(Y), 0.1, tol=1e-10)
    np.testing.assert_allclose(model.precision_, network.precision, atol=1e-4)


def test_order_of_outputs_does_not_matter():
    X, Y = centred()
    order = np.random.default_rng(0).permutation(Y.shape[1])
    given, permuted = (MRCE(0.1, 0.1, tol=1e-9).fit(X, outputs) for outputs in (Y, Y[:, order]))
    np.testing.assert_allclose(permuted.coef_, given.coef_[order], atol=1e-4)
    np.testing.assert_allclose(permuted.precision_, given.precision_[np.ix_(order, order)], atol=1e-3)


def test_starts_other_than_zero_avoid_a_poor_optimum(golden):
    X, Y = (pd.read_csv(golden / f"tcga_{name}.csv", header=None).to_numpy() for name in ("X", "Y"))
    W = pd.read_csv(golden / "tcga_W.csv", header=None).to_numpy()
    moments = Moments.of(X - X.mean(axis=0), Y - Y.mean(axis=0))
    from_zero = alternate(moments, 0.1, 0.1, np.zeros_like(moments.xy), tol=1e-5)
    best = solve(moments, 0.1, 0.1, tol=1e-5)
    assert best.trace[-1] < from_zero.trace[-1] - 1.0
    assert np.linalg.norm(best.B.T - W) < 0.15 * np.linalg.norm(W) < np.linalg.norm(from_zero.B.T - W)


def test_approximate_variant_is_one_step_of_each():
    X, Y = centred()
    start = validated_lassos(X, Y, 5, 0)
    moments = Moments.of(X, Y)
    found = approximate(moments, 0.1, 0.1, start, tol=TIGHT)
    residuals = Y - X @ start
    network = graphical_lasso(residuals.T @ residuals / len(Y), 0.1, tol=TIGHT)
    np.testing.assert_allclose(found.network.precision, network.precision, atol=1e-4)
    B, _ = coefficients_given(moments, network.precision, 0.1, np.zeros_like(start), tol=1e-14)
    np.testing.assert_allclose(found.B, B, atol=1e-4)
    model = MRCE(0.1, 0.1, variant="approximate", n_folds=5, random_state=3).fit(X, Y)
    assert model.n_iter_ == 1
    assert model.objective_[1] <= model.objective_[0]


def test_one_lasso_penalty_for_all_outputs_is_validated():
    X, Y = centred()
    B = validated_lassos(X, Y, 5, 0)
    # on the support of each output |Xᵀ(y − Xb)|/n is the common penalty
    gradient = np.abs(X.T @ (Y - X @ B) / len(X))
    np.testing.assert_allclose(gradient[B != 0], gradient.max(), atol=5e-3)
    assert ((Y - X @ B) ** 2).sum() < 0.9 * (Y**2).sum()
    assert not validated_lassos(X, np.random.default_rng(0).permutation(Y)[:, :1], 5, 0).all()


def test_largest_penalties_give_an_empty_model():
    X, Y = centred()
    moments = Moments.of(X, Y)
    zero = np.zeros_like(moments.xy)
    lam1, lam2 = largest_lams(moments, zero)
    found = alternate(moments, 1.001 * lam1, 1.001 * lam2, zero)
    assert not found.B.any()
    assert not np.triu(found.network.precision, 1).any()
    assert alternate(moments, 1.001 * lam1, 0.99 * lam2, zero).B.any()
    assert np.triu(alternate(moments, 0.99 * lam1, 1.1 * lam2, zero).network.precision, 1).any()


@pytest.mark.parametrize("variant", ["exact", "approximate"])
def test_cross_validation(variant):
    data = make_regression(120, 12, 6, relevant=0.5, edge_probability=0.3, random_state=0)
    model = MRCE(variant=variant, random_state=0).fit(data.X, data.Y)
    table = model.cv_results_
    assert len(table) == 25
    assert table["chosen"].sum() == 1
    best = table.loc[table["score"].idxmax()]
    assert (model.lam1_, model.lam2_) == (best["lam1"], best["lam2"])
    for name in ("lam1", "lam2"):
        values = np.sort(table[name].unique())
        np.testing.assert_allclose(values, values[-1] * np.geomspace(0.01, 1, 5))
    # The model chosen predicts new samples of the same model better than the empty one does.
    new_X = np.random.default_rng(1).standard_normal((200, 12))
    new_Y = new_X @ data.coef.T + np.random.default_rng(2).multivariate_normal(np.zeros(6), data.covariance, 200)
    empty = MRCE(100.0, 100.0).fit(data.X, data.Y)
    assert model.log_likelihood(new_X, new_Y) > empty.log_likelihood(new_X, new_Y) + 0.5
    again = MRCE(variant=variant, random_state=0).fit(data.X, data.Y)
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_one_penalty_may_be_fixed():
    X, Y = centred()
    model = MRCE(0.1, n_lams=3, random_state=0).fit(X, Y)
    assert model.lam1_ == 0.1
    assert len(model.cv_results_) == 3
    fixed = MRCE(0.1, 0.2).fit(X, Y)
    assert (fixed.lam1_, fixed.lam2_, fixed.cv_results_) == (0.1, 0.2, None)


def test_what_is_not_zero_is_selected():
    X, Y = centred()
    model = MRCE(0.1, 0.2).fit(X, Y)
    assert model.associations()["selected"].sum() == np.count_nonzero(model.coef_)
    assert model.edges()["selected"].sum() == np.count_nonzero(np.triu(model.precision_, 1))
    assert (model.edges()["selected"] == (model.edges()["precision"] != 0)).all()


@pytest.mark.parametrize("case", ["constant input", "exact fit", "one output", "more inputs than samples"])
def test_odd_data(case):
    X, Y = centred((30, 45, 4) if case == "more inputs than samples" else (40, 8, 4))
    if case == "constant input":
        X[:, 3] = 1.0
    elif case == "exact fit":
        Y = X[:, :3] @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 1.0], [1.0, -1.0, 2.0]])
    elif case == "one output":
        Y = Y[:, 0]
    model = MRCE(random_state=0, tol=1e-5).fit(X, Y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.precision_).all()
    assert model.predict(X).shape == Y.shape
    if case == "constant input":
        assert not model.coef_[:, 3].any()


def test_parameters_are_cloned():
    model = MRCE(0.3, "cv", variant="approximate", n_folds=4, random_state=1)
    assert clone(model).get_params() == model.get_params()
    assert MRCE().set_params(lam2=0.5).lam2 == 0.5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lam1": -1.0}, "lam1 must be a number ≥ 0 or 'cv', found -1.0"),
        ({"lam2": "best"}, "lam2 must be a number ≥ 0 or 'cv', found 'best'"),
        ({"lam2": np.inf}, "lam2 must be a number ≥ 0 or 'cv', found inf"),
        ({"variant": "quick"}, "variant must be one of ('exact', 'approximate'), found 'quick'"),
        ({"n_folds": 1}, "n_folds must be an integer ≥ 2, found 1"),
        ({"n_lams": 2.5}, "n_lams must be an integer ≥ 1, found 2.5"),
        ({"lam_min_ratio": 1.0}, "lam_min_ratio must be between 0 and 1, found 1.0"),
        ({"tol": 0.0}, "tol must be a number > 0, found 0.0"),
        ({"max_iter": 0}, "max_iter must be an integer ≥ 1, found 0"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, Y = centred()
    with pytest.raises(ValueError, match=re.escape(message)):
        MRCE(**parameters).fit(X, Y)


def test_too_few_iterations_warn_with_the_remedy():
    X, Y = centred()
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = MRCE(0.05, 0.2, max_iter=1).fit(X, Y)
    assert not model.converged_
