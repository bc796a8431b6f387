"""The colours of figures, networks and pages; no drawing is needed to know one."""

from __future__ import annotations

__all__ = ["FIRST", "MUTED", "NEGATIVE", "OTHER", "PALETTE", "POSITIVE", "SECOND", "colours_of", "pathway_colours"]

POSITIVE, NEGATIVE = "#0072B2", "#D55E00"
# Of two cohorts that are compared, which are neither signs nor pathways: 20 CIELAB units from all of them.
FIRST, SECOND = "#4B00FF", "#FF0F5A"
MUTED = "#8A8A8A"
OTHER = "#BBBBBB"

# The fourteen differ by at least 14 CIELAB units for normal vision and for each of the three kinds of colour blindness,
# and are ordered so that neighbours differ most.
PALETTE = (
    *("#332288", "#CA6702", "#77AADD", "#661100", "#CC79A7", "#7F7FFF", "#882255"),
    *("#99DDFF", "#EE9B00", "#8400CD", "#117733", "#AA4499", "#F0E442", "#009E73"),
)


def pathway_colours(pathways) -> dict:
    """A colour for each pathway, the same whenever the pathways come in the same order.

    Parameters
    ----------
    pathways : iterable of str
        Names, in order; repeated names count once. "other" is grey. The colours repeat after fourteen names.

    Returns
    -------
    dict
        Name → colour, in the given order.

    Examples
    --------
    >>> from nard.palette import pathway_colours
    >>> pathway_colours(["Apoptosis", "RTK", "other", "RTK"])
    {'Apoptosis': '#332288', 'RTK': '#CA6702', 'other': '#BBBBBB'}
    """
    names = list(dict.fromkeys(pathways))
    ranks = {name: rank for rank, name in enumerate(name for name in names if name != "other")}
    return {name: PALETTE[ranks[name] % len(PALETTE)] if name in ranks else OTHER for name in names}


def colours_of(table) -> dict:
    """The colour of each pathway: that of the column ``colour`` if there is one, else by the order of the rows."""
    if "colour" in table:
        return dict(zip(table["pathway"], table["colour"], strict=True))
    return pathway_colours(table["pathway"])
