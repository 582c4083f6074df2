"""What may be printed where a person reads: text out of files can carry commands for a terminal."""

import unicodedata

# Cc controls, Cf formats (bidi, zero width), Cs surrogates, Zl and Zp line separators.
_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def clean(text: str) -> str:
    """One line without control or direction-changing characters: safe for a terminal."""
    return "".join(c for c in " ".join(text.split()) if unicodedata.category(c) not in _UNSAFE)
