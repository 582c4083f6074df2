"""The threads of found posts: the posts that they answer, and the replies."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np

from siamese_news.data.columns import ResultRow
from siamese_news.data.records import Post
from siamese_news.data.results import found_rows
from siamese_news.errors import InputError
from siamese_news.search.ranked_posts import metadata_text, post_columns
from siamese_news.utils.terminal import counted


@dataclass(slots=True)
class FoundPost:
    """A row of the results.

    In one list for all articles, `article` is the one that the post is nearest to and `list` is
    empty; otherwise both are the article whose list it is.
    """

    article: str
    post: str
    score: float
    rank: int
    terms: Sequence[str] = ()
    list: str = ""


@dataclass(slots=True)
class Thread:
    """The part of a conversation that belongs to found posts, known by the hashes of their ids.

    `key` is the post that began it, as far as that is known. `hits` are rows of the results, best
    first; `roles` has each post's, ``found``, ``answered`` or ``reply``; `left_out` counts the
    posts over the limit.
    """

    key: int
    hits: dict[int, FoundPost] = field(default_factory=dict)
    roles: dict[int, str] = field(default_factory=dict)
    left_out: int = 0

    @property
    def scores(self) -> tuple[float, float]:
        """The best score, and the mean of the best three, or of as many as were found."""
        best = sorted((row.score for row in self.hits.values()), reverse=True)[:3]
        return best[0], round(sum(best) / len(best), 6)


class Links:
    """Which post answers which; 24 bytes for each post that answers another.

    Links of the `self_replies`, posts that answer themselves, are left out. `cycles` counts the
    circles of answers that walks from found posts met.
    """

    def __init__(self, posts: Iterable[Post]) -> None:
        self.self_replies = self.cycles = 0
        flat = array("q")
        for post in posts:
            parent = metadata_text(post, "reply_to")
            thread = metadata_text(post, "thread")
            if parent == post.id:
                self.self_replies = self.self_replies + 1
                parent = None
            if parent or thread:
                flat.extend((hash(post.id), hash(parent or ""), hash(thread or "")))
        links = np.array(flat, np.int64).reshape(-1, 3)
        by_child = np.argsort(links[:, 0], kind="stable")
        by_parent = np.argsort(links[:, 1], kind="stable")
        self._children, self._parents, self._threads = links[by_child].T.copy()
        self._replies, self._answered, _ = links[by_parent].T.copy()
        self._keys: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._children)

    def above(self, post: int) -> tuple[int, int]:
        """The post that this one answers and the one that began its conversation; 0 is none."""
        row = int(np.searchsorted(self._children, post))
        if row == len(self._children) or self._children[row] != post:
            return 0, 0
        return int(self._parents[row]), int(self._threads[row])

    def below(self, post: int) -> list[int]:
        """The posts that answer this one, in the order of the files."""
        start = np.searchsorted(self._answered, post, side="left")
        end = np.searchsorted(self._answered, post, side="right")
        replies: list[int] = self._replies[start:end].tolist()
        return replies

    def key(self, post: int) -> int:
        """The post that began the conversation: as the platform says, else the end of the walk up.

        In a circle it is the post where the first walk entered.
        """
        path: dict[int, None] = {}
        while post not in self._keys:
            if post in path:
                self.cycles += 1
                self._keys[post] = post
                break
            path[post] = None
            parent, thread = self.above(post)
            if thread or not parent:
                self._keys[post] = thread or post
                break
            post = parent
        self._keys.update(dict.fromkeys(path, self._keys[post]))
        return self._keys[post]


def read_found(path: Path) -> list[FoundPost]:
    """The rows of a file of results, best first.

    Ranks that all differ are those of one list; so are posts that all differ, without ranks.
    """
    rows: list[FoundPost] = []
    for location, row in found_rows(path):
        terms = row.get("terms") or ()
        try:
            rows.append(
                FoundPost(
                    str(row.get("article", "all")),
                    str(row["post"]),
                    float(row["score"]),
                    int(row.get("rank") or 0),
                    terms.split("; ") if isinstance(terms, str) else terms,
                )
            )
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"{location}: expected the columns post and score, as rank and filter write them; "
                "the score and, if present, the rank are numbers"
            ) from None
    rows.sort(key=lambda result: -result.score)
    ranked = all(result.rank > 0 for result in rows)
    one_list = len({result.rank if ranked else result.post for result in rows}) == len(
        rows
    )
    so_far = Counter[str]()
    for result in rows:
        result.list = "" if one_list else result.article
        so_far[result.list] += 1
        result.rank = result.rank if ranked else so_far[result.list]
    return rows


def find_threads(
    links: Links, results: Sequence[FoundPost], *, limit: int
) -> list[Thread]:
    """The threads of the found posts, best first, with at most `limit` posts each.

    A thread has its found posts, then the posts that they answer, from each upwards, then the
    replies, level by level. Each post is visited once, whatever the shape of the links.
    """
    threads: dict[tuple[str, int], Thread] = {}
    for row in results:
        post_hash = hash(row.post)
        key = links.key(post_hash)
        thread = threads.setdefault((row.list, key), Thread(key))
        thread.hits.setdefault(post_hash, row)
    for thread in threads.values():
        roles = dict.fromkeys(thread.hits, "found")
        for post_hash in thread.hits:
            parent, _ = links.above(post_hash)
            while parent and parent not in roles:
                roles[parent] = "answered"
                parent, _ = links.above(parent)
        # Not reached yet if a post on the way is missing.
        roles.setdefault(thread.key, "answered")
        level = list(thread.hits)
        walked = set(thread.hits)
        while level:
            below = dict.fromkeys(
                reply for post_hash in level for reply in links.below(post_hash)
            )
            level = [reply for reply in below if reply not in walked]
            walked.update(level)
            for reply in level:
                roles.setdefault(reply, "reply")
        thread.roles = dict(islice(roles.items(), limit))
        thread.left_out = len(roles) - len(thread.roles)
    return sorted(
        threads.values(), key=lambda thread: [-score for score in thread.scores]
    )


def thread_rows(
    threads: Sequence[Thread], posts: Iterable[Post]
) -> Iterator[ResultRow]:
    """A row for each post of the threads, which are in reading order, with the texts of `posts`."""
    thread_posts = {post for thread in threads for post in thread.roles}
    keys = {thread.key for thread in threads}
    texts: dict[int, Post] = {}
    names: dict[int, str] = {}
    for post in posts:
        post_hash = hash(post.id)
        if post_hash in thread_posts:
            texts.setdefault(post_hash, post)
            for link in ("reply_to", "thread"):
                name = metadata_text(post, link) or ""
                if hash(name) in keys:
                    names[hash(name)] = name
    for number, thread in enumerate(threads, 1):
        own_posts = [post for post in thread.roles if post in texts]
        if thread.hits.keys().isdisjoint(own_posts):
            continue  # it was found among other posts
        missing = len(thread.roles) - len(own_posts)
        best, mean = thread.scores
        article = next(iter(thread.hits.values())).article
        began = texts.get(thread.key)
        shared: ResultRow = {
            "thread_rank": number,
            "best": best,
            "mean3": mean,
            "thread": began.id if began else names.get(thread.key),
            "found": len(thread.hits),
            "left_out": thread.left_out,
            "missing": missing,
        }
        for post_hash, depth in _in_order(own_posts, texts):
            post = texts[post_hash]
            row: ResultRow = {
                **shared,
                "article": article,
                "depth": depth,
                "role": thread.roles[post_hash],
                **post_columns(post),
                "reply_to": metadata_text(post, "reply_to"),
                "quotes": metadata_text(post, "quotes"),
            }
            if hit := thread.hits.get(post_hash):
                row["article"] = hit.article
                row["rank"] = hit.rank
                row["score"] = hit.score
                row["terms"] = list(hit.terms)
            yield row


def bring_threads(
    results: Path, posts: Iterable[Post], *, limit: int
) -> tuple[list[ResultRow], list[str]]:
    """The rows of a file of threads with at limit `limit` posts each, and lines that sum them up.

    `results` is the file of the posts found in `posts`, which are read twice.
    """
    found_posts = read_found(results)
    links = Links(posts)
    threads = find_threads(links, found_posts, limit=limit)
    rows = list(thread_rows(threads, posts))
    roles = Counter(row["role"] for row in rows)
    if not roles["found"]:
        raise InputError(
            f"{results}: none of its posts is among the posts; expected the files that were "
            "searched"
        )
    n_posts = sum(len(thread.roles) for thread in threads)
    counts = {
        f"posts over {limit}, the bound of a thread, which are left out": sum(
            thread.left_out for thread in threads
        ),
        "posts of these threads that are not among the posts": n_posts - len(rows),
        "posts that answer themselves (these links are ignored)": links.self_replies,
        "circles of answers": links.cycles,
    }
    return rows, [
        f"threads: {rows[-1]['thread_rank']:,}, of {counted(roles['found'], 'post')} found, "
        f"{roles['answered']:,} that they answer and {counted(roles['reply'], 'reply')}",
        *(f"{name}: {count:,}" for name, count in counts.items() if count),
        *(
            ["no post says which one it answers, so each thread is one post"]
            if not links
            else []
        ),
    ]


def _in_order(members: Sequence[int], texts: dict[int, Post]) -> list[tuple[int, int]]:
    """The posts of a thread, each before its replies, and their depths; the oldest first."""
    dates = {post: metadata_text(texts[post], "created_at") or "" for post in members}
    by_age = sorted(members, key=lambda post: (dates[post], texts[post].id))
    parents = {
        post: hash(metadata_text(texts[post], "reply_to") or "") for post in members
    }
    replies: dict[int, list[int]] = {}
    for post in by_age:
        replies.setdefault(parents[post], []).append(post)
    order: dict[int, int] = {}
    for begin in (*(post for post in by_age if parents[post] not in parents), *by_age):
        # Posts that no beginning leads to depend on a circle: a post of it is the beginning.
        path: set[int] = set()
        while begin not in order and begin not in path and parents[begin] in parents:
            path.add(begin)
            begin = parents[begin]
        stack = [(begin, 0)]
        while stack:
            post, depth = stack.pop()
            if post not in order:
                order[post] = depth
                stack += [
                    (reply, depth + 1) for reply in reversed(replies.get(post, []))
                ]
    return list(order.items())
