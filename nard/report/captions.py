"""A plain paragraph about each cohort, made from its results."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from nard.data.pathways import OTHER
from nard.figures.words import NAMES, listed, signed

__all__ = ["NAMES", "cohort_paragraph", "listed", "signed"]

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
        f"At a false discovery rate of {fit['fdr']:.0%}, {found['features_with_associations']} of the {inputs} have "
        f"associations with {outputs}, {found['associations']} in all, and {found['edges']} pairs of {outputs} stay "
        f"connected once the {inputs} are accounted for.",
    ]
    # The two tests need not agree: effects may be few and clear, or many and too weak to name.
    if found["features"] != found["features_with_associations"]:
        sentences.append(
            f"The test of each as a whole, over all {outputs} at once, is another one: it selects {found['features']}."
        )
    hidden = fit.get("hidden", {}).get("number", 0)
    if hidden:
        sentences.append(f"All of this is adjusted for {_hidden(hidden)}.")
    if "own" in associations:
        own = int((associations["selected"] & (associations["own"] == 1)).sum())
        if own:
            sentences.append(f"Of the associations {own} are of {inputs} with their own {outputs}.")
    strongest = associations[associations["selected"]].head(_STRONGEST)
    if len(strongest):
        named = listed(f"{row.feature} → {row.target} ({signed(row.weight)})" for row in strongest.itertuples())
        sentences.append(f"The surest associations are {named}, in standard deviations.")
    strongest = edges[edges["selected"]].head(_STRONGEST)
    if len(strongest):
        named = listed(
            f"{row.source} – {row.target} ({signed(row.partial_correlation)})" for row in strongest.itertuples()
        )
        sentences.append(f"The surest edges are {named}, as partial correlations.")
        sentences.append(_within_and_between(edges, nodes, "pathway" if summary["kind"] == "omics" else "block"))
    sentences.append(
        f"In samples held out from the fit the {inputs} predict {max(held_out['r2'], 0):.1%} of the variance of the "
        f"{outputs}, on average."
    )
    if not fit["diagnostics"].get("converged", True):
        sentences.append("The fit has not converged: read these figures with caution.")
    return " ".join(sentences)


def _within_and_between(edges: pd.DataFrame, nodes: pd.DataFrame, group: str) -> str:
    of = nodes.set_index("id")["pathway"]
    within = (edges["source"].map(of) == edges["target"].map(of)) & (edges["source"].map(of) != OTHER)
    shares = [edges.loc[rows, "selected"].mean() if rows.any() else 0.0 for rows in (within, ~within)]
    return (
        f"Of all pairs within a {group} {shares[0]:.1%} are connected, of those between two {group}s {shares[1]:.1%}."
    )


def _hidden(number: int) -> str:
    return "one hidden input" if number == 1 else f"{number} hidden inputs"
