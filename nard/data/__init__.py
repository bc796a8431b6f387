"""Data for the workflow: where it comes from, and what is checked before it is used."""
