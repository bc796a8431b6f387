"""The appendix's table of kernels: the network between aging phenotypes after a linear, a polynomial and an RBF map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from nard.experiments.aging import simulate, sizes
from nard.experiments.charts import plot_dots
from nard.experiments.datasets import given, load_nhanes
from nard.experiments.fits import done, fit, found, overlap
from nard.experiments.synthetic import PRELOAD, lam_for
from nard.figures.page import sentence
from nard.fits.comparison import recovery

__all__ = ["PRELOAD", "READINGS", "figure", "remarks", "run", "runs", "table"]

READINGS = """
With a kernel W belongs to the features of Φ, of which those of an RBF kernel are no molecules at all. The paper's
counts of about 15,000 associations for every kernel can then only compare if they are edges between macro phenotypes.
So edges are what this table compares: with those of the linear fit to the same data and, in simulated data, with the
truth.

The polynomial kernel has degree 2: on NHANES all monomials of its inputs, on the simulated cohort (a tenth of the
paper's size at most, and linear by design) 500 landmarks of a Nyström map, since the monomials would be too many. The
RBF kernel has γ = 1/d and 300 landmarks. R² and log-likelihood (outputs of unit variance) are those of a random fifth
of the people, predicted by a fit to the others.
"""

_SMALL = 0.1
_KERNELS = ("linear", "polynomial", "rbf")
_LANDMARKS = 500
# Associations, Jaccard index with HS-GHS.
_PAPER = {"linear": (15101, 0.988), "polynomial": (15094, 0.990), "rbf": (15072, 0.989)}


def runs(settings: Mapping) -> list[dict]:
    file = settings["files"].get("nhanes")
    small = sizes(min(settings["scale"], _SMALL))
    specs = [{"data": "simulated", **small, "kernel": kernel} for kernel in _KERNELS]
    real = [{"data": "NHANES", "file": file, "kernel": kernel} for kernel in _KERNELS]
    specs += real if file else real[:1]
    for spec in specs:
        spec |= {"name": f"{str(spec['data']).lower()}-{spec['kernel']}", "seed": 1}
    return specs


def run(spec: Mapping) -> dict:
    kernel: dict[str, Any] = {} if spec["kernel"] == "linear" else {"kernel": spec["kernel"]}
    if spec["data"] == "NHANES":
        prepared = load_nhanes(given({"nhanes": spec["file"]}, "nhanes"))
        X, Y = prepared.X, prepared.Y
        lam: float | str = "cv"
    else:
        cohort = simulate(spec["people"], spec["molecular"], spec["macro"], spec["seed"])
        X, Y = cohort.X, cohort.Y / cohort.Y.std(ddof=0)
        lam = lam_for(Y.shape[1], len(X))
        if spec["kernel"] == "polynomial":
            kernel["kernel_params"] = {"n_components": _LANDMARKS}
    model, seconds = fit("sequential", X, Y, spec["seed"], kernel, lam=lam)
    out = {**found(model, seconds), "people": len(X)}
    rows = np.random.default_rng(spec["seed"]).permutation(len(X))
    train, test = np.sort(rows[len(X) // 5 :]), np.sort(rows[: len(X) // 5])
    part, _ = fit("sequential", X.iloc[train], Y.iloc[train], spec["seed"], kernel, lam=lam)
    out["r2"] = part.score(X.iloc[test], Y.iloc[test])
    out["log_likelihood"] = part.log_likelihood(X.iloc[test], Y.iloc[test])
    if spec["data"] == "simulated":
        m = Y.shape[1]
        upper = np.argwhere(np.triu(cohort.precision, 1))
        out["truth"] = recovery(out["edges"], (upper[:, 0] * m + upper[:, 1]).tolist(), m * (m - 1) // 2)
    return out


def table(results: Sequence[Mapping]) -> pd.DataFrame:
    rows = []
    for record in results:
        spec, result = record["spec"], record.get("result")
        row = {"data": spec["data"], "kernel": spec["kernel"], "why_not": record.get("reason")}
        if result:
            linear = next(iter(done(results, data=spec["data"], kernel="linear")), None)
            row |= {
                "people": result["people"],
                "features": result["n_features"],
                "m": result["n_targets"],
                "edges": len(result["edges"]),
                "jaccard_edges_linear": overlap(record, linear, "edges"),
                "edges_tpr": result.get("truth", {}).get("tpr"),
                "edges_fdr": result.get("truth", {}).get("fdr"),
                "r2": result["r2"],
                "log_likelihood": result["log_likelihood"],
                "minutes": result["fit_seconds"] / 60,
            }
        associations, jaccard = _PAPER[spec["kernel"]]
        rows.append({**row, "paper_associations": associations, "paper_jaccard_hsghs": jaccard})
    return pd.DataFrame(rows)


def remarks(table: pd.DataFrame) -> list[str]:
    if "r2" not in table:
        return [f"No result: {reason}." for reason in table["why_not"].dropna().unique()]
    out = []
    for data, part in table[table["r2"].notna()].groupby("data", sort=False):
        linear = part[part["kernel"] == "linear"]
        for row in part[part["kernel"] != "linear"].itertuples():
            if len(linear):
                base = linear.iloc[0]
                out.append(
                    f"{data}, {row.kernel}: held-out R² {row.r2:.3f} and log-likelihood {row.log_likelihood:.2f}, "
                    f"linear {base['r2']:.3f} and {base['log_likelihood']:.2f}; edges agree with the linear fit's by a "
                    f"Jaccard index of {row.jaccard_edges_linear:.3f}."
                )
    out += [f"{row.data}, {row.kernel}: {row.why_not}." for row in table[table["why_not"].notna()].itertuples()]
    return out


def figure(table: pd.DataFrame, results: Sequence[Mapping]) -> Figure:
    title = "Aging phenotypes with kernels"
    if "r2" not in table or table["r2"].isna().all():
        return sentence(f"There is nothing to show: {next(iter(table['why_not'].dropna()), 'no run')}.", title=title)
    rows = table[table["r2"].notna()]
    labels = [f"{row.data}, {row.kernel}" for row in rows.itertuples()]
    agreement = rows["jaccard_edges_linear"]
    return plot_dots(
        labels,
        {"held-out R²": rows["r2"], "Jaccard index of edges with the linear fit": agreement},
        title=title,
        what="R², Jaccard index",
        note="NHANES 2011–2012 and simulated data – NARD sequential",
    )
