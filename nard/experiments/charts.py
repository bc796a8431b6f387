"""Drawings that several chapters share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from nard.figures.matrices import SIGNED, colour_bar
from nard.figures.page import axes_at, page
from nard.figures.style import MARGIN, STRIP, WIDTH, house_style, plain, shorten, text_width
from nard.figures.traces import MARKERS
from nard.palette import MUTED, NEGATIVE, PALETTE, POSITIVE

__all__ = ["plot_dots", "plot_intervals", "plot_ordered"]

_ROW, _AXIS, _LEGEND = 0.2, 0.4, 0.2


@house_style()
def plot_intervals(
    labels: Sequence[str],
    values: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    *,
    title: str,
    what: str,
    remarks: Sequence[str] = (),
    note: str | None = None,
) -> Figure:
    """A value with its interval in every row; those whose interval holds zero are hollow, missing ones say so."""
    left = MARGIN + max(text_width(shorten(label)) for label in labels) + 0.15
    figure = page(_ROW * len(labels) + _AXIS, title=title, remarks=remarks, note=note)
    ax = axes_at(figure, left, STRIP + _AXIS, WIDTH - left - 2 * MARGIN, _ROW * len(labels))
    ax.axvline(0, color=MUTED, linewidth=0.6)
    for row, (value, a, b) in enumerate(zip(values, low, high, strict=True)):
        if not np.isfinite(value):
            ax.annotate("no result", (0, row), (4, 0), textcoords="offset points", va="center", color=MUTED)
            continue
        colour = POSITIVE if value > 0 else NEGATIVE
        ax.plot([a, b], [row, row], color=colour, linewidth=1.4)
        clear = a > 0 or b < 0
        ax.plot(
            value,
            row,
            "o" if value > 0 else "s",
            color=colour,
            markerfacecolor=colour if clear else "white",
            markersize=5,
        )
    _rows(ax, labels, what)
    return figure


@house_style()
def plot_dots(
    labels: Sequence[str],
    series: dict[str, Sequence[float]],
    *,
    title: str,
    what: str,
    floor: float | None = None,
    remarks: Sequence[str] = (),
    note: str | None = None,
) -> Figure:
    """A dot for every series in every row; values below ``floor`` stand there, side by side, at an arrow."""
    left = MARGIN + max(text_width(shorten(label, 34)) for label in labels) + 0.15
    figure = page(1.4 * _ROW * len(labels) + _AXIS + 2 * _LEGEND, title=title, remarks=remarks, note=note)
    ax = axes_at(figure, left, STRIP + _AXIS, WIDTH - left - 2 * MARGIN, 1.4 * _ROW * len(labels))
    ax.axvline(0, color=MUTED, linewidth=0.6)
    beyond = np.zeros(len(labels), dtype=int)
    for rank, (name, given) in enumerate(series.items()):
        values = np.array(given, dtype=float)
        for row in np.flatnonzero(values < (-np.inf if floor is None else floor)):
            values[row] = floor * (1 + 0.03 * beyond[row])
            beyond[row] += 1
        style = {"color": PALETTE[rank % len(PALETTE)], "linestyle": "none", "markersize": 4.5}
        ax.plot(values, np.arange(len(values)), MARKERS[rank % len(MARKERS)], label=plain(name), **style)
    for row in np.flatnonzero(beyond):
        last = floor * (1 + 0.03 * (beyond[row] - 1))
        ax.annotate("←", (last, row), (-5, 0), textcoords="offset points", ha="right", va="center")
    _rows(ax, labels, what, 34)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=6, frameon=False, borderaxespad=0.2, handletextpad=0.2)
    return figure


@house_style()
def plot_ordered(edges, weights, order, cluster, *, title, remarks=(), note=None) -> Figure:
    """A network of very many nodes as a symmetric picture in a given order, with frames around the clusters.

    ``edges`` are codes i · m + j, ``order`` lists the nodes and ``cluster`` has each node's. Where a point of the
    picture holds several pairs it shows the strongest.
    """
    m, side = len(order), 6.2
    place = np.empty(m, dtype=int)
    place[np.asarray(order)] = np.arange(m)
    points = min(m, 620)
    codes, weights = np.asarray(edges, dtype=int), np.asarray(weights, dtype=float)
    rows, columns = (place[part] * points // m for part in (codes // m, codes % m))
    strength = np.zeros((points, points))
    for k in np.argsort(np.abs(weights), kind="stable"):
        strength[rows[k], columns[k]] = strength[columns[k], rows[k]] = weights[k]
    figure = page(side + 0.5, title=title, remarks=remarks, note=note)
    ax = axes_at(figure, (WIDTH - side) / 2, STRIP + 0.45, side, side)
    limit = np.quantile(np.abs(weights), 0.95) if len(weights) else 1.0
    picture = np.ma.masked_equal(strength, 0.0)
    style = {"cmap": SIGNED, "norm": Normalize(-limit, limit), "interpolation": "nearest"}
    mesh = ax.imshow(picture, extent=(0, m, m, 0), **style)
    ordered = np.asarray(cluster)[np.asarray(order)]
    ends = [*(np.flatnonzero(np.diff(ordered)) + 1), m]
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        if end - start > 1:
            frame: dict[str, Any] = {"fill": False, "edgecolor": "#333333", "linewidth": 0.5}
            ax.add_patch(Rectangle((start, start), end - start, end - start, **frame))
    ax.set(xticks=[], yticks=[])
    bar = axes_at(figure, (WIDTH - side) / 2, STRIP + 0.2, 1.6, 0.1)
    label = "partial correlation (colours end at the 95 % quantile)"
    colour_bar(figure, mesh, bar, label, orientation="horizontal")
    return figure


def _rows(ax, labels, what, longest=24):
    ax.set_yticks(range(len(labels)), [plain(shorten(label, longest)) for label in labels])
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xlabel(what)
    ax.grid(axis="x")
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
