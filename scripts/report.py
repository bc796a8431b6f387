"""Everything on one page: words, figures, tables, the account of the data, the config and the software."""

from pathlib import Path

from nard.experiments.pages import report_parts
from nard.files import read_json, read_tsv, write_text
from nard.jobs import job
from nard.methods_section import methods_section
from nard.report import CohortResults, report_page

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
        cohorts = [CohortResults(*map(read_json, files[:3]), *map(read_tsv, files[3:])) for files in results]
        section = methods_section([cohort.summary for cohort in cohorts], [cohort.fit for cohort in cohorts], config)
        page = report_page(
            cohorts,
            {Path(path).stem: read_tsv(path) for path in source.tables},
            [path for path in source.figures if path.endswith(".png")],
            Path(snakemake.scriptdir).parent / "workflow" / "report",
            config,
            seconds,
            section,
            experiments,
        )
        write_text(page, snakemake.output[0])
        write_text(section.markdown(), snakemake.output.methods)
