"""Calibrated tests of inputs and of entries of W.

"Finite α" is no finding: the evidence keeps about half of all irrelevant inputs with a tiny weight. What is calibrated
is the leave-one-out score. With C₋ⱼ the model's covariance over samples without input j,

    q_j = YᵀC₋ⱼ⁻¹x_j ~ N(s_j w_j, s_j V),    s_j = x_jᵀC₋ⱼ⁻¹x_j,

so that q_jᵀΩq_j/s_j ~ χ²_m tests the input and z_ij = q_ij/sqrt(V_ii s_j) the single entry, for pruned inputs as well
as active ones. Both are free of the shrinkage of w_j itself, which would make the test conservative.

V is too small by what the active inputs explain by chance. At its optimal α an input lowers Tr(ΩYᵀC⁻¹Y) by t_j − m,
t_j its statistic, of which nothing is expected of an irrelevant one: those parts of the active inputs that are not
selected are added back to V, until the selection is stable. Without that, up to a third of all data sets without any
signal gave a finding where m is small. With ν degrees of freedom per output left for V, χ²_m becomes m·F(m, mν).

Where outputs are missing, Y has their expectations there, which vary less (T in place of V, see
:func:`nard.algorithms.missing.observed_covariance`), and know nothing of what x_j does to their output alone: w_ij and
its standard deviation are those of the samples that have the output, and so are ν.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit
from scipy.stats import f as fisher
from scipy.stats import false_discovery_control

from nard.algorithms.coordinate import Coordinates
from nard.algorithms.evidence import Problem, State, kind_of_many
from nard.algorithms.missing import Filled, observed_covariance
from nard.covariance import inverse_spd

# Active inputs with a larger q-value than this count as irrelevant in the estimate of V.
_SELECTION_LEVEL = 0.05
# Entries are tested for so many inputs at a time, so that little besides the results is held in memory.
_CHUNK = 1024

__all__ = [
    "EntryTest",
    "InputTest",
    "chunks",
    "collect",
    "entry_scores",
    "entry_test",
    "input_test",
    "qvalues",
]


@dataclass(frozen=True)
class InputTest:
    """Statistic and p-value of every input, and the factor by which V was enlarged for them."""

    statistic: np.ndarray
    pvalue: np.ndarray
    variance_factor: float = 1.0


@dataclass(frozen=True)
class EntryTest:
    """Estimate and standard deviation of every entry of W, as d×m arrays, and the outputs' degrees of freedom.

    Of the entry-wise model also: ``leads``, the inputs that lead effects
    (:class:`nard.selection.associations.Lead`); ``prior``, weights of the inputs by folds of the outputs (d ×
    folds), each output's ``fold``, and ``own``, the inputs that belong to an output (m × most of them, −1 where
    there are fewer), which are a family of their own.
    """

    weight: np.ndarray
    sd: np.ndarray
    degrees: np.ndarray | float
    leads: tuple = ()
    prior: np.ndarray | None = None
    fold: np.ndarray | None = None
    own: np.ndarray | None = None

    @property
    def z(self) -> np.ndarray:
        """weight/sd; zero where the sd is infinite, which tests nothing."""
        return self.weight / self.sd

    def pvalues(self, where=slice(None)) -> np.ndarray:
        """p-values of some inputs' entries."""
        return two_sided(self.weight[where] / self.sd[where], self.degrees)

    @property
    def pvalue(self) -> np.ndarray:
        return self.pvalues()

    def own_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries of inputs that belong to the output."""
        if self.own is None:
            return np.zeros(0, dtype=int), np.zeros(0, dtype=int)
        columns, places = np.nonzero(self.own >= 0)
        return self.own[columns, places], columns

    def qvalues(self) -> np.ndarray:
        """Of all entries (d×m): weighted, own pairs apart from the rest, and never below the share of wrong names."""
        d, m = self.weight.shape
        pvalue = self.pvalue
        rows, columns = self.own_pairs()
        weighted = np.minimum(pvalue / self.prior[:, self.fold], 1.0) if self.prior is not None else pvalue
        rest = np.ones((d, m), dtype=bool)
        rest[rows, columns] = False
        q = np.empty((d, m))
        q[rest] = qvalues(weighted[rest])
        q[rows, columns] = qvalues(pvalue[rows, columns])
        for features, targets, names in self._names():
            q[features, targets] = np.maximum(q[features, targets], names)
        return q

    def _names(self):
        """Rows, columns and expected shares of wrong names of the entries that lead effects.

        A name that is more probable than not is not asked for its share.
        """
        if self.leads:
            probability = np.array([lead.probability for lead in self.leads])
            order = np.argsort(-probability, kind="stable")
            share = np.empty(len(order))
            share[order] = np.cumsum(1.0 - probability[order]) / np.arange(1, len(order) + 1)
            share[probability >= 0.5] = 0.0
            yield np.array([lead.feature for lead in self.leads]), np.array([lead.target for lead in self.leads]), share

    def selected(self, fdr: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows and columns of the entries with a q-value of at most ``fdr``, the surest first, and these q-values.

        What :meth:`qvalues` would tell, without working out all of them.
        """
        d, m = self.weight.shape
        own = (
            np.sort(np.ravel_multi_index(self.own_pairs(), (d, m))) if self.own is not None else np.zeros(0, dtype=int)
        )

        def scores():
            for where in chunks(d):
                weight = self.weight[where]
                if len(own):
                    weight = weight.copy()
                    inside = own[(own >= where.start * m) & (own < where.stop * m)] - where.start * m
                    weight.ravel()[inside] = np.nan  # reaches no cutoff
                yield where, weight, self.sd[where]

        index, q = _discoveries(scores(), (d, m), self.degrees, fdr, self.prior, self.fold, d * m - len(own))
        if len(own):
            rows, columns = np.divmod(own, m)
            z = self.weight[rows, columns] / self.sd[rows, columns]
            of_own = qvalues(two_sided(z, np.broadcast_to(self.degrees, m)[columns]))
            index, q = np.append(index, own[of_own <= fdr]), np.append(q, of_own[of_own <= fdr])
        for features, targets, names in self._names():
            at = np.ravel_multi_index((features, targets), (d, m))
            order = np.argsort(at)
            place = np.minimum(np.searchsorted(at[order], index), len(at) - 1)
            known = at[order][place] == index
            q = np.where(known, np.maximum(q, names[order][place]), q)
        keep = np.flatnonzero(q <= fdr)
        z = np.abs(self.weight.ravel()[index[keep]] / self.sd.ravel()[index[keep]])
        keep = keep[np.argsort(-z, kind="stable")]
        return *np.divmod(index[keep], m), q[keep]


def two_sided(z: np.ndarray, degrees: np.ndarray | float) -> np.ndarray:
    """p-value of z under Student's t with the given degrees of freedom."""
    return np.minimum(2.0 * stdtr(degrees, -np.abs(z)), 1.0)


def chunks(d: int) -> list[slice]:
    """The inputs, about a thousand at a time."""
    return [slice(at, min(at + _CHUNK, d)) for at in range(0, d, _CHUNK)]


def qvalues(pvalues: np.ndarray) -> np.ndarray:
    """Benjamini and Hochberg's: the rows with q ≤ f have an expected fraction of at most f false ones."""
    if not np.size(pvalues):
        return np.array(pvalues)
    return false_discovery_control(np.clip(pvalues, 0.0, 1.0), axis=None).reshape(np.shape(pvalues))


def _discoveries(scores, shape, degrees, fdr, prior=None, fold=None, count=None):
    """Flat indices of the entries with q ≤ fdr, and their q-values, from an iterator over chunks (where, weight, sd).

    Only weighted p-values of at most ``fdr`` can belong to them, so no other is worked out. ``count`` is how many tests
    there are, if not all entries are tested here.
    """
    d, m = shape
    largest = 1.0 if prior is None else float(prior.max(initial=1.0))
    cutoff = -stdtrit(degrees, 0.5 * min(fdr * largest, 1.0))
    indices: list[np.ndarray] = []
    pvalues: list[np.ndarray] = []
    for where, weight, sd in scores:
        z = np.abs(weight) / sd
        rows, columns = np.nonzero(z >= cutoff)
        indices.append((rows + where.start) * m + columns)
        p = two_sided(z[rows, columns], np.broadcast_to(degrees, m)[columns])
        pvalues.append(p if prior is None else np.minimum(p / prior[rows + where.start, fold[columns]], 1.0))
    found, pvalue = np.concatenate([[], *indices]).astype(np.int64), np.concatenate([[], *pvalues])
    order = np.argsort(pvalue, kind="stable")
    found, pvalue = found[order], pvalue[order]
    tests = d * m if count is None else count
    q = np.minimum.accumulate((pvalue * tests / np.arange(1, len(pvalue) + 1))[::-1])[::-1]
    return found[q <= fdr], q[q <= fdr]


def collect(scores, shape, degrees) -> EntryTest:
    """All entries' tests in one; many millions of them in single precision."""
    kind = kind_of_many(shape[0] * shape[1])
    weight, sd = np.empty(shape, dtype=kind), np.empty(shape, dtype=kind)
    for where, some_weight, some_sd in scores:
        weight[where], sd[where] = some_weight, some_sd
    return EntryTest(weight, sd, degrees)


def input_test(problem: Problem, coordinates: Coordinates, state: State, filled: Filled | None = None) -> InputTest:
    """q_jᵀΩq_j/s_j against m·F(m, mν), with what irrelevant inputs took from V added back to it.

    ``filled`` has the data before hidden inputs were projected out, if any are missing.
    """
    s, ratio = coordinates.leave_one_out()
    n, m = float(problem.n), problem.m
    precision, covariance, lacking = state.omega, state.network.covariance, 0.0
    if filled is not None and filled.spread is not None:
        covariance = observed_covariance(filled, precision)
        precision, lacking = inverse_spd(covariance), float(np.mean(lacked(filled)))
    n -= lacking
    # A hyperprior on V is no evidence against the null: Ω is scaled to the variances of the data.
    units = np.sqrt(np.diag(covariance) / np.diag(residual_covariance(problem, coordinates)))
    omega = precision * np.outer(units, units)
    with np.errstate(invalid="ignore", divide="ignore"):
        raw = np.where(s > 0, coordinates.quadratic(omega) * ratio**2 / s, 0.0)
    excess = np.where(np.isfinite(state.alpha), np.maximum(raw / m - 1.0, 0.0), 0.0)
    degrees = max(residual_degrees(problem, coordinates) - lacking, 1.0)
    # The first selection is a strict one, as if all that the inputs explain were chance: from too small a V everything
    # would be selected, and nothing added back.
    factor, selected = n / degrees, np.ones(len(raw), dtype=bool)
    while True:
        pvalue = fisher.sf(raw / (factor * m), m, m * degrees)
        kept = selected & (qvalues(pvalue) <= _SELECTION_LEVEL)
        if (kept == selected).all():
            return InputTest(raw / factor, pvalue, float(factor))
        selected = kept
        factor = n / (n - 1.0) * (1.0 + excess[~selected].sum() / n)


def entry_scores(problem: Problem, coordinates: Coordinates, variance_factor: float):
    """w_ij = q_ij/s_j with standard deviation sqrt(V_ii/s_j), for some inputs at a time.

    An input without variance has an infinite one.
    """
    s, ratio = coordinates.leave_one_out()
    usable = s > 0
    scale = np.where(usable, ratio / np.where(usable, s, 1.0), 0.0)
    sd = np.sqrt(np.where(usable, 1.0 / np.where(usable, s, 1.0), np.inf))
    output_sd = np.sqrt(variance_factor * np.diag(residual_covariance(problem, coordinates)))
    for where in chunks(problem.d):
        yield where, coordinates.Q(where) * scale[where, None], np.outer(sd[where], output_sd)


def entry_test(
    problem: Problem, coordinates: Coordinates, variance_factor: float, filled: Filled | None = None
) -> EntryTest:
    """All of :func:`entry_scores`, to be tested against Student's t."""
    scores, degrees = entry_scores(problem, coordinates, variance_factor), residual_degrees(problem, coordinates)
    if filled is None or filled.spread is None:
        return collect(scores, (problem.d, problem.m), degrees)
    n, lacking = len(filled.data.Y), lacked(filled)
    found = collect(scores, (problem.d, problem.m), np.maximum(degrees - lacking, 1.0))
    for part in (found.weight, found.sd):
        part *= n / (n - lacking)
    return found


def lacked(filled: Filled) -> np.ndarray:
    """How many samples lack each output."""
    return len(filled.data.Y) - np.broadcast_to(filled.counts, filled.data.Y.shape[1])


def residual_covariance(problem: Problem, coordinates: Coordinates) -> np.ndarray:
    """YᵀC⁻¹Y/N, with the floor under the variances but without any hyperprior."""
    return coordinates.scatter / problem.n + np.diag(problem.data.variance_floor)


def residual_degrees(problem: Problem, coordinates: Coordinates) -> float:
    """ν = N − 1 − Σ γ_i, at least one: γ_i = 1 − α_iΣ_ii = S_i/α_i is what active input i uses per output."""
    return max(problem.n - 1.0 - coordinates.used, 1.0)
