"""Which parts the model has, and its λ: by held-out likelihood, λ also by eBIC, or as they are given.

With thousands of outputs the choice is made on some hundreds of them, drawn evenly from all when these are sorted by
how heavy their tails are, so that it depends on no order in a table. λ then grows from these to all so much that an
output has as many correlations beyond it by chance: Φ(−λ√N) falls as their number rises.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.stats import norm

from nard.algorithms import Data
from nard.algorithms.joint import Preparation, prepare
from nard.algorithms.priors import CovariancePrior
from nard.estimator.tuning import (
    Parts,
    Settings,
    Validation,
    best_of,
    cross_validate,
    ebic_path,
    fixed_rng,
    folds_of,
    hopeless_below,
    lam_grid,
)
from nard.progress import Watch

__all__ = ["RELEVANCE", "Choice", "choose"]

# relevance → whether U, whether B.
RELEVANCE = {"inputs": (True, False), "entries": (False, True), "both": (True, True)}
_N_FOLDS = 5
# "auto" does not try U where rows × inputs × outputs exceed this: every step of it goes through all of them.
_MOST_PRODUCTS = 5e8
# With more outputs than this the choice is made on so many of them.
_MOST_OUTPUTS = 1000
_SOME_OUTPUTS = 500


@dataclass(frozen=True)
class Choice:
    """The parts that predict and those under which findings are tested, their preparations, and every one's λ.

    ``tails`` are the predictive density's degrees of freedom; ``path`` and ``scores`` tell how the choice was made.
    """

    models: dict[Parts, Preparation]
    parts: Parts
    tested: Parts
    lams: dict[Parts, float]
    tails: float
    path: pd.DataFrame | None
    scores: pd.DataFrame | None


def choose(
    features,
    Y,
    data: Data,
    cov_prior: CovariancePrior,
    settings: Settings,
    relevance: str,
    hidden: int | str,
    lam: float | str,
    scored: np.ndarray,
    seed: int,
    watch: Watch,
) -> Choice:
    """``features`` and ``Y`` in their units and ``data`` scaled; by the outputs ``scored`` the choice is made."""
    rule = isinstance(lam, str) or relevance == "auto" or (hidden == "auto" and relevance != "entries")
    m = data.Y.shape[1]
    if m <= _MOST_OUTPUTS or not rule:
        found = _models(data, cov_prior, settings, relevance, hidden, watch)
        return _tuned(features, Y[:, scored], *found, cov_prior, settings, lam, scored, seed, watch)
    some = _some_of(data.Y, scored)
    of_some = settings.of_outputs(some)
    few = Data(data.X, data.Y[:, some], None if data.gaps is None else data.gaps.of_outputs(some))
    found = _models(few, cov_prior.of_outputs(some), of_some, relevance, hidden, watch)
    everyone = np.arange(len(some))
    chosen = _tuned(features, Y[:, some], *found, cov_prior.of_outputs(some), of_some, lam, everyone, seed, watch)
    models, lams, places = {}, {}, {}
    for parts in dict.fromkeys((chosen.tested, chosen.parts)):
        number = hidden if parts.hidden else 0
        preparation = prepare(data, cov_prior, parts.inputs, parts.entries, number, fixed_rng(), settings.own, watch)
        places[parts] = replace(parts, hidden=preparation.n_hidden)
        models[places[parts]] = preparation
        by_some = chosen.lams[parts]
        lams[places[parts]] = _for_more(by_some, len(Y), len(some), m) if isinstance(lam, str) else by_some
    return replace(chosen, models=models, parts=places[chosen.parts], tested=places[chosen.tested], lams=lams)


def _for_more(lam: float, n: int, few: int, many: int) -> float:
    """The λ beyond which each of ``many`` outputs has as many chance correlations as each of a ``few`` beyond this."""
    root = np.sqrt(n)
    return float(norm.isf(norm.sf(lam * root) * few / many) / root)


def _some_of(Y: np.ndarray, scored: np.ndarray) -> np.ndarray:
    """Outputs at even distances among all ``scored`` sorted by their mean absolute value, in their old order."""
    order = scored[np.argsort(np.abs(Y[:, scored]).sum(axis=0), kind="stable")]
    return np.sort(order[np.linspace(0, len(order) - 1, min(_SOME_OUTPUTS, len(order))).round().astype(int)])


def _models(
    data: Data, cov_prior: CovariancePrior, settings: Settings, relevance: str, hidden: int | str, watch: Watch
) -> tuple[dict[Parts, Preparation], list[Parts], Parts]:
    """The models to try, prepared; those of them that may predict, and the one under which findings are tested."""

    def prepared(relevance, hidden):
        found = prepare(data, cov_prior, *RELEVANCE[relevance], hidden, fixed_rng(), settings.own, watch)
        return Parts(*RELEVANCE[relevance], found.n_hidden), found

    def several(relevance, *numbers):
        return dict(prepared(relevance, number) for number in dict.fromkeys(numbers))

    n, d = data.X.shape
    if relevance == "auto" and min(n, d) * d * data.Y.shape[1] > _MOST_PRODUCTS:
        relevance = "entries"
    auto = hidden == "auto"
    if relevance == "inputs":
        models = several("inputs", *((0, "auto") if auto else (hidden,)))
        return models, list(models), next(reversed(models))
    models = several("entries", hidden)
    (tested,) = models
    if relevance == "entries":
        return models, [tested], tested
    numbers = (0, tested.hidden) if auto else (hidden,)
    models |= several("both", *numbers)
    if relevance == "both":
        return models, [each for each in models if each.inputs], tested
    models = several("inputs", 0 if auto else hidden) | models
    return models, list(models), tested


def _tuned(features, Y, models, predicting, tested, cov_prior, settings, lam, scored, seed, watch: Watch) -> Choice:
    """``Y`` are the outputs ``scored`` of all that were prepared, by whose held-out samples it chooses."""
    of_scored = settings.of_outputs(scored)
    table = None
    by_rule = isinstance(lam, str)
    paths, lams = {}, {}
    validations: dict[Parts, Validation] = {}
    if by_rule:
        watch.stage("NARD: path of λ")
    elif len(predicting) > 1:
        watch.stage("NARD: cross-validation of the parts")
    validated = lam == "cv" or len(predicting) > 1
    folds = folds_of(features, Y, of_scored, _N_FOLDS, seed) if validated else []
    # The one that tests first: it has to have its λ, and most often predicts best.
    for parts in sorted(models, key=lambda parts: parts != tested):
        preparation = models[parts]
        grid = lam_grid(preparation.rough, lam, scored) if by_rule else np.array([float(lam)])
        lams[parts] = float(grid[0])
        if lam == "ebic":
            paths[parts], lams[parts] = ebic_path(preparation, grid, settings.alpha_prior, cov_prior, watch)
            grid = np.array([lams[parts]])
        if lam == "cv" or (len(predicting) > 1 and parts in predicting):
            least = hopeless_below(validations)
            found = cross_validate(folds, grid, parts, watch, least)
            if found is None and lam == "cv" and not validations:
                raise KeyboardInterrupt  # there is no λ yet to return anything for
            if found is not None:
                validations[parts] = found
                if lam == "cv":
                    paths[parts], lams[parts] = found.path, found.lam
    of_predicting = {parts: validations[parts] for parts in predicting if parts in validations}
    chosen = best_of(of_predicting) if of_predicting else predicting[0]
    if of_predicting:
        table = pd.DataFrame(
            [
                {
                    "relevance": parts.name,
                    "hidden": parts.hidden,
                    "score": one.score,
                    "r2": one.r2,
                    "lam": one.lam,
                    "tails": one.tails,
                    "chosen": parts == chosen,
                }
                for parts, one in of_predicting.items()
            ]
        )
    given = np.inf if settings.tails is None else settings.tails
    tails = of_predicting[chosen].tails if of_predicting else given
    return Choice(models, chosen, tested, lams, tails, paths.get(chosen), table)
