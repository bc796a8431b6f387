"""Associations of inputs with outputs, such as genes with proteins, as a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle

from nard.data.groups import own_genes
from nard.figures.matrices import bounds, colour_bar, name_axes, signed_cells, widest
from nard.figures.page import axes_at, chips, chips_height, page, sentence
from nard.figures.style import LABEL_SIZE, MARGIN, STRIP, WIDTH, house_style, shorten
from nard.figures.words import NAMES, origin
from nard.palette import NEGATIVE, OTHER, colours_of

__all__ = ["draw_associations", "plot_associations"]

STRIPE, KEYS = 0.09, 0.4  # of the pathways' colours; of the line that explains the cells, in inches
LARGEST_CELL, LOWEST_ROW = 0.22, 0.1
FRAME: dict[str, Any] = {"fill": False, "edgecolor": "black", "linewidth": 0.8}


@house_style()
def plot_associations(
    associations,
    nodes,
    gene_pathways,
    *,
    title,
    max_genes=60,
    max_targets=60,
    fdr=0.05,
    note=None,
    words=("genes", "proteins"),
):
    """Which genes go with which proteins: the selected associations as a matrix of proteins × genes.

    Both are ordered by pathway, with a stripe in the pathway's colour. The colour of a cell is the standardised weight,
    blue if positive, vermilion with a dash if negative. The cell of a gene and its own protein is framed, whether or
    not they are associated. Genes and proteins without any selected association are left out, and of the others only
    the strongest are shown if there are too many; the figure says so.

    Parameters
    ----------
    associations : DataFrame
        With ``feature``, ``target``, ``weight`` (of standardised data, so that weights compare) and ``selected``.
    nodes : DataFrame
        The proteins, with ``id``, ``label`` and ``pathway``.
    gene_pathways : DataFrame
        With ``pathway``, ``protein``, ``gene`` (';'-separated) and, if the nodes have it, ``colour``: the pathway of a
        gene, and its own proteins. A row without a protein may have a ``label``, the text to show for the gene.
    title : str
        Title.
    max_genes, max_targets : int, default=60
        At most this many genes and proteins are shown.
    fdr : float, default=0.05
        The q-value up to which associations were selected, for the text.
    note : str, optional
        Stamped at the bottom.
    words : (str, str), default=("genes", "proteins")
        What inputs and outputs are, for the text.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    selected = associations[associations["selected"].astype(bool)]
    if selected.empty:
        return sentence(f"There are no associations at q ≤ {fdr:g}.", title=title, note=note)
    genes, targets = _strongest(selected, max_genes, max_targets)
    shown = selected[selected["feature"].isin(genes) & selected["target"].isin(targets)]

    own = gene_pathways.assign(gene=gene_pathways["gene"].str.split(";")).explode("gene")
    colours = {**colours_of(pd.concat([nodes, own])), "other": OTHER}
    rows = _by_pathway(targets, nodes["id"], nodes["pathway"], colours)
    columns = _by_pathway(genes, own["gene"], own["pathway"], colours)
    weights = shown.pivot_table("weight", "target", "feature").reindex(index=rows.index, columns=columns.index)

    labels = [shorten(label) for label in nodes.set_index("id")["label"].reindex(rows.index)]
    names = [shorten(label, 16) for label in _gene_labels(gene_pathways, columns.index)]
    left, below = MARGIN + widest(labels, LABEL_SIZE) + STRIPE, widest(names, LABEL_SIZE) + STRIPE
    cell = min((WIDTH - left - MARGIN) / len(columns), LARGEST_CELL)
    across, height = cell * len(columns), max(cell, LOWEST_ROW) * len(rows)
    palette = {name: colour for name, colour in colours.items() if name in {*rows, *columns}}
    legend = chips_height(palette)
    remark = _what_is_shown(selected, shown, fdr, words)
    figure = page(legend + KEYS + below + height, title=title, remarks=[remark], note=note)
    bottom = STRIP + legend + KEYS + below

    ax = axes_at(figure, left, bottom, across, height)
    mesh = signed_cells(ax, weights, shown["weight"].abs().max())
    bounds(ax, rows, columns)
    name_axes(ax, labels, names, size=LABEL_SIZE)
    ax.tick_params(pad=2 + 72 * STRIPE)
    encoded = set(zip(own["gene"], own["protein"], strict=True))
    framed = [
        (column, row)
        for row, target in enumerate(rows.index)
        for column, gene in enumerate(columns.index)
        if (gene, target) in encoded
    ]
    for place in framed:
        ax.add_patch(Rectangle(place, 1, 1, zorder=4, **FRAME))
    _draw_stripes(ax, [colours[name] for name in rows], [colours[name] for name in columns])
    _explain_cells(figure, mesh, STRIP + legend, framed=bool(framed))
    chips(figure, STRIP, palette)
    return figure


def draw_associations(fit, nodes, associations, groups):
    """The associations of a fit to genes and proteins, or to phenotypes; the groups are those of the prepared data."""
    own = own_genes(groups)
    inputs = groups["side"] == "inputs"
    pathways = groups.assign(
        protein=groups["name"].mask(inputs, ""),
        gene=[name if is_input else ";".join(own[name]) for name, is_input in zip(groups["name"], inputs, strict=True)],
    )
    words = NAMES[fit["kind"]]
    what = "gene → protein associations" if fit["kind"] == "omics" else f"associations of {words[0]} with {words[1]}"
    title, note = f"{fit['title']}: {what}", origin([fit], fit["method"])
    return plot_associations(associations, nodes, pathways, title=title, fdr=fit["fdr"], note=note, words=words)


def _strongest(selected, max_genes, max_targets) -> tuple[set, set]:
    """Genes and proteins taken in the order of the absolute weights of their associations, as long as there is room.

    Each of them then has at least one association with another of them.
    """
    genes: set[str] = set()
    targets: set[str] = set()
    order = np.argsort(-selected["weight"].abs().to_numpy(), kind="stable")
    for gene, target in selected[["feature", "target"]].iloc[order].itertuples(index=False):
        if (gene in genes or len(genes) < max_genes) and (target in targets or len(targets) < max_targets):
            genes.add(gene)
            targets.add(target)
    return genes, targets


def _by_pathway(wanted, names, pathways, colours) -> pd.Series:
    """The pathway of each wanted name, by name: pathways as they come in ``colours``, names as they come in the table.

    A name with several pathways has its first; a name without any has "other", and comes last.
    """
    table = pd.Series(list(pathways), index=list(names))
    table = table[~table.index.duplicated()]
    missing = pd.Series("other", index=sorted(wanted - set(table.index), key=str))
    table = pd.concat([table[table.index.isin(wanted)], missing])
    ranks = {name: rank for rank, name in enumerate(colours)} | {"other": len(colours)}
    return table.sort_values(key=lambda names: names.map(ranks), kind="stable")


def _gene_labels(gene_pathways, genes) -> list:
    """The text to show for each gene: its label if it has one."""
    if "label" not in gene_pathways:
        return list(genes)
    inputs = gene_pathways[gene_pathways["protein"] == ""]
    labels = dict(zip(inputs["gene"], inputs["label"], strict=True))
    return [labels.get(gene, gene) for gene in genes]


def _what_is_shown(selected, shown, fdr, words) -> str:
    genes, targets = shown["feature"].nunique(), shown["target"].nunique()
    all_genes, all_targets = selected["feature"].nunique(), selected["target"].nunique()
    if len(shown) == len(selected):
        return f"all {len(shown)} associations (q ≤ {fdr:g}) of {genes} {words[0]} with {targets} {words[1]}"
    return (
        f"strongest {genes} of {all_genes} {words[0]} and {targets} of {all_targets} {words[1]}, "
        f"with {len(shown)} of {len(selected)} associations (q ≤ {fdr:g})"
    )


def _draw_stripes(ax, beside, below):
    """The pathways' colours, between the cells and the names."""
    across, up = ax.figure.get_size_inches() * ax.get_position().size
    thick = STRIPE - 0.02
    wide, high = thick * len(below) / across, thick * len(beside) / up
    gap_x, gap_y = 0.02 * len(below) / across, 0.02 * len(beside) / up
    for row, colour in enumerate(beside):
        ax.add_patch(Rectangle((-gap_x - wide, row), wide, 1, facecolor=colour, edgecolor="none", clip_on=False))
    for column, colour in enumerate(below):
        place = (column, len(beside) + gap_y)
        ax.add_patch(Rectangle(place, 1, high, facecolor=colour, edgecolor="none", clip_on=False))


def _explain_cells(figure, mesh, bottom, *, framed):
    bar = axes_at(figure, MARGIN + 0.1, bottom + 0.2, 1.6, 0.1)
    colour_bar(figure, mesh, bar, "standardised weight", orientation="horizontal")
    left, across = MARGIN + 3.1, WIDTH - 2 * MARGIN - 3.1
    ax = axes_at(figure, left, bottom + 0.15, across, 0.2)
    ax.set(xlim=(0, across), ylim=(0, 0.2))
    ax.axis("off")
    ax.add_patch(Rectangle((0, 0.05), 0.1, 0.1, facecolor=NEGATIVE))
    ax.plot([0.025, 0.075], [0.1, 0.1], color="black", linewidth=0.7)
    ax.text(0.16, 0.1, "negative", va="center_baseline")
    if framed:
        ax.add_patch(Rectangle((0.9, 0.05), 0.1, 0.1, **FRAME))
        ax.text(1.06, 0.1, "a gene and its own protein", va="center_baseline")
