"""Short texts made from results: what a figure stands on, and a plain paragraph about each cohort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from nard.data.pathways import OTHER
from nard.fits.methods import find_method

__all__ = ["NAMES", "cohort_paragraph", "listed", "origin", "signed"]

# What inputs and outputs are called in each kind of cohort.
NAMES = {"omics": ("genes", "proteins"), "aging": ("molecular phenotypes", "macro phenotypes")}
_STRONGEST = 3


def origin(summaries: Sequence[Mapping], method: str | None = None) -> str:
    """What a figure was made from; simulated data are called so first."""
    made_up = [summary["simulated"] for summary in summaries]
    parts = []
    if all(made_up):
        parts.append("SIMULATED DATA")
    elif any(made_up):
        names = ", ".join(summary["title"] for summary in summaries if summary["simulated"])
        parts.append(f"SIMULATED DATA in {names}")
    if len(summaries) == 1:
        parts.append(f"{summaries[0]['title']}, {summaries[0]['n_samples']} samples")
    else:
        parts.append(f"{len(summaries)} cohorts")
    if method:
        parts.append(find_method(method).title)
    return " – ".join(parts)


def cohort_paragraph(
    summary: Mapping,
    fit: Mapping,
    held_out: Mapping,
    associations: pd.DataFrame,
    edges: pd.DataFrame,
    nodes: pd.DataFrame,
) -> str:
    """A few plain sentences: how many inputs matter, the strongest associations and edges, how well it predicts."""
    inputs, outputs = NAMES[summary["kind"]]
    found = fit["found"]
    sentences = [
        f"{summary['title']} has {summary['n_samples']} {'simulated ' if summary['simulated'] else ''}samples with "
        f"{summary['n_inputs']} {inputs} and {summary['n_outputs']} {outputs}.",
        f"At a false discovery rate of {fit['fdr']:.0%}, {found['features']} of the {inputs} matter for at least one "
        f"of the {outputs}, through {found['associations']} associations, and {found['edges']} pairs of {outputs} stay "
        f"connected once the {inputs} are accounted for.",
    ]
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


def signed(value: float) -> str:
    """Two digits, with a sign."""
    return f"{value:+.2f}".replace("-", "−")


def listed(items) -> str:
    """One, two and three."""
    items = list(items)
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]
