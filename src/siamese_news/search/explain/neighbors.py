"""The posts behind an explanation's neighbors, found in the pool."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from siamese_news.data.records import Post
from siamese_news.model.siamese import Model
from siamese_news.search.explain.records import Explained


def name_neighbors(
    explained: Sequence[Explained], posts: Iterable[Post], model: Model
) -> list[Explained]:
    """Give each neighbor the id and the text of the first post that reads the same.

    Args:
        explained: explanations by one model.
        posts: the pool; it is read until all neighbors are found, and not at all where there are
            none.
        model: the model.
    """
    missing = {near.key for one in explained for near in one.neighbors}
    found: dict[bytes, Post] = {}
    if missing:
        for post in posts:
            key = model.ids(post.text).tobytes()
            if key in missing:
                found[key] = post
                missing.discard(key)
                if not missing:
                    break
    return [
        replace(
            one,
            neighbors=[
                replace(near, post=found[near.key].id, text=found[near.key].text)
                if near.key in found
                else near
                for near in one.neighbors
            ],
        )
        for one in explained
    ]
