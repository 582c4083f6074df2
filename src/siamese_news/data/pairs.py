"""A table of pairs, CSV or TSV: articles and posts as texts, or as ids with two more tables."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from siamese_news.data.articles import read_articles
from siamese_news.data.lines import BadRow
from siamese_news.data.readers import open_posts
from siamese_news.data.readers.delimited import (
    TABLES,
    Table,
    layout_of_file,
    refuse_repeated,
    table_rows,
)
from siamese_news.data.readers.fields import normal
from siamese_news.data.readers.inputs import LINES, plain_suffix
from siamese_news.data.records import (
    Article,
    Collection,
    Post,
    Qrels,
    check_id,
    clean_text,
)
from siamese_news.data.trec import put_grade
from siamese_news.errors import InputError
from siamese_news.utils.files import open_binary, reading

#: Where a table of pairs with ids finds the texts: files of these names next to it.
ARTICLES, POSTS = "articles", "posts"
_SIDES = {"article": ARTICLES, "post": POSTS}
_COLUMNS = ("article", "post", "article_id", "post_id", "title", "score", "split")
_PACKED = ("", ".gz", ".zst")


def is_table(path: str | Path) -> bool:
    """Whether a path has the ending of a table, packed or not."""
    return plain_suffix(path) in TABLES


def read_pairs(path: str | Path, columns: Mapping[str, str] = {}) -> Collection:
    """Read a table of pairs, plain, ``.gz`` or ``.zst``.

    A row has ``article`` and ``post``, their texts, or ``article_id`` and ``post_id``, ids of a
    table ``articles`` and a table ``posts`` in the same folder (CSV, TSV or JSON lines), which have
    ``id`` and ``text``. Further columns may be ``title`` of the article, ``score`` (a whole number;
    1 or more, the default, is a pair; higher grades count in nDCG) and ``split`` (default
    ``train``). A post may be under several articles, one a row.

    Args:
        path: of the table.
        columns: the names that these columns have in it where they differ, such as ``{"post":
            "tweet"}``.

    Raises:
        InputError: a column is missing, an id has no text or two, a text is empty; the message
            begins with file and line.
    """
    table = Path(path)
    names = _our_names(table, columns)
    there = [*names.values()]
    for side, file in _SIDES.items():
        if not {side, f"{side}_id"} & {*there}:
            raise InputError(
                f"{table}:1: no column '{side}', only {', '.join(there)}; expected article and "
                f"post (texts), or article_id and post_id (ids of a table {file} next to it), or "
                f"data.columns={{{side}: NAME}} for a column of another name"
            )
    articles: dict[str, Article] = {}
    posts: dict[str, Post] = {}
    if "article" not in there:
        articles = {a.id: a for a in read_articles(_next_to(table, ARTICLES))}
    if "post" not in there:
        posts = {p.id: p for p in open_posts(_next_to(table, POSTS), strict=True)}
    ids: dict[str, dict[str, str]] = {side: {} for side in _SIDES}
    qrels: dict[str, Qrels] = {}
    for location, row in _rows(table, names):
        title = clean_text(row.get("title", "")).strip()
        article = _id(location, row, "article", ids, articles, title)
        if "article" in there:
            new = Article(article, clean_text(row["article"]).strip(), title=title)
            _same(location, "article", articles.setdefault(article, new), new)
        post = _id(location, row, "post", ids, posts)
        if "post" in there:
            text = Post(post, clean_text(row["post"]).strip())
            _same(location, "post", posts.setdefault(post, text), text)
        split = row.get("split", "").strip() or "train"
        grade = row.get("score", "").strip() or "1"
        pairs = qrels.setdefault(split, {})
        # The same row twice is one pair.
        if str(pairs.get(article, {}).get(post)) != grade:
            put_grade(pairs, location, article, post, grade)
    if not qrels:
        raise InputError(
            f"{table}: no pair in the file, only a header; expected a pair a row"
        )
    return Collection(
        name=table.name.split(".")[0], articles=articles, posts=posts, qrels=qrels
    )


def splits_in(path: str | Path, columns: Mapping[str, str] = {}) -> set[str]:
    """The splits that the rows of a table name."""
    return {
        row.get("split", "").strip() or "train"
        for _, row in _rows(Path(path), _our_names(Path(path), columns))
    }


def _our_names(table: Path, columns: Mapping[str, str]) -> dict[str, str]:
    """Our name of each column of a table, by the normal form of its own."""
    if unknown := [name for name in columns if name not in _COLUMNS]:
        raise InputError(
            f"data.columns has {', '.join(unknown)}; expected among {', '.join(_COLUMNS)}"
        )
    distinct = {normal(name) for name in columns.values() if isinstance(name, str)}
    if len(distinct) < len(columns):
        raise InputError(
            f"data.columns={dict(columns)}: expected the name of another column for each"
        )
    in_file = [normal(name) for name in _layout(table).names]
    refuse_repeated(in_file, in_file, f"{table}:1")
    names = {name: name for name in in_file}
    for ours, theirs in columns.items():
        if normal(theirs) not in names:
            raise InputError(
                f"{table}:1: no column '{theirs}' (data.columns: {ours}), only {', '.join(names)}"
            )
        # A column that is called like one of ours, and is not the one meant.
        names |= {n: f"other {n}" for n, name in names.items() if name == ours}
        names[normal(theirs)] = ours
    return names


def _layout(table: Path) -> Table:
    with reading(table), open_binary(table) as stream:
        return layout_of_file(stream, str(table), plain_suffix(table), "a pair")


def _rows(
    table: Path, names: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """(``file:line``, values by our names of the columns) of each row."""
    layout = _layout(table)
    with reading(table), open_binary(table) as stream:
        for number, row, _ in table_rows(stream, layout):
            location = f"{table}:{number}"
            if isinstance(row, BadRow):
                raise InputError(f"{location}: {row.message}")
            yield location, {names[normal(n)]: str(value) for n, value in row.items()}


def _id(
    location: str,
    row: Mapping[str, str],
    side: str,
    ids: Mapping[str, dict[str, str]],
    there: Mapping[str, object],
    title: str = "",
) -> str:
    """The id of a row's article or post: its own, or a number for a text that comes without one."""
    column = f"{side}_id"
    if side in row and not (row[side].strip() or title):
        raise InputError(
            f"{location}: field '{side}' is empty, expected its text; remove the row"
        )
    if column not in row:
        text = f"{title}\n{clean_text(row[side]).strip()}"
        return ids[side].setdefault(text, f"{side[0]}{len(ids[side]) + 1}")
    id = check_id(row[column].strip(), f"{location}: field '{column}'")
    if side not in row and id not in there:
        raise InputError(
            f"{location}: field '{column}' is '{id}', which the table {_SIDES[side]} next to it does "
            "not have; remove the row or add the id there"
        )
    return id


def _same(
    location: str, side: str, earlier: Article | Post, new: Article | Post
) -> None:
    if earlier != new:
        raise InputError(
            f"{location}: field '{side}_id' is '{new.id}', which an earlier row has with another "
            "text; give each text an id of its own"
        )


def _next_to(table: Path, name: str) -> Path:
    endings = [suffix + packed for suffix in (*TABLES, *LINES) for packed in _PACKED]
    for ending in endings:
        path = table.with_name(name + ending)
        if path.is_file() and path != table:
            return path
    raise InputError(
        f"{table}: has ids, whose texts are looked for in {table.with_name(name)}.csv (or .tsv, "
        ".jsonl), which is not there; add that file, or a column of texts"
    )
