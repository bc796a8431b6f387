"""Jaccard index of the findings of every pair of methods, per cohort."""

from nard.files import read_tsv, write_tsv
from nard.fits.comparison import association_set, edge_set, jaccard_table
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]):
        findings = {}
        for what, members in (("associations", association_set), ("edges", edge_set)):
            for (cohort, method), path in zip(snakemake.params.fits, snakemake.input[what], strict=True):
                findings[cohort, method, what] = members(read_tsv(path))
        write_tsv(jaccard_table(findings), snakemake.output[0])
