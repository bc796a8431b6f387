"""Hybrid NARD: inputs are chosen as in Sequential NARD, W and V follow the surrogate's updates.

The objective is J with the residual term left open in W,

    H(W, α, Ω) = m ln|C| − N ln|Ω| + Tr(Ω[(Y−XWᵀ)ᵀ(Y−XWᵀ) + W K Wᵀ]) + penalties ≥ J(α, Ω),

with equality at the posterior mean. A sweep over the α_i lowers J exactly; then W follows by the majorised steps
W ← (ρW + EᵀX)(ρI + K)⁻¹, extrapolated, until H is below its last value and settles, and V is the graphical lasso of
(EᵀE + WKWᵀ)/N. No posterior covariance is formed until the end, where exact sweeps on J finish the fit.
"""

from __future__ import annotations

import numpy as np

from nard.algorithms.coordinate import coordinates_at
from nard.algorithms.evidence import Fit, Problem, State, update_network
from nard.algorithms.sequential import finish, sweep_inputs
from nard.algorithms.surrogate import ActiveInputs, ridge_scatter
from nard.progress import SILENT, Watch

__all__ = ["fit_hybrid"]

# Beyond, which inputs that move together make likely, the posterior mean itself is cheaper.
_MAX_STEPS = 50


def _follow(problem, inputs, alpha, W, network, logdet, target, tolerance):
    """Majorised steps in W until H ≤ target and a step gains less than the tolerance: returns W and EᵀE + WᵀKW.

    The extrapolation restarts whenever H rises. H tends to J, which is below ``target``; should the steps be too slow
    to get there, None is returned.
    """
    rho = inputs.rho
    cross, scatter = inputs.products(W)
    scatter = ridge_scatter(scatter, W, alpha)
    value = problem.objective(logdet, scatter, alpha, network)
    previous, previous_cross, momentum = W, cross, 1.0
    for _ in range(_MAX_STEPS):
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        e = (momentum - 1.0) / grown
        step = (1.0 + e) * (rho * W + cross) - e * (rho * previous + previous_cross)
        new_W = step / (rho + alpha)[:, None]
        new_cross, residual = inputs.products(new_W)
        new_scatter = ridge_scatter(residual, new_W, alpha)
        new_value = problem.objective(logdet, new_scatter, alpha, network)
        if new_value > value:
            if momentum == 1.0:
                break
            momentum = 1.0
            continue
        gained = value - new_value
        previous, previous_cross, momentum = W, cross, grown
        W, cross, scatter, value = new_W, new_cross, new_scatter, new_value
        if value <= target and gained <= tolerance:
            break
    return (W, scatter) if value <= target else None


def fit_hybrid(problem: Problem, start: State, *, tol=1e-4, max_iter=500, watch: Watch = SILENT) -> Fit:
    """Descent on H from ``start``, then on J."""
    tolerance = tol * problem.scale
    coordinates, network = coordinates_at(problem, start), start.network
    value = problem.objective(coordinates.logdet, coordinates.scatter, start.alpha, network)
    objective = [value]
    active, mean = coordinates.mean()
    W = np.zeros((problem.d, problem.m))
    W[active] = mean
    while len(objective) <= max_iter and not watch.stopped:
        sweep_inputs(coordinates, network.precision, tolerance, watch=watch)
        active = np.flatnonzero(np.isfinite(coordinates.alpha))
        alpha = coordinates.alpha[active]
        followed = _follow(
            problem, ActiveInputs(problem, active), alpha, W[active], network,
            coordinates.logdet, value, 0.1 * tolerance,
        )  # fmt: skip
        if followed is None:  # too slow: the posterior mean itself, μ_i = Q_i/α_i
            followed = coordinates.mean()[1], coordinates.scatter
        W = np.zeros((problem.d, problem.m))
        W[active], scatter = followed
        network = update_network(problem, scatter, network, tol)
        value = problem.objective(coordinates.logdet, scatter, alpha, network)
        objective.append(value)
        watch.step(value, coordinates.alpha, network.precision)
        if objective[-2] - value <= tolerance:
            break
    return finish(
        problem, State(coordinates.alpha.copy(), network, coordinates), objective, tol, max_iter, watch, bound=True
    )
