"""The scikit-learn estimator :class:`NARD`: the choice of λ and of the model's parts, scaling, tables of findings."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nard.estimator.model import NARD

__all__ = ["NARD"]


def __getattr__(name):
    # Tables of findings can be read without the numerics, which take a second to import.
    if name == "NARD":
        from nard.estimator.model import NARD

        return NARD
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
