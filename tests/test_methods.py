"""The registry of methods, and methods that are not in it."""

import ast
import re
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from nard.baselines import CAPME
from nard.errors import DataError
from nard.fits import methods
from nard.fits.classes import load_class
from nard.fits.memory import fit_megabytes
from nard.fits.methods import FLOORS, METHODS, announced, find_method, make_model, minimise_j, tuned_settings
from nard.project.config import ConfigError, entry_of, methods_of, schema, validated
from nard.simulate import make_regression

ROOT = Path(__file__).parents[1]
BASELINES = set(METHODS) - set(minimise_j(METHODS))
FIT = {"lam": 0.1, "relevance": "inputs", "hidden": 0, "time_budget": 1.0}
# Has what the workflow asks of a method, and nothing of nard.
MEAN = """
class Mean:
    fit = predict = log_likelihood = associations = edges = relevance = lambda self: None

    def __init__(self, random_state=None):
        self.random_state = random_state

    def get_params(self):
        return {"random_state": self.random_state}
"""
# `Baseline` without an estimate, a constructor that asks for something, an import that fails.
WRONG = {
    "Bare": "from nard.baselines.base import Baseline\nclass Bare(Baseline): pass",
    "Asks": MEAN.replace("class Mean", "class Asks").replace("random_state=None", "random_state"),
    "Broken": "import no_such_package\nclass Broken: pass",
    "Nothing": "class Nothing: pass",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory, with a method in a file."""
    monkeypatch.chdir(tmp_path)
    load_class.cache_clear()
    (tmp_path / "own.py").write_text(MEAN)
    return tmp_path


@pytest.fixture
def announcing(folder, monkeypatch):
    """A package that announces the file's class."""
    point = EntryPoint("Average", "own_package:Mean", "nard.methods")
    (folder / "own_package.py").write_text(MEAN)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(methods, "entry_points", lambda group: [point] if group == "nard.methods" else [])
    for cached in (announced, schema):
        cached.cache_clear()
    yield
    monkeypatch.undo()
    for cached in (announced, schema):
        cached.cache_clear()


def config(*entries, **keys):
    return {"methods": list(entries), "cohorts": {"A": {"source": "simulated"}}} | keys


# The registry


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_an_entry_says_everything(method):
    assert METHODS[method.name] is method
    assert re.match(r"\w+ [A-Z]+[ ,].*\(\d{4}\)\. .+\.$", method.publication.reference)
    model = make_model(method.name, FIT, 0)
    arguments = model.get_params()
    assert {*method.arguments, *method.takes, *method.tuned, *method.predicting} <= set(arguments)
    assert {name: arguments[name] for name in method.arguments} == dict(method.arguments)


def test_figures_can_tell_methods_apart():
    for looks in ([method.colour for method in METHODS.values()], [method.marker for method in METHODS.values()]):
        assert len(set(looks)) == len(looks)


def test_what_was_chosen_needs_no_choice_again():
    data = make_regression(40, 5, 4, random_state=0)
    first = make_model("capme", FIT, 0).fit(data.X, data.Y)
    settings = tuned_settings("capme", first)
    again = make_model("capme", FIT, 0, **settings)
    assert isinstance(again, CAPME)
    assert (again.lam, again.tau) == (first.lam_, first.tau_)
    np.testing.assert_allclose(again.fit(data.X, data.Y).coef_, first.coef_, atol=1e-8)


@pytest.mark.parametrize("name", FLOORS)
def test_floors_are_fitted_but_not_asked_for(name):
    data = make_regression(40, 5, 4, random_state=0)
    model = make_model(name, {}, 3).fit(data.X, data.Y)
    assert (model.coef_ == 0).all() == (name == "no_regression")
    assert model.random_state == 3
    with pytest.raises(ConfigError, match="it can be sequential, full"):
        validated(config("sequential", name))


def test_nothing_else_names_a_baseline():
    """Chapters of the paper say which methods they compare; baselines are the methods themselves."""
    own = {ROOT / "nard/fits/methods.py"}
    for folder in ("nard", "scripts", "workflow"):
        for path in {*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.smk")} - own:
            if path.parent.name in ("experiments", "baselines"):
                continue
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".py":
                found = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
            else:
                found = {name for name in BASELINES if f'"{name}"' in text}
            assert not BASELINES & found, path


# Methods from outside


def test_a_class_of_a_file_goes_by_its_name(folder):
    checked = validated(config("sequential", "own.py:Mean", "Other=own.py:Mean"))
    assert methods_of(checked, "A") == ["sequential", "mean", "Other"]
    assert [entry_of(checked, name) for name in ("mean", "Other", "full")] == [
        "own.py:Mean",
        checked["methods"][2],
        "full",
    ]
    assert validated(checked) == checked
    model = make_model(entry_of(checked, "mean"), FIT, 7)
    assert (type(model).__name__, model.random_state) == ("Mean", 7)


def test_a_class_of_a_module_and_one_of_a_cohort():
    mine = config("sequential")
    mine["cohorts"]["B"] = {"source": "simulated", "more_methods": ["ours=nard.baselines.capme:CAPME"]}
    checked = validated(mine)
    assert (methods_of(checked, "A"), methods_of(checked, "B")) == (["sequential"], ["sequential", "ours"])
    assert isinstance(make_model(entry_of(checked, "ours"), FIT, 0), CAPME)


def test_a_package_announces_its_methods(announcing):
    checked = validated(config("Average", reference="Average"))
    assert methods_of(checked, "A") == ["Average"]
    assert type(make_model(entry_of(checked, "Average"), FIT, 0)).__module__ == "own_package"
    with pytest.raises(ConfigError, match=r"'avrage'; it can be sequential, .*, hsghs, Average"):
        validated(config("avrage"))


def test_what_is_not_in_the_registry_has_defaults():
    method = find_method("mean")
    assert (method.title, method.minimises_j, method.takes, method.publication) == ("mean", False, (), None)
    assert fit_megabytes("mean", 100, 50, 20) < fit_megabytes("mean", 200, 100, 40)
    with pytest.raises(DataError, match="mean: there is no such method; there are sequential"):
        make_model("mean", FIT, 0)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("none.py:Mean", r"the method 'none.py:Mean': there is no file none.py in /"),
        ("no_such_package:Mean", "no_such_package cannot be imported: ModuleNotFoundError"),
        ("own.py:Men", "own.py has no class 'Men'; there are Mean."),
        ("own.py:", "own.py has no class ''"),
        ("a b=own.py:Mean", "its name 'a b' names a folder: letters, digits"),
        ("../x=own.py:Mean", "its name '../x' names a folder: letters, digits"),
        ("MRCE=own.py:Mean", "the name 'MRCE' is taken; write `another=own.py:Mean`"),
        ("data=own.py:Mean", "the name 'data' is taken"),
        ("Bare.py:Bare", "the class lacks _estimate; derive it from nard.baselines.base.Baseline"),
        ("Asks.py:Asks", "every argument of the class needs a default: .*random_state"),
        ("Broken.py:Broken", "Broken.py cannot be imported: ModuleNotFoundError: No module named 'no_such_package'"),
        ("Nothing.py:Nothing", "the class lacks fit, predict, log_likelihood, associations, edges, relevance"),
    ],
)
def test_mistakes_are_told_with_those_of_the_config(folder, entry, expected):
    for name, text in WRONG.items():
        (folder / f"{name}.py").write_text(text)
    with pytest.raises(ConfigError, match=expected):
        validated(config("sequential", entry))


def test_two_of_one_name_are_told(folder):
    (folder / "other.py").write_text(MEAN)
    with pytest.raises(ConfigError, match=r"the method 'other\.py:Mean': the name 'mean' is taken"):
        validated(config("sequential", "own.py:Mean", "other.py:Mean"))
