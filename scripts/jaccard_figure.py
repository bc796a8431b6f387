"""Agreement of the methods, over all cohorts."""

from nard.figures.maps import plot_jaccard
from nard.figures.style import save_figure
from nard.files import read_json, read_tsv
from nard.project.jobs import job
from nard.report.captions import origin

if __name__ == "__main__":
    with job(snakemake.log[0]):
        summaries = [read_json(path) for path in snakemake.input.summaries]
        figure = plot_jaccard(
            read_tsv(snakemake.input.table),
            title="Agreement of the methods (Jaccard index)",
            note=origin(summaries),
        )
        save_figure(figure, list(snakemake.output))
