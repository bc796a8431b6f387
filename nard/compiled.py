"""Functions that numba compiles; the code is kept for the next process where there is a place for it."""

from __future__ import annotations

import warnings
from functools import cache

import numba
from numba.core.caching import FunctionCache

__all__ = ["njit"]


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
