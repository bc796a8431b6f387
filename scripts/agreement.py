"""Which findings of the reference method the cancers share."""

from itertools import combinations

import pandas as pd

from nard.files import read_tsv, write_tsv
from nard.fits.comparison import agreement, jaccard
from nard.project.jobs import job


def signed(table: pd.DataFrame, ends: tuple[str, str], weight: str, ordered: bool) -> dict[tuple[str, str], float]:
    """The selected pairs with their weight; undirected ones in alphabetical order."""
    rows = table[table["selected"]]
    pairs = zip(rows[ends[0]].astype(str), rows[ends[1]].astype(str), strict=True)
    return {(pair if ordered else tuple(sorted(pair))): value for pair, value in zip(pairs, rows[weight], strict=True)}


KINDS = {
    "associations": (("feature", "target"), "weight", True),
    "edges": (("source", "target"), "partial_correlation", False),
}

if __name__ == "__main__":
    with job(snakemake.log[0]):
        rows = []
        for what, (ends, weight, ordered) in KINDS.items():
            weights = {
                cohort: signed(read_tsv(path), ends, weight, ordered)
                for cohort, path in zip(snakemake.params.cohorts, snakemake.input[what], strict=True)
            }
            write_tsv(agreement(weights, ends), snakemake.output[what])
            for a, b in combinations(weights, 2):
                rows.append((a, b, what, jaccard(weights[a], weights[b]), len(weights[a]), len(weights[b])))
        columns = ["cohort_a", "cohort_b", "what", "jaccard", "n_a", "n_b"]
        write_tsv(pd.DataFrame(rows, columns=columns), snakemake.output.cohorts)
