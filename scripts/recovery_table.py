"""True positive and false discovery rates of every fit to a simulated cohort."""

import pandas as pd

from nard.files import read_tsv, write_tsv
from nard.fits.comparison import association_set, edge_set, feature_set, recovery, truth_among
from nard.project.jobs import job


def names_in(groups: pd.DataFrame) -> list[pd.Series]:
    """The inputs and the outputs that the preparation kept."""
    return [groups.loc[groups["side"] == side, "name"] for side in ("inputs", "outputs")]


if __name__ == "__main__":
    with job(snakemake.log[0]) as log:
        source, cohorts = snakemake.input, snakemake.params.cohorts
        truths = {
            cohort: truth_among(read_tsv(associations), read_tsv(edges), *map(set, names_in(read_tsv(groups))))
            for cohort, associations, edges, groups in zip(
                cohorts, source.true_associations, source.true_edges, source.groups, strict=True
            )
        }
        rows = []
        for what, members in (("features", feature_set), ("associations", association_set), ("edges", edge_set)):
            for (cohort, method), path in zip(snakemake.params.fits, source[what], strict=True):
                rates = recovery(members(read_tsv(path)), *truths[cohort][what])
                rows.append({"cohort": cohort, "method": method, "what": what, **rates})
        table = pd.DataFrame(rows)
        write_tsv(table, snakemake.output[0])
        log.info("\n%s", table.groupby(["what", "method"])[["tpr", "fdr"]].mean().to_string())
