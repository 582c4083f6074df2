"""Character classes that `re` has no name for."""

import re
import unicodedata
from itertools import groupby


def ranges(code_points: list[int]) -> str:
    """A character class body of these ascending code points, as ranges."""
    parts = []
    for _, group in groupby(enumerate(code_points), lambda pair: pair[1] - pair[0]):
        run = [code for _, code in group]
        parts.append(f"{re.escape(chr(run[0]))}-{re.escape(chr(run[-1]))}")
    return "".join(parts)


# Combining marks are not \w for `re`, yet Hindi, Thai and decomposed accents are made of them.
# Variation selectors and the keycap mark are left to the emoji.
MARKS = ranges(
    [
        code
        for code in range(0x300, 0xFB1F)
        if unicodedata.category(chr(code))[0] == "M"
        and not 0xFE00 <= code <= 0xFE0F
        and code != 0x20E3
    ]
)
"""Body of a character class: combining marks."""
