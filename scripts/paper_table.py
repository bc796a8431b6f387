"""The table, the figures and the page of one chapter of the paper, from the records of its runs."""

from pathlib import Path

from nard.experiments import chapter_module
from nard.experiments.pages import chapter_page
from nard.figures.style import house_style, save_figure
from nard.files import read_json, read_tsv, write_text, write_tsv
from nard.project.chapters import chapter_figures
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]) as log:
        chapter, output = snakemake.params.chapter, snakemake.output
        module = chapter_module(chapter)
        results = [read_json(path) for path in read_json(snakemake.input[0])["records"]]
        table = module.table(results)
        write_tsv(table, output.table)
        with house_style():
            drawn = module.figure(table, results)
        figures = drawn if isinstance(drawn, dict) else {chapter: drawn}
        for name in chapter_figures(chapter):
            save_figure(figures[name], [path for path in output.figures if Path(path).stem == name])
        page = chapter_page(chapter, read_tsv(output.table), results)
        write_text(page, output.page)
        log.info("\n%s", page)
