"""Named sources of data, and the evaluation sets cut from them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siamese_news.data.beir import bundled, read_collection, read_corpus, splits_of
from siamese_news.data.pairs import is_table, read_pairs, splits_in
from siamese_news.data.records import Article, Collection, Post, Qrels
from siamese_news.data.splits import pool_qrels, relevant_pairs
from siamese_news.errors import InputError

BUNDLED = "stories"
VARIABLE = "SIAMESE_NEWS_DATA"


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """Articles, the posts to rank for each of them, and the relevant ones.

    With `one_story` all articles are seeds of one story and share the relevant posts, which the
    qrels list once, under one of them: rank by the mean score over the seeds.
    """

    name: str
    articles: list[Article]
    posts: list[Post]
    qrels: Qrels
    one_story: bool = False


def open_source(folder: str, columns: Mapping[str, str] = {}) -> Collection:
    """The collection that a configuration names.

    ``stories`` ships with the package. Any other name is a folder in the BEIR layout or a table of
    pairs (`read_pairs`, which `columns` are for), inside ``$SIAMESE_NEWS_DATA`` or by its full
    path.

    Raises:
        InputError: as `data_path` and the readers, or there are columns for a folder.
    """
    if columns and not is_table(Path(folder)):
        raise InputError(
            f"{folder}: is not a table, so it has no columns to name ({', '.join(columns)}); expected "
            "a table of pairs (.csv, .tsv), or no data.columns"
        )
    if folder == BUNDLED:
        return bundled()
    path = data_path(folder)
    return read_pairs(path, columns) if is_table(path) else read_collection(path)


def splits_at(folder: str, columns: Mapping[str, str] = {}) -> set[str]:
    """The splits of a source as `open_source` names it; its texts are not read."""
    path = data_path(folder)
    return splits_in(path, columns) if is_table(path) else splits_of(path)


def open_posts_of(folder: str) -> dict[str, Post]:
    """The posts alone of a source as `open_source` names it; it may lack articles and pairs."""
    if folder == BUNDLED:
        return bundled().posts
    path = data_path(folder)
    return read_pairs(path).posts if is_table(path) else read_corpus(path)


def data_path(folder: str) -> Path:
    """The path of a source: absolute, a path from the current folder, or in ``$SIAMESE_NEWS_DATA``.

    A table, and a name with a folder in front, are paths from the current folder if they exist
    there; a bare name is always that of a folder in ``$SIAMESE_NEWS_DATA``.

    Raises:
        InputError: it does not exist, or the variable does not name a folder.
    """
    path = Path(folder).expanduser()
    is_path = is_table(path) or len(path.parts) > 1
    root = os.environ.get(VARIABLE)
    if is_path and (path.exists() or path.is_absolute() or not root):
        if not path.exists():
            raise InputError(
                f"{folder}: no such folder or file; expected a folder in the BEIR layout, or a "
                "table of pairs (.csv, .tsv)"
            )
        return path.absolute()
    if not root:
        raise InputError(
            f"the data '{folder}' is looked for in the folder that the environment variable "
            f"{VARIABLE} names, which is not set; set it (export {VARIABLE}=/path/to/data), give "
            f"the full path, or take data={BUNDLED}, which ships with the package"
        )
    if not Path(root).is_dir():
        raise InputError(
            f"{VARIABLE} is '{root}', which is not a folder; set it to one that is"
        )
    path = Path(root) / path
    if not path.exists():
        there = (
            ", ".join(sorted(p.name for p in Path(root).iterdir())[:20]) or "nothing"
        )
        raise InputError(
            f"{path}: no such folder or file; {VARIABLE} holds: {there}. Give the full path of "
            "a folder elsewhere"
        )
    return path


def evaluation_set(collection: Collection, entry: Mapping[str, Any]) -> EvaluationSet:
    """Cut an evaluation set from a collection.

    The entry has ``split``; ``pool``: ``linked`` (default: the posts of the split's qrels) or
    ``with_unlinked`` (also every post that is in no qrels at all); ``one_story``.

    Raises:
        InputError: for an unknown split or pool, and a split without a relevant pair.
    """
    split = entry["split"]
    qrels = collection.split(split)
    if not relevant_pairs(qrels):
        raise InputError(
            f"split '{split}' of '{collection.name}' has no relevant pair to find"
        )
    pool = entry.get("pool", "linked")
    if pool not in ("linked", "with_unlinked"):
        raise InputError(f"pool is '{pool}', expected linked or with_unlinked")
    one_story = bool(entry.get("one_story", False))
    pool_ids = set().union(*qrels.values())
    if pool == "with_unlinked":
        pool_ids |= collection.posts.keys() - set().union(
            *pool_qrels(collection.qrels).values()
        )
    return EvaluationSet(
        name=f"{collection.name}/{split}",
        articles=[
            a for a in collection.articles.values() if one_story or a.id in qrels
        ],
        posts=[post for post in collection.posts.values() if post.id in pool_ids],
        qrels=qrels,
        one_story=one_story,
    )
