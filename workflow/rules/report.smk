# One page with everything.


rule report:
    input:
        figures=final_figures(config),
        tables=final_tables(config),
        times=of_fits("results/benchmarks/fit/{cohort}_{method}.tsv", config["cohorts"]),
        summaries=expand("results/{cohort}/data/summary.json", cohort=config["cohorts"]),
        fits=expand("results/{cohort}/{method}/fit.json", cohort=config["cohorts"], method=config["reference"]),
        held_out=expand("results/{cohort}/{method}/held_out.json", cohort=config["cohorts"], method=config["reference"]),
        associations=expand(
            "results/{cohort}/{method}/associations.tsv", cohort=config["cohorts"], method=config["reference"]
        ),
        nodes=expand("results/{cohort}/{method}/nodes.tsv", cohort=config["cohorts"], method=config["reference"]),
        edges=expand("results/{cohort}/{method}/edges.tsv", cohort=config["cohorts"], method=config["reference"]),
        stability=stability_tables(config),
        X=expand("results/{cohort}/data/X.tsv.gz", cohort=config["cohorts"]),
        all_fits=of_fits("results/{cohort}/{method}/fit.json", config["cohorts"]),
        models=of_fits("results/{cohort}/{method}/model.npz", config["cohorts"]),
        paper_tables=paper_tables(config),
        paper_figures=paper_figures(paper_chapters(config)),
    output:
        "results/report.html",
        methods="results/methods.md",
    log:
        "results/logs/report.log",
    benchmark:
        "results/benchmarks/report.tsv"
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=report_memory,
        runtime=short_minutes,
    params:
        config=without_secrets(config),
        fitted=fits_of(config["cohorts"]),
        chapters=paper_chapters(config),
        others=neighbours(config),
        made_by=made_by("report", files=files_beside("workflow/report", "nard/report/explorer")),
    message:
        "Writing results/report.html"
    script:
        "../../scripts/report.py"
