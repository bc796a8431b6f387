"""How far to trust a fit: the p-values of its tests, and what else can be checked."""

from __future__ import annotations

import numpy as np

from nard.data.words import told
from nard.figures.page import axes_at, page
from nard.figures.style import MARGIN, STRIP, TEXT_SIZE, WIDTH, house_style, plain, wrap
from nard.figures.words import origin
from nard.fits.statistics import BINS
from nard.fits.trust import FEWEST_DEGREES, MOST_CLIPPED, caution_text, cautions
from nard.palette import MUTED, NEGATIVE, POSITIVE

__all__ = ["draw_trust", "plot_trust"]

# In inches: a histogram with its labels, a line of text, the columns of the checks.
HISTOGRAM, BELOW, ABOVE, LINE = 1.7, 0.45, 0.45, 0.17
COLUMNS = (0.0, 2.0, 4.9)
_MANY = 100_000  # numbers from here on are given in thousands or millions


@house_style()
def plot_trust(tests, checks, warnings, *, title, note=None):
    """Histograms of p-values, one for each kind of finding, and below them what was checked and what to look at.

    Where tests hold, the p-values of what is not there spread evenly, and those of what is there gather at zero: a
    flat histogram with a peak at its left, and a slope where many effects are weak. Too few at the left, or a hill
    elsewhere, says that the tests do not hold.

    Parameters
    ----------
    tests : dict
        Name → how many p-values of the ``selected`` and of the ``others`` are in each twentieth, the smallest first.
    checks : list of (str, str, str, bool)
        What was looked at, what was found, what would be fine, and whether it is.
    warnings : list of str
        What speaks against the fit, below the checks.
    title : str
        Title.
    note : str, optional
        Stamped at the bottom.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    across = WIDTH - 2 * MARGIN
    lines = [line for text in warnings for line in wrap(f"! {text}", across)]
    text = LINE * (len(checks) + len(lines) + 1.5)
    remark = (
        "where the tests hold, p-values of what is not there are even, as the dashed line, and others gather at zero; "
        "many weak effects make a slope; too few at zero, or a hill elsewhere, speak against the tests"
    )
    figure = page(text + BELOW + HISTOGRAM + ABOVE, title=title, remarks=[remark], note=note)
    _write(figure, checks, lines, text)
    left, gap = 0.5, 0.6
    width = (WIDTH - left - MARGIN - gap * (len(tests) - 1)) / len(tests)
    for place, (name, counts) in enumerate(tests.items()):
        ax = axes_at(figure, left + place * (width + gap), STRIP + text + BELOW, width, HISTOGRAM)
        ax.set_title(plain(name), size=TEXT_SIZE, weight="bold", pad=14, loc="left")
        _draw_histogram(ax, counts)
    return figure


def draw_trust(fit):
    """The p-values of a fit of NARD, the checks that ``fit.json`` has, and what the preparation warned of."""
    warnings = [*map(caution_text, fit["cautions"]), *map(told, fit["trust"]["advice"])]
    title, note = f"{fit['title']}: how far to trust this", origin([fit], fit["method"])
    return plot_trust(fit["pvalues"], _checks(fit), warnings, title=title, note=note)


def _checks(fit) -> list[tuple[str, str, str, bool]]:
    """What was looked at, what was found, what is fine, whether it is: the limits are those of the cautions."""
    facts, codes = fit["trust"], {caution["code"] for caution in cautions([], fit["trust"], fit["diagnostics"])}
    lam, degrees, clipped = facts["lam"], facts["degrees"], facts["clipped"]
    tried = "given" if lam is None else f"{lam['chosen']:.3g}, of {lam['largest']:.3g} to {lam['smallest']:.3g}"
    fewest = [f"{value:.3g} ({name})" for name, value in degrees.items() if value is not None]
    shares = [f"{clipped.get(side, 0.0):.2%} of the {side}" for side in ("inputs", "outputs")]
    converged = fit["diagnostics"].get("converged", True)
    return [
        ("samples", f"{fit['n_samples']} for {fit['n_features']} inputs, {fit['n_targets']} outputs", "", True),
        ("penalty λ", tried, "within what was tried", "lam at end of grid" not in codes),
        (
            "fewest degrees of freedom",
            ", ".join(fewest) or "no tests",
            f"at least {FEWEST_DEGREES}",
            "few degrees" not in codes,
        ),
        ("values pulled in", ", ".join(shares), f"at most {MOST_CLIPPED:.0%}", "clipped values" not in codes),
        ("the fit", "has converged" if converged else "has not converged", "converged", converged),
    ]


def _write(figure, checks, lines, height):
    """The checks as a table of words, those that are not fine in colour and with an exclamation mark, and the rest."""
    across = WIDTH - 2 * MARGIN
    ax = axes_at(figure, MARGIN, STRIP, across, height)
    ax.set(xlim=(0, across), ylim=(height, 0))
    ax.axis("off")
    down = LINE / 2
    for what, found, fine, good in checks:
        colour = "black" if good else NEGATIVE
        words = (what, found if good else f"! {found}", f"asked for: {fine}" if fine else "")
        for left, word in zip(COLUMNS, words, strict=True):
            ax.text(left, down, plain(word), color=colour if left else MUTED, va="center")
        down += LINE
    down += LINE / 2
    for line in lines:
        ax.text(0, down, plain(line), color=NEGATIVE, va="center")
        down += LINE


def _draw_histogram(ax, counts):
    ax.spines[["top", "right"]].set_visible(False)
    heights = [np.array(counts[which]) for which in ("others", "selected")]
    numbers = [int(height.sum()) for height in heights]
    if not sum(numbers):
        ax.axis("off")
        ax.text(0.5, 0.5, "there are no tests", ha="center", va="center", transform=ax.transAxes, color=MUTED)
        return
    labels = [f"not selected ({_short(numbers[0])})", f"selected ({_short(numbers[1])})"]
    style = {"stacked": True, "color": ["#A9BCCB", POSITIVE], "edgecolor": "white", "linewidth": 0.3}
    ax.hist([(BINS[1:] + BINS[:-1]) / 2] * 2, BINS, weights=heights, label=labels, **style)
    even = sum(numbers) / (len(BINS) - 1)
    ax.axhline(even, color="black", linestyle="--", linewidth=0.8, label="even")
    ax.set(xlim=(0, 1), xlabel="p-value", ylabel="tests")
    if even >= _MANY:
        unit, name = (1e6, "millions") if even >= 1e6 else (1e3, "thousands")
        ax.yaxis.set_major_formatter(lambda value, _: f"{value / unit:g}")
        ax.set_ylabel(f"tests ({name})")
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=3,
        frameon=False,
        borderaxespad=0,
        handlelength=1.4,
        borderpad=0.2,
    )


def _short(number) -> str:
    return f"{number / 1e6:.3g} M" if number >= _MANY else str(number)
