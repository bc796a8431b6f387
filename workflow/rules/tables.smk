# Tables that go into a paper.


rule cohorts_table:
    input:
        expand("results/{cohort}/data/summary.json", cohort=config["cohorts"]),
    output:
        "results/tables/cohorts.tsv",
    log:
        "results/logs/cohorts_table.log",
    benchmark:
        "results/benchmarks/cohorts_table.tsv"
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=small_memory,
        runtime=short_minutes,
    params:
        made_by=made_by("cohorts_table"),
    message:
        "Tabulating the cohorts"
    script:
        "../../scripts/cohorts_table.py"


rule methods_table:
    input:
        fits=of_fits("results/{cohort}/{method}/fit.json", config["cohorts"]),
        held_out=of_fits("results/{cohort}/{method}/held_out.json", config["cohorts"]),
        floors=expand("results/{cohort}/floors.json", cohort=config["cohorts"]),
        jaccard="results/comparison/jaccard.tsv",
    output:
        "results/tables/methods.tsv",
    log:
        "results/logs/methods_table.log",
    benchmark:
        "results/benchmarks/methods_table.tsv"
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=small_memory,
        runtime=short_minutes,
    params:
        reference=config["reference"],
        made_by=made_by("methods_table"),
        cohorts=list(config["cohorts"]),
    message:
        "Tabulating the methods"
    script:
        "../../scripts/methods_table.py"


rule recovery_table:
    input:
        summaries=of_fits("results/{cohort}/{method}/fit.json", simulated(config)),
        associations=of_fits("results/{cohort}/{method}/associations.tsv", simulated(config)),
        edges=of_fits("results/{cohort}/{method}/edges.tsv", simulated(config)),
        features=of_fits("results/{cohort}/{method}/features.tsv", simulated(config)),
        true_associations=expand("resources/simulated/{cohort}/truth_associations.tsv", cohort=simulated(config)),
        true_edges=expand("resources/simulated/{cohort}/truth_edges.tsv", cohort=simulated(config)),
        groups=expand("results/{cohort}/data/groups.tsv", cohort=simulated(config)),
    output:
        "results/tables/recovery.tsv",
    log:
        "results/logs/recovery_table.log",
    benchmark:
        "results/benchmarks/recovery_table.tsv"
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=prepare_memory,
        runtime=short_minutes,
    params:
        cohorts=simulated(config),
        fits=fits_of(simulated(config)),
        made_by=made_by("recovery_table"),
    message:
        "Comparing the findings with the simulated truth"
    script:
        "../../scripts/recovery_table.py"


rule pathway_tables:
    input:
        held_out=expand(
            "results/{cohort}/{method}/held_out.tsv", cohort=of_kind(config, "omics"), method=config["reference"]
        ),
        groups=expand("results/{cohort}/data/groups.tsv", cohort=of_kind(config, "omics")),
        nodes=expand("results/{cohort}/{method}/nodes.tsv", cohort=of_kind(config, "omics"), method=config["reference"]),
        edges=expand("results/{cohort}/{method}/edges.tsv", cohort=of_kind(config, "omics"), method=config["reference"]),
    output:
        explained="results/tables/pathway_map.tsv",
        crosstalk="results/tables/crosstalk.tsv",
    log:
        "results/logs/pathway_tables.log",
    benchmark:
        "results/benchmarks/pathway_tables.tsv"
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=prepare_memory,
        runtime=short_minutes,
    params:
        cohorts=of_kind(config, "omics"),
        pathways=list(pathway_slugs(config).values()),
        made_by=made_by("pathway_tables"),
    message:
        "Summing up the findings by pathway"
    script:
        "../../scripts/pathway_tables.py"
