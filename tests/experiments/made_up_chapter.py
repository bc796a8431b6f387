"""A chapter whose runs do what the tests of the framework need."""

import os
import time
from pathlib import Path

import numpy as np
import pandas as pd

from nard.experiments import CannotRun

READINGS = """
Nothing is open.

Really.
"""


def runs(settings):
    return settings["specs"]


def run(spec):
    with Path(spec["diary"]).open("a") as diary:
        diary.write(spec["name"] + "\n")
    what = spec.get("what", "count")
    if what == "sleep":
        time.sleep(60)
    if what == "eat":
        eaten = [np.ones(10**7) for _ in range(100)]
        return {"sum": float(sum(part.sum() for part in eaten))}
    if what == "fail":
        raise KeyError("no such thing")
    if what == "refuse":
        raise CannotRun("needs 900 GB by estimate")
    if what == "crash":
        os.abort()
    time.sleep(spec.get("pause", 0.0))
    return {"value": np.float64(spec["seed"] * 2), "nothing": np.nan, "threads": os.environ["OMP_NUM_THREADS"]}


def table(results):
    rows = [
        {"name": record["name"], "ours": record.get("result", {}).get("value"), "paper_value": 4.0}
        for record in results
    ]
    return pd.DataFrame(rows).astype({"ours": float})


def figure(table, results):
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots()
    ax.plot(table["ours"])
    return fig


def remarks(table):
    return [f"{int(table['ours'].notna().sum())} of {len(table)} runs have a value."]
