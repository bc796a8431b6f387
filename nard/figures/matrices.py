"""Matrices as pictures: numbers on a sequential scale, and signed weights of which most are absent."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, Normalize, to_hex
from matplotlib.ticker import MaxNLocator

from nard.figures.page import ink
from nard.figures.style import LABEL_SIZE, TEXT_SIZE, plain, text_width
from nard.palette import MUTED, NEGATIVE, POSITIVE

__all__ = ["bounds", "colour_bar", "name_axes", "numbers", "signed_cells", "widest"]

# From pale to dark, in grey as well, and safe for colour-blind readers; pale cells leave the numbers legible.
SEQUENTIAL = colormaps["YlGnBu"]
LINE = {"color": "#E4E4E4", "linewidth": 0.4, "zorder": 0.5}


def _signed_colours() -> ListedColormap:
    """Neither side fades to white, which is what an absent weight looks like."""
    negative = LinearSegmentedColormap.from_list("negative", ["#FBDCC6", NEGATIVE])
    positive = LinearSegmentedColormap.from_list("positive", ["#CFE4F2", POSITIVE])
    steps = np.linspace(0, 1, 128)
    return ListedColormap([*negative(steps[::-1]), *positive(steps)], name="signed")


SIGNED = _signed_colours()


def numbers(ax, values, texts, top, missing=""):
    """Cells coloured from 0 to ``top`` with their texts; missing values are hatched, with the text ``missing``.

    Values below zero have the colour of zero: the texts say what they are.
    """
    values = np.asarray(values, dtype=float)
    ax.patch.set(hatch="////", facecolor="white", edgecolor="#BBBBBB")
    mesh = ax.pcolormesh(
        np.ma.masked_invalid(values),
        cmap=SEQUENTIAL,
        norm=Normalize(0, top, clip=True),
        edgecolors="white",
        linewidth=0.6,
    )
    ax.invert_yaxis()
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            colour = ink(to_hex(mesh.to_rgba(value)))
            font = {"size": LABEL_SIZE, "color": colour, "linespacing": 1.1}
            ax.text(column + 0.5, row + 0.5, texts[row][column], ha="center", va="center", **font)
        elif missing:
            ground = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
            font = {"size": LABEL_SIZE, "color": "#555555", "bbox": ground}
            ax.text(column + 0.5, row + 0.5, missing, ha="center", va="center", **font)
    return mesh


def signed_cells(ax, values, limit):
    """Cells coloured from −limit to limit, blank where the value is missing; negative cells carry a dash.

    The dash is for prints in black and white, as in the networks.
    """
    values = np.asarray(values, dtype=float)
    rows, columns = values.shape
    cell = 72 * min(ax.figure.get_size_inches() * ax.get_position().size / (columns, rows))
    # Below this size lines between the cells would be all there is to see.
    if cell > 4:
        ax.vlines(np.arange(columns + 1), 0, rows, **LINE)
        ax.hlines(np.arange(rows + 1), 0, columns, **LINE)
    mesh = ax.pcolormesh(np.ma.masked_invalid(values), cmap=SIGNED, norm=Normalize(-limit, limit))
    at = np.argwhere(values < 0)
    dashes = [[(column + 0.25, row + 0.5), (column + 0.75, row + 0.5)] for row, column in at]
    ax.add_collection(LineCollection(dashes, colors="black", linewidths=min(0.7, 0.11 * cell)))
    ax.set(xlim=(0, columns), ylim=(rows, 0))
    return mesh


def bounds(ax, rows, columns):
    """Lines between the groups of rows and of columns, given the group of each."""
    for groups, line, across in ((list(rows), ax.hlines, len(columns)), (list(columns), ax.vlines, len(rows))):
        at = [place for place in range(1, len(groups)) if groups[place] != groups[place - 1]]
        line(at, 0, across, color=MUTED, linewidth=0.5, zorder=2)


def name_axes(ax, rows, columns, size=TEXT_SIZE, upright=True):
    """The names of the rows at the left and of the columns below, each in the middle of its cells."""
    ax.set_yticks(np.arange(len(rows)) + 0.5, [plain(name) for name in rows], size=size)
    names = [plain(name) for name in columns]
    ax.set_xticks(np.arange(len(columns)) + 0.5, names, size=size, rotation=90 if upright else 0)
    ax.tick_params(length=0, pad=2)
    for spine in ax.spines.values():
        spine.set_visible(False)


def widest(names, size=TEXT_SIZE) -> float:
    """The width of the longest name in inches, with the distance it keeps."""
    return max((text_width(name, size) for name in names), default=0.0) + 0.08


def colour_bar(figure, mesh, cax, label="", orientation="vertical"):
    """The scale of the colours, in its own axes; the label of a horizontal one is at its right."""
    length = max(figure.get_size_inches() * cax.get_position().size)
    ticks = MaxNLocator(int(np.clip(length / 0.25, 1, 5)))
    bar = figure.colorbar(mesh, cax=cax, orientation=orientation, ticks=ticks)
    bar.outline.set_visible(False)
    cax.tick_params(labelsize=LABEL_SIZE, length=2, pad=1.5)
    if orientation == "vertical":
        bar.set_label(label)
    else:
        cax.annotate(label, (1, 0.5), (6, 0), "axes fraction", "offset points", va="center_baseline")
