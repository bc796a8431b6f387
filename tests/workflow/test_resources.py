"""What schedulers read: the resources of the rules, the profiles, and the catalog's metadata."""

import re

import yaml
from runs import ROOT


def rules():
    """The text of every rule by its name, or by the pattern of its name if there is one per figure or chapter."""
    text = "\n".join(path.read_text() for path in sorted((ROOT / "workflow/rules").glob("*.smk")))
    blocks = re.split(r"^ *rule ?(\w*):$", text, flags=re.M)
    found = {
        name or re.search(r"name:\s+(.+)", text).group(1): text
        for name, text in zip(blocks[1::2], blocks[2::2], strict=True)
    }
    # A target only names what others make.
    return {name: text for name, text in found.items() if "output:" in text}


def test_every_rule_has_memory_time_and_threads():
    found = rules()
    assert len(found) > 15
    assert 'f"{name}_figure"' in found
    for name, text in found.items():
        for line in (r"^ +mem_mb=", r"^ +runtime=", r"^ +threads: "):
            assert re.search(line, text, re.M), (name, line)


def test_raw_files_are_read_by_one_rule():
    assert [name for name, text in rules().items() if "raw_files" in text or "named_files" in text] == ["prepare"]


def test_the_slurm_profile_takes_the_place_of_the_default_one():
    default, slurm = (
        yaml.safe_load((ROOT / f"profiles/{name}/config.yaml").read_text()) for name in ("default", "slurm")
    )
    assert default.items() <= slurm.items()
    assert slurm["executor"] == "slurm"
    assert set(slurm["groups"]) <= set(rules())


def test_the_catalog_finds_what_it_wants():
    catalog = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())
    assert set(catalog) == {"usage"}
    assert set(catalog["usage"]) == {"mandatory-flags", "software-stack-deployment"}
    assert set(catalog["usage"]["mandatory-flags"]) == {"desc", "flags"}
    deployment = catalog["usage"]["software-stack-deployment"]
    assert set(deployment) == {"conda", "apptainer", "apptainer+conda", "report"}
    assert all(isinstance(value, bool) for value in deployment.values())
    # What is promised is there: environments for conda, and outputs that go into Snakemake's report.
    texts = rules().values()
    assert deployment["conda"] == all("conda:" in text for text in texts)
    assert deployment["report"] == any("report(" in text for text in texts)
    guide = (ROOT / "config/README.md").read_text()
    for link in re.findall(r"\]\(([^)#]+)\)", guide):
        assert (ROOT / "config" / link).exists(), link
