"""The account of a preparation: every sample and feature that went in, and why it did not come out.

Facts are codes with numbers and names; :mod:`nard.data.words` has the words.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

__all__ = ["Ledger"]

_MOST_NAMES = 20


@dataclass
class Ledger:
    """Counts on both sides, ``inputs`` and ``outputs``.

    For each side and for samples and features alike, ``found`` minus all that was ``dropped`` is ``used``. ``notes``
    are facts about files and values.
    """

    found: dict[str, dict[str, int]] = field(default_factory=dict)
    dropped: list[dict] = field(default_factory=list)
    notes: list[dict] = field(default_factory=list)

    def find(self, side: str, n_samples: int, n_features: int) -> None:
        self.found[side] = {"samples": n_samples, "features": n_features}

    def read(self, side: str, file: str, table) -> None:
        """Records a table that was read from a file, with the reader's notes."""
        self.note("read", side=side, file=file, layout=table.layout)
        for note in table.notes:
            self.note(**note, side=side)
        self.find(side, *table.values.shape)

    def drop(self, side: str, what: str, names: Collection[str], code: str, **details) -> None:
        """Records ``names`` (samples or features) as dropped; nothing happens if there are none."""
        if len(names):
            names = sorted(map(str, names))
            row = {"code": code, "side": side, "what": what, "count": len(names), **details}
            self.dropped.append({**row, "names": names[:_MOST_NAMES]})

    def note(self, code: str, **details) -> None:
        self.notes.append({"code": code, **details})

    def used(self, side: str, what: str) -> int:
        gone = sum(row["count"] for row in self.dropped if row["side"] == side and row["what"] == what)
        return self.found[side][what] - gone

    def summary(self) -> dict:
        """The account as plain values, ready for JSON."""
        counts = {
            side: {what: {"found": n, "used": self.used(side, what)} for what, n in found.items()}
            for side, found in self.found.items()
        }
        return {**counts, "dropped": self.dropped, "notes": self.notes}
