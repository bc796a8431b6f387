"""Runs of the workflow in folders of their own, for tests."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
SNAKEMAKE = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]

# Two small cohorts of either kind, through every stage in half a minute.
SMALL = {
    "methods": ["sequential", "hybrid", "capme"],
    "use_pathways": ["Apoptosis", "Cell-cycle"],
    "fit": {"lam": 0.1, "relevance": "entries"},
    "cohorts": {
        "AAA": {"source": "simulated", "samples": 60},
        "AGE": {"source": "simulated", "kind": "aging", "samples": 80, "id": "id"},
    },
}


def environment():
    """Without what the tests set for themselves: the threads of a job are the workflow's business."""
    return {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}


def write_config(folder, config):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


def command(folder, *arguments, cores=2):
    return [
        *SNAKEMAKE,
        "--directory",
        str(folder),
        "--configfile",
        str(folder / "config.yaml"),
        "--cores",
        str(cores),
        *arguments,
    ]


def run(folder, *arguments, cores=2, check=True, timeout=600):
    """The finished run of the config in the folder; its output goes with the error if it should not fail and does."""
    done = subprocess.run(
        command(folder, *arguments, cores=cores), env=environment(), capture_output=True, text=True, timeout=timeout
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def kill_after(folder, seconds, jobs_too):
    """Starts the run and kills it without warning, with or without the jobs that it has started."""
    process = subprocess.Popen(
        command(folder), env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    if process.poll() is None:
        (os.killpg if jobs_too else os.kill)(process.pid, signal.SIGKILL)
    process.wait()


def tables(folder):
    """The bytes of every table that a run wrote."""
    paths = sorted([*folder.glob("results/**/*.tsv"), *folder.glob("results/**/*.tsv.gz")])
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if "benchmarks" not in path.parts}
