"""The configuration: defaults filled in deeply, a schema that explains every key, and mistakes told in plain words."""

from copy import deepcopy
from pathlib import Path

import jsonschema
import pytest
import yaml

from nard.data.blocks import simulated_blocks
from nard.errors import DataError
from nard.fits.methods import METHODS
from nard.project.config import ConfigError, cohort_files, cohort_settings, load_config, schema, validated

ROOT = Path(__file__).parents[1]
CONFIGS = sorted((ROOT / "config").glob("*.yaml"))
SIMULATED = {"A": {"source": "simulated"}}
FILES = {"source": "files", "inputs": "mrna.tsv", "outputs": "rppa.tsv"}


def config(**keys):
    return {"cohorts": deepcopy(SIMULATED), **keys}


def with_cohort(**keys):
    return {"cohorts": {"A": {"source": "simulated", **keys}}}


def error_of(config):
    with pytest.raises(ConfigError) as caught:
        validated(config, "my.yaml")
    text = str(caught.value)
    assert text.startswith("my.yaml: ")
    assert len(text.splitlines()) <= 24
    return text


def objects(node, path=()):
    """Every schema of an object with named properties, and where it is."""
    if isinstance(node, dict):
        if "properties" in node and isinstance(node["properties"], dict):
            yield path, node
        for key, child in node.items():
            yield from objects(child, (*path, key))
    elif isinstance(node, list):
        for i, child in enumerate(node):
            yield from objects(child, (*path, i))


def resolved(node):
    if "$ref" not in node:
        return node
    target = schema()
    for part in node["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    return {**target, **node}


PROPERTIES = {
    ".".join(map(str, (*path, name))): resolved(child)
    for path, node in objects(schema())
    for name, child in node["properties"].items()
}


# The schema


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(schema())
    assert len(PROPERTIES) > 40


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_key_is_explained_and_has_a_default(name):
    node = PROPERTIES[name]
    assert len(node.get("description", "")) > 10
    if name not in ("cohorts", "$defs.cohort.source"):
        assert "default" in node
        # What holds for values that users give holds for the default.
        rules = {key: value for key, value in node.items() if key != "$ref"}
        jsonschema.Draft202012Validator({**rules, "$defs": schema()["$defs"]}).validate(node["default"])


@pytest.mark.parametrize(("path", "node"), list(objects(schema())))
def test_no_object_takes_unknown_keys(path, node):
    assert node["additionalProperties"] is False


def test_every_kind_of_value_has_a_type_or_choices():
    for name, node in PROPERTIES.items():
        assert {"type", "enum", "anyOf", "$ref"} & set(node), name


def test_the_methods_of_the_defaults_can_be_fitted():
    assert set(schema()["properties"]["methods"]["default"]) <= set(METHODS)
    assert schema()["properties"]["reference"]["default"] in schema()["properties"]["methods"]["default"]


# Defaults


def test_the_least_config_has_every_key():
    found = validated(config())
    assert set(found) == set(schema()["properties"])
    for section in ("fit", "stability", "figures"):
        assert set(found[section]) == set(schema()["properties"][section]["properties"])
    assert set(found["preprocessing"]) == set(schema()["$defs"]["preprocessing"]["properties"])
    assert set(found["cohorts"]["A"]) == set(schema()["$defs"]["cohort"]["properties"])
    assert found["fit"]["lam"] == "cv"
    assert found["cohorts"]["A"]["samples"] == 300


def test_defaults_are_filled_in_deeply_and_leave_what_is_there():
    found = validated(config(fit={"fdr": 0.1}, preprocessing={"impute": "knn"}, stability={"subsamples": 5}))
    rest = {"lam": "cv", "relevance": "auto", "hidden": "auto", "time_budget": 300, "statistics": "listed"}
    assert found["fit"] == {"fdr": 0.1, **rest}
    assert found["preprocessing"]["impute"] == "knn"
    assert found["preprocessing"]["max_missing"] == 0.2
    assert found["stability"] == {"subsamples": 5, "fraction": 0.8}


def test_nothing_is_shared_or_changed():
    mine = config(fit={"fdr": 0.1})
    before = deepcopy(mine)
    first = validated(mine)
    assert mine == before
    first["preprocessing"]["adjust"].append("age")
    first["cohorts"]["A"]["absent_proteins"].append("BAX")
    second = validated(mine)
    assert second["preprocessing"]["adjust"] == []
    assert second["cohorts"]["A"]["absent_proteins"] == []


def test_checking_twice_changes_nothing():
    mine = {"cohorts": {"A": {"source": "simulated", "preprocessing": {"log": False}}, "B": {"source": "xena"}}}
    mine["cohorts"]["C"] = {"source": "simulated", "kind": "aging"}
    once = validated(mine)
    assert validated(once) == once


def test_a_cohort_overrides_single_keys():
    mine = config(preprocessing={"impute": "knn", "max_missing": 0.5})
    mine["cohorts"]["B"] = {"source": "simulated", "preprocessing": {"max_missing": 0.0, "log": False}}
    found = validated(mine)
    assert found["cohorts"]["B"]["preprocessing"] == {"max_missing": 0.0, "log": False}
    assert cohort_settings(found, "A")["preprocessing"] == found["preprocessing"]
    own = cohort_settings(found, "B")["preprocessing"]
    assert own == {**found["preprocessing"], "max_missing": 0.0, "log": False}
    assert own["impute"] == "knn"
    own["impute"] = "none"
    assert found["preprocessing"]["impute"] == "knn"


def test_a_cohort_without_cancer_or_title_is_called_by_its_name():
    named = {"source": "xena", "cancer": "KIRC", "title": "Kidney"}
    found = validated({"cohorts": {"LUAD": {"source": "xena"}, "K": named}})
    settings = {name: cohort_settings(found, name) for name in found["cohorts"]}
    assert [(one["cancer"], one["title"]) for one in settings.values()] == [("LUAD", "LUAD"), ("KIRC", "Kidney")]
    assert found["cohorts"]["LUAD"]["cancer"] is None


def test_simulated_aging_has_its_columns():
    found = validated(with_cohort(kind="aging"))["cohorts"]["A"]
    assert {key: found[key] for key in ("macro", "molecular")} == simulated_blocks()


def test_files_of_a_cohort():
    found = validated({"cohorts": {"A": FILES, "B": {**FILES, "covariates": "c.tsv"}}})["cohorts"]
    assert cohort_files(found["A"]) == {"inputs": "mrna.tsv", "outputs": "rppa.tsv"}
    assert cohort_files(found["B"]) == {"inputs": "mrna.tsv", "outputs": "rppa.tsv", "covariates": "c.tsv"}
    aging = {"source": "files", "kind": "aging", "table": "t.csv", "macro": {"M": ["a"]}, "molecular": {"L": ["b"]}}
    assert cohort_files(validated({"cohorts": {"A": aging}})["cohorts"]["A"]) == {"table": "t.csv"}
    others = {"BRCA": {"source": "xena", "covariates": "c.tsv"}, "B": {"source": "simulated", "covariates": "c.tsv"}}
    found = validated({"cohorts": others})["cohorts"]
    # What is downloaded or simulated is no file of the user's.
    assert [cohort_files(found[name]) for name in others] == [{"covariates": "c.tsv"}, {}]


# The files that come with the workflow


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_shipped_configs_are_valid(path):
    assert load_config(path)["cohorts"]


def test_there_are_shipped_configs():
    assert {path.name for path in CONFIGS} >= {"config.yaml", "tcga.yaml", "aging.yaml"}


def test_the_default_config_shows_the_defaults():
    """It says that its values are the defaults, and that every key but `cohorts` may be left out."""
    shown = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))
    defaults = validated({"cohorts": shown["cohorts"]})
    assert set(shown) == set(schema()["properties"])
    for key in set(shown) - {"cohorts"}:
        assert shown[key] == defaults[key], key


def test_the_default_config_simulates_only():
    cohorts = load_config(ROOT / "config" / "config.yaml")["cohorts"]
    assert {cohort["source"] for cohort in cohorts.values()} == {"simulated"}


# Mistakes

MISTAKES = {
    "no cohorts": ({}, "the top level lacks the key `cohorts`"),
    "cohorts without one": ({"cohorts": {}}, "`cohorts`"),
    "cohorts as a list": ({"cohorts": ["A"]}, "`cohorts` is ['A']"),
    "no source": ({"cohorts": {"A": {}}}, "cohorts.A lacks the key `source`. It can be simulated, files, xena."),
    "unknown source": (with_cohort(source="xenna"), "`cohorts.A.source` is 'xenna'; it can be simulated, files, xena."),
    "unknown key": (config(metods=["full"]), "unknown key `metods` in the top level. Did you mean `methods`?"),
    "unknown key alike to none": (config(zzz=1), "unknown key `zzz` in the top level. Known keys: seed, pathways"),
    "unknown key in a section": (config(fit={"lamda": 1}), "unknown key `lamda` in fit. Did you mean `lam`?"),
    "unknown key in a cohort": (with_cohort(sample=9), "unknown key `sample` in cohorts.A. Did you mean `samples`?"),
    "unknown key in a cohort's preparation": (
        with_cohort(preprocessing={"imputation": "knn"}),
        "unknown key `imputation` in cohorts.A.preprocessing. Did you mean `impute`?",
    ),
    "unknown choice": (
        config(preprocessing={"outliers": "winsorize"}),
        "`preprocessing.outliers` is 'winsorize'; it can be winsorise, rank_normal, none. Did you mean 'winsorise'?",
    ),
    "true as text": (
        config(preprocessing={"log": "yes"}),
        "`preprocessing.log` is 'yes'; it can be auto, true, false.",
    ),
    "a key that is gone": (config(fit={"refit": "auto"}), "unknown key `refit` in fit. There is no refit any more"),
    "unknown parts": (config(fit={"relevance": "columns"}), "`fit.relevance` is 'columns'; it can be auto, inputs"),
    "a negative number of hidden inputs": (config(fit={"hidden": -1}), "`fit.hidden` is -1: Number of hidden inputs"),
    "hidden inputs in words": (config(fit={"hidden": "none"}), "`fit.hidden` is 'none': Number of hidden inputs"),
    "one for true": (config(preprocessing={"log": 1}), "`preprocessing.log` is 1; it can be auto, true, false."),
    "null for none": (config(preprocessing={"impute": None}), "it can be none, median, knn. Did you mean 'none'?"),
    "wrong type": (config(seed="one"), "`seed` is 'one'"),
    "negative seed": (config(seed=-1), "`seed` is -1: -1 is less than the minimum of 0"),
    "a share above one": (config(preprocessing={"max_missing": 20}), "`preprocessing.max_missing` is 20"),
    "fdr in per cent": (config(fit={"fdr": 5}), "`fit.fdr` is 5"),
    "fdr of zero": (config(fit={"fdr": 0}), "`fit.fdr` is 0"),
    "negative penalty": (config(fit={"lam": -1}), "`fit.lam` is -1: Network penalty"),
    "unknown penalty": (config(fit={"lam": "bic"}), "`fit.lam` is 'bic': Network penalty"),
    "sample types as numbers": (config(preprocessing={"sample_types": [1, 6]}), '["01", "06"]'),
    "true genes": (config(preprocessing={"genes": True}), "`preprocessing.genes` is True: Inputs to keep"),
    "genes none": (config(preprocessing={"genes": 0}), "`preprocessing.genes` is 0: Inputs to keep"),
    "few samples": (with_cohort(samples=10), "`cohorts.A.samples` is 10"),
    "no method": (config(methods=[]), "`methods` is []"),
    "a method twice": (config(methods=["full", "full"]), "`methods` is ['full', 'full']"),
    "misspelt method": (config(methods=["ful"]), "`methods.0` is 'ful'; it can be sequential, full, surrogate, hybrid"),
    "reference not fitted": (
        config(methods=["full"]),
        "`reference` is 'sequential', which is not among `methods` (full)",
    ),
    "a name that is no folder": (
        {"cohorts": {"../A": {"source": "simulated"}}},
        "the name '../A' in `cohorts`: use letters",
    ),
    "a name with a space": ({"cohorts": {"my cohort": {"source": "simulated"}}}, "the name 'my cohort' in `cohorts`"),
    "an empty name": ({"cohorts": {"": {"source": "simulated"}}}, "the name '' in `cohorts`"),
    "aging in Xena": (with_cohort(source="xena", kind="aging"), "Xena has no aging cohorts"),
    "no files": (with_cohort(source="files"), "`cohorts.A` lacks the key `inputs`, which `source: files`"),
    "no table": (with_cohort(source="files", kind="aging"), "`cohorts.A` lacks the key `table`"),
    "no covariates": (
        {"cohorts": {"A": FILES}, "preprocessing": {"adjust": ["age", "sex"]}},
        "`cohorts.A` is to be adjusted for age, sex but names no `covariates` table",
    ),
    "no covariates for one": (
        {"cohorts": {"A": {**FILES, "preprocessing": {"adjust": ["age"]}}}},
        "`cohorts.A` is to be adjusted for age but names no `covariates` table",
    ),
    "a column twice": (
        {
            "cohorts": {
                "A": {
                    "source": "files",
                    "kind": "aging",
                    "table": "t.csv",
                    "macro": {"M": ["bmi"]},
                    "molecular": {"L": ["alp", "bmi"]},
                }
            }
        },
        "column 'bmi' is listed more than once",
    ),
    "an empty block": (with_cohort(kind="aging", macro={"Body": []}), "`cohorts.A.macro.Body` is []"),
    "a mirror without scheme": (config(mirror="/data/xena"), "`mirror` is '/data/xena'"),
    "a short checksum": (with_cohort(source="xena", sha256={"RPPA": "abc"}), "`cohorts.A.sha256.RPPA` is 'abc'"),
    "a preparation that is none": (config(preprocessing="none"), "`preprocessing` is 'none'"),
}


@pytest.mark.parametrize(("mine", "expected"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_told(mine, expected):
    assert expected in error_of(mine)


@pytest.mark.parametrize("name", ["comparison", "figures", "tables", "logs", "benchmarks"])
def test_names_that_the_results_need(name):
    assert f"`cohorts.{name}`: the name is taken" in error_of({"cohorts": {name: {"source": "simulated"}}})


def test_all_mistakes_are_told_at_once():
    text = error_of({"cohorts": {"A": {"source": "file", "samples": 1}}, "fit": {"fdr": 2}, "seeds": 1})
    assert text.startswith("my.yaml: 4 to correct\n")
    assert text.count("\n  - ") == 4


def test_a_config_error_is_an_error_of_the_data():
    assert issubclass(ConfigError, DataError)


@pytest.mark.parametrize("name", [2011, False, 1.5, None])
def test_names_that_yaml_does_not_take_for_text(name):
    """`2011:` is a number and `NO:` is false in YAML; folders and wildcards need text."""
    try:
        found = list(validated({"cohorts": {name: {"source": "simulated"}}})["cohorts"])
    except ConfigError as error:
        found = [str(error)]
    assert isinstance(found[0], str)
    assert str(name) in found[0]


# Files


def test_load_config(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text("cohorts:\n  Köln: {source: simulated}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"my\.yaml: 1 to correct\n  - the name 'Köln'"):
        load_config(path)
    path.write_text("cohorts:\n  A: {source: simulated, title: Köln}\n", encoding="utf-8")
    assert load_config(path) == validated(with_cohort(title="Köln"))
    with pytest.raises(ConfigError, match=r"none\.yaml: no such file"):
        load_config(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cohorts: [", "not valid YAML"),
        ("cohorts:\n\tA: {source: simulated}\n", "not valid YAML"),
        ("", "expected keys and values, `cohorts:` among them, found NoneType"),
        ("- A\n- B\n", "expected keys and values, `cohorts:` among them, found list"),
        ("# nothing but comments\n", "found NoneType"),
        ("a: !!python/object/apply:os.getcwd []", "not valid YAML"),
    ],
)
def test_files_that_are_no_config(tmp_path, text, expected):
    path = tmp_path / "my.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"my\.yaml") as caught:
        load_config(path)
    assert expected in str(caught.value)


def test_files_that_are_no_text(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_bytes("cohorts:\n  A: {source: simulated, title: Köln}\n".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"my\.yaml"):
        load_config(path)
    with pytest.raises(ConfigError, match=str(tmp_path.name)):
        load_config(tmp_path)


def test_a_cohort_that_is_there_twice_is_told(tmp_path):
    """YAML takes the last one and says nothing; a cohort copied and not renamed would be lost."""
    path = tmp_path / "my.yaml"
    path.write_text("cohorts:\n  A: {source: simulated}\n  A: {source: xena}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="A"):
        load_config(path)


# What a config may hold that JSON has no word for.

YAML = "cohorts:\n  A: {source: simulated}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fit: {fdr: .nan}", "`fit.fdr` is nan: expected a finite number"),
        ("fit: {lam: .inf}", "`fit.lam` is inf: Network penalty"),
        ("fit: {lam: .nan}", "`fit.lam` is nan: Network penalty"),
        ("fit: {time_budget: .inf}", "`fit.time_budget` is inf: expected a finite number or null"),
        ("fit: {hidden: 2.0}", "`fit.hidden` is 2.0: .* integer"),
        ("seed: 1.0", "`seed` is 1.0: expected a whole number, without a decimal point"),
        ("stability: {subsamples: 5.0}", "`stability.subsamples` is 5.0: expected a whole number"),
        ("memory: 4000.0", "`memory` is 4000.0: expected a whole number, .* or null"),
        ("seed: 4294967296", "`seed` is 4294967296: .*4294967295"),
        (f"seed: {'9' * 6000}", "not valid YAML"),
        (f"seed: {'59:' * 3000}59", "not valid YAML.\n +a number beyond measure"),
        ("methods: mssl", "`methods` is 'mssl': expected a list"),
    ],
)
def test_numbers_that_a_job_would_fail_on(tmp_path, text, message):
    path = tmp_path / "config.yaml"
    path.write_text(f"{YAML}{text}\n")
    with pytest.raises(ConfigError, match=message):
        load_config(path)


def test_merge_keys(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(
        "cohorts:\n  A: &a {source: simulated, samples: 50}\n  B: &b {<<: *a, samples: 60}\n"
        "  C:\n    <<: [*b]\n    title: c\n"
    )
    cohorts = load_config(path)["cohorts"]
    assert {name: (one["samples"], one["title"]) for name, one in cohorts.items()} == {
        "A": (50, None),
        "B": (60, None),
        "C": (60, "c"),
    }
