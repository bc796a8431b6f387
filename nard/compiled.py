"""Functions that numba compiles, and threads to run them in.

The code is kept for the next process where there is a place for it. Compiled functions and products of matrices run at
the same time in threads of one process. What a part of the work gives does not depend on how many threads there are.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import cache

import numba
from numba.core.caching import FunctionCache

__all__ = ["each", "njit", "one_thread", "workers"]


class _Kept(FunctionCache):
    """The files of one function. Damaged ones are made anew, and a full disk is no reason to end."""

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever it is that reading half a file raises
            return None

    def save_overload(self, sig, data):
        try:
            try:
                super().save_overload(sig, data)
            except OSError:
                raise
            except Exception:  # the list of the files is damaged
                self.flush()
                super().save_overload(sig, data)
        except OSError as error:
            _warn(f"cannot be written ({error})")


def njit(*, cache: bool, **options):
    """As numba's, but a function is compiled all the same where its code can neither be read nor kept."""

    def compiled(function):
        dispatcher = numba.njit(**options)(function)
        if cache:
            try:
                dispatcher._cache = _Kept(function)
            except (OSError, RuntimeError):
                _warn("is neither in the package's own folder nor in the user's")
        return dispatcher

    return compiled


@cache
def _warn(why: str) -> None:
    """Once, though there are many functions."""
    warnings.warn(
        f"A place for compiled code {why}, so that every run compiles it again, for about ten seconds: set "
        "NUMBA_CACHE_DIR to a folder that can be written to.",
        UserWarning,
        stacklevel=2,
    )


def workers() -> int:
    """How many threads: the environment's OMP_NUM_THREADS, as for linear algebra, or else one for every core."""
    given = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if given.isdigit() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def each(function: Callable, parts: Iterable) -> list:
    """``function`` of every part, in order, so many at once as there are :func:`workers`.

    Each has one thread for its linear algebra. Nothing is nested: what a part calls takes its parts in turn.
    """
    parts = list(parts)
    threads = min(workers(), len(parts))
    if threads <= 1 or _inside.get():
        return [function(part) for part in parts]

    def inside(part):
        _inside.set(True)
        return function(part)

    with one_thread(), ThreadPoolExecutor(threads) as pool:
        return list(pool.map(inside, parts))


_inside: ContextVar[bool] = ContextVar("inside", default=False)


def one_thread():
    """A context in which linear algebra has one thread.

    Several, of NumPy's and SciPy's libraries, wait busily for work and hinder each other: factors of a few hundred
    variables may take a hundred times as long.
    """
    return _libraries().limit(limits=1)


@cache
def _libraries():
    from threadpoolctl import ThreadpoolController  # only where there are several threads

    return ThreadpoolController()
