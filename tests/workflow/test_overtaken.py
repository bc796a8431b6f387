"""Jobs that outlive their killed run, while another run goes on in the same folder: they harm nobody."""

import os
import signal
import subprocess
import time
from contextlib import suppress

import psutil
import pytest
from runs import SMALL, command, environment, run, write_config

pytestmark = pytest.mark.slow

SAMPLER = {
    **SMALL,
    "methods": ["hsghs"],
    "reference": "hsghs",
    "fit": {"time_budget": 15},
    "cohorts": {"AAA": {"source": "simulated", "samples": 40}},
}
FIT = "results/AAA/hsghs/fit.json"
LATER = [FIT, "results/AAA/hsghs/held_out.json"]
LOG = "results/logs/fit/AAA_hsghs.log"
# The process around a job on another machine; its run hands it its number.
REMOTE = ("--mode", "remote", "--no-hooks", "--force", FIT)


def contents(folder):
    paths = [path for path in (folder / "results/AAA").rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def number(folder):
    return int((folder / ".snakemake/nard.lock").read_text())


def fits(process):
    """Whether it is the script of a fit, and not the shell around it."""
    with suppress(psutil.Error):
        return "python" in process.name() and "".join(process.cmdline()[-1:]).endswith("fit.py")
    return False


def start(folder, *arguments, **variables):
    """A process of Snakemake, and the process of the fit that it has begun, which is then halted."""
    (folder / LOG).unlink(missing_ok=True)
    process = subprocess.Popen(
        command(folder, *arguments, cores=1),
        env=environment() | variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        assert process.poll() is None, "the run has ended without a fit"
        fit = next(filter(fits, psutil.Process(process.pid).children(recursive=True)), None)
        if fit and (folder / LOG).exists() and "started" in (folder / LOG).read_text():
            fit.suspend()
            return process, fit
        time.sleep(0.05)
    raise AssertionError("the fit has not begun")


@pytest.fixture(scope="module")
def overtaken(tmp_path_factory):
    """A folder in which one run was killed and another one has finished, and what the jobs of the first then did."""
    folder = tmp_path_factory.mktemp("overtaken")
    write_config(folder, SAMPLER)
    here, fit = start(folder, FIT)
    os.kill(here.pid, signal.SIGKILL)
    here.wait()
    there, fit_there = start(folder, *REMOTE, NARD_RUN=str(number(folder)))
    try:
        write_config(folder, SAMPLER | {"seed": 2, "fit": {"time_budget": 1}})
        run(folder, *LATER, cores=1)
        before, log = contents(folder), (folder / LOG).read_text()
        for orphan in (fit, fit_there):
            orphan.resume()
        fit.wait(timeout=300)
        assert there.wait(timeout=300) != 0
    finally:
        for process in (fit, fit_there, there):
            if process.poll() is None if process is there else process.is_running():
                process.kill()
    return folder, before, log


def test_they_write_nothing_and_remove_nothing(overtaken):
    folder, before, log = overtaken
    assert set(LATER) <= set(before)
    assert contents(folder) == before
    assert (folder / LOG).read_text() == log
    assert "done" in log
    said = run(folder, *LATER)
    assert "Nothing to be done" in said.stdout + said.stderr


def test_a_job_that_waited_in_the_queue_does_not_begin(overtaken):
    folder, before, _ = overtaken
    done = subprocess.run(
        command(folder, *REMOTE, cores=1),
        env=environment() | {"NARD_RUN": str(number(folder) - 1)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode != 0
    assert "another run has been started in this folder" in done.stdout + done.stderr
    assert contents(folder) == before


def test_a_job_of_the_present_run_is_not_stopped(overtaken):
    """Nor one that sees the number of an earlier run, from a file system that is slow to show the new one."""
    folder, before, _ = overtaken
    for own in (number(folder), number(folder) + 1):
        done = subprocess.run(
            command(folder, *REMOTE, cores=1),
            env=environment() | {"NARD_RUN": str(own)},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert set(contents(folder)) == set(before)
