"""What the figures of the chapters on simulated data have in common."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from nard.experiments.synthetic import NARDS, paper_names
from nard.figures.style import WIDTH
from nard.fits.methods import METHODS

__all__ = ["COLOURS", "MARKERS", "panels"]

# Okabe and Ito's colours, which colour-blind people can tell apart, for the four NARDs; the baselines have others of
# the same kind, and every method its own marker.
_ORDER = (*NARDS, *(name for name in METHODS if name not in NARDS))
_PALETTE = (
    *("#D55E00", "#0072B2", "#CC79A7", "#009E73", "#332288", "#E69F00"),
    *("#56B4E9", "#882255", "#999933", "#44AA99", "#661100"),
)
COLOURS = {paper_names(name): colour for name, colour in zip(_ORDER, _PALETTE, strict=True)}
MARKERS = {paper_names(name): marker for name, marker in zip(_ORDER, "^oDsvPXph*<", strict=True)}


def panels(count: int, height: float = 2.4, columns: int = 4):
    """A figure of the page's width with so many axes in rows, as a list."""
    columns = min(count, columns)
    rows = -(-count // columns)
    fig, axes = plt.subplots(rows, columns, figsize=(WIDTH, rows * height), layout="constrained", squeeze=False)
    for ax in axes.ravel()[count:]:
        ax.set_visible(False)
    return fig, list(np.ravel(axes)[:count])
