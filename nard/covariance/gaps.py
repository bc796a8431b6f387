"""Which values of a table are missing, and what the others say about them under N(0, Ω⁻¹).

With m what is missing of a sample e and o what is not,

    E(e_m | e_o) = −Ω_mm⁻¹ Ω_mo e_o,    Cov(e_m | e_o) = Ω_mm⁻¹,    ln|V_oo| = ln|Ω_mm| − ln|Ω|.

Only matrices as large as what is missing of a sample are factored, once for all samples that lack the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

__all__ = ["Gaps", "Pattern", "gaps_of"]


class Pattern(NamedTuple):
    """Rows that lack the same columns."""

    rows: np.ndarray
    columns: np.ndarray


@dataclass(frozen=True)
class Gaps:
    """The places (N×m, true where missing) without a value, at least one of them."""

    missing: np.ndarray

    @cached_property
    def by_sample(self) -> list[Pattern]:
        """Samples by the outputs that they lack; those that lack none are left out."""
        return _patterns(self.missing)

    @cached_property
    def by_output(self) -> list[Pattern]:
        """Outputs (as rows) by the samples (as columns) that lack them."""
        return _patterns(self.missing.T)

    @cached_property
    def counts(self) -> np.ndarray:
        """How many samples have a value, for every output."""
        return np.count_nonzero(~self.missing, axis=0)

    def of_outputs(self, kept) -> Gaps | None:
        missing = self.missing[:, kept]
        return Gaps(missing) if missing.any() else None


def gaps_of(table: np.ndarray) -> Gaps | None:
    """The gaps of a table with NaN; None if it has none."""
    missing = np.isnan(table)
    return Gaps(missing) if missing.any() else None


def _patterns(missing: np.ndarray) -> list[Pattern]:
    found: dict[bytes, list[int]] = {}
    for row in np.flatnonzero(missing.any(axis=1)):
        found.setdefault(np.packbits(missing[row]).tobytes(), []).append(int(row))
    return [Pattern(np.array(rows), np.flatnonzero(missing[rows[0]])) for rows in found.values()]
