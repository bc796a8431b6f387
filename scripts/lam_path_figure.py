"""The choice of λ in one cohort."""

from nard.figures.style import save_figure
from nard.figures.traces import plot_lam_table
from nard.files import read_json, read_tsv
from nard.project.jobs import job
from nard.report.captions import origin

if __name__ == "__main__":
    with job(snakemake.log[0]):
        summary = read_json(snakemake.input.summary)
        figure = plot_lam_table(
            read_tsv(snakemake.input.lam_path),
            read_json(snakemake.input.fit)["tuned"]["lam"],
            title=f"{summary['title']}: choice of λ",
            note=origin([summary], snakemake.params.method),
        )
        save_figure(figure, list(snakemake.output))
