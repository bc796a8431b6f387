"""Edges within and between pathways, over all cancers."""

from nard.figures.maps import plot_crosstalk
from nard.figures.style import save_figure
from nard.files import read_json, read_tsv
from nard.project.jobs import job
from nard.report.captions import origin

if __name__ == "__main__":
    with job(snakemake.log[0]):
        summaries = [read_json(path) for path in snakemake.input.summaries]
        figure = plot_crosstalk(
            read_tsv(snakemake.input.table),
            title="Edges within and between pathways",
            note=origin(summaries, snakemake.params.method),
        )
        save_figure(figure, list(snakemake.output))
