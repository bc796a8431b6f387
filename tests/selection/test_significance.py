"""The tests' null distributions, the refit's normal equations, and q-values."""

from dataclasses import replace

import numpy as np
import pytest
from problems import random_problem
from scipy.stats import kstest

from nard.algorithms import Data, State
from nard.algorithms.coordinate import Coordinates
from nard.algorithms.evidence import update_network
from nard.selection import EntryTest, edge_test, entry_test, input_test, qvalues, refit, significance
from nard.selection.refit import IsolatingDirections, LeastSquaresOnSupport, _given_one_output, _given_support
from nard.selection.weights import tail_weights


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


def test_edge_scores_are_standard_normal_without_edges():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((400, 30)) * np.geomspace(1e-2, 1e2, 30)
    z = edge_test(Z.T @ Z / 400, 400.0, Z).z[np.triu_indices(30, 1)]
    assert kstest(z, "norm").pvalue > 1e-3
    assert edge_test(np.array([[2.0]]), 10.0, Z[:, :1]).pvalue == 1.0


def test_samples_of_different_quality_make_fewer_false_edges_than_gaussian_variances():
    """Residuals that are uncorrelated but large or small together: a multivariate t with five degrees of freedom."""
    found = np.zeros(2)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        Z = rng.standard_normal((200, 20)) / np.sqrt(rng.chisquare(5, (200, 1)) / 5)
        for k, residuals in enumerate((Z, 0 * Z)):  # without residuals the Gaussian variance is what remains
            pvalue = edge_test(Z.T @ Z / 200, 200.0, residuals).pvalue[np.triu_indices(20, 1)]
            found[k] += (qvalues(pvalue) <= 0.05).any()
    assert found[0] <= 0.5 * found[1]


def paired(m):
    """Every other pair of neighbours is connected."""
    omega = np.eye(m)
    for k in range(0, m - 1, 2):
        omega[k, k + 1] = omega[k + 1, k] = -0.45
    return omega


@pytest.mark.parametrize("tails", ["t with 3 degrees", "a tenth four times as large"])
def test_false_discovery_rate_of_edges_where_samples_differ_in_quality(tails):
    """Without weights it is 0.3 to 0.5 here, and fewer true edges are found."""
    m, n, truth = 40, 200, paired(40)[np.triu_indices(40, 1)] != 0
    false, hits = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        Z = rng.multivariate_normal(np.zeros(m), np.linalg.inv(paired(m)), n)
        if tails == "t with 3 degrees":
            Z /= np.sqrt(rng.chisquare(3, (n, 1)) / 3)
        else:
            Z *= np.where(rng.random((n, 1)) < 0.1, 4.0, 1.0)
        test = edge_test(np.cov(Z.T), n - 1.0, Z)
        assert test.tails < 10
        found = qvalues(test.pvalue[np.triu_indices(m, 1)]) <= 0.05
        false.append((found & ~truth).sum() / max(found.sum(), 1))
        hits.append(found[truth].mean())
    assert np.mean(false) <= 0.05
    assert np.mean(hits) > 0.98


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, shape: (rng.random(shape) < 0.1) + 0.01 * rng.standard_normal(shape),
        lambda rng, shape: rng.lognormal(size=shape),
        lambda rng, shape: rng.exponential(size=shape),
        lambda rng, shape: rng.standard_t(3, shape),
    ],
    ids=["rare", "lognormal", "exponential", "t"],
)
def test_outputs_that_are_not_normal_each_on_its_own_make_no_edges(draw):
    """Weights would correlate skewed outputs."""
    edges = 0
    for seed in range(10):
        Z = draw(np.random.default_rng(seed), (1000, 5))
        Z = Z - Z.mean(axis=0)
        test = edge_test(np.cov(Z.T), 999.0, Z)
        edges += (qvalues(test.pvalue[np.triu_indices(5, 1)]) <= 0.05).any()
    assert edges <= 2


def test_samples_and_outputs_without_residuals():
    Z = np.random.default_rng(0).standard_normal((100, 10))
    Z[0] = 0.0
    assert np.isinf(edge_test(np.cov(Z.T), 99.0, Z).tails)
    Z[:60] = 0.0  # most of the samples
    Z[:, 3] = 0.0
    assert np.isfinite(edge_test(np.cov(Z.T) + 1e-8 * np.eye(10), 99.0, Z).z).all()


def test_normal_residuals_are_rarely_weighted():
    weighted = 0
    for seed in range(40):
        Z = np.random.default_rng(seed).multivariate_normal(np.zeros(12), np.linalg.inv(paired(12)), 150)
        weighted += np.isfinite(edge_test(np.cov(Z.T), 149.0, Z).tails)
    assert weighted <= 4


def test_weights_are_those_of_the_t_distribution():
    rng = np.random.default_rng(0)
    tau = rng.chisquare(5, 4000) / 5
    Z = rng.standard_normal((4000, 60)) / np.sqrt(tau)[:, None]
    Z /= np.sqrt((Z**2).mean(axis=0))
    tails = tail_weights(Z, np.eye(60), np.eye(60))
    assert tails.degrees == pytest.approx(5, rel=0.15)
    # Of the variance of τ, 2/ν = 0.4, the residuals leave 2E(τ²)/(ν + m) = 0.043 unknown.
    assert np.corrcoef(tails.weights, tau)[0, 1] == pytest.approx(np.sqrt(1 - 0.043 / 0.4), abs=0.01)
    assert tails.weights.mean() == pytest.approx(1)


def test_weighted_edge_scores_do_not_depend_on_units_nor_on_order():
    rng = np.random.default_rng(0)
    Z = rng.multivariate_normal(np.zeros(12), np.linalg.inv(paired(12)), 100) / np.sqrt(rng.chisquare(4, (100, 1)))
    units, outputs, samples = np.geomspace(1e-3, 1e3, 12), rng.permutation(12), rng.permutation(100)
    z = edge_test(np.cov(Z.T), 99.0, Z).z
    scaled = Z * units
    np.testing.assert_allclose(edge_test(np.cov(scaled.T), 99.0, scaled).z, z, atol=1e-3)
    moved = Z[samples][:, outputs]
    np.testing.assert_allclose(edge_test(np.cov(moved.T), 99.0, moved).z, z[np.ix_(outputs, outputs)], atol=1e-3)


def test_edge_scores_find_a_chain():
    rng = np.random.default_rng(0)
    omega = 2 * np.eye(20) - 0.8 * (np.eye(20, k=1) + np.eye(20, k=-1))
    Z = rng.multivariate_normal(np.zeros(20), np.linalg.inv(omega), 500)
    test = edge_test(np.cov(Z.T), 499.0, Z)
    found = qvalues(test.pvalue[np.triu_indices(20, 1)]) <= 0.05
    true = (omega != 0)[np.triu_indices(20, 1)]
    assert found[true].all()
    assert found[~true].mean() < 0.02
    np.testing.assert_allclose(np.diag(test.precision, 1), np.diag(omega, 1), atol=0.35)


def test_one_supported_output_is_a_special_case():
    rng = np.random.default_rng(0)
    omega = np.linalg.inv(np.cov(rng.standard_normal((6, 40))))
    H, inside = rng.standard_normal((3, 6)), np.array([0, 4, 5])
    weight, sd = _given_one_output(H, inside, omega)
    for k in range(3):
        expected = _given_support(H[k], inside[k : k + 1], omega)
        np.testing.assert_allclose(weight[k], expected[0], rtol=1e-10)
        np.testing.assert_allclose(sd[k], expected[1], rtol=1e-10)
