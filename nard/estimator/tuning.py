"""The choice of λ, and of the parts of the model, by held-out likelihood; or of λ by eBIC.

Cross-validation scores the held-out fold under the normal predictive density N((U + B̄)x, V(1 + xᵀΣx) + LᵀL), without
the penalty (the score printed in the paper adds it and is computed on the training folds, which always picks the
smallest λ). The folds walk one path of λ together, from the largest down, each fit starting from its last; they
stop once the score has fallen for a while. The path is always walked by Sequential NARD, whatever the method of the
final fit, with the effects of the entry-wise part and the hidden inputs as the preparation left them.

At the λ of the best score a multivariate t of the same mean and covariance is tried too. It predicts, with the degrees
of freedom of the highest density, where it is clearly better than the normal density (two standard errors).

Among the models that are tried, the first is taken whose score is not clearly below the best (two standard errors), of
those whose predictions are not clearly worse than the best: V(1 + xᵀΣx) may buy likelihood for poor predictions by
telling which samples are unusual.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from nard.algorithms import Data, Problem, RoughPass, State, starting_state
from nard.algorithms.entries import Entries
from nard.algorithms.evidence import posterior
from nard.algorithms.joint import Preparation, first_effects, prediction, prepare
from nard.algorithms.priors import AlphaPrior, make_covariance_prior
from nard.algorithms.sequential import fit_sequential
from nard.compiled import each
from nard.covariance import density_at, log_determinant
from nard.estimator.scaling import Scaler, measured_variances
from nard.progress import SILENT, Watch

__all__ = [
    "Parts",
    "Settings",
    "Validation",
    "best_of",
    "cross_validate",
    "ebic_path",
    "fixed_rng",
    "folds_of",
    "hopeless_below",
    "lam_grid",
]

# Twenty values span a factor of fifty. Cross-validation ends its path itself, so that the path may go on to next to no
# penalty: with many samples and few outputs that predicts best.
_STEP = 50.0 ** (-1 / 19)
_N_LAMS = {"cv": 40, "ebic": 20}
# The path ends after this many λ without a better score, or at once when the score is a standard error below the best.
_PATIENCE = 2
# The path's fits need not be as exact as the final one.
_PATH_TOL = 1e-3
_EBIC_GAMMA = 0.5
# Turns of expectations and fit at every λ.
_EXPECTATIONS = 2
# Of the best R², what a model of a higher likelihood may fall short of it.
_WORSE = 0.005
# A model that at the first λ falls short by this is not looked at any more: R² changes little along the path.
_HOPELESS = 0.015
# Standard errors by which a model must be better than a simpler one, and a t than the normal density.
_CLEARLY = 2.0
# Folds with more numbers than this are held in memory one at a time.
_MANY = 5 * 10**7
_TAILS = np.geomspace(2.5, 200.0, 40)


@dataclass(frozen=True)
class Parts:
    """Which parts of Y = (U + B)X + LF + E a model has: U, B, and how many hidden inputs."""

    inputs: bool
    entries: bool
    hidden: int

    @property
    def name(self) -> str:
        """As the parameter ``relevance`` has it."""
        return "both" if self.inputs and self.entries else "entries" if self.entries else "inputs"


@dataclass(frozen=True)
class Settings:
    """What a fit needs besides the data, λ and the parts; ``own`` as in :class:`nard.algorithms.entries.Prior`.

    ``tails`` are the predictive density's degrees of freedom, infinite if it is normal, None if they are to be chosen.
    """

    alpha_prior: AlphaPrior
    cov_prior: tuple | None
    standardize: bool
    own: np.ndarray
    tails: float | None

    def of_outputs(self, kept: np.ndarray) -> Settings:
        """The same for some of the outputs."""
        prior = self.cov_prior
        if prior is not None and np.ndim(prior[1]) == 2:
            prior = (prior[0], np.asarray(prior[1])[np.ix_(kept, kept)], prior[2])
        return replace(self, cov_prior=prior, own=self.own[kept])


class Samples:
    """Training and held-out samples of one fold, and what all models that are tried on it share."""

    def __init__(self, X, Y, train, test, settings: Settings):
        self._X, self._train, self._test = X, train, test
        self._scaler = scaler = Scaler(X[train], Y[train], settings.standardize)
        self._Y_train, self.Y_test = scaler.outputs(Y[train]), scaler.outputs(Y[test])
        self.y_scale = scaler.y_scale
        self.settings = settings
        self.cov_prior = make_covariance_prior(settings.cov_prior, measured_variances(self._Y_train), scaler.y_scale)
        self._first: Entries | None = None

    @property
    def is_large(self) -> bool:
        return self._X.size > _MANY

    @cached_property
    def data(self) -> Data:
        return Data.of(self._scaler.inputs(self._X[self._train]), self._Y_train)

    @cached_property
    def X_test(self) -> np.ndarray:
        return self._scaler.inputs(self._X[self._test])

    def release(self) -> None:
        """Forgets the inputs; they are read again when they are asked for."""
        self.__dict__.pop("data", None)
        self.__dict__.pop("X_test", None)

    def prepared(self, parts: Parts, watch: Watch) -> Preparation:
        if parts.entries and self._first is None:
            self._first = first_effects(self.data, self.settings.own, watch)
        return prepare(
            self.data,
            self.cov_prior,
            parts.inputs,
            parts.entries,
            parts.hidden,
            fixed_rng(),
            self.settings.own,
            watch,
            self._first if parts.entries else None,
        )


def folds_of(X, Y, settings: Settings, n_folds: int, seed: int) -> list[Samples]:
    splits = KFold(min(n_folds, len(X)), shuffle=True, random_state=seed).split(X)
    return [Samples(X, Y, train, test, settings) for train, test in splits]


class _Walk:
    """A model of one fold walking down the path of λ."""

    def __init__(self, samples: Samples, parts: Parts, watch: Watch):
        self.samples, self.watch = samples, watch
        self.preparation, self.X_test = samples.prepared(parts, watch), samples.X_test
        if not parts.inputs:
            self.preparation, used = self.preparation.of_used()
            self.X_test = self.X_test[:, used]
        if samples.is_large:
            samples.release()
        self._extra = self.preparation.rough_extra()
        self.state: State | None = None

    def advance(self, lam: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Fits at the next λ; the held-out samples' distances, log determinants and squared errors.

        Log determinants are those in units of the data; of what is missing there is no error.
        """
        samples = self.samples
        at = lam, samples.settings.alpha_prior, samples.cov_prior
        self.preparation, problem, self.state = path_step(self.preparation, self._extra, at, self.state, self.watch)
        predicted = prediction(self.preparation, problem, self.state, self.preparation.entries)
        square, logdet = predicted.distances(self.X_test, samples.Y_test)
        measured = ~np.isnan(samples.Y_test)
        logdet = logdet + 2.0 * np.where(measured, np.log(samples.y_scale), 0.0).sum(axis=1)
        return square, logdet, np.where(measured, predicted.residuals(self.X_test, samples.Y_test), 0.0) ** 2


def path_step(
    preparation: Preparation, extra, at: tuple, state: State | None, watch: Watch
) -> tuple[Preparation, Problem, State]:
    """Fits at the next λ of a path, from the state at its last; ``at`` are λ and the priors.

    Where outputs are missing, their expectations follow.
    """
    for _ in range(1 if preparation.filled.data.gaps is None else _EXPECTATIONS):
        if state is not None:
            preparation = preparation.refilled(preparation.entries, state)
        problem = preparation.problem(preparation.rest, extra, *at)
        start = state or starting_state(problem, preparation.rough, "sequential", _PATH_TOL)
        state = fit_sequential(problem, start, tol=_PATH_TOL, watch=watch).state
    assert state is not None
    return preparation, problem, state


def fixed_rng() -> np.random.Generator:
    """The halves of bi-cross-validation are the same in every fit."""
    return np.random.default_rng(0)


def lam_grid(rough: RoughPass, rule: str, scored: np.ndarray) -> np.ndarray:
    """From the smallest λ with an empty network down, to a fiftieth of it for "ebic", to a 3,000th for "cv".

    ``scored`` are the outputs that do not follow from others.
    """
    return max(rough.largest_lams[scored].max(), 1e-3) * _STEP ** np.arange(_N_LAMS[rule])


@dataclass(frozen=True)
class Validation:
    """The path with its scores, the chosen λ, and there the held-out samples' scores, their R² and their tails.

    ``tails`` are the degrees of freedom of the density that the scores are of, infinite if it is the normal one.
    """

    path: pd.DataFrame
    lam: float
    scores: np.ndarray
    r2: float
    tails: float

    @property
    def score(self) -> float:
        return float(self.scores.mean())


def cross_validate(
    folds: list[Samples], lams, parts: Parts, watch: Watch = SILENT, least_r2: float = -np.inf
) -> Validation | None:
    """Held-out log density per sample along ``lams``, descending.

    The path ends at once where R² is below ``least_r2``: predictions hardly depend on λ. None if the fit was asked to
    stop before the first score.
    """
    walk = partial(_Walk, parts=parts, watch=watch)
    # Large ones one after the other: each has copies of its own.
    walks = [walk(samples) for samples in folds] if folds[0].is_large else each(walk, folds)
    counts = np.concatenate([np.count_nonzero(~np.isnan(samples.Y_test), axis=1) for samples in folds])
    spread = sum(float(np.nansum(samples.Y_test**2)) for samples in folds)
    rows, best, since_best = [], None, 0
    for lam in lams:
        squares, logdets, errors = zip(*each(partial(_Walk.advance, lam=lam), walks), strict=True)
        if watch.stopped:
            break
        held_out = np.concatenate(squares), np.concatenate(logdets), counts
        every = density_at(*held_out)
        states = [walk.state for walk in walks if walk.state is not None]
        rows.append(
            {
                "lam": lam,
                "score": every.mean(),
                "standard_error": every.std() / np.sqrt(len(every)),
                "n_active": np.mean([np.isfinite(state.alpha).sum() for state in states]),
                "n_edges": np.mean([np.count_nonzero(np.triu(state.omega, 1)) for state in states]),
            }
        )
        watch.lam(rows[-1])
        if best is None or rows[-1]["score"] > best[1].mean():
            r2 = 1.0 - sum(float(error.sum()) for error in errors) / max(spread, 1e-300)
            best, since_best = (float(lam), every, r2, held_out), 0
            if r2 < least_r2:
                break
        else:
            since_best += 1
            if since_best >= _PATIENCE or rows[-1]["score"] < best[1].mean() - rows[-1]["standard_error"]:
                break
    if best is None:
        return None
    (lam, _, r2, held_out), given = best, folds[0].settings.tails
    tails = best_tails(*held_out) if given is None else given
    return Validation(_with_choice(rows, lam), lam, density_at(*held_out, tails), r2, tails)


def best_tails(square: np.ndarray, logdet: np.ndarray, m: np.ndarray) -> float:
    """Degrees of freedom of the t of highest held-out density; infinite unless it is clearly better than the normal."""
    normal = density_at(square, logdet, m)
    gained = [density_at(square, logdet, m, nu) - normal for nu in _TAILS]
    best = int(np.argmax([one.mean() for one in gained]))
    clearly = gained[best].mean() > _CLEARLY * gained[best].std() / np.sqrt(len(normal))
    return float(_TAILS[best]) if clearly else np.inf


def hopeless_below(validations: dict[Parts, Validation]) -> float:
    """The R² at the first λ below which no model could be :func:`best_of` these and itself."""
    return max((one.r2 for one in validations.values()), default=-np.inf) - _HOPELESS


def best_of(validations: dict[Parts, Validation]) -> Parts:
    """The first model whose score is not clearly below the best, among those that predict about as well.

    Scores are compared sample by sample: all models had the same folds.
    """
    best_r2 = max(one.r2 for one in validations.values())
    eligible = {parts: one.scores for parts, one in validations.items() if one.r2 >= best_r2 - _WORSE}
    best = max(eligible.values(), key=np.mean)
    for parts, scores in eligible.items():
        behind = best - scores
        if behind.mean() <= _CLEARLY * behind.std() / np.sqrt(len(behind)):
            return parts
    raise AssertionError("the best is no worse than itself")


def ebic_path(
    preparation: Preparation, lams, alpha_prior: AlphaPrior, cov_prior, watch: Watch = SILENT
) -> tuple[pd.DataFrame, float]:
    """−2 ln p(Y | α, Ω) + |E|(ln N + 4γ ln m), γ = ½, along the path, smaller is better; |E| counts the edges."""
    rows, state = [], None
    extra = preparation.rough_extra()
    for lam in lams:
        preparation, problem, state = path_step(preparation, extra, (lam, alpha_prior, cov_prior), state, watch)
        n, m = problem.n, problem.m
        if watch.stopped:
            break
        post = posterior(problem, state.alpha)
        likelihood = m * post.logdet - n * log_determinant(state.omega) + np.vdot(state.omega, post.scatter)
        if preparation.filled.spread is not None:
            likelihood += np.vdot(state.omega, preparation.filled.spread) + preparation.filled.entropy
        n_edges = np.count_nonzero(np.triu(state.omega, 1))
        rows.append(
            {
                "lam": lam,
                "score": likelihood + n_edges * (np.log(n) + 4.0 * _EBIC_GAMMA * np.log(m)),
                "n_active": np.isfinite(state.alpha).sum(),
                "n_edges": n_edges,
            }
        )
        watch.lam(rows[-1])
    if not rows:
        raise KeyboardInterrupt
    lam = rows[int(np.argmin([row["score"] for row in rows]))]["lam"]
    return _with_choice(rows, lam), float(lam)


def _with_choice(rows, lam) -> pd.DataFrame:
    table = pd.DataFrame(rows)
    table["chosen"] = table["lam"] == lam
    return table
