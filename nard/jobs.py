"""What every job of the workflow shares: a log that is always filled, and errors told in a few lines."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nard.data.errors import DataError

__all__ = ["job"]

_STARTED, _DONE, _FAILED = "started", "done", "failed"


@contextmanager
def job(log: str | Path) -> Iterator[logging.Logger]:
    """Logs to the file and to the terminal. A :class:`DataError` is told without a traceback and ends the job.

    A job that is killed, for want of memory above all, cannot say so itself: the next attempt does.
    """
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    killed = _broken_off(Path(log))
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    file = logging.FileHandler(log, mode="w", encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
    root.addHandler(file)
    logging.captureWarnings(True)
    logger = logging.getLogger("nard")
    logger.info(_STARTED)
    if killed:
        logger.warning(
            "the attempt before was killed without a word: out of memory, out of time, or by hand. Its log ended: %s",
            killed,
        )
    try:
        yield logger
        logger.info(_DONE)
    except DataError as error:
        logger.error("%s", error)
        sys.exit(1)
    except BaseException:
        logger.exception(_FAILED)
        raise
    finally:
        root.removeHandler(file)
        file.close()


def _broken_off(log: Path) -> str | None:
    """The last line of an earlier attempt's log, if that neither came to an end nor told an error."""
    if not log.exists():
        return None
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    if not lines or not lines[0].endswith(_STARTED):
        return None
    ended = any(line.endswith(f"INFO {_DONE}") or " ERROR " in line for line in lines)
    return None if ended else lines[-1]
