"""All chapters of the paper on one page, with machine, date and commands."""

import datetime
from pathlib import Path

from nard.experiments.pages import reproduction_page
from nard.files import write_text
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]):
        given = snakemake.params
        options = " ".join(["--cores all --configfile", *given.configfiles])
        texts = {
            name: Path(path).read_text(encoding="utf-8")
            for name, path in zip(given.chapters, snakemake.input, strict=True)
        }
        date = datetime.date.today().isoformat()
        write_text(reproduction_page(texts, given.settings, options, date), snakemake.output[0])
