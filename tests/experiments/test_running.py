"""Runs of a chapter: limits, reasons, records that are kept, and going on after a kill."""

import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import psutil
import pytest

from nard.experiments.pages import chapter_page, report_parts, reproduction_page
from nard.experiments.running import key_of, run_chapter
from nard.files import read_json, read_tsv, write_json, write_tsv
from nard.project.chapters import CHAPTERS, Chapter

LIMITS = {"seconds": 120, "gigabytes": 0.8}


@pytest.fixture(autouse=True)
def made_up(monkeypatch):
    monkeypatch.setitem(CHAPTERS, "made_up", Chapter("Made up", "made_up_chapter"))


def specs(tmp_path, *kinds, **more):
    diary = str(tmp_path / "diary.txt")
    return [{"name": f"run_{i}", "what": what, "seed": i, "diary": diary, **more} for i, what in enumerate(kinds)]


def go(tmp_path, given, **options):
    limits = {**LIMITS, **{key: options.pop(key) for key in list(LIMITS) if key in options}}
    paths = run_chapter("made_up", {**limits, "specs": given}, tmp_path / "records", **options)
    return [read_json(path) for path in paths]


def diary(tmp_path):
    return (tmp_path / "diary.txt").read_text().split()


@pytest.mark.parametrize("inside", [None, "more/part.csv"])
def test_a_run_whose_data_have_changed_is_done_again(tmp_path, inside):
    data = tmp_path / "data"
    file = data / inside if inside else data
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("1")
    given = specs(tmp_path, "count", file=str(data))
    for _ in range(2):
        go(tmp_path, given)
    assert len(diary(tmp_path)) == 1
    os.utime(file, (time.time() + 5,) * 2)
    go(tmp_path, given)
    assert len(diary(tmp_path)) == 2


def test_a_run_whose_data_were_replaced_by_older_ones_is_done_again(tmp_path):
    data = tmp_path / "data.csv"
    given = specs(tmp_path, "count", file=str(data))
    for times, content in enumerate(("1", "2"), start=1):
        data.write_text(content)
        os.utime(data, (1, 1))
        for _ in range(2):
            [record] = go(tmp_path, given)
            assert len(diary(tmp_path)) == times
    # Records that were made before they told what was in the data count as long as those are older.
    del record["content"]
    write_json(record, tmp_path / "records" / "run_0.json")
    go(tmp_path, given)
    assert len(diary(tmp_path)) == 2


def test_every_way_to_end_is_recorded(tmp_path):
    kinds = ("count", "sleep", "eat", "fail", "refuse", "crash")
    given = specs(tmp_path, *kinds)
    given[1]["seconds"] = 2
    lines = []
    records = go(tmp_path, given, cores=2, timed=False, say=lines.append)
    by = dict(zip(kinds, records, strict=True))
    assert [by[kind]["status"] for kind in kinds] == ["done", "time", "memory", "error", "cannot", "error"]
    assert by["count"]["result"] == {"value": 0.0, "nothing": None, "threads": "1"}
    assert by["sleep"]["reason"] == "not finished after 2 s"
    assert 2 <= by["sleep"]["seconds"] < 60
    assert by["eat"]["reason"] == "needs more than 0.8 GB of memory"
    assert by["eat"]["peak_gb"] >= 0.8
    assert by["fail"]["reason"] == "KeyError: 'no such thing'"
    assert by["refuse"]["reason"] == "needs 900 GB by estimate"
    assert "the process ended with code -6" in by["crash"]["reason"]
    assert all(record["spec"] == spec for record, spec in zip(records, given, strict=True))
    assert all(record["key"] == key_of(record["spec"]) and record["seconds"] > 0 for record in records)
    assert lines[0] == "made_up: 6 runs, 0 of them have a record already"
    assert len(lines) == 7


def test_a_record_of_the_same_spec_is_kept(tmp_path):
    given = specs(tmp_path, "count", "count", "fail", "sleep")
    given[3]["seconds"] = 1
    first = go(tmp_path, given, timed=False, cores=2)
    assert diary(tmp_path).count("run_2") == 1
    # A failed run is tried again, others are not: not even one that stopped at its limit.
    again = go(tmp_path, given)
    assert diary(tmp_path).count("run_2") == 2
    assert [again[0], again[1], again[3]] == [first[0], first[1], first[3]]
    # Another spec by the same name is another run, and a raised limit another chance.
    given[1]["seed"] = 10
    changed = go(tmp_path, [given[0], given[1], given[3]], seconds=150, cores=2, timed=False)
    assert changed[0] == first[0]
    assert changed[1]["result"]["value"] == 20.0
    assert (changed[2]["status"], changed[2]["limits"]["seconds"]) == ("time", 150)
    assert sorted(name for name in diary(tmp_path) if name != "run_3") == ["run_0", "run_1", "run_1", "run_2", "run_2"]


def test_timed_runs_have_all_cores_and_no_company(tmp_path):
    records = go(tmp_path, specs(tmp_path, "count", "count"), cores=2, timed=True)
    assert [record["result"]["threads"] for record in records] == ["2", "2"]
    assert [record["threads"] for record in records] == [2, 2]


def test_names_that_cannot_be_files_or_are_there_twice(tmp_path):
    given = specs(tmp_path, "count", "count")
    given[0]["name"] = "a/b"
    with pytest.raises(ValueError, match=r"\['a/b'\]"):
        go(tmp_path, given)
    given[0]["name"] = "run_1"
    with pytest.raises(ValueError, match=r"twice \['run_1'\]"):
        go(tmp_path, given)


KILLED = """
import json, sys
from nard.project.chapters import CHAPTERS, Chapter
from nard.experiments.running import run_chapter
CHAPTERS["made_up"] = Chapter("Made up", "made_up_chapter")
run_chapter("made_up", json.loads(sys.argv[1]), sys.argv[2])
"""


def test_a_killed_chapter_loses_nothing_and_leaves_nothing_behind(tmp_path):
    given = specs(tmp_path, "count", "count", "count", pause=1.0)
    settings = json.dumps({**LIMITS, "specs": given})
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, settings, str(tmp_path / "records")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 100
    while not (tmp_path / "diary.txt").exists() or diary(tmp_path)[-1] != "run_1":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    children = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert len(children) == 2, "the worker and its run"
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive, "the run that was under way outlives the chapter"
    assert [path.name for path in (tmp_path / "records").iterdir()] == ["run_0.json"]
    records = go(tmp_path, given)
    assert [record["result"]["value"] for record in records] == [0.0, 2.0, 4.0]
    assert diary(tmp_path) == ["run_0", "run_1", "run_1", "run_2"]


def test_pages_say_what_was_not_run_and_tables_keep_their_bytes(tmp_path):
    results = go(tmp_path, specs(tmp_path, "count", "refuse", "count"), timed=False, cores=2)
    import made_up_chapter

    write_tsv(made_up_chapter.table(results), tmp_path / "a.tsv")
    write_tsv(made_up_chapter.table(results), tmp_path / "b.tsv")
    assert (tmp_path / "a.tsv").read_bytes() == (tmp_path / "b.tsv").read_bytes()
    table = read_tsv(tmp_path / "a.tsv")
    page = chapter_page("made_up", table, results)
    assert "## Made up" in page
    assert "- 2 of 3 runs have a value." in page
    assert "| run_1 | – | 4 |" in page
    assert "- Not run: run_1: needs 900 GB by estimate" in page
    assert "Really." in page
    whole = reproduction_page({"made_up": page}, {"scale": 0.1, "seeds": 3, **LIMITS}, "snakemake", "2026-01-01")
    assert "snakemake made_up" in whole
    assert "](figures/made_up.png)" in whole
    (tmp_path / "made_up.png").write_bytes(b"picture")
    parts = report_parts(["made_up"], {"made_up": table}, {"made_up": tmp_path / "made_up.png"})
    assert parts[0]["points"] == ["2 of 3 runs have a value."]
    assert parts[0]["table"]["header"] == [("name", False), ("ours", True), ("paper value", True)]
    assert parts[-1]["paragraphs"] == ["Nothing is open.", "Really."]


def test_a_missing_value_of_a_table_is_a_dash():
    from nard.experiments.pages import _shown

    assert [_shown(value) for value in (None, float("nan"), 0.94834, 12345.6, 7, "x", pd.NA is None)] == [
        *("–", "–", "0.9483", "12346", "7", "x", "False")
    ]
