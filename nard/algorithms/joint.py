"""Y = (U + B)X + LF + E: the column-wise part U, the entry-wise part B and hidden inputs F, fitted together.

A preparation finds F, and where B and U start from, under a diagonal Ω; F is then given, and the data are rotated
to its complement (:mod:`nard.algorithms.hidden`). What follows minimises one function of α, Ω and the effects'
posterior,

    J(α, Ω, B) = J(α, Ω) of Y − XB̄ + Tr(Ω diag(c)) + 2 Σ KL,

an upper bound of −2 ln evidence (:mod:`nard.algorithms.entries`), by turns: one of the four algorithms moves α and
Ω given B, then the effects move given α and Ω. Without B it is the paper's J, and without F of the data as they
are. c shrinks or grows a little with α, which the algorithms do not see: a turn that would raise J is refused.

Where outputs are missing, every turn ends with their expectations (:mod:`nard.algorithms.missing`), and J is the bound
that has them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from nard.algorithms.coefficients import Coefficients, fitted_by
from nard.algorithms.entries import (
    Entries,
    OwnSamples,
    Prior,
    Whitened,
    fit_entries,
    learnt_prior,
    no_entries,
    squares_where,
)
from nard.algorithms.evidence import ColumnCovariance, Data, Fit, Problem, State, objective_at, posterior
from nard.algorithms.hidden import complement, count_hidden, degrees_left, hidden_inputs
from nard.algorithms.missing import Filled, expected_alone, sample_precision
from nard.algorithms.priors import AlphaPrior, CovariancePrior
from nard.algorithms.rough import VARIANTS, RoughPass, minimise, starting_state
from nard.algorithms.sequential import fit_sequential
from nard.covariance import density_at, distances
from nard.progress import SILENT, Watch

__all__ = ["JointFit", "Prediction", "Preparation", "first_effects", "fit_joint", "prediction", "prepare"]

# Of B, U and F in turn; more where there are hidden inputs: F hides what is not yet found.
_ROUNDS, _ROUNDS_WITH_HIDDEN = 3, 5
_NOISE_STEPS = 3
# An effect's fit is known to this share of its output's noise, over all samples.
_ENTRY_TOL = 0.03
# With more outputs than this B and Ω take one turn: thousands of outputs and a hundred samples let the network explain
# most of every output, and J would go on falling as effects follow what is left.
_MANY_OUTPUTS = 1000


@dataclass(frozen=True)
class Preparation:
    """What is given from here on: F (N×k), the data in its complement, where the effects start, and the rough pass.

    ``filled`` are the data before F was projected out, with expectations where outputs are missing. ``prior`` is None
    where there is no entry-wise part at all; ``lengths`` are the inputs' squared lengths before F was projected out.
    """

    hidden: np.ndarray
    filled: Filled
    data: Data
    lengths: np.ndarray
    entries: Entries
    prior: Prior | None
    rough: RoughPass
    with_inputs: bool

    @property
    def n_hidden(self) -> int:
        return self.hidden.shape[1]

    @property
    def degrees_left(self) -> float:
        return degrees_left(self.n_hidden, self.data.Y.shape[1])

    @property
    def samples(self) -> np.ndarray | float:
        """In the complement of F, on average where some lack an output; one number, or one for every output."""
        return self.filled.counts - float(self.n_hidden)

    def refilled(self, entries: Entries, state: State) -> Preparation:
        """With the expectations at the effects and at α and Ω; itself where nothing is missing."""
        data = self.filled.data
        if data.gaps is None:
            return self
        A = sample_precision(data.X, self.hidden, state.alpha)
        filled = self.filled.together(without(data, entries), A, state.omega)
        return replace(self, filled=filled, data=self.data.leaving(_rotated(filled.data, self.hidden).Y))

    def residual_data(self, entries: Entries) -> Data:
        """X and Y − XB̄, as U sees them: where there is no U it has no inputs."""
        return _for_inputs(self.data, entries, self.with_inputs)

    def of_used(self) -> tuple[Preparation, np.ndarray]:
        """With the inputs that the effects use, and which these are; where there is no U no other is needed again."""
        used = self.entries.used_inputs
        data, filled = (replace(each, X=each.X[:, used]) for each in (self.data, self.filled.data))
        smaller = replace(
            self,
            filled=replace(self.filled, data=filled),
            data=data,
            lengths=self.lengths[..., used],
            entries=self.entries.among(used),
        )
        return smaller, used

    @cached_property
    def rest(self) -> Data:
        """X and Y − XB̄ at the effects as they were prepared."""
        return self.residual_data(self.entries)

    def rough_extra(self) -> np.ndarray | None:
        """c, the variance of the effects' fits, as the preparation left them; None without effects."""
        if self.prior is None:
            return None
        return self.whitened(self.rough.alpha).extra_scatter(self.entries)

    def whitened(self, alpha: np.ndarray) -> Whitened:
        """X as the effects see it, given U's α."""
        return _whitened(self.filled, self.data, self.hidden, alpha if self.with_inputs else None)

    def problem(self, data: Data, extra, lam: float, alpha_prior: AlphaPrior, cov_prior: CovariancePrior) -> Problem:
        """J at λ of the data without B̄; ``extra`` is c, the variance of the effects' fits."""
        cov_prior = _with_spread(cov_prior, self.filled)
        if extra is not None:
            psi = cov_prior.psi.copy()
            psi[np.diag_indices(len(psi))] += extra
            cov_prior = replace(cov_prior, psi=psi)
        if self.n_hidden:
            # V = R/(N + ν): what F took from all outputs by chance is not there to be divided by.
            cov_prior = replace(cov_prior, nu=cov_prior.nu - len(data.Y) * (1.0 - self.degrees_left))
        return self.rough.problem(data, lam, alpha_prior, cov_prior)


@dataclass
class JointFit:
    """A minimum of J(α, Ω, B): the state of U and Ω for ``problem``'s data Y − XB̄, and the effects.

    ``preparation`` is what was given, with the expectations at this minimum where outputs are missing.
    """

    preparation: Preparation
    problem: Problem
    entries: Entries
    fit: Fit

    @property
    def state(self) -> State:
        return self.fit.state


@dataclass(frozen=True)
class Prediction:
    """The predictive density of a fitted model, in its own units: mean (U + B̄)x, covariance (1 + xᵀΣx)V + LᵀL.

    It is normal, or a multivariate t with ``tails`` degrees of freedom if these are finite: samples differ in quality,
    and the residuals of a poor one are large together.

    ``coef`` are U's posterior mean and B̄, ``loadings`` L (k×m) for hidden inputs of unit variance. L is shrunk as the
    column-wise prior has it, by 1 − m/(N l_hΩl_hᵀ). The posterior variance of B is in V, on average over the samples.
    ``offset`` is added to the mean: of outputs with gaps, what was measured need not have mean zero.

    B̄ is the mean of two: of the preparation, with every output on its own, and of the fit, with the network. The
    network takes for noise what inputs do to many outputs together, each too little to be an effect, and without it
    outputs know nothing of each other: on proteomes either predicts worse, the one means and the other densities.
    """

    coef: Coefficients
    precision: np.ndarray
    loadings: np.ndarray
    columns: ColumnCovariance
    tails: float = np.inf
    offset: np.ndarray | float = 0.0

    def inflation(self, X: np.ndarray) -> np.ndarray:
        """1 + xᵀΣx of every row."""
        return 1.0 + self.columns.variance(X)

    def distances(self, X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Every sample's squared distance from its prediction, and the log determinant of its covariance.

        Where Y is NaN, those of what was measured.
        """
        return distances(self.residuals(X, Y), self.precision, self.inflation(X), self.loadings)

    def residuals(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return Y - self.offset - self.coef.fitted(X)

    def log_density(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return density_at(*self.distances(X, Y), np.count_nonzero(~np.isnan(Y), axis=1), self.tails)


def prediction(preparation: Preparation, problem: Problem, state: State, entries: Entries) -> Prediction:
    """What a state predicts."""
    data, B = preparation.filled.data, entries.coef()
    if entries is not preparation.entries:
        B = 0.5 * (B + preparation.entries.coef())
        rotated = preparation.data
        problem = replace(problem, data=problem.data.leaving(rotated.Y - fitted_by(rotated.X, B)))
    post = posterior(problem, state.alpha)
    coef = Coefficients(post.active, post.mean, B)
    precision, F = state.omega, preparation.hidden
    loadings = np.zeros((0, problem.m))
    if F.shape[1]:
        n = len(F)
        loadings = F.T @ (data.Y - coef.fitted(data.X)) / np.sqrt(n)
        statistic = n * np.einsum("ij,ij->i", loadings @ precision, loadings)
        loadings = loadings * np.maximum(1.0 - problem.m / np.maximum(statistic, 1e-300), 0.0)[:, None]
    columns = ColumnCovariance(problem, state.alpha)
    return Prediction(coef, precision, loadings, columns, offset=preparation.filled.offset)


def without(data: Data, entries: Entries) -> np.ndarray:
    """Y − XB̄."""
    return data.Y - fitted_by(data.X, entries.coef())


def _for_inputs(data: Data, entries: Entries, with_inputs: bool) -> Data:
    if with_inputs:
        return data if entries.empty else data.leaving(without(data, entries))
    # No view of X, which would keep all of it.
    return Data(np.zeros((len(data.X), 0)), data.Y).leaving(without(data, entries))


def sample_covariance(X: np.ndarray, alpha: np.ndarray) -> np.ndarray | None:
    """C = I + XK⁻¹Xᵀ over the samples; None where no input is active."""
    active = np.flatnonzero(np.isfinite(alpha))
    if not len(active):
        return None
    X = X[:, active] * alpha[active] ** -0.5
    return np.eye(len(X)) + X @ X.T


def prepare(
    data: Data,
    cov_prior: CovariancePrior,
    with_inputs: bool,
    with_entries: bool,
    hidden: int | str,
    rng: np.random.Generator,
    own: np.ndarray,
    watch: Watch = SILENT,
    first: Entries | None = None,
) -> Preparation:
    """B and U under a diagonal Ω, then F from what they leave, some rounds of it.

    ``hidden`` is the number of hidden inputs, or "auto"; ``own`` as in :class:`nard.algorithms.entries.Prior`;
    ``first`` are the :func:`first_effects`, where they are known.
    """
    n, m = data.Y.shape
    lengths = _lengths(data)
    F, entries, alpha = np.zeros((n, 0)), no_entries(data.X.shape[1], m), None
    filled, rotated, prior = Filled(data), data, None
    for turn in range(_ROUNDS_WITH_HIDDEN):
        if with_entries and turn == 0 and first is not None:
            prior, entries = learnt_prior(entries, own), first
        elif with_entries:
            prior = learnt_prior(entries, own)
            entries = _rough_entries(filled, rotated, F, entries, alpha, lengths, prior, watch)
        if data.gaps is not None:
            filled = filled.alone(without(filled.data, entries), sample_precision(data.X, F, alpha))
            rotated = _rotated(filled.data, F)
        rest = _for_inputs(rotated, entries, with_inputs)
        rough = RoughPass(rest, _with_spread(cov_prior, filled), watch)
        if turn >= (_ROUNDS_WITH_HIDDEN if F.shape[1] else _ROUNDS) - 1 or watch.stopped:
            break
        alpha = rough.alpha if with_inputs else None
        k = 0
        if hidden:
            post = posterior(rough.problem(rest, 1.0, AlphaPrior(), cov_prior), rough.alpha)
            fitted = Coefficients(post.active, post.mean, entries.coef()).fitted(data.X)
            residuals = filled.data.Y - fitted
            k = count_hidden(residuals, rng, data.gaps) if hidden == "auto" else min(int(hidden), n - 3, m - 1)
        if k == F.shape[1] == 0 and not with_entries and data.gaps is None:
            break  # the next round would be the same
        if k or F.shape[1]:
            F = hidden_inputs(residuals, k, data.gaps)
            rotated = _rotated(filled.data, F)
    return Preparation(F, filled, rotated, lengths, entries, prior, rough, with_inputs)


def _with_spread(cov_prior: CovariancePrior, filled: Filled) -> CovariancePrior:
    return cov_prior if filled.spread is None else replace(cov_prior, psi=cov_prior.psi + filled.spread)


def first_effects(data: Data, own: np.ndarray, watch: Watch = SILENT) -> Entries:
    """The effects of the first round of :func:`prepare`, the same whatever other parts there are."""
    none = no_entries(data.X.shape[1], data.Y.shape[1])
    F = np.zeros((len(data.Y), 0))
    return _rough_entries(Filled(data), data, F, none, None, _lengths(data), learnt_prior(none, own), watch)


def _lengths(data: Data) -> np.ndarray:
    """The inputs' squared lengths, for every output (m×d) where it lacks samples."""
    if data.gaps is None:
        return np.einsum("ij,ij->j", data.X, data.X).astype(float, copy=False)
    return squares_where(~data.gaps.missing, data.X)


def _whitened(filled: Filled, rotated: Data, F: np.ndarray, alpha: np.ndarray | None) -> Whitened:
    """What the effects are fitted in: ``rotated`` data, or those of samples where outputs are missing."""
    C = None if alpha is None else sample_covariance(rotated.X, alpha)
    data = filled.data
    return Whitened(rotated.X, C) if data.gaps is None else OwnSamples(data.X, F, C, data.gaps)


def _rotated(data: Data, F: np.ndarray) -> Data:
    basis = complement(F)
    if basis is None:
        return data
    # As a product of X's transpose the result is by columns in memory, without a copy.
    return Data((data.X.T @ basis.astype(data.X.dtype)).T, basis.T @ data.Y)


def _rough_entries(
    filled: Filled, rotated: Data, F: np.ndarray, entries: Entries, alpha, lengths, prior: Prior, watch: Watch
) -> Entries:
    """Effects with every output on its own, its noise estimated from what they leave."""
    k, (n, m) = F.shape[1], rotated.Y.shape
    gaps = filled.data.gaps
    whitened = _whitened(filled, rotated, F, alpha)
    outputs = np.einsum("ij,ij->j", rotated.Y, rotated.Y) / n
    A = None if gaps is None else sample_precision(filled.data.X, F, None)
    for step in range(_NOISE_STEPS):
        last = step == _NOISE_STEPS - 1
        if gaps is None or A is None:
            E = without(rotated, entries)
            squares = np.einsum("ij,ij->j", E, E)
        else:
            E = expected_alone(without(filled.data, entries), A, gaps)
            squares = np.einsum("ij,ij->j", E, A @ E)
        degrees = np.maximum((filled.counts - k - 1.0) * degrees_left(k, m) - entries.used, 1.0)
        noise = np.maximum(squares / degrees, rotated.variance_floor)
        omega = np.diag(1.0 / noise)
        entries = fit_entries(whitened, E, omega, entries, lengths, outputs, prior, _ENTRY_TOL, watch, split=last)
    return entries


def fit_joint(
    preparation: Preparation,
    lam: float,
    alpha_prior: AlphaPrior,
    cov_prior: CovariancePrior,
    method: str = "sequential",
    *,
    tol: float = 1e-4,
    max_iter: int = 500,
    watch: Watch = SILENT,
    **options,
) -> JointFit:
    """Turns of α and Ω given B, and of B given both, until J settles; ``options`` are those of :func:`minimise`."""
    rough, entries = preparation.rough, preparation.entries
    data = preparation.residual_data(entries)
    problem = preparation.problem(data, preparation.rough_extra(), lam, alpha_prior, cov_prior)
    start = starting_state(problem, rough, method, tol, watch)
    falls_back = "fallback" in VARIANTS[method].takes
    fallback = starting_state(problem, rough, "sequential", tol, watch) if falls_back else None
    fit = minimise(problem, start, method, tol=tol, max_iter=max_iter, watch=watch, fallback=fallback, **options)
    gaps = preparation.filled.data.gaps
    if preparation.prior is None and gaps is None:
        return JointFit(preparation, problem, entries, fit)
    tolerance = tol * problem.scale
    outputs = np.einsum("ij,ij->j", preparation.data.Y, preparation.data.Y) / problem.n

    def at(preparation, entries, state, whitened):
        """The problem of α and Ω at the effects and the expectations, and J."""
        extra = None if whitened is None else whitened.extra_scatter(entries)
        problem = preparation.problem(preparation.residual_data(entries), extra, lam, alpha_prior, cov_prior)
        return problem, objective_at(problem, state) + entries.penalty + preparation.filled.entropy

    def whiten(state, known=None):
        """X as the effects see it, which without U is the same at every state."""
        if preparation.prior is None or (known is not None and not preparation.with_inputs):
            return known
        return preparation.whitened(state.alpha)

    state = fit.state
    whitened = whiten(state)
    preparation = preparation.refilled(entries, state)
    problem, value = at(preparation, entries, state, whitened)
    objective, converged = [value], False
    while not converged and len(objective) <= max_iter and not watch.stopped:
        if preparation.prior is not None:
            moved = fit_entries(
                whitened,
                problem.Y if gaps is None else without(preparation.filled.data, entries),
                state.omega,
                entries,
                preparation.lengths,
                outputs,
                preparation.prior,
                _ENTRY_TOL,
                watch,
            )
            refilled = preparation.refilled(moved, state)
            trial, trial_value = at(refilled, moved, state, whitened)
            if trial_value <= value:
                entries, preparation, problem, value = moved, refilled, trial, trial_value
        again = fit_sequential(problem, State(state.alpha, state.network), tol=tol, max_iter=max_iter, watch=watch)
        there = whiten(again.state, whitened)
        refilled = preparation.refilled(entries, again.state)
        trial, trial_value = at(refilled, entries, again.state, there)
        if trial_value <= value:
            state, preparation, problem, value, whitened = again.state, refilled, trial, trial_value, there
        objective.append(value)
        converged = objective[-2] - value <= tolerance or problem.m > _MANY_OUTPUTS
    state = replace(state, coordinates=None)
    return JointFit(preparation, problem, entries, Fit(state, objective, converged and fit.converged))
