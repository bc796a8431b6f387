"""The methods that the workflow can fit, by the name that the config uses. A new one is one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nard.estimator import NARD

__all__ = ["METHODS", "make_model"]


def _nard(method: str) -> Callable[..., NARD]:
    return lambda **settings: NARD(method=method, **settings)


METHODS: dict[str, Callable[..., NARD]] = {
    "sequential": _nard("sequential"),
    "full": _nard("full"),
    "surrogate": _nard("surrogate"),
    "hybrid": _nard("hybrid"),
}


def make_model(name: str, fit: Mapping, seed: int):
    """An unfitted model of the method ``name`` with the settings of the config's section `fit`."""
    return METHODS[name](lam=fit["lam"], fdr=fit["fdr"], refit=fit["refit"], random_state=seed)
