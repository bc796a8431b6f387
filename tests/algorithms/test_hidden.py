"""How many hidden inputs are found, and what being rotated to their complement means."""

import numpy as np
import pytest
from problems import standardised
from scipy.stats import multivariate_normal, multivariate_t

from nard.algorithms.evidence import Data
from nard.algorithms.hidden import complement, count_hidden, degrees_left, hidden_inputs
from nard.algorithms.joint import prepare
from nard.algorithms.priors import make_covariance_prior
from nard.covariance import log_density
from nard.simulate import draw_residuals, make_precision

SEEDS = range(10)


def with_factors(n, m, k, rng, sd=0.4, edge_probability=0.0):
    """F (N×k), and outputs that are LF plus residuals."""
    F = rng.standard_normal((n, k))
    omega = make_precision(m, edge_probability, rng)
    return F, F @ (sd * rng.standard_normal((k, m))) + draw_residuals(omega, n, rng)


def counted(Y):
    return count_hidden(Y, np.random.default_rng(0))


@pytest.mark.parametrize(("n", "m"), [(40, 10), (96, 76), (313, 76), (60, 300)])
def test_nothing_is_hidden_in_noise(n, m):
    for seed in SEEDS:
        assert counted(np.random.default_rng(seed).standard_normal((n, m))) == 0, seed


@pytest.mark.parametrize("n", [96, 195, 313])
def test_a_sparse_network_is_not_a_hidden_input(n):
    """A random network may have a hub that is nearly broad enough: of forty at N = 313 two come up to the limit."""
    counts = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        counts.append(counted(draw_residuals(make_precision(76, 0.05, rng), n, rng)))
    assert sum(counts) <= (1 if n == 313 else 0)


@pytest.mark.parametrize(("n", "m"), [(96, 76), (195, 76), (313, 76), (96, 300), (195, 300)])
def test_five_factors_are_counted(n, m):
    """A loading of 0.4 explains an eighth of the variance; one more or one fewer may happen."""
    counts = [counted(with_factors(n, m, 5, np.random.default_rng(seed))[1]) for seed in SEEDS]
    assert all(4 <= count <= 6 for count in counts), counts
    assert np.median(counts) == 5


def test_factors_beside_a_network_are_counted():
    counts = [counted(with_factors(195, 76, 5, np.random.default_rng(seed), 0.4, 0.05)[1]) for seed in SEEDS]
    assert all(4 <= count <= 6 for count in counts), counts


def test_the_count_does_not_depend_on_units_or_offsets():
    rng = np.random.default_rng(0)
    _, Y = with_factors(195, 76, 3, rng)
    assert counted(Y) == counted(Y * rng.choice([1e-3, 1.0, 1e3], 76) + 7.0) == 3


@pytest.mark.parametrize("k", [1, 5])
def test_complement_is_an_orthonormal_basis(k):
    F = np.linalg.qr(np.random.default_rng(0).standard_normal((30, k)))[0]
    basis = complement(F)
    assert basis.shape == (30, 30 - k)
    np.testing.assert_allclose(basis.T @ basis, np.eye(30 - k), atol=1e-12)
    np.testing.assert_allclose(basis.T @ F, 0.0, atol=1e-12)
    np.testing.assert_allclose(basis @ basis.T + F @ F.T, np.eye(30), atol=1e-12)
    assert complement(F[:, :0]) is None


def test_hidden_inputs_span_the_factors():
    """Correlation of every true factor with what was found; noise of very different size in the outputs."""
    rng = np.random.default_rng(0)
    F, Y = with_factors(200, 100, 3, rng, 0.6)
    loud = rng.choice([1.0, 30.0], 100)
    found = hidden_inputs(Y + loud * rng.standard_normal(Y.shape) * (loud > 1.0), 3)
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(found.sum(axis=0), 0.0, atol=1e-8)  # centred
    F = standardised(F)
    explained = ((found.T @ F) ** 2).sum(axis=0) / len(F)
    assert (explained > 0.9).all()


@pytest.mark.parametrize(("n", "m", "k", "sd"), [(96, 76, 5, 0.4), (120, 60, 4, 0.8), (60, 40, 3, 1.0)])
def test_no_hidden_input_is_an_output_and_its_noise(n, m, k, sd):
    """Weighting the outputs by the noise that is left draws F to one of them, whose noise would go to nothing."""
    smallest = []
    for seed in SEEDS:
        _, Y = with_factors(n, m, k, np.random.default_rng(seed), sd)
        left = complement(hidden_inputs(Y, k)).T @ (Y - Y.mean(axis=0))
        smallest.append((left**2).sum(axis=0).min() / (len(left) - 1))
    assert min(smallest) > 0.2


def test_hidden_inputs_of_the_others_know_nothing_of_an_outputs_chance():
    """Of pure noise they take k/(N − 1) of its squares, but more from the outputs that they were made of."""
    n, m, k = 60, 50, 3
    others, own = [], []
    for seed in range(10):
        Y = standardised(np.random.default_rng(seed).standard_normal((n, m)))
        for group in np.array_split(np.arange(m), 10):
            F = hidden_inputs(np.delete(Y, group, axis=1), k)
            others.append(((F.T @ Y[:, group]) ** 2).sum() / (n * len(group)))
        own.append(((hidden_inputs(Y, k).T @ Y) ** 2).sum() / (n * m))
    assert np.mean(others) == pytest.approx(k / (n - 1), rel=0.05)
    assert min(own) > 2.0 * k / (n - 1)


def test_regression_on_rotated_data_has_the_hidden_inputs_for_covariates():
    """Frisch, Waugh and Lovell: least squares in the complement of F is least squares with F beside X."""
    rng = np.random.default_rng(1)
    F, Y = with_factors(80, 40, 2, rng, 0.8)
    X = rng.standard_normal((80, 6)) + F @ rng.standard_normal((2, 6))
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    prepared = prepare(
        Data(X, Y), make_covariance_prior(None, Y.var(axis=0)), False, True, 2, rng, np.full((40, 0), -1)
    )
    F = prepared.hidden
    assert F.shape == (80, 2)
    assert prepared.data.X.shape == (78, 6)
    rotated = np.linalg.lstsq(prepared.data.X, prepared.data.Y, rcond=None)[0]
    beside = np.linalg.lstsq(np.column_stack([X, F]), Y, rcond=None)[0][:6]
    np.testing.assert_allclose(rotated, beside, atol=1e-10)
    np.testing.assert_allclose(prepared.lengths, (X**2).sum(axis=0))
    assert prepared.degrees_left == degrees_left(2, 40) == 38 / 40


def test_the_number_of_hidden_inputs_leaves_samples_and_outputs():
    rng = np.random.default_rng(0)
    for n, m, asked, left in ((20, 3, 10, 2), (6, 30, 10, 3), (20, 1, 4, 0), (20, 8, 0, 0)):
        X, Y = (standardised(rng.standard_normal((n, p))) for p in (4, m))
        prior = make_covariance_prior(None, np.ones(m))
        prepared = prepare(Data(X, Y), prior, True, True, asked, rng, np.full((m, 0), -1))
        assert prepared.n_hidden == left


def test_degrees_of_freedom_that_hidden_inputs_leave():
    """The mean square of what F leaves, over the degrees that are said to be left, is the residual variance."""
    ratios = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        _, Y = with_factors(120, 60, 4, rng, 0.8)
        basis = complement(hidden_inputs(Y, 4))
        left = basis.T @ (Y - Y.mean(axis=0))
        ratios.append((left**2).sum() / (60 * (len(left) - 1) * degrees_left(4, 60)))
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("k", [0, 1, 3, 9])
def test_log_density_with_loadings(k):
    rng = np.random.default_rng(k)
    omega = make_precision(6, 0.5, rng)
    loadings, inflation = rng.standard_normal((k, 6)), rng.uniform(1.0, 3.0, 5)
    residuals = 2.0 * rng.standard_normal((5, 6))
    expected = [
        multivariate_normal(cov=f * np.linalg.inv(omega) + loadings.T @ loadings).logpdf(e)
        for f, e in zip(inflation, residuals, strict=True)
    ]
    np.testing.assert_allclose(log_density(residuals, omega, inflation, loadings), expected, rtol=1e-10)
    if k == 0:
        np.testing.assert_allclose(log_density(residuals, omega, inflation), expected, rtol=1e-10)


@pytest.mark.parametrize("tails", [2.5, 8.0, 200.0])
@pytest.mark.parametrize("k", [0, 2])
def test_log_density_with_heavy_tails(k, tails):
    """A multivariate t of the same covariance; with many degrees of freedom it is normal."""
    rng = np.random.default_rng(k)
    omega = make_precision(6, 0.5, rng)
    loadings, inflation = rng.standard_normal((k, 6)), rng.uniform(1.0, 3.0, 5)
    residuals = 2.0 * rng.standard_normal((5, 6))
    covariances = [f * np.linalg.inv(omega) + loadings.T @ loadings for f in inflation]
    expected = [
        multivariate_t(shape=S * (tails - 2.0) / tails, df=tails).logpdf(e)
        for S, e in zip(covariances, residuals, strict=True)
    ]
    np.testing.assert_allclose(log_density(residuals, omega, inflation, loadings, tails), expected, rtol=1e-10)
    np.testing.assert_allclose(
        log_density(residuals, omega, inflation, loadings, 1e7),
        log_density(residuals, omega, inflation, loadings),
        rtol=1e-4,
    )


def test_the_number_does_not_depend_on_the_order_of_samples_and_outputs():
    """Factors so weak that the halves decide how many there are."""
    rng = np.random.default_rng(0)
    differ = set()
    for _ in range(10):
        A = rng.standard_normal((90, 60)) + rng.standard_normal((90, 4)) @ (0.3 * rng.standard_normal((4, 60)))
        found = count_hidden(A, np.random.default_rng(0))
        differ.add(found)
        for _ in range(3):
            shuffled = A[rng.permutation(90)][:, rng.permutation(60)]
            assert count_hidden(shuffled, np.random.default_rng(0)) == found
    assert len(differ) > 1
