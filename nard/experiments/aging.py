"""The aging table and the phenotype network: a simulated cohort of the paper's dimensions, and NHANES."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from nard.experiments.datasets import given, load_nhanes, nhanes_blocks
from nard.experiments.fits import done, edge_frame, fit, found, overlap, patience
from nard.experiments.synthetic import NARDS, PRELOAD, fitted_large, lam_for, paper_names, warm_up
from nard.figures.blocks import plot_blocks
from nard.figures.page import sentence
from nard.fits.comparison import recovery
from nard.simulate import draw_residuals, precision_of_graph

__all__ = ["PRELOAD", "READINGS", "Cohort", "brief", "figure", "remarks", "run", "runs", "simulate", "sizes", "table"]

READINGS = """
The cohort of 1,022 people is not public. The simulated one has its dimensions (× scale, but always 1,022 people) and
about its number of associations: a tenth of the molecular phenotypes drive an eighth of the macro phenotypes of two
tissues and one per cent of the others. Macro phenotypes come in tissues of about 90, wired within, one of them (the
fourth, 273 to 364 at full size, like the paper's 280 to 370) more than the others. All molecular phenotypes share age
and their tissue's factor. NARD is the paper's column-wise model, without hidden inputs; λ is 0.86 sqrt(ln m / N), since
choosing it by cross-validation would take most of the time.

"Associations" may be entries of W (molecule → macro phenotype) or edges of Ω (between macro phenotypes). The table has
both. The paper's Jaccard index is one with HS-GHS, which has a dash; ours is given with HS-GHS, with MRCE, and with
Sequential NARD, each on the same data. Of the baselines MRCE alone runs at the size of the cohort, with penalties
found as in Table 1; all of them run at a tenth of it, where Sequential NARD is run once more to compare with.

NHANES has 10 molecular and 15 macro phenotypes that correlate with age (config/aging.yaml says why these), so its
counts compare with nothing in the paper.
"""

WHAT = ("associations", "edges")
_PEOPLE, _MOLECULAR, _MACRO = 1022, 4119, 1522
_TISSUE = 91  # macro phenotypes in a tissue, at any size
_DENSE = 3  # the tissue whose block stands out
_DEGREE, _DENSE_DEGREE, _STRAY_DEGREE = 4.0, 14.0, 0.2
_RELEVANT = 0.1
_OWN, _OTHER = 0.125, 0.01  # chance that a relevant molecule drives a phenotype of its tissues, and of others
_WEIGHTS = (0.3, 0.8)
_AGE, _FACTOR = 0.3, 0.4  # loadings of molecular phenotypes on age and on their tissue's factor
_SMALL = 0.1
_SAMPLERS = ("jrns", "hsghs")
_BASELINES = ("mrce", "capme", "mssl", *_SAMPLERS)
_BASELINE_SECONDS = 180

# Of the paper's table: associations, Jaccard index, minutes; of the methods that we can run at its size.
_PAPER = {
    "mrce": (15330, 0.979, None),
    "full": (15101, 0.988, 24.0),
    "sequential": (15014, 0.988, 14.0),
    "surrogate": (15062, 0.989, None),
    "hybrid": (15039, 0.989, None),
}


@dataclass(frozen=True)
class Cohort:
    """A simulated cohort: people × molecular, people × macro phenotypes, tissues of the latter, and the truth."""

    X: pd.DataFrame
    Y: pd.DataFrame
    tissues: list[str]
    coef: np.ndarray
    precision: np.ndarray


def simulate(people: int, molecular: int, macro: int, seed: int) -> Cohort:
    """A cohort with tissues: blocks in the residual network, and factors of the molecular phenotypes."""
    rng = np.random.default_rng([seed, 3])
    tissue = np.arange(macro) // _TISSUE
    n_tissues = int(tissue[-1]) + 1
    same = tissue[:, None] == tissue[None, :]
    degree = np.where(tissue == min(_DENSE, n_tissues - 1), _DENSE_DEGREE, _DEGREE)
    sizes = np.bincount(tissue)[tissue]
    chance = np.where(same, (degree / np.maximum(sizes - 1, degree))[:, None], _STRAY_DEGREE / macro)
    omega = precision_of_graph(rng.random(same.shape) < chance, rng)

    of_input = rng.integers(n_tissues, size=molecular)
    relevant = rng.choice(molecular, max(1, round(_RELEVANT * molecular)), replace=False)
    W = np.zeros((macro, molecular))
    for j in relevant:
        own = (tissue == of_input[j]) | (tissue == rng.integers(n_tissues))
        hit = rng.random(macro) < np.where(own, _OWN, _OTHER)
        W[hit, j] = rng.uniform(*_WEIGHTS, hit.sum()) * rng.choice([-1.0, 1.0], hit.sum())

    factors, age = rng.standard_normal((people, n_tissues)), rng.standard_normal((people, 1))
    own_share = np.sqrt(1 - _AGE**2 - _FACTOR**2)
    X = own_share * rng.standard_normal((people, molecular)) + _FACTOR * factors[:, of_input] + _AGE * age
    Y = X @ W.T + draw_residuals(omega, people, rng)
    return Cohort(
        pd.DataFrame(X, columns=[f"molecule {j + 1}" for j in range(molecular)]),
        pd.DataFrame(Y, columns=[f"phenotype {i + 1}" for i in range(macro)]),
        [f"tissue {k + 1}" for k in tissue],
        W,
        omega,
    )


def sizes(scale: float) -> dict[str, int]:
    """People, molecular and macro phenotypes; the number of people stays, since power is theirs."""
    return {"people": _PEOPLE, "molecular": max(20, round(scale * _MOLECULAR)), "macro": max(10, round(scale * _MACRO))}


def runs(settings: Mapping) -> list[dict]:
    full, small = sizes(settings["scale"]), sizes(min(settings["scale"], _SMALL))
    large = [{"data": "simulated", **full, "method": method} for method in NARDS]
    others = []
    if small != full:
        large.append({"data": "simulated", **full, "method": "mrce", "given": True})
        others.append({"data": "simulated", **small, "method": "sequential"})
    others += [{"data": "simulated", **small, "method": method} for method in _BASELINES]
    file = settings["files"].get("nhanes")
    real = [{"data": "NHANES", "file": file, "method": method} for method in (*NARDS, *_BASELINES)]
    specs = [*large, *others, *(real if file else real[:1])]
    for spec in specs:
        size = f"-{spec['macro']}" if "macro" in spec else ""
        spec |= {"name": f"{spec['data'].lower()}{size}-{spec['method']}", "seed": 1}
        if spec["method"] in _BASELINES:
            spec["seconds"] = patience(settings, _BASELINE_SECONDS)
        if spec["method"] in _SAMPLERS:
            spec["time_budget"] = 0.4 * spec["seconds"]
    return specs


def run(spec: Mapping) -> dict:
    if spec["data"] == "NHANES":
        prepared = load_nhanes(given({"nhanes": spec["file"]}, "nhanes"))
        X, Y, blocks = prepared.X, prepared.Y, nhanes_blocks()
        chosen: dict[str, Any] = {}
        about = {"people": len(X), "outputs": list(Y.columns), "blocks": [blocks[name] for name in Y]}
    else:
        cohort = simulate(spec["people"], spec["molecular"], spec["macro"], spec["seed"])
        X, Y = cohort.X, cohort.Y
        chosen = {"lam": lam_for(Y.shape[1], len(X))}
        about = {"people": len(X), "outputs": list(Y.columns), "blocks": cohort.tissues}
    warm_up(spec["method"])
    if spec.get("given"):
        model, seconds = fitted_large(spec["method"], X, Y, chosen["lam"])
    else:
        model, seconds = fit(spec["method"], X, Y, spec["seed"], **chosen, time_budget=spec.get("time_budget"))
    result = found(model, seconds, partials=spec["method"] == "sequential")
    if spec["data"] == "simulated":
        m = Y.shape[1]
        rows, columns = np.nonzero(cohort.coef)
        upper = np.argwhere(np.triu(cohort.precision, 1))
        about["truth"] = {
            "associations": recovery(result["associations"], (columns * m + rows).tolist(), cohort.coef.size),
            "edges": recovery(result["edges"], (upper[:, 0] * m + upper[:, 1]).tolist(), m * (m - 1) // 2),
        }
    return {**about, **result}


def table(results: Sequence[Mapping]) -> pd.DataFrame:
    rows = []
    for record in results:
        spec, result = record["spec"], record.get("result", {})
        same = done(results, data=spec["data"], macro=spec.get("macro"))
        of_method = {other["spec"]["method"]: other for other in same}
        me = of_method.get(spec["method"])
        truth = result.get("truth", {"associations": {}, "edges": {}})
        # The paper's counts belong to its size only.
        paper = _PAPER.get(spec["method"], (None,) * 3) if spec.get("macro") == _MACRO else (None,) * 3
        rows.append(
            {
                "data": spec["data"],
                "method": paper_names(spec["method"]),
                "people": result.get("people", spec.get("people")),
                "d": result.get("n_features", spec.get("molecular")),
                "m": result.get("n_targets", spec.get("macro")),
                **{what: len(result[what]) if what in result else None for what in WHAT},
                **{
                    f"jaccard_{what}_{name}": overlap(me, of_method.get(other), what)
                    for other, name in (("sequential", "sequential"), ("hsghs", "hsghs"), ("mrce", "mrce"))
                    for what in WHAT
                },
                **{f"{what}_{rate}": truth[what].get(rate) for what in WHAT for rate in ("tpr", "fdr")},
                **{f"jaccard_{what}_any_variant": _lowest(me, of_method, what) for what in WHAT},
                "minutes": result["fit_seconds"] / 60 if result else None,
                "peak_gb": record["peak_gb"],
                "draws": result.get("draws"),
                "why_not": record.get("reason"),
                "paper_associations": paper[0],
                "paper_jaccard": paper[1],
                "paper_minutes": paper[2],
            }
        )
    return pd.DataFrame(rows)


def brief(table: pd.DataFrame) -> pd.DataFrame:
    return table[
        [
            *("data", "method", "d", "m", "associations", "edges"),
            *("jaccard_associations_any_variant", "jaccard_edges_any_variant"),
            *("jaccard_associations_sequential", "jaccard_associations_hsghs", "jaccard_associations_mrce"),
            *("associations_tpr", "associations_fdr", "edges_tpr", "edges_fdr", "minutes"),
            *("paper_associations", "paper_jaccard", "paper_minutes", "why_not"),
        ]
    ]


def _lowest(me: Mapping | None, of_method: Mapping, what: str) -> float:
    """The lowest Jaccard index of a variant with another one."""
    if me is None or me["spec"]["method"] not in NARDS:
        return float("nan")
    others = [overlap(me, of_method[name], what) for name in NARDS if of_method.get(name) not in (None, me)]
    return min((value for value in others if value == value), default=float("nan"))


def remarks(table: pd.DataFrame) -> list[str]:
    out = []
    variants = [paper_names(method) for method in NARDS]
    for (data, m), part in table[table["method"].isin(variants)].groupby(["data", "m"], sort=False):
        if part["jaccard_associations_any_variant"].notna().any():
            out.append(
                f"{data}, m = {m:.0f}: the Jaccard index of any two NARD variants is at least "
                f"{part['jaccard_associations_any_variant'].min():.4f} for associations and "
                f"{part['jaccard_edges_any_variant'].min():.4f} for edges (the paper: above 0.985)."
            )
        known = part.dropna(subset="associations_tpr")
        if len(known):
            out.append(
                f"{data}, m = {m:.0f}: the variants find at least {known['associations_tpr'].min():.1%} of the true "
                f"associations, with at most {known['associations_fdr'].max():.1%} false among the found, and at least "
                f"{known['edges_tpr'].min():.1%} of the true edges, with at most {known['edges_fdr'].max():.1%} false."
            )
    for _, row in table[table["why_not"].notna()].iterrows():
        size = f", m = {row['m']:.0f}" if row["m"] == row["m"] else ""
        out.append(f"{row['method']} has no result on {row['data']}{size}: {row['why_not']}.")
    return out


def figure(table: pd.DataFrame, results: Sequence[Mapping]) -> dict[str, Figure]:
    figures = {}
    for name, data, label in (
        ("aging_blocks", "simulated", "Simulated aging cohort"),
        ("aging_nhanes", "NHANES", "NHANES 2011–2012"),
    ):
        records = done(results, data=data, method="sequential")
        if not records:
            reasons = [record["reason"] for record in results if record["spec"]["data"] == data and "reason" in record]
            figures[name] = sentence(f"There is no network: {reasons[0] if reasons else 'no run'}.", title=label)
            continue
        result = max(records, key=lambda record: record["result"]["n_targets"])["result"]
        nodes = pd.DataFrame({"id": result["outputs"], "label": result["outputs"], "pathway": result["blocks"]})
        stamp = f"{'Simulated data' if data == 'simulated' else label} – NARD sequential"
        figures[name] = plot_blocks(
            nodes, edge_frame(result, result["outputs"]), title=f"{label}: phenotype network", note=stamp
        )
    return figures
