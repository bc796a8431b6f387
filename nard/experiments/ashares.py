"""Five days of prices → the next opening price of every A-share: counts, agreement, times, and blocks of stocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage
from scipy.spatial.distance import squareform

from nard.data.cleaning import tamed
from nard.data.ledger import Ledger
from nard.experiments.charts import plot_ordered
from nard.experiments.datasets import given, load_prices, share_windows
from nard.experiments.fits import done, fit, found, overlap, patience
from nard.experiments.synthetic import NARDS, PRELOAD, fitted_large, lam_for, paper_names, warm_up
from nard.figures.page import sentence

__all__ = ["PRELOAD", "READINGS", "brief", "clusters", "figure", "remarks", "run", "runs", "table"]

READINGS = """
The paper's 3,032 stocks are not public. Ours are those of the given file whose adjusted prices are all positive; a
missing day takes the last known price. The inputs are open, high, low and close of five days, the output is the sixth
day's open, for every stock. N is the paper's 1,696 days, and the days after them are held out.

"prices" is the paper's reading, levels. Prices drift together for years whether or not they have to do with each other,
so that tests between levels find far too much; "changes" are logarithms relative to the last known close, as normal
scores (they have heavy tails), and are what we would look at. Both are shown.

NARD is the paper's column-wise model, without hidden inputs, at λ = 0.86 sqrt(ln m / N). With more inputs than days its
posterior mean nearly interpolates, which the held-out error shows. Findings are counted at 0.05. All stocks are fitted
by Sequential NARD only, to prices; everything else runs on a tenth of them (evenly taken from the list). The Jaccard
index is with MRCE, as in the paper, and with Sequential NARD; MRCE and CAPME, for standardised columns, have penalties
found as in Table 1. "Time per iteration" is the time of a fit over its outer steps. The paper's figures, of 3,032
stocks, stand beside ours of fewer.

The data name no sectors. Stocks are ordered by Ward's linkage of their residual correlations and cut into clusters of
about 40, at least four; `within_clusters` is the share of edges within a cluster, `by_chance` that of all pairs.
Clusters and edges come from the same residuals, so that some concentration is to be expected.
"""

_N = 1696
_HELD_OUT = 20  # at least one day in so many
_STOCKS = 1731  # scale 1 takes all there are
_SMALL = 0.1
_CLUSTER = 40
_BASELINES = ("mrce", "capme")
_BASELINE_SECONDS = 100
# Associations, Jaccard index with MRCE, seconds per iteration, hours in all.
_PAPER = {
    "mrce": (97939, None, 1200, 17.0),
    "capme": (98335, 0.869, 1300, 16.5),
    "full": (99671, 0.881, 1000, 14.5),
    "sequential": (100309, 0.891, None, 8.0),
    "surrogate": (99105, 0.893, 255, 5.5),
    "hybrid": (99475, 0.890, None, 3.0),
}


def runs(settings: Mapping) -> list[dict]:
    file, scale = settings["files"].get("ashares"), settings["scale"]
    stocks = None if scale >= 1 else max(10, round(scale * _STOCKS))
    small = max(10, round(min(scale, _SMALL) * _STOCKS))
    specs = []
    for reading in ("prices", "changes"):
        if stocks != small and reading == "prices":
            specs.append({"reading": reading, "stocks": stocks, "method": "sequential"})
        for method in (*NARDS, *_BASELINES):
            limit = {"seconds": patience(settings, _BASELINE_SECONDS)} if method in _BASELINES else {}
            specs.append({"reading": reading, "stocks": small, "method": method, **limit})
    for spec in specs:
        spec |= {"name": f"{spec['reading']}-{spec['stocks'] or 'all'}-{spec['method']}", "file": file, "seed": 1}
    return specs if file else specs[:1]


def run(spec: Mapping) -> dict:
    prices, dropped = load_prices(given({"ashares": spec["file"]}, "ashares"))
    tickers = prices["open"].columns
    if spec["stocks"] is not None and spec["stocks"] < len(tickers):
        chosen = tickers[np.linspace(0, len(tickers) - 1, spec["stocks"]).round().astype(int)]
        prices = {name: values[chosen] for name, values in prices.items()}
    X, Y, naive = share_windows(prices, spec["reading"])
    if spec["reading"] == "changes":
        X, Y = (tamed(values, "rank_normal", "", Ledger()) for values in (X, Y))
        naive = Y * 0.0
    n = min(_N, len(Y) - max(1, len(Y) // _HELD_OUT))
    lam = lam_for(Y.shape[1], n)
    # In units of the days of the fit, which the baselines' penalties take for granted.
    mean, sd = Y.iloc[:n].mean(), Y.iloc[:n].std(ddof=0).replace(0.0, 1.0)
    Y, naive = (Y - mean) / sd, (naive - mean) / sd
    X = (X - X.iloc[:n].mean()) / X.iloc[:n].std(ddof=0).replace(0.0, 1.0)
    warm_up(spec["method"])
    if spec["method"] in _BASELINES:
        model, seconds = fitted_large(spec["method"], X.iloc[:n], Y.iloc[:n], lam)
    else:
        model, seconds = fit(spec["method"], X.iloc[:n], Y.iloc[:n], spec["seed"], lam=lam)
    out = {
        **found(model, seconds, partials=spec["method"] == "sequential"),
        "days": n,
        "held_out_days": len(Y) - n,
        "dropped_tickers": len(dropped),
        "error": float(((Y.iloc[n:] - model.predict(X.iloc[n:])) ** 2).to_numpy().mean()),
        "naive_error": float(((Y - naive).iloc[n:] ** 2).to_numpy().mean()),
    }
    if spec["method"] == "sequential":
        order, cluster = clusters(model.covariance_)
        out |= {"order": order.tolist(), "cluster": cluster.tolist()}
    return out


def clusters(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The order of stocks by Ward's linkage of sqrt(2 − 2 · residual correlation), and the cluster of each."""
    sd = np.sqrt(np.diag(covariance))
    squared = 2 - 2 * covariance / np.outer(sd, sd)
    np.fill_diagonal(squared, 0.0)
    tree = linkage(squareform(np.sqrt(np.clip(0.5 * (squared + squared.T), 0, 4)), checks=False), "ward")
    return leaves_list(tree), fcluster(tree, max(4, round(len(sd) / _CLUSTER)), "maxclust")


def _within(result: Mapping) -> tuple[float, float]:
    """The share of edges within clusters, and of all pairs."""
    cluster, m = np.array(result["cluster"]), result["n_targets"]
    codes = np.array(result["edges"], dtype=int)
    pairs = np.bincount(cluster)
    expected = (pairs * (pairs - 1)).sum() / (m * (m - 1))
    return (cluster[codes // m] == cluster[codes % m]).mean() if len(codes) else np.nan, expected


def table(results: Sequence[Mapping]) -> pd.DataFrame:
    rows = []
    for record in results:
        spec, result = record["spec"], record.get("result")
        same = {r["spec"]["method"]: r for r in done(results, reading=spec["reading"], stocks=spec["stocks"])}
        paper = _PAPER[spec["method"]] if spec["reading"] == "prices" else (None,) * 4
        row = {
            "reading": spec["reading"],
            "method": paper_names(spec["method"]),
            "m": spec["stocks"],
            "why_not": record.get("reason"),
            "peak_gb": record["peak_gb"],
        }
        if result:
            me = same[spec["method"]]
            within, expected = _within(result) if "cluster" in result else (None, None)
            row |= {
                "m": result["n_targets"],
                "d": result["n_features"],
                "n": result["days"],
                "associations": len(result["associations"]),
                "edges": len(result["edges"]),
                **{
                    f"jaccard_{what}_{other}": overlap(me, same.get(other), what)
                    for other in ("mrce", "sequential")
                    for what in ("associations", "edges")
                },
                "seconds_per_iteration": result["step_seconds"] / result["steps"] if result["steps"] else None,
                "hours": result["fit_seconds"] / 3600,
                "held_out_error": result["error"],
                "no_change_error": result["naive_error"],
                "within_clusters": within,
                "by_chance": expected,
            }
        names = ("associations", "jaccard", "seconds_per_iteration", "hours")
        rows.append({**row, **{f"paper_{name}": value for name, value in zip(names, paper, strict=True)}})
    return pd.DataFrame(rows)


def brief(table: pd.DataFrame) -> pd.DataFrame:
    shown = (
        *("reading", "method", "m", "d", "n", "associations", "edges", "jaccard_associations_mrce"),
        *("jaccard_associations_sequential", "seconds_per_iteration", "hours", "held_out_error", "no_change_error"),
        *("paper_associations", "paper_jaccard", "paper_seconds_per_iteration", "paper_hours", "why_not"),
    )
    return table[[name for name in shown if name in table]]


def remarks(table: pd.DataFrame) -> list[str]:
    absent = table[table["why_not"].notna()]
    if "edges" not in table:
        return [f"No result: {reason}." for reason in absent["why_not"].unique()]
    out = []
    for row in table[table["within_clusters"].notna()].itertuples():
        out.append(
            f"{row.reading}, {row.m:.0f} stocks: {row.edges:.0f} edges, {row.within_clusters:.0%} within clusters, "
            f"which hold {row.by_chance:.0%} of all pairs; {row.associations:.0f} associations; {60 * row.hours:.1f} "
            f"minutes. Held-out error {row.held_out_error:.3g}, that of no change {row.no_change_error:.3g}."
        )
    for reading, part in table.groupby("reading", sort=False):
        variants = part[part["method"].str.contains("NARD")]
        for other, name in (("mrce", "MRCE"), ("sequential", "Sequential NARD")):
            # Where neither of two finds any there is no index.
            indices = {what: variants[f"jaccard_{what}_{other}"].dropna() for what in ("associations", "edges")}
            ranges = [f"{one.min():.3f} to {one.max():.3f} for {what}" for what, one in indices.items() if len(one)]
            if ranges:
                out.append(
                    f"{reading}, {variants['m'].iloc[0]:.0f} stocks: NARD variants with {name}: Jaccard index "
                    f"{', '.join(ranges)}."
                )
    out += [f"{row.method} on {row.reading}, {row.m:.0f} stocks: {row.why_not}." for row in absent.itertuples()]
    return out


def figure(table: pd.DataFrame, results: Sequence[Mapping]) -> dict[str, Figure]:
    figures = {}
    for reading in ("prices", "changes"):
        label = f"A-shares, {reading}: residual network, stocks in clusters"
        records = done(results, reading=reading, method="sequential")
        if not records:
            reason = next(iter(table["why_not"].dropna()), "no run")
            figures[f"ashares_{reading}"] = sentence(f"There is no network: {reason}.", title=label)
            continue
        result = max(records, key=lambda record: record["result"]["n_targets"])["result"]
        within, expected = _within(result)
        figures[f"ashares_{reading}"] = plot_ordered(
            result["edges"],
            result["partial_correlations"],
            result["order"],
            result["cluster"],
            title=label,
            remarks=[
                f"{len(result['edges'])} edges (q ≤ 0.05) between {result['n_targets']} stocks; {within:.0%} within "
                f"clusters, which hold {expected:.0%} of all pairs"
            ],
            note="A-shares, daily prices – NARD sequential",
        )
    return figures
