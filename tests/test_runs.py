"""The lock of a run, and jobs that belong to a run that is over."""

import os
import subprocess
import sys

import pytest

from nard import runs
from nard.files import write_text


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # `hold` sets it, and what a test sets itself is gone after it.
    monkeypatch.setenv(runs.RUN, "0")
    monkeypatch.delenv(runs.RUN)
    return tmp_path


def begin():
    """A run as far as its lock; its number is in the environment."""
    lock = runs.hold()
    assert lock is not None
    os.close(lock)
    return int(os.environ[runs.RUN])


def test_numbers_rise_whatever_the_clock_says(folder, monkeypatch):
    first = begin()
    monkeypatch.setattr(runs.time, "time_ns", lambda: 5)
    assert [begin(), begin()] == [first + 1, first + 2]


def test_one_run_at_a_time(folder):
    lock = runs.hold()
    number = os.environ[runs.RUN]
    assert runs.hold() is None
    runs.require_current()
    # The one that was refused has not changed whose the folder is.
    assert os.environ[runs.RUN] == number
    os.close(lock)
    assert begin() > int(number)


def test_the_lock_goes_with_the_process(folder):
    code = "import os; from nard import runs; runs.hold(); os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    begin()


def test_an_overtaken_job_leaves_files_as_they_are(folder):
    number = begin()
    write_text("of the first run", "a.txt")
    begin()
    write_text("of the second run", "a.txt")
    os.environ[runs.RUN] = str(number)
    with pytest.raises(runs.Overtaken, match="another run has been started in this folder"):
        write_text("of the first run", "a.txt")
    assert (folder / "a.txt").read_text() == "of the second run"
    assert sorted(path.name for path in folder.iterdir()) == [".snakemake", "a.txt"]


@pytest.mark.parametrize("content", [None, "", "what?", "7", "00000000000000000007\n"])
def test_what_cannot_be_told_is_no_alarm(folder, content, monkeypatch):
    """No lock to be seen, an old format of it, or the number of an earlier run."""
    monkeypatch.setenv(runs.RUN, "7")
    if content is not None:
        (folder / ".snakemake").mkdir()
        (folder / ".snakemake/nard.lock").write_text(content)
    runs.require_current()
    write_text("text", "a.txt")


def test_outside_of_a_run_everything_may_write(folder):
    begin()
    os.environ.pop(runs.RUN)
    write_text("text", "a.txt")
