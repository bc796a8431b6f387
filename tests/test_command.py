"""The command line."""

import pytest
import yaml
from cohorts import N, raw_tables, write

from nard.__main__ import main


@pytest.fixture
def config(tmp_path):
    """A sound cohort, one without a file, and a simulated one."""
    mrna, rppa = raw_tables()
    sound = {"source": "files", "inputs": write(mrna, tmp_path / "x.tsv"), "outputs": write(rppa, tmp_path / "y.tsv")}
    cohorts = {"GOOD": sound, "BAD": {**sound, "inputs": str(tmp_path / "none.tsv")}, "SIM": {"source": "simulated"}}

    def written(*names):
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump({"cohorts": {name: cohorts[name] for name in names}}))
        return str(path)

    return written


def test_check_prints_a_table(config, capsys):
    assert main(["check", config("GOOD", "SIM")]) == 0
    out = capsys.readouterr().out
    row = next(line for line in out.splitlines() if "GOOD" in line)
    assert row.split()[-5:] == [str(N), "73", "77", "none", "left"]
    assert "checked by the workflow (snakemake --cores 1 check): SIM" in out


def test_check_goes_on_after_an_error(config, capsys):
    assert main(["check", config("BAD", "GOOD")]) == 1
    said = capsys.readouterr()
    assert "GOOD" in said.out
    assert "cohorts.BAD.inputs" in said.err
    assert "none.tsv" in said.err


def test_check_of_a_config_that_is_not_there(tmp_path, capsys):
    assert main(["check", str(tmp_path / "none.yaml")]) == 2
    assert "none.yaml: there is no such file" in capsys.readouterr().err
