# NARD: from raw omics and phenotype files to networks, UpSet plots and a report.
#
#   snakemake --cores 2                                      the default config: simulated cohorts, every stage
#   snakemake --cores 32 --configfile config/tcga.yaml       seven cancers from UCSC Xena
#   snakemake --cores 2 check                                read the files, run no fit
#
# results/<cohort>/data/        prepared X and Y, and the account of what was left out
# results/<cohort>/<method>/    findings of one fit
# results/comparison/           methods against each other, cohorts against each other
# results/figures/, tables/     what goes into a paper
# results/report.html           everything on one page
# results/explorer.html         the networks, to click through (and results/<cohort>/explorer.html)

from snakemake.utils import min_version

min_version("9.14")


include: "workflow/rules/common.smk"


if "cohorts" not in config:

    configfile: default_config()


config = checked(config, workflow.configfiles)
if not workflow.is_main_process:
    begin_job()


wildcard_constraints:
    cohort="|".join(config["cohorts"]),
    method="|".join(method_names(config)),


include: "workflow/rules/data.smk"
include: "workflow/rules/fit.smk"
include: "workflow/rules/compare.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/explorer.smk"


if paper_chapters(config):

    include: "workflow/rules/paper.smk"


onstart:
    begin()


onsuccess:
    remove_leftovers()
    tell_unfitted()


rule all:
    default_target: True
    input:
        final_outputs(config),
