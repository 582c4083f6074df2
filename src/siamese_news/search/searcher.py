"""The search from Python: lists, data frames or any iterator of posts in, plain records out."""

import logging
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import asdict
from html import escape
from importlib import import_module
from numbers import Real
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.model.loading import AnyModel, ExternalModel, explainable, open_model
from siamese_news.model.siamese import Model
from siamese_news.scoring import About, Fusion, Scorer, open_scorer
from siamese_news.search.explain.explainer import explain_nearest
from siamese_news.search.explain.output import record_of
from siamese_news.search.export import ExportOptions, ranking_rows
from siamese_news.search.filter import filter_posts, filtered_rows
from siamese_news.search.index.pool import PostIndex, open_index
from siamese_news.search.inputs import Articles, Posts, articles_of, posts_of
from siamese_news.search.keywords import find_keywords
from siamese_news.search.languages import SearchLanguages
from siamese_news.search.output import COLUMNS, write_rows
from siamese_news.search.partial_results import PartialResults
from siamese_news.search.rank import search
from siamese_news.search.remarks import foreign_remarks, order_remarks
from siamese_news.search.report import read_results, write_report
from siamese_news.search.scan import CountedPosts, ReplayablePosts
from siamese_news.search.seeds import Aggregate, Decided, Seeds
from siamese_news.search.threads import one_thread_of_numpy
from siamese_news.search.window import Window

log = logging.getLogger(__name__)
_SHOWN = 10
# Files have had the short names from the start; a record says what it holds.
_IN_PYTHON = {"article": "article_id", "post": "post_id"}
_IN_FILES = {name: short for short, name in _IN_PYTHON.items()}


class Records(list[dict[str, Any]]):
    """Rows as a list of dicts, which a notebook shows as a table of the first ones."""

    def __repr__(self) -> str:
        columns = ", ".join(self[0]) if self else "none"
        return f"<{len(self):,} records; columns: {columns}>"

    def to_pandas(self) -> Any:
        """A data frame with a row for each record.

        Raises:
            InputError: pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise InputError("to_pandas needs pandas; run pip install pandas") from error
        return pandas.DataFrame(self)

    def _repr_html_(self) -> str:
        """A table of the first rows, without the columns that are empty in all of them."""
        rows = self[:_SHOWN]
        columns = [name for name in (rows[0] if rows else ()) if any(row[name] for row in rows)]
        lines = [columns, *([_cell(row[name]) for name in columns] for row in rows)]
        parts = [
            f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in line)}</tr>"
            for tag, line in zip(["th", *["td"] * len(rows)], lines, strict=True)
        ]
        return f"<table>{''.join(parts)}</table><p>{len(rows):,} of {len(self):,} records</p>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(map(_cell, value))
    return f"{value:.4f}" if isinstance(value, float) else str(value)


class Searcher:
    """Finds the posts about articles.

    Articles and posts are texts, dicts, tables of pandas, polars or pyarrow, or iterables of
    `Article` and `Post`, such as `siamese_news.read_articles` and `siamese_news.open_posts` give;
    one alone is a list of one. Of a dict or a row the fields are found by their names as in a CSV
    file; where there is no id, it is the place, from 0. A missing text is an empty post; empty
    posts are in no result, and their number is logged.

    Args:
        model: a `Model`, an `ExternalModel`, or the path of a folder of ours, of
            sentence-transformers or of model2vec; None is the model that ships with the package.
        progress: show how many posts have been read, on standard error; or a function that is
            called with this number after each 8,192 posts and at the end.

    What a search has decided and found remarkable goes to the logger
    ``siamese_news.search.searcher``, at the level INFO.

    Raises:
        InputError: no such folder, a library that is not installed, or what is no model.

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
        self._named = "pretrained" if model is None else str(model)
        if model is None or isinstance(model, str | PathLike):
            model = open_model(model)
        elif not isinstance(model, Model | ExternalModel):
            raise InputError(
                f"model is a {type(model).__name__}; expected the path of a folder, what "
                "open_model gives, or None for the model that ships. An encoder of "
                "sentence-transformers or model2vec is saved into a folder first: "
                "model.save_pretrained('minilm'), then Searcher('minilm')"
            )
        else:
            self._named = type(model).__name__
        if not isinstance(progress, bool) and not callable(progress):
            raise InputError(
                f"progress is {progress!r}; expected True, False or a function that takes the "
                "number of posts read"
            )
        self.model: AnyModel = model
        self.progress = progress

    def __repr__(self) -> str:
        return f"Searcher({self._named!r})"

    def open_index(self, path: str | PathLike[str]) -> PostIndex:
        """An index of posts that ``siamese-news index`` wrote: it takes the place of posts.

        Args:
            path: its folder.

        Raises:
            InputError: it was built with another model, is damaged or of another version.
        """
        return open_index(path, self.model)

    @one_thread_of_numpy
    def rank(
        self,
        articles: Articles,
        posts: Posts,
        *,
        top: int = 100,
        negatives: Articles = (),
        over_seeds: bool = False,
        one_story: bool | None = None,
        aggregate: Aggregate = "max",
        about: About = "auto",
        fusion: Fusion | None = None,
        expand: bool | None = None,
        after: str | None = None,
        before: str | None = None,
        dated_only: bool = False,
        smooth: bool | None = None,
        dedupe: bool = False,
        map: bool = False,
    ) -> Records:
        """The `top` posts of each article, best first.

        Args:
            articles: the seeds.
            posts: any number of posts; an iterator is read once and kept on disk meanwhile. Or an
                index of them (`open_index`).
            top: how many posts of each article.
            negatives: articles of stories that are not meant: they push away.
            over_seeds: one list over all seeds, not one for each.
            one_story: whether the seeds tell one story, so that the pool is judged for all of them
                at once; otherwise what a seed finds does not depend on the others. None: as
                `over_seeds`.
            aggregate: how the scores over several seeds become one.
            about: which posts are wanted: about the ``event``, about this very ``article``, or
                ``auto`` (`open_scorer`).
            fusion: how words and vectors come together; None: as the model says (`open_scorer`).
            expand: whether the best posts speak for the articles as well; None: as the model says.
            after: only posts from this date on (UTC), such as ``2013-04-15``, or undated ones.
            before: only posts before this date, or undated ones.
            dated_only: leave out posts without a date.
            smooth: whether posts that are alike lend each other their scores; None: as the model
                says.
            dedupe: of near-duplicates only the best.
            map: add a place on a map, ``x`` and ``y``, where posts alike lie together.

        Returns:
            A record for each row, with the columns of ``siamese-news rank``; ``article`` and
            ``post`` are called ``article_id`` and ``post_id`` here.

        Raises:
            InputError: no article, no post, an id twice, what is no text, dates that are none or
                that no post has, or a fusion that needs words of a model that has vectors alone.
        """
        seeds = _seeds(articles, negatives, over_seeds, aggregate)
        one_story = over_seeds if one_story is None else one_story
        languages, scorer, source = self._opened(
            seeds, posts, one_story, about=about, fusion=fusion, expand=expand, smooth=smooth
        )
        window = Window.of(after, before, dated_only=dated_only)
        ranking = search(scorer, seeds, source, top=top, window=window, again=_learned)
        if log.isEnabledFor(logging.INFO):
            self._say(Decided.of(scorer, seeds, about), seeds, languages, ranking.remarks())
        share = ExportOptions(map=map)
        rows = ranking_rows(
            ranking,
            share,
            dedupe=dedupe,
            matched=scorer.matched_terms,
            encode=self.model.encode_posts,
            language=languages.of_post,
            one_name=False,
            bare=False,
        )
        return _records(rows, share)

    @one_thread_of_numpy
    def filter(
        self,
        articles: Articles,
        posts: Posts,
        *,
        threshold: float,
        negatives: Articles = (),
        aggregate: Aggregate = "max",
        about: About = "event",
        fusion: Fusion | None = None,
        expand: bool | None = None,
        after: str | None = None,
        before: str | None = None,
        dated_only: bool = False,
        smooth: bool | None = None,
        dedupe: bool = False,
        map: bool = False,
    ) -> Records:
        """Every post whose score over the seeds reaches a threshold, best first.

        Args:
            articles: the seeds.
            posts: see `rank`.
            threshold: the least score.
            negatives: see `rank`.
            aggregate: see `rank`.
            about: see `rank`; here the event unless something else is asked for.
            fusion: see `rank`.
            expand: see `rank`.
            after: see `rank`.
            before: see `rank`.
            dated_only: see `rank`.
            smooth: see `rank`.
            dedupe: see `rank`.
            map: see `rank`.

        Returns:
            See `rank`; empty where no post reaches the threshold.

        Raises:
            InputError: see `rank`; a threshold that is no finite number.
        """
        if not isinstance(threshold, Real) or not math.isfinite(threshold):
            raise InputError(f"threshold is {threshold!r}; expected a finite number")
        seeds = _seeds(articles, negatives, True, aggregate)
        languages, scorer, source = self._opened(
            seeds, posts, True, about=about, fusion=fusion, expand=expand, smooth=smooth
        )
        window, share = Window.of(after, before, dated_only=dated_only), ExportOptions(map=map)
        with (
            TemporaryDirectory() as folder,
            closing(PartialResults(Path(folder) / "found", {}, resume=False)) as part,
        ):
            found = filter_posts(
                scorer, seeds, source, part, threshold=threshold, share=share, window=window,
                again=_learned,
            )  # fmt: skip
            if not found.scored and not isinstance(source, PostIndex):
                raise InputError("there is no post to filter: expected at least one")
            if log.isEnabledFor(logging.INFO):
                remarks = order_remarks(found.scores, {"the seeds": found.scores.highest})
                decided = Decided.of(scorer, seeds, about, threshold)
                self._say(decided, seeds, languages, remarks)
            encode = self.model.encode_posts if map else None
            rows = filtered_rows(
                part.path, dedupe=dedupe, encode=encode, language=languages.of_post
            )
            return _records(rows, share)

    @one_thread_of_numpy
    def explain(self, articles: Articles, posts: Posts) -> Records:
        """Why posts have their scores, each for the article that it is nearest to.

        The scores are those of these posts alone, without a pool around them.

        Args:
            articles: the seeds.
            posts: a few posts.

        Returns:
            A record a post with its sentences, its words and the test, as ``siamese-news explain
            --format jsonl`` writes it.

        Raises:
            InputError: see `rank`; the model is another library's, which cannot be explained.
        """
        seeds = _seeds(articles, (), True, "max")
        if isinstance(posts, PostIndex):
            raise InputError(
                "explain takes a few posts, not an index; take them out of it by their ids "
                "(PostIndex.find)"
            )
        model = explainable(self.model)
        stop_words = SearchLanguages(seeds.articles).stop_words(model)
        scorer = open_scorer(model, seeds.texts, stop_words=stop_words)
        few = list(self._posts(posts))
        explained = explain_nearest(model, seeds.articles, few, scorer, stop_words)
        return Records(_named(record_of(one)) for one in explained)

    def keywords(
        self, found: Iterable[Mapping[str, Any]], posts: Posts, *, limit: int = 20
    ) -> Records:
        """The words that would have found these posts, for a search by keywords.

        Args:
            found: what `rank` or `filter` gave.
            posts: the pool they were found in.
            limit: at most so many terms.

        Returns:
            A record a term, best first, as ``siamese-news keywords --format jsonl`` writes it.

        Raises:
            InputError: none of what was found is in the pool, or nothing else is.
        """
        accepted = {str(row["post_id"]) for row in found}
        terms = find_keywords(self._posts(posts), accepted, limit=limit).keywords
        return Records({"rank": rank, **asdict(term)} for rank, term in enumerate(terms, 1))

    def report(
        self, found: Iterable[Mapping[str, Any]], out: str | PathLike[str], *, title: str = ""
    ) -> None:
        """Write what was found as one HTML page, as ``siamese-news report`` does.

        Args:
            found: what `rank` or `filter` gave.
            out: the page; a file that is there is replaced.
            title: of the page; else the name of the file.

        Raises:
            InputError: nothing was found, or a row lacks what the page needs.
        """
        with TemporaryDirectory() as folder:
            results = Path(folder) / (Path(out).stem + ".jsonl")
            with results.open("w", encoding="utf-8") as stream:
                rows = ({_IN_FILES.get(name, name): row[name] for name in row} for row in found)
                write_rows(stream, rows, "jsonl", columns=(*COLUMNS, "x", "y"))
            write_report(Path(out), read_results(results, title=title or None))

    def _opened(
        self, seeds: Seeds, posts: Posts, one_story: bool, **asked: Any
    ) -> tuple[SearchLanguages, Scorer, Iterable[Post]]:
        """The seeds' languages, a scorer of them and the pool; `asked` goes to `open_scorer`."""
        languages = SearchLanguages(seeds.articles, seeds.negatives)
        scorer = open_scorer(
            self.model,
            seeds.texts,
            positives=len(seeds.articles),
            one_story=one_story,
            stop_words=languages.stop_words(self.model),
            **asked,
        )
        if isinstance(posts, PostIndex):
            languages.note(posts.sample())
        return languages, scorer, self._posts(posts)

    def _say(
        self, decided: Decided, seeds: Seeds, languages: SearchLanguages, remarks: Iterable[str]
    ) -> None:
        """Log what the commands say on the console."""
        found = foreign_remarks(self.model, seeds.articles, languages.seeds) if seeds.over else []
        for line in (str(decided), *seeds.remarks(), *found, *languages.remarks(), *remarks):
            if line:
                log.info("%s", line)

    def _posts(self, posts: Posts) -> Iterable[Post]:
        """The posts, checked, and counted where a person watches."""
        if isinstance(posts, PostIndex):
            return posts
        found = ReplayablePosts(posts_of(posts))
        if not self.progress:
            return found
        return CountedPosts(found, None if self.progress is True else self.progress)


def _seeds(articles: Articles, negatives: Articles, over: bool, aggregate: Aggregate) -> Seeds:
    return Seeds(articles_of(articles), articles_of(negatives), over, aggregate)


def _records(rows: Iterable[Mapping[str, Any]], share: ExportOptions) -> Records:
    """The rows with the names of fields that an importer reads, without the empty posts."""
    records, empty = Records(), 0
    for row in rows:
        if not str(row.get("text") or "").strip():
            empty += 1
            continue
        records.append(_named({name: row.get(name) for name in share.columns}))
    if empty:
        log.info("%d posts with an empty text are left out of the result", empty)
    return records


def _named(row: Mapping[str, Any]) -> dict[str, Any]:
    return {_IN_PYTHON.get(name, name): value for name, value in row.items()}


def _learned(reason: str) -> None:
    log.info("the posts are scored once more: %s", reason)
