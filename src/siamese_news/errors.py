"""The one error for bad input from a user."""


class InputError(ValueError):
    """Bad input: the message says what came, what was expected and what to change.

    Where the input is a file the message starts with ``path:line``.
    """
