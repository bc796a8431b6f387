"""Every fit in one row: findings, agreement with the reference method, held-out predictions."""

from nard.files import read_json, read_tsv, write_tsv
from nard.fits.summaries import methods_table
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]):
        source = snakemake.input
        fits, held_out = map(read_json, source.fits), map(read_json, source.held_out)
        table = methods_table(fits, held_out, read_tsv(source.jaccard), snakemake.params.reference)
        write_tsv(table, snakemake.output[0])
