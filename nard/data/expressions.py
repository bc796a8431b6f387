"""Filters of rows as text, such as ``pregnant == 0 and age >= 20``: parsed, never executed."""

from __future__ import annotations

import ast
import operator

import numpy as np
import pandas as pd

from nard.data.names import nearest
from nard.errors import DataError

__all__ = ["rows_where"]

_TOO_DEEP = "it is nested too deeply"

_COMPARISONS = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def rows_where(table: pd.DataFrame, expression: str) -> np.ndarray:
    """Mask of the rows for which the expression is true.

    Comparisons (``==  !=  <  <=  >  >=  in  not in``) of columns, numbers, quoted text and lists of these, joined by
    ``and``, ``or``, ``not`` and parentheses. A column whose name is no plain word is written in backticks. Where a
    comparison meets a missing value it is unknown, and a row whose answer is unknown is not kept.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [30, 70, 50], "sex": ["f", "m", "f"]})
    >>> rows_where(people, "age < 60 and sex in ['f']")
    array([ True, False,  True])
    """
    names: dict[str, str] = {}
    text = _without_backticks(expression, names)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise _complaint(expression, f"it cannot be parsed ({error.args[0]})") from None
    except (RecursionError, MemoryError):
        raise _complaint(expression, _TOO_DEEP) from None
    try:
        true, _ = _Filter(table, expression, names).truth(tree)
    except RecursionError:  # newer versions of Python parse what they cannot evaluate
        raise _complaint(expression, _TOO_DEEP) from None
    return np.asarray(true)


def _without_backticks(expression: str, names: dict[str, str]) -> str:
    parts = expression.split("`")
    if len(parts) % 2 == 0:
        raise _complaint(expression, "a backtick is not closed")
    for i in range(1, len(parts), 2):
        placeholder = f"_column_{i}"
        names[placeholder] = parts[i]
        parts[i] = placeholder
    return "".join(parts)


def _complaint(expression: str, what: str) -> DataError:
    return DataError(
        f"config key `filter`: {expression!r}: {what}.\n"
        "  expected: comparisons of columns, numbers and quoted text, joined by and, or, not\n"
        "  for instance: pregnant == 0 and age >= 20 and sex in ['f', 'm']"
    )


def _is_text(value) -> bool:
    if isinstance(value, pd.Series):
        return not pd.api.types.is_numeric_dtype(value)
    return isinstance(value, str)


class _Filter:
    """Three-valued logic: each node of the tree becomes two masks, where it is true and where it is false."""

    def __init__(self, table: pd.DataFrame, expression: str, names: dict[str, str]):
        self.table, self.expression, self.names = table, expression, names

    def truth(self, node: ast.expr) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(node, ast.BoolOp):
            true, false = zip(*(self.truth(value) for value in node.values), strict=True)
            if isinstance(node.op, ast.And):
                return np.logical_and.reduce(true), np.logical_or.reduce(false)
            return np.logical_or.reduce(true), np.logical_and.reduce(false)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            true, false = self.truth(node.operand)
            return false, true
        if isinstance(node, ast.Compare):
            left = node.left
            true = np.ones(len(self.table), dtype=bool)
            false = np.zeros(len(self.table), dtype=bool)
            for comparison, right in zip(node.ops, node.comparators, strict=True):
                yes, no = self.compare(comparison, left, right)
                true, false, left = true & yes, false | no, right
            return true, false
        raise _complaint(self.expression, f"{ast.unparse(node)!r} is not a comparison")

    def compare(self, comparison: ast.cmpop, left: ast.expr, right: ast.expr) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(comparison, ast.In | ast.NotIn):
            if not isinstance(right, ast.List | ast.Tuple | ast.Set):
                raise _complaint(self.expression, f"after `in` a list such as [1, 2], not {ast.unparse(right)!r}")
            values = self.value(left)
            items = [self.constant(item) for item in right.elts]
            for item, node in zip(items, right.elts, strict=True):
                self.require_same_kind(values, item, left, node)
            yes = np.logical_or.reduce([np.asarray(values == item) for item in items])
            known = np.logical_not(pd.isna(values))
            yes, no = yes & known, ~yes & known
            return (yes, no) if isinstance(comparison, ast.In) else (no, yes)
        if type(comparison) not in _COMPARISONS:
            raise _complaint(
                self.expression, f"`{ast.unparse(ast.Compare(left, [comparison], [right]))}` is not allowed"
            )
        a, b = self.value(left), self.value(right)
        self.require_same_kind(a, b, left, right)
        known = np.logical_not(pd.isna(a) | pd.isna(b))
        yes = np.broadcast_to(np.asarray(_COMPARISONS[type(comparison)](a, b), dtype=bool), len(self.table))
        return yes & known, ~yes & known

    def require_same_kind(self, a, b, left: ast.expr, right: ast.expr) -> None:
        """A text never equals a number, so asking whether it does is a mistake."""
        if _is_text(a) != _is_text(b):
            raise _complaint(
                self.expression,
                f"{ast.unparse(left)!r} and {ast.unparse(right)!r} are a number and a text; text stands in quotes",
            )

    def value(self, node: ast.expr):
        if isinstance(node, ast.Name):
            name = self.names.get(node.id, node.id)
            if name not in self.table:
                closest = nearest(name, map(str, self.table.columns))
                hint = f"; did you mean {closest!r}?" if closest else ""
                raise _complaint(self.expression, f"there is no column {name!r}{hint}")
            return self.table[name]
        return self.constant(node)

    def constant(self, node: ast.expr) -> float | str:
        match node:
            case ast.Constant(value=str() | int() | float() as value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
        raise _complaint(self.expression, f"{ast.unparse(node)!r} is neither a column, a number nor a quoted text")
