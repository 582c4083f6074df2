"""The data of the AST paper's authors, for those who have it, as a folder of articles and posts.

``python -m papers.ast.tweet_linking train.jsonl $SIAMESE_NEWS_DATA/tweet-linking`` makes the folder
of ``data=tweet_linking``.
"""

import json
import re
import sys
from pathlib import Path

from siamese_news.data import Article, Collection, Post, Qrels
from siamese_news.data.jsonl import read_jsonl
from siamese_news.data.lines import refused_at
from siamese_news.data.readers.values import text_of
from siamese_news.data.records import check_id
from siamese_news.errors import InputError

_STARTS_WITH_WORD = re.compile(r"\w")


def read_ast(path: str | Path) -> Collection:
    """Read the JSON lines of the AST paper's authors into a collection with the split ``train``.

    Each line is a pair: ``url`` (the article's id, white space percent-encoded), ``article`` (the
    first of a url counts) and ``text``. A post's id is ``line-<number>``. A row whose article or
    tweet does not begin with a word character is dropped, as by the authors' reader.

    Raises:
        InputError: for unreadable files and records, and where no row is left.
    """
    articles: dict[str, Article] = {}
    posts: dict[str, Post] = {}
    qrels: Qrels = {}
    rows = 0
    for number, record in read_jsonl(path):
        where = f"{path}:{number}"
        with refused_at(where):
            url, article, text = (
                text_of(record, name) for name in ("url", "article", "text")
            )
        article_id = check_id(
            re.sub(r"\s+", "%20", url.strip()), f"{where}: field 'url'"
        )
        rows += 1
        if not (_STARTS_WITH_WORD.match(article) and _STARTS_WITH_WORD.match(text)):
            continue
        articles.setdefault(article_id, Article(id=article_id, text=article))
        post_id = f"line-{number}"
        posts[post_id] = Post(id=post_id, text=text)
        qrels.setdefault(article_id, {})[post_id] = 1
    if not posts:
        raise InputError(
            f"{path}: all {rows} rows have an article or a text that does not begin with a word "
            "character; expected pairs of plain text in the fields 'article' and 'text'"
        )
    name = Path(path).name.split(".")[0]
    return Collection(name, articles, posts, {"train": qrels})


def write(collection: Collection, folder: Path) -> None:
    """Write a collection in the BEIR layout; its folder must not exist."""
    (folder / "qrels").mkdir(parents=True)
    for name, records in (
        ("queries.jsonl", collection.articles),
        ("corpus.jsonl", collection.posts),
    ):
        rows = (
            json.dumps({"_id": id, "text": one.text}) + "\n"
            for id, one in records.items()
        )
        (folder / name).write_text("".join(rows), encoding="utf-8")
    for split, qrels in collection.qrels.items():
        pairs = [
            f"{a}\t{p}\t{grade}\n"
            for a, own in qrels.items()
            for p, grade in own.items()
        ]
        table = "query-id\tcorpus-id\tscore\n" + "".join(pairs)
        (folder / "qrels" / f"{split}.tsv").write_text(table, encoding="utf-8")


if __name__ == "__main__":
    write(read_ast(sys.argv[1]), Path(sys.argv[2]))
