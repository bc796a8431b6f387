"""Which run of the workflow a folder belongs to: one at a time, and no job that outlived its own run may write.

A run that holds the lock writes its number into it, higher than all before, and hands it to its jobs in the
environment, also to those on other machines. A killed run leaves its jobs behind; once the next run holds the lock they
see a higher number than theirs. A lower one is an old view of the file on a network file system, no cause for alarm.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from nard.errors import DataError

__all__ = ["RUN", "Overtaken", "hold", "require_current"]

RUN = "NARD_RUN"
_LOCK = Path(".snakemake", "nard.lock")
# So that a number takes the place of another at once, and is never seen half.
_DIGITS = 20


class Overtaken(DataError):
    """The run that a job belongs to is over, and another one is at work in its folder or has been."""


def hold() -> int | None:
    """Locks the working directory for a run as long as this process lives; None if another run has it.

    Snakemake's own lock outlives a killed run and then has to be removed by hand; this one goes with the process.
    """
    import fcntl

    _LOCK.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(_LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    number = max(time.time_ns(), (_current() or 0) + 1)
    os.pwrite(lock, f"{number:0{_DIGITS}d}\n".encode(), 0)
    os.fsync(lock)
    os.environ[RUN] = str(number)
    return lock


def require_current() -> None:
    """Raises :class:`Overtaken` in a job whose run has been followed by another one; does nothing outside of a run."""
    own, current = os.environ.get(RUN), _current()
    if own is not None and current is not None and current > int(own):
        raise Overtaken(
            "This job belongs to a run that was stopped, and another run has been started in this folder since.\n"
            "  It ends here, so that it does not write over the results of that run."
        )


def _current() -> int | None:
    """The number of the run that holds the lock, or was the last to hold it, if the file can be seen from here."""
    try:
        return int(_LOCK.read_text()[:_DIGITS])
    except (OSError, ValueError):
        return None
