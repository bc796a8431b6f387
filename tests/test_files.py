"""Files appear whole or not at all, with the same bytes for the same content, and read back as they were."""

import gzip
import json
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nard.data.antibodies import read_antibodies
from nard.data.groups import own_inputs, pathway_groups
from nard.data.pathways import Pathways
from nard.files import atomic, read_json, read_tsv, write_json, write_npz, write_text, write_tsv
from nard.fits.results import read_matrix

TABLE = pd.DataFrame({"name": ["a", "b"], "value": [1.5, np.nan], "selected": [True, False]})


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


# Whole or not at all


class Unlucky(Exception):
    pass


@pytest.mark.parametrize("old", [None, "old"])
@pytest.mark.parametrize("error", [Unlucky, KeyboardInterrupt, SystemExit])
def test_an_exception_leaves_nothing_behind(tmp_path, old, error):
    path = tmp_path / "table.tsv.gz"
    if old:
        path.write_text(old)

    def write_half():
        with atomic(path) as part:
            part.write_text("half of the")
            raise error

    with pytest.raises(error):
        write_half()
    assert files_in(tmp_path) == (["table.tsv.gz"] if old else [])
    if old:
        assert path.read_text() == old


def test_a_writer_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "value.json"
    write_json({"a": 1}, path)
    for value in ({"a": object()}, {"a": float("nan")}):
        with pytest.raises((TypeError, ValueError)):
            write_json(value, path)
    with pytest.raises(UnicodeEncodeError):
        write_text("\ud800", path)
    assert read_json(path) == {"a": 1}
    assert files_in(tmp_path) == ["value.json"]


def test_the_file_is_not_there_before_it_is_whole(tmp_path):
    path = tmp_path / "new" / "folder" / "figure.v2.png"
    with atomic(path) as part:
        assert not path.exists()
        assert part.parent == path.parent
        assert part.suffix == ".png"
        assert part.name.startswith(".")
        part.write_text("whole")
    assert path.read_text() == "whole"
    assert files_in(path.parent) == ["figure.v2.png"]


def test_two_writers_at_once_do_not_mix(tmp_path):
    path = tmp_path / "a.txt"
    with atomic(path) as first, atomic(path) as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    # The outer one ends last.
    assert path.read_text() == "first"
    assert files_in(tmp_path) == ["a.txt"]


def test_a_killed_writer_leaves_no_file_under_the_name(tmp_path):
    """What may stay is hidden, and is no file that a workflow would take for a result."""
    program = (
        "import sys, time; from nard.files import atomic\n"
        "with atomic(sys.argv[1]) as part:\n"
        "    part.write_text('half'); print('ready', flush=True); time.sleep(60)\n"
    )
    path = tmp_path / "result.tsv"
    process = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().strip() == "ready"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert not path.exists()
    assert all(name.startswith(".part-") for name in files_in(tmp_path))


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002, 0o027])
def test_permissions_follow_the_umask(tmp_path, mask):
    before = os.umask(mask)
    try:
        write_text("x", tmp_path / "mine")
        (tmp_path / "plain").write_text("x")
        write_tsv(TABLE, tmp_path / "table.tsv.gz")
        now = os.umask(mask)
    finally:
        os.umask(before)
    assert now == mask
    modes = {name: (tmp_path / name).stat().st_mode & 0o777 for name in ("mine", "plain", "table.tsv.gz")}
    assert set(modes.values()) == {0o666 & ~mask}


# The same bytes


def test_the_same_content_has_the_same_bytes(tmp_path, monkeypatch):
    def written(folder):
        write_tsv(TABLE, folder / "a.tsv.gz")
        write_tsv(TABLE, folder / "a.tsv")
        write_json({"b": [1, 2.5], "a": "é"}, folder / "a.json")
        write_npz(folder / "a.npz", coef=np.arange(6.0).reshape(2, 3), names=np.array(["x", "y"]))
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    first = written(tmp_path / "1")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 1e6)
    monkeypatch.setattr(time, "localtime", lambda *_: time.gmtime(now + 1e6))
    second = written(tmp_path / "2")
    assert first == second
    assert gzip.decompress(first["a.tsv.gz"]) == first["a.tsv"]
    # Bytes 4 to 8 of a gzip header are the time.
    assert first["a.tsv.gz"][4:8] == bytes(4)


def test_text_is_that_of_every_system(tmp_path):
    write_tsv(TABLE, tmp_path / "a.tsv")
    assert (tmp_path / "a.tsv").read_bytes() == b"name\tvalue\tselected\na\t1.5\tTrue\nb\t\tFalse\n"
    write_json({"a": "é", "b": None}, tmp_path / "a.json")
    assert (tmp_path / "a.json").read_bytes() == '{\n  "a": "é",\n  "b": null\n}\n'.encode()


# Read back


names = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=8) | st.sampled_from(
    [
        "nan",
        "None",
        "null",
        "N/A",
        "#N/A",
        "-",
        "1e5",
        "007",
        "True",
        "inf",
        'a"b',
        "a,b",
        "'",
        "#x",
        " a",
        "α/β",
        "1.0",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(names, names, st.floats(-1e6, 1e6) | st.just(np.nan)), min_size=1, max_size=5))
def test_a_table_reads_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("tables") / "a.tsv.gz"
    table = pd.DataFrame(rows, columns=["feature", "target", "weight"])
    write_tsv(table, path)
    found = read_tsv(path, dtype={"feature": str, "target": str})
    assert found[["feature", "target"]].to_numpy().tolist() == table[["feature", "target"]].to_numpy().tolist()
    np.testing.assert_allclose(found["weight"], table["weight"], rtol=1e-7)


def test_numbers_keep_eight_digits(tmp_path):
    table = pd.DataFrame({"p": [1.23456789e-300, 0.1, 123456789.0, -1e-17], "n": [1, 2**53, -5, 0]})
    write_tsv(table, tmp_path / "a.tsv")
    found = read_tsv(tmp_path / "a.tsv")
    np.testing.assert_allclose(found["p"], table["p"], rtol=1e-7)
    assert found["n"].tolist() == table["n"].tolist()


def test_words_for_missing_are_names(tmp_path):
    """Only an empty cell is missing. A column of names needs ``dtype=str`` where all its names look like numbers."""
    table = pd.DataFrame({"feature": ["NA", "nan", "None", "1e5", "x"], "value": [1.0, np.nan, 3.0, 4.0, 5.0]})
    write_tsv(table, tmp_path / "a.tsv")
    pd.testing.assert_frame_equal(read_tsv(tmp_path / "a.tsv"), table)
    numbers = pd.DataFrame({"feature": ["007", "1e5"], "value": [1.5, 2.0]})
    write_tsv(numbers, tmp_path / "a.tsv")
    pd.testing.assert_frame_equal(read_tsv(tmp_path / "a.tsv", dtype={"feature": str}), numbers)


def test_a_row_of_nothing_is_a_row(tmp_path):
    table = pd.DataFrame({"value": [1.0, np.nan, 3.0]})
    write_tsv(table, tmp_path / "a.tsv")
    pd.testing.assert_frame_equal(read_tsv(tmp_path / "a.tsv"), table)
    table = pd.DataFrame({"a": [np.nan, 1.0], "b": [np.nan, 2.0]})
    write_tsv(table, tmp_path / "a.tsv")
    pd.testing.assert_frame_equal(read_tsv(tmp_path / "a.tsv"), table)


def test_an_empty_list_of_stand_ins_is_not_missing(tmp_path):
    table = pd.DataFrame(
        {"feature": ["a", "b"], "own": [True, False], "probability": [0.5, np.nan], "stand_ins": ["7;8", ""]}
    )
    write_tsv(table, tmp_path / "t.tsv")
    pd.testing.assert_frame_equal(read_tsv(tmp_path / "t.tsv"), table)
    write_tsv(table.assign(stand_ins=""), tmp_path / "t.tsv")
    assert (read_tsv(tmp_path / "t.tsv")["stand_ins"] == "").all()


def test_matrices_read_back(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((4, 5)), ["007", "1e5", "nan", "NA"], ["TP53", "nan", "None", "1e5", "007"])
    write_tsv(X.rename_axis("sample"), tmp_path / "X.tsv.gz", index=True)
    found = read_matrix(tmp_path / "X.tsv.gz")
    assert list(found.index) == list(X.index)
    assert list(found) == list(X)
    np.testing.assert_allclose(found, X, rtol=1e-7)


@pytest.mark.parametrize("name", ["NA", "sample", "nan", "None"])
def test_features_of_any_name_go_through_the_files_of_a_fit(tmp_path, name):
    """Sodium is called NA in clinical chemistry, and antibodies are upper-cased."""
    X = pd.DataFrame(np.eye(3)[:, :2], ["s1", "s2", "s3"], [name, "K"])
    Y = pd.DataFrame(np.eye(3), ["s1", "s2", "s3"], [name, "P1", "P2"])
    groups = pathway_groups(
        X, Y, Pathways(pd.DataFrame({"pathway": ["A"], "protein": ["P1"], "gene": ["K"]})), read_antibodies()
    )
    for table, file in ((X, "X.tsv"), (Y, "Y.tsv")):
        write_tsv(table.rename_axis("sample"), tmp_path / file, index=True)
    write_tsv(groups, tmp_path / "groups.tsv")
    X, Y = read_matrix(tmp_path / "X.tsv"), read_matrix(tmp_path / "Y.tsv")
    assert list(X) == [name, "K"]
    assert list(Y) == [name, "P1", "P2"]
    groups = read_tsv(tmp_path / "groups.tsv", dtype=str).fillna("")
    assert set(groups["name"]) == {name, "K", "P1", "P2"}
    assert own_inputs(groups, list(X), list(Y)).shape == (3, 2, 2)


def test_arrays_read_back(tmp_path):
    arrays = {"coef": np.arange(6.0).reshape(2, 3), "names": np.array(["α", "b"]), "n": np.array(3)}
    write_npz(tmp_path / "a.npz", **arrays)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as found:
        assert set(found) == set(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name], array)


def test_json_reads_back(tmp_path):
    value = {"a": [1, 2.5, None, True], "é": {"b": "–"}}
    write_json(value, tmp_path / "a.json")
    assert read_json(tmp_path / "a.json") == value
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == value
