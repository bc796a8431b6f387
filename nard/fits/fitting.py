"""One method fitted to X and Y, and its files: what a job of the workflow and the command ``nard fit`` both do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from nard.baselines.chains import fit_resuming
from nard.data.cleaning import fill_missing
from nard.data.groups import own_genes
from nard.data.ledger import Ledger
from nard.fits.failures import finite
from nard.fits.methods import find_method, make_model
from nard.fits.results import write_fit

__all__ = ["FIT_FILES", "fit_paths", "fitted_model", "own_pairs", "write_model"]

# The files of a fit, by what they hold.
FIT_FILES = {
    "edges": "edges.tsv",
    "nodes": "nodes.tsv",
    "associations": "associations.tsv",
    "features": "features.tsv",
    "hidden": "hidden.tsv",
    "trace": "trace.tsv",
    "lam_path": "lam_path.tsv",
    "fit": "fit.json",
    "model": "model.npz",
    "graph": "network.graphml",
    "cx2": "network.cx2",
}


def fit_paths(folder: str | Path, statistics: str = "listed") -> dict[str, str]:
    """Where the files of a fit go in a folder; ``statistics`` is as in the config's section `fit`."""
    asked = {"statistics": "statistics.npz"} if statistics == "all" else {}
    return {key: str(Path(folder, name)) for key, name in {**FIT_FILES, **asked}.items()}


def own_pairs(method: str, groups: pd.DataFrame) -> dict:
    """The argument of NARD that tells which inputs belong to which output; baselines take none."""
    return {"own": own_genes(groups)} if find_method(method).minimises_j else {}


def fitted_model(
    method: str,
    settings: Mapping,
    seed: int,
    X: pd.DataFrame,
    Y: pd.DataFrame,
    groups: pd.DataFrame,
    folder: str | Path,
):
    """A method with the settings of the config's section `fit`, fitted to samples × features.

    A sampler keeps its chain in ``folder`` while it runs, so that a fit that was killed goes on. Outputs with gaps are
    imputed from the nearest neighbours for a method that does not take them.
    """
    if not find_method(method).takes_gaps:
        Y = fill_missing(Y, "knn", "outputs", Ledger())
    model = make_model(method, settings, seed, **own_pairs(method, groups))
    with _one_thread():
        model = fit_resuming(model, X, Y, Path(folder, "chain.npz"))
    finite("the fitted model", model.coef_, getattr(model, "precision_", None))
    return model


def write_model(
    model, method: str, settings: Mapping, n_samples: int, groups: pd.DataFrame, about: Mapping, paths: Mapping
) -> dict:
    """Writes the files of a fitted model; returns what fit.json holds. ``about`` describes the cohort."""
    described = {key: about[key] for key in ("cohort", "title", "kind", "simulated")}
    described |= {"n_samples": n_samples, "method": method}
    with _one_thread():
        told = (about.get(what, ()) for what in ("notes", "advice"))
        return write_fit(model, settings["fdr"], groups, described, dict(paths), *told)


def _one_thread():
    """So that the numbers do not depend on the machine. Only libraries that are loaded can be limited."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)
