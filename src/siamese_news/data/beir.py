"""The BEIR layout: queries.jsonl = articles, corpus.jsonl = posts, qrels/<split>.tsv = pairs."""

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from siamese_news.data.articles import read_articles
from siamese_news.data.readers import open_posts
from siamese_news.data.records import Article, Collection, Post, Qrels
from siamese_news.data.trec import put_grade, rows_of
from siamese_news.errors import InputError

_ENDINGS = ("", ".gz", ".zst")


def bundled() -> Collection:
    """The corpus that ships with the package: invented stories, written for this project."""
    with resources.as_file(resources.files("siamese_news.data.stories")) as folder:
        return read_collection(folder)


def read_collection(
    folder: str | Path, *, splits: Sequence[str] | None = None
) -> Collection:
    """Read ``queries.jsonl``, ``corpus.jsonl`` and ``qrels/<split>.tsv`` of a folder.

    Each may be plain, ``.gz`` or ``.zst``. Only some `splits` are read if they are named.

    Raises:
        InputError: for a missing, empty or damaged file, a bad record, an id used twice, a qrel
            that names an unknown id; the message names file, line and field.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError(
            f"{root}: no such folder; expected queries.jsonl, corpus.jsonl and qrels/ in it"
        )
    articles = {
        article.id: article for article in read_articles(_file(root, "queries.jsonl"))
    }
    posts = read_corpus(root)
    names = sorted(splits_of(root)) if splits is None else list(splits)
    qrels = {
        name: _qrels(_file(root / "qrels", f"{name}.tsv"), articles, posts)
        for name in names
    }
    return Collection(
        name=root.resolve().name, articles=articles, posts=posts, qrels=qrels
    )


def read_corpus(folder: str | Path) -> dict[str, Post]:
    """The posts alone of a folder in the BEIR layout; it may lack articles and pairs.

    Raises:
        InputError: as `read_collection`.
    """
    return {
        post.id: post
        for post in open_posts(_file(Path(folder), "corpus.jsonl"), strict=True)
    }


def _file(folder: Path, name: str) -> Path:
    for ending in _ENDINGS:
        path = folder / f"{name}{ending}"
        if path.exists():
            return path
    raise InputError(
        f"{folder / name}: no such file, nor {name}.gz or {name}.zst; check the path"
    )


def splits_of(root: Path) -> set[str]:
    """The splits of a folder in the BEIR layout, by the names of its qrels."""
    names = {
        path.name.split(".tsv")[0]
        for path in (
            path for end in _ENDINGS for path in (root / "qrels").glob(f"*.tsv{end}")
        )
    }
    if not names:
        raise InputError(
            f"{root / 'qrels'}: no qrels there, expected at least one <split>.tsv"
        )
    return names


def _qrels(
    path: Path, articles: Mapping[str, Article], posts: Mapping[str, Post]
) -> Qrels:
    qrels: Qrels = {}
    for location, (article, post, grade) in rows_of(
        path, "query-id corpus-id score", "\t"
    ):
        for column, id, ids_there, file in (
            ("query-id", article, articles, "queries.jsonl"),
            ("corpus-id", post, posts, "corpus.jsonl"),
        ):
            if id not in ids_there:
                raise InputError(
                    f"{location}: field '{column}' is '{id}', which {file} does not have; remove the "
                    "line or add the id there"
                )
        put_grade(qrels, location, article, post, grade)
    if not qrels:
        raise InputError(
            f"{path}: no pair in the file, expected query-id, corpus-id, score"
        )
    return qrels
