"""The class of a method by its path, as it is written in the registry, in a config or by an entry point."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from nard.errors import DataError

__all__ = ["is_file", "load_class"]

# What the workflow asks of a method; `Baseline` has all of it.
_SURFACE = ("fit", "predict", "log_likelihood", "associations", "edges", "relevance", "get_params")


def is_file(place: str) -> bool:
    """Whether it is a file of Python, and not a module that can be imported by its name."""
    return place.endswith(".py")


@cache
def load_class(path: str) -> type:
    """The class at ``package.module:Class`` or ``path/to/file.py:Class``, relative to the working directory.

    :class:`nard.errors.DataError` tells what is wrong: no such file, module or class, or something that it lacks.
    """
    place, _, name = path.rpartition(":")
    module = _module(place)
    if not isinstance(found := getattr(module, name, None), type):
        there = [key for key, value in vars(module).items() if isinstance(value, type) and value.__module__ == place]
        raise DataError(f"{place} has no class {name!r}; there are {', '.join(there) or 'none'}.")
    lacking = [method for method in _SURFACE if not hasattr(found, method)]
    if lacking := [*lacking, *getattr(found, "__abstractmethods__", ())]:
        raise DataError(f"the class lacks {', '.join(lacking)}; derive it from nard.baselines.base.Baseline.")
    try:
        found()
    except TypeError as error:
        raise DataError(f"every argument of the class needs a default: {error}.") from None
    return found


def _module(place: str) -> ModuleType:
    if is_file(place) and not Path(place).is_file():
        raise DataError(f"there is no file {place} in {Path.cwd()}.")
    try:
        if not is_file(place):
            return import_module(place)
        module = sys.modules[place] = ModuleType(place)
        module.__file__ = place
        SourceFileLoader(place, place).exec_module(module)
    # Whatever a user's module does wrong, it is to be told with the other mistakes of the config.
    except Exception as error:
        raise DataError(f"{place} cannot be imported: {type(error).__name__}: {error}") from error
    return module
