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
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from itertools import count
from pathlib import Path
from types import ModuleType

import numpy as np

import nard
from nard.data.tables import folder_files
from nard.experiments import CannotRun, chapter_module
from nard.files import read_json, write_json
from nard.project.provenance import content_of

__all__ = ["key_of", "record_path", "run_chapter"]

_POLL = 0.05
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
    # Before any run begins, so that a change while it is under way counts the next time.
    contents = {file: content_of(file) for file in {spec.get("file") for spec in specs} if file}
    missing = [
        (spec, path)
        for spec, path in zip(specs, paths, strict=True)
        if not _settled(path, spec, limits, contents.get(spec.get("file")))
    ]
    say(f"{chapter}: {len(specs)} runs, {len(specs) - len(missing)} of them have a record already")
    workers, threads = (1, cores) if timed else (cores, 1)
    about = {"chapter": chapter, "threads": threads, "commit": _commit()}
    finished, waiting = count(1), iter(missing)

    def work(_):
        worker = _Worker(module.__name__, threads)
        try:
            while job := next(waiting, None):
                spec, path = job
                record = {**about, "content": contents.get(spec.get("file")), **worker(spec, limits)}
                write_json(record, path)
                say(f"{chapter} {next(finished)}/{len(missing)} {spec['name']}: {_summary(record)}")
        finally:
            worker.close()

    if missing:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(work, range(workers)))
    return paths


def _check_names(chapter: str, specs: Sequence[Mapping]) -> None:
    names = [spec["name"] for spec in specs]
    unfit = [name for name in names if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if unfit or twice:
        raise ValueError(
            f"chapter {chapter}: names of runs that cannot name a file {unfit}, or are there twice {twice}"
        )


def _settled(path: Path, spec: Mapping, limits: Mapping, content: str | None) -> bool:
    """Whether a run has a record that still counts; ``content`` tells what is in its data, if there are any.

    One that stopped at a limit is repeated if a limit was raised, one whose data have changed is, too, and one that
    could not start or failed is always tried again.
    """
    if not path.exists():
        return False
    record = read_json(path)
    if record["key"] != key_of(spec) or record["status"] in ("cannot", "error"):
        return False
    if _has_new_data(path, spec) or _has_other_data(record, content):
        return False
    return record["status"] == "done" or all(record["limits"][name] >= limit for name, limit in limits.items())


def _has_new_data(record: Path, spec: Mapping) -> bool:
    """Whether the file of a run, or one in its folder, was changed after its record was written."""
    file = Path(spec.get("file") or "")
    files = folder_files(file) if spec.get("file") and file.is_dir() else [file]
    return any(one.is_file() and one.stat().st_mtime > record.stat().st_mtime for one in files)


def _has_other_data(record: Mapping, content: str | None) -> bool:
    """Whether they were replaced, be it by older ones; not if they are gone, or the record does not tell, as once."""
    return content is not None and record.get("content", content) != content


class _Worker:
    """A process that has imported what a chapter needs, and forks itself for every run.

    Starting Python and importing takes seconds, more than many a run.
    """

    def __init__(self, module: str, threads: int):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nard.experiments.running", module],
            env={**os.environ, **_thread_settings(threads), "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.questions, self.answers = self.process.stdin, self.process.stdout

    def __call__(self, spec: Mapping, limits: Mapping) -> dict:
        self.questions.write(json.dumps({"spec": spec, "limits": limits}) + "\n")
        self.questions.flush()
        answer = self.answers.readline()
        if not answer:
            raise RuntimeError(f"the process that was to run {spec['name']} ended with code {self.process.wait()}")
        return json.loads(answer)

    def close(self) -> None:
        self.questions.close()
        self.process.wait()


def _serve(module_name: str) -> None:
    """The worker's side: a line of JSON in for every run, its record out."""
    module, parent = import_module(module_name), os.getppid()
    for name in getattr(module, "PRELOAD", ()):
        import_module(name)
    # What runs print goes to standard error; the answers alone to what was standard output.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        task = json.loads(line)
        answers.write(json.dumps(_supervised(module, task["spec"], task["limits"], parent), allow_nan=False) + "\n")
        answers.flush()


def _supervised(module: ModuleType, spec: Mapping, limits: Mapping, parent: int) -> dict:
    """The record of one run, done by a fork of this process."""
    seconds = min(limits["seconds"], spec.get("seconds", math.inf))
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="nard-run-") as scratch:
        answer = Path(scratch) / "answer.json"
        pid = os.fork()
        if pid == 0:
            try:
                write_json(_outcome(module, spec), answer)
            finally:
                os._exit(0)
        stopped, peak, code = _watch(pid, started + seconds, limits["gigabytes"], parent)
        if stopped == "time":
            outcome = {"status": "time", "reason": f"not finished after {seconds:g} s"}
        elif stopped == "memory":
            outcome = {"status": "memory", "reason": f"needs more than {limits['gigabytes']:g} GB of memory"}
        elif answer.exists():
            outcome = read_json(answer)
        else:
            outcome = {"status": "error", "reason": f"the process ended with code {code}"}
    about = {"name": spec["name"], "key": key_of(spec), "spec": dict(spec), "limits": dict(limits)}
    return {**about, "seconds": round(time.perf_counter() - started, 3), "peak_gb": round(peak, 3), **outcome}


def _outcome(module: ModuleType, spec: Mapping) -> dict:
    try:
        return {"status": "done", "result": _plain(module.run(spec))}
    except CannotRun as error:
        return {"status": "cannot", "reason": str(error)}
    except MemoryError as error:
        return {"status": "memory", "reason": f"out of memory: {error}"}
    except Exception as error:
        traceback.print_exc()
        return {"status": "error", "reason": f"{type(error).__name__}: {error}"}


def _watch(pid: int, deadline: float, gigabytes: float, parent: int) -> tuple[str | None, float, int]:
    """Waits for a child, and ends it at its limits: which limit if any, the most memory seen, and the exit code.

    If the process that asked for the run is gone, so is the run: a killed workflow leaves nothing behind.
    """
    import psutil

    peak, stopped, watched = 0.0, None, psutil.Process(pid)
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return stopped, peak, os.waitstatus_to_exitcode(status)
        peak = max(peak, _memory(watched))
        if os.getppid() != parent:
            _end(watched)
            os._exit(1)
        if stopped is None and (peak > gigabytes or time.perf_counter() > deadline):
            stopped = "memory" if peak > gigabytes else "time"
            _end(watched)
        time.sleep(_POLL)


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


if __name__ == "__main__":
    _serve(sys.argv[1])
