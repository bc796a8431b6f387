"""Filters agree with a logic of three values written down independently, and nothing in them is ever executed."""

import math
import operator

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nard.data.expressions import rows_where
from nard.errors import DataError

PEOPLE = pd.DataFrame(
    {
        "age": [30.0, 70.0, np.nan, 50.0],
        "wave": [1, 2, 3, 4],
        "sex": ["f", "m", "f", None],
        "body mass": [20.0, np.nan, 30.0, 25.0],
    }
)

COMPARISONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
NUMBERS = {"x": "x", "y": "y", "full": "full", "two words": "`two words`"}
TEXTS = {"s": "s", "t": "t"}


def kept(expression, table=PEOPLE):
    return rows_where(table, expression).tolist()


# An independent evaluation. An expression is a pair: its value in a row (True, False, or None for unknown), and how it
# is written; the second knows the precedence, so that parentheses are there only where they are needed.


def missing(value):
    return value is None or (isinstance(value, float) and math.isnan(value))


def all_of(values):
    return False if False in values else None if None in values else True


def any_of(values):
    return True if True in values else None if None in values else False


class Chain:
    """A comparison, perhaps chained, of operands that are (kind, value, text)."""

    level = 3

    def __init__(self, operands, signs):
        self.operands, self.signs = operands, signs

    def text(self):
        texts = [self.operands[0][2]]
        for sign, (_, _, text) in zip(self.signs, self.operands[1:], strict=True):
            texts += [sign, text]
        return " ".join(texts)

    def value(self, row):
        values = [row[value] if kind == "column" else value for kind, value, _ in self.operands]
        steps = zip(self.signs, values[:-1], values[1:], strict=True)
        return all_of([None if missing(a) or missing(b) else bool(COMPARISONS[sign](a, b)) for sign, a, b in steps])


class Within:
    level = 3

    def __init__(self, column, name, items, negated, brackets):
        self.column, self.name, self.items, self.negated, self.brackets = column, name, items, negated, brackets

    def text(self):
        left, right = self.brackets
        items = ", ".join(map(repr, self.items)) + ("," if left == "(" else "")
        return f"{self.name} {'not ' if self.negated else ''}in {left}{items}{right}"

    def value(self, row):
        if missing(row[self.column]):
            return None
        return (row[self.column] in self.items) != self.negated


class Not:
    level = 2

    def __init__(self, part):
        self.part = part

    def text(self):
        return "not " + written(self.part, self.level)

    def value(self, row):
        value = self.part.value(row)
        return None if value is None else not value


class Joined:
    def __init__(self, word, parts):
        self.word, self.parts = word, parts
        self.level = 1 if word == "and" else 0

    def text(self):
        return f" {self.word} ".join(written(part, self.level + 1) for part in self.parts)

    def value(self, row):
        values = [part.value(row) for part in self.parts]
        return all_of(values) if self.word == "and" else any_of(values)


def written(part, level):
    return part.text() if part.level >= level else f"({part.text()})"


number = st.integers(-2, 2) | st.sampled_from([-0.5, 0.5])
letter = st.sampled_from(["", "a", "b", "it's", "NA"])
number_operand = st.sampled_from([("column", *pair) for pair in NUMBERS.items()]) | number.map(
    lambda value: ("constant", value, repr(value))
)
text_operand = st.sampled_from([("column", *pair) for pair in TEXTS.items()]) | letter.map(
    lambda value: ("constant", value, repr(value))
)


def chains(operand):
    return st.integers(1, 3).flatmap(
        lambda n: st.builds(
            Chain,
            st.lists(operand, min_size=n + 1, max_size=n + 1),
            st.lists(st.sampled_from(list(COMPARISONS)), min_size=n, max_size=n),
        )
    )


def memberships(columns, item):
    return st.sampled_from(list(columns.items())).flatmap(
        lambda column: st.builds(
            Within,
            st.just(column[0]),
            st.just(column[1]),
            st.lists(item, min_size=1, max_size=3),
            st.booleans(),
            st.sampled_from([("[", "]"), ("(", ")"), ("{", "}")]),
        )
    )


atoms = chains(number_operand) | chains(text_operand) | memberships(NUMBERS, number) | memberships(TEXTS, letter)
expressions = st.recursive(
    atoms,
    lambda part: (
        part.map(Not) | st.builds(Joined, st.sampled_from(["and", "or"]), st.lists(part, min_size=2, max_size=3))
    ),
    max_leaves=8,
)
rows = st.lists(
    st.fixed_dictionaries(
        {
            **{name: number.map(float) | st.just(math.nan) for name in ("x", "y", "two words")},
            "full": st.integers(-2, 2),
            **{name: letter | st.none() for name in TEXTS},
        }
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=200, deadline=None)
@given(expressions, rows)
def test_three_valued_logic(expression, people):
    table = pd.DataFrame(people).astype(dict.fromkeys(TEXTS, object))
    yes, no = rows_where(table, expression.text()), rows_where(table, f"not ({expression.text()})")
    assert isinstance(yes, np.ndarray)
    assert yes.dtype == no.dtype == bool
    answers = [expression.value(row) for row in people]
    assert yes.tolist() == [answer is True for answer in answers]
    assert no.tolist() == [answer is False for answer in answers]


@pytest.mark.parametrize(
    ("expression", "rows"),
    [
        # Precedence: not before and before or, comparisons before all of them.
        ("wave == 1 or wave == 2 and wave == 3", [True, False, False, False]),
        ("(wave == 1 or wave == 2) and wave == 2", [False, True, False, False]),
        ("not wave == 1 and wave == 1", [False, False, False, False]),
        ("not (wave == 1 and wave == 2)", [True, True, True, True]),
        ("not wave == 1 or wave == 1", [True, True, True, True]),
        # Unknown is neither kept nor kept when negated …
        ("age > 40", [False, True, False, True]),
        ("not age > 40", [True, False, False, False]),
        ("age == age", [True, True, False, True]),
        ("age != 30", [False, True, False, True]),
        # … unless the rest of the expression settles the matter.
        ("age > 40 or wave == 3", [False, True, True, True]),
        ("not (age > 40 and wave == 4)", [True, True, True, False]),
        ("not sex == 'm'", [True, False, True, False]),
        ("sex not in ['m']", [True, False, True, False]),
        ("sex in ['m'] or sex not in ['m']", [True, True, True, False]),
        # Chains
        ("40 <= age < 60", [False, False, False, True]),
        ("1 < wave < 4 > 3", [False, True, True, False]),
        ("not 40 <= age < 60", [True, True, False, False]),
        # Lists of any brackets, and of one item, and of none
        ("wave in (1, 4)", [True, False, False, True]),
        ("wave in {2}", [False, True, False, False]),
        ("wave in []", [False] * 4),
        ("age not in []", [True, True, False, True]),
        # Names in backticks, which may also be plain
        ("`body mass` <= 25 and `age` > 0", [True, False, False, True]),
        ("-1 < wave and wave > -1.5", [True] * 4),
        ("wave == 1 == True", [True, False, False, False]),
        # Constants alone: all rows or none, and a mask all the same.
        ("1 == 1", [True] * 4),
        ("1 == 2", [False] * 4),
        ("not 1 == 2", [True] * 4),
        ("1 in [1, 2]", [True] * 4),
        ("'a' < 'b' < 'c'", [True] * 4),
        ("  wave > 2  ", [False, False, True, True]),
    ],
)
def test_by_hand(expression, rows):
    found = rows_where(PEOPLE, expression)
    assert found.dtype == bool
    assert found.tolist() == rows


def test_a_column_named_by_a_keyword():
    table = pd.DataFrame({"class": [1, 2], "lambda": [2, 2]})
    assert kept("`class` == `lambda`", table) == [False, True]


def test_row_names_play_no_part():
    table = PEOPLE.set_axis(["z", "z", "a", "b"])
    for expression in ("age > 40", "age > 40 or wave == 3", "40 <= age < 60", "wave in [1, 2]"):
        assert kept(expression, table) == kept(expression)


BOOM = []
FORBIDDEN = {
    "attribute": "age.size == 4",
    "attribute of a constant": "().__class__ == 1",
    "call": "abs(age) == 30",
    "call of a method": "age.sum() > 0",
    "import": "__import__('os').system('true') == 0",
    "call in a list": "age in [print()]",
    "lambda": "(lambda: 1) == 1",
    "lambda called": "(lambda: 1)() == 1",
    "list comprehension": "[x for x in age] == 1",
    "generator": "age in (x for x in age)",
    "comprehension as a list": "age in [x for x in age]",
    "f-string": "sex == f'{age}'",
    "f-string with a call": "sex == f'{BOOM.append(1)}'",
    "walrus": "(BOOM := 1) == 1",
    "subscript": "age[0] == 30",
    "subscript of text": "'abc'[0] == sex",
    "power": "age == 9**9**9",
    "product of text": "sex == 'a' * 10**9",
    "shift": "wave < 1 << 10**9",
    "sum": "age + 1 == 31",
    "unary plus": "age == +30",
    "invert": "~wave == 1",
    "minus of a column": "age == -age",
    "minus of a text": "sex == -'f'",
    "minus twice": "wave == --1",
    "conditional": "age if age > 3 else wave",
    "bare column": "age",
    "bare number": "1",
    "bare true": "True",
    "bare text": "'age > 3'",
    "column within and": "wave and age > 3",
    "not of a column": "not age",
    "none": "age == None",
    "is": "age is 30",
    "is not": "age is not 30",
    "complex": "age == 1j",
    "bytes": "sex == b'f'",
    "ellipsis": "age == ...",
    "dict": "age == {1: 2}",
    "nested list": "age in [[30]]",
    "starred": "age in [*sex]",
    "column in a list": "age in [wave]",
    "in a column": "30 in age",
    "in a text": "sex in 'fm'",
    "list compared": "age == [30, 70, 50, 50]",
    "await": "await age",
    "yield": "(yield age) == 1",
    "statement": "import os",
    "two statements": "age > 3; wave > 3",
    "assignment": "age = 3",
    "nothing": "",
    "spaces": "  ",
    "comment": "# age > 3",
    "null byte": "age > 3\0",
    "open quote": "sex == 'f",
    "open backtick": "`body mass > 3",
    "open parenthesis": "(age > 3",
    "many parentheses": "(" * 5000 + "age > 3" + ")" * 5000,
    "many nots": "not " * 5000 + "age > 3",
    "a number of 5000 digits": "wave < " + "9" * 5000,
    "numbers and text in order": "age < 'x'",
    "text and numbers in order": "sex >= 3",
    "columns of numbers and text in order": "sex < wave",
    "unknown column": "agee > 3",
    "unknown column in backticks": "`body  mass` > 3",
    "builtin": "print == 1",
    "own names": "_column_1 == 1",
}


@pytest.mark.parametrize("expression", FORBIDDEN.values(), ids=FORBIDDEN)
def test_anything_else_is_refused(expression):
    with pytest.raises(DataError, match="config key `filter`"):
        rows_where(PEOPLE, expression)
    assert not BOOM


def test_errors_help():
    with pytest.raises(DataError, match=r"no column 'agee'; did you mean 'age'\?"):
        rows_where(PEOPLE, "agee > 3")
    with pytest.raises(DataError, match=r"after `in` a list such as \[1, 2\], not 'sex'"):
        rows_where(PEOPLE, "'f' in sex")
    with pytest.raises(DataError, match="a number and a text"):
        rows_where(PEOPLE, "sex >= 3")
