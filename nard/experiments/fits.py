"""One fit as numbers that a record can hold, and sets of findings that records can be compared by.

A finding is a whole number: input · m + output for an association, i · m + j with i < j for an edge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from nard.experiments import synthetic
from nard.experiments.synthetic import FDR, fitted
from nard.fits.comparison import jaccard
from nard.fits.methods import METHODS

__all__ = ["done", "edge_frame", "fit", "found", "overlap", "patience"]

# What the runs of these chapters choose unless they say otherwise: NARD is the paper's model.
_SETTINGS = {"lam": "cv", "relevance": "inputs", "hidden": 0, "time_budget": None}


def patience(settings: Mapping, seconds: float) -> float:
    """How long a baseline may take; a quick pass waits less."""
    return max(20.0, settings["scale"] * seconds)


def fit(method: str, X: pd.DataFrame, Y: pd.DataFrame, seed: int = 0, fixed: Mapping | None = None, **settings):
    """A fitted model and its seconds.

    ``settings`` are those of the config's section `fit`, of which a method takes what it knows; ``fixed`` are arguments
    of its own.
    """
    chosen = {**_SETTINGS, **settings}
    return fitted(method, X, Y, seed, **{**{key: chosen[key] for key in METHODS[method].takes}, **(fixed or {})})


def found(model, seconds: float, *, partials: bool = False) -> dict:
    """The findings of a fitted model, and how it got there; with the partial correlations of the edges if asked for."""
    d, m = model.coef_.shape[1], model.coef_.shape[0]
    inputs = {name: j for j, name in enumerate(model.feature_labels_)}
    outputs = {name: i for i, name in enumerate(model.target_labels_)}
    associations = model.associations(FDR, selected_only=True)
    edges = model.edges(FDR)
    edges = edges[edges["selected"]]
    columns = associations["feature"].map(inputs).to_numpy(dtype=int)
    rows = associations["target"].map(outputs).to_numpy(dtype=int)
    pairs = np.sort([edges["source"].map(outputs), edges["target"].map(outputs)], axis=0).astype(int).reshape(2, -1)
    codes = pairs[0] * m + pairs[1]
    order = np.argsort(codes)
    out = {
        "n_features": d,
        "n_targets": m,
        "fit_seconds": seconds,
        # Where a part of the time is no step of the algorithm.
        "step_seconds": getattr(model, "alternation_seconds_", seconds),
        "associations": np.sort(columns * m + rows).tolist(),
        "edges": codes[order].tolist(),
        "features": int(model.relevance(FDR)["selected"].sum()),
        "steps": int(getattr(model, "n_iter_", 0)) or None,
        "converged": bool(getattr(model, "converged_", True)),
        "draws": int(getattr(model, "n_draws_", 0)) or None,
        "lam": float(model.lam_) if hasattr(model, "lam_") else None,
    }
    if partials:
        out["partial_correlations"] = edges["partial_correlation"].to_numpy()[order].round(6).tolist()
    return out


def edge_frame(result: Mapping, names: Sequence[str]) -> pd.DataFrame:
    """The selected edges of a result with partial correlations, as the figures take them."""
    codes = np.array(result["edges"], dtype=int)
    labels = np.array(names, dtype=object)
    return pd.DataFrame(
        {
            "source": labels[codes // len(names)],
            "target": labels[codes % len(names)],
            "partial_correlation": result["partial_correlations"],
            "selected": np.ones(len(codes), dtype=bool),
        }
    )


def done(results: Sequence[Mapping], **wanted) -> list[Mapping]:
    """The records with a result whose specs have these values."""
    return [
        record
        for record in synthetic.done(results)
        if all(record["spec"].get(key) == value for key, value in wanted.items())
    ]


def overlap(a: Mapping | None, b: Mapping | None, what: str) -> float:
    """Jaccard index of the findings of two records; NaN if one has no result or is the other, or if neither has any."""
    if a is None or b is None or a is b:
        return float("nan")
    return jaccard(a["result"][what], b["result"][what])
