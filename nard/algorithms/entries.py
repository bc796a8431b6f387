"""Relevance entry by entry: every output is a sum of single effects, each of one input that need not be known for sure.

The entry-wise part of output i is b_i = Σ_l b_il, and each b_il has one non-zero entry: of input j with probability
p_j, drawn from N(0, σ²_il). Given Ω and the other outputs' residuals e_k, output i is a one-output regression of

    r_i = Σ_k (ω_ik/ω_ii) e_k + Xb_i,    with noise variance v_i = 1/ω_ii and covariance v_iC over the samples,

so that the network lends its power. One effect given the others has a posterior in closed form: with s_j = x_jᵀC⁻¹x_j,
q_j = x_jᵀC⁻¹r and κ_j = σ²s_j/v, input j has the Bayes factor

    ln BF_j = ½ [κ_j/(1 + κ_j) · q_j²/(s_jv) − ln(1 + κ_j)],
    π_j = p_jBF_j / Σ p_kBF_k,    μ_j = κ_j/(1 + κ_j) · q_j/s_j,

and the effect as a whole BF = Σ_j p_jBF_j. This is Theorem 3.1 with one output, except that the choice of the input
is averaged over instead of being made: π_j are the inputs that could take each other's place. σ² maximises BF over
a grid; an effect is pruned if BF times its prior odds is at most one. An effect keeps the inputs of the largest
Bayes factors only, which is a restriction of the posterior that is looked for, not an error in it.

Taking effects and outputs in turn is coordinate descent on an upper bound of −2 ln evidence (the posterior is taken to
factorise over effects), J with E = Y − XB̄ in place of Y and

    + Tr(Ω diag(c)) + 2 Σ KL_il,    c_i = Σ_l [Σ_j π_j(μ_j² + τ_j)s_j − b̄_ilᵀXᵀC⁻¹Xb̄_il],

where τ_j = κ_j/(1 + κ_j)·v/s_j are posterior variances, b̄_il = (π_jμ_j)_j, and KL_il is the divergence of an effect's
posterior from its prior. It never rises.

One effect at a time, the sweeps cannot find two inputs that only together explain more than a third one that goes with
both. So for every effect the best pair of inputs is looked for as well, and kept where the bound falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from nard.compiled import njit
from nard.progress import SILENT, Watch

__all__ = ["MOST_EFFECTS", "Entries", "Prior", "Whitened", "fit_entries", "learnt_prior", "no_entries", "no_own"]

# Effects per output, places for so many at first, and inputs that an effect keeps.
MOST_EFFECTS = 32
_PLACES = 4
_KEPT = 64
# Standard deviations of an effect, in those of an output per one of an input.
_SIZES = np.array([0.15, 0.3, 0.6, 1.0]) ** 2
# Of an input's length, what the active inputs and hidden inputs must leave of it.
_LEAST_LEFT = 0.02
# Bayes factors below the largest by this logarithm do not count.
_NEGLIGIBLE = 25.0
# Prior odds, as logarithms, of another effect: where nothing is known yet, and how far they are learnt.
_LOG_ODDS = 0.0
_LEARNT_ODDS = (-3.0, 2.5)
# A new effect must be worth it by the inputs alone whose Bayes factor is within this factor of the largest.
_CLUSTER = 20.0
# Outputs are folded so that a prior is learnt from others; own inputs get at most this share of it.
_FOLDS = 5
_MOST_OWN = 0.9
_SWEEPS = 50
# Two effects instead of one are looked for among so many inputs, with so many steps of each; a pair is tried if its two
# inputs are worth this much less (as a logarithm) than the effect, as others can take their place.
_PAIRED = 32
_PAIR_STEPS = 5
_AVERAGED = 3.0
# Sums and maxima may be reordered to use vector instructions; infinities keep their meaning.
_FAST = {"reassoc", "contract", "nnan", "nsz"}


@dataclass
class Entries:
    """Posterior of the single effects: m outputs × effects × inputs kept; ``size`` is 0 where an effect is pruned.

    ``index`` are the inputs of an effect, most probable first, ``pip`` π_j, ``mean`` μ_j and ``variance`` τ_j; places
    that an effect does not need have π = 0.
    """

    d: int
    size: np.ndarray
    index: np.ndarray
    pip: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    divergence: np.ndarray

    @property
    def on(self) -> np.ndarray:
        """Which effects are there, m × effects."""
        return self.size > 0

    @property
    def empty(self) -> bool:
        return not self.on.any()

    def coef(self) -> np.ndarray:
        """B̄, d×m."""
        return self._summed(self.pip * self.mean).toarray().T

    def effect(self, i: int, at: int) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and means π_jμ_j of one effect."""
        return self.index[i, at], self.pip[i, at] * self.mean[i, at]

    @property
    def used(self) -> np.ndarray:
        """Degrees of freedom that the effects of every output use: Σ π_j² of each, one where its input is known."""
        return np.where(self.on, (self.pip**2).sum(axis=2), 0.0).sum(axis=1)

    def counts(self) -> sparse.csr_array:
        """Σ_l π_j of every output and input, m×d."""
        return self._summed(self.pip)

    def _summed(self, values: np.ndarray) -> sparse.csr_array:
        """Values of the effects' inputs added up over the effects, m×d."""
        output, effect = np.nonzero(self.on)
        rows = np.repeat(output, self.index.shape[2])
        places = rows, self.index[output, effect].ravel()
        return sparse.csr_array((values[output, effect].ravel(), places), shape=(len(self.size), self.d))

    def with_places(self, count: int) -> Entries:
        """A copy with places for so many effects of every output, at most :data:`MOST_EFFECTS`."""
        more = min(count, MOST_EFFECTS) - self.size.shape[1]
        arrays = (self.size, self.index, self.pip, self.mean, self.variance, self.divergence)
        return Entries(self.d, *(_longer(array, more) for array in arrays))

    @property
    def penalty(self) -> float:
        """2 Σ KL, what the effects add to J besides their variances."""
        return float(2.0 * self.divergence[self.on].sum())


def _longer(array: np.ndarray, more: int) -> np.ndarray:
    """A copy with zeros for so many more effects; with none more where ``more`` is negative."""
    widths = [(0, 0)] * array.ndim
    widths[1] = (0, max(more, 0))
    return np.pad(array, widths)


def no_own(m: int) -> np.ndarray:
    """No output has inputs of its own."""
    return np.full((m, 0), -1)


def no_entries(d: int, m: int) -> Entries:
    """All effects are pruned."""
    shape = (m, _PLACES, min(_KEPT, d))
    index = np.zeros(shape, dtype=np.int64)
    pip, mean, variance = (np.zeros(shape) for _ in range(3))
    return Entries(d, np.zeros(shape[:2]), index, pip, mean, variance, np.zeros(shape[:2]))


@dataclass(frozen=True)
class Prior:
    """p_j, the share of an effect's prior that falls on each input, by folds of the outputs (folds × d).

    ``log_odds`` are those of an output's first, second, … effect being there if the one before is. ``own`` lists the
    inputs that are known to belong to an output, a gene of its protein (m × most of them, −1 where there are fewer),
    and ``own_share`` how much of an effect's prior they share, by folds; the rest is shared as p_j say.
    """

    share: np.ndarray
    fold: np.ndarray
    log_odds: np.ndarray
    own: np.ndarray
    own_share: np.ndarray


def learnt_prior(entries: Entries, own: np.ndarray) -> Prior:
    """From how many effects the outputs have, how often (Σ_l π_j) every input drives one, and how often its own does.

    For a fifth of the outputs it is learnt from the other four, so that no effect sees its own. With n_j the counts
    there, of mean μ and variance σ² > μ over the inputs, p_j is proportional to n_j + a, a = μ²/(σ² − μ), as in a
    Gamma-Poisson model; if the counts vary no more than chance would have it, all p_j are equal.
    """
    counts = entries.counts()
    m, d = counts.shape
    fold = np.arange(m) % _FOLDS
    share, own_share = np.ones((_FOLDS, d)), np.zeros(_FOLDS)
    total = np.asarray(counts.sum(axis=0)).ravel()
    rows, places = np.nonzero(own >= 0)
    of_own = np.bincount(rows, np.asarray(counts[rows, own[rows, places]]).ravel(), minlength=m)
    of_all = np.where((own >= 0).any(axis=1), np.asarray(counts.sum(axis=1)).ravel(), 0.0)
    for f in range(_FOLDS):
        others = fold != f
        own_share[f] = min(of_own[others].sum() / (of_all[others].sum() + 1.0), _MOST_OWN)
        n = total - np.asarray(counts[fold == f].sum(axis=0)).ravel()
        mean, variance = n.mean(), n.var()
        if variance > mean > 0:
            share[f] = n + mean**2 / (variance - mean)
    log_odds = np.full(MOST_EFFECTS, _LOG_ODDS)
    if not entries.empty:
        at_least = np.zeros(MOST_EFFECTS + 1)
        at_least[0] = m
        at_least[1 : entries.size.shape[1] + 1] = np.count_nonzero(np.sort(entries.on)[:, ::-1], axis=0)
        log_odds = np.clip(np.log((at_least[1:] + 0.5) / (at_least[:-1] - at_least[1:] + 0.5)), *_LEARNT_ODDS)
    return Prior(share / share.sum(axis=1, keepdims=True), fold, log_odds, own, own_share)


class Whitened:
    """L⁻¹X and what L⁻¹(Y − XB̄) has in their space, C = LLᵀ: rows are at most as many as inputs."""

    def __init__(self, X: np.ndarray, C: np.ndarray | None):
        self._factor = None if C is None else np.linalg.cholesky(C)
        X = self._solve(X)
        n, d = X.shape
        self._basis = None
        if n > d:
            self._basis, X = np.linalg.qr(X)
        self.XT = np.ascontiguousarray(X.T)
        self.squares = np.einsum("ij,ij->i", self.XT, self.XT)

    def _solve(self, A):
        return A if self._factor is None else np.linalg.solve(self._factor, A)

    def rows(self, E: np.ndarray) -> np.ndarray:
        """Residuals E (N×m) as m rows."""
        E = self._solve(E)
        return np.ascontiguousarray((E if self._basis is None else self._basis.T @ E).T)

    def extra_scatter(self, entries: Entries) -> np.ndarray:
        """c_i, the posterior variance of the effects' fits."""
        c = np.zeros(len(entries.size))
        output, effect = np.nonzero(entries.on)
        for i, at in zip(output, effect, strict=True):
            j = entries.index[i, at]
            second = entries.pip[i, at] * (entries.mean[i, at] ** 2 + entries.variance[i, at])
            fitted = (entries.pip[i, at] * entries.mean[i, at]) @ self.XT[j]
            c[i] += second @ self.squares[j] - fitted @ fitted
        return np.maximum(c, 0.0)


def fit_entries(
    whitened: Whitened,
    E: np.ndarray,
    omega: np.ndarray,
    entries: Entries,
    lengths: np.ndarray,
    variances: np.ndarray,
    prior: Prior,
    tol: float = 1e-3,
    watch: Watch = SILENT,
    split: bool = True,
) -> Entries:
    """Sweeps over all outputs' effects until the largest change of a fit is below ``tol`` of its output's noise.

    With ``split`` two effects are then tried in place of every one, once.

    ``E`` is Y − XB̄ (N×m) at ``entries``; ``lengths`` are the inputs' squared lengths before anything was projected out
    of them, ``variances`` the outputs' variances, to which the sizes of effects refer.
    """
    rows = whitened.rows(E)
    usable = whitened.squares > _LEAST_LEFT * np.maximum(lengths, 1e-300)
    found = entries.with_places(0)
    sizes = np.outer(variances, _SIZES)
    inputs = _Inputs(whitened.XT, np.where(usable, whitened.squares, 0.0), np.log(prior.share), prior.fold)
    known = _Known(prior.log_odds, prior.own, prior.own_share)
    omega = np.ascontiguousarray(omega)
    # Without a network outputs know nothing of each other: each goes on until it has settled.
    passes = _SWEEPS if np.count_nonzero(omega) == len(omega) else 1
    fresh = np.ones(len(rows), dtype=np.bool_)
    for _ in range(_SWEEPS):
        if watch.stopped:
            break
        watch.tick("entries")
        fresh = _sweep(inputs, known, rows, omega, sizes, tol, fresh, _effects(found), passes)
        full = found.on.all(axis=1)
        if full.any() and found.size.shape[1] < MOST_EFFECTS:
            found, fresh = found.with_places(2 * found.size.shape[1]), fresh | full
        if split and not fresh.any():
            split = False
            found = found.with_places(2 * int(np.count_nonzero(found.on, axis=1).max(initial=0)))
            fresh = _split(inputs, known, rows, omega, _effects(found), sizes)
        if not fresh.any():
            break
    return found


class _Inputs(NamedTuple):
    """L⁻¹X as rows, their squared lengths (zero where an input is not usable), ln p_j by folds, outputs' folds."""

    XT: np.ndarray
    squares: np.ndarray
    log_share: np.ndarray
    fold: np.ndarray


class _Known(NamedTuple):
    """What :class:`Prior` has besides."""

    log_odds: np.ndarray
    own: np.ndarray
    own_share: np.ndarray


class _Effects(NamedTuple):
    """The arrays of :class:`Entries`; a tuple has an ``index`` already."""

    size: np.ndarray
    inputs: np.ndarray
    pip: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    divergence: np.ndarray


def _effects(entries: Entries) -> _Effects:
    return _Effects(entries.size, entries.index, entries.pip, entries.mean, entries.variance, entries.divergence)


@njit(cache=True)
def _log_prior(inputs, known, i):
    """ln p_j for output i, with the share of its own inputs."""
    log_prior = inputs.log_share[inputs.fold[i]].copy()
    own, mass = known.own[i], known.own_share[inputs.fold[i]]
    n_own = (own >= 0).sum()
    if n_own and mass > 0.0:
        log_prior += np.log(1.0 - mass)
        for j in own[:n_own]:
            log_prior[j] = np.log(np.exp(log_prior[j]) + mass / n_own)
    return log_prior


@njit(cache=True)
def _left_by_network(rows, omega, i):
    """h_i = Σ_k (ω_ik/ω_ii) e_k."""
    h = np.zeros(rows.shape[1])
    for k in range(len(rows)):
        if omega[i, k] != 0.0:
            weight = omega[i, k] / omega[i, i]
            for a in range(len(h)):
                h[a] += weight * rows[k, a]
    return h


@njit(cache=True)
def _add_fit(XT, effects, i, e, sign, r):
    """r ± the fit of an effect, in place; zero if it is pruned."""
    if effects.size[i, e] > 0.0:
        for b in range(effects.inputs.shape[2]):
            weight = sign * effects.pip[i, e, b] * effects.mean[i, e, b]
            if weight != 0.0:
                x = XT[effects.inputs[i, e, b]]
                for a in range(len(r)):
                    r[a] += weight * x[a]


@njit(cache=True)
def _factor_tables(squares, sizes, v, log_prior):
    """For every size and input, κ/(1 + κ)/(2sv) and ln p − ½ln(1 + κ): ln pBF = first · q² + second."""
    slope, constant = np.zeros((len(sizes), len(squares))), np.full((len(sizes), len(squares)), -np.inf)
    for g in range(len(sizes)):
        for j in range(len(squares)):
            if squares[j] > 0.0:
                kappa = sizes[g] * squares[j] / v
                slope[g, j] = 0.5 * kappa / ((1.0 + kappa) * squares[j] * v)
                constant[g, j] = log_prior[j] - 0.5 * np.log1p(kappa)
    return slope, constant


@njit(cache=True)
def _log_sum(values):
    largest = values.max()
    total = 0.0
    for value in values:
        if value > largest - _NEGLIGIBLE:
            total += np.exp(value - largest)
    return largest + np.log(total)


@njit(cache=True, fastmath=_FAST)
def _hopeless(slope, constant, squared, log_odds):
    """Whether no effect of any size is worth it by the inputs near the best one; no exponentials are needed to see."""
    for g in range(len(slope)):
        top = -np.inf
        for j in range(len(squared)):
            top = max(top, slope[g, j] * squared[j] + constant[g, j])
        if top + np.log(len(squared)) <= -log_odds:
            continue
        least, near = top - np.log(_CLUSTER), 0
        for j in range(len(squared)):
            near += slope[g, j] * squared[j] + constant[g, j] >= least
        if top + np.log(near) > -log_odds:
            return False
    return True


@njit(cache=True)
def _update(inputs, effects, i, e, r, v, tables, log_odds, sizes):
    """The posterior of an effect given r, which the others leave; r becomes what all leave."""
    squares, kept = inputs.squares, effects.inputs.shape[2]
    slope, constant = tables
    q = inputs.XT @ r
    squared = q * q
    was_on, highest, chosen = effects.size[i, e] > 0.0, -log_odds, 0.0
    if not was_on and _hopeless(slope, constant, squared, log_odds):
        return
    best = squared
    for g in range(len(sizes)):
        factors = slope[g] * squared + constant[g]
        value = _log_sum(factors)
        if value > highest:
            highest, chosen, best = value, sizes[g], factors
    effects.size[i, e] = 0.0
    if chosen == 0.0:
        return
    top = best.max()
    near = np.flatnonzero(best > top - _NEGLIGIBLE)
    if not was_on:
        weights = np.exp(best[near] - top)
        if top + np.log(weights[weights * _CLUSTER >= 1.0].sum()) <= -log_odds:
            return
    order = near[np.argsort(-best[near])[:kept]]
    pip, mean, variance = effects.pip[i, e], effects.mean[i, e], effects.variance[i, e]
    pip[:], mean[:], variance[:] = 0.0, 0.0, 0.0
    pip[: len(order)] = np.exp(best[order] - top)
    total = pip.sum()
    if top + np.log(total) <= -log_odds:
        return
    effects.size[i, e] = chosen
    pip /= total
    gained = 0.0
    for b in range(len(order)):
        j = order[b]
        effects.inputs[i, e, b] = j
        kappa = chosen * squares[j] / v
        shrink = kappa / (1.0 + kappa)
        mean[b] = shrink * q[j] / squares[j]
        variance[b] = shrink * v / squares[j]
        gained += pip[b] * (mean[b] * q[j] - 0.5 * (mean[b] ** 2 + variance[b]) * squares[j])
    effects.divergence[i, e] = gained / v - (top + np.log(total)) - log_odds
    _add_fit(inputs.XT, effects, i, e, -1.0, r)


@njit(cache=True)
def _sweep(inputs, known, rows, omega, sizes, tol, fresh, effects, passes):
    """One sweep over the outputs that are ``fresh``, with so many passes at most; returns which of them are then."""
    m = len(rows)
    again = np.zeros(m, dtype=np.bool_)
    for i in range(m):
        if not fresh[i]:
            continue
        v = 1.0 / omega[i, i]
        tables = _factor_tables(inputs.squares, sizes[i], v, _log_prior(inputs, known, i))
        h = _left_by_network(rows, omega, i)
        for _ in range(passes):
            moved = 0.0
            for e in range(effects.size.shape[1]):
                was_on = effects.size[i, e] > 0.0
                r = h.copy()
                _add_fit(inputs.XT, effects, i, e, 1.0, r)
                _update(inputs, effects, i, e, r, v, tables, known.log_odds[e], sizes[i])
                if was_on or effects.size[i, e] > 0.0:
                    moved = max(moved, ((r - h) ** 2).sum() / v)
                    rows[i] += r - h
                    h = r
                elif not (effects.size[i, e + 1 :] > 0.0).any():
                    break  # neither this effect nor a later one is there
            if moved <= tol * tol:
                break
        if moved > tol * tol:
            again[i] = True
            for k in range(m):
                if k != i and omega[i, k] != 0.0 and (omega[i, k] / omega[k, k]) ** 2 * moved > tol * tol:
                    again[k] = True
    return again


@njit(cache=True)
def _worth(inputs, effects, i, both, r, v):
    """What effects add to −J/2, up to a constant; r is what they leave."""
    value = -0.5 * (r @ r) / v
    for e in both:
        if effects.size[i, e] <= 0.0:
            continue
        fit, second = np.zeros(len(r)), 0.0
        _add_fit(inputs.XT, effects, i, e, 1.0, fit)
        for b in range(effects.inputs.shape[2]):
            square = effects.mean[i, e, b] ** 2 + effects.variance[i, e, b]
            second += effects.pip[i, e, b] * square * inputs.squares[effects.inputs[i, e, b]]
        value -= 0.5 * (second - fit @ fit) / v + effects.divergence[i, e]
    return value


@njit(cache=True)
def _best_pair(inputs, r, v, size, log_prior):
    """The two inputs that explain r best together, of those that do so best alone, and ln p_jp_kBF_jk."""
    q = inputs.XT @ r
    usable = inputs.squares > 0.0
    alone = np.where(usable, q * q / np.where(usable, inputs.squares, 1.0), 0.0) / v + 2.0 * log_prior
    order = np.argsort(-alone)[: min(_PAIRED, len(q))]
    X = np.empty((len(order), len(r)))
    for a in range(len(order)):
        X[a] = inputs.XT[order[a]]
    G = X @ X.T * (size / v)
    best, first, second = -np.inf, 0, 0
    for a in range(len(order)):
        for b in range(a):
            j, k = order[a], order[b]
            p, s, g = G[a, a] + 1.0, G[b, b] + 1.0, G[a, b]
            det = p * s - g * g
            fit = (q[j] ** 2 * s - 2.0 * q[j] * q[k] * g + q[k] ** 2 * p) / det * size / v**2
            value = 0.5 * (fit - np.log(det)) + log_prior[j] + log_prior[k]
            if usable[j] and usable[k] and value > best:
                best, first, second = value, j, k
    return best, first, second


@njit(cache=True)
def _split(inputs, known, rows, omega, effects, sizes):
    """Tries two effects for every one that is there, and keeps them where J falls; returns the outputs that changed.

    An input that goes with two that drive an output may explain it better than either of them: effects that are
    taken one by one never find the two.
    """
    m = len(rows)
    changed = np.zeros(m, dtype=np.bool_)
    for i in range(m):
        on = np.flatnonzero(effects.size[i] > 0.0)
        if len(on) == 0 or len(on) == effects.size.shape[1]:
            continue
        v, log_prior = 1.0 / omega[i, i], _log_prior(inputs, known, i)
        tables = _factor_tables(inputs.squares, sizes[i], v, log_prior)
        h = _left_by_network(rows, omega, i)
        for e in on:
            free = np.flatnonzero(effects.size[i] == 0.0)
            if effects.size[i, e] == 0.0 or len(free) == 0:
                continue
            f = free[0]
            both = np.array([e, f])
            r = h.copy()
            _add_fit(inputs.XT, effects, i, e, 1.0, r)
            pair, first, second = _best_pair(inputs, r, v, effects.size[i, e], log_prior)
            before = _worth(inputs, effects, i, both, h, v)
            least = before + 0.5 * (r @ r) / v - _AVERAGED
            if pair + known.log_odds[e] + known.log_odds[f] <= least:
                continue
            size, index, pip = effects.size[i, e], effects.inputs[i, e].copy(), effects.pip[i, e].copy()
            mean, variance = effects.mean[i, e].copy(), effects.variance[i, e].copy()
            divergence = effects.divergence[i, e]
            # One effect starts at an input of the pair, the other one from what that leaves.
            effects.inputs[i, e, 0] = second
            effects.pip[i, e, :] = 0.0
            effects.pip[i, e, 0] = 1.0
            x, y = inputs.XT[first], inputs.XT[second]
            det = (x @ x) * (y @ y) - (x @ y) ** 2
            effects.mean[i, e, 0] = ((y @ r) * (x @ x) - (x @ r) * (x @ y)) / det if det > 0.0 else 0.0
            _add_fit(inputs.XT, effects, i, e, -1.0, r)
            effects.size[i, f] = size
            effects.pip[i, f, :] = 0.0
            for _ in range(_PAIR_STEPS):
                for g in (f, e):
                    _add_fit(inputs.XT, effects, i, g, 1.0, r)
                    _update(inputs, effects, i, g, r, v, tables, known.log_odds[g], sizes[i])
            if _worth(inputs, effects, i, both, r, v) > before + 1e-9:
                rows[i] += r - h
                h = r
                changed[i] = True
                for k in range(m):
                    if omega[i, k] != 0.0:
                        changed[k] = True
            else:
                effects.size[i, e], effects.inputs[i, e], effects.pip[i, e] = size, index, pip
                effects.mean[i, e], effects.variance[i, e], effects.divergence[i, e] = mean, variance, divergence
                effects.size[i, f] = 0.0
    return changed
