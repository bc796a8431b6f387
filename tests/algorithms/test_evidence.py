"""J, the posterior and the predictive variance against dense formulas; primal against dual."""

from dataclasses import replace

import numpy as np
import pytest
from problems import SHAPES, dense_objective, dense_posterior, random_problem

from nard import graphical_lasso
from nard.algorithms import Data, RoughPass, minimise, starting_state
from nard.algorithms.evidence import ColumnCovariance, empty_state, posterior


def random_alpha(problem, rng, pruned=0.3):
    alpha = np.exp(rng.normal(2.0, 2.0, problem.d))
    alpha[rng.random(problem.d) < pruned] = np.inf
    return alpha


@pytest.mark.parametrize("seed", range(len(SHAPES)))
def test_objective_is_the_dense_formula(seed):
    problem, rough, _ = random_problem(seed, cov_prior=("inverse-wishart", 0.5, 3.0))
    alpha = random_alpha(problem, np.random.default_rng(seed))
    omega = rough.network.precision + 0.01
    post = posterior(problem, alpha)
    network = replace(rough.network, precision=omega, logdet=np.linalg.slogdet(omega)[1])
    value = problem.objective(post.logdet, post.scatter, alpha, network)
    assert value == pytest.approx(dense_objective(problem, alpha, omega), rel=1e-10)


@pytest.mark.parametrize("seed", range(len(SHAPES)))
def test_posterior_primal_dual_and_dense_agree(seed):
    problem, _, _ = random_problem(seed)
    alpha = random_alpha(problem, np.random.default_rng(seed))
    sigma, mean = dense_posterior(problem, alpha)
    primal, dual = posterior(problem, alpha, "primal"), posterior(problem, alpha, "dual")
    for field in ("mean", "sigma", "logdet", "scatter"):
        np.testing.assert_allclose(getattr(primal, field), getattr(dual, field), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(primal.mean, mean[primal.active], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(primal.sigma, np.diag(sigma)[primal.active], rtol=1e-8)


@pytest.mark.parametrize("seed", range(len(SHAPES)))
def test_predictive_variance(seed):
    problem, _, _ = random_problem(seed)
    rng = np.random.default_rng(seed)
    alpha = random_alpha(problem, rng)
    sigma, _ = dense_posterior(problem, alpha)
    new = rng.standard_normal((7, problem.d))
    expected = np.einsum("ij,jk,ik->i", new, sigma, new)
    np.testing.assert_allclose(ColumnCovariance(problem, alpha).variance(new), expected, rtol=1e-8, atol=1e-10)


def test_equal_alpha_is_the_matrix_normal_ridge():
    problem, _, _ = random_problem(2)
    ridge = np.linalg.solve(problem.X.T @ problem.X + 3.0 * np.eye(problem.d), problem.X.T @ problem.Y)
    np.testing.assert_allclose(posterior(problem, np.full(problem.d, 3.0)).mean, ridge, rtol=1e-10)


def test_no_input_leaves_the_graphical_lasso_of_the_outputs():
    problem, _, _ = random_problem(0, lam=0.1)
    state = empty_state(problem, 1e-9)
    S = problem.Y.T @ problem.Y / problem.n
    expected = graphical_lasso(S, problem.penalty, tol=1e-10).precision
    np.testing.assert_allclose(state.omega, expected, atol=1e-5)


@pytest.mark.parametrize("method", ["full", "sequential", "surrogate", "hybrid"])
def test_inputs_of_zeros_are_pruned(method):
    problem, _, _ = random_problem(0)
    blank = replace(problem, data=Data(0 * problem.X, problem.Y))
    rough = RoughPass(blank.data, blank.cov_prior)
    fit = minimise(blank, starting_state(blank, rough, method, 1e-6), method, tol=1e-6, max_iter=200)
    assert np.isinf(fit.state.alpha).all()
    S = problem.Y.T @ problem.Y / problem.n
    np.testing.assert_allclose(fit.state.omega, graphical_lasso(S, problem.penalty, tol=1e-9).precision, atol=1e-3)
