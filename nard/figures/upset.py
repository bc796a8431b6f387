"""What the cancers have in common: an UpSet plot."""

from __future__ import annotations

import warnings
from collections import Counter

import pandas as pd
from matplotlib.collections import PathCollection
from matplotlib.ticker import MaxNLocator

from nard.data.pathways import OTHER
from nard.figures.page import chips, chips_height, page, sentence
from nard.figures.style import LABEL_SIZE, MARGIN, STRIP, WIDTH, house_style, plain, shorten, text_width
from nard.figures.words import origin
from nard.fits.comparison import association_set, candidates, comparable, edge_set
from nard.palette import OTHER as OTHER_COLOUR

__all__ = ["draw_upset", "plot_upset", "shared_findings"]

# In inches: a cancer's row, the bars, the bars of the totals with room for their numbers, the room below the totals.
ROW, BARS, TOTALS, NUMBERS, BELOW = 0.2, 2.2, 0.9, 0.4, 0.3
WIDEST_COLUMN = 0.5
UNDIVIDED = "#444444"
ACROSS, ACROSS_COLOUR = "between pathways", "#5A5A5A"


@house_style()
def plot_upset(contents, groups, colours, *, title, element_name="associations", max_subsets=25, untested=0, note=None):
    """How many elements were found in exactly which cancers, largest first, as bars stacked by pathway.

    Each column is an exclusive intersection: the filled dots name the cancers in which its elements were found, and
    they were found in no other. The bars at the left are the sizes of the whole sets. The figure says what it omits.

    That an element was not found in a cancer means something only if it could have been: leave out those that could not
    be tested in all cancers, and say how many these are.

    Parameters
    ----------
    contents : dict
        Cancer → set of elements, in the order of the rows.
    groups : dict or None
        Element → pathway; an element without one of the coloured counts as "other". None: bars are not divided.
    colours : dict or None
        Pathway → colour, in the order of the stack, as from :func:`pathway_colours`; not used without groups.
    title : str
        Title.
    element_name : str, default="associations"
        What the elements are, in the plural.
    max_subsets : int, default=25
        At most this many intersections are shown.
    untested : int, default=0
        The number of elements that were left out since they could not be tested in every cancer, for the text.
    note : str, optional
        Stamped at the bottom.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    where = _where(contents)
    if not where:
        text = f"No {element_name} were found in any of the cancers"
        text += f" that could be tested in all of them; {untested} others were found." if untested else "."
        return sentence(text, title=title, note=note)
    if len(contents) == 1:
        (name,) = contents
        text = f"{name} is the only cancer, so there is nothing to intersect ({element_name}: {len(where)})."
        return sentence(text, title=title, note=note)

    sizes = Counter(where.values())
    # Ties go to the fewer cancers, then to those that come first.
    ranked = sorted(sizes, key=lambda cancers: (-sizes[cancers], sum(cancers), [not found for found in cancers]))
    shown, hidden = ranked[:max_subsets], ranked[max_subsets:]
    divided = groups is not None
    if divided:
        # Grey comes last, at the foot of the stacks.
        palette = {name: colour for name, colour in colours.items() if name != OTHER} | {OTHER: OTHER_COLOUR}
        group = {element: name if (name := groups.get(element)) in palette else OTHER for element in where}
    else:
        palette, group = {"": UNDIVIDED}, dict.fromkeys(where, "")
    stacks = {cancers: Counter(group[element] for element in where if where[element] == cancers) for cancers in shown}
    palette = {name: colour for name, colour in palette.items() if any(name in stack for stack in stacks.values())}

    legend = chips_height(palette) + 0.1 if divided else 0.0
    rows = ROW * len(contents)
    figure = page(
        legend + BELOW + rows + BARS + 0.3,
        title=title,
        remarks=_remarks(sizes, shown, hidden, untested, element_name),
        note=note,
    )
    if divided:
        chips(figure, STRIP, palette)
    axes = _draw(figure, contents, stacks, palette)

    names = max(text_width(shorten(name)) for name in contents) + 0.12
    left = MARGIN + NUMBERS + TOTALS + 0.05 + names
    bottom = STRIP + legend + BELOW
    column = min((WIDTH - left - MARGIN) / len(shown), WIDEST_COLUMN)
    _place(axes["totals"], MARGIN + NUMBERS, bottom, TOTALS, rows)
    _place(axes["shading"], left - names, bottom, names + column * len(shown), rows)
    _place(axes["matrix"], left, bottom, column * len(shown), rows)
    _place(axes["bars"], left, bottom + rows + 0.1, column * len(shown), BARS)
    _finish_matrix(axes["matrix"], contents, column)
    _finish_totals(axes["totals"], contents, element_name)
    _finish_bars(axes["bars"], [sizes[cancers] for cancers in shown], column, element_name)
    return figure


def shared_findings(tables, groups, what, only=None) -> tuple[dict, dict, dict, int]:
    """Contents, groups, colours and the number left out for :func:`plot_upset` from the findings of several cancers.

    ``tables`` maps each cancer to the table of its findings, ``groups`` are the groups of their prepared data. An
    association is of the first pathway of its protein, an edge of that of its ends, between pathways, or
    of no pathway (other) where an end has none. With
    ``only``, this pathway comes before the others of a protein, and findings that are not its are left out. So are, and
    are counted, findings that could not be made in every cancer, since one of the two was not measured there.
    """
    pathway: dict[str, str] = {}
    colours: dict[str, str] = {}
    for table in groups:
        outputs = table[table["side"] == "outputs"]
        pathway |= dict(zip(outputs["name"], outputs["pathway"], strict=True))
        if only is not None:
            members = outputs["pathways"].str.split(";").map(lambda names: only in names)
            pathway |= dict.fromkeys(outputs.loc[members, "name"], only)
        colours |= dict(zip(outputs["pathway"], outputs["colour"], strict=True))
    colours.setdefault(OTHER, OTHER_COLOUR)
    colours[ACROSS] = ACROSS_COLOUR
    if only is not None:
        colours.setdefault(only, UNDIVIDED)
    possible = [candidates(table, what) for table in groups]
    contents, group_of, untested = {}, {}, set()
    for cancer, table in tables.items():
        pairs = association_set(table) if what == "associations" else edge_set(table)
        for source, target in pairs:
            ends = {pathway[target]} if what == "associations" else {pathway[source], pathway[target]}
            group_of[source, target] = OTHER if OTHER in ends else ACROSS if len(ends) > 1 else pathway[target]
        wanted = {pair for pair in pairs if only in (None, group_of[pair])}
        contents[cancer] = comparable(wanted, *possible)
        untested |= wanted - contents[cancer]
    return contents, group_of, colours, len(untested)


def draw_upset(fits, findings, groups, *, what, only=None):
    """What the cancers share of their associations or edges, of all pathways or of one."""
    fitted = [case for case in zip(fits, findings, groups, strict=True) if not case[0].get("failed")]
    tables, groups = {fit["title"]: table for fit, table, _ in fitted}, [table for _, _, table in fitted]
    title = "Gene → protein associations" if what == "associations" else "Protein – protein edges"
    contents, group_of, colours, untested = shared_findings(tables, groups, what, only)
    return plot_upset(
        contents,
        group_of,
        colours,
        title=f"{title} shared by the cancers" + (f": {only}" if only else ""),
        element_name=what,
        untested=untested,
        note=origin(fits, fits[0]["method"]),
    )


def _where(contents) -> dict:
    """Element → for each cancer, whether the element was found in it."""
    return {
        element: tuple(element in found for found in contents.values()) for element in set().union(*contents.values())
    }


def _remarks(sizes, shown, hidden, untested, element_name) -> list[str]:
    remark = f"an intersection counts the {element_name} found in exactly these cancers"
    if hidden:
        size = "smaller" if sizes[hidden[0]] < sizes[shown[-1]] else "equal or smaller"
        omitted = sum(sizes[cancers] for cancers in hidden)
        remark += f"; {len(hidden)} {size} intersections ({omitted} {element_name}) are not shown"
    if not untested:
        return [remark]
    return [remark, f"left out: {untested} {element_name} found, but not tested in every cancer (not measured there)"]


def _draw(figure, contents, stacks, palette) -> dict:
    """The library's plot: its axes by name."""
    from upsetplot import UpSet

    # One row per element. Pathways are ranks here, as the library would sort names by the alphabet.
    ranks = {name: rank for rank, name in enumerate(palette)}
    rows = [(cancers, ranks[name]) for cancers, stack in stacks.items() for name in stack.elements()]
    index = pd.MultiIndex.from_tuples([cancers for cancers, _ in rows], names=list(contents))
    upset = UpSet(
        pd.DataFrame({"pathway": [rank for _, rank in rows]}, index=index),
        sort_by="input",
        sort_categories_by="-input",
        intersection_plot_elements=0,
        element_size=None,
        facecolor=UNDIVIDED,
    )
    # The library knows the intersections shown only; the totals are those of the whole sets.
    upset.totals = pd.Series({name: len(contents[name]) for name in upset.totals.index})
    upset.add_stacked_bars(by="pathway", colors={ranks[name]: colour for name, colour in palette.items()})
    with warnings.catch_warnings():
        message = "A value is trying to be set on a copy of a DataFrame or Series through chained assignment"
        warnings.filterwarnings("ignore", message=message, category=FutureWarning)
        axes = upset.plot(figure)
    axes["bars"] = axes.pop("extra0")
    return axes


def _place(ax, left, bottom, width, height):
    across, up = ax.figure.get_size_inches()
    ax.set_position((left / across, bottom / up, width / across, height / up))


def _finish_matrix(ax, contents, column):
    (dots,) = (artist for artist in ax.collections if isinstance(artist, PathCollection))
    dots.set_sizes([(72 * 0.6 * min(column, ROW)) ** 2])
    ax.set_yticks(range(len(contents)), [plain(shorten(name)) for name in reversed(contents)])


def _finish_totals(ax, contents, element_name):
    ax.set_xlim(max(map(len, contents.values())), 0)
    ax.xaxis.grid(False)
    ax.tick_params(axis="x", bottom=False, labelbottom=False)
    ax.spines["bottom"].set_visible(False)
    ax.set_xlabel("per cancer", loc="right")
    for row, name in enumerate(reversed(contents)):
        size = len(contents[name])
        ax.annotate(
            f"{size}", (size, row), (-2, 0), textcoords="offset points", ha="right", va="center", size=LABEL_SIZE
        )


def _finish_bars(ax, sizes, column, element_name):
    ax.get_legend().remove()
    ax.set_ylabel(plain(element_name))
    ax.set_ylim(0, 1.1 * max(sizes))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    ax.yaxis.grid(False)
    for bar in ax.patches:
        bar.set(edgecolor="white", linewidth=0.3)
    upright = max(text_width(size, LABEL_SIZE) for size in sizes) > 0.95 * column
    number = {"textcoords": "offset points", "ha": "center", "va": "bottom", "size": LABEL_SIZE}
    for place, size in enumerate(sizes):
        ax.annotate(f"{size}", (place, size), (0, 1.5), rotation=90 if upright else 0, **number)
