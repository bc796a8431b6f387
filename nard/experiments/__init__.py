"""The paper's experiments: every table and figure, ours beside the paper's. A new chapter is one module and one entry.

A chapter's module has

- ``runs(settings) -> list[dict]``: the description of every run, from the config's section `paper`. Each is JSON and
  all that its run depends on (seed, sizes, method, files); ``name`` is unique and the name of a file. With ``seconds``
  it may ask for a tighter limit of time than the config's.
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

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

__all__ = ["CHAPTERS", "CannotRun", "Chapter", "chapter_module", "figures_of"]


class CannotRun(Exception):
    """A run that would not end within its limits, or that lacks its data; the text says why."""


@dataclass(frozen=True)
class Chapter:
    """A table or figure of the paper.

    Attributes
    ----------
    title : str
        Its heading.
    path : str
        Module.
    figures : tuple of str
        Names of its figures; empty if there is one, which goes by the chapter's name.
    of_paper : bool
        Whether the paper has it; if not, it is ours.
    timed : bool
        Whether its times count: then its runs go one by one, each with all cores, else as many at once as there are
        cores, with one thread each.
    """

    title: str
    path: str
    figures: tuple[str, ...] = ()
    of_paper: bool = True
    timed: bool = True


CHAPTERS: dict[str, Chapter] = {
    "table1": Chapter("Table 1: d = 5,000, m = N = 1,500", "nard.experiments.table1"),
    "table2": Chapter("Table 2: three sizes", "nard.experiments.table2"),
    "table3": Chapter("Table 3: time per iteration", "nard.experiments.table3"),
    "time": Chapter("Figure: total time over d", "nard.experiments.time"),
    "aging": Chapter("Aging phenotypes", "nard.experiments.aging", ("aging_blocks", "aging_nhanes")),
    "aging_kernels": Chapter("Aging phenotypes, with kernels", "nard.experiments.aging_kernels", timed=False),
    "tcga": Chapter(
        "Seven cancers",
        "nard.experiments.tcga",
        (
            *("tcga_upset", "tcga_finding", "tcga_network_COAD", "tcga_network_LUAD", "tcga_network_LUSC"),
            *("tcga_network_OV", "tcga_network_READ", "tcga_network_SKCM", "tcga_network_UCEC"),
        ),
        timed=False,
    ),
    "air_quality": Chapter(
        "The air of Beijing",
        "nard.experiments.air_quality",
        ("air_quality_network", "air_quality_humidity"),
        timed=False,
    ),
    "ashares": Chapter("A-shares", "nard.experiments.ashares", ("ashares_prices", "ashares_changes")),
    "study": Chapter(
        "Simulation study: error rates, power and time",
        "nard.experiments.study",
        figures=("study_calibration", "study_samples", "study_curves", "study_time"),
        of_paper=False,
        timed=False,
    ),
    "predictions": Chapter(
        "Held-out predictions on real data", "nard.experiments.predictions", of_paper=False, timed=False
    ),
}


def chapter_module(name: str) -> ModuleType:
    """The module of a chapter."""
    return import_module(CHAPTERS[name].path)


def figures_of(name: str) -> tuple[str, ...]:
    """The names of a chapter's figures."""
    return CHAPTERS[name].figures or (name,)
