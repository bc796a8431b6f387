"""The network between proteins, on a circle whose places do not depend on the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.bezier import BezierSegment
from matplotlib.patches import PathPatch, Wedge
from matplotlib.path import Path
from scipy.optimize import isotonic_regression

from nard.data.pathways import OTHER
from nard.export.communities import MOST_NODES
from nard.export.layouts import places_of, point_at
from nard.figures.communities import plot_communities
from nard.figures.page import axes_at, chips, chips_height, ink, page
from nard.figures.style import (
    LABEL_SIZE,
    MARGIN,
    NEGATIVE_DASHES,
    STRIP,
    TEXT_SIZE,
    WIDTH,
    house_style,
    plain,
    shorten,
    text_width,
)
from nard.figures.words import UNSTABLE, counted, origin, unstable
from nard.fits.comparison import with_stability
from nard.palette import MUTED, NEGATIVE, POSITIVE, colours_of

__all__ = ["draw_network", "plot_network"]

SIDE = 7.0  # of the square that holds the circle and its labels, in inches
BAND = 0.13  # width of the arcs
KEYS = 0.24  # height of the line that explains the edges
LABEL_SIZES = (7.0, 6.5, LABEL_SIZE)
PITCH = 1.25  # distance between neighbouring labels, in multiples of their font size
RING: dict[str, Any] = {"markersize": 4, "mfc": "white", "mec": "black", "mew": 0.8}
# Where not all labels have room: how far along the rim one may stand from its place, and the room for the line there.
FARTHEST, LEADER = np.pi / 18, 0.16
WITHIN, ACROSS = {"alpha": 1.0, "zorder": 3}, {"alpha": 0.55, "zorder": 2}


@house_style()
def plot_network(nodes, edges, *, title, max_edges=100, fdr=0.05, note=None, words=("proteins", "pathway")):
    """The strongest selected edges between proteins, drawn inside a circle of proteins grouped by pathway.

    Every cohort has the same layout, so that figures can be compared. A curve is an edge: blue for a positive and
    dashed vermilion for a negative partial correlation, and the wider the stronger, on a scale that is the same in
    every figure. Edges between proteins that share a pathway are opaque, those across pathways translucent. Proteins
    without an edge are faded, and where not all labels have room they have none; of the others those with the strongest
    edges come first. The figure says how many of the edges it shows.

    Parameters
    ----------
    nodes : DataFrame
        With ``id``, ``label``, ``pathway`` (whose arc the protein is in) and ``pathways`` (all of them, ';'-separated).
    edges : DataFrame
        With ``source``, ``target``, ``partial_correlation`` and ``selected``; and ``stability``, if it is known: edges
        below one half have a ring.
    title : str
        Title.
    max_edges : int, default=100
        Only this many edges are drawn, those with the largest absolute partial correlation.
    fdr : float, default=0.05
        The q-value up to which edges were selected, for the text.
    note : str, optional
        Stamped at the bottom.
    words : (str, str), default=("proteins", "pathway")
        What the nodes and their groups are, for the text.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    places = places_of(nodes)
    places["label"] = nodes.set_index("id")["label"].map(shorten)
    selected = edges[edges["selected"].astype(bool)]
    drawn = selected.iloc[np.argsort(-selected["partial_correlation"].abs().to_numpy(), kind="stable")[:max_edges]]
    within = _share_a_pathway(nodes, drawn)
    ends = pd.concat([drawn["source"], drawn["target"]])
    colours = colours_of(nodes)
    size, radius, crowded = _label_size(places)
    strengths = pd.concat([drawn.set_index(end)["partial_correlation"].abs() for end in ("source", "target")])
    by_strength = strengths.groupby(level=0).sum().sort_values(ascending=False, kind="stable").index
    rim = radius + 0.06 + BAND
    labels = places["angle"]
    if crowded:
        labels = _spread(labels, by_strength, PITCH * size / 72 / (rim + LEADER))

    legend = chips_height(colours)
    remark = _what_is_shown(drawn, len(selected), within, nodes, fdr, words)
    if crowded and len(labels):
        all_of_them = len(labels) == len(by_strength)
        remark += f"; {'only the others are' if all_of_them else 'those with the strongest edges are'} labelled"
    rings = drawn["stability"] < UNSTABLE if "stability" in drawn else pd.Series(False, drawn.index)
    if rings.any():
        remark += f"; {unstable(int(rings.sum()))}"
    figure = page(legend + KEYS + SIDE, title=title, remarks=[remark], note=note)
    chips(figure, STRIP, colours, numbered=True)
    _explain_edges(figure, STRIP + legend, words[1])
    ax = axes_at(figure, (WIDTH - SIDE) / 2, STRIP + legend + KEYS, SIDE, SIDE)
    ax.set(xlim=(-SIDE / 2, SIDE / 2), ylim=(-SIDE / 2, SIDE / 2))
    ax.axis("off")

    _draw_arcs(ax, places, radius, colours)
    _draw_proteins(ax, places, radius, colours, set(ends))
    for name, angle in labels.items():
        if crowded:
            _lead(ax, places["angle"][name], angle, rim)
        start = rim + (LEADER if crowded else 0.04)
        _draw_label(ax, places["label"][name], angle, start, size, faded=name not in set(ends))
    # The strongest are drawn last, on top.
    for row, inside in reversed(list(zip(drawn.itertuples(), within, strict=True))):
        curve = _curve(places.loc[row.source], places.loc[row.target], radius, row.partial_correlation, inside)
        ax.add_patch(curve)
        if rings[row.Index]:
            ax.plot(*BezierSegment(curve.get_path().vertices)(0.5), "o", zorder=5, **RING)
    if drawn.empty:
        ax.text(0, 0, f"no edges at q ≤ {fdr:g}", ha="center", va="center", size=TEXT_SIZE + 2, color=MUTED)
    return figure


def draw_network(fit, nodes, edges, stability=None, *, max_edges):
    """The network of a fit to genes and proteins; of thousands its communities."""
    title, note = f"{fit['title']}: protein network", origin([fit], fit["method"])
    if len(nodes) > MOST_NODES:
        return plot_communities(nodes, edges, title=f"{title}, its communities", fdr=fit["fdr"], note=note)
    edges = with_stability(edges, stability, "edges")
    return plot_network(nodes, edges, title=title, max_edges=max_edges, fdr=fit["fdr"], note=note)


def _pathways(nodes) -> dict[str, set]:
    """Of every protein; "other" is none."""
    return {
        row.id: {row.pathway, *("" if pd.isna(row.pathways) else row.pathways).split(";")} - {"", OTHER}
        for row in nodes.itertuples()
    }


def _share_a_pathway(nodes, edges) -> list[bool]:
    """Whether the two proteins of an edge have a pathway in common."""
    pathways = _pathways(nodes)
    return [not pathways[row.source].isdisjoint(pathways[row.target]) for row in edges.itertuples()]


def _what_is_shown(drawn, selected, within, nodes, fdr, words) -> str:
    if not selected:
        return f"no edges at q ≤ {fdr:g}"
    n, of = len(drawn), counted(selected, "edge")
    shown = f"strongest {n} of {of}" if n < selected else "the only edge" if n == 1 else f"all {of}"
    pathways, (called, group) = _pathways(nodes), words
    outside = sum(not (pathways[row.source] and pathways[row.target]) for row in drawn.itertuples())
    kinds = f"{sum(within)} within a {group}, {n - sum(within) - outside} across {group}s"
    if outside:
        kinds += f", {outside} with {called} of none"
    return f"{shown} shown (q ≤ {fdr:g}): {kinds}; {called} without an edge here are faded"


def _label_size(places) -> tuple[float, float, bool]:
    """The largest font size at which neighbouring labels keep their distance, the circle's radius, and if none does."""
    for size in LABEL_SIZES:
        # A label may run as far as the square goes in its direction, which is further in the diagonals.
        reach = SIDE / 2 / np.abs(point_at(places["angle"].to_numpy())).max(axis=1)
        widths = np.array([text_width(label, size) for label in places["label"]])
        radius = min(reach - widths, default=SIDE / 2) - BAND - 0.12
        if (places["slot"] * (radius + BAND) >= PITCH * size / 72).all():
            return size, radius, False
    return size, radius - LEADER, True


def _spread(angles, names, distance) -> pd.Series:
    """Angles for as many of the labels as keep their distance, the first names first, none far from its place."""
    kept = pd.Series(dtype=float)
    for name in names:
        wanted = angles[[*kept.index, name]].sort_values()
        # The least squares move to places that are a distance apart.
        steps = distance * np.arange(len(wanted))
        spread = isotonic_regression(wanted.to_numpy() - steps).x + steps
        around = 2 * np.pi - (spread[-1] - spread[0]) >= distance
        if around and np.abs(spread - wanted.to_numpy()).max() <= FARTHEST:
            kept = pd.Series(spread, wanted.index)
    return kept


def _draw_arcs(ax, places, radius, colours):
    for number, (pathway, colour) in enumerate(colours.items(), start=1):
        angles = places["angle"][places["pathway"] == pathway]
        half = places["slot"].iloc[0] / 2
        first, last = np.degrees(angles.min() - half), np.degrees(angles.max() + half)
        ax.add_patch(Wedge((0, 0), radius + 0.06 + BAND, first, last, width=BAND, facecolor=colour, edgecolor="none"))
        middle = point_at(angles.mean(), radius + 0.06 + BAND / 2)
        ax.text(*middle, number, size=LABEL_SIZE, weight="bold", color=ink(colour), ha="center", va="center_baseline")


def _draw_proteins(ax, places, radius, colours, connected):
    xy = point_at(places["angle"].to_numpy(), radius)
    lone = ~places.index.isin(connected)
    face = ["white" if faded else colours[name] for faded, name in zip(lone, places["pathway"], strict=True)]
    diameter = min(3.5, 40 * radius * places["slot"].min())  # in points: neighbours never touch
    edge = np.where(lone, "#BBBBBB", "black")
    ax.scatter(*xy.T, s=diameter**2, c=face, edgecolors=edge, linewidths=0.5, zorder=4)


def _lead(ax, place, angle, rim):
    """From a protein's place on the rim to its label."""
    points = [point_at(place, rim), point_at(place, rim + 0.02), point_at(angle, rim + LEADER - 0.03)]
    ax.plot(*np.transpose(points), color=MUTED, linewidth=0.4)


def _draw_label(ax, label, angle, start, size, faded):
    """Outwards along the radius, and never upside down."""
    left = np.cos(angle) < 0
    angle, place = np.degrees(angle), point_at(angle, start)
    ax.text(
        *place,
        plain(label),
        size=size,
        color=MUTED if faded else "black",
        rotation=angle + 180 if left else angle,
        rotation_mode="anchor",
        ha="right" if left else "left",
        va="center",
    )


def _curve(a, b, radius, weight, within) -> PathPatch:
    """Neighbours in an arc are joined along the rim; curves between arcs meet near the middle, bundled by arc."""
    apart = abs(a["angle"] - b["angle"])
    apart = min(apart, 2 * np.pi - apart)
    if a["pathway"] == b["pathway"]:
        depth, pull = 0.9 - 0.35 * apart, 0.0
    else:
        depth, pull = 0.62 - 0.55 * apart / np.pi, 0.5
    turns = [place["angle"] + pull * (place["middle"] - place["angle"]) for place in (a, b)]
    points = [
        point_at(a["angle"], radius),
        point_at(turns[0], depth * radius),
        point_at(turns[1], depth * radius),
        point_at(b["angle"], radius),
    ]
    path = Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    return PathPatch(path, facecolor="none", **_stroke(weight), **(WITHIN if within else ACROSS))


def _stroke(weight) -> dict:
    sign = {"edgecolor": POSITIVE} if weight > 0 else {"edgecolor": NEGATIVE, "linestyle": NEGATIVE_DASHES}
    return {**sign, "linewidth": 0.4 + 4.0 * abs(weight)}


def _explain_edges(figure, bottom, group):
    """One line: sign, width, and opacity of the edges."""
    ax = axes_at(figure, MARGIN, bottom, WIDTH - 2 * MARGIN, KEYS)
    ax.set(xlim=(0, WIDTH - 2 * MARGIN), ylim=(0, KEYS))
    ax.axis("off")
    widths = [(f"{weight:g}", {"linewidth": _stroke(weight)["linewidth"]}) for weight in (0.1, 0.3, 0.6)]
    opacities = [(f"within a {group},", WITHIN), ("across", ACROSS)]
    entries = [
        ("positive", _stroke(0.3)),
        ("negative", _stroke(-0.3)),
        ("partial correlation", None),
        *widths,
        *((text, {"linewidth": 1.6, "alpha": style["alpha"]}) for text, style in opacities),
    ]
    left, sample = 0.0, 0.28
    for text, line in entries:
        if line is not None:
            path = Path([(left, KEYS / 2), (left + sample, KEYS / 2)])
            ax.add_patch(PathPatch(path, **{"edgecolor": "black"} | line))
            left += sample + 0.05
        ax.text(left, KEYS / 2, text, va="center_baseline")
        left += text_width(text) + 0.13
