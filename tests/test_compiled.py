"""Where compiled code cannot be kept, or is damaged, it is compiled again."""

import importlib.util
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numba
import pytest

from nard import compiled

PACKAGE = Path(compiled.__file__).parent
MODULE = """
from nard.compiled import njit

@njit(cache=True)
def doubled(x):
    return 2 * x
"""


def fresh(folder):
    """The function as a new process has it, which has compiled nothing."""
    path = folder / "kernel.py"
    if not path.exists():
        path.write_text(MODULE)
    spec = importlib.util.spec_from_file_location("kernel", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.doubled


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The folder of the compiled code."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kept"))
    compiled._warn.cache_clear()
    return tmp_path / "kept"


def hits(function):
    return sum(function.stats.cache_hits.values())


def test_code_is_kept(tmp_path, kept):
    assert fresh(tmp_path)(2) == 4
    again = fresh(tmp_path)
    assert (again(2), hits(again)) == (4, 1)


@pytest.mark.parametrize("ending", ["nbi", "nbc", "nb?"])
@pytest.mark.parametrize("left", [0, 0.3, 0.9])
def test_damaged_files_are_made_anew(tmp_path, kept, ending, left):
    assert fresh(tmp_path)(2) == 4
    files = list(kept.rglob(f"*.{ending}"))
    assert files
    for file in files:
        content = file.read_bytes()
        file.write_bytes(content[: int(left * len(content))])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = fresh(tmp_path)
        assert (again(2), hits(again)) == (4, 0)
    mended = fresh(tmp_path)
    assert (mended(2), hits(mended)) == (4, 1)


def test_without_any_place_it_is_compiled_with_a_word(tmp_path, monkeypatch, kept):
    (tmp_path / "__pycache__").touch()
    kept.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(kept / "below"))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(kept / "below"))
    with pytest.warns(UserWarning, match="set NUMBA_CACHE_DIR to a folder that can be written to"):
        function = fresh(tmp_path)
    assert function(2) == 4


def test_a_full_disk_does_not_end_it(tmp_path, monkeypatch, kept):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    with pytest.warns(UserWarning, match="No space left"):
        assert fresh(tmp_path)(2) == 4


@pytest.mark.slow
def test_a_read_only_installation(tmp_path):
    """Root may write everywhere, so that files stand where the folders would be."""
    shutil.copytree(PACKAGE, tmp_path / "nard", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [path.parent for path in (tmp_path / "nard").rglob("__init__.py")]:
        (folder / "__pycache__").touch()
    (tmp_path / "home").touch()
    code = "import numpy, nard; print(nard.__file__, nard.graphical_lasso(numpy.eye(3) + 0.5, 0.1).converged)"
    environment = {
        **{name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"},
        **{"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        **{"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "home" / "cache")},
    }
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path, check=True
    )
    assert done.stdout == f"{tmp_path / 'nard' / '__init__.py'} True\n"
    assert done.stderr.count("NUMBA_CACHE_DIR") == 1
