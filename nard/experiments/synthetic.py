"""What the chapters on simulated data share: sizes, data, fits, and how findings are counted against the truth."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from nard.experiments import CannotRun
from nard.fits.methods import METHODS, make_model
from nard.selection import qvalues
from nard.simulate import Regression, make_regression

__all__ = [
    "AT_PAPER_FPR",
    "DESIGNS",
    "FDR",
    "NARDS",
    "PRELOAD",
    "brief_readings",
    "counted",
    "distance_from_paper",
    "done",
    "fitted",
    "fitted_large",
    "grouped",
    "lam_for",
    "paper_names",
    "rates",
    "reading_rows",
    "scaled",
    "scores",
    "selections",
    "simulated",
    "tpr_at_fpr",
    "truth",
    "warm_up",
]

FDR = 0.05
# Ranges of the non-zero weights of W.
DESIGNS = {"strong": (0.3, 1.0), "any size": (0.0, 1.0)}
AT_PAPER_FPR = "associations, at the paper's FPR"
NARDS = ("full", "sequential", "surrogate", "hybrid")
PRELOAD = ("nard.estimator", "nard.baselines")
_LEAST = 12
# NARD is the paper's model unless a chapter says otherwise.
_FIT = {"lam": 0.1, "relevance": "inputs", "hidden": 0, "time_budget": None}
# λ sinks with N as the noise of a correlation does; this factor makes it 0.06 at m = N = 1,500.
_LAM_FACTOR = 0.86


def scaled(settings: Mapping, *sizes: int) -> list[int]:
    """Sizes times the config's scale, never below a dozen."""
    return [max(_LEAST, round(settings["scale"] * size)) for size in sizes]


def lam_for(m: int, n: int) -> float:
    """The λ of fits whose time counts: 0.86 sqrt(ln m / N), 0.06 at the size of Table 1."""
    return float(np.round(_LAM_FACTOR * np.sqrt(np.log(m) / n), 4))


def simulated(spec: Mapping) -> Regression:
    """The data of a run: the paper's design, with the sizes and shares that its spec names."""
    return make_regression(
        spec["n"],
        spec["d"],
        spec["m"],
        relevant=spec["relevant"],
        density=spec["density"],
        weight_range=tuple(spec["weights"]),
        edge_probability=spec["p"],
        feature_correlation=spec.get("correlation", 0.0),
        random_state=spec["seed"],
    )


def warm_up(method: str, **fixed) -> None:
    """Compiles or loads what a method needs, so that its time is that of the fit."""
    small = make_regression(40, 15, 6, random_state=0)
    for rows in (slice(None), slice(12)):
        fitted(method, small.X[rows], small.Y[rows], seed=0, **{**fixed, **_brief(method)})


def _brief(method: str) -> dict:
    return {"n_burnin": 2, "n_draws": 2} if "time_budget" in METHODS[method].takes else {}


def fitted(method: str, X, Y, seed: int, lam: float | str = 0.1, **fixed):
    """A fitted model and the seconds it took; not converging is left for the record to tell."""
    from nard.baselines.hsghs import ImproperPosterior

    if not METHODS[method].minimises_j and "standardize" in METHODS[method].arguments:
        # As published, on the data as they are: the priors presume residual variances near one, and those of the
        # experiments are.
        fixed = {"standardize": False, **fixed}
    model = make_model(method, {**_FIT, "lam": lam}, seed, **fixed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        started = time.perf_counter()
        try:
            model.fit(X, Y)
        except ImproperPosterior as error:
            raise CannotRun(str(error)) from None
    return model, time.perf_counter() - started


def fitted_large(method: str, X, Y, lam: float):
    """MRCE or CAPME where their cross-validation would take hours: a fitted model and its seconds."""
    from nard.experiments.large_mrce import LargeCAPME, LargeMRCE

    model = LargeCAPME(tau=lam) if method == "capme" else LargeMRCE(lam1=lam)
    started = time.perf_counter()
    model.fit(X, Y)
    return model, time.perf_counter() - started


def rates(found: np.ndarray, true: np.ndarray) -> dict:
    """True positive rate, false positive rate and false discovery proportion of a mask against the truth."""
    hits, n_found, n_true = int((found & true).sum()), int(found.sum()), int(true.sum())
    return {
        "tpr": hits / n_true if n_true else np.nan,
        "fpr": (n_found - hits) / max(true.size - n_true, 1),
        "fdr": (n_found - hits) / max(n_found, 1),
    }


def tpr_at_fpr(score: np.ndarray, true: np.ndarray, fpr: float) -> dict:
    """The rates of the largest set {score > threshold} whose false positive rate is at most ``fpr``."""
    null = score[~true]
    allowed = int(fpr * null.size)
    if allowed >= null.size:
        threshold = -np.inf
    else:
        threshold = np.partition(null, null.size - 1 - allowed)[null.size - 1 - allowed]
    return rates(score > threshold, true)


def _upper(matrix: np.ndarray) -> np.ndarray:
    return matrix[np.triu_indices(len(matrix), 1)]


def truth(data: Regression) -> dict[str, np.ndarray]:
    """The true inputs, associations (m×d) and edges (upper triangle) as masks."""
    return {"inputs": data.relevant, "associations": data.coef != 0, "edges": _upper(data.edges)}


def scores(method: str, model) -> dict[str, np.ndarray]:
    """How a method ranks inputs, associations and edges, larger is surer.

    NARD by its tests; JRNS by posterior inclusion, HS-GHS by |mean|/sd, the others by |weight| in standard deviations
    and |partial correlation|; inputs by their surest association.
    """
    if METHODS[method].minimises_j:
        z = np.abs(model.entry_test_.z.T)
        return {"inputs": -model.input_test_.pvalue, "associations": z, "edges": _upper(np.abs(model.edge_test_.z))}
    found = model._estimated
    scale = np.sqrt(np.diag(found.omega))
    if hasattr(model, "inclusion_coef_"):
        associations, edges = model.inclusion_coef_, model.inclusion_precision_
    elif found.W_sd is not None:
        associations = np.abs(found.W) / np.maximum(found.W_sd, 1e-300)
        edges = np.abs(found.omega) / np.maximum(found.omega_sd, 1e-300)
    else:
        associations, edges = np.abs(found.W), np.abs(found.omega / np.outer(scale, scale))
    return {"inputs": associations.max(axis=0), "associations": associations, "edges": _upper(edges)}


def selections(method: str, model, fdr: float = FDR) -> dict[str, np.ndarray]:
    """What a method calls a finding: NARD at a false discovery rate, the others by their own rule."""
    if METHODS[method].minimises_j:
        associations = np.zeros(model.coef_.shape, dtype=bool)
        columns, rows, _ = model.entry_test_.selected(fdr)
        associations[rows, columns] = True
        return {
            "inputs": qvalues(model.input_test_.pvalue) <= fdr,
            "associations": associations,
            "edges": qvalues(_upper(model.edge_test_.pvalue)) <= fdr,
        }
    found = model._estimated
    return {
        "inputs": found.W_selected.any(axis=0),
        "associations": found.W_selected,
        "edges": _upper(found.omega_selected),
    }


def counted(method: str, model, data: Regression, paper_fpr: float) -> dict[str, dict]:
    """The rates of a fit by every reading of what counts as found (see Table 1)."""
    true, found = truth(data), selections(method, model)
    nard = METHODS[method].minimises_j
    rule = "q ≤ 0.05" if nard else "own rule"
    readings = {f"{what}, {rule}": rates(found[what], true[what]) for what in found}
    score = scores(method, model)["associations"]
    readings[AT_PAPER_FPR] = tpr_at_fpr(score, true["associations"], paper_fpr)
    if nard:
        readings["associations, α finite"] = rates(
            np.broadcast_to(model.active_, data.coef.shape), true["associations"]
        )
        readings["inputs, α finite"] = rates(model.active_, true["inputs"])
        readings["edges, Ω not zero"] = rates(_upper(model.precision_) != 0, true["edges"])
    return readings


def reading_rows(records: Sequence[Mapping]) -> list[dict]:
    """Mean rates over the records that have a result, a row per reading; one row that says why if none has."""
    finished = done(records)
    notes = sorted({record["reason"] for record in records if record["status"] != "done"})
    cost = {
        "seconds": np.mean([record["result"]["seconds"] for record in finished]) if finished else np.nan,
        "cores": records[0]["threads"],
        "gb": max(record["peak_gb"] for record in records),
        "note": "; ".join(notes) or None,
    }
    return [
        {
            "reading": reading,
            **{
                rate: np.mean([_number(record["result"]["rates"][reading][rate]) for record in finished] or [np.nan])
                for rate in ("tpr", "fpr", "fdr")
            },
            "seeds": len(finished),
            **cost,
        }
        for reading in (finished[0]["result"]["rates"] if finished else ["not run"])
    ]


def distance_from_paper(table: pd.DataFrame) -> pd.Series:
    """|ΔTPR| + |ΔFPR| from the paper's by design and reading, mean over the methods, the nearest first.

    The reading that takes over the paper's FPR is none of its own.
    """
    rows = table[table["reading"] != AT_PAPER_FPR].dropna(subset=["tpr"])
    gap = (rows["tpr"] - rows["paper_tpr"]).abs() + (rows["fpr"] - rows["paper_fpr"]).abs()
    return gap.groupby([rows["design"], rows["reading"]], sort=False).mean().sort_values()


def brief_readings(table: pd.DataFrame, *keys: str) -> pd.DataFrame:
    """A row per fit instead of one per reading: the rates by the method's own rule, and by finite α."""
    rows = []
    for values, part in table.groupby(list(keys), sort=False):
        by_reading = part.set_index("reading")
        row = dict(zip(keys, values, strict=True))
        for what, shown in (
            ("associations", ("tpr", "fpr", "fdr")),
            ("inputs", ("tpr", "fpr")),
            ("edges", ("tpr", "fdr")),
        ):
            rules = [f"{what}, {rule}" for rule in ("q ≤ 0.05", "own rule") if f"{what}, {rule}" in by_reading.index]
            row |= {f"{what}_{rate}": by_reading.loc[rules[0], rate] if rules else np.nan for rate in shown}
        finite = "associations, α finite"
        row["finite_α_fpr"] = by_reading.loc[finite, "fpr"] if finite in by_reading.index else np.nan
        same = [
            name for name in part if name.startswith("paper_") or name in ("seeds", "seconds", "step_seconds", "gb")
        ]
        rows.append({**row, **part.iloc[0][same], "note": part["note"].iloc[0]})
    return pd.DataFrame(rows)


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def grouped(results: Iterable[Mapping], *keys: str) -> dict[tuple, list[Mapping]]:
    """Records by these entries of their specs, in their order."""
    groups: dict[tuple, list[Mapping]] = {}
    for record in results:
        groups.setdefault(tuple(record["spec"][key] for key in keys), []).append(record)
    return groups


def done(results: Iterable[Mapping]) -> list[Mapping]:
    """The records that have a result."""
    return [record for record in results if record["status"] == "done"]


def paper_names(method: str) -> str:
    """What the paper calls a method."""
    return {"full": "NARD", **{name: f"{name.title()} NARD" for name in NARDS[1:]}}.get(method, METHODS[method].title)
