"""The column-wise and the entry-wise part together: one bound, which never rises, whatever parts there are."""

from dataclasses import replace

import numpy as np
import pytest
from problems import dense_joint_objective, dense_posterior, standardised
from scipy.stats import multivariate_normal

from nard.algorithms import VARIANTS, Data, RoughPass, minimise, starting_state
from nard.algorithms.entries import no_own
from nard.algorithms.joint import fit_joint, prediction, prepare
from nard.algorithms.priors import AlphaPrior, make_alpha_prior, make_covariance_prior
from nard.simulate import make_regression

# N above and below d, more inputs than an effect keeps, one output.
SHAPES = [(60, 20, 12), (40, 90, 16), (30, 30, 4), (50, 8, 1)]
PARTS = {"entries": (False, True), "both": (True, True)}


def problem_with_factors(seed, shape, k=0):
    n, d, m = shape
    drawn = make_regression(
        n, d, m, relevant=0.4, density=0.3, edge_probability=0.2, feature_correlation=0.5, random_state=seed
    )
    rng = np.random.default_rng(seed)
    Y = drawn.Y + rng.standard_normal((n, k)) @ rng.standard_normal((k, m))
    return Data(standardised(drawn.X), standardised(Y))


def prepared(data, parts, hidden, own=None, seed=0):
    m = data.Y.shape[1]
    prior = make_covariance_prior(None, data.Y.var(axis=0))
    own = no_own(m) if own is None else own
    return prepare(data, prior, *PARTS[parts], hidden, np.random.default_rng(seed), own), prior


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("hidden", [0, 2])
@pytest.mark.parametrize("parts", PARTS)
def test_the_bound_never_rises_and_is_what_its_formula_says(parts, hidden, shape):
    effects = 0
    for seed in range(6):
        data = problem_with_factors(seed, shape, hidden)
        own = np.random.default_rng(seed).integers(0, shape[1], (shape[2], 1)) if seed % 2 else None
        preparation, prior = prepared(data, parts, hidden, own)
        joint = fit_joint(preparation, 0.1, AlphaPrior(), prior, tol=1e-6)
        J = np.array(joint.fit.objective)
        assert joint.fit.converged
        effects += joint.entries.on.sum()
        assert (np.diff(J) <= 0).all(), seed
        # Independently, from the effects' posterior, on the data without the hidden inputs.
        inputs = preparation.data
        alpha = joint.state.alpha if parts != "entries" else np.full(inputs.X.shape[1], np.inf)
        problem = replace(joint.problem, data=inputs)
        expected = dense_joint_objective(problem, alpha, joint.state.omega, joint.entries, preparation.prior, inputs.Y)
        assert J[-1] == pytest.approx(expected, rel=1e-7), seed
        np.testing.assert_allclose(joint.problem.Y, inputs.Y - inputs.X @ joint.entries.coef().toarray())
    assert effects > 0


@pytest.mark.parametrize("method", VARIANTS)
def test_every_method_serves_both_parts(method):
    for seed in range(3):
        data = problem_with_factors(seed, (60, 20, 12))
        preparation, prior = prepared(data, "both", 0)
        joint = fit_joint(preparation, 0.1, AlphaPrior(), prior, method)
        assert (np.diff(joint.fit.objective) <= 0).all()
        assert joint.fit.converged


@pytest.mark.parametrize("alpha_prior", [None, ("gamma", 1.5, 1e-3)])
def test_without_a_column_wise_part_no_input_is_active(alpha_prior):
    """A Gamma prior on α, under which no input is ever pruned, must not bring U back."""
    data = problem_with_factors(0, (60, 20, 12))
    preparation, prior = prepared(data, "entries", 0)
    joint = fit_joint(preparation, 0.1, make_alpha_prior(alpha_prior, 12), prior)
    assert np.isinf(joint.state.alpha).all()
    assert not prediction(preparation, joint.problem, joint.state, joint.entries).coef.mean.any()


@pytest.mark.parametrize("method", VARIANTS)
@pytest.mark.parametrize("alpha_prior", [None, ("gamma", 1.5, 1e-3)])
def test_without_entries_and_hidden_inputs_it_is_the_column_wise_algorithm(method, alpha_prior):
    """Exactly: the same rough pass, the same start, the same minimiser."""
    data = problem_with_factors(1, (60, 20, 12))
    cov = make_covariance_prior(None, data.Y.var(axis=0))
    alpha = make_alpha_prior(alpha_prior, 12)
    joint = fit_joint(prepare(data, cov, True, False, 0, np.random.default_rng(0), no_own(12)), 0.1, alpha, cov, method)
    rough = RoughPass(data, cov)
    problem = rough.problem(data, 0.1, alpha, cov)
    start = starting_state(problem, rough, method, 1e-4)
    fallback = starting_state(problem, rough, "sequential", 1e-4) if method in ("full", "surrogate") else None
    fit = minimise(problem, start, method, tol=1e-4, max_iter=500, fallback=fallback)
    np.testing.assert_array_equal(joint.state.alpha, fit.state.alpha)
    np.testing.assert_array_equal(joint.state.omega, fit.state.omega)
    assert joint.fit.objective == fit.objective
    assert joint.entries.empty


def test_what_is_explained_exactly_keeps_the_floor_of_the_outputs():
    """The floor under V is a part of the outputs' variances, not of what the effects leave of them: nothing."""
    rng = np.random.default_rng(0)
    X = standardised(rng.standard_normal((20, 10)))
    data = Data(X, X[:, :2].copy())
    preparation, prior = prepared(data, "entries", 0)
    rest = preparation.residual_data(preparation.entries)
    np.testing.assert_array_equal(rest.variance_floor, data.variance_floor)
    assert (rest.variance_floor > 0).all()
    joint = fit_joint(preparation, 0.1, AlphaPrior(), prior)
    np.testing.assert_allclose(joint.entries.coef().toarray(), np.eye(10)[:, :2], atol=0.01)
    assert (np.diff(joint.fit.objective) <= 0).all()


@pytest.mark.parametrize("hidden", [0, 3])
def test_predictive_density_of_all_parts(hidden):
    """N((U + B̄)x, (1 + xᵀΣx)V + LᵀL), B̄ of the fit and the preparation, with Σ and U from the dense posterior."""
    data = problem_with_factors(3, (80, 15, 20), hidden)
    preparation, prior = prepared(data, "both", hidden)
    joint = fit_joint(preparation, 0.1, make_alpha_prior(("gamma", 1.5, 1e-3), 20), prior)
    found = prediction(preparation, joint.problem, joint.state, joint.entries)
    B = 0.5 * (joint.entries.coef().toarray() + preparation.entries.coef().toarray())
    left = Data(preparation.data.X, preparation.data.Y - preparation.data.X @ B)
    sigma, mean = dense_posterior(replace(joint.problem, data=left), joint.state.alpha)
    np.testing.assert_allclose(found.coef.inputs(), mean, atol=1e-8)
    np.testing.assert_allclose(found.coef.entries.toarray(), B)
    V = np.linalg.inv(joint.state.omega)
    assert found.loadings.shape == (hidden, 20)
    new = problem_with_factors(4, (7, 15, 20), hidden)
    expected = [
        multivariate_normal(
            found.coef.fitted(x[None])[0], (1 + x @ sigma @ x) * V + found.loadings.T @ found.loadings
        ).logpdf(y)
        for x, y in zip(new.X, new.Y, strict=True)
    ]
    np.testing.assert_allclose(found.log_density(new.X, new.Y), expected, rtol=1e-7)


def test_loadings_are_the_residuals_covariances_with_the_hidden_inputs():
    """With strong factors next to nothing is shrunk: LᵀL is what the factors explain, LᵀL + V all of it."""
    rng = np.random.default_rng(0)
    n, m = 400, 40
    F, L = rng.standard_normal((n, 2)), rng.standard_normal((2, m))
    data = Data(rng.standard_normal((n, 5)), F @ L + 0.5 * rng.standard_normal((n, m)))
    data = Data(data.X - data.X.mean(axis=0), data.Y - data.Y.mean(axis=0))
    preparation, prior = prepared(data, "entries", "auto")
    assert preparation.n_hidden == 2
    joint = fit_joint(preparation, 0.2, AlphaPrior(), prior)
    found = prediction(preparation, joint.problem, joint.state, joint.entries)
    shared = found.loadings.T @ found.loadings
    np.testing.assert_allclose(shared, data.Y.T @ data.Y / n - 0.25 * np.eye(m), atol=0.12)
    # Both together are the outputs' covariance, however they share it; so little noise draws F to single outputs.
    total = shared + np.linalg.inv(found.precision)
    np.testing.assert_allclose(np.diag(total), (data.Y**2).mean(axis=0), atol=0.02)
    assert np.linalg.inv(found.precision).trace() / m == pytest.approx(0.25, rel=0.05)
