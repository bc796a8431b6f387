"""Heat maps with numbers: what pathways explain, how they are wired, and how far the methods agree."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle

from nard.figures.matrices import colour_bar, name_axes, numbers, widest
from nard.figures.page import axes_at, page, sentence
from nard.figures.style import MARGIN, STRIP, TEXT_SIZE, WIDTH, house_style, plain, shorten, text_width
from nard.figures.words import origin

__all__ = [
    "draw_crosstalk",
    "draw_jaccard",
    "draw_pathway_map",
    "plot_crosstalk",
    "plot_jaccard",
    "plot_pathway_map",
]

BAR = 0.1  # width of a colour bar, in inches
BAR_ROOM = 0.55  # with its numbers and its label
_MEASURE = "% of held-out variance that goes along with what the genes predict; R² takes off what they predict wrongly"
_NOT_AVAILABLE = "; n/a: none of the pathway's genes, or none of its proteins, are in the data"


@house_style()
def plot_pathway_map(table, *, title, note=None):
    """How much of the variance of each pathway's proteins its own genes explain, and how much the other genes.

    Two heat maps side by side, pathways × cohorts, on one scale, with the percentages in the cells. A share below zero
    has the colour of zero; a share that is missing is hatched and says n/a.

    Parameters
    ----------
    table : DataFrame
        With ``cohort``, ``pathway``, ``own`` and ``other``: shares of the held-out variance of the pathway's proteins.
    title : str
        Title.
    note : str, optional
        Stamped at the bottom.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    if table.empty:
        return sentence("There are no pathways to map.", title=title, note=note)
    pathways, cohorts = table["pathway"].unique(), table["cohort"].unique()
    panels = {
        "by the pathway's own genes": 100 * _matrix(table, "pathway", "cohort", "own"),
        "by other genes": 100 * _matrix(table, "pathway", "cohort", "other"),
    }
    largest = max(np.nanmax(values.to_numpy(), initial=1.0) for values in panels.values())
    missing = any(values.isna().any(axis=None) for values in panels.values())

    rows, columns = [shorten(name, 32) for name in pathways], [shorten(name, 16) for name in cohorts]
    left, gap = MARGIN + widest(rows), 0.15
    # A percentage needs 0.3 inches: many cohorts make the figure wider, never the numbers smaller.
    cell = np.clip((WIDTH - left - gap - BAR_ROOM) / 2 / len(cohorts), 0.3, 0.5)
    upright = widest(columns) - 0.05 > cell
    below = widest(columns) if upright else 0.2
    across, height = cell * len(cohorts), 0.24 * len(pathways)
    pitch = max(across, *(text_width(name) for name in panels)) + gap
    figure = page(
        below + height + 0.2,
        title=title,
        remarks=[_MEASURE + (_NOT_AVAILABLE if missing else "")],
        note=note,
        width=max(WIDTH, left + pitch + across + BAR_ROOM),
    )
    for place, (name, values) in enumerate(panels.items()):
        ax = axes_at(figure, left + place * pitch, STRIP + below, across, height)
        mesh = numbers(ax, values, values.map(_percentage).to_numpy(), largest, missing="n/a")
        name_axes(ax, rows if place == 0 else [], columns, upright=upright)
        ax.set_title(name, size=TEXT_SIZE, pad=3, loc="left")
    bar = axes_at(figure, left + pitch + across + 0.1, STRIP + below, BAR, height)
    colour_bar(figure, mesh, bar, "%")
    return figure


@house_style()
def plot_crosstalk(table, *, title, note=None):
    """Which pathways are wired to which: the density of edges between the proteins of two pathways, over all cohorts.

    The diagonal, framed, is the density within a pathway. The cells hold the number of edges; the colour is that number
    as a share of the pairs that could have been edges, in %. Cells without such pairs are blank and hatched.

    Parameters
    ----------
    table : DataFrame
        With ``pathway_a``, ``pathway_b``, ``cohort``, ``edges`` and ``possible``; each pair in one order only.
    title : str
        Title.
    note : str, optional
        Stamped at the bottom.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    if table.empty:
        return sentence("There are no pathways to compare.", title=title, note=note)
    pathways = pd.unique(table[["pathway_a", "pathway_b"]].to_numpy().ravel())
    totals = table.groupby(["pathway_a", "pathway_b"])[["edges", "possible"]].sum()
    edges, possible = (_symmetric(totals[name], pathways) for name in ("edges", "possible"))
    density = np.where(possible > 0, 100 * edges / np.where(possible > 0, possible, 1), np.nan)

    names = [shorten(name, 32) for name in pathways]
    left, below = MARGIN + widest(names), widest(names)
    cell = min((WIDTH - left - BAR_ROOM) / len(names), 0.42)
    side = cell * len(names)
    cohorts = table.dropna(subset="possible")["cohort"].nunique()
    remark = (
        f"number of edges over {cohorts} cohort{'' if cohorts == 1 else 's'}; colour: % of the possible pairs; "
        "framed: within a pathway; a protein counts in each of its pathways"
        + ("; hatched: no pairs" if np.isnan(density).any() else "")
    )
    figure = page(below + side + 0.05, title=title, remarks=[remark], note=note)
    ax = axes_at(figure, left, STRIP + below, side, side)
    texts = [[f"{count:.0f}" if np.isfinite(count) else "" for count in row] for row in edges]
    mesh = numbers(ax, density, texts, max(np.nanmax(density, initial=0.0), 1e-9))
    name_axes(ax, names, names)
    for place in range(len(names)):
        ax.add_patch(
            Rectangle((place, place), 1, 1, fill=False, edgecolor="black", linewidth=0.9, zorder=3, clip_on=False)
        )
    colour_bar(figure, mesh, axes_at(figure, left + side + 0.12, STRIP + below, BAR, side), "%")
    return figure


@house_style()
def plot_jaccard(table, *, title, note=None):
    """How far the methods agree: the Jaccard index of what two of them select, averaged over the cohorts.

    One heat map per kind of finding, method × method, of which the lower triangle says it all. The cells hold the mean
    and, below it, the range over the cohorts, if there are several. Cells without a single index (both select nothing,
    or a method could not be fitted) are hatched.

    Parameters
    ----------
    table : DataFrame
        With ``cohort``, ``method_a``, ``method_b``, ``what`` (such as "edges") and ``jaccard``.
    title : str
        Title.
    note : str, optional
        Stamped at the bottom.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    methods = pd.unique(table[["method_a", "method_b"]].to_numpy().ravel())
    if len(methods) < 2:
        return sentence("There are no two methods to compare.", title=title, note=note)
    kinds = {kind: _agreement(part, methods) for kind, part in table.groupby("what", sort=False)}
    missing = any(np.isnan(mean[np.tril_indices_from(mean)]).any() for mean, _ in kinds.values())
    names = [shorten(name, 28) for name in methods]
    rows, columns = names[1:], names[:-1]
    left, below, gap = MARGIN + widest(rows), widest(columns), 0.3
    needed = 0.5 * len(columns)  # for a range such as 0.41–0.80
    # Side by side if there is room, otherwise one below the other.
    abreast = len(kinds) if left + len(kinds) * (needed + gap) + BAR_ROOM <= WIDTH else 1
    cell = np.clip((WIDTH - left - BAR_ROOM - gap * abreast) / abreast / len(columns), 0.5, 0.7)
    side, height = cell * len(columns), 0.3 * len(rows)
    stories = len(kinds) // abreast
    story = height + 0.25 + below
    # Not every cohort has every method, and where neither selects any there is no index.
    pairs = [frozenset(pair) for pair in zip(table["method_a"], table["method_b"], strict=True)]
    counts = table["jaccard"].notna().groupby([table["what"], pairs]).sum()
    fewest, most = counts[counts > 0].agg(["min", "max"]) if counts.any() else (0, 0)
    number = f"{most}" if fewest == most else f"{fewest} to {most}"
    remark = f"Jaccard index: mean and range over {number} cohort{'' if most == 1 else 's'}"
    figure = page(
        stories * story,
        title=title,
        remarks=[remark + ("; hatched: neither selects any, or one could not be fitted" if missing else "")],
        note=note,
        width=max(WIDTH, left + side + gap + BAR_ROOM),
    )
    for place, (kind, (mean, texts)) in enumerate(kinds.items()):
        column, row = place % abreast, stories - 1 - place // abreast
        bottom = STRIP + row * story + below
        ax = axes_at(figure, left + column * (side + gap), bottom, side, height)
        mesh = numbers(ax, mean, texts, 1.0)
        name_axes(ax, rows if column == 0 else [], columns)
        ax.set_title(plain(kind), size=TEXT_SIZE, weight="bold", pad=3, loc="left")
        # The upper triangle repeats the lower one.
        for cover in range(len(rows)):
            ax.add_patch(Rectangle((cover + 1, cover), len(columns) - cover - 1, 1, facecolor="white", zorder=2))
    bar = axes_at(figure, left + abreast * side + (abreast - 1) * gap + 0.12, STRIP + below, BAR, height)
    colour_bar(figure, mesh, bar)
    return figure


def draw_pathway_map(fits, table):
    """What genes explain, over all cancers."""
    title = "What genes explain of each pathway's proteins in held-out samples"
    return plot_pathway_map(table, title=title, note=origin(fits, fits[0]["method"]))


def draw_crosstalk(fits, table):
    """The wiring of the pathways, over all cancers."""
    return plot_crosstalk(table, title="Edges within and between pathways", note=origin(fits, fits[0]["method"]))


def draw_jaccard(fits, table):
    """Agreement of the methods, over all cohorts, each of which has one of the fits."""
    return plot_jaccard(table, title="Agreement of the methods (Jaccard index)", note=origin(fits))


def _matrix(table, rows, columns, values) -> pd.DataFrame:
    wide = table.pivot_table(values, rows, columns, dropna=False)
    return wide.reindex(index=table[rows].unique(), columns=table[columns].unique())


def _symmetric(values, names) -> np.ndarray:
    """A matrix from values by unordered pairs; NaN where there is none."""
    matrix = pd.DataFrame(np.nan, index=names, columns=names)
    for (a, b), value in values.items():
        matrix.loc[a, b] = matrix.loc[b, a] = value
    return matrix.to_numpy()


def _agreement(table, methods) -> tuple[np.ndarray, list[list[str]]]:
    """Means and texts of the lower triangle, without the diagonal."""
    pairs = table.assign(pair=[frozenset(pair) for pair in zip(table["method_a"], table["method_b"], strict=True)])
    scores = {pair: part["jaccard"].dropna() for pair, part in pairs.groupby("pair", sort=False)}
    size = len(methods) - 1
    mean = np.full((size, size), np.nan)
    texts = [[""] * size for _ in range(size)]
    for row, column in zip(*np.tril_indices(size), strict=True):
        score = scores.get(frozenset({methods[row + 1], methods[column]}))
        if score is not None and len(score):
            mean[row, column] = score.mean()
            spread = f"\n{score.min():.2f}–{score.max():.2f}" if len(score) > 1 else ""
            texts[row][column] = f"{score.mean():.2f}{spread}"
    return mean, texts


def _percentage(share) -> str:
    # Adding zero turns a rounded −0.0 into 0.0.
    return f"{round(share, 1) + 0.0:.1f}".replace("-", "−")
