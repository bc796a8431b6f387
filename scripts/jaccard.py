"""Jaccard index of the findings of every pair of methods, per cohort."""

from nard.files import read_json, read_tsv, write_tsv
from nard.fits.comparison import ENDS, findings_of, jaccard_table
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]):
        fits = [read_json(path) for path in snakemake.input.summaries]
        findings = {
            (cohort, method, what): findings_of(fit, read_tsv(path), what)
            for what in ENDS
            for (cohort, method), fit, path in zip(snakemake.params.fits, fits, snakemake.input[what], strict=True)
        }
        write_tsv(jaccard_table(findings), snakemake.output[0])
