"""Text that is safe to print: text from files can carry control sequences for a terminal."""

import logging
import unicodedata
import warnings

# Cc controls, Cf formats (bidi, zero width), Cs surrogates, Zl and Zp line separators.
_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def clean(text: str) -> str:
    """One line without control or direction-changing characters: safe for a terminal."""
    return "".join(c for c in " ".join(text.split()) if unicodedata.category(c) not in _UNSAFE)


def quiet_libraries() -> None:
    """Silence start-up messages of libraries that no user can do anything about."""
    # torchmetrics imports matplotlib if it is installed, which lists its fonts the first time.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    # pytorch_lightning 2.6 uses a class of torch, LeafSpec, that torch 2.13 calls deprecated.
    warnings.filterwarnings("ignore", message=".*LeafSpec")
