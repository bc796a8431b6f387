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
from functools import cached_property

import numpy as np
from numba import njit
from scipy.sparse.linalg import LinearOperator, cg
from scipy.stats import f as fisher

from nard.algorithms.evidence import Problem, State
from nard.covariance import GraphicalLassoResult, graphical_lasso, inverse_spd
from nard.selection.significance import EntryTest, InputTest, chunks, collect, select

__all__ = ["SparseFit", "refit", "residuals_of"]

_CG_TOL = 1e-8
# What is only tested, or estimated once more, is known to well within its standard error at this.
_ROUGH_CG_TOL = 1e-4
_MAX_CG_STEPS = 1000
# Outputs with up to so many inputs are preconditioned with a Cholesky factor, others with the diagonal.
_MOST_FACTORED = 100
_FAST = {"reassoc", "contract", "nsz"}
# Rounds of selection, estimate and test; the support hardly changes after the first.
_ROUNDS = 2


@dataclass(frozen=True)
class SparseFit:
    """W (d×m) on its support, the residual network, the residual covariance, degrees of freedom and tests."""

    coef: np.ndarray
    network: GraphicalLassoResult
    residual_covariance: np.ndarray
    degrees: np.ndarray
    tests: NetworkTests

    def residuals(self, problem: Problem) -> np.ndarray:
        return residuals_of(problem.X, problem.Y, self.coef)


class LeastSquaresOnSupport:
    """argmin over W with a given support (d×m) of Tr(Ω(Y−XW)ᵀ(Y−XW)), by conjugate gradients, for any Ω.

    They are preconditioned with every output's own least squares problem, so that inputs which are nearly collinear
    do no harm; what is left to the iterations is the coupling of the outputs by Ω.
    """

    def __init__(self, X: np.ndarray, Y: np.ndarray, support: np.ndarray):
        self._shape = support.shape
        self._columns = np.flatnonzero(support.any(axis=1))
        self._outputs, self._rows = np.nonzero(support[self._columns].T)  # the unknowns of an output are neighbours
        self._first = np.searchsorted(self._outputs, np.arange(support.shape[1] + 1))
        self._XT = np.ascontiguousarray(X[:, self._columns].T)
        self._xty = self._XT @ Y
        # Beyond that many inputs their products are dearer than going through the samples every time.
        self._gram = self._XT @ self._XT.T if len(self._columns) <= 2 * len(X) else None
        self._factors = _factor_outputs(self._XT, self._rows, self._first)

    def _normal_matrix(self, omega, v):
        if self._gram is not None:
            return _products_by_inputs(self._gram, omega, self._rows, self._outputs, v)
        fitted = _fitted(self._XT, self._rows, self._outputs, v, len(omega))
        return _products(self._XT, omega @ fitted, self._rows, self._outputs)

    def solve(self, omega: np.ndarray, start: np.ndarray | None = None, tol: float = _CG_TOL) -> np.ndarray:
        """W, starting from an earlier one."""
        W = np.zeros(self._shape)
        if not len(self._columns):
            return W
        where = self._columns[self._rows], self._outputs
        weight = np.ascontiguousarray(np.diag(omega))
        shape = (len(self._rows), len(self._rows))
        W[where], _ = cg(
            LinearOperator(shape, matvec=lambda v: self._normal_matrix(omega, v), dtype=float),
            (self._xty @ omega)[self._rows, self._outputs],
            x0=None if start is None else start[where],
            rtol=tol,
            maxiter=_MAX_CG_STEPS,
            M=LinearOperator(
                shape, matvec=lambda v: _solve_outputs(*self._factors, self._first, weight, v), dtype=float
            ),
        )
        return W


@njit(cache=True)
def _factor_outputs(XT, rows, first):
    """Cholesky factors of every output's X_AᵀX_A, one after the other, and where each begins.

    An output with very many inputs, or with one that the others explain, gets (partly) the diagonal only.
    """
    m = len(first) - 1
    begin = np.zeros(m + 1, dtype=np.int64)
    for j in range(m):
        p = first[j + 1] - first[j]
        begin[j + 1] = begin[j] + (p * p if p <= _MOST_FACTORED else p)
    factors = np.zeros(begin[m])
    for j in range(m):
        own = rows[first[j] : first[j + 1]]
        p = len(own)
        if p > _MOST_FACTORED:
            for a in range(p):
                factors[begin[j] + a] = np.sqrt(max(np.dot(XT[own[a]], XT[own[a]]), 1e-300))
            continue
        L = factors[begin[j] : begin[j + 1]].reshape((p, p))
        for a in range(p):
            for b in range(a + 1):
                value = np.dot(XT[own[a]], XT[own[b]])
                square = value
                for k in range(b):
                    value -= L[a, k] * L[b, k]
                if a == b:
                    L[a, a] = np.sqrt(value if value > 1e-10 * square else max(square, 1e-300))
                else:
                    L[a, b] = value / L[b, b]
    return factors, begin


@njit(cache=True)
def _solve_outputs(factors, begin, first, weight, v):
    """(ω_jj X_AᵀX_A)⁻¹v for every output j, from its factor."""
    out = v.copy()
    for j in range(len(first) - 1):
        x = out[first[j] : first[j + 1]]
        p = len(x)
        if begin[j + 1] - begin[j] < p * p:
            for a in range(p):
                x[a] /= weight[j] * factors[begin[j] + a] ** 2
            continue
        L = factors[begin[j] : begin[j + 1]].reshape((p, p))
        for a in range(p):
            for k in range(a):
                x[a] -= L[a, k] * x[k]
            x[a] /= L[a, a]
        for a in range(p - 1, -1, -1):
            for k in range(a + 1, p):
                x[a] -= L[k, a] * x[k]
            x[a] /= L[a, a]
        for a in range(p):
            x[a] /= weight[j]
    return out


@njit(cache=True, fastmath=_FAST)
def _fitted(XT, rows, outputs, values, m):
    """(XW)ᵀ of a W with few non-zero entries."""
    n = XT.shape[1]
    out = np.zeros((m, n))
    for k in range(len(values)):
        line, source, value = out[outputs[k]], XT[rows[k]], values[k]
        for i in range(n):
            line[i] += value * source[i]
    return out


@njit(cache=True, fastmath=_FAST)
def _products(left, right, rows, outputs):
    """The dot products of row i of ``left`` and row j of ``right`` for every pair (i, j)."""
    out = np.empty(len(rows))
    for k in range(len(rows)):
        a, b, total = left[rows[k]], right[outputs[k]], 0.0
        for i in range(len(a)):
            total += a[i] * b[i]
        out[k] = total
    return out


def _products_by_inputs(gram, omega, rows, outputs, values):
    """The entries (GWΩ)_ij at the non-zero ones of W, which are few: only what they need is worked out."""
    product = np.ascontiguousarray(_fitted(gram, rows, outputs, values, len(omega)).T)
    return _products(product, omega, rows, outputs)


class IsolatingDirections:
    """Columns of C⁻¹X, C = I + XK⁻¹Xᵀ, from the smaller of the p×p and N×N forms."""

    def __init__(self, problem: Problem, alpha: np.ndarray):
        active = np.flatnonzero(np.isfinite(alpha))
        self._X = problem.X
        self._scaled = problem.X[:, active] * alpha[active] ** -0.5
        self._primal = len(active) <= problem.n
        inner = self._scaled.T @ self._scaled if self._primal else self._scaled @ self._scaled.T
        self._inverse = inverse_spd(np.eye(len(inner)) + inner)

    def __call__(self, where) -> np.ndarray:
        X = self._X[:, where]
        if self._primal:
            return X - self._scaled @ (self._inverse @ (self._scaled.T @ X))
        return self._inverse @ X


class NetworkTests:
    """g_jᵀΩg_j t_j against m·F(m, mν), and every entry given the network and the support of the others."""

    def __init__(self, X, directions, W, residuals, omega, support, degrees):
        self._X, self._directions, self._W, self._residuals = X, directions, W, residuals
        self._omega, self._support, self._degrees = omega, support, degrees
        self._statistic = np.zeros(len(W))

    def _scores(self):
        """(where, weight, sd) of some inputs at a time; fills in the inputs' statistics on the way."""
        omega, diagonal = self._omega, np.diag(self._omega)
        n_outputs = self._support.sum(axis=1)
        for where in chunks(len(self._W)):
            X, Z = self._X[:, where], self._directions(where)
            overlap = np.einsum("ij,ij->j", X, Z)
            usable = overlap > 1e-12 * np.maximum(np.einsum("ij,ij->j", X, X), 1e-300)
            overlap = np.where(usable, overlap, 1.0)
            information = overlap**2 / np.where(usable, np.einsum("ij,ij->j", Z, Z), 1.0)
            G = self._W[where] + (Z.T @ self._residuals) / overlap[:, None]
            H = G @ omega
            self._statistic[where] = np.where(usable, information * np.einsum("ij,ij->i", G, H), 0.0)
            weight, sd = H / diagonal, np.tile(diagonal**-0.5, (len(G), 1))
            single = np.flatnonzero(n_outputs[where] == 1)
            weight[single], sd[single] = _given_one_output(
                H[single], self._support[where][single].argmax(axis=1), omega
            )
            for k in np.flatnonzero(n_outputs[where] > 1):
                weight[k], sd[k] = _given_support(H[k], np.flatnonzero(self._support[where.start + k]), omega)
            weight[~usable] = 0.0
            sd *= np.where(usable, information, 1.0)[:, None] ** -0.5
            sd[~usable] = np.inf
            yield where, weight, sd

    def select(self, fdr) -> np.ndarray:
        """The entries with a q-value of at most ``fdr``, as a d×m mask."""
        return select(self._scores(), self._W.shape, self._degrees, fdr)

    @cached_property
    def entries(self) -> EntryTest:
        return collect(self._scores(), self._W.shape, self._degrees)

    @cached_property
    def inputs(self) -> InputTest:
        """Known once the entries are, or have been selected from."""
        m = len(self._omega)
        return InputTest(self._statistic, fisher.sf(self._statistic / m, m, m * self._degrees.mean()))


def _given_one_output(H, inside, omega):
    """:func:`_given_support` for many inputs that drive a single output each."""
    diagonal = np.diag(omega)
    rows = np.arange(len(H))
    beside = omega[inside]
    regression = beside / diagonal[inside, None]
    remaining = diagonal - regression * beside
    remaining[rows, inside] = diagonal[inside]
    weight = (H - H[rows, inside][:, None] * regression) / remaining
    weight[rows, inside] = H[rows, inside] / diagonal[inside]
    return weight, remaining**-0.5


def _given_support(h, inside, omega):
    """An input's weights on all outputs, and their sd at unit information, if it drives those ``inside``."""
    diagonal = np.diag(omega)
    inverse = inverse_spd(omega[np.ix_(inside, inside)])
    beside = omega[inside]
    regression = inverse @ beside
    remaining = diagonal - np.einsum("ij,ij->j", regression, beside)
    remaining[inside] = 1.0  # replaced below
    weight = (h - h[inside] @ regression) / remaining
    variance = 1.0 / remaining
    weight[inside] = inverse @ h[inside]
    variance[inside] = np.diag(inverse)
    return weight, np.sqrt(variance)


def _estimate(problem, support, lam, W, network, tol):
    """W on its support, and the network of its residuals with every output's degrees of freedom counted."""
    regression = LeastSquaresOnSupport(problem.X, problem.Y, support)
    W = regression.solve(network.precision, W, _ROUGH_CG_TOL)
    residuals = residuals_of(problem.X, problem.Y, W)
    # An output cannot be left with less than one degree of freedom, however many entries were selected for it.
    degrees = np.maximum(problem.n - 1.0 - support.sum(axis=0), 1.0)
    covariance = residuals.T @ residuals / np.sqrt(np.outer(degrees, degrees))
    # The same floor as in J.
    variances = np.diag(covariance) + problem.data.variance_floor
    np.fill_diagonal(covariance, variances)
    penalty = lam * np.sqrt(np.outer(variances, variances))
    network = graphical_lasso(covariance, penalty, init=network, max_iter=1000)
    W = regression.solve(network.precision, W, tol)
    return W, network, covariance, degrees


def residuals_of(X: np.ndarray, Y: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Y − XW for a W (d×m) with many zero rows."""
    used = np.flatnonzero(W.any(axis=1))
    return Y - X[:, used] @ W[used]


def refit(problem: Problem, state: State, support: np.ndarray, lam: float, fdr: float) -> SparseFit:
    """From the posterior's selection to the sparse model: estimate, test with the network, select; then once more.

    The entries whose final q-value is at most ``fdr`` are the support of ``coef``.
    """
    directions = IsolatingDirections(problem, state.alpha)
    W, network = None, state.network
    for _ in range(_ROUNDS):
        W, network, _, degrees = _estimate(problem, support, lam, W, network, _ROUGH_CG_TOL)
        residuals = residuals_of(problem.X, problem.Y, W)
        tests = NetworkTests(problem.X, directions, W, residuals, network.precision, support, degrees)
        support = tests.select(fdr)
    return SparseFit(*_estimate(problem, support, lam, W, network, _CG_TOL), tests)
