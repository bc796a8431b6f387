"""The network explorer: one self-contained HTML page that opens from disk, with no network and no library.

Tables of findings become a payload (:mod:`~nard.report.explorer.payload`), and the payload a page
(:mod:`~nard.report.explorer.page`). Places on the circle are worked out here, once; the page only moves, filters and
draws.

The page draws SVG by itself, in plain JavaScript, instead of bundling a graph library such as Cytoscape.js. Those draw
on a canvas: its nodes cannot take the keyboard's focus or be read out, and the vector image that people want to export
would be a second drawing. A circle with at most a few thousand curves needs no layout engine either.
"""

from nard.report.explorer.page import explorer_page
from nard.report.explorer.payload import CohortFits, FitTables, payload

__all__ = ["CohortFits", "FitTables", "explorer_page", "payload"]
