# The paper's experiments, if the config has a section `paper`.
#
#   snakemake paper --cores 2 --configfile config/paper.yaml         all of them
#   snakemake table1 --cores 2 --configfile config/paper.yaml        one table or figure
#
# A chapter's runs are one job with all cores, so that nothing else disturbs their times. Each run leaves a record of its
# own in results/paper/<chapter>/, which is no output for Snakemake to remove: a killed chapter goes on where it stopped.


rule paper_runs:
    input:
        paper_files(config),
    output:
        "results/paper/{chapter}.json",
    log:
        "results/logs/paper_runs/{chapter}.log",
    benchmark:
        "results/benchmarks/paper_runs/{chapter}.tsv"
    wildcard_constraints:
        chapter="|".join(paper_chapters(config)),
    conda:
        "../../envs/nard.yaml"
    threads: chapter_cores
    resources:
        mem_mb=paper_memory,
        runtime=long_minutes,
    params:
        settings=paper_settings(config),
        contents=paper_contents,
    message:
        "Running the experiments of {wildcards.chapter}"
    script:
        "../../scripts/paper_runs.py"


# One rule per chapter, by its name, since each has figures of its own.
for chapter in paper_chapters(config):

    rule:
        name:
            chapter
        input:
            f"results/paper/{chapter}.json",
        output:
            table=f"results/tables/{chapter}.tsv",
            page=f"results/paper/{chapter}.md",
            figures=paper_figures([chapter]),
        log:
            f"results/logs/paper_table/{chapter}.log",
        benchmark:
            f"results/benchmarks/paper_table/{chapter}.tsv"
        conda:
            "../../envs/nard.yaml"
        threads: 1
        resources:
            mem_mb=1000,
            runtime=short_minutes,
        params:
            chapter=chapter,
            made_by=made_by("paper_table", partial(chapter_modules, chapter)),
        message:
            "Table and figures of {params.chapter}"
        script:
            "../../scripts/paper_table.py"


rule reproduction:
    input:
        expand("results/paper/{chapter}.md", chapter=paper_chapters(config)),
    output:
        "results/reproduction.md",
    log:
        "results/logs/reproduction.log",
    benchmark:
        "results/benchmarks/reproduction.tsv"
    localrule: True
    conda:
        "../../envs/nard.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=short_minutes,
    params:
        settings=paper_settings(config),
        chapters=paper_chapters(config),
        configfiles=[os.path.relpath(path) for path in workflow.configfiles],
        made_by=made_by("reproduction"),
    message:
        "Writing results/reproduction.md"
    script:
        "../../scripts/reproduction.py"


rule paper:
    input:
        "results/reproduction.md",
        final_paper(config),
