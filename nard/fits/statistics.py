"""What all tests of a fit say, whether or not its tables list them: how p-values spread, and every z on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nard.files import write_npz

__all__ = ["BINS", "association_pvalues", "edge_pvalues", "pvalue_counts", "write_statistics"]

BINS = np.linspace(0.0, 1.0, 21)
_INPUTS = 1024  # at a time, so that little besides the results is held in memory


def pvalue_counts(table: pd.DataFrame, everything: Iterable[np.ndarray] | None = None) -> dict[str, Any]:
    """How many p-values of the selected findings, and of all others, are in each twentieth of [0, 1].

    ``everything`` has the p-values of all tests, some at a time, if the table lacks some; it has all that are selected.
    """
    selected = table["selected"].to_numpy(dtype=bool)
    pvalue = table["pvalue"].to_numpy(dtype=float)
    of_selected = _counted([pvalue[selected]])
    of_all = _counted([pvalue] if everything is None else everything)
    return {
        "tests": int(of_all.sum()),
        "selected": of_selected.tolist(),
        "others": (of_all - of_selected).tolist(),
    }


def _counted(parts: Iterable[np.ndarray]) -> np.ndarray:
    counts = np.zeros(len(BINS) - 1, dtype=int)
    for part in parts:
        counts += np.histogram(part[~np.isnan(part)], BINS)[0]
    return counts


def association_pvalues(model) -> Iterator[np.ndarray]:
    """p-values of all inputs with all outputs, some inputs at a time; none of a method that does not test."""
    if test := getattr(model, "entry_test_", None):
        for where in _slices(len(model.feature_labels_)):
            yield test.pvalues(where).ravel()


def edge_pvalues(model) -> Iterator[np.ndarray]:
    """p-values of all pairs of outputs, output by output; none of a method that does not test."""
    if test := getattr(model, "edge_test_", None):
        degrees = np.broadcast_to(test.degrees, test.z.shape)
        for i in range(len(model.target_labels_)):
            yield replace(test, z=test.z[i, i + 1 :], degrees=degrees[i, i + 1 :]).pvalue


def _slices(count: int) -> list[slice]:
    return [slice(at, at + _INPUTS) for at in range(0, count, _INPUTS)]


def write_statistics(model, path: str | Path) -> None:
    """Every z of a fit in one compressed file; without arrays of z for a method that does not test.

    ``associations`` are inputs × outputs, ``edges`` outputs × outputs of which the part above the diagonal is filled;
    ``degrees_associations`` and ``degrees_edges`` are degrees of freedom of their Student's t: those of the outputs,
    and one number, or outputs × outputs where they lack values.
    """
    arrays: dict[str, Any] = {}
    features, targets = model.feature_labels_, model.target_labels_
    if test := getattr(model, "entry_test_", None):
        z = np.empty((len(features), len(targets)), dtype=np.float32)
        for where in _slices(len(features)):
            z[where] = test.weight[where] / test.sd[where]
        arrays |= {"associations": z, "degrees_associations": np.broadcast_to(test.degrees, len(targets))}
    if test := getattr(model, "edge_test_", None):
        arrays |= {"edges": np.triu(test.z, 1).astype(np.float32), "degrees_edges": np.asarray(test.degrees)}
    write_npz(path, **arrays, features=np.array(features, dtype=str), targets=np.array(targets, dtype=str))
