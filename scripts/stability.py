"""How often each finding comes back when the method is fitted to random subsamples."""

from nard.files import read_json, read_tsv, write_tsv
from nard.fits.comparison import association_set, edge_set, selection_frequency, stability_table
from nard.fits.failures import failure_text, method_errors
from nard.fits.fitting import own_pairs
from nard.fits.methods import make_model
from nard.fits.results import read_matrix
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]) as log:
        X, Y = read_matrix(snakemake.input.X), read_matrix(snakemake.input.Y)
        groups = read_tsv(snakemake.input.groups, dtype=str).fillna("")
        method, settings, fit = snakemake.params.method, snakemake.params.fit, read_json(snakemake.input.fit)
        # The parts of the model are those under which the findings were tested, not those that predict best.
        fixed = {**fit["tuned"], **fit["tested"], **own_pairs(method, groups)}
        frequencies, failed = None, fit["failed"]
        if not failed:
            with method_errors() as failed:
                frequencies = selection_frequency(
                    lambda: make_model(method, settings, snakemake.params.seed, **fixed),
                    X,
                    Y,
                    snakemake.params.stability["subsamples"],
                    snakemake.params.stability["fraction"],
                    snakemake.params.seed,
                    settings["fdr"],
                )
        if failed:
            log.warning("no frequencies: %s", failure_text(failed))
        whole = association_set(read_tsv(snakemake.input.associations)), edge_set(read_tsv(snakemake.input.edges))
        write_tsv(stability_table(frequencies, *whole), snakemake.output[0])
