"""Places on a circle that do not depend on the edges, so that networks can be compared."""

from __future__ import annotations

import numpy as np
import pandas as pd

__all__ = ["circular_layout", "places_of", "point_at"]

GAP = 1  # between arcs, in places


def circular_layout(nodes) -> dict:
    """Places on the unit circle: pathway after pathway, clockwise from the top, with a gap between pathways.

    Parameters
    ----------
    nodes : DataFrame
        With ``id`` and ``pathway``; pathways and their proteins keep the order in which they come.

    Returns
    -------
    dict
        id → (x, y).

    Examples
    --------
    >>> import pandas as pd
    >>> from nard.export.layouts import circular_layout
    >>> nodes = pd.DataFrame({"id": ["BAX", "BID"], "pathway": ["Apoptosis", "Apoptosis"]})
    >>> {name: (round(x, 2), round(y, 2)) for name, (x, y) in circular_layout(nodes).items()}
    {'BAX': (0.87, 0.5), 'BID': (0.0, -1.0)}
    """
    places = places_of(nodes)
    # Positions are written to files: no minus sign in front of a rounded zero.
    xy = np.round(point_at(places["angle"].to_numpy()), 12) + 0.0
    return dict(zip(places.index, map(tuple, xy.tolist()), strict=True))


def places_of(nodes) -> pd.DataFrame:
    """The proteins by id in their order around the circle, with the angles of their places and of their arcs' middles.

    ``slot`` is the angle between neighbours.
    """
    arc = pd.factorize(nodes["pathway"])[0]
    order = np.argsort(arc, kind="stable")
    places = nodes.iloc[order].set_index("id")[["pathway"]]
    places["slot"] = 2 * np.pi / (len(nodes) + GAP * (arc.max(initial=0) + 1))
    places["angle"] = np.pi / 2 - places["slot"] * (np.arange(len(nodes)) + GAP * arc[order] + 0.5)
    places["middle"] = places.groupby("pathway")["angle"].transform("mean")
    return places


def point_at(angle, radius=1.0) -> np.ndarray:
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
