"""The error that tells users what is wrong with their data."""


class DataError(ValueError):
    """A problem with the user's data, told so that the user can fix it."""
