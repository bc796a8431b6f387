"""Methods to compare with, each written from its publication and checked against the original's outputs."""

from importlib import import_module

__all__ = ["CAPME", "HSGHS", "JRNS", "MRCE", "MSSL", "SeparateRegression"]

_MODULES = {"SeparateRegression": "separate"}


def __getattr__(name):
    # Each brings compiled code of its own, so it is loaded on first use.
    if name in __all__:
        return getattr(import_module(f"nard.baselines.{_MODULES.get(name, name.lower())}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
