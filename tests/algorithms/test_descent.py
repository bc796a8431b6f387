"""The objective never rises and the end is stationary, for every algorithm and prior."""

from dataclasses import replace

import numpy as np
import pytest
from problems import dense_objective, dense_posterior, random_problem, standardised

from nard import NARD
from nard.algorithms import VARIANTS, Data, RoughPass, State, minimise, starting_state
from nard.algorithms.coordinate import Coordinates
from nard.algorithms.evidence import posterior, update_network
from nard.algorithms.priors import make_alpha_prior, make_covariance_prior
from nard.algorithms.surrogate import ActiveInputs, _bound, largest_eigenvalue
from nard.covariance import glasso_objective

ALPHA_PRIORS = {"flat": None, "gamma": ("gamma", 1.5, 1e-3)}
COV_PRIORS = {"flat": None, "inverse-wishart": ("inverse-wishart", 0.3, 4.0)}


def run(problem, rough, method, **options):
    options = {"tol": 1e-5, "max_iter": 300} | options
    return minimise(problem, starting_state(problem, rough, method, options["tol"]), method, **options)


@pytest.mark.parametrize("cov_prior", COV_PRIORS)
@pytest.mark.parametrize("alpha_prior", ALPHA_PRIORS)
@pytest.mark.parametrize("method", VARIANTS)
def test_objective_never_rises(method, alpha_prior, cov_prior):
    """56 problems in all four shapes of prior, N below and above d, some with m > N."""
    for seed in range(56):
        problem, rough, _ = random_problem(seed, alpha_prior=ALPHA_PRIORS[alpha_prior], cov_prior=COV_PRIORS[cov_prior])
        fit = run(problem, rough, method, tol=1e-4)
        J = np.array(fit.objective)
        assert np.isfinite(J).all(), seed
        assert (np.diff(J) <= 1e-8 * np.abs(J[1:])).all(), seed
        omega = fit.state.omega
        assert np.isfinite(omega).all(), seed
        np.testing.assert_array_equal(omega, omega.T)
        assert np.linalg.eigvalsh(omega)[0] > 0, seed
        assert (fit.state.alpha > 0).all(), seed
        assert J[-1] == pytest.approx(dense_objective(problem, fit.state.alpha, omega), rel=1e-7), seed


@pytest.mark.parametrize("update", ["mackay", "em"])
def test_both_batch_updates_descend(update):
    for seed in range(14):
        problem, rough, _ = random_problem(seed)
        J = np.array(run(problem, rough, "full", update=update).objective)
        assert (np.diff(J) <= 1e-8 * np.abs(J[1:])).all()


def test_random_order_descends_to_the_same_optimum():
    problem, rough, _ = random_problem(2, lam=0.1, correlation=0.0)
    greedy = run(problem, rough, "sequential", tol=1e-8)
    shuffled = run(problem, rough, "sequential", tol=1e-8, order="random", rng=np.random.default_rng(0))
    assert (np.diff(shuffled.objective) <= 0).all()
    assert shuffled.objective[-1] == pytest.approx(greedy.objective[-1], rel=1e-4)


@pytest.mark.parametrize("alpha_prior", ALPHA_PRIORS)
@pytest.mark.parametrize("method", VARIANTS)
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 11])
def test_the_end_is_stationary(method, alpha_prior, seed):
    """Analytic gradient in ln α, re-admission of pruned inputs, and the graphical lasso's KKT conditions."""
    problem, rough, _ = random_problem(seed, alpha_prior=ALPHA_PRIORS[alpha_prior])
    fit = run(problem, rough, method, tol=1e-9, max_iter=5000)
    assert fit.converged
    alpha, omega, prior, m = fit.state.alpha, fit.state.omega, problem.alpha_prior, problem.m
    active = np.isfinite(alpha)
    sigma, mean = dense_posterior(problem, alpha)
    finite = alpha[active]
    gradient = m * (finite * np.diag(sigma)[active] - 1.0)
    gradient += finite * np.einsum("ij,jk,ik->i", mean[active], omega, mean[active])
    gradient += 2 * prior.b * finite - 2 * (prior.a - 1)
    np.testing.assert_allclose(gradient, 0.0, atol=2e-3 * m)

    assert Coordinates(problem, alpha).gains(omega).max(initial=0.0) <= 1e-9 * problem.scale

    S, L = problem.network_problem(posterior(problem, alpha).scatter)
    slack = np.linalg.inv(omega) - S
    off = ~np.eye(m, dtype=bool)
    support = (omega != 0) & off
    np.testing.assert_allclose(np.diag(slack), 0.0, atol=1e-3)
    np.testing.assert_allclose(slack[support], (L * np.sign(omega))[support], atol=1e-3)
    assert (np.abs(slack) <= L + 1e-3)[off].all()


@pytest.mark.parametrize("seed", range(7))
def test_the_surrogate_is_a_bound_that_touches_where_theory_says(seed):
    problem, rough, _ = random_problem(seed)
    rng = np.random.default_rng(seed)
    alpha = np.exp(rng.normal(3, 1, problem.d))
    omega = rough.network.precision
    inputs = ActiveInputs(problem, np.arange(problem.d))
    J = dense_objective(problem, alpha, omega)
    assert inputs.rho >= np.linalg.eigvalsh(problem.X.T @ problem.X)[-1]
    mean = posterior(problem, alpha).mean
    for W in (mean, mean + 0.1 * rng.standard_normal(mean.shape), np.zeros_like(mean)):
        _, scatter = inputs.products(W)
        assert _bound(problem, inputs.rho, W, alpha, scatter, rough.network) >= J
    # The residual term is tight at the posterior mean: what is left is the bound on the determinant.
    _, scatter = inputs.products(mean)
    gap = _bound(problem, inputs.rho, mean, alpha, scatter, rough.network) - J
    post = posterior(problem, alpha)
    assert gap == pytest.approx(problem.m * (np.log1p(inputs.rho / alpha).sum() - post.logdet), rel=1e-6, abs=1e-6)


def test_largest_eigenvalue_of_both_orientations():
    rng = np.random.default_rng(0)
    for shape in ((50, 20), (20, 50), (2, 9), (9, 1)):
        X = rng.standard_normal(shape)
        exact = np.linalg.norm(X, 2) ** 2
        assert exact <= largest_eigenvalue(X) <= 1.01 * exact


@pytest.mark.parametrize("alpha0", [1e-2, 1.0, 1e2, 1e5])
@pytest.mark.parametrize("method", VARIANTS)
def test_residual_variance_does_not_collapse_from_any_start(method, alpha0):
    """With N < d, a start at small α used to end with V near zero; the truth is 1."""
    problem, rough, data = random_problem(0, (100, 200, 40), lam=0.1, correlation=0.0, relevant=0.1)
    start = State(np.full(problem.d, alpha0), rough.network)
    fit = minimise(problem, start, method, tol=1e-4, max_iter=500)
    units = data.Y.std(axis=0)
    assert np.mean(np.diag(fit.state.network.covariance) * units**2) == pytest.approx(1.0, abs=0.15)


def test_methods_agree_on_an_easy_problem():
    problem, rough, _ = random_problem(0, (100, 40, 20), lam=0.1, correlation=0.3)
    fits = {method: run(problem, rough, method, tol=1e-8, max_iter=5000) for method in VARIANTS}
    reference = fits["sequential"]
    for method, fit in fits.items():
        assert fit.objective[-1] == pytest.approx(reference.objective[-1], rel=1e-5), method
        np.testing.assert_array_equal(fit.state.omega != 0, reference.state.omega != 0)


def test_a_loose_network_update_never_undoes_a_tight_one():
    problem, rough, _ = random_problem(2)
    scatter = posterior(problem, rough.alpha).scatter
    S, L = problem.network_problem(scatter)
    tight = update_network(problem, scatter, rough.network, 1e-9)
    loose = update_network(problem, scatter, tight, 1e-1)
    values = [glasso_objective(S, L, network.precision) for network in (rough.network, tight, loose)]
    assert values[0] >= values[1]
    assert values[2] <= values[1] + 1e-13 * abs(values[1])  # rounding only


@pytest.mark.parametrize("method", VARIANTS)
def test_interpolation_is_noticed_and_guarded_against(method):
    """Pure noise, three outputs and three times as many inputs as samples: J alone would go to V = 0."""
    rng = np.random.default_rng(0)
    data = Data(standardised(rng.standard_normal((100, 300))), standardised(rng.standard_normal((100, 3))))
    cov_prior = make_covariance_prior(None, np.ones(3))
    rough = RoughPass(data, cov_prior)
    assert rough.entry_threshold > 0
    guarded = rough.problem(data, 0.2, make_alpha_prior(None, 3), cov_prior)
    fit = run(guarded, rough, method, tol=1e-4)
    assert np.diag(fit.state.network.covariance).mean() > 0.7
    unguarded = run(replace(guarded, entry_threshold=0.0), rough, method, tol=1e-4)
    assert np.diag(unguarded.state.network.covariance).mean() < 0.1


def test_there_is_no_guard_where_none_is_needed():
    for shape in ((100, 200, 40), (80, 30, 15)):
        assert random_problem(0, shape, relevant=0.1)[1].entry_threshold == 0


@pytest.mark.parametrize("method", ["full", "surrogate"])
def test_batch_algorithms_do_not_end_without_the_inputs_that_matter(method):
    """Effects of very different size through many inputs: the surrogate's bound gives up all of them."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((80, 150))
        W = np.zeros((100, 150))
        for j in range(150):
            W[rng.choice(100, 5, replace=False), j] = rng.standard_normal(5) * rng.choice([0.2, 1, 3])
        Y = X @ W.T + rng.standard_normal((80, 100))
        paper = {"lam": 0.3, "relevance": "inputs", "hidden": 0}
        sequential, batch = (NARD(method=name, **paper).fit(X, Y) for name in ("sequential", method))
        assert batch.objective_[-1] <= sequential.objective_[-1] + 1e-3 * Y.size
        assert (np.diff(batch.objective_) <= 1e-8 * np.abs(batch.objective_[1:])).all()
