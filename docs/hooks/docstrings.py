"""Docstrings as the reference reads them: a section ``Example:`` is one of ``Examples:``."""

import re
from typing import Any

import griffe

_ALONE = re.compile(r"^Example:$", flags=re.M)


class SingularExamples(griffe.Extension):
    """Without it, the lines of an example would be read as Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Look at every module, class, function and attribute."""
        if obj.docstring:
            obj.docstring.value = _ALONE.sub("Examples:", obj.docstring.value)
