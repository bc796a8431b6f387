"""The chapters of the paper's experiments: what each is called, where its module is, which figures it has."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CHAPTERS", "Chapter", "chapter_figures"]


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


def chapter_figures(name: str) -> tuple[str, ...]:
    """The names of a chapter's figures."""
    return CHAPTERS[name].figures or (name,)
