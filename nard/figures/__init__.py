"""Figures of fitted models and of the tables that the workflow writes; what draws is imported on use."""

from importlib import import_module

_MODULES = {
    "house_style": "style",
    "plot_associations": "associations",
    "plot_blocks": "blocks",
    "plot_communities": "communities",
    "plot_crosstalk": "maps",
    "plot_jaccard": "maps",
    "plot_lam_path": "traces",
    "plot_lam_table": "traces",
    "plot_network": "network",
    "plot_pathway_map": "maps",
    "plot_trace": "traces",
    "plot_trust": "trust",
    "plot_upset": "upset",
    "save_figure": "style",
    "stamp": "style",
}

__all__ = list(_MODULES)


def __getattr__(name: str):
    if name in _MODULES:
        return getattr(import_module(f"nard.figures.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
