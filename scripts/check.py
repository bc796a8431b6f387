"""The checks of all cohorts as one table."""

from nard.errors import DataError
from nard.files import read_json, write_tsv
from nard.project.check import check_memory, check_table, printed
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]):
        found = [read_json(path) for path in snakemake.input]
        print(printed(found))
        if too_large := check_memory(found, snakemake.params.methods, snakemake.params.fit, snakemake.params.memory):
            raise DataError("\n".join(too_large))
        write_tsv(check_table(found), snakemake.output[0])
