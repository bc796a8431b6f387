"""What a fit's hidden inputs are like: the outputs that load most on each, and measured inputs that it resembles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

__all__ = ["HiddenInput", "hidden_inputs"]

_LOADING, _ALIKE = 5, 3


@dataclass(frozen=True)
class HiddenInput:
    """``outputs`` with their loadings, in units of the output per standard deviation, the largest first.

    ``resembles`` are measured inputs with their correlations, the largest first.
    """

    outputs: tuple[tuple[str, float], ...]
    resembles: tuple[tuple[str, float], ...] = ()


def hidden_inputs(model: Mapping[str, np.ndarray], X: pd.DataFrame | None = None) -> list[HiddenInput]:
    """The hidden inputs of a fit, from the arrays of its ``model.npz``; none of a method that has none.

    ``X`` are the measured inputs of the same samples, in the order of the fit.
    """
    if "hidden_loadings" not in model:
        return []
    F, loadings, targets = model["hidden"], model["hidden_loadings"], model["targets"]
    if X is not None and len(F):
        names = [str(name) for name in X.columns]
        X = _standardised(X.to_numpy(dtype=float))
        alike = [_largest(names, row, _ALIKE) for row in _standardised(F).T @ X / len(X)]
    else:
        alike = [()] * len(loadings)
    return [HiddenInput(_largest(targets, row, _LOADING), like) for row, like in zip(loadings, alike, strict=True)]


def _largest(names, values: np.ndarray, most: int) -> tuple[tuple[str, float], ...]:
    order = np.argsort(-np.abs(values), kind="stable")[:most]
    return tuple((str(names[i]), float(values[i])) for i in order)


def _standardised(values: np.ndarray) -> np.ndarray:
    """Mean 0 and variance 1; a constant column is left at zero."""
    values = values - values.mean(axis=0)
    sd = values.std(axis=0)
    return values / np.where(sd > 0, sd, 1.0)
