"""Why a method could not be fitted to a cohort, which is a result about the method: a code, and the method's own words.

Files that cannot be read or written, tables that are wrong, packages that are not there and too little memory are no
such results: they end the job, which can be tried again with what it lacked.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from nard.errors import DataError, FitError, NotFinite
from nard.fits.methods import find_method

__all__ = ["failure_lines", "failure_text", "finite", "method_errors", "short_failure"]

_OF_THE_RUN = (DataError, OSError, ImportError, MemoryError)


@contextmanager
def method_errors() -> Iterator[dict[str, str]]:
    """What a method raises in the block goes into the dict, as ``code`` and ``message``; else it is empty.

    The log gets the traceback, for the author of the method.
    """
    failed: dict[str, str] = {}
    try:
        yield failed
    except _OF_THE_RUN:
        raise
    except Exception as error:
        logging.getLogger("nard").warning("the method cannot be fitted", exc_info=True)
        failed |= {"code": _code(error), "message": _message(error)}


def _code(error: Exception) -> str:
    if isinstance(error, FitError):
        return error.code
    return "singular matrix" if isinstance(error, np.linalg.LinAlgError) else "error"


def _message(error: Exception) -> str:
    """The method's words; without the kind of error some would mean nothing, such as KeyError: 'x'."""
    return str(error) if isinstance(error, FitError | np.linalg.LinAlgError) else f"{type(error).__name__}: {error}"


def finite(what: str, *values) -> None:
    """Raises :class:`NotFinite` unless all the arrays, or those that are not None, are finite."""
    bad = sum(int((~np.isfinite(np.asarray(value, dtype=float))).sum()) for value in values if value is not None)
    if bad:
        raise NotFinite(f"{what}: {bad} values are NaN or infinite.")


def failure_text(failed: Mapping) -> str:
    """All of the reason."""
    words = " ".join(failed["message"].split())
    return words if failed["code"] == "error" else f"{failed['code']}: {words}"


def short_failure(failed: Mapping) -> str:
    """The first line of the reason, for a cell of a table."""
    return failure_text({**failed, "message": failed["message"].partition("\n")[0]})


def failure_lines(fits: Iterable[Mapping], held_out: Iterable[Mapping]) -> list[str]:
    """A line for every fit that there is not, and for every fit that predicts nothing; from fit.json, held_out.json."""
    lines = []
    for fit, predicted in zip(fits, held_out, strict=True):
        if failed := fit.get("failed"):
            what = "be fitted to"
        elif failed := predicted.get("failed"):
            what = "predict held-out samples of"
        else:
            continue
        lines.append(f"{find_method(fit['method']).title} could not {what} {fit['title']}: {short_failure(failed)}")
    return lines
