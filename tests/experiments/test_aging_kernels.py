"""Kernels on aging phenotypes: edges are compared, and held-out people predicted."""

import pytest
from stand_ins import records, settings

from nard.experiments import aging_kernels


def test_kernels_of_the_simulated_cohort():
    found = records(aging_kernels, settings(0.02), lambda spec: spec["kernel"] in ("linear", "rbf"))
    table = aging_kernels.table(found)
    linear, rbf, absent = table.iloc[0], table.iloc[1], table.iloc[2]
    assert linear["features"] == 82
    assert rbf["features"] <= 300
    # The truth is linear, and the table says so.
    assert linear["r2"] > rbf["r2"]
    assert 0 <= rbf["jaccard_edges_linear"] <= 1
    assert linear["edges_fdr"] < 0.2
    assert absent["why_not"] == "no data: set `paper.files.nhanes` in the config"
    assert aging_kernels.remarks(table)[0].startswith("simulated, rbf: held-out R²")
    assert aging_kernels.figure(table, found) is not None


@pytest.mark.slow
def test_real_nhanes_is_a_little_curved(real_data):
    file = str(real_data / "nhanes" / "nhanes4.csv.gz")
    found = records(aging_kernels, settings(nhanes=file), lambda spec: spec["name"].startswith("nhanes"))
    table = aging_kernels.table(found).set_index("kernel")
    assert table.loc["polynomial", "log_likelihood"] > table.loc["linear", "log_likelihood"]
    assert table.loc["rbf", "r2"] > 0.5 * table.loc["linear", "r2"]
