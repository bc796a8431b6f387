"""What every figure has in common: fonts, the stamp at the bottom, and how a figure becomes files.

The sizes are those of the printed page, 7.2 inches wide, so nothing is to be scaled afterwards. The settings start from
the defaults of matplotlib and its own font, so that a figure does not depend on the computer it is drawn on.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib import style
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.textpath import text_to_path

from nard.files import atomic

__all__ = [
    "LABEL_SIZE",
    "MARGIN",
    "NEGATIVE_DASHES",
    "STRIP",
    "TEXT_SIZE",
    "TITLE_SIZE",
    "WIDTH",
    "house_style",
    "plain",
    "save_figure",
    "shorten",
    "stamp",
    "text_width",
    "wrap",
]

WIDTH = 7.2
MARGIN = 0.1
STRIP = 0.3  # kept free for the stamp at the bottom of every figure, in inches

TITLE_SIZE, TEXT_SIZE, LABEL_SIZE = 9.0, 7.0, 6.0

NEGATIVE_DASHES = (0, (2.4, 1.2))  # so that the sign survives a black-and-white print


FORMATS = (".png", ".pdf", ".svg")
# PDF and SVG would otherwise carry the time of writing.
UNDATED = {".png": {}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}


def house_style():
    """The settings of every figure: a context manager that also serves as a decorator."""
    settings = {
        "font.family": "DejaVu Sans",
        "font.size": TEXT_SIZE,
        "axes.labelsize": TEXT_SIZE,
        "axes.titlesize": TEXT_SIZE,
        "xtick.labelsize": TEXT_SIZE,
        "ytick.labelsize": TEXT_SIZE,
        "legend.fontsize": TEXT_SIZE,
        "axes.linewidth": 0.6,
        "grid.linewidth": 0.4,
        "grid.color": "#DDDDDD",
        "hatch.linewidth": 0.4,
        "lines.linewidth": 1.2,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        # Text is then as wide in a PNG as in a PDF, and as wide as it was measured.
        "text.hinting": "none",
        "svg.hashsalt": "nard",
        "pdf.fonttype": 42,
    }
    return style.context(["default", settings])


def plain(text) -> str:
    """Text whose dollar signs are not read as the bounds of a formula."""
    return str(text).replace("$", r"\$")


def shorten(name, longest=24) -> str:
    """The name, with its middle left out if it is too long to label anything: the ends are what tells names apart."""
    name = str(name)
    if len(name) <= longest:
        return name
    tail = (longest - 1) // 2
    return f"{name[: longest - 1 - tail]}…{name[-tail:]}"


@cache
def text_width(text, size=TEXT_SIZE, weight="normal") -> float:
    """Width of a line of text in inches."""
    font = FontProperties(family="DejaVu Sans", size=size, weight=weight)
    return text_to_path.get_text_width_height_descent(str(text), font, ismath=False)[0] / 72


def wrap(text, width, size=TEXT_SIZE, weight="normal") -> list[str]:
    """The text in lines that are at most ``width`` inches wide, broken at spaces."""
    lines: list[str] = []
    for word in str(text).split():
        if lines and text_width(f"{lines[-1]} {word}", size, weight) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


@house_style()
def stamp(figure, text) -> None:
    """A small line at the bottom of a figure, such as "Simulated data – COAD – NARD sequential".

    It has a strip of the figure to itself: the figures of this package leave it free, and the axes of a figure in
    constrained layout are moved up to make room. What was stamped before stays in front of the new text.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        From a function of this package, or any other in constrained layout.
    text : str
        What to write; it takes two lines if it has to.
    """
    width, height = figure.get_size_inches()
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        left, bottom, across, up = engine.get()["rect"]
        lift = max(0.0, STRIP / height - bottom)
        engine.set(rect=(left, bottom + lift, across, up - lift))
    for old in [artist for artist in figure.texts if artist.get_gid() == "stamp"]:
        text = f"{old.get_text()} – {text}".replace(r"\$", "$")
        old.remove()
    lines = wrap(text, width - 2 * MARGIN, LABEL_SIZE)
    figure.text(
        MARGIN / width,
        0.5 * STRIP / height,
        plain("\n".join(lines)),
        size=LABEL_SIZE,
        color="#444444",
        va="center",
        linespacing=1.15,
        gid="stamp",
    )


@house_style()
def save_figure(figure, paths) -> None:
    """Write a figure as PNG (200 dpi), PDF or SVG, and close it.

    The same figure gives the same bytes, and a file is either complete or not there.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    paths : path-like, or list of path-like
        The suffix of each path says the format. A single path without one of these suffixes stands for all three.
    """
    paths = [Path(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    if len(paths) == 1 and paths[0].suffix not in FORMATS:
        paths = [paths[0].with_name(paths[0].name + suffix) for suffix in FORMATS]
    unknown = [str(path) for path in paths if path.suffix not in FORMATS]
    if unknown:
        raise ValueError(f"a figure is written as {', '.join(FORMATS)}, not as {', '.join(unknown)}")
    for path in paths:
        with atomic(path) as part:
            figure.savefig(part, format=path.suffix[1:], dpi=200, metadata=UNDATED[path.suffix])
    plt.close(figure)
