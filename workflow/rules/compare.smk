# Methods against each other, and cohorts against each other.


rule jaccard:
    input:
        summaries=of_fits("results/{cohort}/{method}/fit.json", config["cohorts"]),
        associations=of_fits("results/{cohort}/{method}/associations.tsv", config["cohorts"]),
        edges=of_fits("results/{cohort}/{method}/edges.tsv", config["cohorts"]),
    output:
        "results/comparison/jaccard.tsv",
    log:
        "results/logs/jaccard.log",
    benchmark:
        "results/benchmarks/jaccard.tsv"
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=prepare_memory,
        runtime=short_minutes,
    params:
        fits=fits_of(config["cohorts"]),
        made_by=made_by("jaccard"),
    message:
        "Comparing the findings of all methods"
    script:
        "../../scripts/jaccard.py"


rule agreement:
    input:
        summaries=expand(
            "results/{cohort}/{method}/fit.json", cohort=of_kind(config, "omics"), method=config["reference"]
        ),
        associations=expand(
            "results/{cohort}/{method}/associations.tsv",
            cohort=of_kind(config, "omics"),
            method=config["reference"],
        ),
        edges=expand("results/{cohort}/{method}/edges.tsv", cohort=of_kind(config, "omics"), method=config["reference"]),
        groups=expand("results/{cohort}/data/groups.tsv", cohort=of_kind(config, "omics")),
    output:
        associations="results/comparison/agreement_associations.tsv",
        edges="results/comparison/agreement_edges.tsv",
        cohorts="results/comparison/cohorts.tsv",
    log:
        "results/logs/agreement.log",
    benchmark:
        "results/benchmarks/agreement.tsv"
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=prepare_memory,
        runtime=short_minutes,
    params:
        cohorts=of_kind(config, "omics"),
        made_by=made_by("agreement"),
    message:
        "Comparing the findings of all cancers"
    script:
        "../../scripts/agreement.py"
