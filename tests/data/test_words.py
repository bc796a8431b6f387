"""Facts in words: every code has some, and they hold the numbers and names of the fact."""

import ast
from pathlib import Path

import pytest

from nard.data import words as module
from nard.data.words import told, with_words, words

PACKAGE = Path(module.__file__).parents[1]

ABSENT = {"code": "absent", "side": "inputs", "count": 3, "nearest": {"CDKN1BB": "CDKN1B", "XYZ": None}}


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ({"code": "constant", "side": "inputs", "what": "features", "count": 1, "names": ["{x}"]}, "constant"),
        ({"code": "few values", "limit": 0.25}, "more than 25% of the values missing"),
        ({"code": "no covariate", "columns": ["age", "{sex}"]}, "no value of age, {sex}"),
        ({"code": "filled in", "count": 7, "share": 0.01234, "how": "knn"}, "7 missing values (1.23%) filled in (knn)"),
        ({"code": "one of several", "column": "raw_count"}, "of the columns of each sample, 'raw_count' was taken"),
        (ABSENT, "3 asked for but not in the file: CDKN1BB (nearest: CDKN1B), XYZ, and 1 more"),
        (
            {"code": "other files", "count": 5, "files": ["a.txt", "b", "c"]},
            "5 other file(s) in the folder skipped: 'a.txt', 'b', 'c' and 2 more",
        ),
        ({"code": "copies", "one": "AKT", "other": "AKT 2"}, "AKT and AKT 2 are copies of each other: leave one out"),
        (
            {"code": "combination", "one": "MAP", "names": ["SBP", "DBP"]},
            "MAP is a combination of others (SBP, DBP): leave it or one of these out",
        ),
    ],
)
def test_words_of_a_fact(fact, text):
    assert words(fact) == text


def test_a_note_names_its_side_if_it_has_one():
    assert told({"code": "normal scores", "side": "outputs"}) == "outputs: normal scores in place of the values"
    assert told({"code": "several covariates", "count": 2}).startswith("covariates: 2 samples")


def test_words_beside_a_fact_are_not_read():
    [fact] = with_words([ABSENT])
    assert fact == {**ABSENT, "text": words(ABSENT)}
    assert words({**fact, "text": "something else"}) == words(ABSENT)


def test_every_code_is_that_of_some_step():
    """Words that no step of the preparation asks for would be dead."""
    used = set()
    for path in [*(PACKAGE / "data").glob("*.py"), PACKAGE / "project" / "check.py"]:
        if path != Path(module.__file__):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            used |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert set(module._WORDS) <= used
