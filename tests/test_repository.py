"""What stands beside the package agrees with it: version, changelog, hooks, hosted checks, image, lowest versions."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml

import nard

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def recipe(target: str) -> list[str]:
    """The commands of a target of the Makefile."""
    text = (ROOT / "Makefile").read_text()
    found = re.search(rf"^{re.escape(target)}:[^=\n]*\n((?:\t.*\n)+)", text, re.MULTILINE)
    assert found, f"make {target}: there is no such target"
    return [line.strip() for line in found[1].splitlines()]


def instructions(path: Path) -> list[tuple[str, str]]:
    """Those of a Dockerfile."""
    lines = re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines) if word]


def test_the_version_is_typed_once():
    places = [ROOT / "nard/__init__.py", ROOT / "pyproject.toml", ROOT / "CITATION.cff", ROOT / "README.md"]
    texts = {path: path.read_text() for path in [*places, *(ROOT / "docs").glob("*.md")]}
    assert [path for path, text in texts.items() if nard.__version__ in text] == places[:1]


def test_the_changelog_ends_at_the_version():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)[:2] == ["Unreleased", nard.__version__]
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.+)$", text, re.MULTILINE)) <= kinds


def test_hooks_run_what_make_lint_runs():
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    commands = [line.replace("$(BIN)", ".venv/bin") for line in recipe("lint")]
    assert [hook["entry"] for hook in local["hooks"]] == commands
    assert local["repo"] == "local"
    assert not any(hook["pass_filenames"] for hook in local["hooks"])


def test_hosted_checks_run_targets_of_the_makefile():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    commands = []
    for job in jobs.values():
        for step in job["steps"]:
            targets = job["strategy"]["matrix"].get("target", [""])
            commands += [step["run"].replace("${{ matrix.target }}", target) for target in targets if "run" in step]
    for command in commands:
        make, target = command.split()
        assert make == "make"
        assert recipe(target)
    own = re.findall(r"^make .*$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert set(own) <= set(commands)
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert jobs["test"]["strategy"]["matrix"]["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_the_image_has_what_a_run_needs(tmp_path):
    """No engine builds it here, but what it copies is enough to plan the default run."""
    found = instructions(ROOT / "Dockerfile")
    assert {word for word, _ in found} <= {"FROM", "RUN", "WORKDIR", "COPY", "ENV", "CMD"}
    assert found[0][0] == "FROM"
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    image, folder, at = tmp_path / "image", tmp_path / "work", Path()
    for word, rest in found:
        at = Path(rest) if word == "WORKDIR" else at
        if word == "COPY":
            *sources, target = rest.split()
            for source in sources:
                assert source in kept
                place = image / at.relative_to("/") / target
                if (ROOT / source).is_dir():
                    ignored = shutil.ignore_patterns("__pycache__")
                    shutil.copytree(ROOT / source, place, symlinks=True, ignore=ignored)
                else:
                    place.mkdir(parents=True, exist_ok=True)
                    shutil.copy(ROOT / source, place)
    command = yaml.safe_load(dict(found)["CMD"])
    assert command[:2] == ["snakemake", "--snakefile"]
    snakefile = image / command[2].removeprefix("/")
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", *command[:2], str(snakefile), *command[3:], "--dry-run", "--quiet", "rules"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    scripts = {path.name for path in (snakefile.parent / "scripts").glob("*.py")}
    assert scripts == {path.name for path in (ROOT / "scripts").glob("*.py")}
    installed = [rest for word, rest in found if word == "RUN" and "pip install" in rest]
    assert installed == ['pip install --no-cache-dir -c constraints.txt ".[workflow]"']


def test_lowest_versions_are_those_of_the_project():
    done = subprocess.run([sys.executable, ROOT / ".ci/lowest.py"], capture_output=True, text=True, check=True)
    lowest = dict(line.split("==") for line in done.stdout.splitlines())
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    asked = [requirement for group in groups for requirement in group if not requirement.startswith("nard[")]
    for requirement in asked:
        name, bound = re.match(r"([\w-]+)(?:\[\w+\])?>=([^,]+)", requirement).groups()
        assert lowest.pop(name, bound) == bound
    assert not lowest
