"""The graphical lasso: a sparse inverse covariance, with a certificate.

For an empirical covariance S and penalties L (zero on the diagonal) it solves

    min over Ω ≻ 0 of   −ln|Ω| + Tr(SΩ) + Σ_{i≠j} L_ij |ω_ij|                       (primal)
    max over W ≻ 0 of    ln|W| + m     s.t. |W_ij − S_ij| ≤ L_ij, W_ii = S_ii        (dual)

on the scale of correlations. Variables that share no edge in the graph |S_ij| > L_ij share none in the solution either
(exact screening), so every connected component is solved alone: by block coordinate ascent on the dual
(:mod:`nard.covariance.columns`), or where that is too slow by Newton's method (:mod:`nard.covariance.newton`).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nard.covariance.columns import into_box, linear_terms, precision_from_columns, sweep_columns, warm_start
from nard.covariance.gaussian import inverse_spd, log_determinant
from nard.covariance.newton import newton_ascent
from nard.covariance.screening import change_units, components, feasible_start, to_correlations

__all__ = ["GraphicalLassoResult", "glasso_objective", "graphical_lasso"]

# The columns' lassos are solved to this fraction of the last sweep's change, so that they never limit it.
_INNER_FRACTION = 0.1
# A sweep that does not shrink the gap by this factor asks for more exact columns.
_SLOW = 0.5
# Problems that have not converged after this many sweeps are better left to Newton's method.
_MOST_SWEEPS = 10


@dataclass(frozen=True)
class GraphicalLassoResult:
    """What :func:`graphical_lasso` found.

    Attributes
    ----------
    precision : ndarray of shape (m, m)
        The sparse precision Ω.
    covariance : ndarray of shape (m, m)
        Its inverse, computed when asked for.
    dual : ndarray of shape (m, m)
        The dual solution W, equal to the inverse at the optimum; it proves the duality gap.
    logdet : float
        ln|Ω|.
    objective : float
        The primal objective at ``precision``.
    duality_gap : float
        Primal minus dual objective: an upper bound on how far ``objective`` is from the optimum.
    n_iter : int
        Sweeps over all columns and Newton steps (the most of any connected component).
    converged : bool
        Whether the gap fell below ``tol * m``.
    """

    precision: np.ndarray
    dual: np.ndarray
    logdet: float
    objective: float
    duality_gap: float
    n_iter: int
    converged: bool

    @cached_property
    def covariance(self) -> np.ndarray:
        return inverse_spd(self.precision)


def glasso_objective(S: np.ndarray, L: np.ndarray, omega: np.ndarray) -> float:
    """−ln|Ω| + Tr(SΩ) + Σ_{i≠j} L_ij|ω_ij|; +inf where Ω is not positive definite."""
    logdet = log_determinant(omega)
    if logdet == -np.inf:
        return np.inf
    return float(linear_terms(S, L, omega) - logdet)


class _Certificate:
    """The best primal and dual points seen, and the gap between them."""

    def __init__(self, S, L, tol):
        self.S, self.L, self.target = S, L, tol * len(S)
        # Should nothing better be found: a diagonal Ω.
        self.omega, self.logdet, self.primal = np.eye(len(S)), 0.0, np.inf
        self.W, self.dual = np.eye(len(S)), -np.inf

    def judge(self, omega, W, logdet_W, logdet_omega=None) -> bool:
        """Takes in Ω and a W inside the box, with ln|W| and if known ln|Ω|; says whether the gap is closed."""
        if logdet_omega is None:
            logdet_omega = log_determinant(omega)
        if logdet_omega > -np.inf:
            objective = linear_terms(self.S, self.L, omega) - logdet_omega
            if objective < self.primal:
                self.omega, self.logdet, self.primal = omega, logdet_omega, objective
        if logdet_W + len(W) > self.dual:
            self.W, self.dual = W, logdet_W + len(W)
        return self.gap <= self.target

    @property
    def gap(self) -> float:
        return max(self.primal - self.dual, 0.0)  # negative by rounding only


def _climb_columns(certificate, W, B, first_judged, max_sweeps) -> int:
    """Sweeps from (W, B) until the gap is closed; it is looked at from the given sweep on. Returns the sweeps."""
    S, L, m = certificate.S, certificate.L, len(W)
    threshold = _INNER_FRACTION * (np.abs(S).sum() - np.trace(S)) / (m * (m - 1))
    for sweep in range(1, max_sweeps + 1):
        change = sweep_columns(S, L, W, B, threshold)
        threshold = min(threshold, _INNER_FRACTION * change)
        if sweep < first_judged:
            continue
        before = certificate.gap
        inside = into_box(W, S, L)
        if certificate.judge(precision_from_columns(W, B), inside, log_determinant(inside)):
            return sweep
        if certificate.gap > _SLOW * before:
            threshold *= _INNER_FRACTION
    return max_sweeps


def _solve_component(S, L, init, tol, max_iter) -> tuple[_Certificate, int]:
    """One connected component of correlations S; ``init`` is None or an earlier (W, Ω, ln|Ω| or None)."""
    certificate = _Certificate(S, L, tol)
    if not L.any():  # no penalty: the inverse, if there is one
        logdet = log_determinant(S)
        if np.isfinite(logdet):
            certificate.judge(inverse_spd(S), S, logdet)
        return certificate, 0
    W, B, cold = None, np.zeros_like(S), True
    if init is not None:
        W, omega, logdet_omega = init
        logdet = log_determinant(W)
        if certificate.judge(omega, W, logdet, logdet_omega):
            return certificate, 0
        B = -omega / np.diag(omega)[:, None]
        np.fill_diagonal(B, 0.0)
        cold = logdet == -np.inf
    W = feasible_start(S, L) if cold else W.copy()
    # From a cold start one sweep is never enough.
    sweeps = min(max_iter, _MOST_SWEEPS)
    steps = _climb_columns(certificate, W, B, min(2, sweeps) if cold else 1, sweeps)
    if certificate.gap > certificate.target and steps < max_iter:
        W = certificate.W if np.isfinite(certificate.dual) else feasible_start(S, L)
        if np.isfinite(log_determinant(W)):
            steps += newton_ascent(S, L, W, certificate.judge, max_iter - steps)
    return certificate, steps


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
        Most steps in a connected component: sweeps over its columns, and Newton steps should these not suffice.

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
    S, L, variances = _correlations(S, lam)
    if init is not None and init.precision.shape != S.shape:
        raise ValueError(f"init is a result for {len(init.precision)} variables, but S has {len(S)}.")
    scale = np.sqrt(variances)
    m = len(S)
    labels = components(S, L)
    sizes = np.bincount(labels)
    if len(sizes) == 1 and m > 1:
        start = None
        if init is not None:
            logdet = init.logdet + 2.0 * float(np.log(scale).sum())
            start = *warm_start(init.dual, init.precision, scale, S, L), logdet
        certificate, steps = _solve_component(S, L, start, tol, max_iter)
        omega, W, gap = certificate.omega, certificate.W, certificate.gap
        objective, logdet = certificate.primal, certificate.logdet
    else:
        omega, W, gap, steps, logdet = np.eye(m), np.eye(m), 0.0, 0, 0.0
        objective = float(np.count_nonzero(sizes == 1))
        for component in np.flatnonzero(sizes > 1):
            index = np.flatnonzero(labels == component)
            block = np.ix_(index, index)
            S_block, L_block, start = S[block], L[block], None
            if init is not None:
                start = *warm_start(init.dual[block], init.precision[block], scale[index], S_block, L_block), None
            certificate, n = _solve_component(S_block, L_block, start, tol, max_iter)
            omega[block], W[block] = certificate.omega, certificate.W
            objective += certificate.primal
            logdet += certificate.logdet
            gap += certificate.gap
            steps = max(steps, n)
    converged = bool(gap <= tol * m)
    if not converged:
        remedy = "S is singular: lam must be positive" if steps == 0 else "raise max_iter, tol or lam"
        from sklearn.exceptions import ConvergenceWarning  # not above: it takes over a second to import

        warnings.warn(
            f"graphical_lasso stopped after {steps} steps with a duality gap of {gap:.3g}, above the "
            f"{tol * m:.3g} asked for: {remedy}.",
            ConvergenceWarning,
            stacklevel=2,
        )
    if not np.isfinite(objective):  # nothing better than a diagonal Ω was found
        objective = glasso_objective(S, L, omega)
    alone = np.flatnonzero(sizes[labels] == 1)
    change_units(omega, 1.0 / scale)
    omega[alone, alone] = 1.0 / variances[alone]  # exact
    change_units(W, scale)
    log_units = 2.0 * float(np.log(scale).sum())
    return GraphicalLassoResult(omega, W, logdet - log_units, objective + log_units, float(gap), steps, converged)


def _correlations(S, lam) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Correlations, penalties on their scale and the variances, of checked arguments."""
    S = np.ascontiguousarray(S, dtype=float)
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise ValueError(f"S must be a square matrix, found shape {S.shape}.")
    if not np.isfinite(S.sum()) and not np.isfinite(S).all():
        raise ValueError("S has missing or infinite entries.")
    variances = np.diag(S).copy()
    if (variances <= 0).any():
        bad = np.flatnonzero(variances <= 0)
        raise ValueError(f"S must have a positive diagonal; variables {bad.tolist()} have variance zero: drop them.")
    wrong_penalty = f"lam must be a number ≥ 0 or a symmetric non-negative {len(S)}×{len(S)} matrix."
    L = np.full((1, 1), float(lam)) if np.ndim(lam) == 0 else np.ascontiguousarray(lam, dtype=float)
    if L.shape not in ((1, 1), S.shape) or not L.min() >= 0:
        raise ValueError(wrong_penalty)
    correlations, L, S_symmetric, L_symmetric = to_correlations(S, L, np.sqrt(variances))
    if not S_symmetric:
        raise ValueError("S must be symmetric; pass (S + S.T) / 2.")
    if not L_symmetric:
        raise ValueError(wrong_penalty)
    return correlations, L, variances
