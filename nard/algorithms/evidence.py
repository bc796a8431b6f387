"""The objective J, the posterior of W, and the graphical-lasso step that all algorithms share.

With C = I + X K⁻¹ Xᵀ, K = diag(α) (samples in rows here), R = Yᵀ C⁻¹ Y and penalties P_ij = λ sqrt(v_i v_j),

    J(α, Ω) = m ln|C| − (N + ν) ln|Ω| + Tr(Ω (R + Ψ)) + N Σ_{i≠j} P_ij |ω_ij| + Σ_i [2bα_i − 2(a−1) ln α_i].

The posterior is W | · ~ MN(μ, V, Σ), Σ = (K + XᵀX)⁻¹, μ = YᵀX Σ. With p active inputs it costs O(p³) in the primal
form and O(N²p) in the dual; the smaller is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from nard.algorithms.priors import AlphaPrior, CovariancePrior
from nard.covariance import (
    Gaps,
    GraphicalLassoResult,
    gaps_of,
    inverse_and_logdet,
    inverse_spd,
    linear_terms,
    quiet_graphical_lasso,
    solve_spd,
)

if TYPE_CHECKING:
    from nard.algorithms.coordinate import Coordinates

__all__ = [
    "ColumnCovariance",
    "Data",
    "Fit",
    "Posterior",
    "Problem",
    "State",
    "empty_state",
    "kind_of_many",
    "objective_at",
    "posterior",
    "update_network",
]

# V is kept above this fraction of the outputs' variances (as a tiny Ψ, hence part of J), so that data which the inputs
# explain exactly do not send J to −∞.
_VARIANCE_FLOOR = 1e-8
# The graphical lasso is solved to this fraction of the accuracy asked of J.
_NETWORK_FRACTION = 0.05
_ROUNDING = 1e-12
_MANY = 2 * 10**7


def kind_of_many(count: int) -> type:
    """The type of so many numbers of which seven digits are enough: single precision for many millions."""
    return np.float32 if count > _MANY else np.float64


@dataclass(frozen=True)
class Data:
    """Centred X (N×d) and Y (N×m), and the products of them that are computed once, whatever λ or prior.

    ``gaps`` are the places where Y was not measured, and holds expectations (:mod:`nard.algorithms.missing`).
    """

    X: np.ndarray
    Y: np.ndarray
    gaps: Gaps | None = None

    @classmethod
    def of(cls, X: np.ndarray, Y: np.ndarray) -> Data:
        """Y may hold NaN, where its mean (zero) is filled in at first."""
        gaps = gaps_of(Y)
        return cls(X, Y if gaps is None else np.where(gaps.missing, 0.0, Y), gaps)

    @cached_property
    def gram(self) -> np.ndarray | None:
        """XᵀX where N ≥ d, so that no later work grows with N; None (never d×d) where N < d."""
        return self.X.T @ self.X if self.X.shape[0] >= self.X.shape[1] else None

    @cached_property
    def _xty(self) -> np.ndarray | None:
        return self.X.T @ self.Y if self.gram is not None else None

    def xty(self, index=slice(None)) -> np.ndarray:
        """Rows of XᵀY, all of which are kept where N ≥ d only."""
        return self.X[:, index].T @ self.Y if self._xty is None else self._xty[index]

    @cached_property
    def yty(self) -> np.ndarray:
        return self.Y.T @ self.Y

    @cached_property
    def variance_floor(self) -> np.ndarray:
        """The smallest residual variance of every output."""
        squares = np.einsum("ij,ij->j", self.Y, self.Y)
        # An output may be constant in a fold of the data though not in all of it.
        return _VARIANCE_FLOOR * np.maximum(squares, 1e-3 * squares.mean()) / len(self.Y)

    def leaving(self, Y: np.ndarray) -> Data:
        """The same inputs with Y, what is left of the outputs; XᵀX and the floor under V stay as they are."""
        rest = Data(self.X, Y, self.gaps)
        rest.__dict__.update(gram=self.gram, variance_floor=self.variance_floor)
        return rest


@dataclass(frozen=True)
class Problem:
    """Data and everything else that J depends on besides (α, Ω)."""

    data: Data
    penalty: np.ndarray
    alpha_prior: AlphaPrior
    cov_prior: CovariancePrior
    # A pruned input may enter only if q_iᵀΩq_i/s_i is above this; 0 leaves the choice to J (see RoughPass).
    entry_threshold: float = 0.0

    @property
    def X(self) -> np.ndarray:
        return self.data.X

    @property
    def Y(self) -> np.ndarray:
        return self.data.Y

    @property
    def gram(self) -> np.ndarray | None:
        return self.data.gram

    def xty(self, index=slice(None)) -> np.ndarray:
        return self.data.xty(index)

    @property
    def yty(self) -> np.ndarray:
        return self.data.yty

    @property
    def n(self) -> int:
        return self.X.shape[0]

    @property
    def d(self) -> int:
        return self.X.shape[1]

    @property
    def m(self) -> int:
        return self.Y.shape[1]

    @property
    def scale(self) -> float:
        """N·m, the natural size of J: Tr(ΩR) ≈ N·m at the optimum. Tolerances are relative to it."""
        return float(self.n * self.m)

    def network_problem(self, scatter: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """S and L of the graphical lasso that J is in Ω: (R + Ψ)/(N + ν) and N·P/(N + ν)."""
        # In place: of thousands of outputs every matrix counts.
        S = scatter + self.cov_prior.psi
        S[np.diag_indices(self.m)] += self.n * self.data.variance_floor
        S /= self.n + self.cov_prior.nu
        return S, self.penalty if self.cov_prior.nu == 0.0 else self._network_penalty

    @cached_property
    def _network_penalty(self) -> np.ndarray:
        return self.penalty * (self.n / (self.n + self.cov_prior.nu))

    def objective(self, logdet: float, scatter: np.ndarray, alpha: np.ndarray, network: GraphicalLassoResult) -> float:
        """J from ln|C| and the scatter R = YᵀC⁻¹Y (or from upper bounds of both)."""
        S, L = self.network_problem(scatter)
        in_omega = (self.n + self.cov_prior.nu) * (linear_terms(S, L, network.precision) - network.logdet)
        return float(self.m * logdet + in_omega + self.alpha_prior.penalty(alpha))


@dataclass(frozen=True)
class Posterior:
    """W | α, Ω on the active inputs: mean (p×m), diagonal of Σ, ln|C| and the scatter R = YᵀC⁻¹Y."""

    active: np.ndarray
    mean: np.ndarray
    sigma: np.ndarray
    logdet: float
    scatter: np.ndarray

    def weight(self, omega: np.ndarray) -> np.ndarray:
        """μ_iᵀΩμ_i of the active inputs; with q_i = μ_i/Σ_ii also q_iᵀΩq_i = μ_iᵀΩμ_i/Σ_ii²."""
        diagonal = np.count_nonzero(omega) == len(omega)
        return np.einsum("ij,ij->i", self.mean * np.diag(omega) if diagonal else self.mean @ omega, self.mean)


class ColumnCovariance:
    """Σ = (K + XᵀX)⁻¹ on the active inputs, kept as the inverse of the smaller of its p×p and N×N forms."""

    def __init__(self, problem: Problem, alpha: np.ndarray):
        self.active = np.flatnonzero(np.isfinite(alpha))
        self._root = alpha[self.active] ** -0.5
        X = problem.X[:, self.active] * self._root
        self._dual = X if len(self.active) > problem.n else None
        inner = X.T @ X if self._dual is None else X @ X.T
        self._inverse = inverse_spd(np.eye(len(inner)) + inner)

    def variance(self, X: np.ndarray) -> np.ndarray:
        """xᵀΣx for every row x of X (all inputs)."""
        Z = X[:, self.active] * self._root
        if self._dual is None:
            return np.einsum("ij,ij->i", Z @ self._inverse, Z)
        cross = Z @ self._dual.T
        return np.maximum((Z**2).sum(axis=1) - np.einsum("ij,ij->i", cross @ self._inverse, cross), 0.0)


def posterior(problem: Problem, alpha: np.ndarray, form: str = "auto") -> Posterior:
    """The posterior of W at α; ``form`` is "primal", "dual" or the cheaper of the two."""
    active = np.flatnonzero(np.isfinite(alpha))
    if not len(active):
        return Posterior(active, np.zeros((0, problem.m)), np.zeros(0), 0.0, problem.yty)
    root = alpha[active] ** -0.5
    if form == "auto":
        form = "primal" if len(active) <= problem.n else "dual"
    if form == "primal":
        # I + K^−½XᵀXK^−½, in place: with tens of thousands of inputs every copy is gigabytes.
        if problem.gram is not None:
            inner = problem.gram[np.ix_(active, active)]
            inner *= root[:, None]
            inner *= root
        else:
            X = problem.X[:, active] * root
            inner = X.T @ X
        inner[np.diag_indices(len(inner))] += 1.0
        inverse, logdet = inverse_and_logdet(inner)
        xty = problem.xty(active)
        mean = root[:, None] * solve_spd(inner, inverse, root[:, None] * xty)
        sigma = root**2 * np.diag(inverse)
        scatter = problem.yty - xty.T @ mean
    else:
        X = problem.X[:, active] * root
        inverse, logdet = inverse_and_logdet(np.eye(problem.n) + X @ X.T)
        Z = inverse @ problem.Y
        mean = root[:, None] * (X.T @ Z)
        sigma = root**2 * (1.0 - np.einsum("ij,ij->j", X, inverse @ X))
        scatter = problem.Y.T @ Z
    return Posterior(active, mean, sigma, logdet, 0.5 * (scatter + scatter.T))


@dataclass(frozen=True)
class State:
    """A point (α, Ω) of the descent; the network is a graphical lasso result, kept to warm-start the next.

    ``coordinates`` are the statistics at α, where they are known already (see ``coordinates_at``).
    """

    alpha: np.ndarray
    network: GraphicalLassoResult
    coordinates: Coordinates | None = None

    @property
    def omega(self) -> np.ndarray:
        return self.network.precision


@dataclass
class Fit:
    """Where an algorithm ended. ``objective`` is J, or its bound, after every outer step; it never rises."""

    state: State
    objective: list[float]
    converged: bool
    # Of the surrogate methods: how many entries of `objective`, from the first on, are values of the bound.
    n_bound: int = 0

    @property
    def n_iter(self) -> int:
        return len(self.objective) - 1


def objective_at(problem: Problem, state: State) -> float:
    """J at a state."""
    post = posterior(problem, state.alpha)
    return problem.objective(post.logdet, post.scatter, state.alpha, state.network)


def update_network(problem: Problem, scatter: np.ndarray, network: GraphicalLassoResult | None, tol: float):
    """Ω ← argmin J(α, ·), warm-started; an inexact solve that would raise J is repeated more tightly, then refused."""
    S, L = problem.network_problem(scatter)
    before = np.inf if network is None else linear_terms(S, L, network.precision) - network.logdet
    # The outer loop is what has to converge, and reports it.
    for tightening in (1.0, 1e-3):
        found = quiet_graphical_lasso(S, L, init=network, tol=_NETWORK_FRACTION * tol * tightening, max_iter=200)
        if found.objective <= before:
            return found
        if found.objective <= before + _ROUNDING * abs(before):
            return network  # it was good enough as it is
    return network


def empty_state(problem: Problem, tol: float) -> State:
    """No input is used (α at the prior's resting value) and Ω is the graphical lasso of Y's covariance."""
    alpha = np.full(problem.d, problem.alpha_prior.resting_alpha(problem.m))
    return State(alpha, update_network(problem, problem.yty, None, tol))
