"""What speaks against trusting the findings of a fit, in words; a fit keeps codes and numbers."""

from __future__ import annotations

from collections.abc import Mapping

from nard.inputs import some

__all__ = ["caution_text"]


def caution_text(caution: Mapping) -> str:
    """What a caution of a fit means, and what to do about it."""
    if caution["code"] == "marginal tests":
        return (
            "No input is active in the column-wise model, so that the "
            f"{caution['associations']} associations found are plain correlations, many by way of other inputs: "
            'set relevance="auto" or "entries".'
        )
    if caution["code"] == "copies":
        listed = [f"{name!r} (of {some(others)})" for name, others in caution["outputs"].items()]
        more = f" and {caution['count'] - len(listed)} more" if caution["count"] > len(listed) else ""
        return (
            f"Outputs that are copies or combinations of others: {', '.join(listed)}{more}. Edges among these are no "
            "findings, and they hide edges to other outputs: leave out what follows from the rest."
        )
    return (
        f"Hidden inputs behind the outputs: {caution['evident']} evident, {caution['used']} allowed for. Associations "
        'and edges may be theirs: set hidden="auto".'
    )
