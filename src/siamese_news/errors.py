"""The errors of the package: bad input from a user, and an extra that is not installed."""


class InputError(ValueError):
    """Bad input: the message has the input, the expectation and the remedy.

    If the input is a file the message starts with ``path:line``.

    Example:
        >>> from siamese_news import InputError, build_encoder
        >>> try:
        ...     build_encoder("lstm", input_dim=50)
        ... except InputError as error:
        ...     print(str(error)[:41])
        encoder class is 'lstm'; expected one of
    """


class MissingExtraError(ModuleNotFoundError, InputError):
    """A package of an extra is not installed; the message has the command that installs it."""
