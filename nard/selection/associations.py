"""Tests of the entries of W, and of the inputs, under the entry-wise model that was fitted.

With B̄ and the hidden inputs out of Y, an entry of output i is tested in h_i = Σ_k (ω_ik/ω_ii) e_k, what the
network leaves of its residual:

    q_ij = x_jᵀh_i,   s_j = x_jᵀx_j,   z_ij = q_ij / sqrt(v_i s_j) ~ t,   v_i = h_iᵀh_i/ν_i,

ν_i the degrees of freedom that effects and hidden inputs leave. The input that leads an effect of output i is
tested in h_i + Xb̄_il, as if that effect were not there. v_i is measured in the samples, not taken from Ω: given
h_i, a column of X that has nothing to do with the outputs then has its distribution whatever network was fitted. Not so
an input that leads an effect: the network was fitted to what the effect leaves, and takes one degree of freedom from
v_i for every neighbour of the output.

Nor may an output's own residual have a part in the hidden inputs that are projected out of it: they were estimated from
what its effects leave, so that they explain what chance put into h_i and nothing of what it put into the effects, whose
tests would be too optimistic. F is therefore estimated again for every group of outputs, from the residuals of all
others.

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

from nard.algorithms.coefficients import fitted_by
from nard.algorithms.entries import Entries, Prior
from nard.algorithms.evidence import Data
from nard.algorithms.hidden import hidden_inputs
from nard.selection.significance import EntryTest, InputTest, chunks, collect

__all__ = ["Lead", "associations_under_entries"]

_COVERED = 0.95
# Groups of outputs for which hidden inputs are estimated anew.
_GROUPS = 25
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
    data: Data, rest: Data, omega: np.ndarray, entries: Entries, prior: Prior, k: int, left: float
) -> tuple[InputTest, EntryTest]:
    """Tests of inputs and entries.

    ``data`` are X and Y as they are; ``rest`` are X and Y − XB̄ in the complement of the k hidden inputs, which
    leave the share ``left`` of the degrees there.
    """
    (n, d), m = data.X.shape, data.Y.shape[1]
    degrees = np.maximum(n - 1.0 - k - entries.used, 1.0)
    neighbours = np.count_nonzero(omega, axis=0) - 1
    wider = np.sqrt(degrees / np.maximum(degrees - neighbours, 1.0))
    E = data.Y - fitted_by(data.X, entries.coef())
    parted = np.array_split(np.arange(m), min(m, _GROUPS) if k else 1)
    groups = [
        _Group.of(outputs, E, omega, degrees, hidden_inputs(np.delete(E, outputs, axis=1), k), data.variance_floor)
        for outputs in parted
    ]
    leads = leads_of(entries)
    test = collect(_scores(data.X, groups, wider, entries, leads), (d, m), degrees)
    some = slice(None, None, max(1, d * m // _ENOUGH))
    sample = test.weight[some] / test.sd[some]
    low, high = np.percentile(sample, [25, 75])
    test.sd[:] *= max(1.0, (high - low) / _QUARTILES)
    test = replace(
        test,
        leads=tuple(lead for lead, _ in leads),
        prior=prior.share.T * d,
        fold=prior.fold,
        own=prior.own,
    )
    return _input_test(rest, omega, entries, test, left), test


@dataclass(frozen=True)
class _Group:
    """Some outputs: F of the others, h in its complement, and the variance of that."""

    outputs: np.ndarray
    hidden: np.ndarray
    H: np.ndarray
    noise: np.ndarray

    @classmethod
    def of(cls, outputs, E, omega, degrees, F, floor) -> _Group:
        H = E @ (omega[:, outputs] / np.diag(omega)[outputs])
        H = H - F @ (F.T @ H)
        noise = np.maximum(np.einsum("ij,ij->j", H, H) / degrees[outputs], floor[outputs])
        return cls(outputs, F, H, noise)


def _scores(X, groups, wider, entries, leads):
    """(where, weight, sd) of some inputs at a time; ``wider`` enlarges the leads' sd."""
    longest = np.einsum("ij,ij->j", X, X).max(initial=0.0)
    by_target: dict[int, list] = {}
    for lead, at in leads:
        by_target.setdefault(lead.target, []).append((lead.feature, at))
    for where in chunks(X.shape[1]):
        weight, sd = (np.empty((where.stop - where.start, len(wider))) for _ in range(2))
        for group in groups:
            F, outputs = group.hidden, group.outputs
            some = X[:, where] - F @ (F.T @ X[:, where])
            squares = np.einsum("ij,ij->j", some, some)
            usable = squares > 1e-12 * longest
            safe = np.where(usable, squares, 1.0)
            weight[:, outputs] = (some.T @ group.H) / safe[:, None]
            sd[:, outputs] = np.sqrt(group.noise / safe[:, None])
            for i in outputs:
                for feature, at in by_target.get(i, ()):
                    if where.start <= feature < where.stop:
                        index, mean = entries.effect(i, at)
                        j = feature - where.start
                        # x_j is orthogonal to F already.
                        weight[j, i] += some[:, j] @ (X[:, index] @ mean) / safe[j]
                        sd[j, i] *= wider[i]
            weight[np.ix_(~usable, outputs)] = 0.0
            sd[np.ix_(~usable, outputs)] = np.inf
        yield where, weight, sd


def _input_test(rest: Data, omega: np.ndarray, entries: Entries, test: EntryTest, left: float) -> InputTest:
    """Whether an input drives any output: by all outputs together, or by its surest entry, whichever is clearer.

    With w_j = b̄_j + x_jᵀE/s_j, s_jw_jᵀΩw_j is compared with m·F(m, mν); the smallest of its m entries' p-values counts
    m-fold, and the smaller of the two p-values counts twice.
    """
    (n, d), m = rest.X.shape, rest.Y.shape[1]
    squares = np.einsum("ij,ij->j", rest.X, rest.X)
    nu = float(np.mean(np.maximum((n - 1.0) * left - entries.used, 1.0)))
    # V of the samples has ν of its n degrees of freedom left.
    scaled = omega * (nu / n)
    coef = entries.coef()
    statistic, surest = np.zeros(d), np.ones(d)
    for where in chunks(d):
        safe = np.where(squares[where] > 0, squares[where], 1.0)
        w = coef[where].toarray() + (rest.X[:, where].T @ rest.Y) / safe[:, None]
        statistic[where] = squares[where] * np.einsum("ij,ij->i", w @ scaled, w)
        surest[where] = test.pvalues(where).min(axis=1)
    together = fisher.sf(statistic / m, m, m * nu)
    return InputTest(statistic, np.minimum(2.0 * np.minimum(together, m * surest), 1.0))
