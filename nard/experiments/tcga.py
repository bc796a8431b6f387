"""The seven cancers: cohorts beside the paper's, the finding of its text in each, networks, and what they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from nard.data.names import antibody_key
from nard.data.pathways import OTHER, read_pathways
from nard.experiments.charts import plot_intervals
from nard.experiments.datasets import given, load_tcga
from nard.experiments.fits import done, edge_frame, fit, found, overlap, patience
from nard.experiments.synthetic import FDR, NARDS, PRELOAD, paper_names
from nard.figures.network import plot_network
from nard.figures.page import sentence
from nard.figures.upset import plot_upset
from nard.fits.comparison import comparable
from nard.palette import pathway_colours

__all__ = ["CANCERS", "PRELOAD", "READINGS", "brief", "figure", "remarks", "run", "runs", "table"]

READINGS = """
Samples, genes and proteins are those that the given files hold, prepared as the workflow prepares every cohort: tumours
matched by patient, antibodies with more than 20 % missing values left out first, then patients with any, outliers
pulled in to five robust standard deviations, unit variances. The paper's N are larger where its files had more samples
or where it filled in values, of which it says nothing; genes that a file lacks are not made up, so that d may be below
73.

The paper's finding in COAD is a relation between GSK3ALPHABETAPS21S9 and AKTPS473 in a figure, without a number. Ours
is found if the edge's q-value, among all pairs of proteins of that cancer, is at most 0.05; the interval is that of the
nodewise estimate, 95 %. λ is chosen by cross-validation. A partial correlation is one given all other proteins,
among which are other antibodies against the same two phosphorylations' proteins: GSK3PS9 and AKTPT308. So three more
readings are shown: whether Ω has a non-zero entry, which is likely the paper's rule; the correlation of the residuals;
and the edge in a fit without those two antibodies (`without_copies`).
"""

CANCERS = ("COAD", "LUAD", "LUSC", "OV", "READ", "SKCM", "UCEC")
_PAIR = ("GSK3ALPHABETAPS21S9", "AKTPS473")
_COPIES = ("GSK3PS9", "AKTPT308")
_BASELINES = ("mrce", "capme", "mssl")
# N, d, m of the paper's table.
_PAPER = {
    "COAD": (338, 73, 76),
    "LUAD": (356, 73, 76),
    "LUSC": (309, 73, 86),
    "OV": (227, 73, 77),
    "READ": (121, 73, 76),
    "SKCM": (333, 73, 76),
    "UCEC": (393, 73, 77),
}
_BASELINE_SECONDS = 120


def runs(settings: Mapping) -> list[dict]:
    folder = settings["files"].get("tcga")
    specs = []
    for cancer in CANCERS:
        there = folder is not None and (Path(folder) / cancer / "mrna.tsv.gz").exists()
        # Where data are missing, one run is enough to say so.
        methods = ("sequential", *(name for name in NARDS if name != "sequential"), *_BASELINES)
        for method in methods if there else methods[:1]:
            spec = {"name": f"{cancer}-{method}", "cancer": cancer, "method": method, "file": folder, "seed": 1}
            limit = {"seconds": patience(settings, _BASELINE_SECONDS)} if method in _BASELINES else {}
            specs.append({**spec, **limit})
    return specs


def run(spec: Mapping) -> dict:
    prepared = load_tcga(given({"tcga": spec["file"]}, "tcga"), spec["cancer"])
    X, Y = prepared.X, prepared.Y
    model, seconds = fit(spec["method"], X, Y, spec["seed"])
    out = {
        **found(model, seconds, partials=True),
        "samples": len(X),
        "inputs": list(X.columns),
        "outputs": list(Y.columns),
        "finding": _finding(model),
    }
    if spec["method"] == "sequential" and out["finding"]:
        fewer, _ = fit(spec["method"], X, Y.drop(columns=list(_COPIES), errors="ignore"), spec["seed"])
        out["without_copies"] = _finding(fewer)
    return out


def _finding(model) -> dict | None:
    """The edge of the paper's text, if both proteins were measured."""
    place = {antibody_key(name): i for i, name in enumerate(model.target_labels_)}
    if not all(name in place for name in _PAIR):
        return None
    i, j = (place[name] for name in _PAIR)
    names = {model.target_labels_[i], model.target_labels_[j]}
    edges = model.edges(FDR)
    row = edges[edges["source"].isin(names) & edges["target"].isin(names)].iloc[0]
    covariance = model.covariance_
    return {
        **{key: row[key] for key in ("partial_correlation", "sd", "qvalue", "selected")},
        "nonzero": bool(model.precision_[i, j] != 0),
        "residual_correlation": float(covariance[i, j] / np.sqrt(covariance[i, i] * covariance[j, j])),
    }


def table(results: Sequence[Mapping]) -> pd.DataFrame:
    rows = []
    for record in results:
        spec, result = record["spec"], record.get("result")
        reference = next(iter(done(results, cancer=spec["cancer"], method="sequential")), None)
        paper = _PAPER[spec["cancer"]]
        row = {"cancer": spec["cancer"], "method": paper_names(spec["method"]), "why_not": record.get("reason")}
        if result:
            finding, fewer = result["finding"] or {}, result.get("without_copies") or {}
            value, sd = finding.get("partial_correlation"), finding.get("sd")
            reach = np.nan if sd is None else 1.96 * sd
            row |= {
                "n": result["samples"],
                "d": result["n_features"],
                "m": result["n_targets"],
                "features": result["features"],
                "associations": len(result["associations"]),
                "edges": len(result["edges"]),
                "gsk3_akt_partial": value,
                "gsk3_akt_low": value - reach if value is not None else None,
                "gsk3_akt_high": value + reach if value is not None else None,
                "gsk3_akt_qvalue": finding.get("qvalue"),
                "gsk3_akt_found": finding.get("selected"),
                "gsk3_akt_nonzero": finding.get("nonzero"),
                "gsk3_akt_residual_correlation": finding.get("residual_correlation"),
                "without_copies_partial": fewer.get("partial_correlation"),
                "without_copies_qvalue": fewer.get("qvalue"),
                **{
                    f"jaccard_{what}_sequential": overlap(record, reference, what) for what in ("associations", "edges")
                },
                "seconds": result["fit_seconds"],
            }
        rows.append({**row, "paper_n": paper[0], "paper_d": paper[1], "paper_m": paper[2]})
    return pd.DataFrame(rows)


def brief(table: pd.DataFrame) -> pd.DataFrame:
    """Sequential NARD in every cancer."""
    rows = table[table["method"] == paper_names("sequential")]
    left_out = ("method", "jaccard_associations_sequential", "jaccard_edges_sequential", "seconds")
    return rows.drop(columns=[name for name in left_out if name in rows])


def _main(table: pd.DataFrame) -> pd.DataFrame:
    """Sequential NARD's rows that have a result."""
    rows = table[table["method"] == paper_names("sequential")]
    return rows[rows["n"].notna()] if "n" in table else rows.iloc[:0]


def remarks(table: pd.DataFrame) -> list[str]:
    main = _main(table)
    absent = table[table["why_not"].notna()]
    if main.empty:
        return [f"No result: {reason}." for reason in absent["why_not"].unique()]
    out = []
    for column, what in (
        ("gsk3_akt_found", "is found (q ≤ 0.05)"),
        ("gsk3_akt_nonzero", "is a non-zero entry of Ω"),
        ("without_copies_qvalue", "is found once the other antibodies of AKT and GSK3 are left out"),
    ):
        hit = main[column] <= FDR if column.endswith("qvalue") else main[column].map(str) == "True"
        where = ", ".join(main["cancer"][hit]) or "none"
        out.append(f"GSK3ALPHABETAPS21S9 – AKTPS473 {what} in {hit.sum()} of {len(main)} cancers: {where}.")
    values, correlations = main["gsk3_akt_partial"], main["gsk3_akt_residual_correlation"]
    out.append(
        f"Its partial correlation is {values.min():.2f} to {values.max():.2f}, the correlation of the residuals "
        f"{correlations.min():.2f} to {correlations.max():.2f}."
    )
    for method in [paper_names(name) for name in (*NARDS, *_BASELINES) if name != "sequential"]:
        rows = table[table["method"] == method]
        if len(rows) and rows["jaccard_edges_sequential"].notna().any():
            a, b = rows["jaccard_associations_sequential"], rows["jaccard_edges_sequential"]
            out.append(
                f"{method} and Sequential NARD agree by a Jaccard index of {a.min():.2f} to {a.max():.2f} for "
                f"associations and {b.min():.2f} to {b.max():.2f} for edges."
            )
    return [*out, *(f"{row.cancer}, {row.method}: {row.why_not}." for row in absent.itertuples())]


def figure(table: pd.DataFrame, results: Sequence[Mapping]) -> dict[str, Figure]:
    pathways = read_pathways()
    main = {record["spec"]["cancer"]: record["result"] for record in done(results, method="sequential")}
    reasons = {record["spec"]["cancer"]: record["reason"] for record in results if "reason" in record}
    colours = pathway_colours([*pathways.names, OTHER])
    figures = {}
    for cancer in CANCERS:
        label = f"{cancer}: network between proteins"
        if cancer not in main:
            figures[f"tcga_network_{cancer}"] = sentence(f"{reasons.get(cancer, 'No run')}.", title=label)
            continue
        outputs = main[cancer]["outputs"]
        nodes = pd.DataFrame(
            {
                "id": outputs,
                "label": outputs,
                "pathway": [pathways.primary(name) for name in outputs],
                "pathways": [";".join(pathways.of_protein.get(name, [OTHER])) for name in outputs],
            }
        )
        order = nodes["pathway"].map({name: rank for rank, name in enumerate(colours)})
        nodes = nodes.iloc[np.argsort(order, kind="stable")].assign(colour=lambda rows: rows["pathway"].map(colours))
        edges = edge_frame(main[cancer], outputs)
        figures[f"tcga_network_{cancer}"] = plot_network(
            nodes, edges, title=label, note=f"TCGA {cancer} – NARD sequential"
        )
    pairs = {cancer: set(_named(result)) for cancer, result in main.items()}
    possible = [(frozenset(result["inputs"]), frozenset(result["outputs"])) for result in main.values()]
    contents = {cancer: comparable(found, *possible) for cancer, found in pairs.items()}
    everywhere = set().union(*contents.values())
    figures["tcga_upset"] = plot_upset(
        contents or {"TCGA": set()},
        {pair: pathways.primary(pair[1]) for pair in everywhere},
        colours,
        title="Genes and proteins found in which cancers",
        untested=len(set().union(*pairs.values()) - everywhere),
        note="TCGA",
    )
    rows = table[table["method"] == paper_names("sequential")]
    columns = [f"gsk3_akt_{name}" for name in ("partial", "low", "high")]
    rows = rows.reindex(columns=[*rows.columns, *(name for name in columns if name not in rows)])
    figures["tcga_finding"] = plot_intervals(
        rows["cancer"].tolist(),
        *(rows[name].astype(float) for name in columns),
        title="GSK3ALPHABETAPS21S9 – AKTPS473 in each cancer",
        what="partial correlation given all other proteins and the genes, 95 % interval",
        note="TCGA – NARD sequential",
    )
    return figures


def _named(result: Mapping) -> list[tuple[str, str]]:
    codes, m = np.array(result["associations"], dtype=int), result["n_targets"]
    return [(result["inputs"][code // m], result["outputs"][code % m]) for code in codes]
