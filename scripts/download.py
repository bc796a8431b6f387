"""One file of UCSC Xena, or of a mirror with the same layout."""

from pathlib import Path

from nard.data.downloads import fetch, xena_url
from nard.project.jobs import job

if __name__ == "__main__":
    with job(snakemake.log[0]):
        # Parameters are kept by Snakemake, so the address there lacks the password that a mirror's may have.
        url = xena_url(snakemake.wildcards.cancer, snakemake.wildcards.dataset, snakemake.config["mirror"])
        fetch(url, Path(snakemake.output[0]), sha256=snakemake.params.sha256)
