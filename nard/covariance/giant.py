"""The graphical lasso of thousands of connected variables: one dense matrix, W, and otherwise sparse ones.

The ascent is that of :mod:`nard.covariance.columns`; S and L pass by a few rows at a time, once at the start and once
in every sweep, and W stays inside the box. Two columns are solved at the same time where neither's β reaches the other.

The gap needs no factor of W. With E = ΩW − I, whose eigenvalues e_i are those of Ω^½WΩ^½ − I,

    primal − dual = Σ_ij (L_ij|ω_ij| − (W_ij − S_ij)ω_ij) + Σ_i (e_i − ln(1 + e_i)),

whose first sum is over the entries of Ω. Where Ω ≻ 0 and no |e_i| exceeds ρ < 1, W is positive definite, and as
(e − ln(1 + e))/e² falls with e, the second sum is at most cTr(E²), c = −(ρ + ln(1 − ρ))/ρ².

Tr(E²) takes one product of Ω and W. For ρ, a matrix A and k standard normal vectors g have
‖A‖ ≤ α√(2/π) max ‖Ag‖ but for a chance of α⁻ᵏ (Halko, Martinsson & Tropp 2011, Lemma 4.1), and ρ ≤ ‖E^q‖^(1/q). Of ten
vectors and α = 10 that chance is 10⁻¹⁰. The same vectors give an estimate of Tr(E²) which says when the product, and
ln|Ω|, are worth their time. Where Ω is not so sparse a Cholesky factor of W is cheaper than all that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from nard.compiled import each
from nard.covariance.allocation import matrices
from nard.covariance.columns import join_parts, square_trace, sweep_part, write_columns
from nard.covariance.elimination import sparse_log_determinant
from nard.covariance.gaussian import log_determinant
from nard.covariance.rows import Rows
from nard.covariance.screening import inside_rows, shrinkage, take_block

__all__ = ["Earlier", "GiantSolution", "solve_giant"]

# Rows that pass by together, and those of them whose columns are solved before W's other rows get to know.
_ROWS = 512
_BLOCK = 64
# As for small problems (glasso.py): the columns' accuracy, relative to the last sweep's change, and when it is too low.
_INNER_FRACTION = 0.1
_SLOW = 0.5
# Of the bound of the eigenvalues: k, α and q.
_PROBES = 10
_ALPHA = 10.0
_POWER = 16
# From this share of non-zeros of Ω on a Cholesky factor of W costs less than the product with Ω.
_SPARSE = 0.01
# The smallest ρ for which rounding leaves c as it is.
_TINY = 1e-4


@dataclass(frozen=True)
class Earlier:
    """A start: Ω on the scale of correlations and ln|Ω| (None if not known); rows of W, in units of s_is_j."""

    omega: sparse.csr_array
    logdet: float | None
    dual_rows: Callable[[int, int], np.ndarray]
    scale: np.ndarray


@dataclass(frozen=True)
class GiantSolution:
    """Ω, W in the box, ln|Ω|, the primal objective, a bound of the gap, and the sweeps it took."""

    omega: sparse.csr_array
    W: np.ndarray
    logdet: float
    primal: float
    gap: float
    steps: int


def _ranges(m: int, size: int) -> list[tuple[int, int]]:
    return [(at, min(at + size, m)) for at in range(0, m, size)]


def _passing(problem: Rows) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """All rows of S and L, some at a time, with the first and the one after the last."""
    for first, last in _ranges(problem.m, _ROWS):
        S, L = problem.rows(first, last)
        yield first, last, S, L


def _feasible(problem: Rows, W: np.ndarray) -> float:
    """Writes the start of :func:`nard.covariance.screening.feasible_start`; returns the mean of |S_ij|, i ≠ j."""
    m = problem.m
    tau, total = np.empty(m), 0.0
    for first, last, S, L in _passing(problem):
        total += shrinkage(S, L, first, tau)
        W[first:last] = S
    take_block(W, np.arange(m), tau, W)
    np.fill_diagonal(W, 1.0)
    return total / (m * (m - 1))


def _put_inside(problem: Rows, earlier: Earlier, W: np.ndarray) -> float:
    """Writes a W in the box from an earlier one, as :func:`nard.covariance.columns.warm_dual`; returns as above."""
    m, total = problem.m, 0.0
    for first, last, S, L in _passing(problem):
        total += inside_rows(earlier.dual_rows(first, last), earlier.scale, S, L, first, W[first:last])
        part = earlier.omega[first:last].tocoo()
        here = part.row, part.col
        W[first + part.row, part.col] = S[here] + np.sign(part.data) * L[here]
    return total / (m * (m - 1))


def _solve_block(S, L, W, beta, first: int, threshold: float) -> float:
    """The columns from ``first`` on, whose rows are given, in two parts at the same time; the largest change."""
    last, middle = first + len(S), first + (len(S) + 1) // 2
    done = np.zeros(len(S), dtype=bool)

    def part(own: tuple[int, int], others: tuple[int, int]) -> float:
        here = slice(own[0] - first, own[1] - first)
        return sweep_part(S[here], L[here], W, beta[here], own[0], threshold, others, done[here])

    low, high = (first, middle), (middle, last)
    changes = each(lambda parts: part(*parts), [(low, high), (high, low)])
    changes.append(join_parts(S, L, W, beta, first, middle, threshold, done))
    each(lambda rows: write_columns(W, first, last, *rows), _ranges(len(W), -(-len(W) // 2)))
    return max(changes)


def _sweep(problem: Rows, W: np.ndarray, B: sparse.csr_array, threshold: float) -> tuple[sparse.csr_array, float]:
    """All columns once; their new β, as rows, and the largest change."""
    parts, largest = [], 0.0
    for first, last, S, L in _passing(problem):
        for start, end in _ranges(last - first, _BLOCK):
            beta = B[first + start : first + end].toarray()
            largest = max(largest, _solve_block(S[start:end], L[start:end], W, beta, first + start, threshold))
            parts.append(sparse.csr_array(beta))
    return sparse.vstack(parts, format="csr"), largest


def _coordinates(A: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), A.indices


def _precision(W: np.ndarray, B: sparse.csr_array) -> sparse.csr_array:
    """Ω from the columns' lassos: ω_jj = 1/(1 − w₁₂ᵀβ), ω_ij = −β_i ω_jj, symmetrised."""
    m = len(W)
    rows, columns = _coordinates(B)
    diagonal = 1.0 / (1.0 - np.bincount(rows, W[rows, columns] * B.data, minlength=m))
    half = sparse.csr_array((-0.5 * B.data * diagonal[rows], B.indices, B.indptr), shape=(m, m))
    omega = sparse.csr_array(half + half.T + sparse.diags_array(diagonal))
    omega.sort_indices()
    return omega


def _columns(omega: sparse.csr_array) -> sparse.csr_array:
    """The columns' lassos that Ω comes from: row j holds β = −ω₁₂/ω_jj."""
    B = sparse.csr_array(sparse.diags_array(-1.0 / omega.diagonal()) @ omega)
    B.setdiag(0.0)
    B.eliminate_zeros()
    return B


class _Gap:
    """Of one Ω and W: first what is cheap, then what is exact."""

    def __init__(self, problem: Rows, omega: sparse.csr_array, W: np.ndarray):
        self.omega, self.W = omega, W
        self._factorised = omega.nnz > _SPARSE * omega.shape[0] ** 2
        i, j = _coordinates(omega)
        off = i != j
        S, L = problem.entries(i[off], j[off])
        values = omega.data[off]
        bounds = L * np.abs(values)
        self._linear_terms = float(omega.diagonal().sum() + (S * values + bounds).sum())
        self.slackness = float((bounds - (W[i[off], j[off]] - S) * values).sum())

    def _times(self, G: np.ndarray) -> np.ndarray:
        return self.omega @ (self.W @ G) - G

    def estimate(self) -> float:
        """What the gap will be, roughly."""
        self._probes = np.random.default_rng(0).standard_normal((len(self.W), _PROBES))
        self._squared = self._times(self._times(self._probes))
        self._square = max(float(np.vdot(self._probes, self._squared)) / _PROBES, 0.0)
        return self.slackness + 0.5 * self._square

    def bounded(self) -> float:
        """What :meth:`certified` will be, but that Tr(E²) is an estimate; infinite if W may be indefinite."""
        if self._factorised:
            self._logdet_W = log_determinant(self.W)
            return self.slackness + 0.5 * self._square if np.isfinite(self._logdet_W) else np.inf
        G = self._squared
        for _ in range(_POWER - 2):
            G = self._times(G)
        radius = float(_ALPHA * np.sqrt(2.0 / np.pi) * np.sqrt((G**2).sum(axis=0).max())) ** (1.0 / _POWER)
        radius = max(radius, _TINY)
        self._curvature = -float(radius + np.log1p(-radius)) / radius**2 if radius < 1.0 else np.inf
        return self.slackness + self._curvature * self._square

    def certified(self, logdet: float | None = None) -> tuple[float, float, float]:
        """ln|Ω|, if it is not known, the primal objective and a bound of the gap; infinite where there is none."""
        if logdet is None:
            logdet = sparse_log_determinant(self.omega)
        primal = self._linear_terms - logdet
        if self._factorised:
            return logdet, primal, primal - self._logdet_W - len(self.W)
        if not np.isfinite(primal + self._curvature):
            return logdet, primal, np.inf
        arrays = self.omega.data, self.omega.indices, self.omega.indptr
        square = max(math.fsum(each(partial(square_trace, *arrays, self.W), _ranges(len(self.W), _BLOCK))), 0.0)
        return logdet, primal, self.slackness + self._curvature * square


def _factorised(found: _Gap, logdet: float, primal: float) -> tuple[sparse.csr_array, float, float, float]:
    """Ω, ln|Ω|, primal and gap where the expansion is of no use; then Ω is the identity if it is no better."""
    omega, m = found.omega, len(found.W)
    if primal > m:
        omega, logdet, primal = sparse.eye_array(m, format="csr"), 0.0, float(m)
    return omega, logdet, primal, primal - log_determinant(found.W) - m


def solve_giant(problem: Rows, start: Earlier | None, tol: float, max_iter: int) -> GiantSolution:
    """Sweeps until the gap is at most tol·m."""
    m = problem.m
    (W,) = matrices(1, m)
    target = tol * m
    warm = start is not None
    if start is not None:
        mean = _put_inside(problem, start, W)
        found = _Gap(problem, start.omega, W)
        before, bound = found.estimate(), found.bounded()
        if bound <= target:
            logdet, primal, gap = found.certified(start.logdet)
            if gap <= target:
                return GiantSolution(start.omega, W, logdet, primal, max(gap, 0.0), 0)
        warm = np.isfinite(bound)  # otherwise W need not be positive definite
        B = _columns(start.omega)
    if not warm:
        mean, before = _feasible(problem, W), np.inf
        B = sparse.csr_array((m, m))
    threshold = _INNER_FRACTION * mean
    for sweep in range(1, max_iter + 1):
        B, change = _sweep(problem, W, B, threshold)
        threshold = min(threshold, _INNER_FRACTION * change)
        if not warm and sweep == 1 < max_iter:  # one sweep is never enough
            continue
        found = _Gap(problem, _precision(W, B), W)
        estimate = found.estimate()
        last = sweep == max_iter
        if (estimate <= target or last) and (found.bounded() <= target or last):
            logdet, primal, gap = found.certified()
            if gap <= target:
                break
        if estimate > _SLOW * before:
            threshold *= _INNER_FRACTION
        before = estimate
    omega = found.omega
    if not np.isfinite(gap):
        omega, logdet, primal, gap = _factorised(found, logdet, primal)
    return GiantSolution(omega, W, logdet, primal, max(gap, 0.0), sweep)
