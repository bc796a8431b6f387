"""The sparse refit: entries of W chosen at a false discovery rate, re-estimated together with Ω.

On a support A the refit is a seemingly unrelated regression: the minimum of Tr(Ω(Y−XWᵀ)ᵀ(Y−XWᵀ)) over W with support
A, whose normal equations (XᵀXWᵀΩ = XᵀYΩ on A) are solved by preconditioned conjugate gradients and never formed. Ω is
then taken anew from the residuals, each output's degrees of freedom counted, and the entries are tested once more,
this time with the help of the network: given Ω, the noise left in output i is 1/ω_ii instead of V_ii. With
z_j = C⁻¹x_j the direction that isolates input j, g_j = w_j + Eᵀz_j/(x_jᵀz_j) is free of shrinkage and has covariance
V/t_j, t_j = (x_jᵀz_j)²/(z_jᵀz_j). Restricted to the outputs B that input j is taken to drive, w_B = Ω_BB⁻¹(Ωg_j)_B with
covariance Ω_BB⁻¹/t_j; an entry outside B is tested as if it alone were added to B.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg
from scipy.stats import f as fisher

from nard.algorithms.evidence import Problem
from nard.covariance import GraphicalLassoResult, graphical_lasso, inverse_spd
from nard.selection.significance import EntryTest, InputTest, entries_from, qvalues

__all__ = ["SparseFit", "refit"]

_CG_TOL = 1e-8
# Rounds of selection, estimate and test; the support hardly changes after the first.
_ROUNDS = 2


@dataclass(frozen=True)
class SparseFit:
    """W (d×m) on its support, the residual network, the residual covariance, degrees of freedom and tests."""

    coef: np.ndarray
    network: GraphicalLassoResult
    residual_covariance: np.ndarray
    degrees: np.ndarray
    inputs: InputTest
    entries: EntryTest


def least_squares_on_support(X, Y, support, omega, start=None):
    """argmin over W with the given support (d×m) of Tr(Ω(Y−XW)ᵀ(Y−XW)), by conjugate gradients."""
    W = np.zeros(support.shape)
    if not support.any():
        return W
    columns = np.flatnonzero(support.any(axis=1))
    X, mask = X[:, columns], support[columns]
    n_unknowns = int(mask.sum())
    full = np.zeros(mask.shape)

    def normal_matrix(v):
        full[mask] = v
        return (X.T @ ((X @ full) @ omega))[mask]

    diagonal = np.outer(np.einsum("ij,ij->j", X, X), np.diag(omega))[mask]
    solution, _ = cg(
        LinearOperator((n_unknowns, n_unknowns), matvec=normal_matrix, dtype=float),
        (X.T @ (Y @ omega))[mask],
        x0=None if start is None else start[columns][mask],
        rtol=_CG_TOL,
        maxiter=10 * n_unknowns,
        M=LinearOperator((n_unknowns, n_unknowns), matvec=lambda v: v / diagonal, dtype=float),
    )
    W[support] = solution
    return W


def isolating_directions(problem: Problem, alpha: np.ndarray) -> np.ndarray:
    """C⁻¹X (N×d), C = I + XK⁻¹Xᵀ."""
    active = np.flatnonzero(np.isfinite(alpha))
    if not len(active):
        return problem.X
    X = problem.X[:, active] * alpha[active] ** -0.5
    if len(active) <= problem.n:
        factor = cho_factor(np.eye(len(active)) + X.T @ X)
        return problem.X - X @ cho_solve(factor, X.T @ problem.X)
    return cho_solve(cho_factor(np.eye(problem.n) + X @ X.T), problem.X)


def network_tests(X, directions, W, residuals, omega, support, degrees) -> tuple[InputTest, EntryTest]:
    """g_jᵀΩg_j t_j against m·F(m, mν), and every entry given the network and the support of the others."""
    overlap = np.einsum("ij,ij->j", X, directions)
    usable = overlap > 1e-12 * np.maximum(np.einsum("ij,ij->j", X, X), 1e-300)
    overlap = np.where(usable, overlap, 1.0)
    information = overlap**2 / np.where(usable, np.einsum("ij,ij->j", directions, directions), 1.0)
    G = W + (directions.T @ residuals) / overlap[:, None]
    H = G @ omega
    diagonal = np.diag(omega)
    weight, variance = H / diagonal, np.tile(1.0 / diagonal, (len(W), 1))
    for j in np.flatnonzero(support.any(axis=1)):
        inside = np.flatnonzero(support[j])
        inverse = inverse_spd(omega[np.ix_(inside, inside)])
        regression = omega[:, inside] @ inverse
        remaining = diagonal - np.einsum("ij,ij->i", regression, omega[:, inside])
        remaining[inside] = 1.0  # replaced below
        weight[j] = (H[j] - regression @ H[j, inside]) / remaining
        variance[j] = 1.0 / remaining
        weight[j, inside] = inverse @ H[j, inside]
        variance[j, inside] = np.diag(inverse)
    weight[~usable] = 0.0
    sd = np.where(usable[:, None], np.sqrt(variance / information[:, None]), np.inf)
    statistic = np.where(usable, information * np.einsum("ij,ij->i", G, H), 0.0)
    m = len(omega)
    inputs = InputTest(statistic, fisher.sf(statistic / m, m, m * degrees.mean()))
    return inputs, entries_from(weight, sd, degrees)


def _estimate(problem, support, omega, lam, W, network):
    """W on its support, and the network of its residuals with every output's degrees of freedom counted."""
    X, Y, n = problem.X, problem.Y, problem.n
    W = least_squares_on_support(X, Y, support, omega, W)
    residuals = Y - X @ W
    # An output cannot be left with less than one degree of freedom, however many entries were selected for it.
    degrees = np.maximum(n - 1.0 - support.sum(axis=0), 1.0)
    covariance = residuals.T @ residuals / np.sqrt(np.outer(degrees, degrees))
    variances = np.maximum(np.diag(covariance), problem.data.variance_floor)
    np.fill_diagonal(covariance, variances)
    penalty = lam * np.sqrt(np.outer(variances, variances))
    network = graphical_lasso(covariance, penalty, init=network, max_iter=1000)
    W = least_squares_on_support(X, Y, support, network.precision, W)
    return W, network, covariance, degrees


def refit(
    problem: Problem, alpha: np.ndarray, entries: EntryTest, omega: np.ndarray, lam: float, fdr: float
) -> SparseFit:
    """From the posterior's tests to the sparse model: select, estimate, test with the network; then select once more.

    The entries whose final q-value is at most ``fdr`` are the support of ``coef``.
    """
    directions = isolating_directions(problem, alpha)
    W, network = None, None
    for _ in range(_ROUNDS):
        support = qvalues(entries.pvalue) <= fdr
        W, network, _, degrees = _estimate(problem, support, omega, lam, W, network)
        omega = network.precision
        residuals = problem.Y - problem.X @ W
        inputs, entries = network_tests(problem.X, directions, W, residuals, omega, support, degrees)
    support = qvalues(entries.pvalue) <= fdr
    return SparseFit(*_estimate(problem, support, omega, lam, W, network), inputs, entries)
