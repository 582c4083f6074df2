"""Text from files that is safe in a terminal and in a spreadsheet."""

import logging
import math
import sys
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from siamese_news.errors import InputError
from siamese_news.utils.files import readable_name

# Cc controls, Cf formats (bidi, zero width), Cs surrogates, Zl and Zp line separators.
_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def clean(text: str) -> str:
    """One line without control or direction-changing characters: safe for a terminal."""
    return "".join(
        c
        for c in readable_name(" ".join(text.split()))
        if unicodedata.category(c) not in _UNSAFE
    )


def echo(line: str) -> None:
    """Print a line on standard error, without control characters."""
    print(clean(line), file=sys.stderr, flush=True)


def shown_relevance(relevance: float) -> str:
    """A relevance with two decimals, rounded down: what prints as 0.50 has at least .5.

    Example:
        >>> shown_relevance(0.4999), shown_relevance(0.5), shown_relevance(0.29)
        ('0.49', '0.50', '0.29')
    """
    return f"{math.floor(100 * relevance + 1e-9) / 100:.2f}"


def counted(number: int, noun: str) -> str:
    """A number and its noun, such as ``1 post``, ``1,200 posts`` and ``2 replies``."""
    plural = f"{noun[:-1]}ies" if noun.endswith(("ly", "py", "ry")) else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def verb(number: int, plural: str) -> str:
    """A verb that agrees with a number, by its plural: ``are``, ``were``, ``have`` or ``give``."""
    return _OF_ONE[plural] if number == 1 else plural


_OF_ONE = {"are": "is", "were": "was", "have": "has", "give": "gives"}


@contextmanager
def one_line_errors(log: logging.Logger | None = None) -> Iterator[None]:
    """End the process with code 2 and an `InputError` in one line, logged or on stderr."""
    try:
        yield
    except InputError as error:
        if log is None:
            print(error, file=sys.stderr)
        else:
            log.error("%s", error)
        sys.exit(2)


def quiet_libraries() -> None:
    """Silence start-up messages of libraries that no user can do anything about."""
    # torchmetrics imports matplotlib if it is installed, which lists its fonts the first time.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    # gensim describes each file of word vectors that it reads.
    logging.getLogger("gensim").setLevel(logging.WARNING)
    # pytorch_lightning 2.6 uses a class of torch, LeafSpec, that torch 2.13 calls deprecated.
    warnings.filterwarnings("ignore", message=".*LeafSpec")
    # Of small data, and of a run without a dev set.
    warnings.filterwarnings(
        "ignore", message="The number of training batches .* is smaller"
    )
    warnings.filterwarnings(
        "ignore", message="Total length of `list` across ranks is zero"
    )


# Also in the full width of East Asian keyboards, which spreadsheets read alike.
_FORMULA = tuple("=+-@\t\r＝＋－＠")
# Control characters, which a terminal obeys, as the signs that represent them; Unicode has no signs
# for the second set (from U+0080 on).
_SIGNS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {
    0x7F: 0x2421
}
_SHOWN = _SIGNS | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
_BACK = {sign: code for code, sign in _SIGNS.items()}


def guarded(cell: str) -> str:
    """Spreadsheets run a text that starts like a formula; a leading apostrophe stops them.

    A formula behind apostrophes of its own gets one more, so that `unguarded` restores it whole.
    Control characters become signs.
    """
    if not cell.isprintable():
        cell = cell.translate(_SHOWN)
    return "'" + cell if cell.lstrip("'").startswith(_FORMULA) else cell


def unguarded(cell: str) -> str:
    """The cell before `guarded`, so that ids are the same again."""
    if not cell.isascii():
        cell = cell.translate(_BACK)
    return (
        cell[1:] if cell[:1] == "'" and cell.lstrip("'").startswith(_FORMULA) else cell
    )
