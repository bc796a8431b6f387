"""The gene → protein association map of one cohort."""

from nard.captions import origin
from nard.figures.maps import plot_associations
from nard.figures.style import save_figure
from nard.files import read_json, read_tsv
from nard.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]):
        summary = read_json(snakemake.input.summary)
        groups = read_tsv(snakemake.input.groups)
        figure = plot_associations(
            read_tsv(snakemake.input.associations),
            read_tsv(snakemake.input.nodes),
            groups[groups["side"] == "inputs"],
            title=f"{summary['title']}: gene → protein associations",
            note=origin([summary], snakemake.params.method),
        )
        save_figure(figure, list(snakemake.output))
