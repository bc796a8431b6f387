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

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from nard.algorithms.candidates import ALL_CANDIDATES, MOST_CANDIDATES, choose
from nard.algorithms.effects import Apart, Effects, Inputs, Known, project, sweep
from nard.algorithms.effects import split as try_pairs
from nard.algorithms.evidence import kind_of_many
from nard.algorithms.hidden import complement
from nard.compiled import each
from nard.covariance import Gaps
from nard.progress import SILENT, Watch

__all__ = [
    "MOST_EFFECTS",
    "Entries",
    "OwnSamples",
    "Prior",
    "Whitened",
    "fit_entries",
    "learnt_prior",
    "no_entries",
    "no_own",
]

# Effects per output, places for so many at first, and inputs that an effect keeps.
MOST_EFFECTS = 32
_PLACES = 4
_KEPT = 64
# Standard deviations of an effect, in those of an output per one of an input.
_SIZES = np.array([0.15, 0.3, 0.6, 1.0]) ** 2
# Of an input's length, what the active inputs and hidden inputs must leave of it.
_LEAST_LEFT = 0.02
# Prior odds, as logarithms, of another effect: where nothing is known yet, and how far they are learnt.
_LOG_ODDS = 0.0
_LEARNT_ODDS = (-3.0, 2.5)
# Outputs are folded so that a prior is learnt from others; own inputs get at most this share of it.
_FOLDS = 5
_MOST_OWN = 0.9
_SWEEPS = 50
# Outputs are visited in so many parts, as many at once as there are threads.
_PARTS = 16


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

    def coef(self) -> sparse.csr_array:
        """B̄, d×m."""
        return sparse.csr_array(self._summed(self.pip * self.mean).T)

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
    def used_inputs(self) -> np.ndarray:
        """The inputs that have a part in any effect."""
        return np.unique(self.index[self.on][self.pip[self.on] > 0.0])

    def among(self, inputs: np.ndarray) -> Entries:
        """The same effects where ``inputs``, which hold all that are used, are the only ones."""
        index = np.where(self.pip > 0.0, np.searchsorted(inputs, self.index), 0)
        return replace(self, d=len(inputs), index=index)

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


def squares_where(measured: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The inputs' squared lengths over the samples that every output has, m×d."""
    kind = kind_of_many(measured.shape[1] * X.shape[1])
    return measured.T.astype(kind) @ (X**2).astype(kind)


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
        if d <= ALL_CANDIDATES:
            self.XT = self.XT.astype(float, copy=False)
        self.squares = np.einsum("ij,ij->i", self.XT, self.XT).astype(float, copy=False)[None]
        none = np.zeros(0, dtype=np.int64)
        self.apart = Apart(np.zeros((0, len(X)), dtype=np.bool_), np.zeros((0, len(X))), none, none)

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
            project(self.apart, i, fitted)
            c[i] += second @ self.squares[i if len(self.squares) > 1 else 0, j] - fitted @ fitted
        return np.maximum(c, 0.0)


class OwnSamples(Whitened):
    """As :class:`Whitened` where outputs lack samples, so that each has an A of its own.

    X and E are those of samples. The precision over all of them is LᵀL, L = C^(−½) times the basis of the complement of
    F; the columns of L that belong to samples which output i lacks, and to the mean, are what leaves its rows, since
    its residuals there may be anything. Without C the basis is not needed: samples are masked, and the mean and F over
    the others leave.
    """

    def __init__(self, X: np.ndarray, F: np.ndarray, C: np.ndarray | None, gaps: Gaps):
        n, m = gaps.missing.shape
        self._root, mask = None, ~gaps.missing.T
        if C is not None:
            basis = complement(F)
            self._root = np.linalg.solve(np.linalg.cholesky(C), np.eye(n) if basis is None else basis.T)
            mask = mask[:0]
        self.XT = np.ascontiguousarray((X if self._root is None else self._root @ X).T)
        if C is None:
            self.squares = squares_where(mask.T, X)
        else:
            self.squares = np.tile(np.einsum("ij,ij->i", self.XT, self.XT), (m, 1))
        whole = np.flatnonzero(~gaps.missing.any(axis=0))
        gone, first, last, count = [], np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64), 0
        for outputs, lacking in [*gaps.by_output, (whole, np.zeros(0, dtype=np.int64))]:
            if self._root is None:
                leaves = np.column_stack([np.ones(n), F])
                leaves[lacking] = 0.0
            else:
                leaves = np.column_stack([self._root.sum(axis=1), self._root[:, lacking]])
            rows = np.linalg.qr(leaves)[0].T
            self.squares[outputs] -= ((self.XT @ rows.T) ** 2).sum(axis=1)
            gone.append(rows)
            first[outputs], count = count, count + len(rows)
            last[outputs] = count
        self.apart = Apart(np.ascontiguousarray(mask), np.ascontiguousarray(np.concatenate(gone)), first, last)

    def rows(self, E: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray((E if self._root is None else self._root @ E).T)


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
    of them, for all outputs or for each (m×d), ``variances`` the outputs' variances, to which the sizes of effects
    refer.
    """
    rows = whitened.rows(E)
    usable = whitened.squares > _LEAST_LEFT * np.maximum(lengths, 1e-300)
    found = entries.with_places(0)
    sizes = np.outer(variances, _SIZES)
    XT, d = whitened.XT, len(whitened.XT)
    whole = XT if d <= ALL_CANDIDATES else np.empty((0, rows.shape[1]))
    inputs = Inputs(XT, whitened.apart, whole, np.where(usable, whitened.squares, 0.0), np.log(prior.share), prior.fold)
    known = Known(prior.log_odds, prior.own, prior.own_share)
    chosen = np.full((len(rows), 0 if len(whole) else MOST_CANDIDATES), -1, dtype=np.int32)
    omega = np.ascontiguousarray(omega)
    # Without a network outputs know nothing of each other: each goes on until it has settled, several at a time.
    alone = np.count_nonzero(omega) == len(omega)

    def visit(function, outputs, *arguments):
        parts = np.array_split(outputs, min(len(outputs), _PARTS) or 1) if alone else [outputs]
        each(lambda part: function(inputs, known, chosen, rows, omega, part, _effects(found), sizes, *arguments), parts)

    def renewed(outputs):
        """Chooses their candidates; marks those that may have effects, and those with new candidates."""
        left = rows[outputs] if alone else (omega[outputs] / np.diag(omega)[outputs, None]) @ rows
        noise = 1.0 / np.diag(omega)[outputs]
        live, new = choose(inputs, known, left, noise, sizes, outputs, _effects(found), chosen)
        marked = np.zeros((2, len(rows)), dtype=np.bool_)
        marked[:, outputs] = live, new
        return marked

    everyone = np.arange(len(rows))
    fresh = np.ones(len(rows), dtype=np.bool_)
    if not len(whole):
        fresh, _ = renewed(everyone)
    moved = np.zeros(len(rows), dtype=np.bool_)
    for _ in range(_SWEEPS):
        if watch.stopped:
            break
        watch.tick("entries")
        unsettled, changed = (np.zeros(len(rows), dtype=np.bool_) for _ in range(2))
        visit(sweep, np.flatnonzero(fresh), tol, _SWEEPS if alone else 1, unsettled, changed)
        moved |= changed | unsettled
        full = found.on.all(axis=1)
        if full.any() and found.size.shape[1] < MOST_EFFECTS:
            found, unsettled = found.with_places(2 * found.size.shape[1]), unsettled | full
        # Without candidates of its own an output has nothing to look for effects among.
        fresh = unsettled if len(whole) else unsettled & (chosen >= 0).any(axis=1)
        if not len(whole) and not fresh.any():
            # What has moved may leave other inputs worth more.
            live, new = renewed(np.flatnonzero(moved))
            fresh, moved = live & new, np.zeros(len(rows), dtype=np.bool_)
        if split and not fresh.any():
            split = False
            found = found.with_places(2 * int(np.count_nonzero(found.on, axis=1).max(initial=0)))
            visit(try_pairs, np.flatnonzero(found.on.any(axis=1)), fresh)
            moved |= fresh
        if not fresh.any():
            break
    return found


def _effects(entries: Entries) -> Effects:
    return Effects(entries.size, entries.index, entries.pip, entries.mean, entries.variance, entries.divergence)
