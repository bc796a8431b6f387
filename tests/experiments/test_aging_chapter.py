"""Aging: a simulated cohort whose truth is found, NHANES where it is given, and a sentence where it is not."""

import numpy as np
import pytest
from stand_ins import records, settings, write_nhanes

from nard.experiments import aging
from nard.experiments.datasets import _aging_config
from nard.experiments.synthetic import NARDS


def test_the_full_size_is_that_of_the_paper():
    assert aging.sizes(1) == {"people": 1022, "molecular": 4119, "macro": 1522}


def test_edges_of_the_simulated_cohort_are_in_blocks():
    cohort = aging.simulate(50, 100, 200, seed=1)
    tissues = np.array(cohort.tissues)
    rows, columns = np.nonzero(np.triu(cohort.precision, 1))
    assert (tissues[rows] == tissues[columns]).mean() > 0.8
    assert len(set(tissues)) == 3


def keep(spec):
    return spec["method"] in (*NARDS, "mssl")


def test_variants_agree_and_find_the_truth():
    found = records(aging, settings(0.03), keep)
    table = aging.table(found)
    nard = table[table["method"].str.contains("NARD") & (table["data"] == "simulated")]
    assert (nard["jaccard_associations_any_variant"] >= 0.985).all()
    assert (nard["associations_tpr"] > 0.9).all()
    assert (nard["associations_fdr"] < 0.15).all()
    baseline = table[table["method"] == "mSSL"].iloc[0]
    assert 0 < baseline["jaccard_associations_sequential"] <= 1
    assert np.isnan(baseline["jaccard_associations_any_variant"])
    # Without a file NHANES is one row that says which key to set.
    assert table[table["data"] == "NHANES"]["why_not"].tolist() == ["no data: set `paper.files.nhanes` in the config"]
    assert any("the Jaccard index of any two NARD variants is at least" in line for line in aging.remarks(table))
    figures = aging.figure(table, found)
    assert set(figures) == {"aging_blocks", "aging_nhanes"}
    assert "paper.files.nhanes" in figures["aging_nhanes"].texts[-1].get_text()


def test_nhanes_from_a_file(tmp_path):
    cohort = _aging_config()["cohorts"]["NHANES"]
    columns = [[name for block in cohort[side].values() for name in block] for side in ("molecular", "macro")]
    file = write_nhanes(tmp_path / "nhanes.csv", columns)
    found = records(aging, settings(nhanes=file), lambda spec: spec["data"] == "NHANES" and keep(spec))
    table = aging.table(found)
    assert len(table) == 5
    assert (table["people"] == 300).all()
    assert (table["associations"] > 0).all()
    assert table["paper_associations"].isna().all()


def test_real_nhanes(real_data):
    file = str(real_data / "nhanes" / "nhanes4.csv.gz")
    found = records(aging, settings(nhanes=file), lambda spec: spec["data"] == "NHANES" and spec["method"] in NARDS)
    table = aging.table(found)
    assert table["jaccard_associations_any_variant"].min() >= 0.985
    edges = {tuple(found[1]["result"]["outputs"][i] for i in divmod(code, 15)) for code in found[1]["result"]["edges"]}
    assert {("sbp", "dbp"), ("grip_r", "grip_l"), ("bmi", "waist")} <= edges


@pytest.mark.parametrize("scale", [0.1, 1])
def test_baselines_but_for_mrce_run_at_a_tenth_at_most(scale):
    specs = aging.runs(settings(scale))
    sizes = {
        method: [spec["macro"] for spec in specs if spec["method"] == method and spec["data"] == "simulated"]
        for method in ("mrce", "capme")
    }
    assert sizes == {"mrce": [152] if scale < 1 else [1522, 152], "capme": [152]}
    assert sum(spec["data"] == "simulated" and spec["method"] == "sequential" for spec in specs) == (
        1 if scale < 1 else 2
    )
