"""How well the plainest regressions predict samples that they have not seen: what every method is to be better than."""

import numpy as np

from nard.files import write_json
from nard.fits.comparison import held_out, held_out_summary
from nard.fits.failures import method_errors
from nard.fits.methods import FLOORS, make_model
from nard.fits.results import read_matrix
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]) as log:
        X, Y, seed = read_matrix(snakemake.input.X), read_matrix(snakemake.input.Y), snakemake.params.seed
        no_groups = np.zeros((Y.shape[1], 0, X.shape[1]), dtype=bool)
        found = {}
        for name in FLOORS:
            predictions = None
            with method_errors() as failed:
                predictions = held_out(lambda name=name: make_model(name, {}, seed), X, Y, no_groups, seed)
            found[name] = held_out_summary(predictions, failed)
            log.info("%s: %s", name, found[name])
        write_json(found, snakemake.output[0])
