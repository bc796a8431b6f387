"""Runs of a chapter: each in a process of its own, within limits of time and memory, and never twice.

A run's record is one JSON file, written when the run is over: what was asked, what came out or why nothing did, how
long it took and how much memory. A chapter that was killed goes on with the runs that have no record yet.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from itertools import count
from pathlib import Path

import numpy as np

import nard
from nard.experiments import CannotRun, chapter_module
from nard.files import read_json, write_json

__all__ = ["key_of", "record_path", "run_chapter"]

_POLL = 0.1
_GB = 1e9


def key_of(spec: Mapping) -> str:
    """A short digest of everything that a run depends on."""
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]


def record_path(folder: str | Path, name: str) -> Path:
    """Where a run's record is."""
    return Path(folder) / f"{name}.json"


def run_chapter(
    chapter: str,
    settings: Mapping,
    folder: str | Path,
    *,
    cores: int = 1,
    timed: bool = True,
    say: Callable[[str], None] = print,
) -> list[Path]:
    """Do all runs of a chapter that have no record yet.

    Parameters
    ----------
    chapter : str
        Name of the chapter.
    settings : mapping
        The config's section `paper`; ``seconds`` and ``gigabytes`` limit every run.
    folder : path-like
        Where the records are.
    cores : int, default=1
        Cores to use.
    timed : bool, default=True
        One run at a time with all cores, or as many runs as cores.
    say : callable
        Gets a line at the end of every run.

    Returns
    -------
    list of Path
        The records, in the order of the chapter's runs.
    """
    module = chapter_module(chapter)
    specs = module.runs(settings)
    _check_names(chapter, specs)
    limits = {"seconds": settings["seconds"], "gigabytes": settings["gigabytes"]}
    paths = [record_path(folder, spec["name"]) for spec in specs]
    missing = [(spec, path) for spec, path in zip(specs, paths, strict=True) if not _settled(path, spec, limits)]
    say(f"{chapter}: {len(specs)} runs, {len(specs) - len(missing)} of them have a record already")
    workers, threads = (1, cores) if timed else (cores, 1)
    finished = count(1)

    def one(job):
        spec, path = job
        record = {"chapter": chapter, **_execute(module.__name__, spec, limits, threads)}
        write_json(record, path)
        say(f"{chapter} {next(finished)}/{len(missing)} {spec['name']}: {_summary(record)}")

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, missing))
    return paths


def _check_names(chapter: str, specs: Sequence[Mapping]) -> None:
    names = [spec["name"] for spec in specs]
    unfit = [name for name in names if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if unfit or twice:
        raise ValueError(
            f"chapter {chapter}: names of runs that cannot name a file {unfit}, or are there twice {twice}"
        )


def _settled(path: Path, spec: Mapping, limits: Mapping) -> bool:
    """Whether a run has a record that still counts.

    One that stopped at a limit is repeated if a limit was raised, one that could not start or failed is always tried
    again.
    """
    if not path.exists():
        return False
    record = read_json(path)
    if record["key"] != key_of(spec) or record["status"] in ("cannot", "error"):
        return False
    return record["status"] == "done" or all(record["limits"][name] >= limit for name, limit in limits.items())


def _execute(module: str, spec: Mapping, limits: Mapping, threads: int) -> dict:
    """The record of one run, done in a process of its own."""
    seconds = min(limits["seconds"], spec.get("seconds", math.inf))
    record = {"name": spec["name"], "key": key_of(spec), "spec": dict(spec)}
    with tempfile.TemporaryDirectory(prefix="nard-run-") as scratch:
        task, answer, errors = (Path(scratch) / name for name in ("task.json", "answer.json", "errors.txt"))
        write_json({"module": module, "spec": spec}, task)
        started = time.perf_counter()
        with errors.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "nard.experiments.running", str(task), str(answer)],
                env={**os.environ, **_thread_settings(threads), "PYTHONPATH": os.pathsep.join(sys.path)},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
            stopped, peak = _watch(process, started + seconds, limits["gigabytes"])
        record |= {"seconds": round(time.perf_counter() - started, 3), "peak_gb": round(peak, 3)}
        if stopped == "time":
            outcome = {"status": "time", "reason": f"not finished after {seconds:g} s"}
        elif stopped == "memory":
            outcome = {"status": "memory", "reason": f"needs more than {limits['gigabytes']:g} GB of memory"}
        elif answer.exists():
            outcome = read_json(answer)
        else:
            last = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:] or [""]
            outcome = {"status": "error", "reason": f"the process ended with code {process.returncode}. {last[0]}"}
    return {**record, **outcome, "threads": threads, "limits": dict(limits), "commit": _commit()}


def _watch(process: subprocess.Popen, deadline: float, gigabytes: float) -> tuple[str | None, float]:
    """Waits for a process, and ends it at its limits; which limit if any, and the most memory that was seen."""
    import psutil

    peak, stopped = 0.0, None
    watched = psutil.Process(process.pid)
    try:
        while stopped is None and process.poll() is None:
            peak = max(peak, _memory(watched))
            if peak > gigabytes:
                stopped = "memory"
            elif time.perf_counter() > deadline:
                stopped = "time"
            else:
                time.sleep(_POLL)
    finally:
        if process.poll() is None:
            _end(watched)
        process.wait()
    return stopped, peak


def _memory(process) -> float:
    """GB that a process and its children hold."""
    import psutil

    total = 0
    with suppress(psutil.NoSuchProcess):
        for one in (process, *process.children(recursive=True)):
            total += one.memory_info().rss
    return total / _GB


def _end(process) -> None:
    import psutil

    for one in (*process.children(recursive=True), process):
        with suppress(psutil.NoSuchProcess):
            one.kill()


def _thread_settings(threads: int) -> dict[str, str]:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return dict.fromkeys(names, str(threads))


def _commit() -> str | None:
    """The commit of the code, with "-dirty" if files differ from it; None outside of a repository."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        done = subprocess.run(command, cwd=Path(nard.__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _summary(record: Mapping) -> str:
    return f"{record.get('reason', 'done')} ({record['seconds']:.1f} s, {record['peak_gb']:.1f} GB)"


def _plain(value):
    """The same in types that JSON has; what is not finite is None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _leave_with_parent() -> None:
    """Ends this process once the one that started it is gone, so that a killed workflow leaves nothing behind."""
    parent = os.getppid()

    def wait():
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _main(task: str, answer: str) -> None:
    _leave_with_parent()
    given = read_json(task)
    try:
        outcome = {"status": "done", "result": _plain(import_module(given["module"]).run(given["spec"]))}
    except CannotRun as error:
        outcome = {"status": "cannot", "reason": str(error)}
    except MemoryError as error:
        outcome = {"status": "memory", "reason": f"out of memory: {error}"}
    except Exception as error:
        traceback.print_exc()
        outcome = {"status": "error", "reason": f"{type(error).__name__}: {error}"}
    write_json(outcome, answer)


if __name__ == "__main__":
    _main(*sys.argv[1:])
