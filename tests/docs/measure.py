"""Times the first steps in a fresh clone and writes docs/times.yaml: ``python tests/docs/measure.py``.

A step that opens a page is the time until Chromium, if it is installed, has loaded it. The machine should be idle.
"""

import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import yaml
from pages import ROOT, commands

TIMES = ROOT / "docs/times.yaml"


def steps() -> dict[str, str]:
    """The text below each numbered heading."""
    parts = re.split(r"^## (\d\. .*)$", (ROOT / "docs/first-steps.md").read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def opened(text: str) -> list[str]:
    """The commands that load the pages a step opens."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    pages = [] if browser is None else re.findall(r"^Open `(results/[^`]+\.html)`", text, re.MULTILINE)
    return [f"{browser} --headless --no-sandbox --dump-dom file://$PWD/{page} > /dev/null 2>&1" for page in pages]


def measured(folder: Path) -> dict[str, float | None]:
    """Seconds by step; the folder and environment that a step leaves are those of the next one."""
    seconds, before = {}, ["set -e", f"cd {folder}", f"REPOSITORY={ROOT}"]
    for step, text in steps().items():
        lines = [*(line.replace("REPOSITORY", '"$REPOSITORY"') for line in commands(text)), *opened(text)]
        start = time.monotonic()
        if lines:
            subprocess.run(["bash", "-c", "\n".join([*before, *lines])], check=True)
        seconds[step] = round(time.monotonic() - start, 1) if lines else None
        before += [line for line in lines if line.startswith(("cd ", ". "))]
    return seconds


if __name__ == "__main__":
    head = [line for line in TIMES.read_text().splitlines() if line.startswith("#")]
    with tempfile.TemporaryDirectory() as folder:
        rows = [{"step": step, "seconds": taken} for step, taken in measured(Path(folder)).items()]
    TIMES.write_text("\n".join(head) + "\n" + yaml.safe_dump(rows, sort_keys=False, width=200))
