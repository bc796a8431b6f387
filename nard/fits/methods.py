"""The methods that the workflow can fit, by the name that the config uses. A new one is one entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module

__all__ = ["METHODS", "Method", "make_model", "minimise_j", "settings_of_tests", "tuned_settings"]


@dataclass(frozen=True)
class Method:
    """A way to fit X and Y.

    Attributes
    ----------
    title : str
        Its name in figures and tables.
    path : str
        Module and class.
    arguments : dict
        Constructor arguments that make it this method.
    takes : tuple of str
        Which settings of the config's section `fit` it takes.
    tuned : dict
        Constructor argument → fitted attribute, for what a fit chooses itself: with these a refit chooses nothing.
    predicting : dict
        Constructor arguments of fits that are only to predict: a posterior mean needs fewer draws than an interval.
    """

    title: str
    path: str
    arguments: Mapping = field(default_factory=dict)
    takes: tuple[str, ...] = ()
    tuned: Mapping[str, str] = field(default_factory=dict)
    predicting: Mapping = field(default_factory=dict)


def minimise_j(names: Iterable[str]) -> list[str]:
    """Those of the methods that minimise NARD's J, whose values compare."""
    return [name for name in names if METHODS[name].path == "nard.estimator.NARD"]


def _nard(variant: str) -> Method:
    return Method(
        f"NARD {variant}",
        "nard.estimator.NARD",
        {"method": variant},
        ("lam", "relevance", "hidden"),
        {"lam": "lam_", "relevance": "relevance_", "hidden": "n_hidden_", "tails": "tails_"},
    )


_SEPARATE = "nard.baselines.separate.SeparateRegression"

METHODS: dict[str, Method] = {
    "sequential": _nard("sequential"),
    "full": _nard("full"),
    "surrogate": _nard("surrogate"),
    "hybrid": _nard("hybrid"),
    "mrce": Method("MRCE", "nard.baselines.mrce.MRCE", tuned={"lam1": "lam1_", "lam2": "lam2_"}),
    "capme": Method("CAPME", "nard.baselines.capme.CAPME", tuned={"lam": "lam_", "tau": "tau_"}),
    "mssl": Method("mSSL", "nard.baselines.mssl.MSSL"),
    "ard": Method("ARD per output", _SEPARATE, {"regression": "ard"}),
    "multitask_lasso": Method("multi-task lasso", _SEPARATE, {"regression": "multitask_lasso"}),
    "jrns": Method("JRNS", "nard.baselines.jrns.JRNS", takes=("time_budget",)),
    "hsghs": Method(
        "HS-GHS",
        "nard.baselines.hsghs.HSGHS",
        takes=("time_budget",),
        predicting={"n_burnin": 250, "n_draws": 750},
    ),
}


def make_model(name: str, fit: Mapping, seed: int, **fixed):
    """An unfitted model of the method ``name`` with the settings of the config's section `fit`, and what is fixed."""
    method = METHODS[name]
    module, _, cls = method.path.rpartition(".")
    arguments = {**method.arguments, **{key: fit[key] for key in method.takes}, **fixed}
    estimator = getattr(import_module(module), cls)
    if "random_state" in estimator().get_params():
        arguments["random_state"] = seed
    return estimator(**arguments)


def tuned_settings(name: str, model) -> dict:
    """What a fitted model chose, as constructor arguments."""
    return {argument: _plain(getattr(model, attribute)) for argument, attribute in METHODS[name].tuned.items()}


def settings_of_tests(name: str, model) -> dict:
    """The parts of the model under which NARD tested its findings, which need not be those that predict."""
    if not minimise_j([name]):
        return {}
    # Only the entry-wise model has learnt a prior of the entries.
    relevance = "inputs" if model.entry_test_.prior is None else "entries"
    return {"relevance": relevance, "hidden": model.hidden_.shape[1]}


def _plain(value):
    return value if value is None or isinstance(value, str | int) else float(value)
