"""What of the results is handed on: clusters, terms, authors, ids only, and the facts beside."""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.search.clusters import CLUSTERED, clusters_of
from siamese_news.search.output import COLUMNS, row_of
from siamese_news.search.rank import Ranking
from siamese_news.search.report.charts import MAP_POINTS
from siamese_news.search.report.places import places
from siamese_news.search.scan import blocks
from siamese_news.search.seeds import Decided
from siamese_news.utils.files import atomic_write, file_sha256, is_stream
from siamese_news.utils.provenance import command, provenance

_KEY_BYTES = 16


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Which columns are written.

    Attributes:
        ids_only: nothing of the posts' words: no text, no matched terms; no link either, which may
            hold the author's name.
        author: the author as well.
        key: secret with which the author is replaced by a name that means nothing to others.
        map: ``x`` and ``y``, a place on a map of the posts, of the best 2,000.
    """

    ids_only: bool = False
    author: bool = False
    key: bytes | None = None
    map: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        hidden = self.key is not None
        left_out = {"text", "terms", "link"} if self.ids_only else {"link"} if hidden else set()
        names = tuple(name for name in COLUMNS if name not in left_out)
        author = ("author",) if self.author or hidden else ()
        return (*names, *author, "x", "y") if self.map else (*names, *author)

    def author_of(self, post: Post) -> str | None:
        """The author as it is written: HMAC-SHA256 under the key, if there is one."""
        author = post.metadata.get("author")
        if not author or not (self.author or self.key):
            return None
        if self.key is None:
            return str(author)
        return hmac.new(self.key, str(author).encode(), hashlib.sha256).hexdigest()


def read_key(path: Path) -> bytes:
    """The secret in a file, without white space around it.

    Raises:
        InputError: for a missing file, and a secret that could be guessed.
    """
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    if len(key) < _KEY_BYTES:
        raise InputError(
            f"{path}: the key has {len(key)} bytes, expected at least {_KEY_BYTES}; make one with "
            "python -c 'import secrets; print(secrets.token_hex(32))' and keep it to yourself"
        )
    return key


def map_of(
    posts: Iterable[Post], encode: Callable[[Sequence[str]], np.ndarray]
) -> dict[str, dict[str, float]]:
    """Id -> ``x`` and ``y`` of the first 2,000 different posts.

    Args:
        posts: best first.
        encode: texts to vectors.
    """
    shown: dict[str, str] = {}
    for post in posts:
        shown.setdefault(post.id, post.text)
        if len(shown) == MAP_POINTS:
            break
    found = places(encode(list(shown.values())))
    return {
        post: {"x": place[0], "y": place[1]}
        for post, place in zip(shown, found, strict=True)
        if place is not None
    }


def ranking_rows(
    ranking: Ranking,
    share: ExportOptions,
    *,
    dedupe: bool,
    matched: Callable[[Sequence[str]], list[list[str]]],
    one_name: bool,
    bare: bool,
    encode: Callable[[Sequence[str]], np.ndarray] | None = None,
    language: Callable[[Post], str | None] | None = None,
) -> Iterator[dict[str, Any]]:
    """The rows of a ranking.

    Args:
        ranking: the lists.
        share: what is written of them.
        dedupe: of each cluster only the best post of a list, its rank counted anew.
        matched: the terms that carried the scores of posts.
        one_name: call the article of one list over several seeds ``all``, as TREC needs.
        bare: only what a TREC run has: no clusters unless they are needed, no terms.
        encode: texts to vectors, for the map that `share` may ask for.
        language: of a post, where its metadata does not say.
    """
    clusters: dict[str, tuple[int, int]] = {}
    posts = ranking.posts()
    if dedupe or (not bare and len(posts) <= CLUSTERED):
        clusters = clusters_of(posts)
    terms: dict[str, list[str]] = {}
    for block in () if bare else blocks(posts):
        found = matched([post.text for post in block])
        terms.update(zip((post.id for post in block), found, strict=True))
    known: dict[str, str | None] = {}
    if language is not None and len(posts) <= CLUSTERED:
        known = {post.id: language(post) for post in posts}
    points = {}
    if share.map and encode is not None:
        points = map_of(_best_first(ranking), encode)
    for kept in ranking:
        seen: set[int] = set()
        for item in kept:
            number, size = clusters.get(item.post.id, (None, None))
            if dedupe:
                assert number is not None
                if number in seen:
                    continue
                seen.add(number)
            row = row_of(item)
            if one_name and ranking.seeds.over:
                row["article"] = "all"
            if dedupe:
                row["rank"] = len(seen)
            if not bare:
                row |= {
                    "lang": row["lang"] or known.get(item.post.id),
                    "cluster": number,
                    "cluster_size": size,
                    "terms": terms[item.post.id],
                    "author": share.author_of(item.post),
                    **points.get(item.post.id, {}),
                }
            yield row


def _best_first(ranking: Ranking) -> list[Post]:
    """The first posts of all lists, then the second ones, as many as a map shows."""
    heads = [found[:MAP_POINTS] for found in ranking]
    return [item.post for line in zip_longest(*heads) for item in line if item is not None]


def write_meta(
    out: Path,
    *,
    kind: str,
    model: Mapping[str, str],
    counts: Mapping[str, int],
    histogram: Mapping[str, Any],
    titles: Mapping[str, str],
    decided: Decided,
    threshold: float | None = None,
    remarks: Iterable[str] = (),
    languages: Mapping[str, Any] | None = None,
) -> None:
    """Write ``<out>.meta.json``: what the search knew beyond its results, and their hash.

    Beside a pipe or a device there is no place for it, and nothing is written.

    Args:
        out: the results, already written.
        kind: what the scores are.
        model: ``folder`` and ``sha256``.
        counts: ``read``, ``rejected``, ``duplicates``, ``kept`` and others.
        histogram: ``edges`` and ``counts`` over all posts that were scanned.
        titles: of the seeds, by id.
        decided: what the search looked for.
        threshold: from which posts were kept.
        remarks: what a reader of the results must know.
        languages: of the ``seeds``, by id, and of the ``pool``, as shares of a sample.
    """
    if is_stream(out):
        return
    meta = {
        "command": command(),
        "provenance": {**provenance(), "model": dict(model)},
        "score": kind,
        "threshold": threshold,
        "counts": dict(counts),
        "histogram": dict(histogram),
        "titles": dict(titles),
        "languages": dict(languages or {}),
        "about": dict(decided.decisions),
        "choice": decided.plain(),
        "remarks": list(remarks),
        "sha256": file_sha256(out),
    }
    with atomic_write(out.with_name(out.name + ".meta.json")) as stream:
        json.dump(meta, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
