"""The folder of real data for benchmarks and tests, named by the environment variable NARD_REAL_DATA.

It holds tcga/<CANCER>/{mrna,rppa}.tsv.gz and ashares/daily.parquet, which :mod:`nard.experiments.datasets` reads.
"""

from __future__ import annotations

import os
from pathlib import Path


def real_data_folder() -> Path | None:
    folder = os.environ.get("NARD_REAL_DATA")
    return Path(folder) if folder else None
