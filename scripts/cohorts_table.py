"""Samples, inputs and outputs of every cohort, found and used."""

from nard.files import read_json, write_tsv
from nard.fits.summaries import cohorts_table
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]):
        write_tsv(cohorts_table(map(read_json, snakemake.input)), snakemake.output[0])
