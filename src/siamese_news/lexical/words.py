"""Which tokens can be matched on."""

import runpy
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

# Some tokens come in nearly every text; remembered so many, whether they are content.
_MEMO = 1 << 17


class _Content(dict[str, bool]):
    """Token -> whether it is a content word, filled on demand and emptied when full."""

    __slots__ = ()

    def __missing__(self, token: str) -> bool:
        found = token not in _STOP and bool(words_of([token]))
        if len(self) >= _MEMO:
            self.clear()
        self[token] = found
        return found


def words_of(tokens: Sequence[str]) -> list[str]:
    """Tokens without punctuation, which every text has and which would only add noise."""
    return [token for token in tokens if not token.isascii() or any(map(str.isalnum, token))]


def content_words(tokens: Sequence[str]) -> list[str]:
    """`words_of` without the English stop words (scikit-learn's list) and the clitics of GloVe."""
    known = _KNOWN
    return [token for token in tokens if known[token]]


def _english_stop_words() -> frozenset[str]:
    """scikit-learn's list, without the second or two that importing scikit-learn takes."""
    spec = find_spec("sklearn")
    for root in (spec and spec.submodule_search_locations) or ():
        path = Path(root) / "feature_extraction" / "_stop_words.py"
        if path.is_file():
            found: frozenset[str] = runpy.run_path(str(path))["ENGLISH_STOP_WORDS"]
            return found
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


_STOP = _english_stop_words() | {"n't", "'s", "'re", "'ve", "'ll", "'d", "'m"}
_KNOWN = _Content()
