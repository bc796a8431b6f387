"""What every job of the workflow shares: a log that is always filled, and errors told in a few lines."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nard.errors import DataError

__all__ = ["job"]


@contextmanager
def job(log: str | Path) -> Iterator[logging.Logger]:
    """Logs to the file and to the terminal. A :class:`DataError` is told without a traceback and ends the job."""
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    # A job that outlived its run goes on in the old one.
    Path(log).unlink(missing_ok=True)
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    file = logging.FileHandler(log, mode="w", encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
    root.addHandler(file)
    logging.captureWarnings(True)
    logger = logging.getLogger("nard")
    logger.info("started")
    try:
        yield logger
        logger.info("done")
    except DataError as error:
        logger.error("%s", error)
        sys.exit(1)
    except BaseException:
        logger.exception("failed")
        raise
    finally:
        root.removeHandler(file)
        file.close()
