"""The gene → protein association map of one cohort."""

from nard.figures.associations import plot_associations
from nard.figures.style import save_figure
from nard.files import read_json, read_tsv
from nard.project.jobs import job
from nard.report.captions import origin

if __name__ == "__main__":
    with job(snakemake.log[0]):
        summary = read_json(snakemake.input.summary)
        groups = read_tsv(snakemake.input.groups).rename(columns={"name": "protein", "genes": "gene"}).fillna("")
        figure = plot_associations(
            read_tsv(snakemake.input.associations),
            read_tsv(snakemake.input.nodes),
            groups,
            title=f"{summary['title']}: gene → protein associations",
            fdr=snakemake.params.fdr,
            note=origin([summary], snakemake.params.method),
        )
        save_figure(figure, list(snakemake.output))
