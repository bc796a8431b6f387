# The networks on pages to click through.


rule explorer:
    input:
        fits=of_fits("results/{cohort}/{method}/fit.json", config["cohorts"]),
        models=of_fits("results/{cohort}/{method}/model.npz", config["cohorts"]),
        edges=of_fits("results/{cohort}/{method}/edges.tsv", config["cohorts"]),
        associations=of_fits("results/{cohort}/{method}/associations.tsv", config["cohorts"]),
        features=of_fits("results/{cohort}/{method}/features.tsv", config["cohorts"]),
        stability=stability_tables(config),
        summaries=expand("results/{cohort}/data/summary.json", cohort=config["cohorts"]),
        groups=expand("results/{cohort}/data/groups.tsv", cohort=config["cohorts"]),
    output:
        page="results/explorer.html",
        cohorts=expand("results/{cohort}/explorer.html", cohort=config["cohorts"]),
    log:
        "results/logs/explorer.log",
    benchmark:
        "results/benchmarks/explorer.tsv"
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=prepare_memory,
        runtime=short_minutes,
    params:
        fitted=fits_of(config["cohorts"]),
        reference=config["reference"],
        made_by=made_by("explorer", files=files_beside("nard/report/explorer")),
        stable=list(config["cohorts"]) if stability_tables(config) else [],
    message:
        "Writing results/explorer.html and those of the cohorts"
    script:
        "../../scripts/explorer.py"
