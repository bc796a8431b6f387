"""The network explorer: one page of all cohorts, and one of each."""

import numpy as np

from nard.files import read_json, read_tsv, write_text
from nard.fits.comparison import with_stability
from nard.fits.hidden import hidden_inputs
from nard.project.jobs import job
from nard.report.explorer import CohortFits, FitTables, explorer_page, payload

if __name__ == "__main__":
    with job(snakemake.log[0]) as log:
        source, reference = snakemake.input, snakemake.params.reference
        fits = {}
        # Only of the reference method, and only if the config asks for subsamples.
        stability = dict(zip(snakemake.params.stable, map(read_tsv, source.stability), strict=True))
        files = zip(source.fits, source.models, source.edges, source.associations, source.features, strict=True)
        for (cohort, method), (fit, model, *tables) in zip(snakemake.params.fitted, files, strict=True):
            with np.load(model) as arrays:
                hidden = hidden_inputs(arrays)
            frequencies = stability.get(cohort) if method == reference else None
            edges, associations, features = map(read_tsv, tables)
            fits.setdefault(cohort, {})[method] = FitTables(
                read_json(fit),
                with_stability(edges, frequencies, "edges"),
                with_stability(associations, frequencies, "associations"),
                features,
                hidden,
            )
        cohorts = [
            CohortFits(read_json(summary), read_tsv(groups, dtype=str).fillna(""), fits[cohort])
            for cohort, summary, groups in zip(fits, source.summaries, source.groups, strict=True)
        ]
        write_text(explorer_page(payload(cohorts, reference), "report.html"), snakemake.output.page)
        for cohort, path in zip(cohorts, snakemake.output.cohorts, strict=True):
            write_text(explorer_page(payload([cohort], reference), "../report.html"), path)
        log.info("%d cohorts", len(cohorts))
