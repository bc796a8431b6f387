"""The protein network of one cohort."""

from nard.figures.network import plot_network
from nard.figures.style import save_figure
from nard.files import read_json, read_tsv
from nard.project.jobs import job
from nard.report.captions import origin

if __name__ == "__main__":
    with job(snakemake.log[0]):
        summary = read_json(snakemake.input.summary)
        figure = plot_network(
            read_tsv(snakemake.input.nodes),
            read_tsv(snakemake.input.edges),
            title=f"{summary['title']}: protein network",
            max_edges=snakemake.params.max_edges,
            fdr=snakemake.params.fdr,
            note=origin([summary], snakemake.params.method),
        )
        save_figure(figure, list(snakemake.output))
