"""Samples, inputs and outputs of every cohort, found and used."""

import pandas as pd

from nard.files import read_json, write_tsv
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]):
        rows = []
        for path in snakemake.input:
            cohort = read_json(path)
            rows.append(
                {
                    "cohort": cohort["cohort"],
                    "title": cohort["title"],
                    "data": "simulated" if cohort["simulated"] else "measured",
                    "samples": cohort["n_samples"],
                    "inputs": cohort["n_inputs"],
                    "outputs": cohort["n_outputs"],
                    "samples_with_inputs": cohort["inputs"]["samples"]["found"],
                    "samples_with_outputs": cohort["outputs"]["samples"]["found"],
                    "inputs_found": cohort["inputs"]["features"]["found"],
                    "outputs_found": cohort["outputs"]["features"]["found"],
                }
            )
        write_tsv(pd.DataFrame(rows), snakemake.output[0])
