"""A simulated aging cohort: one table of people, and the truth behind it."""

from nard.data.simulated import simulate_aging
from nard.files import write_tsv
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]) as log:
        cohort = simulate_aging(snakemake.wildcards.cohort, snakemake.params.settings["samples"], snakemake.params.seed)
        write_tsv(cohort.tables["table"], snakemake.output.table)
        write_tsv(cohort.associations, snakemake.output.associations)
        write_tsv(cohort.edges, snakemake.output.edges)
        log.info("%d true associations, %d true edges", len(cohort.associations), len(cohort.edges))
