"""One method fitted to one cohort: tables of findings, graph, trace, model."""

from nard.files import read_json, read_tsv
from nard.jobs import job
from nard.memory import require_memory
from nard.methods import make_model
from nard.results import read_matrix, write_fit

if __name__ == "__main__":
    with job(snakemake.log[0]) as log:
        source, settings = snakemake.input, snakemake.params.fit
        cohort = read_json(source.summary)
        shape = cohort["n_samples"], cohort["n_inputs"], cohort["n_outputs"]
        log.info(require_memory(snakemake.wildcards.method, shape, snakemake.resources.get("mem_mb")))
        model = make_model(snakemake.wildcards.method, settings, snakemake.params.seed)
        model.fit(read_matrix(source.X), read_matrix(source.Y))
        about = {key: cohort[key] for key in ("cohort", "title", "kind", "simulated", "n_samples")}
        about["method"] = snakemake.wildcards.method
        groups = read_tsv(source.groups, dtype=str).fillna("")
        summary = write_fit(model, settings["fdr"], groups, about, dict(snakemake.output.items()))
        log.info("chosen: %s, found: %s", summary["tuned"], summary["found"])
