"""What is to be seen in each figure of the report, in words: for those who cannot see it, from the same tables."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from nard.fits.methods import METHODS
from nard.report.captions import NAMES, listed, signed

__all__ = ["alt_text"]

_STRONGEST = 3


def alt_text(figure: str, cohorts: Mapping, tables: Mapping[str, pd.DataFrame]) -> str | None:
    """The text for a figure by the name of its file, or None if its tables tell nothing beyond its caption.

    ``cohorts`` are :class:`nard.report.page.CohortResults` by name, ``tables`` those of the report.
    """
    for start, describe in _OF_ONE_COHORT.items():
        if figure.startswith(start) and figure.removeprefix(start) in cohorts:
            return describe(cohorts[figure.removeprefix(start)])
    described, table = _OF_ALL.get(figure, (_shared, ""))
    return described(tables[table]) if table in tables and len(tables[table]) else None


def _network(cohort) -> str:
    _, outputs = NAMES[cohort.summary["kind"]]
    edges = cohort.edges[cohort.edges["selected"]]
    start = f"Network of {len(cohort.nodes)} {outputs} in {cohort.title} with {_counted(len(edges), 'edge')}"
    if not len(edges):
        return f"{start}."
    by_strength = edges.sort_values("partial_correlation", key=abs, ascending=False, kind="stable").head(_STRONGEST)
    strongest = listed(f"{r.source} – {r.target} ({signed(r.partial_correlation)})" for r in by_strength.itertuples())
    hub = cohort.nodes.loc[cohort.nodes["degree"].idxmax()]
    positive = int((edges["partial_correlation"] > 0).sum())
    return (
        f"{start}, {positive} of them positive and {len(edges) - positive} negative. The strongest: {strongest}. "
        f"{hub['label']} has most edges, {hub['degree']}."
    )


def _associations(cohort) -> str:
    inputs, outputs = NAMES[cohort.summary["kind"]]
    rows = cohort.associations[cohort.associations["selected"]]
    start = f"Map of {_counted(len(rows), 'association')} of {inputs} (columns) with {outputs} (rows) in {cohort.title}"
    if not len(rows):
        return f"{start}."
    by_strength = rows.sort_values("weight", key=abs, ascending=False, kind="stable").head(_STRONGEST)
    strongest = listed(f"{r.feature} → {r.target} ({signed(r.weight)})" for r in by_strength.itertuples())
    return f"{start}, {int((rows['weight'] > 0).sum())} of them positive. The strongest: {strongest}."


def _lam_path(cohort) -> str:
    lam = cohort.fit["tuned"]["lam"]
    return f"Curve of the score against λ in {cohort.title}, with a mark at the chosen λ = {lam:.3g}."


def _trace(cohort) -> str:
    ending = "has converged" if cohort.fit["diagnostics"].get("converged", True) else "has not converged"
    title = METHODS[cohort.fit["method"]].title
    return f"Curves of the objective by step in {cohort.title}, one per method that minimises it; {title} {ending}."


def _shared(table: pd.DataFrame) -> str:
    counts = table["n_cohorts"].value_counts()
    most = int(counts.index.max())
    return (
        f"UpSet plot of {_counted(len(table), 'finding')}: {int(counts.get(1, 0))} in a single cancer, "
        f"{int((table['n_cohorts'] > 1).sum())} in two or more, {int(counts[most])} in {most}, which is the most."
    )


def _pathway_map(table: pd.DataFrame) -> str:
    means = table.groupby("pathway")[["r2", "own"]].mean().sort_values("r2", kind="stable")
    best, worst = means.iloc[-1], means.iloc[0]
    return (
        f"Heat maps of pathways against {_counted(table['cohort'].nunique(), 'cancer')}. Genes predict most of the "
        f"variance in {best.name} ({best['r2']:.0%} on average, {best['own']:.0%} by the pathway's own genes) and "
        f"least in {worst.name} ({worst['r2']:.0%})."
    )


def _crosstalk(table: pd.DataFrame) -> str:
    pairs = table.groupby(["pathway_a", "pathway_b"])["edges"].sum()
    within = int(sum(edges for (a, b), edges in pairs.items() if a == b))
    text = f"Matrix of pathways with {within} edges within them and {int(pairs.sum()) - within} between them"
    between = pairs[[a != b for a, b in pairs.index]]
    if not between.sum():
        return f"{text}."
    a, b = between.idxmax()
    return f"{text}; of two different ones, {a} and {b} share most, {int(between.max())}."


def _jaccard(table: pd.DataFrame) -> str:
    sentences = []
    for what, rows in table.groupby("what", sort=False):
        means = rows.groupby(["method_a", "method_b"], sort=False)["jaccard"].mean()
        ends = [
            f"{' and '.join(METHODS[name].title for name in pair)} ({means[pair]:.2f})"
            for pair in (means.idxmax(), means.idxmin())
        ]
        sentences.append(f"On {what}, {ends[0]} agree most and {ends[1]} least.")
    return f"Matrix of Jaccard indices between methods. {' '.join(sentences)}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


_OF_ONE_COHORT = {
    "network_": _network,
    "phenotype_network_": _network,
    "associations_": _associations,
    "lam_path_": _lam_path,
    "trace_": _trace,
}
_OF_ALL = {
    "upset_associations": (_shared, "agreement_associations"),
    "upset_edges": (_shared, "agreement_edges"),
    "pathway_map": (_pathway_map, "pathway_map"),
    "crosstalk": (_crosstalk, "crosstalk"),
    "jaccard": (_jaccard, "jaccard"),
}
