"""Tests of the entries of W, and of the inputs, under the entry-wise model that was fitted.

With B̄ and the hidden inputs out of Y, an entry of output i is tested in h_i = Σ_k (ω_ik/ω_ii) e_k, what the
network leaves of its residual:

    q_ij = x_jᵀh_i,   s_j = x_jᵀx_j,   z_ij = q_ij / sqrt(v_i s_j) ~ t,   v_i = h_iᵀh_i/ν_i,

ν_i the degrees of freedom that effects and hidden inputs leave. The input that leads an effect of output i is
tested in h_i + Xb̄_il, as if that effect were not there. v_i is measured in the samples, not taken from Ω: given
h_i, a column of X that has nothing to do with the outputs then has its distribution whatever network was fitted. Not so
an input that leads an effect: the network was fitted to what the effect leaves, and takes one degree of freedom from
v_i for every neighbour of the output.
Where many weak effects that were not found widen the z of all entries, all are divided by what their quartiles say
(genomic control).

Inputs differ in how many outputs they drive: entries are weighted by the prior that the fit has learnt for them from
the other outputs (:func:`nard.algorithms.entries.learnt_prior`), so that no p-value sees its own: p/weight goes
through Benjamini and Hochberg, with weights of mean one over the inputs. Inputs that belong to an output are a family
of their own, without weights.

An effect may be there, and still not be the named input's. A name is good enough if it is more probable than not. Of
all inputs that lead effects, sorted by their probability π, the mean of 1 − π over the first ones is the share of wrong
names expected among them; where π < ½ a q-value is no smaller than that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import f as fisher

from nard.algorithms.entries import Entries, Prior
from nard.algorithms.evidence import Problem
from nard.selection.significance import EntryTest, InputTest, chunks, collect

__all__ = ["Lead", "associations_under_entries"]

_COVERED = 0.95
# Of so many z the quartiles are known well enough.
_ENOUGH = 10**7
_QUARTILES = 1.3489795  # distance of a standard normal distribution's


@dataclass(frozen=True)
class Lead:
    """The input that leads an effect: its probability, and the inputs that could take its place."""

    feature: int
    target: int
    probability: float
    stand_ins: np.ndarray


def leads_of(entries: Entries) -> list[tuple[Lead, int]]:
    """One for every input that leads an effect of an output, and which effect that is."""
    found: dict[tuple[int, int], tuple[Lead, int]] = {}
    for i, at in zip(*np.nonzero(entries.on), strict=True):
        j, pip = entries.index[i, at], entries.pip[i, at]
        key = (int(j[0]), int(i))
        if key not in found or found[key][0].probability < pip[0]:
            count = int(np.searchsorted(np.cumsum(pip), _COVERED)) + 1
            found[key] = Lead(*key, float(pip[0]), j[1:count].copy()), int(at)
    return list(found.values())


def associations_under_entries(
    problem: Problem, omega: np.ndarray, entries: Entries, prior: Prior, left: float
) -> tuple[InputTest, EntryTest]:
    """Tests of inputs and entries.

    ``problem`` has Y − XB̄ for its outputs; ``left`` is the share of the degrees that hidden inputs leave.
    """
    X, E, n, m = problem.X, problem.Y, problem.n, problem.m
    degrees = np.maximum((n - 1.0) * left - entries.used, 1.0)
    H = E @ (omega / np.diag(omega))
    noise = np.maximum(np.einsum("ij,ij->j", H, H) / degrees, problem.data.variance_floor)
    squares = np.einsum("ij,ij->j", X, X)
    leads = leads_of(entries)
    neighbours = np.count_nonzero(omega, axis=0) - 1
    wider = np.sqrt(degrees / np.maximum(degrees - neighbours, 1.0))
    test = collect(_scores(X, H, squares, noise, wider, entries, leads), (problem.d, m), degrees)
    some = slice(None, None, max(1, problem.d * m // _ENOUGH))
    sample = test.weight[some] / test.sd[some]
    low, high = np.percentile(sample, [25, 75])
    test.sd[:] *= max(1.0, (high - low) / _QUARTILES)
    test = replace(
        test,
        leads=tuple(lead for lead, _ in leads),
        prior=prior.share.T * problem.d,
        fold=prior.fold,
        own=prior.own,
    )
    return _input_test(problem, omega, entries, test), test


def _scores(X, H, squares, noise, wider, entries, leads):
    """(where, weight, sd) of some inputs at a time; ``wider`` enlarges the leads' sd."""
    longest = squares.max(initial=0.0)
    usable = squares > 1e-12 * longest
    by_chunk: dict[int, list] = {}
    size = chunks(X.shape[1])[0].stop if X.shape[1] else 1
    for lead, at in leads:
        by_chunk.setdefault(lead.feature // size, []).append((lead, at))
    for where in chunks(X.shape[1]):
        safe = np.where(usable[where], squares[where], 1.0)
        weight, sd = (X[:, where].T @ H) / safe[:, None], np.sqrt(noise / safe[:, None])
        for lead, at in by_chunk.get(where.start // size, ()):
            index, mean = entries.effect(lead.target, at)
            x, at = X[:, lead.feature], (lead.feature - where.start, lead.target)
            weight[at] += x @ (X[:, index] @ mean) / squares[lead.feature]
            sd[at] *= wider[lead.target]
        weight[~usable[where]] = 0.0
        sd[~usable[where]] = np.inf
        yield where, weight, sd


def _input_test(problem: Problem, omega: np.ndarray, entries: Entries, test: EntryTest) -> InputTest:
    """Whether an input drives any output: by all outputs together, or by its surest entry, whichever is clearer.

    With w_j = b̄_j + x_jᵀE/s_j, s_jw_jᵀΩw_j is compared with m·F(m, mν); the smallest of its m entries' p-values counts
    m-fold, and the smaller of the two p-values counts twice.
    """
    m, squares = problem.m, np.einsum("ij,ij->j", problem.X, problem.X)
    nu = float(np.mean(test.degrees))
    # V of the samples has ν of its n degrees of freedom left.
    scaled = omega * (nu / problem.n)
    coef = entries.coef()
    statistic, surest = np.zeros(problem.d), np.ones(problem.d)
    for where in chunks(problem.d):
        safe = np.where(squares[where] > 0, squares[where], 1.0)
        w = coef[where] + (problem.X[:, where].T @ problem.Y) / safe[:, None]
        statistic[where] = squares[where] * np.einsum("ij,ij->i", w @ scaled, w)
        surest[where] = test.pvalues(where).min(axis=1)
    together = fisher.sf(statistic / m, m, m * nu)
    return InputTest(statistic, np.minimum(2.0 * np.minimum(together, m * surest), 1.0))
