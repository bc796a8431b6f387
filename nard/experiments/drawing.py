"""What the figures of the chapters on simulated data have in common."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from nard.experiments.synthetic import paper_names
from nard.figures.style import WIDTH
from nard.fits.methods import METHODS

__all__ = ["COLOURS", "MARKERS", "panels"]

COLOURS = {paper_names(name): method.colour for name, method in METHODS.items()}
MARKERS = {paper_names(name): method.marker for name, method in METHODS.items()}


def panels(count: int, height: float = 2.4, columns: int = 4):
    """A figure of the page's width with so many axes in rows, as a list."""
    columns = min(count, columns)
    rows = -(-count // columns)
    fig, axes = plt.subplots(rows, columns, figsize=(WIDTH, rows * height), layout="constrained", squeeze=False)
    for ax in axes.ravel()[count:]:
        ax.set_visible(False)
    return fig, list(np.ravel(axes)[:count])
