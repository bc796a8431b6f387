"""The rough pass that every fit starts from, and the way from there to one of the four algorithms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from nard.algorithms.coordinate import Coordinates, coordinates_at
from nard.algorithms.evidence import Data, Fit, Problem, State, empty_state, update_network
from nard.algorithms.full import fit_full
from nard.algorithms.hybrid import fit_hybrid
from nard.algorithms.priors import AlphaPrior, CovariancePrior
from nard.algorithms.sequential import MOST_USED, fit_sequential
from nard.algorithms.surrogate import fit_surrogate
from nard.covariance import GraphicalLassoResult
from nard.progress import SILENT, Watch

__all__ = ["VARIANTS", "RoughPass", "make_problem", "minimise", "starting_state"]

# The rough pass only has to find the residual variances.
_ROUGH_TOL = 1e-3
# The residual variances that λ refers to are at least this fraction of the outputs' variances.
_SMALLEST_VARIANCE = 1e-3
# A rough fit that uses this fraction of the samples' degrees of freedom is taken to be on its way to interpolation.
_SUSPICIOUS = 0.5
_GUARD_LEVEL = 0.05


class RoughPass:
    """A first fit with a diagonal Ω: the residual variances v that fix λ's scale, and where to start from.

    With more inputs than samples and few outputs J may have no other minimum than interpolation, V → 0 with as many
    active inputs as samples, even if no input is relevant: each input that enters by chance makes V smaller and the
    next one look better. The rough pass finds that out. It is then repeated, and everything after it done, under a
    guard: an input may enter only if its χ² statistic is significant among all inputs (Bonferroni, 5 %).
    """

    def __init__(self, data: Data, cov_prior: CovariancePrior, watch: Watch = SILENT):
        variances = np.diag(data.yty + cov_prior.psi) / len(data.Y)
        problem = make_problem(data, 1.0, variances, AlphaPrior(), cov_prior)  # λ = 1 leaves no edge
        # Once the fit is suspicious it need not go on.
        state, coordinates = _rough_fit(problem, watch, _SUSPICIOUS if problem.d >= problem.n else MOST_USED)
        self.entry_threshold = problem.entry_threshold
        if problem.d >= problem.n and coordinates.capped:
            self.entry_threshold = float(chi2.isf(_GUARD_LEVEL / problem.d, problem.m))
            state, coordinates = _rough_fit(replace(problem, entry_threshold=self.entry_threshold), watch, MOST_USED)
        # Without inputs there are no statistics to start from again, only matrices of the outputs.
        self.state = state if problem.d else replace(state, coordinates=None)
        # With few samples and many inputs the rough fit may interpolate; λ would then have nothing to act on.
        self.variances = np.maximum(1.0 / np.diag(state.omega), _SMALLEST_VARIANCE * variances)
        S, _ = problem.network_problem(coordinates.scatter)
        correlation = S / np.sqrt(np.outer(self.variances, self.variances))
        # For every output the smallest λ without an edge to an earlier one.
        self.largest_lams = np.abs(np.tril(correlation, -1)).max(axis=1)

    @property
    def alpha(self) -> np.ndarray:
        return self.state.alpha

    @property
    def network(self) -> GraphicalLassoResult:
        return self.state.network

    def problem(self, data: Data, lam: float, alpha_prior: AlphaPrior, cov_prior: CovariancePrior) -> Problem:
        """J at λ, with this pass's variances and guard."""
        problem = make_problem(data, lam, self.variances, alpha_prior, cov_prior)
        return replace(problem, entry_threshold=self.entry_threshold)


def _rough_fit(problem: Problem, watch: Watch, most_used: float) -> tuple[State, Coordinates]:
    # The fewer outputs, the more slowly a fit drifts towards interpolation, which must be noticed.
    tol = _ROUGH_TOL * min(1.0, problem.m / 10)
    state = fit_sequential(problem, empty_state(problem, tol), tol=tol, most_used=most_used, watch=watch).state
    assert state.coordinates is not None
    return state, state.coordinates


def make_problem(data: Data, lam, variances, alpha_prior: AlphaPrior, cov_prior: CovariancePrior) -> Problem:
    """J with penalties P_ij = λ sqrt(v_i v_j): λ acts on the scale of the residual correlations."""
    penalty = lam * np.sqrt(np.outer(variances, variances))
    np.fill_diagonal(penalty, 0.0)
    return Problem(data, penalty, alpha_prior, cov_prior)


class Variant(NamedTuple):
    """One of the four algorithms: its function, where it starts, and what it takes."""

    fit: Callable[..., Fit]
    start: Callable[[Problem, RoughPass, float], State]
    # Of the options of `minimise` that are not for all. One that takes `fallback`, the start of the others,
    # ends there if it would end above it.
    takes: tuple[str, ...] = ()


def _from_rough_inputs(problem: Problem, rough: RoughPass, tol: float) -> State:
    alpha = np.minimum(rough.alpha, problem.alpha_prior.resting_alpha(problem.m))
    coordinates = coordinates_at(problem, replace(rough.state, alpha=alpha))
    return State(alpha, update_network(problem, coordinates.scatter, None, tol), coordinates)


def _from_all_inputs(problem: Problem, rough: RoughPass, tol: float) -> State:
    """All inputs at one α, the mean ‖x_i‖², at which an input alone would be shrunk by half.

    Ω starts diagonal for the batch algorithms, whose first steps settle α before they move it.
    """
    squares = float(np.einsum("ij,ij->", problem.X, problem.X)) / max(problem.d, 1)
    return State(np.full(problem.d, max(squares, 1e-8)), rough.network)


VARIANTS = {
    "full": Variant(fit_full, _from_all_inputs, ("update", "fallback")),
    "sequential": Variant(fit_sequential, _from_rough_inputs, ("order", "rng")),
    "surrogate": Variant(fit_surrogate, _from_all_inputs, ("fallback",)),
    "hybrid": Variant(fit_hybrid, _from_rough_inputs),
}


def starting_state(problem: Problem, rough: RoughPass, method: str, tol: float, watch: Watch = SILENT) -> State:
    """Where a variant starts. Under the rough pass's guard, or if nothing is to follow, all start from its inputs."""
    start = _from_rough_inputs if problem.entry_threshold or watch.stopped else VARIANTS[method].start
    return start(problem, rough, tol)


def minimise(
    problem: Problem, start: State, method: str, *, update="mackay", order="greedy", rng=None, fallback=None, **options
) -> Fit:
    """Runs one of :data:`VARIANTS`; ``options`` are tol, max_iter and watch."""
    variant = VARIANTS[method]
    own = {"update": update, "order": order, "rng": rng, "fallback": fallback}
    return variant.fit(problem, start, **{name: own[name] for name in variant.takes}, **options)
