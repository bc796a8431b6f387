"""Every fit in one row: findings, agreement with the reference method, held-out predictions; and floors of these."""

from nard.files import read_json, read_tsv, write_tsv
from nard.fits.summaries import methods_table
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]):
        source = snakemake.input
        fits, held_out = map(read_json, source.fits), map(read_json, source.held_out)
        floors = {cohort: read_json(path) for cohort, path in zip(snakemake.params.cohorts, source.floors, strict=True)}
        table = methods_table(fits, held_out, read_tsv(source.jaccard), snakemake.params.reference, floors)
        write_tsv(table, snakemake.output[0])
