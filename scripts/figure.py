"""One figure of the catalogue, from its files."""

from nard.figures.catalogue import CATALOGUE
from nard.figures.style import save_figure
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]):
        figure = CATALOGUE[snakemake.params.figure].drawn(dict(snakemake.input.items()), snakemake.params.settings)
        save_figure(figure, list(snakemake.output))
