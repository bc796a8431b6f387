"""The multivariate spike-and-slab lasso, mSSL (Deshpande, Ročková & George 2019, J. Comput. Graph. Stat. 28:921).

For rows y_i ~ N(W x_i, Ω⁻¹) the prior is a mixture of two Laplace densities on each weight and each edge,

    π(w_jk)      = θ (λ₁/2) exp(−λ₁|w|) + (1 − θ)(λ₀/2) exp(−λ₀|w|),    θ ~ Beta(a_θ, b_θ),
    π(ω_jk, j<k) = η (ξ₁/2) exp(−ξ₁|ω|) + (1 − η)(ξ₀/2) exp(−ξ₀|ω|),    η ~ Beta(a_η, b_η),    ω_kk ~ Exp(ξ₁),

a wide slab (λ₁, ξ₁) and a spike (λ₀, ξ₀) that is made narrower step by step, each step starting where the last one
ended. What is sought is a mode of the posterior of (W, θ, Ω, η), by conditional maximisation. With the chance of a
value to be from the slab

    p*(t) = 1 / (1 + (1 − θ)λ₀ exp(−(λ₀ − λ₁)t) / (θλ₁)),        λ*(t) = λ₁p*(t) + λ₀(1 − p*(t)),

one weight given all others maximises  z w − ½ c w² + ln π(w)  with c = ‖x_j‖²ω_kk and z = c w + (ΩRᵀX)_kj. That is

    w = 0 where |z| ≤ Δ,  else  w = sign(z)(|z| − λ*(|w|))/c,       Δ = inf_{t>0} [ct/2 + ln(π(0)/π(t))/t],

and Ω given p* of its entries is a graphical lasso with penalties ξ*/n. The publication bounds Δ from above by
√(2c ln(1/p*(0))) + λ₁, which is close; here it is exact, so that no step lowers the posterior.
"""

from __future__ import annotations

import numbers
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from nard.baselines.base import Baseline, Estimate
from nard.compiled import njit
from nard.covariance import GraphicalLassoResult, graphical_lasso
from nard.inputs import is_number, require

__all__ = [
    "MSSL",
    "Mixture",
    "Moments",
    "State",
    "climb",
    "explore_conditionally",
    "explore_fully",
    "log_posterior",
    "start",
]

_SLAB_W = 1.0
# Of n: the slab of the edges and their first spike. The last spikes are n.
_SLAB_EDGE = 0.01
_FIRST_SPIKE_EDGE = 0.1
# θ and η stay this far from 0 and 1: where nothing is from the slab their mode is at zero, and logarithms are taken.
_MARGIN = 1e-12
_MOST_STEPS = 200
_STEP_TOL = 1e-10
# An input that varies less than this, relative to the one that varies most, is constant.
_CONSTANT = 1e-12
# Inputs whose squared lengths differ by less share the thresholds.
_SAME_LENGTH = 1e-12
# The graphical lasso's duality gap per variable, as a fraction of `tol`.
_GLASSO_FRACTION = 1e-2


@dataclass(frozen=True)
class Mixture:
    """The prior of the weights or of the edges: slab, spike, and the Beta(a, b) prior of the slab's share."""

    slab: float
    spike: float
    a: float
    b: float


@dataclass(frozen=True)
class Moments:
    """All that is needed of the data: XᵀX (d×d), YᵀX (m×d), YᵀY (m×m) and n."""

    xx: np.ndarray
    yx: np.ndarray
    yy: np.ndarray
    n: int

    @classmethod
    def of(cls, X, Y) -> Moments:
        return cls(X.T @ X, np.ascontiguousarray(Y.T @ X), Y.T @ Y, len(X))


@dataclass(frozen=True)
class State:
    """W (m×d), its share of slab θ, Ω as the graphical lasso left it, and its share of slab η."""

    W: np.ndarray
    theta: float
    graph: GraphicalLassoResult
    eta: float

    @property
    def omega(self) -> np.ndarray:
        return self.graph.precision


@njit(cache=True)
def _odds(share, slab, spike):
    """Spike against slab at zero, (1 − θ)λ₀/(θλ₁)."""
    return (1.0 - share) * spike / (share * slab)


@njit(cache=True)
def _adaptive_penalty(t, odds, slab, spike):
    """λ*(t) = λ₁ + (λ₀ − λ₁)(1 − p*(t))."""
    against = odds * np.exp(-(spike - slab) * t)
    return slab + (spike - slab) * against / (1.0 + against)


@njit(cache=True)
def _cost(t, odds, slab, spike):
    """ln(π(0)/π(t)) = λ₁t + ln p*(t) − ln p*(0)."""
    return slab * t + np.log1p(odds) - np.log1p(odds * np.exp(-(spike - slab) * t))


@njit(cache=True)
def selection_threshold(curvature, odds, slab, spike):
    """Δ = inf_{t>0} [ct/2 + ln(π(0)/π(t))/t]: zero is the better weight exactly where |z| ≤ Δ.

    For t → 0 the bracket is λ*(0). Any other minimum satisfies ct²/2 = ln(π(0)/π(t)) − tλ*(t), whose right side grows
    from 0 to ln(1/p*(0)), so that iterating from there descends to the largest solution.
    """
    lowest = _adaptive_penalty(0.0, odds, slab, spike)
    t = np.sqrt(2.0 * np.log1p(odds) / curvature)
    for _ in range(_MOST_STEPS):
        rest = _cost(t, odds, slab, spike) - t * _adaptive_penalty(t, odds, slab, spike)
        after = np.sqrt(2.0 * max(rest, 0.0) / curvature)
        settled = t - after <= _STEP_TOL * t
        t = after
        if settled or t == 0.0:
            break
    if t > 0.0:
        lowest = min(lowest, 0.5 * curvature * t + _cost(t, odds, slab, spike) / t)
    return lowest


@njit(cache=True)
def _settle(t, z, curvature, odds, slab, spike):
    """Iterates t ← (z − λ*(t))₊/c; as λ* falls with t this goes one way, to the nearest solution."""
    for _ in range(_MOST_STEPS):
        after = max(z - _adaptive_penalty(t, odds, slab, spike), 0.0) / curvature
        settled = abs(after - t) <= _STEP_TOL * after
        t = after
        if settled:
            break
    return t


@njit(cache=True)
def best_magnitude(z, curvature, threshold, odds, slab, spike):
    """|w| that maximises |z||w| − ½cw² + ln π(w)."""
    if z <= threshold:
        return 0.0
    high = _settle(z / curvature, z, curvature, odds, slab, spike)
    if z <= _adaptive_penalty(0.0, odds, slab, spike) or (spike - slab) ** 2 <= 4.0 * curvature:
        return high
    # Beyond λ*(0) there may be a second solution, shrunken by the spike.
    low = _settle(0.0, z, curvature, odds, slab, spike)
    loss_high = (0.5 * curvature * high - z) * high + _cost(high, odds, slab, spike)
    loss_low = (0.5 * curvature * low - z) * low + _cost(low, odds, slab, spike)
    return high if loss_high <= loss_low else low


@njit(cache=True)
def share_of_slab(magnitudes, slab, spike, a, b, share):
    """The mode of θ given the magnitudes: the root of the concave log posterior's slope, by Newton's method from θ.

    With r_i = (λ₀/λ₁)exp(−(λ₀ − λ₁)t_i) the slope is  Σ (1 − r_i)/(θ + (1 − θ)r_i) + (a − 1)/θ − (b − 1)/(1 − θ).
    """
    ratio = np.empty(len(magnitudes))
    n_ratios = 0
    for t in magnitudes:
        if t != 0.0:
            ratio[n_ratios] = spike / slab * np.exp(-(spike - slab) * t)
            n_ratios += 1
    at_zero = spike / slab
    n_zeros = len(magnitudes) - n_ratios
    low, high = _MARGIN, 1.0 - _MARGIN
    for _ in range(_MOST_STEPS):
        slope = (a - 1.0) / share - (b - 1.0) / (1.0 - share)
        bend = -(a - 1.0) / share**2 - (b - 1.0) / (1.0 - share) ** 2
        term = (1.0 - at_zero) / (share + (1.0 - share) * at_zero)
        slope += n_zeros * term
        bend -= n_zeros * term * term
        for i in range(n_ratios):
            term = (1.0 - ratio[i]) / (share + (1.0 - share) * ratio[i])
            slope += term
            bend -= term * term
        if slope == 0.0:
            break
        if slope > 0.0:
            low = share
        else:
            high = share
        after = share - slope / bend
        if not low < after < high:
            after = np.sqrt(low * high)
        settled = abs(after - share) <= _STEP_TOL * share
        share = after
        if settled:
            break
    return share


@njit(cache=True)
def climb_weights(W, residual, xx, omega, slab, spike, a, b, theta, tol, max_sweeps):
    """Coordinate ascent in (W, θ): sweeps over all weights, and θ after each.

    W and RᵀX (``residual``) are changed in place. Returns θ and the sweeps it took to change no weight by more than
    ``tol`` times the largest, max_sweeps + 1 if these did not suffice.
    """
    m, d = W.shape
    threshold, score, column = np.empty(m), np.empty(m), np.empty(m)
    size = np.empty(m * d)
    for sweep in range(1, max_sweeps + 1):
        np.abs(W.ravel(), size)
        theta = share_of_slab(size, slab, spike, a, b, theta)
        odds = _odds(theta, slab, spike)
        squared_length = 0.0
        change = largest = 0.0
        for j in range(d):
            if xx[j, j] <= 0.0:
                continue
            if abs(xx[j, j] - squared_length) > _SAME_LENGTH * xx[j, j]:
                squared_length = xx[j, j]
                for k in range(m):
                    threshold[k] = selection_threshold(squared_length * omega[k, k], odds, slab, spike)
            for k in range(m):
                column[k] = residual[k, j]
            np.dot(omega, column, score)
            for k in range(m):
                curvature = squared_length * omega[k, k]
                z = score[k] + curvature * W[k, j]
                new = np.sign(z) * best_magnitude(abs(z), curvature, threshold[k], odds, slab, spike)
                largest = max(largest, abs(new))
                step = new - W[k, j]
                if step != 0.0:
                    change = max(change, abs(step))
                    W[k, j] = new
                    for i in range(d):
                        residual[k, i] -= step * xx[j, i]
                    for i in range(m):
                        score[i] -= step * squared_length * omega[k, i]
        if change <= tol * largest:
            return theta, sweep
    return theta, max_sweeps + 1


def _residual_covariance(data: Moments, W, residual) -> np.ndarray:
    """S = RᵀR/n = (YᵀY − W XᵀY − RᵀX Wᵀ)/n."""
    S = (data.yy - W @ data.yx.T - residual @ W.T) / data.n
    return 0.5 * (S + S.T)


def _log_mixture(magnitudes, mixture: Mixture, share) -> float:
    """Σ ln π(t) + ln Beta(share; a, b) up to the constant of the Beta."""
    slab, spike = mixture.slab, mixture.spike
    against = np.log1p(_odds(share, slab, spike) * np.exp(-(spike - slab) * magnitudes))
    value = len(magnitudes) * np.log(0.5 * share * slab) + (against - slab * magnitudes).sum()
    return value + (mixture.a - 1.0) * np.log(share) + (mixture.b - 1.0) * np.log1p(-share)


def _edge_magnitudes(omega) -> np.ndarray:
    return np.abs(omega[np.triu_indices(len(omega), 1)])


def log_posterior(data: Moments, state: State, weights: Mixture, edges: Mixture) -> float:
    """ln p(W, θ, Ω, η | Y) up to a constant that depends on neither state nor spikes."""
    S = _residual_covariance(data, state.W, data.yx - state.W @ data.xx)
    value = 0.5 * data.n * (state.graph.logdet - (S * state.omega).sum()) - edges.slab * np.trace(state.omega)
    value += _log_mixture(np.abs(state.W).ravel(), weights, state.theta)
    return float(value + _log_mixture(_edge_magnitudes(state.omega), edges, state.eta))


def _climb_graph(S, n, graph, eta, edges: Mixture, tol) -> tuple[GraphicalLassoResult, float]:
    """η given Ω, then Ω given η and p*.

    The exponential prior of the diagonal adds 2ξ₁/n to the variances.
    """
    slab, spike = edges.slab, edges.spike
    eta = share_of_slab(_edge_magnitudes(graph.precision), slab, spike, edges.a, edges.b, eta)
    against = _odds(eta, slab, spike) * np.exp(-(spike - slab) * np.abs(graph.precision))
    penalty = (slab + (spike - slab) * against / (1.0 + against)) / n
    shifted = S + np.diag(np.full(len(S), 2.0 * slab / n))
    return graphical_lasso(shifted, penalty, init=graph, tol=_GLASSO_FRACTION * tol), eta


def climb(data: Moments, state: State, weights: Mixture, edges: Mixture, *, free="both", tol=1e-3, max_iter=100):
    """Conditional maximisation at one pair of spikes, of what is ``free``: "W" (with θ), "omega" (with η) or "both".

    No step lowers :func:`log_posterior`: weights and shares are maximised one at a time, the threshold Δ being exact,
    and the graphical lasso maximises a lower bound that touches the log posterior at the Ω before.

    Returns
    -------
    State, and the number of iterations (of sweeps if only W is free), max_iter + 1 if these did not suffice.
    """
    W, residual = state.W.copy(), data.yx - state.W @ data.xx
    theta, graph, eta = state.theta, state.graph, state.eta
    for iteration in range(1, max_iter + 1):
        W_before, omega_before = W.copy(), graph.precision
        if free != "omega":
            prior = weights.slab, weights.spike, weights.a, weights.b
            theta, sweeps = climb_weights(W, residual, data.xx, graph.precision, *prior, theta, tol, max_iter)
            if free == "W":
                return State(W, theta, graph, eta), sweeps
        graph, eta = _climb_graph(_residual_covariance(data, W, residual), data.n, graph, eta, edges, tol)
        if _close(W, W_before, tol) and _close(graph.precision, omega_before, tol):
            return State(W, theta, graph, eta), iteration
    return State(W, theta, graph, eta), max_iter + 1


def _close(after, before, tol) -> bool:
    return bool(np.abs(after - before).max() <= tol * np.abs(after).max())


def start(data: Moments) -> State:
    """No weights, unit variances, and even odds of slab and spike."""
    m, d = data.yx.shape
    unit = np.eye(m)
    return State(np.zeros((m, d)), 0.5, GraphicalLassoResult(unit, unit, 0.0, np.nan, np.nan, 0, False), 0.5)


def explore_conditionally(data: Moments, weights, edges, **stop) -> tuple[State, list[dict]]:
    """W along its spikes given Ω = I, Ω along its spikes given W, then both at the last spikes.

    ``weights`` and ``edges`` are lists of :class:`Mixture`, from the widest spike to the narrowest; ``stop`` is handed
    to :func:`climb`. Returns the last state and one row of the path per step.
    """
    steps = [(mixture, edges[0], "W") for mixture in weights]
    steps += [(weights[-1], mixture, "omega") for mixture in edges]
    steps += [(weights[-1], edges[-1], "both")]
    state, path = start(data), []
    for on_W, on_edges, free in steps:
        state, n_iter = climb(data, state, on_W, on_edges, free=free, **stop)
        path.append(_row(data, state, on_W, on_edges, free, n_iter))
    return state, path


def explore_fully(data: Moments, weights, edges, **stop) -> tuple[State, list[dict]]:
    """Both at every pair of spikes, from the best of the neighbours with wider ones; see explore_conditionally."""
    states: dict[tuple[int, int], State] = {}
    path = []
    for s, on_W in enumerate(weights):
        for t, on_edges in enumerate(edges):
            neighbours = [states[pair] for pair in ((s - 1, t), (s, t - 1), (s - 1, t - 1)) if pair in states]
            values = [log_posterior(data, state, on_W, on_edges) for state in neighbours]
            best = neighbours[int(np.argmax(values))] if neighbours else start(data)
            states[s, t], n_iter = climb(data, best, on_W, on_edges, **stop)
            path.append(_row(data, states[s, t], on_W, on_edges, "both", n_iter))
    return states[len(weights) - 1, len(edges) - 1], path


def _row(data, state, weights, edges, free, n_iter) -> dict:
    return {
        "lambda0": weights.spike,
        "xi0": edges.spike,
        "free": free,
        "n_associations": np.count_nonzero(state.W),
        "n_edges": np.count_nonzero(np.triu(state.omega, 1)),
        "objective": log_posterior(data, state, weights, edges),
        "n_iter": n_iter,
    }


_EXPLORATIONS = {"conditional": explore_conditionally, "full": explore_fully}


class MSSL(Baseline):
    """The multivariate spike-and-slab lasso with dynamic posterior exploration.

    The priors are those of the publication: λ₁ = 1 with λ₀ from 1 to n, ξ₁ = 0.01 n with ξ₀ from 0.1 n to n,
    θ ~ Beta(1, dm) and η ~ Beta(1, m). They presume residual variances of about one: scale the outputs if theirs are
    far from that. Inputs are scaled to unit variance inside. What is not exactly zero at the last spikes is selected.

    Parameters
    ----------
    exploration : {"conditional", "full"}, default="conditional"
        The way through the spikes: W given Ω = I, then Ω given W, then both; or both at all n_spikes² pairs, which
        takes several times as long and overfits where there are about as many inputs as samples, or more.
    n_spikes : int, default=10
        Values of λ₀, and of ξ₀, on the way, at least two.
    tol : float, default=1e-3
        Changes of W and Ω to stop at, relative to their largest entry.
    max_iter : int, default=500
        Most iterations at a pair of spikes.
    standardize : bool, default=False
        Scale the outputs to unit variance first, so that their units do not matter; results are in the units given.
        The workflow and `nard fit` do so.

    Attributes
    ----------
    path_ : DataFrame
        One row per pair of spikes: ``lambda0``, ``xi0``, what was ``free`` (W, omega or both), the non-zeros
        ``n_associations`` and ``n_edges``, the log posterior ``objective``, and ``n_iter``.
    converged_ : bool
        Whether the last step, where both W and Ω are free, met ``tol``.
    n_iter_ : int
        Iterations in all.

    Examples
    --------
    >>> from nard.baselines.mssl import MSSL
    >>> from nard.simulate import make_regression
    >>> data = make_regression(100, 10, 5, random_state=0)
    >>> model = MSSL().fit(data.X, data.Y)
    >>> model.coef_.shape
    (5, 10)
    """

    def __init__(self, exploration="conditional", n_spikes=10, tol=1e-3, max_iter=500, standardize=False):
        self.exploration = exploration
        self.n_spikes = n_spikes
        self.tol = tol
        self.max_iter = max_iter
        self.standardize = standardize

    def _estimate(self, X, Y) -> Estimate:
        self._check_parameters()
        (n, d), m = X.shape, Y.shape[1]
        scale = X.std(axis=0)
        scale[scale <= _CONSTANT * scale.max()] = np.inf  # constant but for rounding: no weight
        weights = Mixture(_SLAB_W, _SLAB_W, 1.0, d * m)
        edges = Mixture(_SLAB_EDGE * n, _FIRST_SPIKE_EDGE * n, 1.0, m)
        state, path = _EXPLORATIONS[self.exploration](
            Moments.of(X / scale, Y),
            [replace(weights, spike=spike) for spike in np.linspace(weights.spike, n, self.n_spikes)],
            [replace(edges, spike=spike) for spike in np.linspace(edges.spike, n, self.n_spikes)],
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self.path_ = pd.DataFrame(path)
        self.converged_ = path[-1]["n_iter"] <= self.max_iter
        self.path_["n_iter"] = self.path_["n_iter"].clip(upper=self.max_iter)
        self.n_iter_ = int(self.path_["n_iter"].sum())
        if not self.converged_:
            warnings.warn(
                f"MSSL stopped after max_iter={self.max_iter} iterations before W and Ω settled to tol={self.tol:g}: "
                "raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return Estimate(state.W / scale, state.omega, state.W != 0, state.omega != 0)

    def _check_parameters(self):
        known = isinstance(self.exploration, str) and self.exploration in _EXPLORATIONS
        require(known, "exploration", self.exploration, f"one of {list(_EXPLORATIONS)}")
        for name, least in (("n_spikes", 2), ("max_iter", 1)):
            value = getattr(self, name)
            whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
            require(whole and value >= least, name, value, f"an integer ≥ {least}")
        require(is_number(self.tol) and self.tol > 0, "tol", self.tol, "a number > 0")
