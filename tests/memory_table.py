"""The memory of fits by method and shape, as docs/cluster.md shows it: ``python tests/memory_table.py``."""

from nard.fits.memory import fit_megabytes
from nard.fits.methods import METHODS

SHAPES = {
    "pathways: 430 × 73 × 77": (430, 73, 77),
    "2,000 genes: 430 × 2,000 × 200": (430, 2000, 200),
    "transcriptome: 350 × 20,000 × 200": (350, 20_000, 200),
    "stocks: 1,696 × 60,640 × 3,032": (1696, 60_640, 3032),
}


def markdown() -> str:
    lines = [f"| samples × inputs × outputs | {' | '.join(SHAPES)} |", "|---|" + "---|" * len(SHAPES)]
    for method in METHODS:
        cells = (f"{fit_megabytes(method, *shape) / 1000:,.1f}" for shape in SHAPES.values())
        lines.append(f"| `{method}` | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(markdown())
