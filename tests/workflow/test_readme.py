"""What the README says about the workflow is true."""

import re

import pytest
import yaml
from rulegraph import mermaid
from runs import ROOT

from nard.project.config import validated

README = (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_the_rule_graph_is_that_of_the_workflow():
    assert mermaid() in README, f"in the README should stand:\n{mermaid()}"


def test_a_new_cohort_takes_at_most_six_lines():
    block = re.search(r"```yaml\n(cohorts:.*?)```", README, re.DOTALL).group(1)
    assert len(block.strip().splitlines()) <= 6
    assert validated(yaml.safe_load(block))["cohorts"]["KIRC"]["source"] == "files"


def test_every_config_file_is_named():
    for path in (ROOT / "config").glob("*.yaml"):
        assert f"config/{path.name}" in README
