"""A plain paragraph about each cohort, made from its results, and what to know of the data before reading any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from nard.data.pathways import OTHER
from nard.figures.words import NAMES, labelled, listed, signed, surest, unfitted
from nard.fits.failures import failure_text

__all__ = ["NAMES", "cohort_paragraph", "first_words", "listed", "signed"]

_STRONGEST = 3


def cohort_paragraph(
    summary: Mapping,
    fit: Mapping,
    held_out: Mapping,
    associations: pd.DataFrame,
    edges: pd.DataFrame,
    nodes: pd.DataFrame,
) -> str:
    """A few plain sentences: how much was found, the strongest associations and edges, how well it predicts."""
    inputs, outputs = NAMES[summary["kind"]]
    found = fit["found"]
    sentences = [
        f"{summary['title']} has {summary['n_samples']} {'simulated ' if summary['simulated'] else ''}samples with "
        f"{summary['n_inputs']} {inputs} and {summary['n_outputs']} {outputs}.",
        *_ages(summary.get("ages")),
    ]
    if fit.get("failed"):
        return " ".join([*sentences, unfitted(fit)])
    sentences.append(
        f"At a false discovery rate of {fit['fdr']:.0%}, {_associations(found, inputs, outputs)}, and "
        f"{_connected(found['edges'], outputs)} connected once the {inputs} are accounted for."
    )
    # The two tests need not agree: effects may be few and clear, or many and too weak to name.
    if found["features"] != found["features_with_associations"]:
        sentences.append(
            f"The test of each as a whole, over all {outputs} at once, is another one: it selects {found['features']}."
        )
    hidden = fit.get("hidden", {}).get("number", 0)
    if hidden:
        # A simpler model predicts unless it is clearly worse.
        without = ", which the model that predicts does without" if fit["tuned"].get("hidden") == 0 else ""
        sentences.append(f"All of this is adjusted for {_hidden(hidden)}{without}.")
    if "own" in associations:
        own = int((associations["selected"] & (associations["own"] == 1)).sum())
        if own:
            sentences.append(f"Of the associations {own} are of {inputs} with their own {outputs}.")
    strongest = surest(associations, _STRONGEST)
    if len(strongest):
        rows = labelled(strongest, nodes).itertuples()
        named = listed(f"{row.feature} → {row.target} ({signed(row.weight)})" for row in rows)
        sentences.append(f"The surest associations are {named}, in standard deviations.")
    strongest = surest(edges, _STRONGEST)
    if len(strongest):
        named = listed(
            f"{row.source} – {row.target} ({signed(row.partial_correlation)})"
            for row in labelled(strongest, nodes).itertuples()
        )
        sentences.append(f"The surest edges are {named}, as partial correlations.")
        sentences += _within_and_between(edges, nodes, "pathway" if summary["kind"] == "omics" else "block")
    if failed := held_out.get("failed"):
        sentences.append(f"Samples held out from the fit could not be predicted: {failure_text(failed)}")
    else:
        sentences.append(_predicted(held_out["r2"], inputs, outputs))
    if not fit["diagnostics"].get("converged", True):
        sentences.append("The fit has not converged: read these figures with caution.")
    return " ".join(sentences)


def first_words(summaries: Sequence[Mapping]) -> list[str]:
    """What decides about every finding and was not chosen by the user: a sentence for all cohorts that it holds of."""
    facts: dict[tuple[str, str], list[tuple[str, Mapping]]] = {}
    for summary in summaries:
        for fact in summary["advice"]:
            facts.setdefault((fact["code"], fact.get("side", "")), []).append((summary["title"], fact))
    said = []
    for (code, side), found in facts.items():
        if code == "pathways only":
            option = found[0][1]["option"]
            counts = listed(f"{fact['kept']:,} of {fact['found']:,} in {title}" for title, fact in found)
            said.append(
                f"Of the {side} only those of the pathway table are in use: {counts}. "
                f"preprocessing.{option}: all takes the others too."
            )
        elif code == "skewed":
            said.append(
                f"The {side} of {listed(title for title, _ in found)} are skewed like linear measurements, not like "
                "logarithms, so that single samples decide about findings; preprocessing.outliers: rank_normal takes "
                "normal scores instead."
            )
    return said


def _predicted(r2: float, inputs: str, outputs: str) -> str:
    what = (
        f"{r2:.1%} of the variance of the {outputs}, on average"
        if r2 > 0
        else f"the {outputs} no better than their means do (R² {signed(r2)}, on average)"
    )
    return f"In samples held out from the fit the {inputs} predict {what}."


def _within_and_between(edges: pd.DataFrame, nodes: pd.DataFrame, group: str) -> list[str]:
    """How many pairs are connected, of those whose ends share a group, and of those that have none in common.

    What belongs to no group is in neither. The table of edges need not list all pairs.
    """
    member = nodes.set_index("id")["pathways"].str.get_dummies(";").drop(columns=OTHER, errors="ignore").astype(bool)
    selected = edges[edges["selected"]]
    a, b = (member.reindex(selected[end]).to_numpy(dtype=bool) for end in ("source", "target"))
    within = (a & b).any(axis=1)
    found = int(within.sum()), int((a.any(axis=1) & b.any(axis=1) & ~within).sum())
    told = [
        f"{number / possible:.1%} of the pairs {where}"
        for where, number, possible in zip(
            (f"within a {group}", f"between two {group}s"), found, _pairs_of(member), strict=True
        )
        if possible
    ]
    return [f"Connected are {listed(told)}."] if told else []


def _pairs_of(member: pd.DataFrame) -> tuple[int, int]:
    """How many pairs of nodes share a group, and how many have groups, but none in common.

    Nodes of the same groups are counted together, so that thousands of nodes take no millions of pairs.
    """
    some = member.to_numpy()[member.any(axis=1).to_numpy()]
    if not len(some):
        return 0, 0
    groups, sizes = np.unique(some, axis=0, return_counts=True)
    shared = groups.astype(int) @ groups.T > 0
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    return int(pairs[shared].sum()) // 2, int(pairs[~shared].sum()) // 2


def _associations(found: Mapping, inputs: str, outputs: str) -> str:
    if not found["associations"]:
        return f"none of the {inputs} has an association with any of the {outputs}"
    have = "has" if found["features_with_associations"] == 1 else "have"
    return (
        f"{found['features_with_associations']} of the {inputs} {have} associations with {outputs}, "
        f"{found['associations']} in all"
    )


def _connected(edges: int, outputs: str) -> str:
    return f"1 pair of {outputs} stays" if edges == 1 else f"{edges or 'no'} pairs of {outputs} stay"


def _ages(ages: Mapping | None) -> list[str]:
    """How old people are, and what that means for the findings."""
    if ages is None:
        return []
    how = (
        "all features were adjusted for it by linear regression"
        if ages["adjusted"]
        else "nothing was adjusted for it, so that pairs may be found only because both go with age"
    )
    column, *values = (ages[key] for key in ("column", "lowest", "highest", "median"))
    return ["The column {} runs from {:g} to {:g} with a median of {:g}; ".format(column, *values) + how + "."]


def _hidden(number: int) -> str:
    return "one hidden input" if number == 1 else f"{number} hidden inputs"
