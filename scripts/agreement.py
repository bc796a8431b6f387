"""Which findings of the reference method the cancers share, and which of them could not be made in all."""

from nard.files import read_json, read_tsv, write_tsv
from nard.fits.comparison import ENDS, agreement, candidates, cohorts_jaccard, selected_weights
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]):
        cohorts, weights, possible = snakemake.params.cohorts, {}, {}
        fitted = [not read_json(path).get("failed") for path in snakemake.input.summaries]
        groups = [read_tsv(path) for path in snakemake.input.groups]
        for what, ends in ENDS.items():
            files = zip(snakemake.input[what], fitted, strict=True)
            found = (selected_weights(read_tsv(path), what) if there else None for path, there in files)
            weights[what] = dict(zip(cohorts, found, strict=True))
            possible[what] = {cohort: candidates(table, what) for cohort, table in zip(cohorts, groups, strict=True)}
            write_tsv(agreement(weights[what], ends, possible[what]), snakemake.output[what])
        write_tsv(cohorts_jaccard(weights, possible), snakemake.output.cohorts)
