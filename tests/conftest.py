"""Data folders for the tests that compare with the outside world; they skip where a folder is not given."""

import os
import signal
from pathlib import Path

import pytest

# A job in the background starts with Ctrl-C ignored, and so would everything that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _folder(variable: str) -> Path:
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} is not set: it names the folder with the data that this test compares with")
    return Path(folder)


@pytest.fixture(scope="session")
def real_data() -> Path:
    return _folder("NARD_REAL_DATA")


@pytest.fixture(scope="session")
def golden() -> Path:
    return _folder("NARD_GOLDEN")
