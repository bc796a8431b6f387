"""Everything on one page: words, figures, tables, the account of the data, the config and the software."""

from itertools import repeat
from pathlib import Path

import numpy as np

from nard.experiments.pages import report_parts
from nard.files import read_json, read_tsv, write_text
from nard.fits.comparison import with_stability
from nard.fits.hidden import hidden_inputs
from nard.fits.methods import find_method
from nard.fits.results import read_matrix
from nard.project.jobs import job
from nard.report.methods_section import methods_section
from nard.report.page import CohortResults, FitNotes, report_page


def notes_on_fits(fitted, fits, models, inputs):
    """What there is to say of the fits, by cohort, with the hidden inputs of NARD; ``inputs`` are the files of X."""
    found, X = {}, (None, None)
    for (cohort, method), fit, model in zip(fitted, fits, models, strict=True):
        hidden, failed = None, fit.get("failed")
        if find_method(method).minimises_j and not failed:
            with np.load(model) as arrays:
                if len(arrays.get("hidden_loadings", ())) and X[0] != cohort:
                    X = cohort, read_matrix(inputs[cohort])
                hidden = hidden_inputs(arrays, X[1])
        found.setdefault(cohort, []).append(FitNotes(method, fit.get("cautions", ()), hidden, failed))
    return found


if __name__ == "__main__":
    with job(snakemake.log[0]):
        source = snakemake.input
        results = zip(
            *(source.summaries, source.fits, source.held_out, source.associations, source.edges, source.nodes),
            strict=True,
        )
        seconds = {
            tuple(fit): float(read_tsv(path)["s"].iloc[0])
            for fit, path in zip(snakemake.params.fitted, source.times, strict=True)
        }
        experiments = report_parts(
            snakemake.params.chapters,
            {Path(path).stem: read_tsv(path) for path in source.paper_tables},
            {Path(path).stem: Path(path) for path in source.paper_figures if path.endswith(".png")},
        )
        config = snakemake.params.config
        X = dict(zip(config["cohorts"], source.X, strict=True))
        fits = list(map(read_json, source.all_fits))
        by_cohort = notes_on_fits(snakemake.params.fitted, fits, source.models, X)
        # Only of the reference method, and only if the config asks for subsamples.
        stability = map(read_tsv, source.stability) if source.get("stability") else repeat(None)
        cohorts = [
            CohortResults(
                *map(read_json, files[:3]),
                with_stability(read_tsv(files[3]), frequencies, "associations"),
                with_stability(read_tsv(files[4]), frequencies, "edges"),
                read_tsv(files[5]),
                by_cohort[cohort],
            )
            for cohort, files, frequencies in zip(config["cohorts"], results, stability, strict=False)
        ]
        section = methods_section([cohort.summary for cohort in cohorts], fits, config)
        page = report_page(
            cohorts,
            {Path(path).stem: read_tsv(path) for path in source.tables},
            [path for path in source.figures if path.endswith(".png")],
            Path(snakemake.scriptdir).parent / "workflow" / "report",
            config,
            seconds,
            section,
            experiments,
            snakemake.params.others,
        )
        write_text(page, snakemake.output[0])
        write_text(section.markdown(), snakemake.output.methods)
