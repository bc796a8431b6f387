"""Surrogate NARD: the paper's majoriser of J, which needs no matrix inverse, then an exact finish.

With ρ ≥ λ_max(XᵀX), for every W

    J(α, Ω) ≤ B(W, α, Ω) = Σ_i m ln(1 + ρ/α_i) − N ln|Ω| + Tr(Ω[(Y−XWᵀ)ᵀ(Y−XWᵀ) + W K Wᵀ]) + penalties,

and the residual term is itself majorised at W' by ρ: with b_i = w'_i + (Y−XW'ᵀ)ᵀx_i/ρ it separates over the inputs into
ρ‖w_i − b_i‖²_Ω + α_i‖w_i‖²_Ω + m ln(1 + ρ/α_i). That is the coordinate problem of Sequential NARD with s = ρ and
q = ρb_i, so w_i and α_i have a joint exact minimum, pruning included, at the cost of one gradient. Steps are
extrapolated (Nesterov) and the extrapolation is dropped whenever B would rise. ρ comes from Lanczos iterations and is
taken anew, smaller, as inputs are pruned.

The bound is loose where inputs are correlated (ρ ≫ N): its minimum is then much sparser than J's, and may be the empty
model. So the descent ends with exact sweeps on J, which also make the uncertainties honest; since J ≤ B, the recorded
objective goes on falling. Where the model has become so sparse that J is lower at the rough pass's inputs, the sweeps
start from these.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from nard.algorithms.coordinate import best_alphas
from nard.algorithms.evidence import Fit, Problem, State, posterior, update_network
from nard.algorithms.sequential import finish, has_settled
from nard.progress import SILENT, Watch

__all__ = ["fit_surrogate"]

# Lanczos approaches the eigenvalue from below; this margin makes ρ an upper bound.
_RHO_MARGIN = 1.0 + 1e-3
# Steps in (W, α) between two updates of Ω.
_STEPS_PER_NETWORK = 5
# ρ is taken anew when the number of inputs has fallen to this fraction of what it was.
_RHO_REFRESH = 0.9


def largest_eigenvalue(X: np.ndarray) -> float:
    """λ_max(XᵀX) by Lanczos, from above."""
    n, d = X.shape
    if not X.any():
        return 1.0  # any positive bound will do
    if min(n, d) < 3:
        return float(np.linalg.norm(X, 2) ** 2) * _RHO_MARGIN
    if n <= d:
        operator = LinearOperator((n, n), matvec=lambda v: X @ (X.T @ v), dtype=float)
    else:
        operator = LinearOperator((d, d), matvec=lambda v: X.T @ (X @ v), dtype=float)
    start = 1.0 + np.arange(operator.shape[0]) / operator.shape[0]  # fixed, so that two runs agree
    return float(eigsh(operator, k=1, which="LA", v0=start, tol=1e-4, return_eigenvectors=False)[0]) * _RHO_MARGIN


class ActiveInputs:
    """The products that a gradient in W needs, for a set of inputs: from XᵀX where N ≥ d, else from X."""

    def __init__(self, problem: Problem, index: np.ndarray):
        self.problem, self.index = problem, index
        if problem.gram is not None:
            self._xty = problem.xty(index)
            self._gram = problem.gram[np.ix_(index, index)]
        else:
            self._X = problem.X[:, index]

    @cached_property
    def rho(self) -> float:
        return largest_eigenvalue(self.problem.X[:, self.index])

    def products(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """XᵀE (p×m) and EᵀE (m×m) of the residuals E = Y − XW, W p×m here."""
        if self.problem.gram is not None:
            cross = self._xty - self._gram @ W
            fitted = W.T @ (self._xty + cross)
            return cross, self.problem.yty - 0.5 * (fitted + fitted.T)
        E = self.problem.Y - self._X @ W
        return self._X.T @ E, E.T @ E


def ridge_scatter(residual_scatter: np.ndarray, W: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """EᵀE + WᵀKW, which is YᵀC⁻¹Y at the posterior mean and above it elsewhere."""
    return residual_scatter + (W * alpha[:, None]).T @ W


def _bound(problem, rho, W, alpha, scatter, network):
    return problem.objective(float(np.log1p(rho / alpha).sum()), ridge_scatter(scatter, W, alpha), alpha, network)


def fit_surrogate(
    problem: Problem,
    start: State,
    *,
    fallback: State | None = None,
    tol=1e-4,
    max_iter=500,
    watch: Watch = SILENT,
) -> Fit:
    """Descent on the bound B from the posterior mean at ``start``, then on J, from ``fallback`` where that is lower."""
    prior, tolerance = problem.alpha_prior, tol * problem.scale
    network = start.network
    inputs = ActiveInputs(problem, np.flatnonzero(np.isfinite(start.alpha)))
    alpha, rho, n_at_rho = start.alpha[inputs.index], inputs.rho, len(inputs.index)
    W = posterior(problem, start.alpha).mean
    cross, scatter = inputs.products(W)
    value = _bound(problem, rho, W, alpha, scatter, network)
    objective, momentum, settled = [value], 1.0, False
    previous, previous_cross = W, cross
    while len(objective) <= max_iter and not watch.stopped:
        for _ in range(_STEPS_PER_NETWORK):
            grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            for extrapolation in ((momentum - 1.0) / grown, 0.0):
                # The gradient is affine in W, so it extrapolates along with W at no cost.
                target = (1.0 + extrapolation) * (W + cross / rho) - extrapolation * (previous + previous_cross / rho)
                q2 = rho**2 * np.einsum("ij,ij->i", target @ network.precision, target)
                new_alpha = best_alphas(np.full(len(alpha), rho), q2, problem.m, prior.a, prior.b)
                new_W = target * (rho / (rho + new_alpha))[:, None]
                new_cross, new_scatter = inputs.products(new_W)
                kept = np.isfinite(new_alpha)
                new_value = _bound(problem, rho, new_W[kept], new_alpha[kept], new_scatter, network)
                if new_value <= value:
                    break
            else:
                break  # at the minimum to rounding
            momentum = grown if extrapolation > 0.0 or momentum == 1.0 else 1.0
            previous, previous_cross, value = W, cross, new_value
            W, cross, alpha, scatter = new_W, new_cross, new_alpha, new_scatter
            if not kept.all():
                W, cross, alpha = W[kept], cross[kept], alpha[kept]
                previous, previous_cross = previous[kept], previous_cross[kept]
                inputs = ActiveInputs(problem, inputs.index[kept])
        if len(alpha) <= _RHO_REFRESH * n_at_rho:
            rho, n_at_rho = min(rho, inputs.rho), len(alpha)
            value = _bound(problem, rho, W, alpha, scatter, network)
        fell = objective[-1] - value
        if settled:
            network = update_network(problem, ridge_scatter(scatter, W, alpha), network, tol)
            value = _bound(problem, rho, W, alpha, scatter, network)
        objective.append(value)
        watch.step(value, alpha, network.precision)
        if settled and objective[-2] - value <= tolerance:
            break
        settled = settled or has_settled(problem, fell, tolerance, len(objective))
    found = np.full(problem.d, np.inf)
    found[inputs.index] = alpha
    return finish(problem, State(found, network), objective, tol, max_iter, watch, bound=True, fallback=fallback)
