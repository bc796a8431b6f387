# Figures, each as PNG and PDF: one rule per entry of the catalogue that the config asks for.

for name, figure in CATALOGUE.items():
    if figure.cases(config):
        job = figure_job(name, figure)

        rule:
            name:
                f"{name}_figure"
            input:
                unpack(partial(figure_files, figure)),
            output:
                report(
                    f"results/figures/{figure.file}.png",
                    caption="../report/figure.rst",
                    category=figure.section,
                    labels={"cohort": "{cohort}" if "{cohort}" in figure.file else "all", "figure": figure.label},
                ),
                f"results/figures/{figure.file}.pdf",
            log:
                f"results/logs/{job}.log",
            benchmark:
                f"results/benchmarks/{job}.tsv"
            wildcard_constraints:
                **only_cases(figure),
            conda:
                "../../envs/nard.yaml"
            threads: 1
            resources:
                mem_mb=small_memory,
                runtime=short_minutes,
            params:
                figure=name,
                settings=partial(figure_settings, figure),
                caption=partial(figure_caption, figure),
                made_by=made_by("figure", partial(figure_modules, figure)),
            message:
                figure_message(figure)
            script:
                "../../scripts/figure.py"
