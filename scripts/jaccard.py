"""Jaccard index of the findings of every pair of methods, per cohort."""

from nard.files import read_tsv, write_tsv
from nard.fits.comparison import ENDS, SETS, jaccard_table
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]):
        findings = {
            (cohort, method, what): SETS[what](read_tsv(path))
            for what in ENDS
            for (cohort, method), path in zip(snakemake.params.fits, snakemake.input[what], strict=True)
        }
        write_tsv(jaccard_table(findings), snakemake.output[0])
