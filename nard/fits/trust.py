"""How far to trust a fit: what speaks against it beyond what its tests promise, as codes with numbers, and in words.

NARD's own cautions, which concern its tests, come first (:func:`nard.estimator.findings.caution_text`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from nard.estimator import findings

__all__ = ["MOST_RHAT", "caution_text", "cautions", "unmixed"]

# Chains with a split R̂ above it have not mixed (Gelman and Rubin's usual bound).
MOST_RHAT = 1.1
# Student's t with fewer degrees of freedom has tails that hang on the normality of the residuals.
_FEWEST_DEGREES = 10
# Share of the values of one side that were pulled in; of normal ones it would be one in two million.
_MOST_CLIPPED = 0.01


def unmixed(diagnostics: Mapping) -> bool:
    """Whether a sampler's chains have not converged: R̂ above 1.1, or none that is a number."""
    return "rhat" in diagnostics and (diagnostics["rhat"] is None or diagnostics["rhat"] > MOST_RHAT)


def cautions(
    model, diagnostics: Mapping, tables: Iterable[pd.DataFrame], notes: Iterable[Mapping]
) -> list[dict[str, object]]:
    """Of a fitted model, its tables of associations and edges, and the notes of its cohort's preparation."""
    found = list(getattr(model, "cautions_", []))
    path = getattr(model, "lam_path_", None)
    if path is not None and len(path) > 1:
        lam = path["lam"].to_numpy()
        chosen = float(lam[path["chosen"].to_numpy()][0])
        ends = {float(lam.max()): "largest", float(lam.min()): "smallest"}
        if chosen in ends:
            found.append({"code": "lam at end of grid", "lam": chosen, "end": ends[chosen]})
    fewest = min((float(table["degrees"].min()) for table in tables if table["degrees"].notna().any()), default=None)
    if fewest is not None and fewest < _FEWEST_DEGREES:
        found.append({"code": "few degrees", "degrees": fewest})
    for note in notes:
        if note["code"] == "winsorised" and note["share"] > _MOST_CLIPPED:
            found.append({"code": "clipped values", "side": note["side"], "share": note["share"]})
    if unmixed(diagnostics):
        found.append({"code": "R-hat", "rhat": diagnostics["rhat"], "ess": diagnostics.get("ess")})
    return found


def caution_text(caution: Mapping) -> str:
    """What a caution means, and what to do about it."""
    words = _WORDS.get(caution["code"], findings.caution_text)
    return words(caution)


def _lam(caution: Mapping) -> str:
    if caution["end"] == "smallest":
        return (
            f"λ = {caution['lam']:.3g} is the smallest that was tried; a smaller one might predict better still. The "
            "network that predicts is hardly penalised: look at the curve of λ, and set `fit: {lam: …}` if it goes on "
            "rising there."
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
        f"Of the values of the {caution['side']} {caution['share']:.1%} were pulled in as outliers: look at them for "
        "batches or codes of missing values, take logarithms, or set `preprocessing: {outliers: rank_normal}`."
    )


def _rhat(caution: Mapping) -> str:
    rhat = "no R̂ that is a number" if caution["rhat"] is None else f"R̂ = {caution['rhat']:.3g}, above {MOST_RHAT}"
    size = "" if caution["ess"] is None else f" and an effective sample of {caution['ess']:.3g}"
    return (
        f"The chains have not converged ({rhat}{size}): its findings and predictions are no estimates yet. Give it "
        "more time, `fit: {time_budget: …}`, or fewer inputs."
    )


_WORDS = {"lam at end of grid": _lam, "few degrees": _degrees, "clipped values": _clipped, "R-hat": _rhat}
