"""How well a method predicts samples that it has not seen, and what share of that the pathway's own genes have."""

import pandas as pd

from nard.data.groups import own_inputs
from nard.files import read_json, read_tsv, write_json, write_tsv
from nard.fits.comparison import held_out
from nard.fits.fitting import own_pairs
from nard.fits.methods import find_method, make_model
from nard.fits.results import read_matrix
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]) as log:
        X, Y = read_matrix(snakemake.input.X), read_matrix(snakemake.input.Y)
        groups = read_tsv(snakemake.input.groups, dtype=str).fillna("")
        # What was chosen on the whole data is kept: choosing λ and the parts of the model again in every fold would
        # cost many times as much and change little.
        method = snakemake.params.method
        tuned = read_json(snakemake.input.fit)["tuned"]
        fixed = {**tuned, **find_method(method).predicting, **own_pairs(method, groups)}
        likelihood, r2, shares = held_out(
            lambda: make_model(method, snakemake.params.fit, snakemake.params.seed, **fixed),
            X,
            Y,
            own_inputs(groups, list(X), list(Y)),
            snakemake.params.seed,
        )
        table = pd.DataFrame({"target": Y.columns, "r2": r2, "own": shares[:, 0], "other": shares[:, 1]})
        write_tsv(table, snakemake.output.table)
        write_json({"log_likelihood": float(likelihood), "r2": float(r2.mean())}, snakemake.output.summary)
        log.info("log-likelihood per sample %.4f, mean R² %.4f", likelihood, r2.mean())
