"""Cohorts in the folder of results that the config does not name: results of another config, which nobody removes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["neighbours", "neighbours_told"]


def neighbours(config: Mapping, results: str | Path = "results") -> list[str]:
    """The names of these cohorts, sorted."""
    found = {path.parts[-3] for path in Path(results).glob("*/data/summary.json")}
    return sorted(found - set(config["cohorts"]))


def neighbours_told(names: Sequence[str]) -> str:
    return (
        f"results/ also holds {', '.join(names)}, which the present config does not name: another config was run here. "
        "Nothing of it was changed or removed, and nothing of it is in the report; `--directory elsewhere` keeps the "
        "results of several configs apart."
    )
