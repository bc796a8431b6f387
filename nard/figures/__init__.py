"""Figures of fitted models and of the tables that the workflow writes; drawing is loaded on use."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nard.figures.associations import plot_associations
    from nard.figures.blocks import plot_blocks
    from nard.figures.maps import plot_crosstalk, plot_jaccard, plot_pathway_map
    from nard.figures.network import plot_network
    from nard.figures.style import house_style, save_figure, stamp
    from nard.figures.traces import plot_lam_path, plot_lam_table, plot_trace
    from nard.figures.upset import plot_upset

_MODULES = {
    "associations": ("plot_associations",),
    "blocks": ("plot_blocks",),
    "maps": ("plot_crosstalk", "plot_jaccard", "plot_pathway_map"),
    "network": ("plot_network",),
    "style": ("house_style", "save_figure", "stamp"),
    "traces": ("plot_lam_path", "plot_lam_table", "plot_trace"),
    "upset": ("plot_upset",),
}

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


def __getattr__(name):
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"nard.figures.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
