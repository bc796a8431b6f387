"""A network between phenotypes as a matrix, ordered by blocks."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.patches import Rectangle

from nard.figures.matrices import bounds, colour_bar, name_axes, signed_cells, widest
from nard.figures.page import axes_at, page, sentence
from nard.figures.style import LABEL_SIZE, MARGIN, STRIP, WIDTH, house_style, plain, shorten
from nard.figures.words import UNSTABLE, origin, unstable
from nard.fits.comparison import with_stability
from nard.palette import MUTED

__all__ = ["draw_blocks", "plot_blocks"]

# In inches: the room for the colour bar, the lines that lead to the names of the blocks, the least distance between
# two labels and between two names.
BAR, LEADER, LEGIBLE, NAME_PITCH = 0.4, 0.2, 0.088, 0.125
LARGEST_CELL = 0.22


@house_style()
def plot_blocks(nodes, edges, *, title, max_labels=80, fdr=0.05, note=None):
    """The selected edges between phenotypes as a symmetric matrix, block after block, with lines between the blocks.

    The colour of a cell is the partial correlation, blue if positive, vermilion with a dash if negative; the diagonal
    is grey. The blocks are named at the right. The figure says how many edges lie within blocks and between them.

    Parameters
    ----------
    nodes : DataFrame
        With ``id``, ``label`` and ``pathway``, which holds the block; blocks and phenotypes keep their order.
    edges : DataFrame
        With ``source``, ``target``, ``partial_correlation`` and ``selected``; and ``stability``, if it is known: cells
        below one half have a ring.
    title : str
        Title.
    max_labels : int, default=80
        Phenotypes are labelled if there are at most this many; the columns only if the labels fit.
    fdr : float, default=0.05
        The q-value up to which edges were selected, for the text.
    note : str, optional
        Stamped at the bottom.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    if nodes.empty:
        return sentence("There are no phenotypes.", title=title, note=note)
    block = nodes.set_index("id")["pathway"]
    ranks = {name: rank for rank, name in enumerate(block.unique())}
    block = block.sort_values(key=lambda names: names.map(ranks), kind="stable")
    selected = edges[edges["selected"].astype(bool)]

    count, labelled = len(block), len(block) <= max_labels
    labels = [shorten(label, 30) for label in nodes.set_index("id")["label"][block.index]] if labelled else []
    names = [shorten(name, 28) for name in ranks]
    left, right = MARGIN + widest(labels, LABEL_SIZE), LEADER + widest(names) + MARGIN
    cell = min((WIDTH - left - right) / count, LARGEST_CELL)
    columns = labels if cell >= LEGIBLE else []
    # A row is never lower than its label, nor the matrix than the names of the blocks.
    row = max(cell, LEGIBLE if labelled else 0.0, NAME_PITCH * len(names) / count)
    across, height = cell * count, row * count
    bottom = STRIP + BAR + widest(columns, LABEL_SIZE)
    remark = _what_is_shown(selected, block, fdr)
    rings = selected[selected["stability"] < UNSTABLE] if "stability" in selected else selected[:0]
    if len(rings):
        remark += f"; {unstable(len(rings))}"
    figure = page(bottom - STRIP + height, title=title, remarks=[remark], note=note)

    ax = axes_at(figure, left, bottom, across, height)
    limit = selected["partial_correlation"].abs().max() if len(selected) else 1.0
    mesh = signed_cells(ax, _matrix(selected, block.index), limit)
    bounds(ax, block, block)
    ax.add_collection(
        PatchCollection([Rectangle((i, i), 1, 1) for i in range(count)], facecolor="#CCCCCC", edgecolor="none")
    )
    ends = [block.index.get_indexer(rings[end]) + 0.5 for end in ("source", "target")]
    for x, y in (ends, ends[::-1]):
        size = min(4.0, 50 * cell)
        ax.plot(x, y, "o", markersize=size, markerfacecolor="white", markeredgecolor="black", markeredgewidth=0.6)
    name_axes(ax, labels, columns, size=LABEL_SIZE)
    for spine in ax.spines.values():
        spine.set(visible=True, color=MUTED)
    _name_blocks(axes_at(figure, left + across, bottom, right, height), block, names, right, height)
    bar = axes_at(figure, left, STRIP + 0.2, 1.6, 0.1)
    colour_bar(figure, mesh, bar, "partial correlation; negative cells carry a dash", orientation="horizontal")
    return figure


def draw_blocks(fit, nodes, edges, stability=None):
    """The network of a fit to phenotypes."""
    edges = with_stability(edges, stability, "edges")
    title, note = f"{fit['title']}: network of the macro phenotypes", origin([fit], fit["method"])
    return plot_blocks(nodes, edges, title=title, fdr=fit["fdr"], note=note)


def _what_is_shown(selected, block, fdr) -> str:
    if selected.empty:
        return f"no edges at q ≤ {fdr:g}"
    within = int((block[selected["source"]].to_numpy() == block[selected["target"]].to_numpy()).sum())
    return f"{len(selected)} edges (q ≤ {fdr:g}): {within} within blocks, {len(selected) - within} between blocks"


def _matrix(selected, names) -> np.ndarray:
    matrix = np.full((len(names), len(names)), np.nan)
    rows, columns = names.get_indexer(selected["source"]), names.get_indexer(selected["target"])
    matrix[rows, columns] = matrix[columns, rows] = selected["partial_correlation"]
    return matrix


def _name_blocks(ax, block, names, width, height):
    """Each name beside the middle of its block, or, where blocks are narrow, as near to it as the names allow."""
    ax.set(xlim=(0, width), ylim=(height, 0))
    ax.axis("off")
    sizes = block.value_counts(sort=False).reindex(block.unique()).to_numpy()
    ends = np.cumsum(sizes)
    middles = (ends - sizes / 2) * height / len(block)
    for name, middle, place in zip(names, middles, _apart(middles, height), strict=True):
        ax.plot([0.02, 0.06, LEADER - 0.04, LEADER - 0.01], [middle, middle, place, place], color=MUTED, linewidth=0.5)
        ax.text(LEADER + 0.01, place, plain(name), va="center")


def _apart(places, end) -> np.ndarray:
    """The places moved so that neighbours keep their distance and none leaves the matrix."""
    places = places.copy()
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + NAME_PITCH)
    latest = end - NAME_PITCH / 2
    for i in reversed(range(len(places))):
        places[i] = latest = min(places[i], latest)
        latest -= NAME_PITCH
    return places
