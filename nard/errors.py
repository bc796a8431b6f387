"""Errors that are told in words: of a user's data, and of a method that cannot be fitted to them."""


class DataError(ValueError):
    """A problem with the user's data, told so that the user can fix it."""


class FitError(RuntimeError):
    """A method cannot be fitted to these data, whoever runs it; ``code`` says why in a word or two.

    That is a result about the method, and no mistake of the user's: a run goes on without this fit.
    """

    code = "error"


class NotFinite(FitError):
    """What a method found or predicts is not made of finite numbers."""

    code = "not finite"
