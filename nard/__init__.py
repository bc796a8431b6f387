"""Network automatic relevance determination: which inputs matter, and how the outputs are wired."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nard.covariance import graphical_lasso
    from nard.estimator import NARD

__version__ = "0.1.0"

__all__ = ["NARD", "__version__", "graphical_lasso"]


# Numba, pandas and scikit-learn take a second or two to import, and most jobs of the workflow need only some of them.
_LAZY = {"NARD": "nard.estimator", "graphical_lasso": "nard.covariance"}


def __getattr__(name):
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
