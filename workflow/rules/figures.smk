# Figures, each as PNG and PDF, of the reference method unless they say otherwise.


rule network_figure:
    input:
        nodes=reference_nodes,
        edges=reference_edges,
        summary="results/{cohort}/data/summary.json",
    output:
        report(
            "results/figures/network_{cohort}.png",
            caption="../report/network.rst",
            category="Networks",
            labels={"cohort": "{cohort}", "figure": "protein network"},
        ),
        "results/figures/network_{cohort}.pdf",
    log:
        "results/logs/network_figure/{cohort}.log",
    benchmark:
        "results/benchmarks/network_figure/{cohort}.tsv"
    wildcard_constraints:
        cohort="|".join(of_kind(config, "omics")) or "none",
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=small_memory,
        runtime=short_minutes,
    params:
        max_edges=config["figures"]["max_edges"],
        method=config["reference"],
        fdr=config["fit"]["fdr"],
    message:
        "Drawing the protein network of {wildcards.cohort}"
    script:
        "../../scripts/network_figure.py"


rule associations_figure:
    input:
        nodes=reference_nodes,
        associations=reference_associations,
        groups="results/{cohort}/data/groups.tsv",
        summary="results/{cohort}/data/summary.json",
    output:
        report(
            "results/figures/associations_{cohort}.png",
            caption="../report/associations.rst",
            category="Associations",
            labels={"cohort": "{cohort}", "figure": "gene → protein associations"},
        ),
        "results/figures/associations_{cohort}.pdf",
    log:
        "results/logs/associations_figure/{cohort}.log",
    benchmark:
        "results/benchmarks/associations_figure/{cohort}.tsv"
    wildcard_constraints:
        cohort="|".join(of_kind(config, "omics")) or "none",
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=small_memory,
        runtime=short_minutes,
    params:
        method=config["reference"],
        fdr=config["fit"]["fdr"],
    message:
        "Drawing the associations of {wildcards.cohort}"
    script:
        "../../scripts/associations_figure.py"


rule phenotype_network_figure:
    input:
        nodes=reference_nodes,
        edges=reference_edges,
        summary="results/{cohort}/data/summary.json",
    output:
        report(
            "results/figures/phenotype_network_{cohort}.png",
            caption="../report/phenotype_network.rst",
            category="Networks",
            labels={"cohort": "{cohort}", "figure": "phenotype network"},
        ),
        "results/figures/phenotype_network_{cohort}.pdf",
    log:
        "results/logs/phenotype_network_figure/{cohort}.log",
    benchmark:
        "results/benchmarks/phenotype_network_figure/{cohort}.tsv"
    wildcard_constraints:
        cohort="|".join(of_kind(config, "aging")) or "none",
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=small_memory,
        runtime=short_minutes,
    params:
        method=config["reference"],
        fdr=config["fit"]["fdr"],
    message:
        "Drawing the phenotype network of {wildcards.cohort}"
    script:
        "../../scripts/phenotype_network_figure.py"


rule trace_figure:
    input:
        traces=traces,
        summary="results/{cohort}/data/summary.json",
    output:
        report(
            "results/figures/trace_{cohort}.png",
            caption="../report/trace.rst",
            category="Diagnostics",
            labels={"cohort": "{cohort}", "figure": "convergence"},
        ),
        "results/figures/trace_{cohort}.pdf",
    log:
        "results/logs/trace_figure/{cohort}.log",
    benchmark:
        "results/benchmarks/trace_figure/{cohort}.tsv"
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=small_memory,
        runtime=short_minutes,
    params:
        methods=traced_methods,
    message:
        "Drawing the convergence of {wildcards.cohort}"
    script:
        "../../scripts/trace_figure.py"


rule lam_path_figure:
    input:
        lam_path=reference_lam_path,
        fit=reference_fit,
        summary="results/{cohort}/data/summary.json",
    output:
        report(
            "results/figures/lam_path_{cohort}.png",
            caption="../report/lam_path.rst",
            category="Diagnostics",
            labels={"cohort": "{cohort}", "figure": "choice of λ"},
        ),
        "results/figures/lam_path_{cohort}.pdf",
    log:
        "results/logs/lam_path_figure/{cohort}.log",
    benchmark:
        "results/benchmarks/lam_path_figure/{cohort}.tsv"
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=small_memory,
        runtime=short_minutes,
    params:
        method=config["reference"],
    message:
        "Drawing the choice of λ of {wildcards.cohort}"
    script:
        "../../scripts/lam_path_figure.py"


rule upset_figure:
    input:
        findings=expand(
            "results/{cohort}/{method}/{{what}}.tsv", cohort=of_kind(config, "omics"), method=config["reference"]
        ),
        groups=expand("results/{cohort}/data/groups.tsv", cohort=of_kind(config, "omics")),
        summaries=expand("results/{cohort}/data/summary.json", cohort=of_kind(config, "omics")),
    output:
        report(
            "results/figures/upset_{what}.png",
            caption="../report/upset.rst",
            category="Across cancers",
            labels={"cohort": "all", "figure": "UpSet plot of {what}"},
        ),
        "results/figures/upset_{what}.pdf",
    log:
        "results/logs/upset_figure/{what}.log",
    benchmark:
        "results/benchmarks/upset_figure/{what}.tsv"
    wildcard_constraints:
        what="associations|edges",
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=small_memory,
        runtime=short_minutes,
    params:
        method=config["reference"],
    message:
        "Drawing the UpSet plot of {wildcards.what}"
    script:
        "../../scripts/upset_figure.py"


rule upset_pathway_figure:
    input:
        findings=expand(
            "results/{cohort}/{method}/associations.tsv", cohort=of_kind(config, "omics"), method=config["reference"]
        ),
        groups=expand("results/{cohort}/data/groups.tsv", cohort=of_kind(config, "omics")),
        summaries=expand("results/{cohort}/data/summary.json", cohort=of_kind(config, "omics")),
    output:
        report(
            "results/figures/upset_{pathway}.png",
            caption="../report/upset.rst",
            category="Across cancers",
            labels={"cohort": "all", "figure": "UpSet plot of {pathway}"},
        ),
        "results/figures/upset_{pathway}.pdf",
    log:
        "results/logs/upset_pathway_figure/{pathway}.log",
    benchmark:
        "results/benchmarks/upset_pathway_figure/{pathway}.tsv"
    wildcard_constraints:
        pathway="|".join(pathway_slugs(config)),
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=small_memory,
        runtime=short_minutes,
    params:
        method=config["reference"],
        pathways=pathway_slugs(config),
    message:
        "Drawing the UpSet plot of {wildcards.pathway}"
    script:
        "../../scripts/upset_figure.py"


rule pathway_map_figure:
    input:
        table="results/tables/pathway_map.tsv",
        summaries=expand("results/{cohort}/data/summary.json", cohort=of_kind(config, "omics")),
    output:
        report(
            "results/figures/pathway_map.png",
            caption="../report/pathway_map.rst",
            category="Across cancers",
            labels={"cohort": "all", "figure": "explained variation by pathway"},
        ),
        "results/figures/pathway_map.pdf",
    log:
        "results/logs/pathway_map_figure.log",
    benchmark:
        "results/benchmarks/pathway_map_figure.tsv"
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=small_memory,
        runtime=short_minutes,
    params:
        method=config["reference"],
    message:
        "Drawing what genes explain of each pathway"
    script:
        "../../scripts/pathway_map_figure.py"


rule crosstalk_figure:
    input:
        table="results/tables/crosstalk.tsv",
        summaries=expand("results/{cohort}/data/summary.json", cohort=of_kind(config, "omics")),
    output:
        report(
            "results/figures/crosstalk.png",
            caption="../report/crosstalk.rst",
            category="Across cancers",
            labels={"cohort": "all", "figure": "cross-talk between pathways"},
        ),
        "results/figures/crosstalk.pdf",
    log:
        "results/logs/crosstalk_figure.log",
    benchmark:
        "results/benchmarks/crosstalk_figure.tsv"
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=small_memory,
        runtime=short_minutes,
    params:
        method=config["reference"],
    message:
        "Drawing cross-talk between pathways"
    script:
        "../../scripts/crosstalk_figure.py"


rule jaccard_figure:
    input:
        table="results/comparison/jaccard.tsv",
        summaries=expand("results/{cohort}/data/summary.json", cohort=config["cohorts"]),
    output:
        report(
            "results/figures/jaccard.png",
            caption="../report/jaccard.rst",
            category="Methods",
            labels={"cohort": "all", "figure": "agreement of the methods"},
        ),
        "results/figures/jaccard.pdf",
    log:
        "results/logs/jaccard_figure.log",
    benchmark:
        "results/benchmarks/jaccard_figure.tsv"
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=small_memory,
        runtime=short_minutes,
    message:
        "Drawing the agreement of the methods"
    script:
        "../../scripts/jaccard_figure.py"
