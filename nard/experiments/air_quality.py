"""The air of Beijing: the network between 11 indicators, and what is left between PM2.5 and humidity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from nard.experiments import CannotRun
from nard.experiments.charts import plot_intervals
from nard.experiments.datasets import AIR, SITES, air_days, air_files, given, load_air
from nard.experiments.fits import done, edge_frame, fit, found, overlap
from nard.experiments.synthetic import FDR, NARDS, PRELOAD, paper_names
from nard.figures.network import plot_network
from nard.figures.page import sentence
from nard.fits.methods import tuned_settings

__all__ = ["PRELOAD", "READINGS", "bootstrap", "brief", "figure", "remarks", "run", "runs", "table"]

READINGS = """
The paper names 11 indicators, imputation and alignment of time stamps, and a "strong correlation" of PM2.5 with
humidity, without a number, a unit of analysis or a test. The file has no humidity: relative humidity follows from
temperature and dew point (Magnus's formula) and takes the dew point's place among the 11 (two particles, four gases,
temperature, pressure, humidity, rain, wind speed).

Concentrations, rain and wind speed are logged. Gaps of up to six hours are bridged in time, longer ones take the other
sites' mean moved by the site's own difference. Every value is then a departure from its site's mean for that month of
the year and hour of the day, so that seasons, daily courses and sites cannot make relations, and hours become daily
means.

Days follow each other: the inputs are yesterday's indicators, the outputs today's, and an edge is a relation of what
yesterday leaves unexplained. The 12 sites breathe the same air, so that they are no independent samples: the main
result is their mean, and single sites are shown for comparison. What dependence is left is in the intervals, which
come from resampling blocks of 14 days with a refit to each (95 %, percentiles); `effective_n` is the number of
independent days with which a normal sample would have that spread. The tests' q-values assume independent days.

Particles and gases correlate so strongly that the nodewise estimate of NARD's table of edges, `edge_partial`, is
still drawn towards zero. With four years of days and 11 outputs no penalty is needed to estimate one number:
`partial_correlation` and its interval are those of NARD's residuals without one.
"""

_PAIR = ("PM2.5", "humidity")
_BLOCK = 14
_RESAMPLES = 400


def runs(settings: Mapping) -> list[dict]:
    folder = settings["files"].get("air_quality")
    specs: list[dict] = [{"site": SITES, "method": method} for method in NARDS]
    try:
        sites = air_files(given(settings["files"], "air_quality"))
        specs += [{"site": site, "method": "sequential"} for site in sites]
    except CannotRun:
        # One run is enough to say so.
        specs = specs[:1]
    resamples = max(50, round(settings["scale"] * _RESAMPLES))
    for spec in specs:
        spec |= {
            "name": f"{spec['site'].replace(' ', '-')}-{spec['method']}",
            "file": folder,
            "seed": 1,
            "resamples": resamples if spec["method"] == "sequential" else 0,
        }
    return specs


def run(spec: Mapping) -> dict:
    sites, counts = load_air(given({"air_quality": spec["file"]}, "air_quality"))
    days = air_days(sites, spec["site"])
    X, Y = days.iloc[:-1].add_prefix("yesterday's "), days.iloc[1:]
    X.index = Y.index
    model, seconds = fit(spec["method"], X, Y, spec["seed"])
    result = found(model, seconds, partials=True)
    edge = _edge(model)
    errors = Y - model.predict(X)
    hourly = [sites[spec["site"]]] if spec["site"] in sites else sites.values()
    out = {
        **result,
        "days": len(Y),
        "outputs": list(Y.columns),
        "filled": {key: int(value) for key, value in counts.items()},
        "hourly_correlation": float(np.mean([values[list(_PAIR)].corr().iloc[0, 1] for values in hourly])),
        "same_day_partial": _partial(Y),
        "partial_correlation": _partial(errors),
        "edge": {key: edge[key] for key in ("partial_correlation", "pvalue", "qvalue", "selected")},
        "rank": int((model.edges(FDR)["pvalue"] < edge["pvalue"]).sum()) + 1,
        "autocorrelation": float(max(np.corrcoef(e[1:], e[:-1])[0, 1] for e in errors.to_numpy().T)),
    }
    if spec["resamples"]:
        fixed = tuned_settings(spec["method"], model)
        out["resampled"] = bootstrap(spec["method"], X, Y, fixed, spec["resamples"], spec["seed"]).tolist()
    return out


def bootstrap(method, X, Y, fixed: Mapping, resamples: int, seed: int) -> np.ndarray:
    """The partial correlation of the pair's residuals in refits to blocks of days, drawn with replacement."""
    rng, n = np.random.default_rng(seed), len(Y)
    out = []
    for _ in range(resamples):
        starts = rng.integers(n - _BLOCK + 1, size=-(-n // _BLOCK))
        rows = (starts[:, None] + np.arange(_BLOCK)).ravel()[:n]
        inputs, outputs = X.iloc[rows].reset_index(drop=True), Y.iloc[rows].reset_index(drop=True)
        model, _ = fit(method, inputs, outputs, seed, fixed)
        out.append(_partial(outputs - model.predict(inputs)))
    return np.array(out)


def _edge(model) -> dict:
    edges = model.edges(FDR)
    row = edges[[{a, b} == set(_PAIR) for a, b in zip(edges["source"], edges["target"], strict=True)]].iloc[0]
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in row.items()}


def _partial(Y: pd.DataFrame) -> float:
    """The pair's partial correlation given the other indicators of the same day."""
    omega = np.linalg.inv(Y.corr().to_numpy())
    i, j = (Y.columns.get_loc(name) for name in _PAIR)
    return float(-omega[i, j] / np.sqrt(omega[i, i] * omega[j, j]))


def table(results: Sequence[Mapping]) -> pd.DataFrame:
    reference = next(iter(done(results, site=SITES, method="sequential")), None)
    rows = []
    for record in results:
        result, spec = record.get("result"), record["spec"]
        row = {"site": spec["site"], "method": paper_names(spec["method"]), "why_not": record.get("reason")}
        if result:
            sample, value = np.array(result.get("resampled", [])), result["partial_correlation"]
            row |= {
                "days": result["days"],
                "filled_share": result["filled"]["missing"] / result["filled"]["values"],
                "hourly_correlation": result["hourly_correlation"],
                "same_day_partial": result["same_day_partial"],
                "partial_correlation": value,
                "low": np.quantile(sample, 0.025) if len(sample) else None,
                "high": np.quantile(sample, 0.975) if len(sample) else None,
                "effective_n": (1 - value**2) ** 2 / sample.var(ddof=1) if len(sample) else None,
                "edge_partial": result["edge"]["partial_correlation"],
                "qvalue": result["edge"]["qvalue"],
                "selected": result["edge"]["selected"],
                "rank_among_edges": result["rank"],
                "edges": len(result["edges"]),
                "associations": len(result["associations"]),
                "jaccard_edges_with_all_sites": overlap(record, reference, "edges"),
                "autocorrelation_left": result["autocorrelation"],
                "minutes": result["fit_seconds"] / 60,
            }
        rows.append(row)
    return pd.DataFrame(rows).assign(paper_finding="strong correlation")


def brief(table: pd.DataFrame) -> pd.DataFrame:
    shown = (
        *("site", "method", "days", "hourly_correlation", "partial_correlation", "low", "high", "effective_n"),
        *("edge_partial", "qvalue", "edges", "associations", "jaccard_edges_with_all_sites", "why_not"),
    )
    return table[[name for name in shown if name in table]]


def remarks(table: pd.DataFrame) -> list[str]:
    main = table[(table["site"] == SITES) & (table["method"] == paper_names("sequential"))]
    if "partial_correlation" not in table or main["partial_correlation"].isna().all():
        return [f"No result: {reason}." for reason in table["why_not"].dropna().unique()]
    row = main.iloc[0]
    sites = table[table["site"] != SITES]
    clear = (sites["low"] > 0) | (sites["high"] < 0)
    out = [
        f"PM2.5 and humidity, mean of all sites: partial correlation {row['partial_correlation']:.2f}, 95 % interval "
        f"{row['low']:.2f} to {row['high']:.2f} ({row['days']:.0f} days, worth {row['effective_n']:.0f} independent); "
        f"q = {row['qvalue']:.2g}, number {row['rank_among_edges']:.0f} among {row['edges']:.0f} edges by p-value. The "
        f"plain correlation of hourly values is {row['hourly_correlation']:.2f}.",
    ]
    if len(sites):
        out.append(
            f"At single sites it is {sites['partial_correlation'].min():.2f} to "
            f"{sites['partial_correlation'].max():.2f}, and {clear.sum()} of {len(sites)} intervals exclude zero."
        )
    others = table[(table["site"] == SITES) & table["jaccard_edges_with_all_sites"].notna()]
    if len(others):
        lowest = others["jaccard_edges_with_all_sites"].min()
        out.append(f"The variants' edges agree with Sequential NARD's by a Jaccard index of at least {lowest:.3f}.")
    return out


def figure(table: pd.DataFrame, results: Sequence[Mapping]) -> dict[str, Figure]:
    names = {"air_quality_network": "The air of Beijing", "air_quality_humidity": "PM2.5 and humidity"}
    main = done(results, site=SITES, method="sequential")
    if not main:
        text = "; ".join(dict.fromkeys(table["why_not"].dropna()))
        return {name: sentence(f"There is no result: {text}.", title=label) for name, label in names.items()}
    result = main[0]["result"]
    outputs = result["outputs"]
    groups = [AIR[name] for name in outputs]
    nodes = pd.DataFrame({"id": outputs, "label": outputs, "pathway": groups, "pathways": groups})
    note = "Beijing multi-site air quality, daily means of 12 sites' departures – NARD sequential"
    rows = table[table["low"].notna()]
    return {
        "air_quality_network": plot_network(
            nodes,
            edge_frame(result, outputs),
            title="The air of Beijing: relations within a day",
            note=note,
            words=("indicators", "group"),
        ),
        "air_quality_humidity": plot_intervals(
            rows["site"].tolist(),
            rows["partial_correlation"],
            rows["low"],
            rows["high"],
            title="PM2.5 and relative humidity, given the other indicators and yesterday",
            what="partial correlation, 95 % interval (blocks of 14 days resampled)",
            note="Beijing multi-site air quality – NARD sequential",
        ),
    }
