"""The exact coordinate optimum against brute force, and the rank-one updates against a fresh start."""

import numpy as np
import pytest
from problems import dense_objective, random_problem

from nard.algorithms.coordinate import Coordinates, best_alpha, coordinate_value


@pytest.mark.parametrize("prior", [(1.0, 0.0), (1.0, 1e-3), (2.0, 0.5), (0.5, 1e-2), (5.0, 10.0), (1e-3, 1e-6)])
@pytest.mark.parametrize("m", [3, 50])
def test_best_alpha_beats_a_fine_grid(prior, m):
    a, b = prior
    rng = np.random.default_rng(m)
    grid = np.geomspace(1e-10, 1e12, 20001)
    for _ in range(40):
        s = np.exp(rng.uniform(-5, 8))
        q2 = m * s * np.exp(rng.normal(0.5, 1.5))
        values = np.array([coordinate_value(alpha, s, q2, m, a, b) for alpha in grid])
        found = best_alpha(s, q2, m, a, b)
        assert coordinate_value(found, s, q2, m, a, b) <= values.min() + 1e-9 * max(1.0, abs(values.min()))


def test_flat_prior_prunes_exactly_where_the_theorem_says():
    assert best_alpha(2.0, 3.9, 2, 1.0, 0.0) == np.inf
    assert best_alpha(2.0, 5.0, 2, 1.0, 0.0) == pytest.approx(2 * 2.0**2 / (5.0 - 4.0))


@pytest.mark.parametrize("shape", [(40, 12, 6), (25, 60, 5)])
def test_rank_one_updates_match_a_fresh_start(shape):
    problem, rough, _ = random_problem(3, shape)
    moved = Coordinates(problem, np.full(problem.d, np.inf), refresh_every=10**9)
    moved.sweep(rough.network.precision, 1e-12, max_moves=150)
    fresh = Coordinates(problem, moved.alpha)
    for field in ("S", "scatter", "logdet"):
        np.testing.assert_allclose(getattr(moved, field), getattr(fresh, field), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(moved.Q(), fresh.Q(), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("shape", [(40, 12, 6), (25, 60, 5)])
@pytest.mark.parametrize("alpha_prior", [None, ("gamma", 1.5, 0.01)])
def test_every_move_lowers_the_objective_by_what_it_promised(shape, alpha_prior):
    problem, rough, _ = random_problem(4, shape, alpha_prior=alpha_prior)
    omega = rough.network.precision
    start = np.minimum(np.full(problem.d, np.inf), problem.alpha_prior.resting_alpha(problem.m))
    coordinates = Coordinates(problem, start)
    value = dense_objective(problem, coordinates.alpha, omega)
    for _ in range(25):
        gains = coordinates.gains(omega)
        if coordinates.sweep(omega, 0.0, max_moves=1) == 0:
            break
        new = dense_objective(problem, coordinates.alpha, omega)
        assert value - new == pytest.approx(gains.max(), rel=1e-6, abs=1e-8)
        value = new


def test_leave_one_out_statistics_are_what_they_say():
    problem, _, _ = random_problem(1, (25, 60, 5))
    rng = np.random.default_rng(0)
    alpha = np.exp(rng.normal(2, 1, problem.d))
    alpha[::3] = np.inf
    coordinates = Coordinates(problem, alpha)
    s, ratio = coordinates.leave_one_out()
    q = coordinates.Q() * ratio[:, None]
    for j in (0, 1, 2, 31):
        others = alpha.copy()
        others[j] = np.inf
        C = np.eye(problem.n) + (problem.X / others) @ problem.X.T
        x = problem.X[:, j]
        assert s[j] == pytest.approx(x @ np.linalg.solve(C, x), rel=1e-8)
        np.testing.assert_allclose(q[j], problem.Y.T @ np.linalg.solve(C, x), rtol=1e-7, atol=1e-9)
