"""Where theory gives the answer: one output, no inputs, permutations, changes of unit."""

import numpy as np
import pandas as pd
import pytest
from problems import dense_objective, random_problem
from scipy.optimize import minimize
from sklearn.linear_model import ARDRegression

from nard import NARD
from nard.algorithms.coordinate import Coordinates
from nard.simulate import make_regression


def test_one_output_and_fixed_noise_is_ard():
    """Coordinate descent at fixed Ω against a general-purpose minimiser of the evidence over ln α."""
    problem, rough, _ = random_problem(5, (60, 5, 1), correlation=0.5, relevant=0.6)
    omega = rough.network.precision
    coordinates = Coordinates(problem, np.full(problem.d, np.inf))
    coordinates.sweep(omega, 1e-13, max_moves=1000)
    ours = dense_objective(problem, coordinates.alpha, omega)
    theirs = min(
        minimize(
            lambda log_alpha: dense_objective(problem, np.exp(np.minimum(log_alpha, 50.0)), omega),
            np.full(problem.d, start),
            method="L-BFGS-B",
            bounds=[(-20.0, 50.0)] * problem.d,
        ).fun
        for start in (0.0, 3.0, 8.0)
    )
    assert ours == pytest.approx(theirs, rel=1e-6)


def test_one_output_agrees_with_scikit_learn():
    data = make_regression(200, 12, 1, relevant=0.4, density=1.0, random_state=1)
    y = data.Y[:, 0]
    theirs = ARDRegression(
        alpha_1=1e-12, alpha_2=1e-12, lambda_1=1e-12, lambda_2=1e-12, threshold_lambda=1e8, max_iter=5000, tol=1e-10
    ).fit(data.X, y)
    ours = NARD(lam=0.1, relevance="inputs", hidden=0, tol=1e-10, standardize=False).fit(data.X, y)
    np.testing.assert_allclose(ours.coef_[0], theirs.coef_, atol=2e-3)
    np.testing.assert_allclose(ours.covariance_[0, 0], 1 / theirs.alpha_, rtol=0.05)


@pytest.fixture(scope="module")
def data():
    return make_regression(120, 25, 10, feature_correlation=0.4, random_state=3)


def selections(model):
    """Selected findings as sets that do not depend on order."""
    relevance, associations, edges = model.relevance(), model.associations(), model.edges()
    return (
        set(relevance[relevance["selected"]]["feature"]),
        {(r.feature, r.target) for r in associations[associations["selected"]].itertuples()},
        {frozenset((r.source, r.target)) for r in edges[edges["selected"]].itertuples()},
    )


@pytest.mark.parametrize("method", ["full", "sequential", "surrogate", "hybrid"])
def test_permuting_permutes(data, method):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(data.X, columns=[f"g{i}" for i in range(25)])
    Y = pd.DataFrame(data.Y, columns=[f"p{i}" for i in range(10)])
    X2, Y2 = X.iloc[:, rng.permutation(25)], Y.iloc[:, rng.permutation(10)]
    params = {"lam": 0.1, "tol": 1e-8, "relevance": "inputs", "hidden": 0}
    one, two = NARD(method, **params).fit(X, Y), NARD(method, **params).fit(X2, Y2)
    coef = pd.DataFrame(two.coef_, Y2.columns, X2.columns).loc[Y.columns, X.columns]
    np.testing.assert_allclose(one.coef_, coef, atol=1e-4)
    omega = pd.DataFrame(two.precision_, Y2.columns, Y2.columns).loc[Y.columns, Y.columns]
    np.testing.assert_allclose(one.precision_, omega, atol=1e-3)
    assert selections(one) == selections(two)


@pytest.mark.parametrize("relevance", ["entries", "both"])
def test_permuting_permutes_entries(data, relevance):
    """Inputs exactly. Of the outputs every fifth is a fold whose prior is learnt from the others, by their order."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(data.X, columns=[f"g{i}" for i in range(25)])
    Y = pd.DataFrame(data.Y, columns=[f"p{i}" for i in range(10)])
    params = {"lam": 0.1, "tol": 1e-8, "relevance": relevance, "hidden": 0}
    X2, Y2 = X.iloc[:, rng.permutation(25)], Y.iloc[:, rng.permutation(10)]
    one = NARD(**params).fit(X, Y)
    inputs, both = NARD(**params).fit(X2, Y), NARD(**params).fit(X2, Y2)
    coef = pd.DataFrame(inputs.coef_, Y.columns, X2.columns).loc[Y.columns, X.columns]
    np.testing.assert_allclose(one.coef_, coef, atol=1e-6)
    assert selections(one) == selections(inputs)
    coef = pd.DataFrame(both.coef_, Y2.columns, X2.columns).loc[Y.columns, X.columns]
    np.testing.assert_allclose(one.coef_, coef, atol=0.05)
    associations = selections(one)[1], selections(both)[1]
    assert len(associations[0] ^ associations[1]) <= 0.05 * len(associations[0])


@pytest.mark.parametrize("method", ["full", "sequential", "surrogate", "hybrid"])
def test_units_do_not_matter(data, method):
    rng = np.random.default_rng(1)
    x_units, y_units = rng.choice([1e-3, 1.0, 1e3], 25), rng.choice([1e-3, 1.0, 1e3], 10)
    one = NARD(method, lam="cv").fit(data.X, data.Y)
    two = NARD(method, lam="cv").fit(data.X * x_units + 5.0, data.Y * y_units - 3.0)
    assert selections(one) == selections(two)
    assert one.lam_ == pytest.approx(two.lam_, rel=1e-6)
    np.testing.assert_allclose(one.coef_, two.coef_ * x_units / y_units[:, None], atol=1e-5)
    np.testing.assert_allclose(one.precision_, two.precision_ * np.outer(y_units, y_units), rtol=1e-3, atol=1e-4)
    shift = np.log(y_units).sum()
    assert one.log_likelihood(data.X, data.Y) == pytest.approx(
        two.log_likelihood(data.X * x_units + 5.0, data.Y * y_units - 3.0) + shift, abs=1e-3
    )
