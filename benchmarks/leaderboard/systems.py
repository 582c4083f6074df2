"""The systems behind the rows: they score posts for articles, and time the posts."""

import os
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.leaderboard.rows import SHIPPED, Board, Row, option
from benchmarks.leaderboard.sentences import ENCODERS, SentenceEncoder, not_installed
from benchmarks.whitening import training_posts, whitening
from siamese_news.baselines import BM25, TfIdf
from siamese_news.data.records import Article, Post
from siamese_news.model import Model
from siamese_news.model.loading import ExternalModel, model_of
from siamese_news.model.text_model import PRETRAINED, TextModel
from siamese_news.scoring import observe_all, open_scorer
from siamese_news.scoring.rivals import rival_weights
from siamese_news.search.post_ranking import search
from siamese_news.search.query import SHIPPED_STAR
from siamese_news.search.scan import StreamPool
from siamese_news.search.second_look import SecondLook
from siamese_news.search.seeds import MILLION, Seeds
from siamese_news.text.content_words import words_of
from siamese_news.training.build import build_model, build_text
from siamese_news.training.datamodule import SiameseDataModule

TOKENIZER = {"hashtags": "both", "urls": "drop", "mentions": "drop", "numbers": "keep"}
NEAREST = 10
LIMITS = {"article_tokens": 1000, "post_tokens": 64, "keep": "first"}
Scored = tuple[np.ndarray, float]
"""(A, P) float32 scores; CPU seconds to encode and score the posts (the articles are ready)."""


class System(Protocol):
    """Scores every article against every post of a pool."""

    def __call__(self, articles: Sequence[str], posts: Sequence[str]) -> Scored:
        """See `Scored`."""


class Ground:
    """The data that several rows share, read on first use.

    Args:
        board: rows and options.
    """

    def __init__(self, board: Board) -> None:
        self.board = board
        self.sentences = {name: SentenceEncoder(name) for name in ENCODERS}
        self._for_test: dict[str, Ground] = {}

    def for_test(self, test: str) -> "Ground":
        """The ground of a test: another one where texts are held out for it."""
        if test not in self.board.held_out:
            return self
        if test not in self._for_test:
            ground = Ground(self.board.for_test(test))
            ground.sentences = self.sentences
            self._for_test[test] = ground
        return self._for_test[test]

    @cached_property
    def background(self) -> list[str]:
        """Training texts, articles and posts."""
        data = SiameseDataModule(data=option("data", self.board.background), seed=0)
        return list(data.train_set.texts())

    @cached_property
    def text(self) -> Any:
        """Tokenizer, vocabulary and vectors."""
        return build_text(self.board.vectors, TOKENIZER)

    def tokens(self, texts: Sequence[str]) -> list[list[str]]:
        """The words of texts."""
        return [words_of(self.text[0](text)) for text in texts]

    @cached_property
    def background_tokens(self) -> list[list[str]]:
        """The words of the background."""
        return self.tokens(self.background)


def missing(ground: Ground, row: Row) -> str | None:
    """The reason why a row cannot be scored here; None if it can."""
    encoder = row.options.get("encoder", row.kind)
    if encoder in ENCODERS and (lacking := not_installed(encoder)):
        return lacking
    if row.kind == "model" and not ground.board.folders(row):
        return f"no model folder below {ground.board.models.name}/{row.name}"
    if row.kind in SHIPPED and not ground.board.folders(row):
        return f"no model in {ground.board.shipped.name}"
    if row.kind == "mix":
        reasons = [
            missing(ground, ground.board.rows[name]) for name in row.options["of"]
        ]
        return next((reason for reason in reasons if reason), None)
    return None


def open_row(
    ground: Ground, row: Row, choices: Mapping[str, Any], *, one_story: bool = False
) -> list[System]:
    """The systems of a row: one, or one a seed.

    Args:
        ground: what rows share.
        row: the row.
        choices: what dev pools chose.
        one_story: whether the articles that will be scored tell one story.
    """
    for step in ("distinct", "rivals"):
        if row.options.get(step):
            plain = {name: value for name, value in row.options.items() if name != step}
            opened = open_row(
                ground, replace(row, options=plain), choices, one_story=one_story
            )
            words = model_of(PRETRAINED) if step == "rivals" else None
            return [Compared(system, words) for system in opened]
    if row.kind in ("model", "shipped"):
        folders = ground.board.folders(row)
        loaded = [Model.load(folder) for folder in folders]
        return [
            ModelSystem(model, one_story=one_story, **row.options) for model in loaded
        ]
    if row.kind == "beside":
        beside = {"one_story": one_story, **row.options}
        encode = ground.sentences[beside.pop("encoder")]
        return [
            Beside(encode, Model.load(f), **beside) for f in ground.board.folders(row)
        ]
    if row.kind == "rank":
        loaded = [Model.load(folder) for folder in ground.board.folders(row)]
        return [Ranked(model, one_story=one_story, **row.options) for model in loaded]
    if row.kind == "second_look":
        folder = ground.sentences[row.options["encoder"]].folder
        loaded = [Model.load(folder) for folder in ground.board.folders(row)]
        return [LookAgain(model, folder, one_story=one_story) for model in loaded]
    options = {**row.options, **choices}
    if row.kind == "mix":
        first, second = (
            open_row(ground, ground.board.rows[n], {}, one_story=one_story)
            for n in options["of"]
        )
        count = max(len(first), len(second))
        return [
            Mix(first[i % len(first)], second[i % len(second)], options["weight"])
            for i in range(count)
        ]
    if row.kind in ENCODERS:
        return [SentenceSystem(ground.sentences[row.kind], **options)]
    if row.kind == "ngrams":
        return [NGrams(**options)]
    kinds: dict[str, Any] = {"glove": glove, "bm25": BM25System, "tfidf": TfIdfSystem}
    return [kinds[row.kind](ground, **options)]


class ModelSystem:
    """A model, scored as `siamese-news rank` does it: the pool is observed first.

    Args:
        model: the model.
        options: of `open_scorer`.
    """

    def __init__(self, model: Model, **options: Any) -> None:
        self.model, self._options = model, options

    def __call__(self, articles: Sequence[str], posts: Sequence[str]) -> Scored:
        """See `System`."""
        scorer = open_scorer(self.model, articles, **self._options)
        started = time.process_time()
        scorer = observe_all(scorer, posts)
        scores = scorer.scores(posts)
        return scores, time.process_time() - started


class Beside(ModelSystem):
    """A sentence encoder with the words of the model that ships, as ``--model`` does it.

    Args:
        encode: the encoder; its vectors come from the stored ones.
        words: the model that ships, or its replacement.
        options: of `open_scorer`.
    """

    def __init__(self, encode: SentenceEncoder, words: Model, **options: Any) -> None:
        super().__init__(words, **options)
        self._encode = encode
        self._external = StoredVectors(encode, words)

    def __call__(self, articles: Sequence[str], posts: Sequence[str]) -> Scored:
        """See `System`; the vectors are timed by themselves."""
        self._encode(posts)
        scorer = open_scorer(self._external, articles, **self._options)
        seconds = self._encode.seconds(posts)
        started = time.process_time()
        scorer = observe_all(scorer, posts)
        scores = scorer.scores(posts)
        return scores, seconds + time.process_time() - started


class LookAgain(ModelSystem):
    """The model that ships, then ``--second-look`` at the best posts of each article.

    Args:
        model: the model that ships, or its replacement.
        folder: of the transformer.
        options: of `open_scorer`.
    """

    def __init__(self, model: Model, folder: Path, **options: Any) -> None:
        super().__init__(model, **options)
        self._folder = folder

    def __call__(self, articles: Sequence[str], posts: Sequence[str]) -> Scored:
        """See `System`; a post that several articles have among their best is read once."""
        scores, seconds = super().__call__(articles, posts)
        scorer = open_scorer(self.model, articles, **self._options)
        scorer = observe_all(scorer, posts)
        scales = scorer.scales()
        agreed = scorer.agreement()
        seeds = Seeds(
            [Article(id=str(n), text=text) for n, text in enumerate(articles)]
        )

        def texts_of(places: np.ndarray) -> list[str]:
            return [posts[place] for place in places.tolist()]

        started = time.process_time()
        with (
            tempfile.TemporaryDirectory() as cache,
            patch.dict(os.environ, SIAMESE_NEWS_CACHE=cache),
        ):
            look = SecondLook(self._folder, seeds)
            look.read_sample(Post(str(n), text) for n, text in enumerate(posts))
            lists = np.rint(scores.astype(np.float64) * MILLION).astype(np.int64)
            for number, line in enumerate(lists):
                order = np.argsort(-line, kind="stable")
                look.reread(number, line, order, texts_of, scales, agreed)
        return lists / MILLION, seconds + time.process_time() - started


class Ranked(ModelSystem):
    """The ranking that `siamese-news rank` makes without an option: the star reads again.

    Args:
        model: the model that ships, or its replacement.
        together: whether the articles are asked at once, so that they may be rivals.
        options: of `open_scorer`.
    """

    def __init__(self, model: Model, *, together: bool = False, **options: Any) -> None:
        super().__init__(model, **options)
        self._together = together

    def __call__(self, articles: Sequence[str], posts: Sequence[str]) -> Scored:
        """See `System`; a post that several articles have among their best is read once."""
        rivals = rival_weights(self.model, articles) if self._together else None
        seeds = Seeds(
            [Article(str(n), t) for n, t in enumerate(articles)], rivals=rivals
        )
        scorer = open_scorer(self.model, articles, **self._options)
        look = SecondLook(SHIPPED_STAR, seeds)
        pool = StreamPool([Post(str(n), text) for n, text in enumerate(posts)])
        started = time.process_time()
        ranking = search(scorer, seeds, pool, top=len(posts), second_look=look)
        scores = np.zeros((len(articles), len(posts)))
        for line, ranked in zip(scores, ranking, strict=True):
            line[[int(item.post.id) for item in ranked]] = [r.score for r in ranked]
        return scores, time.process_time() - started


class Compared:
    """A system whose articles are compared: a post falls where it fits another one better.

    Args:
        system: the system.
        words: whose words tell which articles are unrelated, as `rank` does it; None takes all for
            different stories, as ``rank --distinct`` does.
    """

    def __init__(self, system: System, words: TextModel | None) -> None:
        self.parts = (system,)
        self._words = words

    def __call__(self, articles: Sequence[str], posts: Sequence[str]) -> Scored:
        """See `System`."""
        scores, seconds = self.parts[0](articles, posts)
        seeds = [Article(id=str(n), text=text) for n, text in enumerate(articles)]
        started = time.process_time()
        rivals = None if self._words is None else rival_weights(self._words, articles)
        lists, _ = Seeds(seeds, distinct=rivals is None, rivals=rivals).combine(scores)
        return lists / MILLION, seconds + time.process_time() - started


class StoredVectors(ExternalModel):
    """A sentence encoder as `ExternalModel` reads it, from vectors on disk."""

    def __init__(self, encode: SentenceEncoder, words: Model) -> None:
        super().__init__(encode.folder)
        self._stored, self.words = encode, words

    def _unit_vectors(self, texts: Sequence[str], method: str) -> np.ndarray:
        return self._stored(texts)


def glove(ground: Ground, *, weighting: str, remove_components: int) -> ModelSystem:
    """Means of word vectors."""
    vectors = {**ground.board.vectors, "remove_components": remove_components}
    encoder = {
        "_target_": "siamese_news.encoders.BagEncoder",
        "weighting": weighting,
        "output_dim": None,
    }
    config = {"vectors": vectors, "encoder": encoder, "data": {"limits": LIMITS}}
    texts = ground.background if weighting == "idf" else ()
    return ModelSystem(build_model(config, build_text(vectors, TOKENIZER), texts))


class Lexical:
    """A ranker over words, with the IDF of the pool or of the background."""

    def __init__(self, ground: Ground, *, idf: str, **options: Any) -> None:
        self._ground = ground
        self._idf = idf
        self._options = options

    def _ranker(self) -> Any:
        raise NotImplementedError

    def __call__(self, articles: Sequence[str], posts: Sequence[str]) -> Scored:
        """See `System`."""
        background = (
            self._ground.background_tokens if self._idf == "background" else None
        )
        words = self._ground.tokens(articles)
        started = time.process_time()
        tokens = self._ground.tokens(posts)
        # The background is counted once for all pools, so only indexing the posts is timed.
        ranker = self._ranker().fit(tokens)
        indexed = time.process_time() - started
        if background is not None:
            ranker = self._ranker().fit(tokens, background)
        started = time.process_time()
        scores = ranker.scores(words, 0, len(posts))
        return scores, indexed + time.process_time() - started


class TfIdfSystem(Lexical):
    """TF-IDF; options of `TfIdf`."""

    def _ranker(self) -> Any:
        return TfIdf(**self._options)


class NGrams:
    """TF-IDF of n-grams as scikit-learn's own analyzers make them, with the IDF of the posts.

    Args:
        analyzer: of `TfidfVectorizer`.
        sizes: the least and the greatest n.
        split: whether hashtags and handles are split into their words first.
        fit_articles: whether the IDF is that of the posts and the articles.
    """

    def __init__(
        self,
        *,
        analyzer: str,
        sizes: Sequence[int],
        split: bool = False,
        fit_articles: bool = False,
    ) -> None:
        self._options = {
            "analyzer": analyzer,
            "ngram_range": tuple(sizes),
            "sublinear_tf": True,
        }
        self._split, self._fit_articles = split, fit_articles

    def __call__(self, articles: Sequence[str], posts: Sequence[str]) -> Scored:
        """See `System`."""
        started = time.process_time()
        vectorizer = TfidfVectorizer(dtype=np.float32, **self._options)
        if self._split:
            articles, posts = (
                [_split_tags(text) for text in some] for some in (articles, posts)
            )
        vectorizer.fit([*posts, *articles] if self._fit_articles else posts)
        indexed = vectorizer.transform(posts)
        seconds = time.process_time() - started
        asked = vectorizer.transform(articles)
        started = time.process_time()
        scores = np.asarray((asked @ indexed.T).toarray(), np.float32)
        return scores, seconds + time.process_time() - started


def _split_tags(text: str) -> str:
    """A text whose hashtags and handles are words: ``#SafeInBoston`` is ``Safe In Boston``."""
    return _TAG.sub(lambda match: f" {_JOINT.sub(' ', match[1])} ", text)


_TAG = re.compile(r"[#@](\w+)")
_JOINT = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[^\W\d])(?=\d)|_")


class BM25System(Lexical):
    """BM25; options of `BM25`."""

    def _ranker(self) -> Any:
        return BM25(**self._options)


class SentenceSystem:
    """Cosines of the first words of an article, or the best over its chunks of so many words.

    Args:
        encode: the encoder.
        words: of an article or a chunk.
        chunks: whether all chunks of an article are read.
        whitened: the power of a whitening that is fitted on training posts (`benchmarks.whitening`).
        density: what counts of a post's mean cosine to the `NEAREST` other posts, which is
            subtracted as the second look does it.
    """

    def __init__(
        self,
        encode: SentenceEncoder,
        *,
        words: int,
        chunks: bool,
        whitened: float | None = None,
        density: float = 0.0,
    ) -> None:
        self._encode = encode
        self._words = words
        self._chunks = chunks
        self._whitened = whitened
        self._density = density

    def __call__(self, articles: Sequence[str], posts: Sequence[str]) -> Scored:
        """See `System`."""
        parts = [self._parts(article) for article in articles]
        encoded = self._encode([part for some in parts for part in some])
        vectors = self._encode(posts)
        seconds = self._encode.seconds(posts)
        if self._whitened is not None:
            to_white = whitening(self._encode(training_posts()), self._whitened)
            encoded = to_white(encoded)
            vectors = to_white(vectors)
        started = time.process_time()
        scores = encoded @ vectors.T
        if self._density:
            scores -= self._density * densities(vectors)
        starts = np.cumsum([0, *map(len, parts)])[:-1]
        scores = np.maximum.reduceat(scores, starts, axis=0)
        return scores, seconds + time.process_time() - started

    def _parts(self, article: str) -> list[str]:
        words = article.split()
        starts = range(0, max(len(words), 1), self._words) if self._chunks else [0]
        return [" ".join(words[start : start + self._words]) for start in starts]


def densities(vectors: np.ndarray) -> np.ndarray:
    """(P,) the mean cosine of each post to the `NEAREST` other posts, of unit vectors (P, D)."""
    means = []
    for start in range(0, len(vectors), 1000):
        cosines = vectors[start : start + 1000] @ vectors.T
        cosines[np.arange(len(cosines)), np.arange(start, start + len(cosines))] = -1
        means.append(np.sort(cosines, axis=1)[:, -NEAREST:].mean(axis=1))
    return np.concatenate(means)


class Mix:
    """``(1 - weight)`` times the first system's score plus ``weight`` times the second's."""

    def __init__(self, first: System, second: System, weight: float) -> None:
        self.parts = (first, second)
        self.weight = weight

    def __call__(self, articles: Sequence[str], posts: Sequence[str]) -> Scored:
        """See `System`."""
        (one, took), (other, more) = (part(articles, posts) for part in self.parts)
        return mixed(one, other, self.weight), took + more


def mixed(one: np.ndarray, other: np.ndarray, weight: float) -> np.ndarray:
    return (1 - weight) * one + weight * other
