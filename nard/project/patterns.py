"""Files of several cohorts, named by one pattern: ``data/{cohort}/mrna.tsv``."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping

from nard.data.h5 import split_part
from nard.errors import DataError

__all__ = ["COHORT", "files_by_cohort"]

COHORT = "{cohort}"


def files_by_cohort(patterns: Mapping[str, str]) -> tuple[dict[str, dict[str, str]], dict[str, list[str]]]:
    """By cohort the files that the patterns name, by config key; and what is lacking of cohorts with some of them.

    A pattern without ``{cohort}`` names a file that all share.
    """
    found = {key: _matches(pattern) for key, pattern in patterns.items() if COHORT in pattern}
    for key, matches in found.items():
        if not matches:
            raise DataError(
                f"{patterns[key]}: no such file for any cohort.\n"
                f"  expected: {COHORT} in the place of the cohort's name, in quotes for the shell"
            )
    shared = {key: pattern for key, pattern in patterns.items() if COHORT not in pattern}
    names = sorted(set().union(*found.values()))
    lacking = {name: [key for key, matches in found.items() if name not in matches] for name in names}
    cohorts = {
        name: {key: found[key][name] if key in found else shared[key] for key in patterns}
        for name in names
        if not lacking[name]
    }
    return cohorts, {name: keys for name, keys in lacking.items() if keys}


def _matches(pattern: str) -> dict[str, str]:
    """The files that a pattern names, by what stands for the cohort; the same wherever it is named again."""
    pattern, part = split_part(pattern)
    first, *rest = map(re.escape, pattern.split(COHORT))
    name = re.compile(first + "(?P<cohort>[^/]+)" + "(?P=cohort)".join(rest))
    files = sorted(glob.glob("*".join(map(glob.escape, pattern.split(COHORT)))))
    behind = f"#{part}" if part else ""
    return {match["cohort"]: file + behind for file in files if (match := name.fullmatch(file))}
