"""Which findings of the reference method the cancers share."""

from nard.files import read_json, read_tsv, write_tsv
from nard.fits.comparison import ENDS, agreement, cohorts_jaccard, selected_weights
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]):
        cohorts, weights = snakemake.params.cohorts, {}
        fitted = [not read_json(path).get("failed") for path in snakemake.input.summaries]
        for what, ends in ENDS.items():
            files = zip(snakemake.input[what], fitted, strict=True)
            found = (selected_weights(read_tsv(path), what) if there else None for path, there in files)
            weights[what] = dict(zip(cohorts, found, strict=True))
            write_tsv(agreement(weights[what], ends), snakemake.output[what])
        write_tsv(cohorts_jaccard(weights), snakemake.output.cohorts)
