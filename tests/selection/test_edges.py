"""The test of edges: its regressions, null distribution and power, and residuals that are not normal."""

import numpy as np
import pytest
from scipy.stats import kstest

from nard.selection import edge_test, qvalues
from nard.selection.edges import _Nodewise, _penalty
from nard.selection.weights import tail_weights
from nard.simulate import draw_residuals, make_precision


def paired(m):
    """Every other pair of neighbours is connected."""
    omega = np.eye(m)
    for k in range(0, m - 1, 2):
        omega[k, k + 1] = omega[k + 1, k] = -0.45
    return omega


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


def rates(test, omega):
    """Share of the edges that are found, and of false ones among those found."""
    upper = np.triu_indices(len(omega), 1)
    true, found = omega[upper] != 0, qvalues(test.pvalue[upper]) <= 0.05
    return found[true].mean(), (found & ~true).sum() / max(found.sum(), 1)


@pytest.mark.parametrize("lam", [0.02, 0.1, 0.3])
def test_regressions_meet_their_optimality_conditions(lam):
    rng = np.random.default_rng(0)
    S = np.corrcoef(draw_residuals(make_precision(30, 0.1, rng), 60, rng).T)
    for start in (np.zeros((30, 30)), rng.standard_normal((30, 30)) * (rng.random((30, 30)) < 0.2)):
        np.fill_diagonal(start, 0.0)
        B = _Nodewise(S, lam, start).B
        gradient = (np.eye(30) - B) @ S
        assert (np.diag(B) == 0).all()
        np.testing.assert_allclose(gradient[B != 0], lam * np.sign(B[B != 0]), atol=1e-4)
        np.fill_diagonal(gradient, 0.0)
        assert np.abs(gradient).max() <= lam + 1e-4


def test_estimates_by_hand():
    """One lasso coefficient each for two outputs, β = r − λ: T, its variance and the precision follow.

    With one neighbour each and fifty degrees of freedom c is the largest there is.
    """
    r, n, sd = 0.6, 50.0, np.array([2.0, 5.0])
    beta = r - 1.3 * np.sqrt(np.log(2) / n)
    left = 1 - 2 * beta * r + beta**2
    covariance_of_errors = r - 2 * beta + beta**2 * r
    partial = -(covariance_of_errors / left + 2 * beta)
    S = np.array([[1.0, r], [r, 1.0]]) * np.outer(sd, sd)
    test = edge_test(S, n, np.zeros((50, 2)))
    assert test.sd[0, 1] == pytest.approx(np.sqrt((1 + beta**2) / n), rel=1e-6)
    assert test.z[0, 1] == pytest.approx(-partial / test.sd[0, 1])
    np.testing.assert_allclose(test.precision * np.outer(sd, sd), np.array([[1, partial], [partial, 1]]) / left)


def test_the_penalty_is_as_large_as_its_bias_allows():
    sparse, dense, fewer, more = (_penalty(s, 50, n) for s, n in ((2.0, 300), (7.0, 300), (6.0, 100), (6.0, 1200)))
    assert sparse == more == 1.3
    assert dense == fewer == 1.1
    between = _penalty(4.5, 76, 300.0)
    assert 1.1 < between < 1.3
    assert 4.5 * between**2 * np.log(76) / np.sqrt(300) == pytest.approx(1.6)
    assert _penalty(0.0, 2, 1.0) == 1.3  # nothing is regressed on anything


@pytest.mark.parametrize(("m", "n"), [(5, 60), (40, 60)])
def test_edges_in_data_without_any_are_rare(m, n):
    found = 0
    for seed in range(100):
        Z = np.random.default_rng(seed).standard_normal((n, m))
        found += (qvalues(edge_test(np.cov(Z.T), n - 1.0, Z).pvalue[np.triu_indices(m, 1)]) <= 0.05).any()
    assert found <= 10


@pytest.mark.parametrize(
    ("m", "n", "probability", "power"), [(76, 140, 0.05, 0.25), (76, 290, 0.05, 0.65), (50, 290, 0.15, 0.53)]
)
def test_power_and_false_discovery_rate(m, n, probability, power):
    """Null scores of a standard deviation of 0.9, as of de-sparsified estimates, would find a half to a tenth less."""
    found, false, spread = [], [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        omega = make_precision(m, probability, rng)
        E = draw_residuals(omega, n, rng)
        test = edge_test(E.T @ E / n, float(n), E)
        spread.append(test.z[omega == 0].std())
        for rate, value in zip((found, false), rates(test, omega), strict=True):
            rate.append(value)
    assert np.mean(found) >= power
    assert np.mean(false) <= 0.07
    assert np.mean(spread) == pytest.approx(1.0, abs=0.04)


@pytest.mark.parametrize(("m", "n", "power"), [(5, 60, 0.35), (10, 100, 0.8)])
def test_few_samples_of_different_quality(m, n, power):
    """A tenth of the samples four times as noisy: normal variances would make 0.2 to 0.4 of the edges false ones."""
    found, false = [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        Z = draw_residuals(paired(m), n, rng) * np.where(rng.random((n, 1)) < 0.1, 4.0, 1.0)
        for rate, value in zip((found, false), rates(edge_test(np.cov(Z.T), n - 1.0, Z), paired(m)), strict=True):
            rate.append(value)
    assert np.mean(found) >= power
    assert np.mean(false) <= 0.08


def test_outliers_that_two_outputs_share_are_no_edge():
    """The other pairs show nothing of it, so only the pair's own variance tells."""
    edges = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        Z = rng.standard_normal((300, 30))
        Z[:, :2] *= np.where(rng.random((300, 1)) < 0.05, 6.0, 1.0)
        edges += qvalues(edge_test(np.cov(Z.T), 299.0, Z).pvalue[np.triu_indices(30, 1)])[0] <= 0.05
    assert edges <= 2
