"""Covariates are found wherever the table names its samples, and are what they are, whatever stands around them."""

import numpy as np
import pandas as pd
import pytest
from cohorts import N, barcodes, check, raw_tables, write
from hypothesis import given, settings
from hypothesis import strategies as st

from nard.data.covariates import read_covariates
from nard.data.sheets import MISSING
from nard.errors import DataError

SAMPLES = barcodes(30)
PATIENTS = [name[:12] for name in SAMPLES]


def clinical(n=30):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"age": rng.integers(30, 80, n), "sex": rng.choice(["FEMALE", "MALE"], n)}, PATIENTS[:n])


@st.composite
def tables(draw):
    """The clinical table in some arrangement: place of the names, headers below the header, rows of others, turned."""
    table = clinical().assign(uuid=[f"u{i}" for i in range(30)], grade=1.5).rename_axis("patient").reset_index()
    order = draw(st.permutations(list(table.columns)))
    more = pd.DataFrame(
        [{name: f"{text} {name}" for name in order} for text in draw(st.sampled_from([(), ("CDE_ID:",)]))]
    )
    others = pd.DataFrame([{**table.iloc[0], "patient": f"TCGA-ZZ-{i}000"} for i in range(1, draw(st.integers(1, 4)))])
    rows = pd.concat([more, table.sample(frac=1, random_state=draw(st.integers(0, 9))), others])[order]
    return rows.set_index("patient").T.reset_index() if draw(st.booleans()) else rows


@settings(max_examples=40, deadline=None)
@given(tables())
def test_any_arrangement_gives_the_same_covariates(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("covariates") / "clinical.tsv"
    table.to_csv(path, sep="\t", index=False)
    found, notes = read_covariates(str(path), SAMPLES)
    expected = clinical()
    pd.testing.assert_frame_equal(found.loc[PATIENTS, ["age", "sex"]], expected, check_names=False, check_dtype=False)
    assert pd.api.types.is_numeric_dtype(found["age"])
    assert set(found.index) == set(PATIENTS)
    if table.columns[0] == "patient":
        assert notes == []
    else:
        assert [note["code"] for note in notes] == (["named by"] if "patient" in table else ["turned"])


@pytest.mark.parametrize("missing", MISSING[1:])
def test_missing_values_of_clinical_tables(tmp_path, missing):
    table = clinical().astype(object)
    table.iloc[3] = missing
    found, _ = read_covariates(write(table.rename_axis("patient"), tmp_path / "c.tsv"), SAMPLES)
    assert found["age"].isna().to_numpy().nonzero()[0].tolist() == [3]
    assert pd.api.types.is_numeric_dtype(found["age"])
    assert set(found["sex"].dropna()) == {"FEMALE", "MALE"}


def test_covariates_of_text_below_a_header_that_begins_with_a_hash(tmp_path):
    found, _ = read_covariates(write(clinical()[["sex"]].rename_axis("#IID"), tmp_path / "c.tsv"), SAMPLES)
    assert set(found.index) == set(PATIENTS)
    assert list(found) == ["sex"]


def test_samples_that_nothing_names(tmp_path):
    path = write(clinical().set_axis([f"u{i}" for i in range(30)]).rename_axis("id"), tmp_path / "c.tsv")
    with pytest.raises(DataError, match=r"(?s)c.tsv: no column, and not the header.*'u0'.*'TCGA-AB-1000-01'.*to fix"):
        read_covariates(path, SAMPLES)


def test_samples_that_are_alike_are_proposed(tmp_path):
    table = clinical().assign(patient=[f"patient {i}" for i in range(30)]).reset_index(drop=True)
    table.to_csv(tmp_path / "clinical.tsv", sep="\t", columns=["age", "patient"], index=False)
    with pytest.raises(DataError, match=r"(?s)found: in its column 'patient 0'.*30 pairs, such as 'patient 0'"):
        read_covariates(str(tmp_path / "clinical.tsv"), [f"PATIENT_{i}" for i in range(30)])


def test_dates_to_adjust_for_are_refused(tmp_path):
    mrna, rppa = raw_tables()
    dates = pd.date_range("2020-01-01", periods=N).strftime("%Y-%m-%d")
    table = pd.DataFrame({"sample": barcodes(), "drawn": dates, "age": range(N)})
    files = [write(mrna, tmp_path / "x.tsv"), write(rppa, tmp_path / "y.tsv")]
    covariates = write(table, tmp_path / "c.tsv", index=False)
    with pytest.raises(DataError, match=r"(?s)c.tsv: the column 'drawn' to adjust for holds dates.*'2020-01-01'.*days"):
        check(*files, covariates=covariates, preprocessing={"adjust": ["drawn"]})
    assert check(*files, covariates=covariates, preprocessing={"adjust": ["age"]})["samples"] == N
