"""One file of UCSC Xena, or of a mirror with the same layout."""

from pathlib import Path

from nard.data.downloads import fetch
from nard.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]):
        fetch(snakemake.params.url, Path(snakemake.output[0]), sha256=snakemake.params.sha256)
