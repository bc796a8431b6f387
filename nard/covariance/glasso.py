"""The graphical lasso: a sparse inverse covariance, with a certificate.

For an empirical covariance S and penalties L (zero on the diagonal) it solves

    min over Ω ≻ 0 of   −ln|Ω| + Tr(SΩ) + Σ_{i≠j} L_ij |ω_ij|                       (primal)
    max over W ≻ 0 of    ln|W| + m     s.t. |W_ij − S_ij| ≤ L_ij, W_ii = S_ii        (dual)

on the scale of correlations. Variables that share no edge in the graph |S_ij| > L_ij share none in the solution either
(exact screening), so every connected component is solved alone: by block coordinate ascent on the dual
(:mod:`nard.covariance.columns`), or where that is too slow by Newton's method (:mod:`nard.covariance.newton`). Of a
giant component W is the only dense matrix (:mod:`nard.covariance.giant`).

Residuals R (N×m) may be given in place of S = RᵀR/N: then nothing of size m×m is formed but sparse results, W of a
giant component, and of S the blocks of the others.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from nard.covariance.allocation import matrices
from nard.covariance.columns import (
    columns_from_precision,
    linear_terms,
    mean_off_diagonal,
    precision_from_columns,
    product_traces,
    put_inside_box,
    share_of_nonzeros,
    sweep_columns,
    warm_dual,
)
from nard.covariance.gaussian import inverse_spd, log_determinant
from nard.covariance.giant import Earlier, solve_giant
from nard.covariance.newton import newton_ascent
from nard.covariance.residuals import block_covariance, residual_groups, residual_variances
from nard.covariance.rows import CovarianceRows, ResidualRows
from nard.covariance.screening import (
    components,
    feasible_start,
    finite_and_symmetric,
    put_block,
    take_block,
    to_correlations,
)

__all__ = ["GraphicalLassoResult", "glasso_objective", "graphical_lasso", "quiet_graphical_lasso"]

# The columns' lassos are solved to this fraction of the last sweep's change, so that they never limit it.
_INNER_FRACTION = 0.1
# A sweep that does not shrink the gap by this factor asks for more exact columns.
_SLOW = 0.5
# Problems that have not converged after this many sweeps are better left to Newton's method.
_MOST_SWEEPS = 10
# Up to this share of non-zeros a product with Ω costs less than a Cholesky factor.
_SPARSE = 0.1
# The expansion of ln|W| around Ω⁻¹ is used up to this norm of ΩW − I.
_NEAR = 0.5
# Components with more variables than this are giants.
_GIANT = 2000
# Of residuals, S of a giant component is formed all the same up to this size, if it is not larger than they are.
_FORMED = 6000
# Rounding errors in the symmetry of S are allowed, relative to the variables' own units.
_ASYMMETRY = 1e-8
# Variables that a message names.
_SHOWN = 5


@dataclass(frozen=True)
class GraphicalLassoResult:
    """What :func:`graphical_lasso` found.

    Attributes
    ----------
    precision : ndarray or sparse array of shape (m, m)
        The sparse precision Ω; a sparse array if residuals were given. ``covariance`` and ``dual`` are then, too, but
        for a component of thousands of variables that holds most of them.
    covariance : ndarray or sparse array of shape (m, m)
        Its inverse, computed when asked for.
    dual : ndarray or sparse array of shape (m, m)
        The dual solution W, equal to the inverse at the optimum; it proves the duality gap.
    logdet : float
        ln|Ω|.
    objective : float
        The primal objective at ``precision``.
    duality_gap : float
        Primal minus dual objective, or slightly more where the dual one is only bounded from below: an upper bound on
        how far ``objective`` is from the optimum.
    n_iter : int
        Sweeps over all columns and Newton steps (the most of any connected component).
    converged : bool
        Whether the gap fell below ``tol * m``.
    """

    precision: np.ndarray | sparse.csr_array
    dual: np.ndarray | sparse.csr_array
    logdet: float
    objective: float
    duality_gap: float
    n_iter: int
    converged: bool

    @cached_property
    def covariance(self) -> np.ndarray | sparse.csr_array:
        if not sparse.issparse(self.precision):
            return inverse_spd(self.precision)
        groups = _groups(sparse.csgraph.connected_components(self.precision, directed=False)[1])
        if max(map(len, groups)) > max(_GIANT, self.precision.shape[0] // 2):
            return inverse_spd(_block(self.precision, np.arange(self.precision.shape[0])))
        return _assembled((group, inverse_spd(_block(self.precision, group))) for group in groups)


def glasso_objective(S: np.ndarray, L: np.ndarray, omega: np.ndarray) -> float:
    """−ln|Ω| + Tr(SΩ) + Σ_{i≠j} L_ij|ω_ij|; +inf where Ω is not positive definite."""
    logdet = log_determinant(omega)
    if logdet == -np.inf:
        return np.inf
    return float(linear_terms(S, L, omega) - logdet)


def _dual_log_determinant(W, omega, logdet_omega) -> float:
    """ln|W| or a lower bound of it, −inf where W is not positive definite.

    The eigenvalues e_i of E = ΩW − I are those of Ω^½WΩ^½ − I. Where Tr(E²) = Σ e_i² = r² with r < 1 none is below −r,
    so that W is positive definite, and as |ln(1 + e) − e + e²/2| ≤ |e|³/(3(1 − |e|)),

        ln|W| = −ln|Ω| + Σ ln(1 + e_i) ≥ −ln|Ω| + Tr(E) − r²/2 − r³/(3(1 − r)).

    Near the optimum this is close, and where Ω is sparse it costs less than a Cholesky factor of W.
    """
    if logdet_omega > -np.inf and share_of_nonzeros(omega) <= _SPARSE:
        trace, square = product_traces(omega, W, *matrices(1, len(W)))
        r = np.sqrt(max(square, 0.0))  # negative by rounding only
        if r <= _NEAR:
            return trace - logdet_omega - 0.5 * square - r**3 / (3.0 * (1.0 - r))
    return log_determinant(W)


class _Certificate:
    """The best primal and dual points seen, and the gap between them."""

    def __init__(self, S, L, tol):
        self.S, self.L, self.target = S, L, tol * len(S)
        # Without anything better Ω is the identity, whose objective on the scale of correlations is m.
        self.omega, self.logdet, self.primal = None, 0.0, float(len(S))
        self.W, self.dual = None, -np.inf

    def judge(self, omega, W, logdet_W=None, logdet_omega=None) -> bool:
        """Takes in Ω and a W inside the box, with ln|W| and ln|Ω| if known; says whether the gap is closed."""
        if logdet_omega is None:
            logdet_omega = log_determinant(omega)
        if logdet_W is None:
            logdet_W = _dual_log_determinant(W, omega, logdet_omega)
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

    def solution(self) -> tuple[np.ndarray, np.ndarray]:
        """Ω and W; the identity in place of what was not found."""
        omega, W = (np.eye(len(self.S)) if found is None else found for found in (self.omega, self.W))
        return omega, W


def _climb_columns(certificate, W, B, first_judged, max_sweeps) -> int:
    """Sweeps from (W, B) until the gap is closed; it is looked at from the given sweep on. Returns the sweeps."""
    S, L = certificate.S, certificate.L
    threshold = _INNER_FRACTION * mean_off_diagonal(S)
    for sweep in range(1, max_sweeps + 1):
        change = sweep_columns(S, L, W, B, threshold)
        threshold = min(threshold, _INNER_FRACTION * change)
        if sweep < first_judged:
            continue
        before = certificate.gap
        omega, inside = matrices(2, len(S))
        precision_from_columns(W, B, omega)
        put_inside_box(W, S, L, inside)
        if certificate.judge(omega, inside):
            return sweep
        if certificate.gap > _SLOW * before:
            threshold *= _INNER_FRACTION
    return max_sweeps


def _solve_component(S, L, start, tol, max_iter) -> tuple[_Certificate, int]:
    """One connected component of correlations S; ``start`` is None or an earlier (Ω, W, ln|W|, ln|Ω|).

    This W is inside the box; either log determinant may be None.
    """
    certificate = _Certificate(S, L, tol)
    if not L.any():  # no penalty: the inverse, if there is one
        logdet = log_determinant(S)
        if np.isfinite(logdet):
            certificate.judge(inverse_spd(S), S, logdet)
        return certificate, 0
    if start is not None and certificate.judge(*start):
        return certificate, 0
    W, B = matrices(2, len(S))
    cold = certificate.W is None
    if cold:
        feasible_start(S, L, W)
        B[:] = 0.0
    else:
        W[:] = start[1]
        columns_from_precision(start[0], B)
    # From a cold start one sweep is never enough.
    sweeps = min(max_iter, _MOST_SWEEPS)
    steps = _climb_columns(certificate, W, B, min(2, sweeps) if cold else 1, sweeps)
    if certificate.gap > certificate.target and steps < max_iter:
        if certificate.W is None:
            feasible_start(S, L, W)
        else:
            W = certificate.W
        if np.isfinite(log_determinant(W)):
            steps += newton_ascent(S, L, W, certificate.judge, max_iter - steps)
    return certificate, steps


def graphical_lasso(S=None, lam=None, *, residuals=None, init=None, tol=1e-4, max_iter=100) -> GraphicalLassoResult:
    """Sparse inverse covariance under an L1 penalty on the off-diagonal entries.

    Minimises −ln|Ω| + Tr(SΩ) + Σ_{i≠j} λ_ij |ω_ij|.

    Parameters
    ----------
    S : array-like of shape (m, m)
        Empirical covariance: symmetric, with a positive diagonal. It may be singular when ``lam`` is positive.
    lam : float or array-like of shape (m, m)
        Penalty, or a symmetric matrix of penalties whose diagonal is ignored; a positive number with ``residuals``.
    residuals : array of shape (n_samples, m), optional
        R in place of S = RᵀR/n_samples: centre its columns first, if need be. It may be of any type of numbers and lie
        in a file (``numpy.memmap``). Where λ leaves many small components, thousands of variables take little memory:
        of S only the blocks of the components are formed, and the results are sparse arrays. A component of thousands
        of variables takes one dense matrix of its size, which is the result's ``dual``.
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
    found = quiet_graphical_lasso(S, lam, residuals=residuals, init=init, tol=tol, max_iter=max_iter)
    if not found.converged:
        remedy = "S is singular: lam must be positive" if found.n_iter == 0 else "raise max_iter, tol or lam"
        from sklearn.exceptions import ConvergenceWarning  # not above: it takes over a second to import

        warnings.warn(
            f"graphical_lasso stopped after {found.n_iter} steps with a duality gap of {found.duality_gap:.3g}, above "
            f"the {tol * found.precision.shape[0]:.3g} asked for: {remedy}.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return found


def quiet_graphical_lasso(
    S=None, lam=None, *, residuals=None, init=None, tol=1e-4, max_iter=100
) -> GraphicalLassoResult:
    """:func:`graphical_lasso` without its warning: which warnings are shown is not a thread's own business."""
    if lam is None or (S is None) == (residuals is None):
        raise ValueError("graphical_lasso takes a covariance S or residuals=R, one of both, and a penalty lam.")
    if residuals is not None:
        return _from_residuals(residuals, lam, init, tol, max_iter)
    return _from_covariance(S, lam, init, tol, max_iter)


def _from_covariance(S, lam, init, tol, max_iter) -> GraphicalLassoResult:
    """Every component of |S_ij| > L_ij alone."""
    S, penalty, variances = _checked(S, lam)
    if init is not None and init.precision.shape != S.shape:
        raise ValueError(f"init is a result for {init.precision.shape[0]} variables, but S has {len(S)}.")
    if init is not None and sparse.issparse(init.precision):
        init = _part(init, np.arange(len(S)))
    m = len(S)
    scale = np.sqrt(variances)
    log_units = 2.0 * float(np.log(scale).sum())
    labels = components(S, penalty)
    sizes = np.bincount(labels)
    if sizes.max() > _GIANT and penalty.any():
        return _of_components(_GivenCovariance(S, penalty, scale), _groups(labels), init, tol, max_iter)
    (alone,) = (sizes[labels] == 1).nonzero()
    near, near_logdet = None, 0.0
    if init is not None and len(alone) < m:
        near, near_logdet = _restart(S, penalty, init, alone)
        if near.duality_gap <= tol * m:
            return near
    omega, W = matrices(2, m)
    if len(alone) > 0 or len(sizes) > 1:
        omega[:], W[:] = 0.0, 0.0
        omega[alone, alone], W[alone, alone] = 1.0 / variances[alone], variances[alone]
    objective, logdet, gap, steps = len(alone) + log_units, -log_units, 0.0, 0
    for component, size in enumerate(sizes.tolist()):
        if size == 1:
            continue
        (index,) = (labels == component).nonzero()
        start = None
        if near is not None:
            logdets = (near_logdet - log_units, near.logdet + log_units) if size == m else (None, None)
            start = *matrices(2, size), *logdets
            take_block(near.precision, index, scale, start[0])
            take_block(near.dual, index, 1.0 / scale, start[1])
        S_block, L_block = matrices(2, size)
        to_correlations(S, penalty, scale, index, S_block, L_block)
        certificate, n = _solve_component(S_block, L_block, start, tol, max_iter)
        found = certificate.solution()
        put_block(omega, index, found[0], 1.0 / scale)
        put_block(W, index, found[1], scale)
        objective += certificate.primal
        logdet += certificate.logdet
        gap += certificate.gap
        steps = max(steps, n)
    converged = bool(gap <= tol * m)
    return GraphicalLassoResult(omega, W, logdet, objective, float(gap), steps, converged)


class _GivenCovariance:
    """Where the components' problems come from: a covariance and its penalties."""

    sparse = False

    def __init__(self, S, penalty, scale):
        self.S, self.penalty, self.scale = S, penalty, scale

    def block(self, group):
        where = np.ix_(group, group)
        return self.S[where], self.penalty[where] if len(self.penalty) > 1 else self.penalty[0, 0]

    def rows(self, group):
        return CovarianceRows(self.S, self.penalty, self.scale, group)


class _GivenResiduals:
    """As before, from residuals and one penalty."""

    sparse = True

    def __init__(self, R, lam, scale):
        self.R, self.lam, self.scale = R, lam, scale

    def block(self, group):
        return block_covariance(self.R, group), self.lam

    def rows(self, group):
        if len(group) > max(_FORMED, len(self.R)):
            return ResidualRows(self.R, self.lam, self.scale, group)
        return CovarianceRows(
            block_covariance(self.R, group), np.array([[self.lam]]), self.scale[group], np.arange(len(group))
        )


def _from_residuals(R, lam, init, tol, max_iter) -> GraphicalLassoResult:
    """Every component of |S_ij| > λ alone, each from its block of S."""
    variances = _checked_residuals(R, lam)
    if init is not None and init.precision.shape != (len(variances), len(variances)):
        raise ValueError(f"init is a result for {init.precision.shape[0]} variables, but there are {len(variances)}.")
    given = _GivenResiduals(R, float(lam), np.sqrt(variances))
    return _of_components(given, residual_groups(R, float(lam)), init, tol, max_iter)


def _of_components(given, groups, init, tol, max_iter) -> GraphicalLassoResult:
    """Every group of variables alone; all of them together where a giant holds most of them.

    The others then hardly cost more, and W is the only dense matrix.
    """
    variances = given.scale**2
    m = len(variances)
    if max(map(len, groups)) > max(_GIANT, m // 2):
        return _giant(given, np.arange(m), init, tol, max_iter)
    alone = np.concatenate([np.zeros(0, dtype=int), *(group for group in groups if len(group) == 1)])
    omegas, duals, solved = [], [], []
    for group in groups:
        if len(group) == 1:
            continue
        if len(group) > _GIANT:
            found = _giant(given, group, init, tol, max_iter)
        else:
            start = None if init is None else _part(init, group)
            S, penalty = given.block(group)
            found = _from_covariance(S, penalty, start, tol, max_iter)
        omegas.append((group, found.precision))
        duals.append((group, found.dual))
        solved.append(found)
    log_units = float(np.log(variances[alone]).sum())
    precision, dual = _assembled(omegas, alone, 1.0 / variances[alone]), _assembled(duals, alone, variances[alone])
    return GraphicalLassoResult(
        precision if given.sparse else precision.toarray(),
        dual if given.sparse else dual.toarray(),
        sum(one.logdet for one in solved) - log_units,
        sum(one.objective for one in solved) + len(alone) + log_units,
        float(sum(one.duality_gap for one in solved)),
        max((one.n_iter for one in solved), default=0),
        all(one.converged for one in solved),
    )


def _giant(given, group, init, tol, max_iter) -> GraphicalLassoResult:
    """A giant component, in its own units."""
    scale = given.scale[group]
    log_units = 2.0 * float(np.log(scale).sum())
    start = None if init is None else _earlier(init, group, scale, log_units)
    found = solve_giant(given.rows(group), start, tol, max_iter)
    omega = _in_units(found.omega, 1.0 / scale)
    take_block(found.W, np.arange(len(group)), scale, found.W)
    return GraphicalLassoResult(
        omega if given.sparse else omega.toarray(),
        found.W,
        found.logdet - log_units,
        found.primal + log_units,
        found.gap,
        found.steps,
        found.gap <= tol * len(group),
    )


def _earlier(init, group, scale, log_units) -> Earlier:
    """An earlier result restricted to some variables, to start a giant from."""
    omega, dual, logdet = sparse.csr_array(init.precision), init.dual, init.logdet + log_units
    if len(group) < omega.shape[0]:
        omega, logdet = omega[group][:, group], None
    omega = _in_units(omega, scale)

    def rows(first, last):
        part = dual[first:last] if logdet is not None else dual[group[first:last]][:, group]
        return part.toarray() if sparse.issparse(part) else np.ascontiguousarray(part)

    return Earlier(omega, logdet, rows, scale)


def _in_units(A: sparse.csr_array, units: np.ndarray) -> sparse.csr_array:
    """A_ij u_i u_j, of which a symmetric A stays exactly symmetric."""
    rows = np.repeat(units, np.diff(A.indptr))
    return sparse.csr_array((A.data * (rows * units[A.indices]), A.indices, A.indptr), shape=A.shape)


def _groups(labels: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


def _part(init: GraphicalLassoResult, group: np.ndarray) -> GraphicalLassoResult:
    """An earlier result restricted to some variables, to start from."""
    omega, dual = _block(init.precision, group), _block(init.dual, group)
    return GraphicalLassoResult(omega, dual, log_determinant(omega), np.nan, np.nan, 0, False)


def _block(A, group: np.ndarray) -> np.ndarray:
    """Rows and columns of a few variables, as a matrix of its own."""
    part = A[group][:, group]
    return part.toarray() if sparse.issparse(part) else np.ascontiguousarray(part)


def _assembled(blocks, alone=(), values=()) -> sparse.csr_array:
    """A sparse matrix of blocks, each with its variables, and of the diagonal entries of variables that are alone."""
    rows, columns, entries = [np.asarray(alone, dtype=int)], [np.asarray(alone, dtype=int)], [np.asarray(values)]
    for group, block in blocks:
        block = sparse.coo_array(block)
        rows.append(group[block.row])
        columns.append(group[block.col])
        entries.append(block.data)
    i, j = np.concatenate(rows), np.concatenate(columns)
    m = int(i.max(initial=-1)) + 1
    return sparse.csr_array((np.concatenate(entries), (i, j)), shape=(m, m))


def _restart(S, penalty, init, alone) -> tuple[GraphicalLassoResult, float]:
    """The earlier Ω as a solution of this problem, with a W inside its box, and ln|W| or a lower bound of it.

    No units need be changed for that and no components told apart, but that variables alone get their exact ω_ii.
    """
    omega, W = matrices(2, len(S))
    omega[:], logdet = init.precision, init.logdet
    if np.count_nonzero(omega[alone]) == len(alone):
        variances = S[alone, alone]
        logdet -= float(np.log(omega[alone, alone] * variances).sum())
        omega[alone, alone] = 1.0 / variances
    else:  # formerly they were not
        omega[alone] = 0.0
        omega[:, alone] = 0.0
        omega[alone, alone] = 1.0 / S[alone, alone]
        logdet = log_determinant(omega)
    warm_dual(init.dual, omega, S, penalty, W)
    logdet_W = _dual_log_determinant(W, omega, logdet)
    objective = linear_terms(S, penalty, omega) - logdet
    gap = max(objective - logdet_W - len(S), 0.0)
    return GraphicalLassoResult(omega, W, logdet, objective, gap, 0, True), logdet_W


def _checked_residuals(R, lam) -> np.ndarray:
    """The variances S_ii of checked arguments."""
    if np.ndim(R) != 2 or not len(R):
        raise ValueError(f"residuals must be a matrix, samples × variables, found shape {np.shape(R)}.")
    if np.ndim(lam) or not 0 < float(lam) < np.inf:
        raise ValueError(f"lam must be a positive number where residuals are given, found {lam!r}.")
    variances = residual_variances(R)
    if not np.isfinite(variances).all():
        bad = np.flatnonzero(~np.isfinite(variances))
        raise ValueError(f"residuals have missing or infinite values, in variables {_first(bad)}.")
    if not variances.all():
        raise ValueError(f"residuals are zero in variables {_first(np.flatnonzero(variances == 0))}: drop them.")
    return variances


def _first(index: np.ndarray) -> str:
    """A few numbers for a message."""
    more = f" and {len(index) - _SHOWN} more" if len(index) > _SHOWN else ""
    return ", ".join(map(str, index[:_SHOWN])) + more


def _checked(S, lam) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The covariance, exactly symmetric, the penalties, m×m or 1×1, and the variances, of checked arguments."""
    S = np.ascontiguousarray(S, dtype=float)
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise ValueError(f"S must be a square matrix, found shape {S.shape}.")
    symmetric = finite_and_symmetric(S)
    if not symmetric and not np.isfinite(S).all():
        raise ValueError("S has missing or infinite entries.")
    variances = S.diagonal().copy()
    if (variances <= 0).any():
        bad = np.flatnonzero(variances <= 0)
        raise ValueError(f"S must have a positive diagonal; variables {bad.tolist()} have variance zero: drop them.")
    if not symmetric:
        scale = np.sqrt(variances)
        if (np.abs(S - S.T) > _ASYMMETRY * np.outer(scale, scale)).any():
            raise ValueError("S must be symmetric; pass (S + S.T) / 2.")
        S = 0.5 * (S + S.T)
    wrong_penalty = f"lam must be a number ≥ 0 or a symmetric non-negative {len(S)}×{len(S)} matrix."
    L = np.array([[float(lam)]]) if np.ndim(lam) == 0 else np.ascontiguousarray(lam, dtype=float)
    if L.shape not in ((1, 1), S.shape) or not L.min() >= 0:
        raise ValueError(wrong_penalty)
    if not finite_and_symmetric(L):
        # Infinite penalties are allowed.
        both = L + L.T
        with np.errstate(invalid="ignore"):
            if not ((L == L.T) | (np.abs(L - L.T) <= _ASYMMETRY * both)).all():
                raise ValueError(wrong_penalty)
        L = 0.5 * both
    return S, L, variances
