"""What is to be seen in each figure of the report, in words: for those who cannot see it, from the same tables.

``cohort`` is a :class:`nard.report.page.CohortResults`.
"""

from __future__ import annotations

import pandas as pd

from nard.export.communities import MOST_NODES
from nard.figures.words import NAMES, counted, labelled, listed, signed
from nard.fits.methods import find_method

__all__ = ["associations", "crosstalk", "jaccard", "lam_path", "network", "pathway_map", "shared", "trace", "trust"]

_STRONGEST = 3


def network(cohort) -> str:
    _, outputs = NAMES[cohort.summary["kind"]]
    edges = cohort.edges[cohort.edges["selected"]]
    what = "Communities of the network" if len(cohort.nodes) > MOST_NODES else "Network"
    start = f"{what} of {len(cohort.nodes)} {outputs} in {cohort.title} with {counted(len(edges), 'edge')}"
    if not len(edges):
        return f"{start}."
    by_strength = edges.sort_values("partial_correlation", key=abs, ascending=False, kind="stable").head(_STRONGEST)
    named = labelled(by_strength, cohort.nodes).itertuples()
    strongest = listed(f"{r.source} – {r.target} ({signed(r.partial_correlation)})" for r in named)
    hub = cohort.nodes.loc[cohort.nodes["degree"].idxmax()]
    positive = int((edges["partial_correlation"] > 0).sum())
    return (
        f"{start}, {positive} of them positive and {len(edges) - positive} negative. The strongest: {strongest}. "
        f"{hub['label']} has most edges, {hub['degree']}."
    )


def associations(cohort) -> str:
    inputs, outputs = NAMES[cohort.summary["kind"]]
    rows = cohort.associations[cohort.associations["selected"]]
    start = f"Map of {counted(len(rows), 'association')} of {inputs} (columns) with {outputs} (rows) in {cohort.title}"
    if not len(rows):
        return f"{start}."
    by_strength = rows.sort_values("weight", key=abs, ascending=False, kind="stable").head(_STRONGEST)
    named = labelled(by_strength, cohort.nodes).itertuples()
    strongest = listed(f"{r.feature} → {r.target} ({signed(r.weight)})" for r in named)
    return f"{start}, {int((rows['weight'] > 0).sum())} of them positive. The strongest: {strongest}."


def lam_path(cohort) -> str:
    lam = cohort.fit["tuned"]["lam"]
    return f"Curve of the score against λ in {cohort.title}, with a mark at the chosen λ = {lam:.3g}."


def trace(cohort) -> str:
    ending = "has converged" if cohort.fit["diagnostics"].get("converged", True) else "has not converged"
    title = find_method(cohort.fit["method"]).title
    return f"Curves of the objective by step in {cohort.title}, one per method that minimises it; {title} {ending}."


def trust(cohort) -> str:
    """How the p-values spread: of those of nothing half are above a half."""
    above = []
    for name, counts in cohort.fit["pvalues"].items():
        if counts["tests"]:
            half = [sum(counts[which][len(counts[which]) // 2 :]) for which in ("selected", "others")]
            above.append(f"{sum(half) / counts['tests']:.0%} of those of {name}")
    said = f"; above one half are {listed(above)}" if above else ""
    cautions = cohort.fit["cautions"]
    ending = f"{counted(len(cautions), 'caution')} below them" if cautions else "no caution"
    return f"Histograms of p-values in {cohort.title}{said}. The checks give {ending}."


def shared(table: pd.DataFrame) -> str:
    rows = table[table["untested"] == ""]
    text = f"UpSet plot of {counted(len(rows), 'finding')}"
    if len(rows):
        counts = rows["n_cohorts"].value_counts()
        most = int(counts.index.max())
        text += (
            f": {int(counts.get(1, 0))} in a single cancer, {int((rows['n_cohorts'] > 1).sum())} in two or more, "
            f"{int(counts[most])} in {most}, which is the most"
        )
    left_out = len(table) - len(rows)
    return f"{text}; without {counted(left_out, 'other')} not tested in every cancer." if left_out else f"{text}."


def pathway_map(table: pd.DataFrame) -> str:
    means = table.groupby("pathway")[["r2", "own"]].mean().sort_values("r2", kind="stable").dropna(subset="r2")
    if means.empty:
        return "Empty heat maps: no samples could be predicted."
    best, worst = means.iloc[-1], means.iloc[0]
    own = f", {best['own']:.0%} by the pathway's own genes" if pd.notna(best["own"]) else ""
    return (
        f"Heat maps of pathways against {counted(table['cohort'].nunique(), 'cancer')}. Genes predict most of the "
        f"variance in {best.name} ({best['r2']:.0%} on average{own}) and "
        f"least in {worst.name} ({worst['r2']:.0%})."
    )


def crosstalk(table: pd.DataFrame) -> str:
    pairs = table.groupby(["pathway_a", "pathway_b"])["edges"].sum()
    within = int(sum(edges for (a, b), edges in pairs.items() if a == b))
    text = f"Matrix of pathways with {within} edges within them and {int(pairs.sum()) - within} between them"
    between = pairs[[a != b for a, b in pairs.index]]
    if not between.sum():
        return f"{text}."
    a, b = between.idxmax()
    return f"{text}; of two different ones, {a} and {b} share most, {int(between.max())}."


def jaccard(table: pd.DataFrame) -> str:
    sentences = []
    for what, rows in table.groupby("what", sort=False):
        means = rows.groupby(["method_a", "method_b"], sort=False)["jaccard"].mean().dropna()
        if means.empty:
            sentences.append(f"No two methods can be compared by {what}.")
            continue
        ends = [
            f"{' and '.join(find_method(name).title for name in pair)} ({means[pair]:.2f})"
            for pair in (means.idxmax(), means.idxmin())
        ]
        sentences.append(f"On {what}, {ends[0]} agree most and {ends[1]} least.")
    return f"Matrix of Jaccard indices between methods. {' '.join(sentences)}"
