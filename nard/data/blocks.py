"""The columns of simulated aging cohorts, which their config need not list."""

__all__ = ["simulated_blocks"]

_TISSUES = {"Skin": 8, "Brain": 9, "Retina": 7, "Heart": 8, "Muscle": 8}
_LAYERS = {"Metabolites": 24, "Proteins": 20, "Lipids": 16}


def simulated_blocks() -> dict[str, dict[str, list[str]]]:
    """The columns of a simulated aging cohort by block."""

    def columns(sizes):
        return {block: [f"{block.lower()} {i}" for i in range(1, size + 1)] for block, size in sizes.items()}

    return {"macro": columns(_TISSUES), "molecular": columns(_LAYERS)}
