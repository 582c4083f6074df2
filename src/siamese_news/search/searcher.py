"""The search from Python: lists, data frames or iterators of posts in, plain records out."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from html import escape
from importlib import import_module
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Unpack

from siamese_news.errors import InputError
from siamese_news.model.loading import AnyModel, ExternalModel, explainable, open_model
from siamese_news.model.text_model import TextModel
from siamese_news.scoring import Scorer
from siamese_news.search.cpu_threads import one_thread_of_products
from siamese_news.search.explain.explainer import explain_nearest
from siamese_news.search.explain.output import record_of
from siamese_news.search.filtering import filter_posts, filter_remarks, filtered_rows
from siamese_news.search.index.post_index import PostIndex, open_index
from siamese_news.search.keyword_list import find_keywords
from siamese_news.search.opened_query import OpenQuery, open_query
from siamese_news.search.pool import Pool
from siamese_news.search.post_ranking import rank_posts
from siamese_news.search.python_inputs import (
    Articles,
    CheckedPosts,
    Frame,
    Posts,
    articles_of,
    posts_of,
    results_of_search,
)
from siamese_news.search.query import (
    FILTER,
    NO_LOOK,
    Query,
    SearchOptions,
    check_cut,
)
from siamese_news.search.report import results_of, write_report
from siamese_news.search.report.report_data import NEEDED
from siamese_news.search.result_rows import ranking_rows
from siamese_news.search.scan import StreamPool
from siamese_news.search.seeds import Seeds
from siamese_news.utils.extras import import_problem
from siamese_news.utils.terminal import counted, verb

log = logging.getLogger(__name__)
_SHOWN = 10
# Files have the short names.
_IN_PYTHON = {"article": "article_id", "post": "post_id"}
_IN_FILES = {name: short for short, name in _IN_PYTHON.items()}


class Records(list[dict[str, Any]]):
    """Rows as a list of dicts, which a notebook shows as a table."""

    def __repr__(self) -> str:
        columns = ", ".join(self[0]) if self else "none"
        return f"<{counted(len(self), 'record')}; columns: {columns}>"

    def to_pandas(self) -> Any:
        """A data frame with a row for each record; an `InputError` if pandas is not installed."""
        try:
            pandas = import_module("pandas")
        except Exception as error:  # whatever its code raises
            problem = import_problem(error, "pandas", "pandas")
            raise InputError(f"to_pandas needs {problem}") from error
        return pandas.DataFrame(self)

    def _repr_html_(self) -> str:
        """A table of the first rows, without the columns that are empty in all of them."""
        rows = self[:_SHOWN]
        columns = [
            name for name in (rows[0] if rows else ()) if any(row[name] for row in rows)
        ]
        lines = [columns, *([_cell(row[name]) for name in columns] for row in rows)]
        parts = [
            f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in line)}</tr>"
            for tag, line in zip(["th", *["td"] * len(rows)], lines, strict=True)
        ]
        total = counted(len(self), "record")
        return f"<table>{''.join(parts)}</table><p>{len(rows):,} of {total}</p>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(map(_cell, value))
    return f"{value:.4f}" if isinstance(value, float) else str(value)


class Searcher:
    """Finds the posts about articles.

    Articles and posts are texts, dicts, tables of pandas, polars or pyarrow, or iterables of
    `Article` and `Post`, such as those of `siamese_news.read_articles` and
    `siamese_news.open_posts`; one alone is a list of one. The fields of a dict or a row are
    recognized by their names, as in a CSV file; without an id, its position counts, from 0. A
    missing text makes an empty post; results leave out empty posts, and their number is logged.

    Args:
        model: a `TextModel`, an `ExternalModel`, or the path of a folder of ours, of
            sentence-transformers or of model2vec; None is the model that ships with the package.
        progress: show how many posts have been read, on standard error; or a function that is
            called with this number after each 8,192 posts and at the end.

    Decisions and remarks of a search go to the logger ``siamese_news.search.searcher``, at the
    level INFO.

    Raises:
        InputError: the folder does not exist or is not a model, or its library is missing.

    Example:
        >>> from siamese_news import Searcher
        >>> article = "A river floods a town. Cellars are full of water."
        >>> posts = ["new phone today", "the river is in my cellar"]
        >>> [row["text"] for row in Searcher().rank([article], posts, top=1)]
        ['the river is in my cellar']
    """

    def __init__(
        self,
        model: AnyModel | str | PathLike[str] | None = None,
        *,
        progress: bool | Callable[[int], None] = False,
    ) -> None:
        self._model_name = "pretrained" if model is None else str(model)
        if model is None or isinstance(model, str | PathLike):
            model = open_model(model)
        elif not isinstance(model, TextModel | ExternalModel):
            raise InputError(
                f"model is a {type(model).__name__}; expected the path of a folder, a "
                "model from open_model, or None for the model that ships. An encoder of "
                "sentence-transformers or model2vec is saved into a folder first: "
                "model.save_pretrained('minilm'), then Searcher('minilm')"
            )
        else:
            self._model_name = type(model).__name__
        if not isinstance(progress, bool) and not callable(progress):
            raise InputError(
                f"progress is {progress!r}; expected True, False or a function that takes the "
                "number of posts read"
            )
        self.model: AnyModel = model
        self.progress = progress

    def __repr__(self) -> str:
        return f"Searcher({self._model_name!r})"

    def open_index(self, path: str | PathLike[str]) -> PostIndex:
        """Open an index from ``siamese-news index``, to search instead of posts.

        Args:
            path: its folder.

        Raises:
            InputError: it was built with another model, is damaged or has another version.
        """
        return open_index(path, self.model)

    @one_thread_of_products()
    def rank(
        self,
        articles: Articles,
        posts: Posts | Pool,
        *,
        top: int = 100,
        negatives: Articles = (),
        one_story: bool = False,
        distinct: bool | None = None,
        **options: Unpack[SearchOptions],
    ) -> Records:
        """The `top` posts of each article, best first.

        Args:
            articles: the seeds.
            posts: any number of posts; an iterator is read once and kept on disk meanwhile. Or an
                index of them (`open_index`).
            top: how many posts of each article.
            negatives: articles about different stories; their score is subtracted.
            one_story: the seeds tell one story: one list for all, and the pool is judged for all
                of them at once. Otherwise a list for each.
            distinct: the seeds tell different stories: a post falls in the lists of all seeds but
                the one it fits best (`Seeds`). None: a post that fits an unrelated seed better
                falls. False: no list depends on another seed.
            **options: how to search, which posts to leave out and what to add: `SearchOptions`.

        Returns:
            A record for each row, with the columns of ``siamese-news rank``; ``article`` and
            ``post`` are called ``article_id`` and ``post_id`` here.

        Raises:
            InputError: no article, no post, a duplicate id, a value that is not text, an invalid
                date, posts without dates, or a fusion that the model does not support.
        """
        base = Query(top=top, one_story=one_story, distinct=distinct)
        query = _query(base, options)
        opened = self._opened(query, articles, negatives)
        pool = self._pool(posts)
        ranking = rank_posts(opened, pool)
        self._say(opened, ranking.scorer, pool, ranking.remarks)
        return _records(ranking_rows(ranking, opened), query)

    @one_thread_of_products()
    def filter(
        self,
        articles: Articles,
        posts: Posts | Pool,
        *,
        threshold: float | None = None,
        min_score: float | None = None,
        negatives: Articles = (),
        **options: Unpack[SearchOptions],
    ) -> Records:
        """Every post whose relevance, or score over the seeds, is high enough, best first.

        Args:
            articles: the seeds, which tell one story.
            posts: as for `rank`.
            threshold: the lowest relevance to keep, from 0 to 1; 0.5 keeps the posts that are more
                likely relevant than not.
            min_score: the lowest score to keep; with a threshold, both decide.
            negatives: articles about different stories; their score is subtracted.
            **options: `SearchOptions`; `about` is ``event`` unless you choose another value.

        Returns:
            Records as those of `rank`; none if no post reaches the threshold.

        Raises:
            InputError: as for `rank`, neither a threshold nor a lowest score is given, or one is
                not a number of its range.
        """
        query = _query(
            replace(FILTER, threshold=threshold, min_score=min_score), options
        )
        check_cut(query)
        opened = self._opened(query, articles, negatives)
        pool = self._pool(posts)
        with TemporaryDirectory() as folder:
            rows = Path(folder) / "rows"
            outcome = filter_posts(opened, pool, rows)
            if not outcome.searched:
                raise InputError("no posts to filter: expected at least one")
            records = _records(filtered_rows(rows, opened, outcome), query)
        relevance = [
            row["relevance"] for row in records if row["relevance"] is not None
        ]
        remarks = partial(filter_remarks, opened, outcome, relevance)
        self._say(opened, outcome.scorer, pool, remarks)
        return records

    @one_thread_of_products()
    def explain(self, articles: Articles, posts: Posts | Pool) -> Records:
        """Explain the scores of posts, each for the closest article.

        The scores are those of these posts alone, without a pool.

        Args:
            articles: the seeds.
            posts: a few posts.

        Returns:
            A record for each post with its sentences, its words and the test, as ``siamese-news
            explain --format jsonl`` writes it.

        Raises:
            InputError: as for `rank`, or the model is another library's, which cannot be explained.
        """
        model = explainable(self.model)
        if isinstance(posts, Pool):
            raise InputError(
                "explain takes a few posts, not an index; take them out of it by their ids "
                "(PostIndex.find)"
            )
        opened = self._opened(Query(second_look=NO_LOOK), articles, ())
        given_posts = list(posts_of(posts))
        seeds = opened.seeds
        explained = explain_nearest(model, seeds.articles, given_posts, opened.scorer())
        return Records(
            _python_record(record_of(explanation)) for explanation in explained
        )

    def keywords(
        self,
        results: Iterable[Mapping[str, Any]] | Frame,
        posts: Posts | Pool,
        *,
        limit: int = 20,
    ) -> Records:
        """Keywords that would have found these posts.

        Args:
            results: records from `rank` or `filter`, or a table of them.
            posts: the pool they were found in.
            limit: maximum number of terms.

        Returns:
            A record for each term, best first, as ``siamese-news keywords --format jsonl`` writes
            it.

        Raises:
            InputError: none of these posts is in the pool, or the pool has no others; the results
                are no records of a search, or `limit` is no whole number from 1 on.
        """
        if type(limit) is not int or limit < 1:
            raise InputError(f"limit is {limit!r}; expected a whole number from 1 on")
        records = results_of_search(results, ("post_id",))
        texts = {str(row["post_id"]): str(row.get("text") or "") for row in records}
        # Read twice if the texts of the results are others than those of the posts.
        pool = self._pool(list(posts) if isinstance(posts, Iterator) else posts)
        terms = find_keywords(pool, texts, limit=limit, texts=texts.values()).keywords
        return Records(
            {"rank": rank, **asdict(term)} for rank, term in enumerate(terms, 1)
        )

    def report(
        self,
        results: Iterable[Mapping[str, Any]] | Frame,
        out: str | PathLike[str],
        *,
        title: str = "",
    ) -> None:
        """Write results as one HTML page, as ``siamese-news report`` does.

        Args:
            results: records from `rank` or `filter`, or a table of them.
            out: the page; an existing file is replaced.
            title: of the page; by default the name of the file.

        Raises:
            InputError: there are no records, one lacks a field that the page needs, or `out` is no
                path of a file.
        """
        needed = [_IN_PYTHON.get(name, name) for name in NEEDED]
        rows = [
            (f"record {number}", {_IN_FILES.get(name, name): row[name] for name in row})
            for number, row in enumerate(results_of_search(results, needed), 1)
        ]
        if not rows:
            raise InputError(
                "there are no records to report; expected those of a search"
            )
        if not isinstance(out, str | PathLike) or Path(out).is_dir():
            raise InputError(f"out is {out!r}; expected the path of a file to write")
        path = Path(out)
        data = results_of(
            lambda: rows,
            "the records",
            {},
            made_by={"results": "records in Python"},
            title=title or None,
            name=path.stem,
        )
        write_report(path, data)

    def _opened(
        self, query: Query, articles: Articles, negatives: Articles
    ) -> OpenQuery:
        seeds = Seeds(
            articles_of(articles),
            articles_of(negatives),
            query.one_story,
            (),
            bool(query.distinct),
        )
        if query.second_look is None and self._model_name != "pretrained":
            query = replace(query, second_look=NO_LOOK)
        return open_query(query, seeds, self.model)

    def _say(
        self,
        opened: OpenQuery,
        scorer: Scorer,
        pool: Pool,
        search_remarks: Callable[[], Iterable[str]],
    ) -> None:
        """Log the lines that the commands print on the console."""
        if not log.isEnabledFor(logging.INFO):
            return
        opened.languages.note(pool.sample())
        seeds = opened.seeds.remarks()
        for line in (
            opened.decided(scorer),
            *seeds,
            *opened.remarks(*search_remarks()),
        ):
            if line:
                log.info("%s", line)

    def _pool(self, posts: Posts | Pool) -> Pool:
        """The posts, checked and, if the user wants that, counted."""
        if isinstance(posts, Pool):
            return posts
        pool = StreamPool(CheckedPosts(posts_of(posts), self.progress))
        pool.on_second_pass = partial(log.info, "the posts are scored once more: %s")
        return pool


def _query(base: Query, options: SearchOptions) -> Query:
    """The query with these options, and no others."""
    if unknown := options.keys() - SearchOptions.__annotations__.keys():
        raise TypeError(
            f"unexpected option {min(unknown)!r}; expected some of "
            f"{', '.join(SearchOptions.__annotations__)}"
        )
    paths = {
        name: Path(str(options[name]))
        for name in ("second_look", "relevance_map")
        if options.get(name) is not None
    }
    return replace(base, **{**options, **paths})  # type: ignore[arg-type]


def _records(rows: Iterable[Mapping[str, Any]], query: Query) -> Records:
    """The rows with the names of fields that an importer reads, without the empty posts."""
    records = Records()
    empty = 0
    for row in rows:
        if not str(row.get("text") or "").strip():
            empty += 1
            continue
        records.append(_python_record({name: row.get(name) for name in query.columns}))
    if empty:
        posts = f"{counted(empty, 'post')} with an empty text"
        log.info("%s %s left out of the result", posts, verb(empty, "are"))
    return records


def _python_record(row: Mapping[str, Any]) -> dict[str, Any]:
    return {_IN_PYTHON.get(name, name): value for name, value in row.items()}
