"""What may be printed where a person reads: text out of files can carry commands for a terminal."""

import logging
import unicodedata
import warnings

# Cc controls, Cf formats (bidi, zero width), Cs surrogates, Zl and Zp line separators.
_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def clean(text: str) -> str:
    """One line without control or direction-changing characters: safe for a terminal."""
    return "".join(c for c in " ".join(text.split()) if unicodedata.category(c) not in _UNSAFE)


def quiet_libraries() -> None:
    """Leave out what libraries say of themselves at a start, and no user can do anything about."""
    # torchmetrics imports matplotlib where it is; the first import on a machine lists its fonts.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    # pytorch_lightning 2.6 asks torch 2.13 in a way that later versions of torch will not know.
    warnings.filterwarnings("ignore", message=".*LeafSpec")
