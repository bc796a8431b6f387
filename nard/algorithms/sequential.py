"""Sequential NARD: exact coordinate descent on J, one α_i at a time, with a graphical lasso per sweep."""

from __future__ import annotations

import numpy as np

from nard.algorithms.coordinate import Coordinates, coordinates_at
from nard.algorithms.evidence import Fit, Problem, State, objective_at, update_network
from nard.progress import SILENT, Watch

__all__ = ["MOST_USED", "finish", "fit_sequential", "has_settled", "sweep_inputs"]

# The inputs may use at most this fraction of the samples' degrees of freedom: beyond, the fit is interpolating.
MOST_USED = 0.8
# A sweep leaves moves undone that would lower J by less than this fraction of the tolerance.
_MOVE_FRACTION = 1e-2
# A greedy sweep ends after as many moves as there are inputs, or after this many if they are fewer.
_FEWEST_MOVES = 50
# The batch algorithms first bring α near its optimum at the start's Ω: a poor α would otherwise be absorbed by V, as a
# dense network that takes long to find.
_SETTLE_STEPS = 25
_SETTLE_TOL = 1e-3


def sweep_inputs(
    coordinates: Coordinates, omega: np.ndarray, tolerance: float, visit=None, watch=SILENT, most_used=MOST_USED
) -> None:
    """One sweep over the α_i at Ω; ``visit`` is None for the greedy order."""
    problem = coordinates.problem
    coordinates.sweep(
        omega,
        _MOVE_FRACTION * tolerance,
        max_moves=max(_FEWEST_MOVES, problem.d),
        order=visit,
        most_used=most_used * problem.n,
        watch=watch,
    )


def fit_sequential(
    problem: Problem,
    start: State,
    *,
    order: str = "greedy",
    rng: np.random.Generator | None = None,
    tol: float = 1e-4,
    max_iter: int = 500,
    most_used: float = MOST_USED,
    watch: Watch = SILENT,
) -> Fit:
    """Coordinate descent on J from ``start``: add, re-estimate or delete one input at a time, then update Ω.

    ``order`` is "greedy" (the input that lowers J most goes next) or "random" (the paper's: a random permutation per
    sweep, drawn from ``rng``). The inputs may use ``most_used`` of the samples' degrees of freedom.
    """
    tolerance = tol * problem.scale
    coordinates, network = coordinates_at(problem, start), start.network
    objective = [problem.objective(coordinates.logdet, coordinates.scatter, coordinates.alpha, network)]
    converged = False
    while not converged and len(objective) <= max_iter and not watch.stopped:
        visit = None
        if order == "random":
            assert rng is not None
            visit = rng.permutation(problem.d)
        sweep_inputs(coordinates, network.precision, tolerance, visit, watch, most_used)
        network = update_network(problem, coordinates.scatter, network, tol)
        objective.append(problem.objective(coordinates.logdet, coordinates.scatter, coordinates.alpha, network))
        # Without inputs Ω alone moves, and has arrived.
        settled = objective[-2] - objective[-1] <= tolerance or problem.d == 0
        converged = settled and not watch.stopped
        watch.step(objective[-1], coordinates.alpha, network.precision)
    return Fit(State(coordinates.alpha.copy(), network, coordinates), objective, converged)


def has_settled(problem: Problem, fell: float, tolerance: float, n_recorded: int) -> bool:
    """Whether a batch algorithm, whose last step lowered its objective by ``fell``, may begin to move Ω."""
    return fell <= max(tolerance, _SETTLE_TOL * problem.scale) or n_recorded > _SETTLE_STEPS


def finish(problem, state, objective, tol, max_iter, watch, *, bound=False, fallback: State | None = None) -> Fit:
    """The exact sweeps that end the other algorithms: inputs that they lost are re-admitted, J is stationary.

    ``objective`` is what was recorded so far, values of an upper bound of J if ``bound``. An algorithm that has lost
    its inputs may have made residual correlation of what they explain, and single inputs then no longer pay: so the
    sweeps start from ``fallback``, the rough pass's inputs, where J is lower there.
    """
    if fallback is not None and not watch.stopped:
        state = min((state, fallback), key=lambda each: objective_at(problem, each))
    last = fit_sequential(problem, state, tol=tol, max_iter=max(1, max_iter - len(objective) + 1), watch=watch)
    recorded = last.objective if bound else last.objective[1:]
    return Fit(last.state, objective + recorded, last.converged, n_bound=len(objective) if bound else 0)
