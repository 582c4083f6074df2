"""Content words, the tokens that articles and posts are matched on."""

from collections.abc import Sequence

from siamese_news.text.stop_words import ENGLISH_STOP_WORDS

# Number of tokens for which the cache remembers whether they are content words.
_MEMO = 1 << 17


class _Content(dict[str, bool]):
    """Token -> whether it is a content word, filled on demand and emptied when full."""

    __slots__ = ()

    def __missing__(self, token: str) -> bool:
        is_content = token not in _STOP and bool(words_of([token]))
        if len(self) >= _MEMO:
            self.clear()
        self[token] = is_content
        return is_content


def words_of(tokens: Sequence[str]) -> list[str]:
    """Tokens without punctuation, which every text has and which would only add noise."""
    return [token for token in tokens if not token.isascii() or any(map(str.isalnum, token))]


def content_words(tokens: Sequence[str]) -> list[str]:
    """`words_of` without the English stop words and the clitics that GloVe's tokens have."""
    known = _KNOWN
    return [token for token in tokens if known[token]]


_STOP = ENGLISH_STOP_WORDS | {"n't", "'s", "'re", "'ve", "'ll", "'d", "'m"}
_KNOWN = _Content()
