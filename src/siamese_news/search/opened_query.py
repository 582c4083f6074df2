"""An open query: with its seeds read and its model loaded."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import IO, Any

from siamese_news import __version__
from siamese_news.data.columns import ResultMeta
from siamese_news.data.label_map import LabelMap
from siamese_news.errors import InputError
from siamese_news.model.calibration import Calibration
from siamese_news.model.loading import AnyModel, ExternalModel, folder_hash, open_named
from siamese_news.model.table import TableModel
from siamese_news.model.text_model import TextModel
from siamese_news.scoring import Scorer, open_scorer
from siamese_news.scoring.rivals import rival_weights
from siamese_news.search.cpu_threads import thread_count
from siamese_news.search.histogram import ScoreCounts
from siamese_news.search.language_remarks import SearchLanguages
from siamese_news.search.list_relevance import (
    ABOUT,
    UNKNOWN,
    Cut,
    ListRelevance,
    cut_of,
    list_relevance,
    measured,
)
from siamese_news.search.pool import Window
from siamese_news.search.query import SHIPPED_STAR, Query
from siamese_news.search.remarks import foreign_remarks
from siamese_news.search.result_files import Row, write_rows
from siamese_news.search.second_look import SecondLook
from siamese_news.search.seeds import Seeds
from siamese_news.utils.files import file_sha256, is_stream, write_json
from siamese_news.utils.provenance import command, provenance
from siamese_news.utils.terminal import verb


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search did.

    Attributes:
        scorer: the one that has learned from the pool.
        scored: how many posts were scored.
        searched: of how many posts it found the best; an index need not score them all.
        scores: the counts of the scores.
        listed: how many different posts are in the results.
    """

    scorer: Scorer
    scored: int
    searched: int
    scores: ScoreCounts
    listed: int


@dataclass(frozen=True, slots=True)
class FilterOutcome(Outcome):
    """What a search did that keeps posts by a score.

    Attributes:
        cut: which posts it keeps.
        unknown: how many others have the score, but no relevance as the query asks for one.
    """

    cut: Cut
    unknown: int


class OpenQuery:
    """A query with its seeds, its model, and the window of its dates with its counts.

    `which` has the model's folder and hash (`open_named`); `languages` are told of posts by
    `SearchLanguages.note`.
    """

    def __init__(
        self,
        query: Query,
        seeds: Seeds,
        model: AnyModel,
        which: Mapping[str, str] | None = None,
    ) -> None:
        words = model.words if isinstance(model, ExternalModel) else model
        apart = query.distinct is None and seeds.lists > 1
        if apart and words.terms is not None:
            texts = [article.full_text for article in seeds.articles]
            seeds = replace(seeds, rivals=rival_weights(words, texts))
        self.query = query
        self.seeds = seeds
        self.model = model
        self.which = dict(which or {})
        self.languages = SearchLanguages(seeds.articles)
        self.window: Window = query.window()
        path = query.relevance_map
        self.labels = None if path is None else LabelMap.read(path)
        if query.threshold is not None:
            self._expect_relevance()

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process opens the model itself.
        return open_query, (self.query, self.seeds)

    def _expect_relevance(self) -> None:
        """Raise an `InputError` where the query keeps posts by a relevance that is unknown."""
        if self.labels is not None and self.labels.mapped == "score":
            return
        calibration = self.calibration
        if calibration is None:
            raise InputError(
                "--threshold takes a relevance, and vectors alone have no table that turns scores "
                "into it, nor has a model without a calibration; expected --min-score (min_score in "
                "Python) with a score"
            )
        if not any(measured(article, calibration) for article in self.seeds.articles):
            raise InputError(
                "--threshold takes a relevance, which is unknown here: no seed is like those that it "
                f"was measured on ({calibration.measured}). Instead, {UNKNOWN}"
            )

    def scorer(self) -> Scorer:
        """A new scorer."""
        query = self.query
        seeds = self.seeds
        return open_scorer(
            self.model,
            seeds.texts,
            positives=len(seeds.articles),
            one_story=query.one_story,
            about=query.about,
            fusion=query.fusion,
        )

    @property
    def calibration(self) -> Calibration | None:
        """What turns scores into relevance; other models and vectors alone have none."""
        if self.query.fusion == "vectors" or not isinstance(self.model, TextModel):
            return None
        return self.model.calibration

    def relevance(self, scorer: Scorer) -> ListRelevance:
        """The relevance in the lists of a scorer that has observed the pool."""
        return list_relevance(scorer, self.seeds, self.calibration, self.labels)

    def cut(self, scorer: Scorer) -> Cut:
        """Which posts the query keeps, by a scorer that has observed the pool."""
        return cut_of(
            self.query.threshold, self.query.min_score, self.relevance(scorer)
        )

    @cached_property
    def second_look(self) -> SecondLook | None:
        """The model that reads the best posts again, loaded on first use."""
        query = self.query
        if (folder := query.reads_again) is None:
            return None
        return SecondLook(folder, self.seeds)

    def decided(self, scorer: Scorer) -> str:
        """Which posts a scorer that has observed the pool looks for; empty if nothing is said."""
        total = Counter(scorer.decisions())
        kinds = {words: total[name] for name, words in ABOUT.items() if total[name]}
        if not kinds:
            return ""
        decisions = [
            f"{words} for {n} of {total.total()} seeds" if len(kinds) > 1 else words
            for words, n in kinds.items()
        ]
        # Where few posts do not tell the two apart, it is the event (`article_degrees`).
        few_posts = (
            " and not the very article, because so few posts do not tell them apart"
        )
        reasons = {
            "auto": ", as the seeds and the pool suggest",
            "article": few_posts if total["event"] else "",
        }
        reason = reasons.get(self.query.about, "")
        return f"Looking for posts {', '.join(decisions)}{reason} (--about)."

    def findings(self, summary: Sequence[str], scorer: Scorer) -> list[str]:
        """The summary of a pool, what was looked for, and the number of posts without a date."""
        star = "The star reads the best posts again (--second-look none: it does not)."
        by_star = self.query.reads_again == SHIPPED_STAR
        lines = [*summary, self.decided(scorer), star if by_star else ""]
        window = self.window
        if window.undated:
            total = window.undated + window.dated
            lines.append(
                f"{window.undated:,} of {total:,} posts "
                f"{verb(window.undated, 'have')} no readable date: kept"
            )
        return [line for line in lines if line]

    def remarks(self, *search_remarks: str) -> list[str]:
        """All remarks for the reader of the results, with `search_remarks` on the posts and results."""
        remarks = [*self.languages.remarks(), *search_remarks]
        if self.labels is not None:
            remarks += self.labels.remarks(self.titles.values())
        if self.seeds.one_story:
            articles = self.seeds.articles
            remarks[:0] = foreign_remarks(self.model, articles, self.languages.seeds)
        return remarks

    def job(self, posts: list[Any]) -> dict[str, Any]:
        """The values that must be the same to resume a run, with those of the pool (`Pool.job`)."""
        articles = [
            [a.id, a.full_text] for a in (*self.seeds.articles, *self.seeds.negatives)
        ]
        return {
            "version": __version__,
            "model": self.which["sha256"] + self.which.get("words", ""),
            "seeds": hashlib.sha256(json.dumps(articles).encode()).hexdigest()[:16],
            "posts": posts,
            # The last digit of torch's results depends on it.
            "threads": 1 if isinstance(self.model, TableModel) else thread_count(),
            "options": {"negatives": len(self.seeds.negatives), **self.query.job()},
        }

    def write_rows(
        self, stream: IO[Any], rows: Iterable[Row], *, terminal: bool = False
    ) -> None:
        """Write results in the format of the query."""
        query = self.query
        assert query.format is not None
        write_rows(
            stream,
            rows,
            query.format,
            terminal=terminal,
            columns=query.columns,
            titles=self.titles,
        )

    def write_meta(
        self, outcome: Outcome, read_counts: Mapping[str, int], remarks: Sequence[str]
    ) -> None:
        """Write ``<out>.meta.json``: how the results were made, and their hash.

        Nothing is written if the output is a pipe or a device. `read_counts` are those of the pool.
        """
        out = self.query.out
        if out is None or is_stream(out):
            return
        kind = outcome.scorer.kind
        result_counts = {"scored": outcome.scored, "kept": outcome.listed}
        models: dict[str, Any] = {"model": self.which}
        if self.second_look is not None:
            folder = self.second_look.folder
            kind = f"{kind}, second look"
            models["second_look"] = {
                "folder": str(self.query.reads_again),
                "sha256": folder_hash(folder),
            }
        meta: ResultMeta = {
            "command": command(),
            "provenance": {**provenance(), **models},
            "score": kind,
            "threshold": outcome.cut.score
            if isinstance(outcome, FilterOutcome)
            else None,
            "relevance": self.query.threshold,
            "relevance_map": None if self.labels is None else asdict(self.labels),
            "counts": {**read_counts, **self.window.counts(), **result_counts},
            "histogram": outcome.scores.histogram(),
            "titles": self.titles,
            "languages": self.languages.plain(),
            "about": dict(zip(self.titles, outcome.scorer.decisions(), strict=False)),
            "remarks": [*self.seeds.remarks(), *remarks],
            "sha256": file_sha256(out),
        }
        write_json(out.with_name(out.name + ".meta.json"), meta)

    @property
    def titles(self) -> dict[str, str]:
        """The titles of the seeds, by id."""
        return {article.id: article.title for article in self.seeds.articles}


def open_query(query: Query, seeds: Seeds, model: AnyModel | None = None) -> OpenQuery:
    """A query with its models, of which `model` may be open already.

    A missing library is reported before the search.
    """
    model_and_hash = open_named(query.model) if model is None else (model, {})
    opened = OpenQuery(query, seeds, *model_and_hash)
    _ = opened.second_look  # loads it
    return opened
