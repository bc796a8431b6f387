"""What genes explain of each pathway's proteins in held-out samples, over all cancers."""

from nard.figures.maps import plot_pathway_map
from nard.figures.style import save_figure
from nard.files import read_json, read_tsv
from nard.project.jobs import job
from nard.report.captions import origin

if __name__ == "__main__":
    with job(snakemake.log[0]):
        summaries = [read_json(path) for path in snakemake.input.summaries]
        figure = plot_pathway_map(
            read_tsv(snakemake.input.table),
            title="What genes explain of each pathway's proteins in held-out samples",
            note=origin(summaries, snakemake.params.method),
        )
        save_figure(figure, list(snakemake.output))
