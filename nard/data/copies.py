"""Outputs that follow from others: copies of them and combinations, of which no edge is a finding."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from nard.inputs import dependent_columns

__all__ = ["copy_facts", "dependent_outputs", "still_dependent"]

_MOST_TOLD = 3


def dependent_outputs(Y: pd.DataFrame) -> dict[str, list[str]]:
    """The outputs that follow from others, by name, each with those; values may be missing."""
    names = list(map(str, Y.columns))
    return {names[j]: [names[k] for k in others] for j, others in dependent_columns(Y.to_numpy(dtype=float))}


def still_dependent(found: Mapping[str, list[str]], Y: pd.DataFrame) -> dict[str, list[str]]:
    """Those of the outputs found that their others still explain for the most part, after a preparation.

    Outliers that were pulled in, or covariates that were adjusted for, may have been all that they shared.
    """
    Z, left = Y - Y.mean(), set(Y)
    return {one: others for one, others in found.items() if {one, *others} <= left and _explained(Z, one, others)}


def _explained(Z: pd.DataFrame, one: str, others: list[str]) -> bool:
    y, X = Z[one].to_numpy(), Z[others].to_numpy()
    rest = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    return bool(2 * (rest @ rest) < y @ y)


def copy_facts(found: Mapping[str, list[str]]) -> list[dict]:
    """The first of the outputs that follow from others, as facts."""
    return [
        {"code": "copies", "one": others[0], "other": one}
        if len(others) == 1
        else {"code": "combination", "one": one, "names": others}
        for one, others in list(found.items())[:_MOST_TOLD]
    ]
