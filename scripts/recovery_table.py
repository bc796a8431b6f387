"""True positive and false discovery rates of every fit to a simulated cohort."""

from nard.data.groups import names_in
from nard.files import read_json, read_tsv, write_tsv
from nard.fits.comparison import SETS, findings_of, recovery_table, truth_among
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]) as log:
        source, truths = snakemake.input, {}
        files = zip(snakemake.params.cohorts, source.true_associations, source.true_edges, source.groups, strict=True)
        for cohort, *paths in files:
            associations, edges, groups = map(read_tsv, paths)
            truths[cohort] = truth_among(associations, edges, *names_in(groups))
        fits = [read_json(path) for path in source.summaries]
        findings = {
            (cohort, method, what): findings_of(fit, read_tsv(path), what)
            for what in SETS
            for (cohort, method), fit, path in zip(snakemake.params.fits, fits, source[what], strict=True)
        }
        table = recovery_table(findings, truths)
        write_tsv(table, snakemake.output[0])
        log.info("\n%s", table.groupby(["what", "method"])[["tpr", "fdr"]].mean().to_string())
