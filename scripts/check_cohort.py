"""The files of one cohort, read and prepared before any fit: what is there, what is left out, what to change."""

from nard.data.h5 import with_parts
from nard.files import write_json
from nard.project.check import check_cohort
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]) as log:
        found = check_cohort(
            snakemake.wildcards.cohort,
            snakemake.params.settings,
            with_parts(snakemake.params.files, dict(snakemake.input.items())),
            snakemake.params.pathways,
            snakemake.params.use_pathways,
        )
        for line in found["to do"]:
            log.warning(line)
        write_json(found, snakemake.output[0])
