"""How far to trust a fit: what can be checked beyond its tests, as numbers; what speaks against the fit, as codes.

Words for the codes are made here, too. NARD's own cautions, which concern its tests, come first
(:func:`nard.estimator.cautions.caution_text`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from nard.estimator import cautions as of_fits

__all__ = ["FEWEST_DEGREES", "MOST_CLIPPED", "MOST_RHAT", "caution_text", "cautions", "trust", "unmixed"]

# Chains with a split R̂ above it have not mixed (Gelman and Rubin's usual bound).
MOST_RHAT = 1.1
# Student's t with fewer degrees of freedom has tails that hang on the normality of the residuals.
FEWEST_DEGREES = 10
# Share of the values of one side that were pulled in; of normal ones it would be one in two million.
MOST_CLIPPED = 0.01


def unmixed(diagnostics: Mapping) -> bool:
    """Whether a sampler's chains have not converged: R̂ above 1.1, or none that is a number."""
    return "rhat" in diagnostics and (diagnostics["rhat"] is None or diagnostics["rhat"] > MOST_RHAT)


def trust(
    path: pd.DataFrame | None,
    tables: Mapping[str, pd.DataFrame],
    notes: Iterable[Mapping] = (),
    advice: Iterable[Mapping] = (),
) -> dict[str, Any]:
    """What ``fit.json`` has under this name.

    Parameters
    ----------
    path : DataFrame or None
        The values of λ that were tried, with the one ``chosen``; None where nothing was chosen.
    tables : dict
        Associations and edges, by these names.
    notes, advice : iterable of dict
        Of the cohort's preparation: what was done, and what its user may want to change.

    Returns
    -------
    dict
        ``lam``: the one chosen, and the ``smallest`` and ``largest`` that were tried, or None; ``degrees``: the fewest
        degrees of freedom of each table's tests, None where there are none; ``clipped``: share of values pulled in, by
        side; ``advice``, as it came.
    """
    lam = None
    if path is not None and len(path) > 1:
        chosen = path.loc[path["chosen"].astype(bool), "lam"].iloc[0]
        ends = {"chosen": chosen, "smallest": path["lam"].min(), "largest": path["lam"].max()}
        lam = {name: float(value) for name, value in ends.items()}
    fewest = {name: table["degrees"].astype(float).min() for name, table in tables.items()}
    return {
        "lam": lam,
        "degrees": {name: None if pd.isna(value) else round(float(value), 2) for name, value in fewest.items()},
        "clipped": {note["side"]: note["share"] for note in notes if note["code"] == "winsorised"},
        "advice": list(map(dict, advice)),
    }


def cautions(own: Sequence[Mapping], facts: Mapping, diagnostics: Mapping) -> list[dict[str, Any]]:
    """The method's own, and what of the facts (:func:`trust`) and diagnostics in ``fit.json`` speaks against a fit."""
    found = [dict(caution) for caution in own]
    if lam := facts["lam"]:
        ends = [end for end in ("largest", "smallest") if lam["chosen"] == lam[end]]
        found += [{"code": "lam at end of grid", "lam": lam["chosen"], "end": end} for end in ends]
    fewest = min((value for value in facts["degrees"].values() if value is not None), default=FEWEST_DEGREES)
    if fewest < FEWEST_DEGREES:
        found.append({"code": "few degrees", "degrees": fewest})
    for side, share in facts["clipped"].items():
        if share > MOST_CLIPPED:
            found.append({"code": "clipped values", "side": side, "share": share})
    if unmixed(diagnostics):
        found.append({"code": "R-hat", "rhat": diagnostics["rhat"], "ess": diagnostics.get("ess")})
    return found


def caution_text(caution: Mapping) -> str:
    """What a caution means, and what to do about it."""
    return _WORDS.get(caution["code"], of_fits.caution_text)(caution)


def _lam(caution: Mapping) -> str:
    if caution["end"] == "smallest":
        return (
            f"λ = {caution['lam']:.3g} is the smallest that was tried; a smaller one might predict better still. The "
            "network that predicts is hardly penalised: look at the curve of λ."
        )
    return (
        f"λ = {caution['lam']:.3g} is the largest that was tried: held-out samples are predicted best without a "
        "network. Either there are too few samples to see one, or there is none; edges that are found hang on their "
        "tests alone."
    )


def _degrees(caution: Mapping) -> str:
    return (
        f"Tests have as few as {caution['degrees']:.3g} degrees of freedom: their p-values hang on residuals that are "
        "normal. Take fewer inputs, `preprocessing: {genes: …}`, or more samples."
    )


def _clipped(caution: Mapping) -> str:
    return (
        f"Of the values of the {caution['side']} {caution['share']:.2%} were pulled in as outliers: look at them for "
        "batches or codes of missing values, take logarithms, or set `preprocessing: {outliers: rank_normal}`."
    )


def _rhat(caution: Mapping) -> str:
    rhat = "no R̂ that is a number" if caution["rhat"] is None else f"R̂ = {caution['rhat']:.3g}, above {MOST_RHAT}"
    size = "" if caution["ess"] is None else f", and an effective sample of {caution['ess']:.3g}"
    return (
        f"The chains have not converged ({rhat}{size}): findings and predictions are no estimates yet. Give them "
        "more time, `fit: {time_budget: …}`, or fewer inputs."
    )


_WORDS = {"lam at end of grid": _lam, "few degrees": _degrees, "clipped values": _clipped, "R-hat": _rhat}
