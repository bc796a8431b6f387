"""Figures of fitted models and of the tables that the workflow writes."""

from nard.figures.associations import plot_associations
from nard.figures.blocks import plot_blocks
from nard.figures.maps import plot_crosstalk, plot_jaccard, plot_pathway_map
from nard.figures.network import plot_network
from nard.figures.style import house_style, save_figure, stamp
from nard.figures.traces import plot_lam_path, plot_lam_table, plot_trace
from nard.figures.upset import plot_upset

__all__ = [
    "house_style",
    "plot_associations",
    "plot_blocks",
    "plot_crosstalk",
    "plot_jaccard",
    "plot_lam_path",
    "plot_lam_table",
    "plot_network",
    "plot_pathway_map",
    "plot_trace",
    "plot_upset",
    "save_figure",
    "stamp",
]
