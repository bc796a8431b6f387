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

Where outputs are missing, e has their expectations, so that h_i is zero where y_i is missing: entry (i, j) is tested by
the samples that have y_i, with F, the mean and x_j of these samples.

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
from nard.algorithms.missing import Filled, observed_covariance
from nard.covariance import Gaps, inverse_spd
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
    filled: Filled, rest: Data, omega: np.ndarray, entries: Entries, prior: Prior, k: int, left: float
) -> tuple[InputTest, EntryTest]:
    """Tests of inputs and entries.

    ``filled`` has X and Y as they are; ``rest`` are X and Y − XB̄ in the complement of the k hidden inputs, which
    leave the share ``left`` of the degrees there.
    """
    data, gaps = filled.data, filled.data.gaps
    d, m = data.X.shape[1], data.Y.shape[1]
    degrees = np.maximum(filled.counts - 1.0 - k - entries.used, 1.0)
    neighbours = np.count_nonzero(omega, axis=0) - 1
    wider = np.sqrt(degrees / np.maximum(degrees - neighbours, 1.0))
    E = data.Y - fitted_by(data.X, entries.coef())
    parted = np.array_split(np.arange(m), min(m, _GROUPS) if k else 1)

    def group(outputs):
        others = None if gaps is None or k == 0 else gaps.of_outputs(np.setdiff1d(np.arange(m), outputs))
        F = hidden_inputs(np.delete(E, outputs, axis=1), k, others)
        return _Group.of(outputs, E, omega, degrees, F, data.variance_floor, gaps)

    groups = [group(outputs) for outputs in parted]
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
    return _input_test(filled, rest, omega, entries, test, left), test


@dataclass(frozen=True)
class _Group:
    """Some outputs: F of the others, h in its complement, and the variance of that.

    Where some are missing, ``measured`` are their samples (N × outputs, zeros and ones), and ``bases`` orthonormal ones
    of the mean and F over the samples of each (outputs × N × k + 1, zero in the others).
    """

    outputs: np.ndarray
    hidden: np.ndarray
    H: np.ndarray
    noise: np.ndarray
    measured: np.ndarray | None = None
    bases: np.ndarray | None = None

    @classmethod
    def of(cls, outputs, E, omega, degrees, F, floor, gaps: Gaps | None) -> _Group:
        H = E @ (omega[:, outputs] / np.diag(omega)[outputs])
        measured = bases = None
        if gaps is None:
            H = H - F @ (F.T @ H)
        else:
            measured = (~gaps.missing[:, outputs]).astype(float)
            shared = np.column_stack([np.ones(len(F)), F])
            bases = np.stack([np.linalg.qr(shared * rows[:, None])[0] * rows[:, None] for rows in measured.T])
            H = H * measured
            H -= np.einsum("ink,ik->ni", bases, np.einsum("ink,ni->ik", bases, H))
        noise = np.maximum(np.einsum("ij,ij->j", H, H) / degrees[outputs], floor[outputs])
        return cls(outputs, F, H, noise, measured, bases)

    def scores(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """x_jᵀh_i, and the squared length of what F leaves of x_j, as inputs × outputs."""
        if self.measured is None or self.bases is None:
            X = X - self.hidden @ (self.hidden.T @ X)
            squares = np.einsum("ij,ij->j", X, X)
            return X.T @ self.H, np.broadcast_to(squares[:, None], (X.shape[1], len(self.outputs)))
        squares = (X**2).T @ self.measured
        for i, basis in enumerate(self.bases):
            squares[:, i] -= ((basis.T @ X) ** 2).sum(axis=0)
        return X.T @ self.H, squares

    def product(self, at: int, x: np.ndarray, fit: np.ndarray) -> float:
        """xᵀ of the group's output number ``at`` with a fit, in the complement of F, which has no part in the fit."""
        if self.measured is None or self.bases is None:
            return float((x - self.hidden @ (self.hidden.T @ x)) @ fit)
        basis = self.bases[at]
        return float((x * self.measured[:, at] - basis @ (basis.T @ x)) @ fit)


def _scores(X, groups, wider, entries, leads):
    """(where, weight, sd) of some inputs at a time; ``wider`` enlarges the leads' sd."""
    longest = np.einsum("ij,ij->j", X, X).max(initial=0.0)
    by_target: dict[int, list] = {}
    for lead, at in leads:
        by_target.setdefault(lead.target, []).append((lead.feature, at))
    for where in chunks(X.shape[1]):
        weight, sd = (np.empty((where.stop - where.start, len(wider))) for _ in range(2))
        for group in groups:
            outputs = group.outputs
            products, squares = group.scores(X[:, where])
            usable = squares > 1e-12 * longest
            safe = np.where(usable, squares, 1.0)
            weight[:, outputs] = np.where(usable, products / safe, 0.0)
            sd[:, outputs] = np.where(usable, np.sqrt(group.noise / safe), np.inf)
            for column, i in enumerate(outputs):
                for feature, at in by_target.get(i, ()):
                    j = feature - where.start
                    if where.start <= feature < where.stop and usable[j, column]:
                        index, mean = entries.effect(i, at)
                        fit = X[:, index] @ mean
                        weight[j, i] += group.product(column, X[:, feature], fit) / safe[j, column]
                        sd[j, i] *= wider[i]
        yield where, weight, sd


def _input_test(
    filled: Filled, rest: Data, omega: np.ndarray, entries: Entries, test: EntryTest, left: float
) -> InputTest:
    """Whether an input drives any output: by all outputs together, or by its surest entry, whichever is clearer.

    With w_j = b̄_j + x_jᵀE/s_j, s_jw_jᵀΩw_j is compared with m·F(m, mν); the smallest of its m entries' p-values counts
    m-fold, and the smaller of the two p-values counts twice. Where outputs are missing, the covariance T of E with its
    expectations takes V's place, and TΩ of an effect is in what they have of it.
    """
    (n, d), m = rest.X.shape, rest.Y.shape[1]
    squares = np.einsum("ij,ij->j", rest.X, rest.X)
    samples = filled.counts - float(len(filled.data.Y) - n)
    nu = float(np.mean(np.maximum((samples - 1.0) * left - entries.used, 1.0)))
    # V of the samples has ν of its n degrees of freedom left.
    precision, known = omega, None
    if filled.spread is not None:
        covariance = observed_covariance(filled, omega)
        precision, known = inverse_spd(covariance), omega @ covariance
    scaled = precision * (nu / float(np.mean(samples)))
    coef = entries.coef()
    statistic, surest = np.zeros(d), np.ones(d)
    for where in chunks(d):
        safe = np.where(squares[where] > 0, squares[where], 1.0)
        effects = coef[where].toarray() if known is None else coef[where] @ known
        w = effects + (rest.X[:, where].T @ rest.Y) / safe[:, None]
        statistic[where] = squares[where] * np.einsum("ij,ij->i", w @ scaled, w)
        surest[where] = test.pvalues(where).min(axis=1)
    together = fisher.sf(statistic / m, m, m * nu)
    return InputTest(statistic, np.minimum(2.0 * np.minimum(together, m * surest), 1.0))
