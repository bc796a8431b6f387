"""Missing outputs: their expectations against dense algebra, the bound, and what must not change."""

import numpy as np
import pytest
from problems import standardised

from nard import NARD
from nard.algorithms import Data
from nard.algorithms.entries import no_own
from nard.algorithms.hidden import count_hidden, hidden_inputs
from nard.algorithms.joint import fit_joint, prepare
from nard.algorithms.missing import expected, expected_alone, sample_precision
from nard.algorithms.priors import AlphaPrior, make_covariance_prior
from nard.covariance import Gaps, conditional, gaps_of
from nard.simulate import make_regression

PARTS = {"inputs": (True, False), "entries": (False, True), "both": (True, True)}


def random_case(seed, n=12, m=5):
    """Residuals with gaps, a network, and a precision over samples with inputs and a hidden one in it."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((m, m))
    omega = root @ root.T + m * np.eye(m)
    X = standardised(rng.standard_normal((n, 3)))
    F = rng.standard_normal((n, 1))
    F = (F - F.mean()) / np.linalg.norm(F - F.mean())
    gaps = Gaps(rng.random((n, m)) < 0.3)
    return rng.standard_normal((n, m)), sample_precision(X, F, np.array([2.0, 0.5, np.inf])), omega, gaps


def with_gaps(Y, share, seed=0):
    return np.where(np.random.default_rng(seed).random(Y.shape) < share, np.nan, Y)


def test_gaps_of_a_table():
    assert gaps_of(np.ones((3, 2))) is None
    table = np.array([[1.0, np.nan, np.nan], [1.0, 1.0, 1.0], [2.0, np.nan, np.nan], [np.nan, 0.0, 1.0]])
    gaps = gaps_of(table)
    assert [(rows.tolist(), columns.tolist()) for rows, columns in gaps.by_sample] == [([0, 2], [1, 2]), ([3], [0])]
    assert [(rows.tolist(), columns.tolist()) for rows, columns in gaps.by_output] == [([0], [3]), ([1, 2], [0, 2])]
    assert gaps.counts.tolist() == [3, 2, 2]
    assert gaps.of_outputs([1, 2]).counts.tolist() == [2, 2]


def test_precision_of_samples_is_that_of_the_complement():
    """P C⁻¹P, with C that of the data after the projection."""
    rng = np.random.default_rng(0)
    X, F = standardised(rng.standard_normal((15, 4))), np.linalg.qr(standardised(rng.standard_normal((15, 2))))[0]
    alpha = np.array([1.0, np.inf, 3.0, 0.2])
    P = np.eye(15) - 1 / 15 - F @ F.T
    C = np.eye(15) + P @ (X / alpha) @ X.T @ P
    np.testing.assert_allclose(sample_precision(X, F, alpha), P @ np.linalg.inv(C) @ P, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_expectations_minimise_the_quadratic_form(seed):
    """All missing values at once, by the normal equations of Tr(ΩEᵀAE) in the Kronecker product Ω ⊗ A."""
    E, A, omega, gaps = random_case(seed)
    big, lost = np.kron(omega, A), gaps.missing.T.ravel()
    known = np.where(gaps.missing, 0.0, E).T.ravel()
    best = known.copy()
    best[lost] = np.linalg.solve(big[np.ix_(lost, lost)], -(big @ known)[lost])
    found, spread, entropy = expected(E, A, omega, gaps)
    np.testing.assert_allclose(found.T.ravel(), best, atol=1e-3)
    np.testing.assert_array_equal(found[~gaps.missing], E[~gaps.missing])
    by_hand, logdets = np.zeros_like(spread), 0.0
    for n, row in enumerate(gaps.missing):
        if row.any():
            S = np.linalg.inv(A[n, n] * omega[np.ix_(row, row)])
            by_hand[np.ix_(row, row)] += A[n, n] * S
            logdets -= np.linalg.slogdet(S)[1]
    np.testing.assert_allclose(spread, by_hand, atol=1e-10)
    assert entropy == pytest.approx(logdets)


def test_expectations_of_independent_samples_are_conditional_ones():
    E, _, omega, gaps = random_case(0)
    found, spread, _ = expected(E, np.eye(len(E)), omega, gaps)
    V = np.linalg.inv(omega)
    total = np.zeros_like(V)
    for e, row, filled in zip(E, gaps.missing, found, strict=True):
        seen = ~row
        gain = V[np.ix_(row, seen)] @ np.linalg.inv(V[np.ix_(seen, seen)])
        np.testing.assert_allclose(filled[row], gain @ e[seen], atol=1e-10)
        total[np.ix_(row, row)] += V[np.ix_(row, row)] - gain @ V[np.ix_(seen, row)]
    np.testing.assert_allclose(spread, total, atol=1e-10)
    again, covariance = conditional(E, omega, gaps)
    np.testing.assert_allclose(again, found, atol=1e-10)
    np.testing.assert_allclose(covariance, spread, atol=1e-10)


def test_alone_they_are_least_squares_over_the_other_samples():
    """With a hidden input and no other: each output's regression on the mean and F, over the samples that have it."""
    rng = np.random.default_rng(1)
    F = standardised(rng.standard_normal((20, 1))) / np.sqrt(20)
    E, gaps = rng.standard_normal((20, 4)), Gaps(rng.random((20, 4)) < 0.3)
    found = expected_alone(E, sample_precision(np.zeros((20, 1)), F, None), gaps)
    design = np.column_stack([np.ones(20), F])
    for i, lost in enumerate(gaps.missing.T):
        coef = np.linalg.lstsq(design[~lost], E[~lost, i], rcond=None)[0]
        np.testing.assert_allclose(found[lost, i], design[lost] @ coef, atol=1e-4)


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("hidden", [0, 2])
def test_bound_never_rises(parts, hidden):
    for seed in range(3):
        simulated = make_regression(60, 20, 12, relevant=0.3, density=0.4, edge_probability=0.2, random_state=seed)
        Y = with_gaps(simulated.Y, 0.25, seed)
        Y = (Y - np.nanmean(Y, axis=0)) / np.nanstd(Y, axis=0)
        data = Data.of(standardised(simulated.X), Y)
        prior = make_covariance_prior(None, np.ones(12))
        rng = np.random.default_rng(0)
        preparation = prepare(data, prior, *PARTS[parts], hidden, rng, no_own(12))
        joint = fit_joint(preparation, 0.1, AlphaPrior(), prior)
        assert len(joint.fit.objective) > 1
        assert (np.diff(joint.fit.objective) <= 0).all()
        assert joint.fit.converged
        filled = joint.preparation.filled
        np.testing.assert_allclose(filled.data.Y.mean(axis=0), 0.0, atol=1e-10)
        measured = ~data.gaps.missing
        np.testing.assert_allclose((filled.data.Y + filled.offset)[measured], Y[measured], atol=1e-10)


def test_without_a_network_and_inputs_it_is_each_output_on_its_own():
    """Ω diagonal, nothing to predict by: means and variances are those of what was measured."""
    rng = np.random.default_rng(3)
    Y = with_gaps(rng.standard_normal((80, 4)) * [1.0, 2.0, 3.0, 4.0] + 5.0, 0.3)
    model = NARD(lam=1.0, relevance="inputs", hidden=0, tol=1e-9).fit(np.zeros((80, 1)), Y)
    np.testing.assert_allclose(model.intercept_, np.nanmean(Y, axis=0), rtol=1e-6)
    np.testing.assert_allclose(np.diag(model.covariance_), np.nanvar(Y, axis=0), rtol=1e-4)
    assert np.count_nonzero(model.precision_) == 4


def test_likelihood_of_what_was_measured_is_at_its_highest():
    """Two outputs, no penalty: the EM estimate is the maximum of the observed-data likelihood, by brute force."""
    from scipy.optimize import minimize
    from scipy.stats import multivariate_normal

    rng = np.random.default_rng(4)
    Y = rng.multivariate_normal([1.0, -2.0], [[1.0, 0.7], [0.7, 2.0]], 60)
    Y[:20, 0], Y[20:30, 1] = np.nan, np.nan

    def loss(theta):
        root = np.array([[np.exp(theta[2]), 0.0], [theta[3], np.exp(theta[4])]])
        mean, V = theta[:2], root @ root.T
        both = ~np.isnan(Y).any(axis=1)
        value = -multivariate_normal(mean, V).logpdf(Y[both]).sum()
        for i in range(2):
            only = ~np.isnan(Y[:, i]) & ~both
            value -= multivariate_normal(mean[i], V[i, i]).logpdf(Y[only, i]).sum()
        return value

    best = minimize(loss, np.zeros(5), tol=1e-10).x
    root = np.array([[np.exp(best[2]), 0.0], [best[3], np.exp(best[4])]])
    model = NARD(lam=0.0, relevance="inputs", hidden=0, tol=1e-10).fit(np.zeros((60, 1)), Y)
    np.testing.assert_allclose(model.intercept_, best[:2], atol=2e-3)
    np.testing.assert_allclose(model.covariance_, root @ root.T, atol=5e-3)


def test_hidden_inputs_are_found_in_spite_of_gaps():
    rng = np.random.default_rng(5)
    F, L = rng.standard_normal((120, 3)), rng.standard_normal((3, 60))
    Y = F @ L + rng.standard_normal((120, 60))
    gaps = Gaps(rng.random(Y.shape) < 0.2)
    filled = np.where(gaps.missing, 0.0, Y)
    assert count_hidden(filled, np.random.default_rng(0), gaps) == 3
    found = hidden_inputs(filled, 3, gaps)
    centred = F - F.mean(axis=0)
    inside = np.linalg.norm(found.T @ np.linalg.qr(centred)[0], 2)
    overlap = np.linalg.svd(found.T @ np.linalg.qr(centred)[0], compute_uv=False)
    assert inside <= 1 + 1e-9
    assert overlap.min() > 0.97
    noise = rng.standard_normal((120, 60))
    assert count_hidden(np.where(gaps.missing, 0.0, noise), np.random.default_rng(0), gaps) == 0
