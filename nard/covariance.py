"""The graphical lasso: a sparse inverse covariance, with a certificate.

For an empirical covariance S and penalties L (zero on the diagonal) it solves

    min over Ω ≻ 0 of   −ln|Ω| + Tr(SΩ) + Σ_{i≠j} L_ij |ω_ij|                       (primal)
    max over W ≻ 0 of    ln|W| + m     s.t. |W_ij − S_ij| ≤ L_ij, W_ii = S_ii        (dual)

by block coordinate ascent on the dual, one column at a time. With W₁₁ the block without column j, the column's
problem is a lasso, min_β ½βᵀW₁₁β − βᵀs₁₂ + Σ l_i|β_i|, whose solution gives w₁₂ = W₁₁β. Variables that share no
edge in the graph |S_ij| > L_ij share none in the solution either (exact screening), so every connected component is
solved alone.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.linalg import cholesky, lapack
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

__all__ = ["GraphicalLassoResult", "graphical_lasso"]

# The inner lassos are solved to this fraction of the last sweep's change, so that they never limit it.
_INNER_FRACTION = 0.1
_MAX_INNER_PASSES = 100
# Each round that ends short of the demanded gap asks for this much more from the next one.
_TIGHTEN = 0.1
_TIGHTEST = 1e-15


@dataclass(frozen=True)
class GraphicalLassoResult:
    """What :func:`graphical_lasso` found.

    Attributes
    ----------
    precision, covariance : ndarray of shape (m, m)
        The sparse precision Ω and its inverse.
    objective : float
        The primal objective at ``precision``.
    duality_gap : float
        Primal minus dual objective: an upper bound on how far ``objective`` is from the optimum.
    n_iter : int
        Sweeps over all columns (the most of any connected component).
    converged : bool
        Whether the gap fell below ``tol * m``.
    """

    precision: np.ndarray
    covariance: np.ndarray
    objective: float
    duality_gap: float
    n_iter: int
    converged: bool


@njit(cache=True)
def _move_coefficient(i, j, beta, wb, S, L, W):
    """β_i ← its minimum in column j's lasso, wb = Wβ along with it. Returns how far the gradient moved."""
    r = S[i, j] - wb[i] + W[i, i] * beta[i]
    shrunk = abs(r) - L[i, j]
    new = 0.0
    if shrunk > 0.0:
        new = shrunk / W[i, i] if r > 0 else -shrunk / W[i, i]
    step = new - beta[i]
    if step == 0.0:
        return 0.0
    beta[i] = new
    wb += step * W[i]
    return abs(step) * W[i, i]


@njit(cache=True)
def _sweep_columns(S, L, W, B, tol, max_sweeps):
    """Dual block coordinate ascent in place. Row j of B holds column j's lasso solution β.

    ``tol`` is relative to the mean absolute off-diagonal entry of S. Returns the number of sweeps.
    """
    m = S.shape[0]
    scale = 0.0
    for i in range(m):
        for j in range(m):
            if i != j:
                scale += abs(S[i, j])
    threshold = tol * scale / (m * (m - 1))
    inner_threshold = _INNER_FRACTION * scale / (m * (m - 1))
    wb = np.empty(m)
    nonzero = np.empty(m, dtype=np.int64)
    for sweep in range(max_sweeps):
        largest = 0.0
        for j in range(m):
            beta = B[j]
            wb[:] = 0.0
            for i in range(m):
                if beta[i] != 0.0:
                    wb += beta[i] * W[i]
            passes = 0
            while passes < _MAX_INNER_PASSES:
                passes += 1
                moved = 0.0
                count = 0
                for i in range(m):
                    if i != j:
                        moved = max(moved, _move_coefficient(i, j, beta, wb, S, L, W))
                        if beta[i] != 0.0:
                            nonzero[count] = i
                            count += 1
                if moved <= inner_threshold:
                    break
                # The coefficients that are not zero settle first; then all are looked at again.
                while moved > inner_threshold and passes < _MAX_INNER_PASSES:
                    passes += 1
                    moved = 0.0
                    for k in range(count):
                        moved = max(moved, _move_coefficient(nonzero[k], j, beta, wb, S, L, W))
            change = 0.0
            for i in range(m):
                if i != j:
                    change += abs(wb[i] - W[i, j])
                    W[i, j] = wb[i]
                    W[j, i] = wb[i]
            largest = max(largest, change / (m - 1))
        if largest <= threshold and inner_threshold <= threshold:
            return sweep + 1
        # Columns need not be solved better than W is known.
        inner_threshold = max(_INNER_FRACTION * threshold, min(inner_threshold, _INNER_FRACTION * largest))
    return max_sweeps


@njit(cache=True)
def _precision_from_columns(W, B):
    """Ω from the columns' lassos: ω_jj = 1/(W_jj − w₁₂ᵀβ), ω_ij = −β_i ω_jj, symmetrised."""
    m = W.shape[0]
    omega = np.empty((m, m))
    for j in range(m):
        omega_jj = 1.0 / (W[j, j] - np.dot(W[j], B[j]))
        omega[j] = -omega_jj * B[j]
        omega[j, j] = omega_jj
    return 0.5 * (omega + omega.T)


def log_determinant(A: np.ndarray) -> float:
    """ln|A| of a symmetric matrix, −inf where it is not positive definite."""
    try:
        return 2.0 * float(np.log(np.diag(cholesky(A, lower=True, check_finite=False))).sum())
    except np.linalg.LinAlgError:
        return -np.inf


def inverse_spd(A: np.ndarray) -> np.ndarray:
    """Inverse of a symmetric positive definite matrix, exactly symmetric."""
    chol = cholesky(A, lower=True, check_finite=False)
    inverse, _ = lapack.dpotri(chol, lower=1)
    lower = np.tril(inverse)
    return lower + np.tril(lower, -1).T


def glasso_objective(S: np.ndarray, L: np.ndarray, omega: np.ndarray) -> float:
    """−ln|Ω| + Tr(SΩ) + Σ_{i≠j} L_ij|ω_ij|; +inf where Ω is not positive definite."""
    return float(-log_determinant(omega) + np.vdot(S, omega) + np.vdot(L, np.abs(omega)))


def log_density(residuals: np.ndarray, precision: np.ndarray, inflation: np.ndarray) -> np.ndarray:
    """ln N(residual; 0, inflation·Ω⁻¹) of every sample."""
    m = residuals.shape[1]
    mahalanobis = np.einsum("ij,ij->i", residuals @ precision, residuals)
    constant = log_determinant(precision) - m * np.log(2.0 * np.pi)
    return 0.5 * (constant - m * np.log(inflation) - mahalanobis / inflation)


def _feasible_start(S, L):
    """(1 − t)S + t·diag(S) with the largest t ≤ 1 inside the dual's box: positive definite if S is semi-definite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(S != 0.0, L / np.abs(S), np.inf)
    np.fill_diagonal(room, np.inf)
    keep = 1.0 - min(1.0, room.min())
    return keep * S + (1.0 - keep) * np.diag(np.diag(S))


def _starts(S, L, init_W, init_omega):
    """(W, B) to start from, in the order to try: the given one if it is positive definite, then a feasible one."""
    m = len(S)
    if init_W is not None:
        W = np.clip(init_W, S - L, S + L)
        if np.isfinite(log_determinant(W)):
            B = -init_omega / np.diag(init_omega)[:, None]
            np.fill_diagonal(B, 0.0)
            yield W, B
    yield _feasible_start(S, L), np.zeros((m, m))


def _solve_component(S, L, init_W, init_omega, tol, max_iter):
    """One connected component: returns Ω, its inverse, the duality gap, sweeps."""
    m = len(S)
    if m == 1:
        return 1.0 / S, S.copy(), 0.0, 0
    best, objective, gap, sweeps = np.diag(1.0 / np.diag(S)), np.inf, np.inf, 0
    for W, B in _starts(S, L, init_W, init_omega):
        sweep_tol = min(1e-2, 10 * tol)
        while sweeps < max_iter and sweep_tol > _TIGHTEST:
            sweeps += _sweep_columns(S, L, W, B, sweep_tol, max_iter - sweeps)
            omega = _precision_from_columns(W, B)
            found = glasso_objective(S, L, omega)
            if found < objective:
                best, objective = omega, found
            dual = _dual_value(S, L, W)
            gap = min(gap, max(objective - dual, 0.0))  # negative by rounding only
            if gap <= tol * m or (sweep_tol < 1e-6 and not np.isfinite(dual)):
                break
            sweep_tol *= _TIGHTEN
        if gap <= tol * m:
            break
    return best, inverse_spd(best), gap, sweeps


def _dual_value(S, L, W):
    """ln|W| + m at W clipped into the dual's box; −inf where that is not positive definite."""
    W = np.clip(W, S - L, S + L)
    np.fill_diagonal(W, np.diag(S))
    return log_determinant(W) + len(S)


def graphical_lasso(S, lam, *, init=None, tol=1e-4, max_iter=100) -> GraphicalLassoResult:
    """Sparse inverse covariance under an L1 penalty on the off-diagonal entries.

    Minimises −ln|Ω| + Tr(SΩ) + Σ_{i≠j} λ_ij |ω_ij|.

    Parameters
    ----------
    S : array-like of shape (m, m)
        Empirical covariance: symmetric, with a positive diagonal. It may be singular when ``lam`` is positive.
    lam : float or array-like of shape (m, m)
        Penalty, or a symmetric matrix of penalties whose diagonal is ignored.
    init : GraphicalLassoResult, optional
        An earlier result to start from, for instance at a nearby ``lam``.
    tol : float, default=1e-4
        The duality gap to reach, per variable.
    max_iter : int, default=100
        Most sweeps over the columns of a connected component.

    Returns
    -------
    GraphicalLassoResult
        With ``precision``, ``covariance``, ``objective``, ``duality_gap``, ``n_iter`` and ``converged``.

    Examples
    --------
    >>> import numpy as np
    >>> from nard import graphical_lasso
    >>> S = np.array([[1.0, 0.5, 0.1], [0.5, 1.0, 0.1], [0.1, 0.1, 1.0]])
    >>> result = graphical_lasso(S, 0.2)
    >>> result.precision.round(3) + 0.0
    array([[ 1.099, -0.33 ,  0.   ],
           [-0.33 ,  1.099,  0.   ],
           [ 0.   ,  0.   ,  1.   ]])
    >>> result.duality_gap < 1e-4
    True
    """
    S = np.array(S, dtype=float)
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise ValueError(f"S must be a square matrix, found shape {S.shape}.")
    if not np.isfinite(S).all():
        raise ValueError("S has missing or infinite entries.")
    if not np.allclose(S, S.T, rtol=1e-8, atol=1e-12 * np.abs(S).max(initial=0.0)):
        raise ValueError("S must be symmetric; pass (S + S.T) / 2.")
    if (np.diag(S) <= 0).any():
        bad = np.flatnonzero(np.diag(S) <= 0)
        raise ValueError(f"S must have a positive diagonal; variables {bad.tolist()} have variance zero: drop them.")
    S = 0.5 * (S + S.T)
    m = len(S)
    L = np.full((m, m), float(lam)) if np.ndim(lam) == 0 else np.array(lam, dtype=float)
    if L.shape != S.shape or not np.allclose(L, L.T) or not (L >= 0).all():
        raise ValueError(f"lam must be a number ≥ 0 or a symmetric non-negative {m}×{m} matrix.")
    np.fill_diagonal(L, 0.0)

    n_components, labels = connected_components(np.abs(S) > L, directed=False)
    omega, covariance, gap, sweeps = np.zeros((m, m)), np.zeros((m, m)), 0.0, 0
    for component in range(n_components):
        index = np.flatnonzero(labels == component)
        block = np.ix_(index, index)
        init_W = None if init is None else init.covariance[block]
        init_omega = None if init is None else init.precision[block]
        omega[block], covariance[block], block_gap, n = _solve_component(
            S[block], L[block], init_W, init_omega, tol, max_iter
        )
        gap += block_gap
        sweeps = max(sweeps, n)
    converged = bool(gap <= tol * m)
    if not converged:
        warnings.warn(
            f"graphical_lasso stopped after {sweeps} sweeps with a duality gap of {gap:.3g}, above the "
            f"{tol * m:.3g} asked for: raise max_iter, tol or lam.",
            ConvergenceWarning,
            stacklevel=2,
        )
    objective = glasso_objective(S, L, omega)
    return GraphicalLassoResult(omega, covariance, objective, float(gap), sweeps, converged)
