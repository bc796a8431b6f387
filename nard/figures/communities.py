"""A network of thousands as its communities: how they hang together, and the largest of them in detail."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.patches import Circle

from nard.data.pathways import OTHER
from nard.export.communities import communities
from nard.export.layouts import point_at
from nard.figures.page import axes_at, chips, chips_height, ink, page, sentence
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
from nard.figures.words import counted
from nard.palette import MUTED, NEGATIVE, POSITIVE, colours_of
from nard.palette import OTHER as OTHER_COLOUR

__all__ = ["plot_communities"]

ACROSS = WIDTH - 2 * MARGIN
OVERVIEW, KEYS, PANEL, TITLE = 4.8, 0.24, 2.3, 0.2  # heights in inches; a panel is as wide
COLUMNS, ROWS = 3, 2
FEWEST = 3  # members of a community that is drawn
LARGEST, SHARE = 0.5, 0.42  # radius of the largest circle, and share of the overview that circles and names may take
LINE, PAD = 0.1, 0.04  # of a name below its circle, and the least distance between two
LONGEST, GAP = 14, 0.05  # letters of a name, and its distance from the circle
LINKS = 60  # in the overview
MEMBERS, INSIDE = 28, 60  # in a panel
STEPS = 600


@house_style()
def plot_communities(nodes, edges, *, title, max_communities=40, fdr=0.05, note=None, words=("proteins", "pathway")):
    """The communities of the selected edges: one circle each, and the largest ones in detail.

    The area of a circle is the number of members. It is named by its hub, the member with the largest sum of absolute
    partial correlations to others of the community, and has the colour of the pathway that most members have, grey if
    less than a quarter share one. A line joins two communities: the wider, the more edges are
    between them; blue if most are positive, dashed vermilion if most are negative. Panels below show the members of the
    largest communities with the strongest edges. The figure says how much of the network it shows.

    Parameters
    ----------
    nodes : DataFrame
        With ``id``, ``label`` and ``pathway``.
    edges : DataFrame
        With ``source``, ``target``, ``partial_correlation`` and ``selected``.
    title : str
        Title.
    max_communities : int, default=40
        At most this many communities are drawn, the largest.
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
    selected = edges[edges["selected"].astype(bool)]
    of = communities(selected)
    sizes = of.value_counts().sort_index()
    sizes = sizes[sizes >= FEWEST].head(max_communities)
    if sizes.empty:
        found = (
            f"no edges at q ≤ {fdr:g}" if selected.empty else f"{counted(len(selected), 'edge')}, no three connected"
        )
        return sentence(f"Of {len(nodes)} {words[0]}: {found}.", title=title, note=note)
    ends = pd.DataFrame({end: selected[end].astype(str).map(of) for end in ("source", "target")})
    hubs = _hubs(selected, of, ends)
    table = nodes.set_index("id")
    colours = {**colours_of(nodes), OTHER: OTHER_COLOUR}
    pathway = {rank: _main_pathway(table.loc[of.index[of == rank], "pathway"]) for rank in sizes.index}
    inside = {
        rank: selected[((ends["source"] == rank) & (ends["target"] == rank)).to_numpy()]
        for rank in sizes.index[: COLUMNS * ROWS]
    }
    members = {rank: _strengths(edges).index[:MEMBERS] for rank, edges in inside.items()}
    shown = {*pathway.values(), *table.loc[[name for names in members.values() for name in names], "pathway"]}
    legend = {name: colour for name, colour in colours.items() if name in shown}

    rows = -(-len(inside) // COLUMNS)
    detail = rows * (PANEL + TITLE)
    below = STRIP + chips_height(legend)
    links = _links(selected, ends, set(sizes.index))
    remarks = _what_is_shown(nodes, selected, of, sizes, ends, links, fdr, words)
    figure = page(below - STRIP + detail + KEYS + OVERVIEW, title=title, remarks=remarks, note=note)
    chips(figure, STRIP, legend)
    labels = table["label"].map(lambda label: shorten(label, LONGEST))
    _draw_overview(
        axes_at(figure, MARGIN, below + detail + KEYS, ACROSS, OVERVIEW),
        sizes,
        {rank: labels[hubs[rank]] for rank in sizes.index},
        {rank: colours[pathway[rank]] for rank in sizes.index},
        links,
    )
    _explain(axes_at(figure, MARGIN, below + detail, ACROSS, KEYS))
    for place, rank in enumerate(inside):
        row, column = divmod(place, COLUMNS)
        left = MARGIN + column * ACROSS / COLUMNS + (ACROSS / COLUMNS - PANEL) / 2
        ax = axes_at(figure, left, below + (rows - 1 - row) * (PANEL + TITLE), PANEL, PANEL + TITLE)
        _draw_panel(
            ax, inside[rank], members[rank], hubs[rank], int(sizes[rank]), table["pathway"].map(colours), labels
        )
    return figure


def _hubs(selected, of, ends) -> pd.Series:
    """Of every community the member with the strongest edges in it, the first by the alphabet of several."""
    total = _strengths(selected[(ends["source"] == ends["target"]).to_numpy()])
    return pd.Series(total.index, index=of.reindex(total.index).to_numpy()).groupby(level=0).first()


def _strengths(edges) -> pd.Series:
    """The sum of the absolute partial correlations of every node of these edges, the largest first."""
    strength = pd.concat([edges.set_index(end)["partial_correlation"].abs() for end in ("source", "target")])
    return strength.groupby(level=0).sum().sort_index().sort_values(ascending=False, kind="stable")


def _main_pathway(pathways) -> str:
    """The one that most members have, if at least a quarter of all do."""
    known = pathways[pathways != OTHER].value_counts()
    return str(known.index[0]) if len(known) and 4 * known.iloc[0] >= len(pathways) else OTHER


def _links(selected, ends, shown) -> pd.DataFrame:
    """Pairs of communities with the number of edges between them, and the sum of their signs; the most edges first."""
    low, high = ends.min(axis=1), ends.max(axis=1)
    between = (low != high) & low.isin(shown) & high.isin(shown)
    sign = np.sign(selected["partial_correlation"])
    groups = sign[between].groupby([low[between], high[between]])
    return groups.agg(["size", "sum"]).sort_values("size", ascending=False, kind="stable")


def _what_is_shown(nodes, selected, of, sizes, ends, links, fdr, words) -> list[str]:
    inside = (ends["source"] == ends["target"]) & ends["source"].isin(sizes.index)
    which = f"all {len(sizes)}" if of.nunique() == len(sizes) else f"the {len(sizes)} largest of {of.nunique()}"
    drawn = links.head(LINKS)
    lines = (
        f"{counted(len(drawn), 'line')} for {int(drawn['size'].sum())} of the {int(links['size'].sum())} edges between"
    )
    return [
        f"{which} communities of {counted(len(selected), 'edge')} (q ≤ {fdr:g}) between {len(of)} of {len(nodes)} "
        f"{words[0]}: {int(sizes.sum())} {words[0]}, {int(inside.sum())} edges inside, {lines}",
        f"a circle is named by its hub, with the number of members, and coloured by the {words[1]} that most, and at "
        f"least a quarter, belong to; below, the largest ones: their {words[0]} with the strongest edges",
    ]


# The overview


def _draw_overview(ax, sizes, names, colours, links):
    ax.set(xlim=(0, ACROSS), ylim=(0, OVERVIEW))
    ax.axis("off")
    radius, boxes = _sizes(sizes, names)
    centres = _apart(_spring(sizes.index, links), boxes)
    place = dict(zip(sizes.index, centres, strict=True))
    # A circle stands above its name, in one box with it.
    middle = {rank: place[rank] + (0, 0 if _fits(names[rank], radius[rank]) else LINE) for rank in sizes.index}
    for (one, other), link in reversed(list(links.head(LINKS).iterrows())):
        stroke = {"color": POSITIVE} if link["sum"] >= 0 else {"color": NEGATIVE, "linestyle": NEGATIVE_DASHES}
        ax.plot(*zip(middle[one], middle[other], strict=True), linewidth=_width(link["size"]), alpha=0.6, **stroke)
    halo = {"boxstyle": "square,pad=0.02", "facecolor": "white", "edgecolor": "none", "alpha": 0.7}
    for rank, size in sizes.items():
        x, y = middle[rank]
        ax.add_patch(Circle((x, y), radius[rank], facecolor=colours[rank], edgecolor="white", linewidth=0.8, zorder=3))
        font: dict[str, Any] = {"size": LABEL_SIZE, "ha": "center", "va": "center", "zorder": 4, "linespacing": 1.1}
        if _fits(names[rank], radius[rank]):
            ax.text(x, y, plain(f"{names[rank]}\n{size}"), color=ink(colours[rank]), **font)
        else:
            ax.text(x, y - radius[rank] - LINE, plain(f"{names[rank]}\n{size}"), bbox=halo, **font)


def _fits(name, radius) -> bool:
    return text_width(name, LABEL_SIZE) < 1.8 * radius


def _sizes(sizes, names) -> tuple[dict, np.ndarray]:
    """Radii, and half of the widths and heights of the boxes that hold circles and names; all as large as may be."""
    scale = LARGEST / np.sqrt(sizes.max())
    while True:
        radius = {rank: max(scale * np.sqrt(size), 0.05) for rank, size in sizes.items()}
        boxes = np.array(
            [
                (radius[rank], radius[rank])
                if _fits(names[rank], radius[rank])
                else (max(radius[rank], text_width(names[rank], LABEL_SIZE) / 2), radius[rank] + LINE)
                for rank in sizes.index
            ]
        )
        if 4 * np.prod(boxes + PAD, axis=1).sum() <= SHARE * ACROSS * OVERVIEW or scale < 0.01:
            return radius, boxes + PAD
        scale *= 0.9


def _spring(ranks, links) -> np.ndarray:
    """Places in the unit square: communities with many edges between them are near each other."""
    graph = nx.Graph()
    graph.add_nodes_from(ranks)
    graph.add_weighted_edges_from((one, other, float(link["size"])) for (one, other), link in links.iterrows())
    found = nx.spring_layout(graph, k=1.5 / np.sqrt(len(ranks)), seed=0)
    places = np.array([found[rank] for rank in ranks])
    spread = np.ptp(places, axis=0)
    # Ranks in place of coordinates use all of the room, wherever the spring has crowded them.
    even = places.argsort(axis=0).argsort(axis=0) / max(len(ranks) - 1, 1)
    return (0.2 * (places - places.min(axis=0)) / np.where(spread > 0, spread, 1.0) + 0.8 * even).round(6)


def _apart(places, boxes) -> np.ndarray:
    """The places in inches, moved until no two boxes overlap and none leaves the page."""
    room = np.array([ACROSS, OVERVIEW])
    centres = boxes + places * (room - 2 * boxes)
    for _ in range(STEPS):
        away = centres[:, None] - centres[None]
        overlap = boxes[:, None] + boxes[None] - np.abs(away)
        np.einsum("iik->ik", overlap)[:] = 0.0
        touching = (overlap > 1e-6).all(axis=2)
        if not touching.any():
            break
        # Along the direction in which less is to be moved.
        along = overlap.argmin(axis=2)
        sign = np.where(np.take_along_axis(away, along[..., None], 2)[..., 0] >= 0, 1.0, -1.0)
        sign[np.tril_indices(len(sign))] = -sign.T[np.tril_indices(len(sign))]
        step = np.where(touching, 0.5 * overlap.min(axis=2) * sign, 0.0)
        for axis in range(2):
            centres[:, axis] += np.where(along == axis, step, 0.0).sum(axis=1)
        centres = np.clip(centres, boxes, room - boxes)
    return centres


def _width(edges) -> float:
    return 0.5 + 1.2 * np.log2(edges)


# The panels


def _draw_panel(ax, inside, members, hub, size, colours, labels):
    """The members with the strongest edges on a circle, neighbours near each other, and the strongest edges."""
    ax.set(xlim=(-PANEL / 2, PANEL / 2), ylim=(-PANEL / 2, PANEL / 2 + TITLE))
    ax.axis("off")
    among = inside[inside["source"].isin(members) & inside["target"].isin(members)]
    drawn = among.iloc[np.argsort(-among["partial_correlation"].abs().to_numpy(), kind="stable")[:INSIDE]]
    order = _along(drawn, members)
    radius = PANEL / 2 - GAP - 0.04 - max(text_width(labels[name], LABEL_SIZE) for name in order)
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(order)) / len(order)
    place = {name: point_at(angle, radius) for name, angle in zip(order, angles, strict=True)}
    for row in reversed(list(drawn.itertuples())):
        weight = row.partial_correlation
        stroke = {"color": POSITIVE} if weight > 0 else {"color": NEGATIVE, "linestyle": NEGATIVE_DASHES}
        ax.plot(
            *zip(place[row.source], place[row.target], strict=True),
            linewidth=0.3 + 2.0 * abs(weight),
            alpha=0.7,
            **stroke,
        )
    for name, angle in zip(order, angles, strict=True):
        ax.plot(*place[name], "o", markersize=4, mfc=colours[name], mec="black", mew=0.4, zorder=4)
        left = np.cos(angle) < -1e-9
        turn = np.degrees(angle)
        ax.text(
            *point_at(angle, radius + GAP),
            plain(labels[name]),
            size=LABEL_SIZE,
            weight="bold" if name == hub else "normal",
            rotation=turn + 180 if left else turn,
            rotation_mode="anchor",
            ha="right" if left else "left",
            va="center",
        )
    text = f"{size} members, {counted(len(inside), 'edge')}"
    if len(order) < size or len(drawn) < len(inside):
        text += f"; {len(order)} and {len(drawn)} shown"
    ax.text(0, PANEL / 2 + TITLE / 2, plain(text), ha="center", va="center", size=LABEL_SIZE)


def _along(drawn, members) -> list[str]:
    """Members in the order of a walk that goes on to the strongest neighbour, so that few lines cross."""
    graph = nx.Graph()
    graph.add_nodes_from(members)
    graph.add_edges_from(zip(drawn["source"], drawn["target"], strict=True))
    order: list[str] = []
    for name in members:
        if name not in order:
            order += nx.dfs_preorder_nodes(graph, name)
    return order


def _explain(ax):
    """What the lines of the overview mean."""
    ax.set(xlim=(0, ACROSS), ylim=(0, KEYS))
    ax.axis("off")
    left = 0.0
    samples: list[tuple[str, dict | None]] = [
        ("mostly positive", {"color": POSITIVE, "linewidth": 1.6}),
        ("mostly negative", {"color": NEGATIVE, "linewidth": 1.6, "linestyle": NEGATIVE_DASHES}),
        ("edges between two communities", None),
        *((str(number), {"color": "black", "linewidth": _width(number)}) for number in (1, 4, 16)),
    ]
    for text, line in samples:
        if line is not None:
            ax.plot([left, left + 0.28], [KEYS / 2] * 2, **line)
            left += 0.33
        ax.text(left, KEYS / 2, text, va="center_baseline", size=TEXT_SIZE, color="black" if line else MUTED)
        left += text_width(text) + 0.15
