"""Held-out likelihood of NARD and its peers on real TCGA data: prints the table that the documentation quotes.

    NARD_REAL_DATA=… python benchmarks/held_out.py KIRC:pathway LUAD:all COAD:all

The same as the chapter `predictions` of the paper's experiments, without its limits of time and without samplers.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import pandas as pd
from real_data import real_data_folder

from nard.data.cleaning import standardised
from nard.experiments.datasets import load_tcga
from nard.experiments.predictions import held_out

COMPARED = ("none", "ridge", "multitask_lasso", "ard", "sequential")


def compare(X, Y, methods=COMPARED):
    """Five-fold held-out log-likelihood per sample and R² of every method."""
    rows = {}
    for method in methods:
        started = time.perf_counter()
        found = held_out(method, X, Y)
        rows[method] = {
            "log-likelihood": float(np.mean(found["log_likelihoods"])),
            "R2": found["r2"],
            "seconds": time.perf_counter() - started,
        }
        print(method, {k: round(float(v), 3) for k, v in rows[method].items()}, flush=True)
    return pd.DataFrame(rows).T


def main():
    folder = real_data_folder()
    if folder is None:
        sys.exit("Set NARD_REAL_DATA to the folder that holds tcga/.")
    warnings.filterwarnings("ignore", category=UserWarning)
    for cohort in sys.argv[1:] or ["KIRC:pathway", "LUAD:all", "COAD:all"]:
        cancer, genes = cohort.split(":")
        prepared = load_tcga(folder / "tcga", cancer, genes)
        # Log densities are given for outputs of unit variance, so that they do not depend on the arrays' units.
        X, Y = prepared.X, standardised(prepared.Y)
        print(f"\n{cancer}, {genes} genes: N = {len(X)}, d = {X.shape[1]}, m = {Y.shape[1]}", flush=True)
        print(compare(X, Y).round(3).to_string(), flush=True)


if __name__ == "__main__":
    main()
