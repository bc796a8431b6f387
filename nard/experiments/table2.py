"""Table 2: true and false positive rates and the time of one step over three sizes, p = 0.02."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from nard.experiments import synthetic
from nard.experiments.synthetic import DESIGNS, PRELOAD

__all__ = ["PRELOAD", "READINGS", "brief", "figure", "remarks", "run", "runs", "table"]

READINGS = """
As in Table 1 we count entries of W, inputs and edges by several rules. 5 % of the inputs are relevant, 10 % of the
entries in their columns are not zero: ±U(0.3, 1) in the design “strong”, ±U(0, 1) in “any size”, to which the largest
size, where a fit takes minutes, is not put.

“Time (1 step)” has no unit and no definition; we take seconds on the paper's 32 cores, and give the time of a whole fit
divided by its outer steps. N is larger than d here, so that the products XᵀX, XᵀY and YᵀY, computed once and part of
our time, are most of it. For MRCE a step is a graphical lasso and a pass of lassos; its penalties are found as in
Table 1, which is not part of a step's time, and it does at most five steps.
"""

# (d, m, N): method: TPR, FPR, time of a step
PAPER = {
    (1000, 1000, 5000): {
        "mrce": (0.9802, 0.0313, 3.4),
        "full": (0.9825, 0.0274, 3.5),
        "surrogate": (0.9818, 0.0281, 2.8),
    },
    (2000, 2000, 10000): {
        "mrce": (0.9797, 0.0293, 8.7),
        "full": (0.9864, 0.0205, 8.7),
        "surrogate": (0.9838, 0.0223, 6.0),
    },
    (5000, 2000, 20000): {
        "mrce": (0.9698, 0.0411, 19.2),
        "full": (0.9732, 0.0323, 17.4),
        "surrogate": (0.9732, 0.0379, 13.0),
    },
}
# The largest has one seed: each fit there takes minutes.
_SEEDS = {1000: 3, 2000: 2, 5000: 1}
_LARGEST = 5000


def runs(settings: Mapping) -> list[dict]:
    specs = []
    for paper_size, methods in PAPER.items():
        d, m, n = synthetic.scaled(settings, *paper_size)
        for design, weights in DESIGNS.items():
            if design != "strong" and paper_size[0] == _LARGEST:
                continue
            for method in methods:
                for seed in range(min(settings["seeds"], _SEEDS[paper_size[0]])):
                    specs.append(
                        {
                            "name": f"{design.replace(' ', '_')}_d{d}_{method}_{seed}",
                            **{"paper_size": list(paper_size), "design": design, "method": method, "seed": seed},
                            **{"d": d, "m": m, "n": n, "relevant": 0.05, "density": 0.1, "weights": list(weights)},
                            **{"p": 0.02, "lam": synthetic.lam_for(m, n)},
                        }
                    )
    return specs


def run(spec: Mapping) -> dict:
    data, method = synthetic.simulated(spec), spec["method"]
    fpr = PAPER[tuple(spec["paper_size"])][method][1]
    synthetic.warm_up(method)
    if method == "mrce":
        model, seconds = synthetic.fitted_large(method, data.X, data.Y, spec["lam"])
    else:
        model, seconds = synthetic.fitted(method, data.X, data.Y, spec["seed"], spec["lam"])
    return {
        "seconds": seconds,
        "steps": model.n_iter_,
        "step": getattr(model, "alternation_seconds_", seconds) / max(model.n_iter_, 1),
        "rates": synthetic.counted(method, model, data, fpr),
    }


def table(results: Sequence[Mapping]) -> pd.DataFrame:
    rows = []
    for (design, d, m, n, method), records in synthetic.grouped(results, "design", "d", "m", "n", "method").items():
        tpr, fpr, step = PAPER[tuple(records[0]["spec"]["paper_size"])][method]
        steps = [record["result"]["step"] for record in synthetic.done(records)]
        about = {"design": design, "d": d, "m": m, "n": n, "method": synthetic.paper_names(method)}
        more = {"step_seconds": np.mean(steps) if steps else np.nan}
        paper = {"paper_tpr": tpr, "paper_fpr": fpr, "paper_step": step}
        rows += [{**about, **row, **more, **paper} for row in synthetic.reading_rows(records)]
    return pd.DataFrame(rows)


def brief(table: pd.DataFrame) -> pd.DataFrame:
    return synthetic.brief_readings(table, "design", "d", "m", "n", "method")


def remarks(table: pd.DataFrame) -> list[str]:
    sentences = []
    for (design, d, m, n), rows in table.groupby(["design", "d", "m", "n"], sort=False):
        finished = rows.dropna(subset=["tpr"])
        each = finished[finished["reading"].isin(["associations, q ≤ 0.05", "associations, own rule"])]
        listed = "; ".join(
            f"{row.method} TPR {row.tpr:.4f}, FPR {row.fpr:.4f}, a step {row.step_seconds:.2f} s (paper "
            f"{row.paper_tpr}, {row.paper_fpr}, {row.paper_step})"
            for row in each.itertuples()
        )
        if listed:
            size = f"“{design}”, d = {d}, m = {m}, N = {n}, {each['cores'].iloc[0]} cores"
            sentences.append(f"{size}, associations: {listed}.")
        for row in rows[rows["tpr"].isna()].itertuples():
            sentences.append(f"“{design}”, d = {d}: {row.method} was not run: {row.note}.")
    for d, rows in table.groupby("d", sort=False):
        near = synthetic.distance_from_paper(rows[rows["method"] != "MRCE"])
        if len(near):
            (design, reading), distance = near.index[0], near.iloc[0]
            sentences.append(
                f"d = {d}: nearest to the paper's rates, {distance:.3f} apart on average over both NARDs, is the "
                f"reading “{reading}” in the design “{design}”."
            )
    return sentences


def figure(table: pd.DataFrame, results: Sequence[Mapping]):
    from nard.experiments.drawing import COLOURS, MARKERS, panels

    fig, (left, right) = panels(2)
    shown = table[table["reading"].isin(["associations, q ≤ 0.05", "associations, own rule"])]
    shown = shown[shown["design"] == "strong"]
    weak = table[(table["design"] != "strong") & table["reading"].isin(shown["reading"])]
    sizes = list(dict.fromkeys(table["d"]))
    for rank, (method, rows) in enumerate(shown.groupby("method", sort=False)):
        at = np.array([sizes.index(d) for d in rows["d"]]) + 0.15 * (rank - 1)
        style = {"color": COLOURS[method], "marker": MARKERS[method]}
        left.plot(at, rows["tpr"], ls="none", label=method, **style)
        left.plot(at, rows["paper_tpr"], ls="none", mfc="white", **style)
        small = weak[weak["method"] == method]
        at_small = np.array([sizes.index(d) for d in small["d"]]) + 0.15 * (rank - 1)
        left.plot(at_small, small["tpr"], ls="none", mfc="0.8", **style)
        right.plot(at, rows["step_seconds"], ls="-", label=method, **style)
        right.plot(at, rows["paper_step"], ls=":", mfc="white", **style)
    labels = [f"d = {row.d}, m = {row.m},\nN = {row.n}" for row in table.drop_duplicates("d").itertuples()]
    for ax in (left, right):
        ax.set_xticks(range(len(sizes)), labels)
        ax.grid(axis="y")
    left.set(
        ylabel="TPR of associations",
        ylim=(min(0.8, table["tpr"].min() - 0.02), 1.02),
        title="filled: ours, grey: “any size”, open: the paper's",
    )
    right.set(ylabel="seconds per step", yscale="log", title="solid: ours, dotted: the paper's on 32 cores")
    right.legend(frameon=False)
    return fig
