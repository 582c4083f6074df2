"""The file format of the authors of the Adaptive Siamese Transformer.

JSON lines with ``url``, ``article``, ``text``: one (article, tweet) pair per line, the label is
the url. As in their reader, a row whose article or tweet does not begin with a word character
(so: with a mention, a hashtag, a quotation mark) is dropped.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from siamese_news.data.jsonl import read_jsonl, text_of
from siamese_news.data.records import Article, Collection, Post, Qrels, check_id
from siamese_news.errors import InputError

_STARTS_WITH_WORD = re.compile(r"\w")
SPLIT = "train"


@dataclass(frozen=True, slots=True)
class AstFile:
    """What a file held, and how many of its rows were dropped."""

    collection: Collection
    rows: int
    dropped: int


def read_ast(path: str | Path) -> AstFile:
    """Read the authors' JSON lines into a collection with the one split ``train``.

    An article's id is its url (white space percent-encoded); where rows with one url differ in
    the article, the first one counts. A post's id is ``line-<number>``.

    Raises:
        InputError: for unreadable files and records, and where no row is left.
    """
    articles: dict[str, Article] = {}
    posts: dict[str, Post] = {}
    qrels: Qrels = {}
    rows = dropped = 0
    for number, record in read_jsonl(path):
        where = f"{path}:{number}"
        url = re.sub(r"\s+", "%20", text_of(record, ["url"], where).strip())
        article_id = check_id(url, f"{where}: field 'url'")
        article = text_of(record, ["article"], where)
        text = text_of(record, ["text"], where)
        rows += 1
        if not (_STARTS_WITH_WORD.match(article) and _STARTS_WITH_WORD.match(text)):
            dropped += 1
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
    return AstFile(Collection(name, articles, posts, {SPLIT: qrels}), rows, dropped)
