"""A page: the title and the remarks on top, a body whose parts are placed in inches, the strip for the stamp below.

Placing in inches, with text measured beforehand, is what keeps labels from running into each other whatever the names.
"""

from __future__ import annotations

import math
from typing import Any

from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from nard.figures.style import (
    LABEL_SIZE,
    MARGIN,
    STRIP,
    TEXT_SIZE,
    TITLE_SIZE,
    WIDTH,
    plain,
    shorten,
    stamp,
    text_width,
    wrap,
)

__all__ = ["axes_at", "chips", "chips_height", "ink", "page", "sentence"]

ROW = 0.16
CHIP = 0.18


def page(body, *, title, remarks=(), note=None, width=WIDTH) -> Figure:
    """A figure with a free body of the given height in inches, which starts at ``STRIP`` above the bottom."""
    across = width - 2 * MARGIN
    head = wrap(title, across, TITLE_SIZE, "bold")
    lines = [line for remark in remarks for line in wrap(remark, across)]
    leads = [TITLE_SIZE * 1.3 / 72] * len(head) + [TEXT_SIZE * 1.35 / 72] * len(lines)
    height = STRIP + body + sum(leads) + 2 * MARGIN
    figure = Figure(figsize=(width, height))
    top = height - MARGIN
    for rank, (line, lead) in enumerate(zip([*head, *lines], leads, strict=True)):
        heading: dict[str, Any] = {"size": TITLE_SIZE, "weight": "bold"}
        font = heading if rank < len(head) else {"size": TEXT_SIZE, "color": "#333333"}
        figure.text(MARGIN / width, top / height, plain(line), va="top", **font)
        top -= lead
    if note:
        stamp(figure, note)
    return figure


def axes_at(figure, left, bottom, width, height):
    """Axes at a place given in inches, measured from the lower left corner of the figure."""
    across, up = figure.get_size_inches()
    return figure.add_axes((left / across, bottom / up, width / across, height / up))


def sentence(text, *, title, note=None) -> Figure:
    """A page that says in words that there is nothing to draw."""
    figure = page(1.0, title=title, note=note)
    across, up = figure.get_size_inches()
    figure.text(0.5, (STRIP + 0.5) / up, plain("\n".join(wrap(text, across - 1.0))), ha="center", va="center")
    return figure


def ink(colour) -> str:
    """Black or white, whichever reads better on the colour."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    return "black" if 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.25 else "white"


def chips_height(names) -> float:
    """The height in inches that :func:`chips` takes."""
    return ROW * math.ceil(len(names) / _columns(names)) if len(names) else 0.0


def chips(figure, bottom, colours, *, numbered=False) -> None:
    """A legend of names with their colours, in columns across the page from ``bottom`` (in inches) upwards."""
    names = list(colours)
    if not names:
        return
    height, columns, across = chips_height(names), _columns(names), WIDTH - 2 * MARGIN
    pitch = min(across / columns, 1.3 * _chip_width(names))
    ax = axes_at(figure, MARGIN, bottom, across, height)
    ax.set(xlim=(0, across), ylim=(height, 0))
    ax.axis("off")
    rows = math.ceil(len(names) / columns)
    for rank, (name, colour) in enumerate(colours.items()):
        column, row = divmod(rank, rows)
        left, middle = column * pitch, (row + 0.5) * ROW
        ax.add_patch(Rectangle((left, middle - 0.06), CHIP, 0.12, facecolor=colour, edgecolor="none"))
        if numbered:
            number = {"size": LABEL_SIZE, "weight": "bold", "ha": "center", "va": "center_baseline"}
            ax.text(left + CHIP / 2, middle, str(rank + 1), color=ink(colour), **number)
        ax.text(left + CHIP + 0.05, middle, plain(shorten(name, 40)), size=TEXT_SIZE, va="center_baseline")


def _chip_width(names) -> float:
    return max(text_width(shorten(name, 40)) for name in names) + CHIP + 0.2


def _columns(names) -> int:
    return max(1, min(len(names), int((WIDTH - 2 * MARGIN) / _chip_width(names))))
