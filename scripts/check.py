"""What the preparation of all cohorts found, as one table."""

from nard.errors import DataError
from nard.files import read_json, write_tsv
from nard.project.check import check_memory, check_table, printed
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]):
        accounts = [read_json(path) for path in snakemake.input]
        print(printed(accounts))
        if too_large := check_memory(accounts, snakemake.params.methods, snakemake.params.fit, snakemake.params.memory):
            raise DataError("\n".join(too_large))
        write_tsv(check_table(accounts), snakemake.output[0])
