"""Network automatic relevance determination: which inputs matter, and how the outputs are wired."""

from typing import TYPE_CHECKING

from nard.covariance import graphical_lasso

if TYPE_CHECKING:
    from nard.estimator import NARD

__version__ = "0.1.0"

__all__ = ["NARD", "__version__", "graphical_lasso"]


def __getattr__(name):
    # The estimator brings pandas and scikit-learn, which take over a second to import, so it is loaded on first use.
    if name == "NARD":
        from nard.estimator import NARD

        return NARD
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
