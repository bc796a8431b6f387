"""A project: its config and what is wrong with it, its files looked at, and what its jobs share."""
