"""The scikit-learn estimator :class:`NARD`: the choice of λ and of the model's parts, scaling, tables of findings."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nard.estimator.model import NARD

__all__ = ["NARD"]


def __getattr__(name):
    # Words and scales can be had without the numerics, which take a second to import.
    if name == "NARD":
        return import_module("nard.estimator.model").NARD
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
