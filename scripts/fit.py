"""One method fitted to one cohort: tables of findings, graph, trace, model; or why it cannot be."""

from pathlib import Path

from nard.files import read_json, read_tsv
from nard.fits.failures import failure_text, method_errors
from nard.fits.fitting import fitted_model, write_model
from nard.fits.memory import require_memory
from nard.fits.results import Unfitted, read_matrix
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]) as log:
        source, method, settings = snakemake.input, snakemake.wildcards.method, snakemake.params.fit
        about = read_json(source.summary)
        shape = about["n_samples"], about["n_inputs"], about["n_outputs"]
        X, Y = read_matrix(source.X), read_matrix(source.Y)
        groups = read_tsv(source.groups, dtype=str).fillna("")
        folder = Path(snakemake.output.model).parent
        described = method, settings, len(X), groups, about, dict(snakemake.output.items())
        with method_errors() as failed:
            log.info(require_memory(method, shape, settings, snakemake.resources.get("mem_mb")))
            model = fitted_model(snakemake.params.method, settings, snakemake.params.seed, X, Y, groups, folder)
            summary = write_model(model, *described)
            log.info("chosen: %s, found: %s", summary["tuned"], summary["found"])
        if failed:
            write_model(Unfitted(failed), *described)
            # A chain that ended in an error would end there again.
            for chain in folder.glob("chain*.npz"):
                chain.unlink()
            log.warning("not fitted: %s", failure_text(failed))
