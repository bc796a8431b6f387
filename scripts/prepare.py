"""X and Y of one cohort, the groups of their features, and the account of what was left out and what to change."""

from nard.data.antibodies import read_antibodies
from nard.data.groups import feature_groups
from nard.data.h5 import with_parts
from nard.data.pathways import read_pathways
from nard.data.words import told
from nard.files import write_json, write_tsv
from nard.project.check import checked_cohort
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]) as log:
        settings, output = snakemake.params.settings, snakemake.output
        pathways = read_pathways(snakemake.params.pathways, settings.get("use_pathways"))
        antibodies = read_antibodies(snakemake.params.antibodies)
        files = with_parts(snakemake.params.files, dict(snakemake.input.items()))
        prepared, account = checked_cohort(snakemake.wildcards.cohort, settings, files, pathways)
        write_tsv(prepared.X.rename_axis("sample"), output.X, index=True)
        write_tsv(prepared.Y.rename_axis("sample"), output.Y, index=True)
        groups = feature_groups(prepared.X, prepared.Y, settings, pathways, antibodies, prepared.labels, prepared.parts)
        write_tsv(groups, output.groups)
        write_tsv(prepared.age, output.age)
        write_json(account, output.summary)
        log.info("%d samples, %d inputs, %d outputs", *prepared.X.shape, prepared.Y.shape[1])
        for advice in account["advice"]:
            log.warning(told(advice))
