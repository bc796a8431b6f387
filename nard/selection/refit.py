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
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg
from scipy.stats import f as fisher

from nard.algorithms.evidence import Problem
from nard.covariance import GraphicalLassoResult, graphical_lasso, inverse_spd
from nard.selection.significance import EntryTest, InputTest, chunks, collect, select

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
    tests: NetworkTests


def least_squares_on_support(X, Y, support, omega, start=None):
    """argmin over W with the given support (d×m) of Tr(Ω(Y−XW)ᵀ(Y−XW)), by conjugate gradients."""
    W = np.zeros(support.shape)
    if not support.any():
        return W
    columns = np.flatnonzero(support.any(axis=1))
    X, mask = X[:, columns], support[columns]
    gram = X.T @ X if len(columns) <= len(X) else None
    where = np.flatnonzero(mask)
    full = np.zeros(mask.shape)

    def normal_matrix(v):
        full.ravel()[where] = v
        product = X.T @ (X @ full) if gram is None else gram @ full
        return (product @ omega).ravel()[where]

    diagonal = np.outer(np.einsum("ij,ij->j", X, X), np.diag(omega)).ravel()[where]
    shape = (len(where), len(where))
    solution, _ = cg(
        LinearOperator(shape, matvec=normal_matrix, dtype=float),
        ((X.T @ Y) @ omega).ravel()[where],
        x0=None if start is None else start[columns].ravel()[where],
        rtol=_CG_TOL,
        maxiter=10 * len(where),
        M=LinearOperator(shape, matvec=lambda v: v / diagonal, dtype=float),
    )
    W[support] = solution
    return W


class IsolatingDirections:
    """Columns of C⁻¹X, C = I + XK⁻¹Xᵀ, from a Cholesky factor of the smaller of the p×p and N×N forms."""

    def __init__(self, problem: Problem, alpha: np.ndarray):
        active = np.flatnonzero(np.isfinite(alpha))
        self._X = problem.X
        self._scaled = problem.X[:, active] * alpha[active] ** -0.5
        self._primal = len(active) <= problem.n
        inner = self._scaled.T @ self._scaled if self._primal else self._scaled @ self._scaled.T
        self._factor = cho_factor(np.eye(len(inner)) + inner) if len(active) else None

    def __call__(self, where) -> np.ndarray:
        X = self._X[:, where]
        if self._factor is None:
            return X
        if self._primal:
            return X - self._scaled @ cho_solve(self._factor, self._scaled.T @ X)
        return cho_solve(self._factor, X)


class NetworkTests:
    """g_jᵀΩg_j t_j against m·F(m, mν), and every entry given the network and the support of the others."""

    def __init__(self, X, directions, W, residuals, omega, support, degrees):
        self._X, self._directions, self._W, self._residuals = X, directions, W, residuals
        self._omega, self._support, self._degrees = omega, support, degrees
        self._statistic = np.zeros(len(W))

    def _scores(self):
        """(where, weight, sd) of some inputs at a time; fills in the inputs' statistics on the way."""
        omega, diagonal = self._omega, np.diag(self._omega)
        supported = self._support.any(axis=1)
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
            for k in np.flatnonzero(supported[where]):
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


def _estimate(problem, support, omega, lam, W, network):
    """W on its support, and the network of its residuals with every output's degrees of freedom counted."""
    X, Y, n = problem.X, problem.Y, problem.n
    W = least_squares_on_support(X, Y, support, omega, W)
    residuals = _residuals(problem, W)
    # An output cannot be left with less than one degree of freedom, however many entries were selected for it.
    degrees = np.maximum(n - 1.0 - support.sum(axis=0), 1.0)
    covariance = residuals.T @ residuals / np.sqrt(np.outer(degrees, degrees))
    variances = np.maximum(np.diag(covariance), problem.data.variance_floor)
    np.fill_diagonal(covariance, variances)
    penalty = lam * np.sqrt(np.outer(variances, variances))
    network = graphical_lasso(covariance, penalty, init=network, max_iter=1000)
    W = least_squares_on_support(X, Y, support, network.precision, W)
    return W, network, covariance, degrees


def _residuals(problem, W):
    used = np.flatnonzero(W.any(axis=1))
    return problem.Y - problem.X[:, used] @ W[used]


def refit(
    problem: Problem, alpha: np.ndarray, support: np.ndarray, omega: np.ndarray, lam: float, fdr: float
) -> SparseFit:
    """From the posterior's selection to the sparse model: estimate, test with the network, select; then once more.

    The entries whose final q-value is at most ``fdr`` are the support of ``coef``.
    """
    directions = IsolatingDirections(problem, alpha)
    W, network = None, None
    for _ in range(_ROUNDS):
        W, network, _, degrees = _estimate(problem, support, omega, lam, W, network)
        omega = network.precision
        tests = NetworkTests(problem.X, directions, W, _residuals(problem, W), omega, support, degrees)
        support = tests.select(fdr)
    return SparseFit(*_estimate(problem, support, omega, lam, W, network), tests)
