"""Findings for other programs: graphs, CX2, and the places of their nodes."""
