"""Figures of fitted models."""

from __future__ import annotations

__all__ = ["plot_lam_path"]


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
    from matplotlib.ticker import LogLocator, NullFormatter

    path = model.lam_path_
    if path is None:
        raise ValueError(f"λ was fixed at {model.lam_:g}: there is no path to plot. Fit with lam='cv' or lam='ebic'.")
    if ax is None:
        _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    cross_validated = "standard_error" in path
    line = {"color": "#0072B2", "marker": "o", "markersize": 4}
    if cross_validated:
        # Neighbouring λ are scored on the same samples: the error bars are those of one score, not of a difference.
        ax.errorbar(path["lam"], path["score"], yerr=path["standard_error"], capsize=2, label="mean ± s.e.", **line)
        ax.set_ylabel("held-out log-likelihood per sample")
    else:
        ax.plot(path["lam"], path["score"], label="eBIC", **line)
        ax.set_ylabel("eBIC (lower is better)")
    ax.axvline(model.lam_, color="#D55E00", linestyle="--", label=f"chosen λ = {model.lam_:.3g}")
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("λ (on the scale of residual correlations)")
    ax.legend(frameon=False)
    return ax
