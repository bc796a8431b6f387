# Raw data, the X and Y made from them, and what that found out about them.


rule simulate_omics:
    input:
        pathways=pathway_files,
    output:
        inputs="resources/simulated/{cohort}/inputs.tsv.gz",
        outputs="resources/simulated/{cohort}/outputs.tsv.gz",
        associations="resources/simulated/{cohort}/truth_associations.tsv",
        edges="resources/simulated/{cohort}/truth_edges.tsv",
    log:
        "results/logs/simulate_omics/{cohort}.log",
    benchmark:
        "results/benchmarks/simulate_omics/{cohort}.tsv"
    wildcard_constraints:
        cohort="|".join(of_kind(config, "omics", "simulated")) or "none",
    priority: 100
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=small_memory,
        runtime=short_minutes,
    params:
        settings=simulation_of,
        seed=config["seed"],
        pathways=config["pathways"],
        contents=pathway_contents,
        use_pathways=config["use_pathways"],
        made_by=made_by("simulate_omics", files=files_beside("nard/data")),
    message:
        "Simulating the cohort {wildcards.cohort}"
    script:
        "../../scripts/simulate_omics.py"


rule simulate_aging:
    output:
        table="resources/simulated/{cohort}/table.tsv.gz",
        associations="resources/simulated/{cohort}/truth_associations.tsv",
        edges="resources/simulated/{cohort}/truth_edges.tsv",
    log:
        "results/logs/simulate_aging/{cohort}.log",
    benchmark:
        "results/benchmarks/simulate_aging/{cohort}.tsv"
    wildcard_constraints:
        cohort="|".join(of_kind(config, "aging", "simulated")) or "none",
    priority: 100
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=small_memory,
        runtime=short_minutes,
    params:
        settings=simulation_of,
        seed=config["seed"],
        made_by=made_by("simulate_aging"),
    message:
        "Simulating the cohort {wildcards.cohort}"
    script:
        "../../scripts/simulate_aging.py"


rule download:
    output:
        "resources/xena/{cancer}/{dataset}.gz",
    log:
        "results/logs/download/{cancer}_{dataset}.log",
    benchmark:
        "results/benchmarks/download/{cancer}_{dataset}.tsv"
    wildcard_constraints:
        cancer="[A-Za-z0-9]+",
        dataset="HiSeqV2|RPPA|RPPA_RBN",
    priority: 100
    # The nodes of a cluster often have no way out to the internet.
    localrule: True
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=small_memory,
        runtime=long_minutes,
    params:
        url=download_url,
        sha256=download_sum,
    message:
        "Downloading {wildcards.dataset} of {wildcards.cancer}"
    script:
        "../../scripts/download.py"


rule prepare:
    input:
        unpack(raw_files),
    output:
        X="results/{cohort}/data/X.tsv.gz",
        Y="results/{cohort}/data/Y.tsv.gz",
        groups="results/{cohort}/data/groups.tsv",
        age="results/{cohort}/data/age.tsv",
        summary="results/{cohort}/data/summary.json",
    log:
        "results/logs/prepare/{cohort}.log",
    benchmark:
        "results/benchmarks/prepare/{cohort}.tsv"
    # Preparations, and what they need, go first, so that a mistake is told before any fit has begun.
    priority: 100
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=prepare_memory,
        runtime=short_minutes,
    params:
        settings=preparation_of,
        files=named_files,
        pathways=partial(table_of, "pathways"),
        antibodies=partial(table_of, "antibodies"),
        contents=cohort_contents,
        made_by=made_by("prepare", files=files_beside("nard/data")),
    message:
        "Checking the files of {wildcards.cohort} and preparing X and Y"
    script:
        "../../scripts/prepare.py"


rule check:
    input:
        expand("results/{cohort}/data/summary.json", cohort=config["cohorts"]),
    output:
        "results/check.tsv",
    log:
        "results/logs/check.log",
    benchmark:
        "results/benchmarks/check.tsv"
    localrule: True
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=small_memory,
        runtime=short_minutes,
    params:
        methods={cohort: methods_of(config, cohort) for cohort in config["cohorts"]},
        fit=config["fit"],
        memory=config["memory"],
        made_by=made_by("check"),
    message:
        "What the preparation of all cohorts found"
    script:
        "../../scripts/check.py"
