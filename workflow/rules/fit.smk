# Fits, and how well they predict samples that they have not seen.


rule fit:
    input:
        X="results/{cohort}/data/X.tsv.gz",
        Y="results/{cohort}/data/Y.tsv.gz",
        groups="results/{cohort}/data/groups.tsv",
        summary="results/{cohort}/data/summary.json",
    output:
        **statistics_file(config),
        edges="results/{cohort}/{method}/edges.tsv",
        nodes="results/{cohort}/{method}/nodes.tsv",
        associations="results/{cohort}/{method}/associations.tsv",
        features="results/{cohort}/{method}/features.tsv",
        hidden="results/{cohort}/{method}/hidden.tsv",
        trace="results/{cohort}/{method}/trace.tsv",
        lam_path="results/{cohort}/{method}/lam_path.tsv",
        fit="results/{cohort}/{method}/fit.json",
        model="results/{cohort}/{method}/model.npz",
        graph="results/{cohort}/{method}/network.graphml",
        cx2="results/{cohort}/{method}/network.cx2",
    log:
        "results/logs/fit/{cohort}_{method}.log",
    benchmark:
        "results/benchmarks/fit/{cohort}_{method}.tsv"
    # A job that was killed for want of memory gets more.
    retries: RETRIES
    conda:
        "../../envs/nard.yaml"
    # One thread, so that the numbers do not depend on the machine; the cohorts and methods are what runs in parallel.
    threads: 1
    resources:
        mem_mb=fit_memory,
        runtime=fit_minutes,
    params:
        method=method_entry,
        fit=fit_settings_of,
        seed=config["seed"],
        made_by=made_by("fit", method_modules),
    message:
        "Fitting {wildcards.method} to {wildcards.cohort}"
    script:
        "../../scripts/fit.py"


rule held_out:
    input:
        X="results/{cohort}/data/X.tsv.gz",
        Y="results/{cohort}/data/Y.tsv.gz",
        groups="results/{cohort}/data/groups.tsv",
        fit="results/{cohort}/{method}/fit.json",
    output:
        table="results/{cohort}/{method}/held_out.tsv",
        summary="results/{cohort}/{method}/held_out.json",
    log:
        "results/logs/held_out/{cohort}_{method}.log",
    benchmark:
        "results/benchmarks/held_out/{cohort}_{method}.tsv"
    # A job that was killed for want of memory gets more.
    retries: RETRIES
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=refit_memory,
        runtime=fit_minutes,
    params:
        method=method_entry,
        fit=fit_settings_of,
        seed=config["seed"],
        made_by=made_by("held_out", method_modules),
    message:
        "Predicting held-out samples of {wildcards.cohort} by {wildcards.method}"
    script:
        "../../scripts/held_out.py"


rule floors:
    input:
        X="results/{cohort}/data/X.tsv.gz",
        Y="results/{cohort}/data/Y.tsv.gz",
        summary="results/{cohort}/data/summary.json",
    output:
        "results/{cohort}/floors.json",
    log:
        "results/logs/floors/{cohort}.log",
    benchmark:
        "results/benchmarks/floors/{cohort}.tsv"
    # A job that was killed for want of memory gets more.
    retries: RETRIES
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=floors_memory,
        runtime=short_minutes,
    params:
        seed=config["seed"],
        made_by=made_by("floors", floors_modules),
    message:
        "Predicting held-out samples of {wildcards.cohort} by the plainest regressions"
    script:
        "../../scripts/floors.py"


rule stability:
    input:
        X="results/{cohort}/data/X.tsv.gz",
        Y="results/{cohort}/data/Y.tsv.gz",
        groups="results/{cohort}/data/groups.tsv",
        fit="results/{cohort}/{method}/fit.json",
        associations="results/{cohort}/{method}/associations.tsv",
        edges="results/{cohort}/{method}/edges.tsv",
    output:
        "results/{cohort}/{method}/stability.tsv",
    log:
        "results/logs/stability/{cohort}_{method}.log",
    benchmark:
        "results/benchmarks/stability/{cohort}_{method}.tsv"
    # A job that was killed for want of memory gets more.
    retries: RETRIES
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=refit_memory,
        runtime=stability_minutes,
    params:
        method=method_entry,
        fit=fit_settings_of,
        seed=config["seed"],
        stability=config["stability"],
        made_by=made_by("stability", method_modules),
    message:
        "Refitting {wildcards.method} to subsamples of {wildcards.cohort}"
    script:
        "../../scripts/stability.py"
