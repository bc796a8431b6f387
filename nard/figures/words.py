"""Words that figures and texts share: what a figure stands on, names of inputs and outputs, numbers, lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from nard.fits.failures import failure_text
from nard.fits.methods import find_method

__all__ = [
    *("NAMES", "UNSTABLE", "counted", "found", "labelled", "listed", "origin", "signed", "surest", "unfitted"),
    "unstable",
]

# What inputs and outputs are called in each kind of cohort.
NAMES = {"omics": ("genes", "proteins"), "aging": ("molecular phenotypes", "macro phenotypes")}


# A finding that a smaller share of the subsamples has is marked.
UNSTABLE = 0.5


def labelled(table: pd.DataFrame, nodes: pd.DataFrame) -> pd.DataFrame:
    """Findings with their outputs as the file spells them, which is the column ``label`` of the nodes."""
    labels = dict(zip(nodes["id"], nodes["label"], strict=True))
    ends = [end for end in ("source", "target") if end in table]
    return table.assign(**{end: [labels.get(name, name) for name in table[end]] for end in ends})


def surest(table: pd.DataFrame, most: int) -> pd.DataFrame:
    """The first of the selected findings, those with the smallest q-values if there are any, else in their order."""
    return table[table["selected"]].sort_values(["qvalue", "pvalue"], kind="stable").head(most)


def origin(cohorts: Sequence[Mapping], method: str | None = None) -> str:
    """What a figure was made from; simulated data are called so first, and cohorts that could not be fitted last."""
    made_up = [cohort["simulated"] for cohort in cohorts]
    parts = []
    if all(made_up):
        parts.append("SIMULATED DATA")
    elif any(made_up):
        names = ", ".join(cohort["title"] for cohort in cohorts if cohort["simulated"])
        parts.append(f"SIMULATED DATA in {names}")
    if len(cohorts) == 1:
        parts.append(f"{cohorts[0]['title']}, {cohorts[0]['n_samples']} samples")
    else:
        parts.append(f"{len(cohorts)} cohorts")
    if method:
        parts.append(find_method(method).title)
    if absent := [cohort["title"] for cohort in cohorts if cohort.get("failed")]:
        parts.append(f"could not be fitted to {listed(absent)}")
    return " – ".join(parts)


def unfitted(fit: Mapping) -> str:
    """That there is no fit, and why."""
    return f"{find_method(fit['method']).title} could not be fitted to {fit['title']}: {failure_text(fit['failed'])}"


def unstable(number: int) -> str:
    """What a ring on an edge means."""
    which = "1 that comes" if number == 1 else f"{number} that come"
    return f"a ring marks {which} back in fewer than half of the subsamples"


def found(numbers: Mapping[str, int]) -> list[str]:
    """What a fit selected, from the ``found`` of its ``fit.json``."""
    return [
        f"{counted(numbers['associations'], 'association')} of "
        f"{counted(numbers['features_with_associations'], 'input')}",
        f"{counted(numbers['features'], 'input')} in the test over all outputs at once",
        f"{counted(numbers['edges'], 'edge')} between outputs",
    ]


def counted(number: int, noun: str) -> str:
    """One thing, two things."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def signed(value: float) -> str:
    """Two digits, with a sign."""
    return f"{value:+.2f}".replace("-", "−")


def listed(items: Iterable[str]) -> str:
    """One, two and three."""
    items = list(items)
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]
