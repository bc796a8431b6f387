"""The tests' null distributions, the refit's normal equations, and q-values."""

from dataclasses import replace

import numpy as np
import pytest
from problems import random_problem
from scipy.stats import kstest

from nard.algorithms import Data, State
from nard.algorithms.coordinate import Coordinates
from nard.algorithms.evidence import update_network
from nard.selection import EntryTest, entry_test, input_test, qvalues, refit, significance
from nard.selection.refit import IsolatingDirections, LeastSquaresOnSupport, _given_one_output, _given_support


def test_qvalues_by_hand():
    p = np.array([0.01, 0.04, 0.03, 0.5])
    np.testing.assert_allclose(qvalues(p), [0.04, 0.16 / 3, 0.16 / 3, 0.5])
    assert qvalues(p.reshape(2, 2)).shape == (2, 2)


def test_scores_have_their_null_distribution_under_the_model():
    """W drawn from its prior, V and α known: q_ij/sqrt(V_ii s_j) of an input with w = 0 is standard normal."""
    rng = np.random.default_rng(0)
    problem, rough, _ = random_problem(2, (80, 30, 15))
    V = np.linalg.inv(rough.network.precision)
    alpha = np.exp(rng.normal(3, 1, problem.d))
    alpha[0] = np.inf
    z, pvalues = [], []
    for _ in range(200):
        W = rng.standard_normal((problem.d, problem.m)) @ np.linalg.cholesky(V).T / np.sqrt(alpha)[:, None]
        Y = problem.X @ W + rng.standard_normal((problem.n, problem.m)) @ np.linalg.cholesky(V).T
        drawn = replace(problem, data=Data(problem.X, Y))
        coordinates, state = Coordinates(drawn, alpha), State(alpha, rough.network)
        z.append(
            entry_test(drawn, coordinates, 1.0).weight[0] * np.sqrt(coordinates.leave_one_out()[0][0] / np.diag(V))
        )
        pvalues.append(input_test(drawn, coordinates, state).pvalue[0])
    assert kstest(np.ravel(z), "norm").pvalue > 1e-3
    # V is estimated here, and enlarged for safety: the p-values may only be too large.
    assert kstest(pvalues, "uniform", alternative="greater").pvalue > 1e-3


@pytest.mark.parametrize("shape", [(50, 8), (10, 25)])
def test_refit_solves_the_normal_equations(shape):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal(shape), rng.standard_normal((shape[0], 4))
    # One output per input: in the second shape that is more than 2N inputs, but fewer than N per output.
    support = np.arange(shape[1])[:, None] % 4 == np.arange(4)
    omega = np.linalg.inv(np.cov(rng.standard_normal((4, 20))))
    W = LeastSquaresOnSupport(X, Y, support).solve(omega)
    assert (W[~support] == 0).all()
    gradient = X.T @ (Y - X @ W) @ omega
    np.testing.assert_allclose(gradient[support], 0.0, atol=1e-5)


def test_full_support_is_least_squares_whatever_the_network():
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((50, 6)), rng.standard_normal((50, 3))
    omega = np.linalg.inv(np.cov(rng.standard_normal((3, 20))))
    W = LeastSquaresOnSupport(X, Y, np.ones((6, 3), dtype=bool)).solve(omega)
    np.testing.assert_allclose(W, np.linalg.lstsq(X, Y, rcond=None)[0], atol=1e-6)


@pytest.mark.parametrize("shape", [(40, 12, 6), (25, 60, 5)])
def test_isolating_directions(shape):
    problem, _, _ = random_problem(0, shape)
    alpha = np.exp(np.random.default_rng(0).normal(2, 1, problem.d))
    alpha[::4] = np.inf
    C = np.eye(problem.n) + (problem.X / alpha) @ problem.X.T
    found = IsolatingDirections(problem, alpha)(slice(None))
    np.testing.assert_allclose(found, np.linalg.solve(C, problem.X), atol=1e-9)


def test_refit_support_is_what_its_final_tests_select():
    problem, rough, _ = random_problem(2, (80, 30, 15), lam=0.1)
    network = update_network(problem, Coordinates(problem, rough.alpha).scatter, None, 1e-4)
    entries = entry_test(problem, Coordinates(problem, rough.alpha), 1.0)
    sparse = refit(problem, State(rough.alpha, network), qvalues(entries.pvalue) <= 0.05, 0.1, 0.05)
    np.testing.assert_array_equal(sparse.coef != 0, qvalues(sparse.tests.entries.pvalue) <= 0.05)


@pytest.mark.parametrize("fdr", [0.01, 0.05, 0.5])
def test_selection_without_all_pvalues_is_the_same(fdr, monkeypatch):
    """Chunks, a different number of degrees of freedom per output, and only the small p-values: as by the book."""
    monkeypatch.setattr(significance, "_CHUNK", 7)
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((40, 6)) * np.where(rng.random((40, 6)) < 0.2, 5.0, 1.0)
    sd = np.ones((40, 6))
    sd[3] = np.inf
    test = EntryTest(weight, sd, rng.uniform(3, 50, 6))
    expected = qvalues(test.pvalue)
    rows, columns, q = test.selected(fdr)
    found = np.zeros((40, 6), dtype=bool)
    found[rows, columns] = True
    np.testing.assert_array_equal(found, expected <= fdr)
    np.testing.assert_allclose(q, expected[rows, columns])


def test_one_supported_output_is_a_special_case():
    rng = np.random.default_rng(0)
    omega = np.linalg.inv(np.cov(rng.standard_normal((6, 40))))
    H, inside = rng.standard_normal((3, 6)), np.array([0, 4, 5])
    weight, sd = _given_one_output(H, inside, omega)
    for k in range(3):
        expected = _given_support(H[k], inside[k : k + 1], omega)
        np.testing.assert_allclose(weight[k], expected[0], rtol=1e-10)
        np.testing.assert_allclose(sd[k], expected[1], rtol=1e-10)
