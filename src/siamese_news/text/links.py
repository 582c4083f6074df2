"""Links of posts, and query words in their addresses."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_LINK = re.compile(r"https?://[^\s<>\"']+", re.IGNORECASE)


def first_link(text: str) -> str:
    """The first link in a text, "" where it has none."""
    match = _LINK.search(text)
    return match.group() if match else ""


def link_matches(queries: Sequence[Sequence[str]], urls: Sequence[str]) -> NDArray[np.bool_]:
    """Whether a post has a link, and which words of its query the address holds.

    A word counts wherever it stands: addresses write words together ("worldcup2014").

    Args:
        queries: words of the query, lower-cased, one query per post.
        urls: link of each post, "" for none.

    Returns:
        (N, 1 + longest query); False where a query has no further word.
    """
    longest = max((len(words) for words in queries), default=0)
    matches = np.zeros((len(urls), 1 + longest), np.bool_)
    for row, (words, url) in enumerate(zip(queries, urls, strict=True)):
        if url:
            address = url.lower()
            matches[row, 0] = True
            matches[row, 1 : 1 + len(words)] = [word in address for word in words]
    return matches
