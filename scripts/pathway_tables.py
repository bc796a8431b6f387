"""Findings summed up by pathway: explained variation of its proteins, and edges within and between pathways."""

from nard.files import read_tsv, write_tsv
from nard.fits.summaries import crosstalk, explained_by_pathway, of_cohorts
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]):
        source, explained, wired = snakemake.input, {}, {}
        files = zip(snakemake.params.cohorts, source.held_out, source.groups, source.nodes, source.edges, strict=True)
        pathways = snakemake.params.pathways
        for cohort, *paths in files:
            held_out, groups, nodes, edges = map(read_tsv, paths)
            explained[cohort] = explained_by_pathway(held_out, groups, pathways)
            wired[cohort] = crosstalk(edges, nodes, pathways)
        write_tsv(of_cohorts(explained), snakemake.output.explained)
        write_tsv(of_cohorts(wired), snakemake.output.crosstalk)
