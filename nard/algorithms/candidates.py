"""The inputs among which an output's effects are looked for, where there are too many to take all of them every time.

With r what an output's effects leave, or all of them but one, input j is worth about

    ½ q_j²/(s_jv) + ln p_j,    q_j = x_jᵀr,

to an effect. These are worked out for many outputs at once, as a product of two matrices, and the inputs of the largest
ones are the candidates; an output without effects of which none can be worth it is not looked at any more. As effects
move, other inputs may come to be worth more: an output whose best input is no candidate is visited again, so that the
restriction to candidates is one of the path and of what is averaged over, not of what can be found.
"""

from __future__ import annotations

import numpy as np

from nard.algorithms.effects import (
    Effects,
    Inputs,
    Known,
    add_fit,
    hopeless_by_bounds,
    largest,
    log_prior_of,
    project,
    squares_of,
    worths,
)
from nard.compiled import each, njit

__all__ = ["ALL_CANDIDATES", "MOST_CANDIDATES", "choose"]

# Up to so many inputs all of them are candidates, else so many of them.
ALL_CANDIDATES = 512
MOST_CANDIDATES = 256
# Products of so many numbers are looked at together.
_AT_ONCE = 2**24


def choose(inputs: Inputs, known: Known, left, variances, sizes, outputs, effects: Effects, chosen: np.ndarray):
    """Writes the candidates of some outputs; returns which of these may have effects, and which have new candidates.

    ``left`` (a row for every one of ``outputs``) is what all effects of an output leave of it, and ``variances`` its
    noise v. ``chosen`` (m × most candidates) has −1 behind the last of an output.
    """
    live, new = np.zeros(len(outputs), dtype=np.bool_), np.zeros(len(outputs), dtype=np.bool_)
    counts = 1 + np.count_nonzero(effects.size[outputs] > 0.0, axis=1)
    ends = np.cumsum(counts)
    most = max(_AT_ONCE // len(inputs.XT), 1)
    cuts = np.searchsorted(ends, np.arange(most, ends.max(initial=0) + most, most), side="right")
    parts = [part for part in np.split(np.arange(len(outputs)), np.unique(cuts)) if len(part)]

    def look(part):
        columns, starts = np.empty((counts[part].sum(), left.shape[1])), np.cumsum(counts[part]) - counts[part]
        _columns(inputs, effects, outputs[part], left[part], starts, columns)
        products = columns.astype(inputs.XT.dtype, copy=False) @ inputs.XT.T
        _choose(
            inputs, known, products, starts, variances[part], sizes, outputs[part], effects, chosen, live, new, part
        )

    each(look, parts)
    return live, new


@njit(cache=True, nogil=True)
def _columns(inputs, effects, outputs, left, starts, columns):
    """For every output what all effects leave, then what all but one leave."""
    for a in range(len(outputs)):
        i, at = outputs[a], starts[a]
        columns[at] = left[a]
        project(inputs.apart, i, columns[at])
        with_none = columns[at].copy()
        for e in range(effects.size.shape[1]):
            if effects.size[i, e] > 0.0:
                at += 1
                columns[at] = with_none
                add_fit(inputs, effects, i, e, 1.0, columns[at])


@njit(cache=True, nogil=True)
def _choose(inputs, known, products, starts, variances, sizes, outputs, effects, chosen, live, new, places):
    d, most = products.shape[1], chosen.shape[1]
    best, worth, log_prior = np.empty(d), np.empty(d), np.empty(d)
    listed = np.zeros(d, dtype=np.bool_)
    for a in range(len(outputs)):
        i, v, at = outputs[a], variances[a], starts[a]
        n_on = (effects.size[i] > 0.0).sum()
        log_prior_of(inputs, known, i, log_prior)
        squares = squares_of(inputs, i)
        worths(products[at], squares, v, worth)
        hopeful = n_on < len(known.log_odds) and not hopeless_by_bounds(
            worth, log_prior, squares, sizes[i] / v, known.log_odds[n_on]
        )
        if not hopeful and n_on == 0:
            continue
        live[places[a]] = True
        before = chosen[i]
        for j in before[before >= 0]:
            listed[j] = True
        best[:] = -np.inf
        for column in range(n_on + 1):
            if column:
                worths(products[at + column], squares, v, worth)
            worth += log_prior
            j = worth.argmax()
            if not listed[j] and (column or hopeful):
                new[places[a]] = True
            best = np.maximum(best, worth)
        listed[before[before >= 0]] = False
        order = largest(best, most, -np.inf)
        chosen[i, : len(order)] = order
        chosen[i, len(order) :] = -1
