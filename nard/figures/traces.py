"""Curves of a fit: the scores along the path of λ, and the descent of the objective."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from nard.figures.page import page, sentence
from nard.figures.style import MARGIN, STRIP, house_style, plain, shorten
from nard.figures.words import listed, origin
from nard.fits.methods import find_method
from nard.palette import NEGATIVE, POSITIVE

__all__ = ["draw_lam_path", "draw_trace", "plot_lam_path", "plot_lam_table", "plot_trace"]

COLOURS = (POSITIVE, NEGATIVE, "#009E73", "#CC79A7", "#E69F00", "#000000", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", (0, (4, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.5, 1.2, 1.5)), (0, (8, 2)))


def plot_lam_path(model, ax=None):
    """The score of every λ that was tried, with the chosen one marked.

    Parameters
    ----------
    model : NARD
        Fitted with ``lam="cv"`` or ``lam="ebic"``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from nard import NARD
    >>> from nard.figures import plot_lam_path
    >>> from nard.simulate import make_regression
    >>> data = make_regression(100, 8, 3, random_state=0)
    >>> ax = plot_lam_path(NARD(lam="cv").fit(data.X, data.Y))
    >>> ax.get_xlabel()
    'λ (on the scale of residual correlations)'
    """
    import matplotlib.pyplot as plt

    path = model.lam_path_
    if path is None:
        raise ValueError(f"λ was fixed at {model.lam_:g}: there is no path to plot. Fit with lam='cv' or lam='ebic'.")
    if ax is None:
        _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    _draw_path(ax, path, model.lam_)
    ax.legend(frameon=False)
    return ax


@house_style()
def plot_lam_table(table, lam, *, title, note=None):
    """The score of every λ that was tried, with the chosen one marked: :func:`plot_lam_path` from a table.

    Parameters
    ----------
    table : DataFrame
        With ``lam``, ``score`` and, of a cross-validation, ``standard_error``; without it the scores are eBIC.
    lam : float
        The chosen λ.
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
        return sentence(f"λ was fixed at {lam:g}: there is no path to show.", title=title, note=note)
    figure, ax = _single(3.2, title=title, note=note)
    _draw_path(ax, table, lam)
    # Above the curve, where it cannot cover a point.
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, borderaxespad=0)
    return figure


@house_style()
def plot_trace(table, *, title, note=None):
    """How each method descends: the objective above the smallest value that any method reached, by step.

    The axis is logarithmic down to the smallest positive difference and linear from there to zero, so that the best
    value itself is on it.

    Parameters
    ----------
    table : DataFrame
        With ``method``, ``step`` and ``objective``.
    title : str
        Title.
    note : str, optional
        Stamped at the bottom.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    table = table.dropna(subset="objective")
    if table.empty:
        return sentence("No method left a trace of its objective.", title=title, note=note)
    above = table["objective"] - table["objective"].min()
    figure, ax = _single(3.6, title=title, note=note)
    for rank, method in enumerate(table["method"].unique()):
        part = table[table["method"] == method].sort_values("step")
        every = max(1, len(part) // 12)
        ax.plot(
            part["step"],
            above[part.index],
            color=COLOURS[rank % len(COLOURS)],
            linestyle=DASHES[rank % len(DASHES)],
            marker=MARKERS[rank % len(MARKERS)],
            markersize=4,
            markeredgecolor="white",
            markeredgewidth=0.4,
            # Methods that descend together would otherwise cover each other's markers.
            markevery=(rank % every, every),
            label=plain(shorten(method, 32)),
            clip_on=False,
        )
    # Differences below a hundred-millionth of the largest are rounding.
    smallest = max(above[above > 0].min(), 1e-8 * above.max()) if above.any() else 1.0
    linear = 10.0 ** math.floor(math.log10(smallest))
    ax.set_yscale("symlog", linthresh=linear)
    ax.set_ylim(0, 3 * max(above.max(), linear))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlabel("step")
    ax.set_ylabel("J − smallest J")
    ax.legend(loc="upper left", bbox_to_anchor=(1.02, 1), borderaxespad=0, frameon=False)
    return figure


def draw_lam_path(fit, lam_path):
    """The choice of λ of a fit."""
    title, note = f"{fit['title']}: choice of λ", origin([fit], fit["method"])
    return plot_lam_table(lam_path, fit["tuned"]["lam"], title=title, note=note)


def draw_trace(fits, traces):
    """How fits to one cohort descend."""
    table = pd.concat(
        [trace.assign(method=fit["method"]) for fit, trace in zip(fits, traces, strict=True)], ignore_index=True
    )
    absent = [find_method(fit["method"]).title for fit in fits if fit.get("failed")]
    note = origin([{**fits[0], "failed": None}]) + (f" – could not be fitted: {listed(absent)}" if absent else "")
    return plot_trace(table, title=f"{fits[0]['title']}: convergence", note=note)


def _single(body, *, title, note):
    """A page with one pair of axes, which leaves room for its own labels."""
    figure = page(body, title=title, note=note)
    width, height = figure.get_size_inches()
    rect = (MARGIN / width, STRIP / height, 1 - 2 * MARGIN / width, body / height)
    figure.set_layout_engine("constrained", rect=rect)
    ax = figure.add_subplot()
    ax.spines[["top", "right"]].set_visible(False)
    return figure, ax


def _draw_path(ax, path, lam):
    line = {"color": POSITIVE, "marker": "o", "markersize": 4}
    if "standard_error" in path:
        # Neighbouring λ are scored on the same samples: the error bars are those of one score, not of a difference.
        ax.errorbar(path["lam"], path["score"], yerr=path["standard_error"], capsize=2, label="mean ± s.e.", **line)
        ax.set_ylabel("held-out log-likelihood per sample")
    else:
        ax.plot(path["lam"], path["score"], label="eBIC", **line)
        ax.set_ylabel("eBIC (lower is better)")
    ax.axvline(lam, color=NEGATIVE, linestyle="--", label=f"chosen λ = {lam:.3g}")
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("λ (on the scale of residual correlations)")
