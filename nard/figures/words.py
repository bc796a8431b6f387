"""Words that figures and texts share: what a figure stands on, names of inputs and outputs, numbers, lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nard.fits.methods import find_method

__all__ = ["NAMES", "counted", "found", "listed", "origin", "signed"]

# What inputs and outputs are called in each kind of cohort.
NAMES = {"omics": ("genes", "proteins"), "aging": ("molecular phenotypes", "macro phenotypes")}


def origin(cohorts: Sequence[Mapping], method: str | None = None) -> str:
    """What a figure was made from; simulated data are called so first."""
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
    return " – ".join(parts)


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
