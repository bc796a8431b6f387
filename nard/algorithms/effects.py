"""Single effects of one output, compiled: the posterior of each given the others, and two in place of one.

The equations are those of :mod:`nard.algorithms.entries`. An output's effects are looked for among its candidates
(:mod:`nard.algorithms.candidates`), whose rows are gathered in one place; where these are all inputs nothing is copied.

An output with gaps has samples of its own. What it lacks is projected out of its residual and of the fits of its
effects, and so out of every product with an input as well; the inputs' squared lengths are those that are left.
"""

from __future__ import annotations

from math import factorial
from typing import NamedTuple

import numpy as np

from nard.compiled import njit

__all__ = [
    "Apart",
    "Effects",
    "Inputs",
    "Known",
    "add_fit",
    "hopeless_by_bounds",
    "largest",
    "log_prior_of",
    "project",
    "split",
    "squares_of",
    "sweep",
    "worths",
]

# Bayes factors below the largest by this logarithm do not count.
_NEGLIGIBLE = 25.0
# A new effect must be worth it by the inputs alone whose Bayes factor is within this factor of the largest.
_CLUSTER = 20.0
# Two effects instead of one are looked for among so many inputs, with so many steps of each; a pair is tried if its two
# inputs are worth this much less (as a logarithm) than the effect, as others can take their place.
_PAIRED = 32
_PAIR_STEPS = 5
_AVERAGED = 3.0
# e^x = 2^k e^r: adding this number rounds to whole k, which then stands in the last bits.
_ROUNDING = 1.5 * 2.0**52
_T3, _T4, _T5, _T6, _T7, _T8, _T9, _T10, _T11, _T12 = (1.0 / factorial(n) for n in range(3, 13))
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Sums and maxima may be reordered to use vector instructions; infinities keep their meaning.
_FAST = {"reassoc", "contract", "nnan", "nsz"}


class Apart(NamedTuple):
    """What is projected out for every output: places that are false in ``mask``, then rows of ``gone``.

    ``mask`` (m × N) is empty if nothing is masked; the rows, orthonormal, are those from ``first`` to ``last`` of the
    output. Both are empty if nothing is projected out.
    """

    mask: np.ndarray
    gone: np.ndarray
    first: np.ndarray
    last: np.ndarray


class Inputs(NamedTuple):
    """L⁻¹X as rows, their squared lengths (zero where an input is not usable), ln p_j by folds, outputs' folds.

    Squared lengths are those for every output, or in one row if they are the same for all. ``whole`` are the same rows
    where all inputs are every output's candidates, else it is empty.
    """

    XT: np.ndarray
    apart: Apart
    whole: np.ndarray
    squares: np.ndarray
    log_share: np.ndarray
    fold: np.ndarray


class Known(NamedTuple):
    """What :class:`nard.algorithms.entries.Prior` has besides."""

    log_odds: np.ndarray
    own: np.ndarray
    own_share: np.ndarray


class Effects(NamedTuple):
    """The arrays of :class:`nard.algorithms.entries.Entries`; a tuple has an ``index`` already."""

    size: np.ndarray
    inputs: np.ndarray
    pip: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    divergence: np.ndarray


class _Candidates(NamedTuple):
    """Of one output: its candidates' rows, their numbers, squared lengths and ln p_j."""

    rows: np.ndarray
    number: np.ndarray
    squares: np.ndarray
    log_prior: np.ndarray


@njit(cache=True, nogil=True)
def project(apart, i, r):
    """What is left of r for output i, in place."""
    if len(apart.mask):
        for a in range(len(r)):
            if not apart.mask[i, a]:
                r[a] = 0.0
    if len(apart.first):
        for b in range(apart.first[i], apart.last[i]):
            r -= (apart.gone[b] @ r) * apart.gone[b]


@njit(cache=True, nogil=True)
def squares_of(inputs, i):
    """The squared lengths of the inputs for output i."""
    return inputs.squares[i if len(inputs.squares) > 1 else 0]


@njit(cache=True, nogil=True)
def log_prior_of(inputs, known, i, out):
    """ln p_j for output i, with the share of its own inputs."""
    out[:] = inputs.log_share[inputs.fold[i]]
    own, mass = known.own[i], known.own_share[inputs.fold[i]]
    n_own = (own >= 0).sum()
    if n_own and mass > 0.0:
        out += np.log(1.0 - mass)
        for j in own[:n_own]:
            out[j] = np.log(np.exp(out[j]) + mass / n_own)


@njit(cache=True, nogil=True)
def _candidates(inputs, known, chosen, i):
    """Those of output i; ``chosen`` has −1 behind the last."""
    if len(inputs.whole):
        index, rows = np.arange(len(inputs.XT)), inputs.whole
    else:
        index = chosen[i][chosen[i] >= 0].astype(np.int64)
        rows = np.empty((len(index), inputs.XT.shape[1]))
        for b in range(len(index)):
            rows[b] = inputs.XT[index[b]]
    every = np.empty(len(inputs.XT))
    log_prior_of(inputs, known, i, every)
    return _Candidates(rows, index, squares_of(inputs, i)[index], every[index])


@njit(cache=True, nogil=True)
def _left_by_network(inputs, rows, omega, i):
    """h_i = Σ_k (ω_ik/ω_ii) e_k; what output i lacks becomes what makes h_i zero there."""
    h = np.zeros(rows.shape[1])
    for k in range(len(rows)):
        if omega[i, k] != 0.0:
            weight = omega[i, k] / omega[i, i]
            for a in range(len(h)):
                h[a] += weight * rows[k, a]
    if len(inputs.apart.first):
        with_all = h.copy()
        project(inputs.apart, i, h)
        rows[i] += h - with_all
    return h


@njit(cache=True, nogil=True)
def add_fit(inputs, effects, i, e, sign, r):
    """r ± the fit of an effect, in place; zero if it is pruned."""
    if effects.size[i, e] > 0.0:
        apart = len(inputs.apart.first) > 0
        fit = np.zeros(len(r)) if apart else r
        for b in range(effects.inputs.shape[2]):
            weight = sign * effects.pip[i, e, b] * effects.mean[i, e, b]
            if weight != 0.0:
                x = inputs.XT[effects.inputs[i, e, b]]
                for a in range(len(r)):
                    fit[a] += weight * x[a]
        if apart:
            project(inputs.apart, i, fit)
            r += fit


@njit(cache=True, nogil=True)
def _factor_tables(candidates, sizes, v):
    """For every size and candidate, κ/(1 + κ)/(2sv) and ln p − ½ln(1 + κ): ln pBF = first · q² + second."""
    squares, log_prior = candidates.squares, candidates.log_prior
    slope, constant = np.zeros((len(sizes), len(squares))), np.full((len(sizes), len(squares)), -np.inf)
    for g in range(len(sizes)):
        for j in range(len(squares)):
            if squares[j] > 0.0:
                kappa = sizes[g] * squares[j] / v
                slope[g, j] = 0.5 * kappa / ((1.0 + kappa) * squares[j] * v)
                constant[g, j] = log_prior[j] - 0.5 * np.log1p(kappa)
    return slope, constant


@njit(cache=True, nogil=True, fastmath=_FAST)
def worths(q, squares, v, out):
    """½q²/(sv), −∞ where an input is not usable."""
    for j in range(len(out)):
        out[j] = 0.5 * q[j] * q[j] / (max(squares[j], 1e-300) * v) if squares[j] > 0.0 else -np.inf


@njit(cache=True, nogil=True)
def hopeless_by_bounds(worth, log_prior, squares, ratios, log_odds):
    """Whether bounds of the Bayes factors, without a logarithm for every input, leave a new effect no hope.

    ``ratios`` are σ²/v. κ lies between those of the shortest and the longest usable input, which usually are about
    the same length.
    """
    longest, shortest = 0.0, np.inf
    for square in squares:
        if square > 0.0:
            longest, shortest = max(longest, square), min(shortest, square)
    for ratio in ratios:
        most, least = ratio * longest, ratio * shortest
        if longest == 0.0:
            continue
        upper, lower = most / (1.0 + most), least / (1.0 + least)
        constant, difference = -0.5 * np.log1p(least), 0.5 * (np.log1p(most) - np.log1p(least))
        top = _highest(upper, worth, log_prior)
        if top + constant + np.log(len(worth)) <= -log_odds:
            continue
        # No input counts whose upper bound is too far below the highest of the lower bounds.
        threshold = _highest(lower, worth, log_prior) - difference - np.log(_CLUSTER)
        if top + constant + np.log(_above(upper, worth, log_prior, threshold)) > -log_odds:
            return False
    return True


@njit(cache=True, nogil=True, fastmath=_FAST)
def _highest(shrink, worth, log_prior):
    top = -np.inf
    for j in range(len(worth)):
        top = max(top, shrink * worth[j] + log_prior[j])
    return top


@njit(cache=True, nogil=True, fastmath=_FAST)
def _above(shrink, worth, log_prior, threshold):
    count = 0
    for j in range(len(worth)):
        count += shrink * worth[j] + log_prior[j] >= threshold
    return count


@njit(cache=True, nogil=True)
def _exp(values, top, bits, out):
    """e^(x − top) of every value at most ``top``; ``bits`` is room for as many whole numbers.

    With r = x − k ln 2, |r| ≤ ½ ln 2, twelve terms of the Taylor series of e^r are exact to rounding. Written without
    branches and calls, for vector instructions, it takes a fraction of the time of as many calls of exp.
    """
    shifted = bits.view(np.float64)
    for j in range(len(values)):
        shifted[j] = max(values[j] - top, -700.0) * 1.4426950408889634 + _ROUNDING
    for j in range(len(values)):
        k = shifted[j] - _ROUNDING
        r = max(values[j] - top, -700.0) - k * _LN2_HIGH - k * _LN2_LOW
        series = _T8 + r * (_T9 + r * (_T10 + r * (_T11 + r * _T12)))
        series = _T4 + r * (_T5 + r * (_T6 + r * (_T7 + r * series)))
        out[j] = 1.0 + r * (1.0 + r * (0.5 + r * (_T3 + r * series)))
    for j in range(len(values)):
        bits[j] = (bits[j] + 1023) << 52
    for j in range(len(values)):
        out[j] *= shifted[j]


@njit(cache=True, nogil=True, fastmath=_FAST)
def _sum(values):
    total = 0.0
    for value in values:
        total += value
    return total


@njit(cache=True, nogil=True, fastmath=_FAST)
def _factors(slope, constant, squared, out):
    """ln p_jBF_j at one size, in place, and the largest."""
    top = -np.inf
    for j in range(len(squared)):
        out[j] = slope[j] * squared[j] + constant[j]
        top = max(top, out[j])
    return top


@njit(cache=True, nogil=True, fastmath=_FAST)
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


@njit(cache=True, nogil=True)
def largest(values, kept, least):
    """Positions of the largest values, in falling order: at most ``kept``, none below ``least``."""
    if kept < len(values):
        least = max(least, np.partition(values, len(values) - kept)[len(values) - kept])
    near = np.flatnonzero(values >= least)
    return near[np.argsort(-values[near])[:kept]]


@njit(cache=True, nogil=True)
def _update(inputs, candidates, effects, i, e, r, v, tables, log_odds, sizes):
    """The posterior of an effect given r, which the others leave; r becomes what all leave."""
    squares, kept = candidates.squares, effects.inputs.shape[2]
    slope, constant = tables
    q = candidates.rows @ r
    squared = q * q
    was_on, highest, chosen = effects.size[i, e] > 0.0, -log_odds, 0.0
    if not was_on and _hopeless(slope, constant, squared, log_odds):
        return
    factors, best = np.empty(len(q)), squared
    weights, bits = np.empty(len(q)), np.empty(len(q), dtype=np.int64)
    for g in range(len(sizes)):
        top = _factors(slope[g], constant[g], squared, factors)
        if top + np.log(len(q)) <= highest:
            continue
        _exp(factors, top, bits, weights)
        value = top + np.log(_sum(weights))
        if value > highest:
            highest, chosen, best = value, sizes[g], factors.copy()
    effects.size[i, e] = 0.0
    if chosen == 0.0:
        return
    top = best.max()
    if not was_on:
        _exp(best, top, bits, weights)
        if top + np.log(weights[weights * _CLUSTER >= 1.0].sum()) <= -log_odds:
            return
    order = largest(best, kept, top - _NEGLIGIBLE)
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
        effects.inputs[i, e, b] = candidates.number[j]
        kappa = chosen * squares[j] / v
        shrink = kappa / (1.0 + kappa)
        mean[b] = shrink * q[j] / squares[j]
        variance[b] = shrink * v / squares[j]
        gained += pip[b] * (mean[b] * q[j] - 0.5 * (mean[b] ** 2 + variance[b]) * squares[j])
    effects.divergence[i, e] = gained / v - (top + np.log(total)) - log_odds
    add_fit(inputs, effects, i, e, -1.0, r)


@njit(cache=True, nogil=True)
def sweep(inputs, known, chosen, rows, omega, visited, effects, sizes, tol, passes, again, changed):
    """One sweep over the outputs ``visited``, with so many passes at most.

    Marks in ``again`` those that have not settled, with their neighbours, and in ``changed`` those that moved at all.
    """
    m = len(rows)
    for i in visited:
        v = 1.0 / omega[i, i]
        candidates = _candidates(inputs, known, chosen, i)
        h = _left_by_network(inputs, rows, omega, i)
        if not (effects.size[i] > 0.0).any():
            worth = np.empty(len(candidates.number))
            worths(candidates.rows @ h, candidates.squares, v, worth)
            if hopeless_by_bounds(worth, candidates.log_prior, candidates.squares, sizes[i] / v, known.log_odds[0]):
                continue
        tables = _factor_tables(candidates, sizes[i], v)
        moved = 0.0
        for _ in range(passes):
            moved = 0.0
            for e in range(effects.size.shape[1]):
                was_on = effects.size[i, e] > 0.0
                r = h.copy()
                add_fit(inputs, effects, i, e, 1.0, r)
                _update(inputs, candidates, effects, i, e, r, v, tables, known.log_odds[e], sizes[i])
                if was_on or effects.size[i, e] > 0.0:
                    moved = max(moved, ((r - h) ** 2).sum() / v)
                    rows[i] += r - h
                    h = r
                elif not (effects.size[i, e + 1 :] > 0.0).any():
                    break  # neither this effect nor a later one is there
            if moved > tol * tol:
                changed[i] = True
            else:
                break
        if moved > tol * tol:
            again[i] = True
            for k in range(m):
                if k != i and omega[i, k] != 0.0 and (omega[i, k] / omega[k, k]) ** 2 * moved > tol * tol:
                    again[k] = True


@njit(cache=True, nogil=True)
def _worth(inputs, effects, i, both, r, v):
    """What effects add to −J/2, up to a constant; r is what they leave."""
    value, squares = -0.5 * (r @ r) / v, squares_of(inputs, i)
    for e in both:
        if effects.size[i, e] <= 0.0:
            continue
        fit, second = np.zeros(len(r)), 0.0
        add_fit(inputs, effects, i, e, 1.0, fit)
        for b in range(effects.inputs.shape[2]):
            square = effects.mean[i, e, b] ** 2 + effects.variance[i, e, b]
            second += effects.pip[i, e, b] * square * squares[effects.inputs[i, e, b]]
        value -= 0.5 * (second - fit @ fit) / v + effects.divergence[i, e]
    return value


@njit(cache=True, nogil=True)
def _best_pair(apart, i, candidates, r, v, size):
    """The two candidates that explain r best together, of those that do so best alone, and ln p_jp_kBF_jk."""
    q, usable, log_prior = candidates.rows @ r, candidates.squares > 0.0, candidates.log_prior
    alone = np.where(usable, q * q / np.where(usable, candidates.squares, 1.0), 0.0) / v + 2.0 * log_prior
    order = largest(alone, _PAIRED, -np.inf)
    X = np.empty((len(order), len(r)))
    for a in range(len(order)):
        X[a] = candidates.rows[order[a]]
        project(apart, i, X[a])
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


@njit(cache=True, nogil=True)
def split(inputs, known, chosen, rows, omega, visited, effects, sizes, changed):
    """Tries two effects for every one that is there, and keeps them where J falls; marks the outputs that changed.

    An input that goes with two that drive an output may explain it better than either of them: effects that are
    taken one by one never find the two.
    """
    m = len(rows)
    for i in visited:
        on = np.flatnonzero(effects.size[i] > 0.0)
        if len(on) == 0 or len(on) == effects.size.shape[1]:
            continue
        v = 1.0 / omega[i, i]
        candidates = _candidates(inputs, known, chosen, i)
        h = _left_by_network(inputs, rows, omega, i)
        tables = _factor_tables(candidates, sizes[i], v)
        for e in on:
            free = np.flatnonzero(effects.size[i] == 0.0)
            if effects.size[i, e] == 0.0 or len(free) == 0:
                continue
            f = free[0]
            both = np.array([e, f])
            r = h.copy()
            add_fit(inputs, effects, i, e, 1.0, r)
            pair, first, second = _best_pair(inputs.apart, i, candidates, r, v, effects.size[i, e])
            before = _worth(inputs, effects, i, both, h, v)
            least = before + 0.5 * (r @ r) / v - _AVERAGED
            if pair + known.log_odds[e] + known.log_odds[f] <= least:
                continue
            size, index, pip = effects.size[i, e], effects.inputs[i, e].copy(), effects.pip[i, e].copy()
            mean, variance = effects.mean[i, e].copy(), effects.variance[i, e].copy()
            divergence = effects.divergence[i, e]
            # One effect starts at an input of the pair, the other one from what that leaves.
            effects.inputs[i, e, 0] = candidates.number[second]
            effects.pip[i, e, :] = 0.0
            effects.pip[i, e, 0] = 1.0
            x, y = candidates.rows[first].copy(), candidates.rows[second].copy()
            project(inputs.apart, i, x)
            project(inputs.apart, i, y)
            det = (x @ x) * (y @ y) - (x @ y) ** 2
            effects.mean[i, e, 0] = ((y @ r) * (x @ x) - (x @ r) * (x @ y)) / det if det > 0.0 else 0.0
            add_fit(inputs, effects, i, e, -1.0, r)
            effects.size[i, f] = size
            effects.pip[i, f, :] = 0.0
            for _ in range(_PAIR_STEPS):
                for g in (f, e):
                    add_fit(inputs, effects, i, g, 1.0, r)
                    _update(inputs, candidates, effects, i, g, r, v, tables, known.log_odds[g], sizes[i])
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
