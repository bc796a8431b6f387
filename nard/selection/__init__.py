"""Findings with error rates: tests of inputs, entries of W and edges of Ω, and the sparse refit."""

from nard.selection.edges import EdgeTest, edge_test
from nard.selection.find import Findings, find
from nard.selection.refit import SparseFit, refit, residuals_of
from nard.selection.significance import (
    EntryTest,
    InputTest,
    entry_test,
    input_test,
    qvalues,
    two_sided,
)

__all__ = [
    "EdgeTest",
    "EntryTest",
    "Findings",
    "InputTest",
    "SparseFit",
    "edge_test",
    "entry_test",
    "find",
    "input_test",
    "qvalues",
    "refit",
    "residuals_of",
    "two_sided",
]
