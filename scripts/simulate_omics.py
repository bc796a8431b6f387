"""A simulated cohort as raw files: expression, protein abundance, and the truth behind them."""

from nard.data.pathways import read_pathways
from nard.data.simulated import simulate_omics
from nard.files import write_tsv
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]) as log:
        settings = snakemake.params.settings
        cohort = simulate_omics(
            read_pathways(snakemake.params.pathways, snakemake.params.use_pathways),
            snakemake.wildcards.cohort,
            settings["samples"],
            settings["extra_proteins"],
            settings["absent_proteins"],
            snakemake.params.seed,
        )
        for name, table in cohort.tables.items():
            write_tsv(table, snakemake.output[name], index=True)
        write_tsv(cohort.associations, snakemake.output.associations)
        write_tsv(cohort.edges, snakemake.output.edges)
        log.info("%d true associations, %d true edges", len(cohort.associations), len(cohort.edges))
