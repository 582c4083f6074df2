"""Which tokens can be matched on."""

from collections.abc import Sequence

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS


def words_of(tokens: Sequence[str]) -> list[str]:
    """Tokens without punctuation, which every text has and which would only add noise."""
    return [token for token in tokens if not token.isascii() or any(map(str.isalnum, token))]


def content_words(tokens: Sequence[str]) -> list[str]:
    """`words_of` without the English stop words (scikit-learn's list) and the clitics of GloVe."""
    return [token for token in words_of(tokens) if token not in _STOP]


_STOP = ENGLISH_STOP_WORDS | {"n't", "'s", "'re", "'ve", "'ll", "'d", "'m"}
