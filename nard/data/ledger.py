"""The account of a preparation: every sample and feature that went in, and why it did not come out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Ledger", "dropped_lines"]

_MOST_NAMES = 20


@dataclass
class Ledger:
    """Counts on both sides, ``inputs`` and ``outputs``.

    For each side and for samples and features alike, ``found`` minus all that was ``dropped`` is ``used``.
    """

    found: dict[str, dict[str, int]] = field(default_factory=dict)
    dropped: list[dict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def find(self, side: str, n_samples: int, n_features: int) -> None:
        self.found[side] = {"samples": n_samples, "features": n_features}

    def read(self, side: str, file: str, table) -> None:
        """Records a table that was read from a file, with the reader's notes."""
        self.note(f"{side}: {file} read as {table.layout}")
        for note in table.notes:
            self.note(f"{side}: {note}")
        self.find(side, *table.values.shape)

    def drop(self, side: str, what: str, names: Collection[str], reason: str) -> None:
        """Records ``names`` (samples or features) as dropped; nothing happens if there are none."""
        if len(names):
            names = sorted(map(str, names))
            self.dropped.append(
                {"side": side, "what": what, "count": len(names), "reason": reason, "names": names[:_MOST_NAMES]}
            )

    def note(self, text: str) -> None:
        self.notes.append(text)

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


def dropped_lines(dropped: Sequence[Mapping], n_names: int = 0) -> list[str]:
    """The rows in words; what was dropped on both sides for one reason takes one line."""
    lines: dict[str, list[str]] = {}
    for row in dropped:
        noun = row["what"] if row["count"] != 1 else row["what"].removesuffix("s")
        shown = ", ".join(row["names"][:n_names]) + (", …" if row["count"] > n_names else "")
        text = f"{row['count']} {noun} ({{}}) left out: {row['reason']}" + (f" ({shown})" if n_names else "")
        lines.setdefault(text, []).append(row["side"])
    return [text.replace("({})", f"({' and '.join(sides)})", 1) for text, sides in lines.items()]
