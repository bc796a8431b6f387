"""Workbooks and Parquet files are read as the same table as text is, and say which package they take."""

import datetime
import io
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nard.data.sheets import read_frame
from nard.data.tables import read_table
from nard.data.words import words
from nard.errors import DataError

SAMPLES = ["TCGA-AA-3521-01", "TCGA-AA-3522-01", "TCGA-A6-2671-11"]
NUMBERS = st.floats(-1e6, 1e6) | st.just(np.nan)
MATRICES = st.integers(1, 5).flatmap(lambda width: arrays(float, (3, width), elements=NUMBERS))


def table_of(values):
    return pd.DataFrame(values, SAMPLES, [f"f{i}" for i in range(values.shape[1])])


@pytest.fixture
def workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="a workbook takes openpyxl: pip install 'nard[excel]'")

    def saved(**sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        path = tmp_path / "table.xlsx"
        book.save(path)
        return path

    return saved


@settings(max_examples=20, deadline=None)
@given(values=MATRICES)
def test_a_workbook_is_read_back(tmp_path_factory, values):
    pytest.importorskip("openpyxl", reason="a workbook takes openpyxl: pip install 'nard[excel]'")
    path = tmp_path_factory.mktemp("book") / "table.xlsx"
    table_of(values).to_excel(path)
    pd.testing.assert_frame_equal(read_table(path).values, table_of(values))


def test_a_workbook_that_unpacks_to_far_more_than_it_is(tmp_path):
    path = tmp_path / "table.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/worksheets/sheet1.xml", bytes(2**29))
    with pytest.raises(DataError, match=r"unpacks to more than 250 times its size"):
        read_table(path)


def test_sheets_of_a_workbook(workbook):
    rows = [["id", "x"], [SAMPLES[0], 1.5], [SAMPLES[1], None]]
    path = workbook(empty=[], first=rows, second=[["id", "y"], [SAMPLES[0], 2]])
    table = read_table(path)
    assert table.values["x"].tolist()[0] == 1.5
    assert words(table.notes[0]) == (
        "of the sheets of the workbook 'first' was taken, not second (table.xlsx#NAME takes another)"
    )
    assert read_table(f"{path}#second").values["y"].tolist() == [2]
    assert list(read_frame(f"{path}#second")) == ["id", "y"]
    with pytest.raises(DataError, match=r"(?s)no sheet 'third'.*empty, first, second"):
        read_table(f"{path}#third")
    with pytest.raises(DataError, match="the file is empty"):
        read_table(f"{path}#empty")


def test_genes_that_a_spreadsheet_keeps_as_dates(workbook):
    path = workbook(
        one=[["gene", *SAMPLES], ["TP53", 1, 2, 3], [datetime.datetime(2024, 3, 1), 4, 5, 6], ["a\tb\n", 7, 8, 9]]
    )
    assert list(read_table(path).values) == ["TP53", "2024-03-01 00:00:00", "a\tb"]


def test_a_workbook_that_is_damaged(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("[Content_Types].xml", "<")
    path = tmp_path / "x.xlsx"
    path.write_bytes(buffer.getvalue())
    with pytest.raises(DataError, match=r"(?s)an Excel workbook.*save the sheet as TSV or CSV"):
        read_table(path)


@settings(max_examples=20, deadline=None)
@given(values=MATRICES, names=st.sampled_from([None, "sample"]))
def test_a_parquet_file_is_read_back(tmp_path_factory, values, names):
    pytest.importorskip("pyarrow", reason="a Parquet file takes pyarrow: pip install 'nard[parquet]'")
    path = tmp_path_factory.mktemp("parquet") / "table.parquet"
    table = table_of(values).rename_axis(names)
    table.to_parquet(path)
    pd.testing.assert_frame_equal(read_table(path).values, table_of(values))
    table.rename_axis("id").reset_index().to_parquet(path)
    pd.testing.assert_frame_equal(read_table(path).values, table_of(values))


def test_mixed_columns_of_a_parquet_file(tmp_path):
    pytest.importorskip("pyarrow", reason="a Parquet file takes pyarrow: pip install 'nard[parquet]'")
    path = tmp_path / "clinical.parquet"
    table = pd.DataFrame({"id": SAMPLES, "sex": pd.Categorical(["f", None, "m"]), "age": [61, 70, 55]})
    table.assign(drawn=pd.to_datetime(["2020-01-01", "2020-01-02", None])).to_parquet(path)
    found = read_frame(path)
    pd.testing.assert_frame_equal(found[["id", "age"]], table[["id", "age"]])
    assert found["sex"].tolist()[::2] == ["f", "m"]
    assert found["drawn"].isna().tolist() == [False, False, True]
    path.write_bytes(b"PAR1 cut off")
    with pytest.raises(DataError, match="a Parquet file that cannot be read"):
        read_frame(path)


@pytest.mark.parametrize(
    ("package", "content"),
    [("openpyxl", b"PK\x03\x04"), ("pyarrow", b"PAR1")],
)
def test_the_package_that_is_missing_is_named(tmp_path, monkeypatch, package, content):
    if package == "openpyxl":
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("[Content_Types].xml", "")
        content = buffer.getvalue()
    path = tmp_path / "table"
    path.write_bytes(content)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DataError, match=rf"(?s)which takes the package {package} to read.*pip install {package} "):
        read_table(path)
