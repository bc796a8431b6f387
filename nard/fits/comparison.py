"""Findings compared: between methods, between cohorts, with the truth, and with themselves on subsamples."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from nard.fits.failures import finite
from nard.fits.listing import listed_edges

__all__ = [
    "ENDS",
    "SETS",
    "agreement",
    "association_set",
    "candidates",
    "cohorts_jaccard",
    "comparable",
    "edge_set",
    "explained_by",
    "feature_set",
    "findings_of",
    "held_out",
    "held_out_summary",
    "held_out_tables",
    "jaccard",
    "jaccard_table",
    "recovery",
    "recovery_table",
    "selected_weights",
    "selection_frequency",
    "stability_table",
    "truth_among",
    "with_stability",
]

# The two ends of a pair, by kind of finding.
ENDS = {"associations": ("feature", "target"), "edges": ("source", "target")}
_FOLDS = 5
_OUTPUTS = 500


def association_set(table: pd.DataFrame) -> frozenset[tuple[str, str]]:
    """The selected (feature, target) pairs; all rows of a table that has no column ``selected``."""
    rows = _selected(table)
    return frozenset(zip(rows["feature"].astype(str), rows["target"].astype(str), strict=True))


def edge_set(table: pd.DataFrame) -> frozenset[tuple[str, str]]:
    """The selected pairs of targets, each in alphabetical order; all rows where there is no column ``selected``."""
    rows = _selected(table)
    pairs = zip(rows["source"].astype(str), rows["target"].astype(str), strict=True)
    return frozenset(tuple(sorted(pair)) for pair in pairs)


def feature_set(table: pd.DataFrame) -> frozenset[str]:
    """The selected features; those with any association if the table is one of true associations."""
    rows = _selected(table)
    return frozenset(rows["feature"].astype(str))


# The findings of a table, by what it holds.
SETS = {"features": feature_set, "associations": association_set, "edges": edge_set}


def selected_weights(table: pd.DataFrame, what: str) -> dict[tuple[str, str], float]:
    """The selected pairs with their weight, or partial correlation; those of edges in alphabetical order."""
    rows = _selected(table)
    first, second = (rows[end].astype(str) for end in ENDS[what])
    if what == "associations":
        return dict(zip(zip(first, second, strict=True), rows["weight"], strict=True))
    pairs = (tuple(sorted(pair)) for pair in zip(first, second, strict=True))
    return dict(zip(pairs, rows["partial_correlation"], strict=True))


def findings_of(fit: Mapping, table: pd.DataFrame, what: str) -> frozenset | None:
    """The selected findings of a kind, or None of a fit that failed; ``fit`` is what fit.json holds."""
    return None if fit.get("failed") else SETS[what](table)


def _selected(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["selected"].astype(bool)] if "selected" in table else table


def candidates(groups: pd.DataFrame, what: str) -> tuple[frozenset[str], frozenset[str]]:
    """What the two ends of a pair can be in a cohort, from the table of its inputs and outputs."""
    inputs, outputs = (frozenset(groups.loc[groups["side"] == side, "name"]) for side in ("inputs", "outputs"))
    return (inputs, outputs) if what == "associations" else (outputs, outputs)


def comparable(pairs: Collection[tuple], *cohorts: tuple[frozenset, frozenset]) -> set[tuple]:
    """Those of the pairs that are candidates in each of the cohorts."""
    return {(a, b) for a, b in pairs if all(a in first and b in second for first, second in cohorts)}


def jaccard(a: Collection, b: Collection) -> float:
    """|a ∩ b| / |a ∪ b|; of two empty sets, which say nothing about agreement, NaN.

    Examples
    --------
    >>> jaccard({1, 2, 3}, {2, 3, 4}), jaccard(set(), set())
    (0.5, nan)
    """
    a, b = set(a), set(b)
    return len(a & b) / len(a | b) if a | b else float("nan")


def jaccard_table(findings: Mapping[tuple[str, str, str], frozenset | None]) -> pd.DataFrame:
    """One row per cohort, pair of methods and kind. ``findings`` is keyed by cohort, method and kind.

    Those of a method that could not be fitted are None, and its rows without numbers.
    """
    rows = []
    for cohort in dict.fromkeys(cohort for cohort, _, _ in findings):
        methods = dict.fromkeys(method for name, method, _ in findings if name == cohort)
        for first, second in combinations(methods, 2):
            for what in ENDS:
                a, b = findings[cohort, first, what], findings[cohort, second, what]
                rows.append((cohort, first, second, what, *_overlap(a, b)))
    return pd.DataFrame(rows, columns=["cohort", "method_a", "method_b", "what", "jaccard", "n_a", "n_b"])


def _overlap(a: Collection | None, b: Collection | None) -> tuple[float, float, float]:
    """The Jaccard index and both sizes; missing where there is no fit."""
    n_a, n_b = (np.nan if found is None else len(found) for found in (a, b))
    return np.nan if a is None or b is None else jaccard(a, b), n_a, n_b


def agreement(
    weights: Mapping[str, Mapping[tuple[str, str], float] | None],
    names: tuple[str, str],
    possible: Mapping[str, tuple[frozenset, frozenset]],
) -> pd.DataFrame:
    """Findings with the cohorts that have them, and with those that could not: one of the two was not measured there.

    ``weights`` maps each cohort to {pair: signed weight}, None if not fitted, ``possible`` to its :func:`candidates`.
    """
    pairs: dict[tuple[str, str], dict[str, float]] = {}
    for cohort, found in weights.items():
        for pair, weight in (found or {}).items():
            pairs.setdefault(pair, {})[cohort] = weight
    rows = [
        {
            names[0]: pair[0],
            names[1]: pair[1],
            "n_cohorts": len(found),
            "cohorts": ";".join(found),
            "untested": ";".join(cohort for cohort, ends in possible.items() if not comparable([pair], ends)),
            "same_sign": len({weight > 0 for weight in found.values()}) == 1,
            "mean_weight": float(np.mean(list(found.values()))),
        }
        for pair, found in pairs.items()
    ]
    columns = [*names, "n_cohorts", "cohorts", "untested", "same_sign", "mean_weight"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values(["n_cohorts", *names], ascending=[False, True, True], ignore_index=True)


def cohorts_jaccard(
    findings: Mapping[str, Mapping[str, Collection | None]],
    possible: Mapping[str, Mapping[str, tuple[frozenset, frozenset]]],
) -> pd.DataFrame:
    """One row per kind and pair of cohorts, of the findings that could be made in both.

    ``findings`` maps each kind to the findings of every cohort, None if not fitted; ``possible`` to their
    :func:`candidates`.
    """
    rows = []
    for what, found in findings.items():
        for a, b in combinations(found, 2):
            ends = possible[what][a], possible[what][b]
            of_a, of_b = (None if one is None else comparable(one, *ends) for one in (found[a], found[b]))
            rows.append((a, b, what, *_overlap(of_a, of_b)))
    return pd.DataFrame(rows, columns=["cohort_a", "cohort_b", "what", "jaccard", "n_a", "n_b"])


def recovery(found: Collection, true: Collection, universe: int) -> dict[str, float]:
    """How much of the truth was found, and how much of what was found is false, of ``universe`` candidates."""
    found, true = set(found), set(true)
    hits = len(found & true)
    return {
        "found": len(found),
        "true": len(true),
        "tpr": hits / len(true) if true else float("nan"),
        "fdr": (len(found) - hits) / max(len(found), 1),
        "fpr": (len(found) - hits) / max(universe - len(true), 1),
    }


def _recovered(found: Collection | None, true: frozenset, universe: int) -> dict[str, float]:
    if found is None:
        return {"found": np.nan, "true": len(true), "tpr": np.nan, "fdr": np.nan, "fpr": np.nan}
    return recovery(found, true, universe)


def truth_among(
    associations: pd.DataFrame, edges: pd.DataFrame, inputs: Collection[str], outputs: Collection[str]
) -> dict[str, tuple[frozenset, int]]:
    """The truth about the features that were fitted, and the number of candidates, by kind."""
    associations = associations[associations["feature"].isin(inputs) & associations["target"].isin(outputs)]
    edges = edges[edges["source"].isin(outputs) & edges["target"].isin(outputs)]
    d, m = len(inputs), len(outputs)
    return {
        "features": (feature_set(associations), d),
        "associations": (association_set(associations), d * m),
        "edges": (edge_set(edges), m * (m - 1) // 2),
    }


def recovery_table(
    findings: Mapping[tuple[str, str, str], Collection | None],
    truths: Mapping[str, Mapping[str, tuple[frozenset, int]]],
) -> pd.DataFrame:
    """One row per fit and kind. ``findings`` is keyed by cohort, method and kind, ``truths`` are of the cohorts.

    Those of a method that could not be fitted are None, and its rows without rates.
    """
    return pd.DataFrame(
        {"cohort": cohort, "method": method, "what": what, **_recovered(found, *truths[cohort][what])}
        for (cohort, method, what), found in findings.items()
    )


def explained_by(W: np.ndarray, X: np.ndarray, Y: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Share of each output's variance that groups of inputs explain: Σ_n y_in Σ_{j∈g} w_ij x_jn / Σ_n y_in².

    ``groups`` is a boolean array (outputs, groups, inputs). Shares of disjoint groups add up; that of a group without
    inputs is missing, not zero. X and Y are centred.
    """
    shares = np.full(groups.shape[:2], np.nan)
    # Some outputs at a time: with thousands of both, one array more of outputs × inputs is gigabytes.
    for first in range(0, len(W), _OUTPUTS):
        some = slice(first, first + _OUTPUTS)
        covariance = Y[:, some].T @ X / len(Y)
        explained = np.einsum("ij,igj,ij->ig", W[some], groups[some], covariance) / Y[:, some].var(axis=0)[:, None]
        shares[some] = np.where(groups[some].any(axis=2), explained, np.nan)
    return shares


def held_out(make_model: Callable, X: pd.DataFrame, Y: pd.DataFrame, groups: np.ndarray, seed: int):
    """Five-fold results on samples that the fit has not seen.

    Returns the mean log-likelihood per sample, R² of each output, and the share of each output's variance that each
    group of inputs explains (see :func:`explained_by`). Raises :class:`nard.errors.NotFinite` unless they are numbers.
    """
    from sklearn.model_selection import KFold

    likelihood, errors, shares, weights = [], np.zeros(Y.shape[1]), [], []
    for train, test in KFold(_FOLDS, shuffle=True, random_state=seed).split(X):
        model = make_model().fit(X.iloc[train], Y.iloc[train])
        likelihood.append(model.log_likelihood(X.iloc[test], Y.iloc[test]) * len(test))
        errors += ((Y.iloc[test] - model.predict(X.iloc[test])) ** 2).sum().to_numpy()
        centred = X.iloc[test] - X.iloc[test].mean(), Y.iloc[test] - Y.iloc[test].mean()
        shares.append(explained_by(model.coef_, centred[0].to_numpy(), centred[1].to_numpy(), groups))
        weights.append(len(test))
    total = ((Y - Y.mean()) ** 2).sum().to_numpy()
    finite("the predictions of held-out samples", likelihood, errors)
    return sum(likelihood) / len(Y), 1 - errors / total, np.average(shares, axis=0, weights=weights)


def held_out_tables(predictions: tuple | None, targets: list[str], failed: Mapping | None) -> tuple[pd.DataFrame, dict]:
    """What :func:`held_out` returned, by output and in two numbers; missing values where a method ``failed``."""
    _, r2, shares = predictions or (None, np.full(len(targets), np.nan), np.full((len(targets), 2), np.nan))
    table = pd.DataFrame({"target": targets, "r2": r2, "own": shares[:, 0], "other": shares[:, 1]})
    return table, held_out_summary(predictions, failed)


def held_out_summary(predictions: tuple | None, failed: Mapping | None) -> dict:
    """The same without the outputs: the mean log-likelihood per sample and the mean R²."""
    likelihood, r2 = (None, None) if failed or predictions is None else predictions[:2]
    return {
        "log_likelihood": None if likelihood is None else float(likelihood),
        "r2": None if r2 is None else float(r2.mean()),
        "failed": dict(failed) if failed else None,
    }


def selection_frequency(
    make_model: Callable, X: pd.DataFrame, Y: pd.DataFrame, subsamples: int, fraction: float, seed: int, fdr: float
) -> tuple[dict, dict]:
    """In what share of random subsamples each association and each edge is selected."""
    rng = np.random.default_rng(seed)
    counts: tuple[dict, dict] = ({}, {})
    for _ in range(subsamples):
        rows = np.sort(rng.choice(len(X), round(fraction * len(X)), replace=False))
        model = make_model().fit(X.iloc[rows], Y.iloc[rows])
        associations, edges = model.associations(fdr, selected_only=True), listed_edges(model, fdr, Y.shape[1], more=0)
        found: Iterable = (association_set(associations), edge_set(edges))
        for count, pairs in zip(counts, found, strict=True):
            for pair in pairs:
                count[pair] = count.get(pair, 0) + 1
    of_associations, of_edges = ({pair: n / subsamples for pair, n in count.items()} for count in counts)
    return of_associations, of_edges


def stability_table(
    frequencies: tuple[Mapping, Mapping] | None, associations: frozenset, edges: frozenset
) -> pd.DataFrame:
    """How often each finding comes back: those of any subsample, and those of all samples, which are ``selected``.

    Without ``frequencies``, where a method could not be fitted to the subsamples, they are missing.
    """
    never, frequencies = (np.nan, ({}, {})) if frequencies is None else (0.0, frequencies)
    rows = [
        (what, *pair, frequency.get(pair, never), pair in selected)
        for what, frequency, selected in zip(("association", "edge"), frequencies, (associations, edges), strict=True)
        for pair in sorted({*frequency, *selected})
    ]
    return pd.DataFrame(rows, columns=["what", "source", "target", "frequency", "selected"])


def with_stability(table: pd.DataFrame, frequencies: pd.DataFrame | None, what: str) -> pd.DataFrame:
    """A table of associations or edges with a column ``stability``, the share of the subsamples that select the pair.

    ``frequencies`` is a :func:`stability_table`; without one the table stays as it is.
    """
    if frequencies is None:
        return table
    rows = frequencies[frequencies["what"] == what.removesuffix("s")]
    of = dict(zip(zip(rows["source"], rows["target"], strict=True), rows["frequency"], strict=True))
    pairs = zip(*(table[end].astype(str) for end in ENDS[what]), strict=True)
    # Pairs that neither a subsample nor the whole data select have no row.
    keys = (pair if what == "associations" else tuple(sorted(pair)) for pair in pairs)
    return table.assign(stability=[of.get(key, 0.0) for key in keys])
