"""The memory that fits and their tables take, measured in a process of its own.

``python tests/fit_memory.py sequential:200x5000x50 mrce:100x300x20`` prints a JSON object: the megabytes that each took
at most beyond what the process held before, and under "base" what it held with everything loaded. NARD chooses λ and
the parts of its model; after ``sequential:200x5000x50:both`` these are given.
"""

import ctypes
import gc
import json
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from nard.files import write_tsv
from nard.fits.methods import make_model

# What takes the most memory: everything is chosen by cross-validation. Samplers hold the same whatever they draw.
SETTINGS = {"lam": "cv", "relevance": "auto", "hidden": "auto", "time_budget": 0.2}
GIVEN = {"lam": 0.1, "hidden": 2}


def data(n_samples, n_inputs, n_outputs):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, n_inputs))
    W = np.where(rng.random((n_inputs, n_outputs)) < 2 / n_inputs, 1.0, 0.0)
    return _frame(X, "x"), _frame(X @ W + rng.standard_normal((n_samples, n_outputs)), "y")


def _frame(values, letter):
    return pd.DataFrame(values, columns=[f"{letter}{i}" for i in range(values.shape[1])])


def fit(method, shape, settings):
    """As a job of the workflow does it: the fit, its tables, and their files."""
    X, Y = data(*shape)
    model = make_model(method, settings, 1)
    model.fit(X, Y)
    tables = [model.edges(), model.associations(), model.relevance()]
    with tempfile.TemporaryDirectory() as folder:
        for table in tables:
            write_tsv(table, Path(folder) / "table.tsv")


def status(key):
    """Megabytes of VmRSS (now) or VmHWM (at most)."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) / 2**10


def peak_beyond(method, shape, settings):
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # forgets the highest mark
    before = status("VmRSS")
    fit(method, shape, settings)
    return status("VmHWM") - before


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    measured = {}
    for argument in sys.argv[1:]:
        method, sizes, *relevance = argument.split(":")
        shape = [int(size) for size in sizes.split("x")]
        settings = {**SETTINGS, **GIVEN, "relevance": relevance[0]} if relevance else SETTINGS
        # Loads its code, which is another one where there are many inputs.
        fit(method, (30, 6, 4) if shape[0] > shape[1] else (40, 600 if shape[1] > 512 else 160, 3), settings)
        measured[argument] = peak_beyond(method, shape, settings)
    measured["base"] = status("VmRSS")
    json.dump(measured, sys.stdout)
