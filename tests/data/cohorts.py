"""Small raw files of a TCGA-like cohort, for tests."""

import numpy as np
import pandas as pd

from nard.data.pathways import read_pathways
from nard.data.words import words
from nard.project.check import check_row, checked_cohort
from nard.project.config import cohort_files, cohort_settings, validated

PATHWAYS = read_pathways()
N = 40


def barcodes(n=N, sample_type="01"):
    return [f"TCGA-AB-{1000 + i}-{sample_type}" for i in range(n)]


def raw_tables(seed=0, n=N):
    """Expression (genes × samples) and abundance (proteins × samples) as Xena has them."""
    rng = np.random.default_rng(seed)
    mrna = pd.DataFrame(8 + rng.standard_normal((len(PATHWAYS.genes), n)), PATHWAYS.genes, barcodes(n))
    rppa = pd.DataFrame(rng.standard_normal((len(PATHWAYS.proteins), n)), PATHWAYS.proteins, barcodes(n))
    return mrna.round(4).rename_axis("sample"), rppa.round(4).rename_axis("sample")


def write(table, path, **options):
    table.to_csv(path, **{"sep": "\t", "na_rep": "NA", **options})
    return str(path)


def settings_of(inputs, outputs, **keys):
    """The settings of one cohort of files, as the workflow hands them to a job, and the files."""
    config = validated({"cohorts": {"TEST": {"source": "files", "inputs": inputs, "outputs": outputs, **keys}}})
    settings = cohort_settings(config, "TEST")
    return settings, cohort_files(settings)


def check(inputs, outputs, **keys):
    """The row of the table of checks, what was dropped, and all facts in words."""
    _, account = checked_cohort("TEST", *settings_of(inputs, outputs, **keys), PATHWAYS)
    facts = [fact for key in ("dropped", "notes", "advice") for fact in account[key]]
    return {**check_row(account), "dropped": account["dropped"], "told": [words(fact) for fact in facts]}
