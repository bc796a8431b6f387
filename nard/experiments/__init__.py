"""The paper's experiments: every table and figure, ours beside the paper's.

A new chapter is one module here and one entry in :mod:`nard.project.chapters`.

A chapter's module has

- ``runs(settings) -> list[dict]``: the description of every run, from the config's section `paper`. Each is JSON and
  all that its run depends on (seed, sizes, method, files); ``name`` is unique and the name of a file. ``file`` is the
  file or folder of its data, if it has any: once that has changed, the run is done again. With ``seconds`` it may ask
  for a tighter limit of time than the config's.
- ``run(spec) -> dict``: does one run, in a process of its own; numbers, text, lists and dicts only. It raises
  :class:`CannotRun` with a sentence if the run is not even worth starting.
- ``table(results) -> DataFrame``: ours, and the paper's in columns ``paper_…``. ``results`` are the records of
  :mod:`nard.experiments.running`, in the order of ``runs``.
- ``figure(table, results) -> Figure``, or a dict with a figure for each name in the entry's ``figures``.
- ``remarks(table) -> list[str]``: plain sentences computed from the table as it is in its file, the main one first.
- ``brief(table) -> DataFrame``, if the table is too long or too wide for a page: what the page shows of it.
- ``READINGS``: what the paper leaves open, and how we read it; paragraphs of text.
- ``PRELOAD``, if it likes: modules to import once instead of in every run.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from nard.project.chapters import CHAPTERS

__all__ = ["CannotRun", "chapter_module"]


class CannotRun(Exception):
    """A run that would not end within its limits, or that lacks its data; the text says why."""


def chapter_module(name: str) -> ModuleType:
    """The module of a chapter."""
    return import_module(CHAPTERS[name].path)
