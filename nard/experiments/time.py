"""The time figure: total time over d at N = m = 1,500."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from nard.experiments import synthetic
from nard.experiments.synthetic import NARDS, PRELOAD

__all__ = ["PRELOAD", "READINGS", "brief", "figure", "remarks", "run", "runs", "table"]

READINGS = """
The paper prints this figure without numbers, so that there is nothing to set beside ours but its words: the time of
NARD grows steeply with d, that of Surrogate NARD slowly. Its theory is O(d³) and O(d²) per iteration. The slope is that
of ln(seconds) over ln d. As many inputs are relevant at every d, 5 % of 5,000, so that only the number of candidates
grows; at d = 1,500 that is a sixth of them. p = 0.1, λ as in Table 1, one seed.
"""

DS = (1500, 5000, 10000, 15000, 20000)
_RELEVANT = 250


def runs(settings: Mapping) -> list[dict]:
    m, n, relevant = (*synthetic.scaled(settings, 1500, 1500), max(3, round(settings["scale"] * _RELEVANT)))
    return [
        {
            "name": f"d{d}_{method}",
            **{"method": method, "seed": 0, "d": d, "m": m, "n": n, "lam": synthetic.lam_for(m, n)},
            **{"relevant": relevant / d, "density": 0.1, "weights": [0.3, 1.0], "p": 0.1},
        }
        for d in synthetic.scaled(settings, *DS)
        for method in NARDS
    ]


def run(spec: Mapping) -> dict:
    data = synthetic.simulated(spec)
    synthetic.warm_up(spec["method"])
    model, seconds = synthetic.fitted(spec["method"], data.X, data.Y, spec["seed"], spec["lam"])
    inputs = synthetic.rates(synthetic.selections(spec["method"], model)["inputs"], data.relevant)
    return {"seconds": seconds, "steps": model.n_iter_, "inputs_tpr": inputs["tpr"], "inputs_fdr": inputs["fdr"]}


def table(results: Sequence[Mapping]) -> pd.DataFrame:
    rows = []
    for record in results:
        spec, result = record["spec"], record.get("result") or {}
        keys = ("seconds", "steps", "inputs_tpr", "inputs_fdr")
        rows.append(
            {
                **{key: spec[key] for key in ("d", "m", "n")},
                "method": synthetic.paper_names(spec["method"]),
                **{key: result.get(key, np.nan) for key in keys},
                "cores": record["threads"],
                "gb": record["peak_gb"],
                "note": record.get("reason"),
            }
        )
    return pd.DataFrame(rows).astype({"seconds": float, "inputs_tpr": float, "inputs_fdr": float})


def brief(table: pd.DataFrame) -> pd.DataFrame:
    """Seconds, a row per d."""
    wide = table.pivot_table(index=["d", "m", "n"], columns="method", values="seconds", dropna=False, sort=False)
    return wide.dropna(how="all").reset_index()


def _slope(rows: pd.DataFrame) -> float:
    rows = rows.dropna(subset=["seconds"])
    return np.polyfit(np.log(rows["d"]), np.log(rows["seconds"]), 1)[0] if len(rows) > 1 else np.nan


def remarks(table: pd.DataFrame) -> list[str]:
    sentences = []
    for method, rows in table.groupby("method", sort=False):
        finished = rows.dropna(subset=["seconds"])
        if len(finished) > 1:
            first, last = finished.iloc[0], finished.iloc[-1]
            sentences.append(
                f"{method}: {first['seconds']:.1f} s at d = {first['d']}, {last['seconds']:.1f} s at d = {last['d']}, "
                f"slope {_slope(rows):.2f}, on {first['cores']} cores; at least {finished['inputs_tpr'].min():.0%} "
                "of the relevant inputs found."
            )
    for row in table[table["seconds"].isna()].itertuples():
        sentences.append(f"{row.method} at d = {row.d} was not run: {row.note}.")
    return sentences


def figure(table: pd.DataFrame, results: Sequence[Mapping]):
    from nard.experiments.drawing import COLOURS, MARKERS, panels

    fig, (ax,) = panels(1, height=3.2)
    for method, rows in table.groupby("method", sort=False):
        style = {"color": COLOURS[method], "marker": MARKERS[method]}
        ax.plot(rows["d"], rows["seconds"], label=f"{method}, slope {_slope(rows):.2f}", **style)
    first, last = table["d"].min(), table["d"].max()
    low, top = table["seconds"].min(), 3 * table["seconds"].max()
    for power in (1, 2, 3):
        # As far as it goes before it leaves the picture.
        end = min(last, first * (0.8 * top / low) ** (1 / power))
        height = low * (end / first) ** power
        ax.plot([first, end], [low, height], color="0.7", lw=0.8, ls=":")
        ax.annotate(f"$d^{power}$", (end, height), (3, 0), textcoords="offset points", color="0.4", va="center")
    ax.set(xscale="log", yscale="log", xlabel=f"inputs d (N = m = {table['n'].iloc[0]})", ylabel="total seconds")
    ax.set_ylim(0.6 * low, top)
    ax.set_xticks(sorted(table["d"].unique()), sorted(table["d"].unique()))
    ax.minorticks_off()
    ax.margins(x=0.08)
    ax.legend(frameon=False, loc="upper left")
    ax.grid(alpha=0.5)
    return fig
