"""X and Y of one cohort, the groups of their features, and the account of what was left out."""

from nard.data.groups import block_groups, coloured, pathway_groups
from nard.data.h5 import with_parts
from nard.data.pathways import OTHER
from nard.files import write_json, write_tsv
from nard.project.check import load_pathways, prepare_cohort
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]) as log:
        settings, output = snakemake.params.settings, snakemake.output
        pathways = load_pathways(snakemake.params.pathways, snakemake.params.use_pathways)
        prepared = prepare_cohort(settings, with_parts(snakemake.params.files, dict(snakemake.input.items())), pathways)
        X, Y = prepared.X, prepared.Y
        if settings["kind"] == "aging":
            groups = block_groups(X.columns, Y.columns, settings)
            names = [*settings["macro"], *settings["molecular"]]
        else:
            groups = pathway_groups(X.columns, Y.columns, pathways)
            names = [*pathways.names, OTHER]
        groups = coloured(groups, names)
        write_tsv(X.rename_axis("sample"), output.X, index=True)
        write_tsv(Y.rename_axis("sample"), output.Y, index=True)
        write_tsv(groups, output.groups)
        write_tsv(prepared.age, output.age)
        summary = {
            "cohort": snakemake.wildcards.cohort,
            "title": settings["title"],
            "kind": settings["kind"],
            "simulated": settings["source"] == "simulated",
            "n_samples": len(X),
            "n_inputs": X.shape[1],
            "n_outputs": Y.shape[1],
            **prepared.ledger.summary(),
        }
        write_json(summary, output.summary)
        log.info("%d samples, %d inputs, %d outputs", len(X), X.shape[1], Y.shape[1])
