"""How each method descends in one cohort."""

import pandas as pd

from nard.figures.style import save_figure
from nard.figures.traces import plot_trace
from nard.files import read_json, read_tsv
from nard.project.jobs import job
from nard.report.captions import origin

if __name__ == "__main__":
    with job(snakemake.log[0]):
        summary = read_json(snakemake.input.summary)
        traces = zip(snakemake.params.methods, snakemake.input.traces, strict=True)
        figure = plot_trace(
            pd.concat([read_tsv(path).assign(method=method) for method, path in traces], ignore_index=True),
            title=f"{summary['title']}: convergence",
            note=origin([summary]),
        )
        save_figure(figure, list(snakemake.output))
