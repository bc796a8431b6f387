"""Every run of a chapter of the paper that has no record yet, and the list of its records."""

from pathlib import Path

from nard.experiments.running import run_chapter
from nard.files import write_json
from nard.project.chapters import CHAPTERS
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]) as log:
        chapter, output = snakemake.wildcards.chapter, Path(snakemake.output[0])
        records = run_chapter(
            chapter,
            snakemake.params.settings,
            output.with_suffix(""),
            cores=snakemake.threads,
            timed=CHAPTERS[chapter].timed,
            say=log.info,
        )
        write_json({"chapter": chapter, "records": [str(path) for path in records]}, output)
