"""Full NARD: all α_i are updated together, then Ω by the graphical lasso; a last exact sweep ends it.

Given Ω, with γ_i = 1 − α_iΣ_ii the effective number of parameters of input i,

    MacKay:  α_i ← (mγ_i + 2a − 2)/(μ_iᵀΩμ_i + 2b),        EM:  α_i ← (m + 2a − 2)/(mΣ_ii + μ_iᵀΩμ_i + 2b).

EM never raises J but hardly prunes; MacKay's form is far quicker yet may overshoot, so its step is halved on the
scale of ln α until J falls, and EM's is taken where that fails.
"""

from __future__ import annotations

import numpy as np

from nard.algorithms.evidence import Fit, Posterior, Problem, State, posterior, update_network
from nard.algorithms.sequential import finish, has_settled
from nard.progress import SILENT, Watch

__all__ = ["fit_full"]

_HALVINGS = 4
# An input with s_i below this fraction of its α_i is shrunk to nearly nothing.
_HARDLY_USED = 0.1


def _batch_update(problem: Problem, post: Posterior, alpha: np.ndarray, omega: np.ndarray, update: str) -> np.ndarray:
    """The proposed α of the active inputs."""
    prior, m = problem.alpha_prior, problem.m
    old = alpha[post.active]
    weight = post.weight(omega)
    em = (m + 2.0 * prior.a - 2.0) / (m * post.sigma + weight + 2.0 * prior.b)
    if update == "em":
        return em
    s, q2 = np.maximum(1.0 / post.sigma - old, 0.0), weight / post.sigma**2
    numerator = m * s / (old + s) + 2.0 * (prior.a - 1.0)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        mackay = np.where(numerator > 0, numerator / (weight + 2.0 * prior.b), em)
    # An input that J would rather do without, and that hardly matters any more, is pruned outright.
    if prior.is_flat:
        mackay[(q2 <= m * s) & (s < _HARDLY_USED * old)] = np.inf
    return mackay


def _descend(problem, alpha, network, post, value, update):
    """One batch step in α that does not raise J: returns α, its posterior and J."""
    active = post.active
    old = alpha[active]
    for attempt in (update, "em"):
        proposal = _batch_update(problem, post, alpha, network.precision, attempt)
        for halving in range(_HALVINGS if attempt == "mackay" else 1):
            trial = alpha.copy()
            step = 0.5**halving
            trial[active] = proposal if halving == 0 else old ** (1 - step) * np.minimum(proposal, 1e3 * old) ** step
            found = posterior(problem, trial)
            trial_value = problem.objective(found.logdet, found.scatter, trial, network)
            if trial_value <= value:
                return trial, found, trial_value
    return alpha, post, value


def fit_full(
    problem: Problem,
    start: State,
    *,
    update="mackay",
    fallback: State | None = None,
    tol=1e-4,
    max_iter=500,
    watch: Watch = SILENT,
) -> Fit:
    """Batch descent on J from ``start``, whose α must be finite for every input that may enter in a batch step.

    For ``fallback`` see :func:`nard.algorithms.sequential.finish`.
    """
    tolerance = tol * problem.scale
    alpha, network = start.alpha, start.network
    post = posterior(problem, alpha)
    value = problem.objective(post.logdet, post.scatter, alpha, network)
    objective, settled = [value], False
    while len(objective) <= max_iter and not watch.stopped:
        alpha, post, value = _descend(problem, alpha, network, post, value, update)
        fell = objective[-1] - value
        if settled:
            network = update_network(problem, post.scatter, network, tol)
            value = problem.objective(post.logdet, post.scatter, alpha, network)
        objective.append(value)
        watch.step(value, alpha, network.precision)
        if settled and objective[-2] - value <= tolerance:
            break
        settled = settled or has_settled(problem, fell, tolerance, len(objective))
    return finish(problem, State(alpha, network), objective, tol, max_iter, watch, fallback=fallback)
