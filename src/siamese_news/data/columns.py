"""The columns of results: what `rank`, `filter` and `threads` write, and what every reader expects."""

from typing import Literal

Kind = Literal["text", "number", "whole", "terms"]

KINDS: dict[str, Kind] = {
    # Where a post is in the list of an article.
    "article": "text",
    "rank": "whole",
    "score": "number",
    "relevance": "number",
    # The post, as its file has it.
    "post": "text",
    "text": "text",
    "lang": "text",
    "created_at": "text",
    "link": "text",
    "reply_to": "text",
    "quotes": "text",
    # Near-duplicates: the number of their cluster, and how many posts it has.
    "cluster": "whole",
    "cluster_size": "whole",
    # The words that the post shares with the article.
    "terms": "terms",
    # Places on the map.
    "x": "number",
    "y": "number",
    # The thread of a post: its place among threads, the scores of its posts, how many of them
    # were found, left out and missing, and the place of the post in it.
    "thread": "text",
    "thread_rank": "whole",
    "best": "number",
    "mean3": "number",
    "found": "whole",
    "left_out": "whole",
    "missing": "whole",
    "depth": "whole",
    "role": "text",
}
"""The kind of value of each column of any file of results."""

RANKED = tuple(
    "article rank score relevance post text cluster cluster_size lang created_at terms link".split()
)
"""The columns of `rank` and `filter`, a row for each post of a list."""

MAPPED = (*RANKED, "x", "y")
"""The same with places on the map."""

THREADED = tuple(
    "article thread thread_rank best mean3 found left_out missing depth role rank score post "
    "reply_to quotes text lang created_at terms link".split()
)
"""The columns of `threads`, a row for each post of a thread."""
