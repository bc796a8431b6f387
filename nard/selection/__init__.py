"""Findings with error rates: tests of inputs, of entries of W and of edges of Ω."""

from nard.selection.edges import EdgeTest, edge_test
from nard.selection.fitted import association_tests, network_test
from nard.selection.significance import EntryTest, InputTest, entry_test, input_test, qvalues, two_sided

__all__ = [
    "EdgeTest",
    "EntryTest",
    "InputTest",
    "association_tests",
    "edge_test",
    "entry_test",
    "input_test",
    "network_test",
    "qvalues",
    "two_sided",
]
