"""Words and vectors together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from typing_extensions import override

from siamese_news.lexical_head.options import DenseExcess, TermOptions
from siamese_news.model.calibration import Evidence
from siamese_news.model.text_model import TextModel
from siamese_news.scoring import rules
from siamese_news.scoring.article_vectors import ReadArticles
from siamese_news.scoring.basis import Basis, Setting
from siamese_news.scoring.evidence import COMPARED, FIRST
from siamese_news.scoring.lesson import Lesson, learn, shared_with
from siamese_news.scoring.parts import score_parts
from siamese_news.scoring.pool_state import PoolState
from siamese_news.scoring.post_features import EncodedOnce, PostReader, Posts
from siamese_news.scoring.rivals import (
    COMPARED_POSTS,
    EVENT,
    FINDS,
    POSTS_FOR_EACH,
    same_story,
)
from siamese_news.scoring.scorer import Content, Observer, ScoreParts, Scorer
from siamese_news.text.languages import BACKGROUND, function_words, language_of_seed
from siamese_news.text.token_ids import TokenIds
from siamese_news.utils.choices import About


@dataclass(frozen=True, slots=True)
class MixtureScorer(Scorer):
    """The lexical head's score, the cosine of the dense head, and their smoothing.

    Before smoothing and the surface a score is ``(1 - w - e) L + w D + e max(0, D - q)``: L the
    score of the words, D the cosine, q a high quantile of the article's cosines over the pool, e
    the higher the less the article's words find (`DenseExcess`), and w the higher the more the
    vectors confirm of it (`Agreement`). Before a pool, and in the pass over one, it is
    ``(1 - w) L + w D``. The options of the lexical head have w and e.

    Smoothed or not, ``s X`` is added to it: X the cosine of n-grams inside words, s its weight
    (`SurfaceScores`); then the bonus for a close passage (`PassageScores`). The sum is multiplied
    by ``1 / (1 + 1.2 s)``, so that scores mean about the same for articles of different s.

    A pool teaches the words that are rare in it (`FocusedPool`), the posts for pseudo-relevance
    feedback (`RocchioFeedback`) and those whose scores are smoothed (`Smoothing`). Each article is
    judged by itself, so its scores do not depend on the others, unless they are one story.

    Attributes:
        setting: what is the same whatever the pool.
        basis: what scores are computed from.
        lesson: what the pool taught; None before one.
    """

    kind: ClassVar[str] = "mixture"

    setting: Setting
    basis: Basis
    lesson: Lesson | None = None

    @property
    @override
    def learned(self) -> str:
        return "" if self.lesson is None else self.lesson.words

    @override
    def observer(self) -> "MixturePass":
        return MixturePass(self.setting, self._before)

    @property
    def _before(self) -> Basis:
        """The basis before a pool: what was learned from one says nothing about another."""
        if self.lesson is None:
            return self.basis
        return Basis.before_pool(self.setting)

    @override
    def token_ids(self, posts: Sequence[str]) -> TokenIds | None:
        return self.setting.reader.token_ids(posts)

    @override
    def scores(self, posts: Content) -> np.ndarray:
        scores = np.zeros((len(self.setting), len(posts)), np.float32)
        for start, block in self.setting.blocks(posts):
            scores[:, start : start + len(block.ids)] = self.basis.scores(block)
        return scores

    @override
    def scales(self) -> NDArray[np.float32]:
        return self.basis.scales

    @override
    def evidence(self, articles: Sequence[int]) -> list[Evidence]:
        if self.lesson is None:
            return [Evidence() for _ in articles]
        pool = self.lesson.pool
        number = max(pool.counts.posts, 1)
        evidence_of = {}
        for members, union, lists in pool.candidates.together(articles, COMPARED):
            posts = self.setting.reader.of_candidates(pool.candidates, union.tolist())
            scores_of_union = self.basis.scores(posts)[members]
            for article, keys, line in zip(
                members, lists, scores_of_union, strict=True
            ):
                scores = np.sort(line[np.searchsorted(union, keys)])[::-1].round(6)
                best = keys[:FIRST].tolist()
                evidence_of[article] = Evidence(
                    alike=round(float(self.lesson.alike[article]), 6),
                    shared=shared_with(self.setting, pool, article, best),
                    scores=tuple(scores.tolist()),
                    near=int(pool.about[article]) / number,
                    posts=number,
                    article=float(self.lesson.degrees[article]),
                )
        return [evidence_of.get(article, Evidence()) for article in articles]

    @override
    def agreement(self) -> NDArray[np.float64]:
        if self.lesson is None:
            return np.zeros(len(self.setting))
        return self.lesson.agreed

    @override
    def shared_stories(self) -> NDArray[np.float32]:
        # Who asks for the very articles asks to tell those of one event apart.
        if self.lesson is None or self.setting.about == "article":
            return Scorer.shared_stories(self)
        alike = self.lesson.alike
        events = np.flatnonzero(alike > EVENT[0])
        shares = np.zeros((len(alike), len(alike)))
        shares[np.ix_(events, events)] = self._found_shares(self.lesson.pool, events)
        return same_story(shares, alike)

    def _found_shares(
        self, pool: PoolState, articles: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """(n, n) of the best posts of each of n articles (row), the share that each finds."""
        # In a small pool any two articles share much of a long list.
        count = min(COMPARED_POSTS, pool.counts.posts // POSTS_FOR_EACH)

        def scored() -> Iterator[tuple[int, NDArray[np.float32]]]:
            # Scores (n, P) of each article's best posts. They are computed twice: those of many
            # articles are too many to keep.
            for members, union, lists in pool.candidates.together(
                articles.tolist(), count
            ):
                posts = self.setting.reader.of_candidates(
                    pool.candidates, union.tolist()
                )
                scores = self.basis.scores(posts)[articles].round(6)
                for article, keys in zip(members, lists, strict=True):
                    row = int(np.searchsorted(articles, article))
                    yield row, scores[:, np.searchsorted(union, keys)]

        thresholds = np.full((len(articles), 1), np.inf)
        for row, scores in scored():
            # A tenth of the best posts may be there by chance.
            thresholds[row] = FINDS * np.quantile(scores[row], 0.1)
        shares = np.zeros((len(articles), len(articles)))
        for row, scores in scored():
            shares[row] = (scores >= thresholds).mean(axis=1)
        return shares

    @override
    def decisions(self) -> list[str]:
        if self.lesson is None:
            return []
        degrees = self.lesson.degrees[: self.setting.positives]
        return [rules.DECISIONS[degree] for degree in degrees.tolist()]

    @override
    def matched_terms(self, posts: Content, limit: int = 8) -> list[list[str]]:
        articles = self.basis.articles
        features = self.setting.word_reader(posts)
        lexical, _ = articles.heads(features)
        best = lexical.argmax(axis=0)  # (P,) an article of each post
        terms: list[list[str]] = [[] for _ in features.ids]
        for group in articles.groups:
            posts_of_group = np.flatnonzero(np.isin(best, group.rows))
            if not len(posts_of_group):
                continue
            vectors = features.weighted(group.weights, articles.columns)[posts_of_group]
            rows = np.searchsorted(group.rows, best[posts_of_group])
            products = sparse.csr_matrix(group.vectors[rows].multiply(vectors))
            counts = np.diff(products.indptr)
            names = self._names_of_products(features.ids, posts_of_group, products)
            pairs = zip(posts_of_group.tolist(), counts.tolist(), strict=True)
            for post, count in pairs:
                language = self.setting.languages[best[post]]
                # Those of English are among the head's stop words.
                left_out = () if language == BACKGROUND else function_words(language)
                different = dict.fromkeys(islice(names, count))
                content_terms = [name for name in different if name not in left_out]
                terms[post] = content_terms[:limit]
        return terms

    def _names_of_products(
        self, texts: TokenIds, posts: NDArray[np.int64], products: sparse.csr_matrix
    ) -> Iterator[str]:
        """The terms of some posts in turn, of each post the one with the highest product first.

        The products are (posts, C), by the features of the articles.
        """
        post_of_product = np.repeat(posts, np.diff(products.indptr))
        # Equal products keep their order.
        order = np.lexsort((-products.data, post_of_product))
        ids = self.basis.articles.columns[products.indices[order]]
        return self.setting.word_reader.names_of(texts, post_of_product, ids)

    @override
    def parts_of(self, post: str, article: int) -> ScoreParts:
        return score_parts(self.basis, self.setting.reader, post, article)

    @override
    def article_term_shares(self, article: int) -> dict[int, float]:
        return self.basis.articles.term_shares(article)

    @override
    def article_weight(self, article: int) -> float:
        return float(self.basis.articles.kept[article])

    @override
    def state(self) -> bytes:
        if self.lesson is None:
            return b""
        return self.lesson.pool.saved(degrees=self.lesson.degrees)

    @override
    def restored(self, state: bytes, of: Sequence[int] | None = None) -> Scorer:
        if not state:
            return self
        pool = self.setting.new_pool()
        degrees = pool.restore(state, of)["degrees"]
        if of is not None:
            degrees = degrees[list(of)]
        learned = learn(self.setting, self._before, pool, degrees)
        return MixtureScorer(self.setting, *learned)


def mixture_scorer(
    model: TextModel,
    articles: Sequence[str],
    *,
    positives: int | None = None,
    one_story: bool = False,
    about: About = "auto",
    vectors: bool = True,
    options: TermOptions | None = None,
    encoder: EncodedOnce | None = None,
) -> MixtureScorer:
    """The scorer of a model with a lexical head, before a pool.

    Args:
        model: a model with a lexical head.
        articles: A full texts.
        positives: as in `open_scorer`.
        one_story: as in `open_scorer`.
        about: as in `open_scorer`.
        vectors: False leaves the dense head out, whatever the options say.
        options: the numbers; None: those of the model's lexical head.
        encoder: a dense model of another library, whose cosines take the place of the model's own.
    """
    assert model.terms is not None
    options = model.terms.options if options is None else options
    if not vectors:
        options = replace(options, dense=0.0, excess=DenseExcess(weight=0.0))
    dense = bool(options.dense or options.excess.weight)
    reader = PostReader(model, dense=dense, encoder=encoder)
    read_articles = ReadArticles.of(model.terms, reader, articles)
    lacking = [np.sum(ids >= len(model.vocabulary)) for ids in read_articles.ids]
    lengths = [max(len(ids), 1) for ids in read_articles.ids]
    lacking_shares = np.array(lacking) / lengths
    unknown = model.token_ids(articles).unknown if options.surface.weight else {}
    setting = Setting(
        options=options,
        about=about,
        one_story=one_story,
        positives=len(articles) if positives is None else positives,
        vocabulary=model.vocabulary,
        reader=reader,
        word_reader=PostReader(model, dense=False),
        articles=read_articles,
        words=replace(TokenIds.of(read_articles.ids), unknown=unknown),
        foreign=lacking_shares >= rules.FOREIGN,
        languages=[language_of_seed(text) or BACKGROUND for text in articles],
    )
    return MixtureScorer(setting, Basis.before_pool(setting))


class MixturePass(Observer):
    """A pass over a pool for a mixture.

    Attributes:
        setting: of the scorer.
        basis: that of the scorer before the pool.
        pool: the statistics so far.
    """

    def __init__(self, setting: Setting, basis: Basis) -> None:
        self.setting = setting
        self.basis = basis
        self.pool = setting.new_pool()

    @override
    def observe(self, posts: Content) -> None:
        for _, block in self.setting.blocks(posts):
            self._observe(block)

    def _observe(self, posts: Posts) -> None:
        pool = self.pool
        options = self.setting.options
        basis = self.basis
        lexical, dense = basis.articles.heads(posts)
        pool.counts.add(posts.rows, posts.terms, len(posts.ids))
        if basis.surface is not None:
            basis.surface.count(posts.ids, pool.surface)
        # The words alone: unlike theirs, the cosine of what has nothing in common is not 0.
        pool.about += self.setting.counted(lexical > options.focused_pool.score)
        if dense is not None and options.excess.weight:
            pool.add_cosines(dense)
        mixed = basis.weights.mixed(lexical, dense)
        pool.candidates.add(mixed, posts.ids, posts.whole_text_vectors)

    @override
    def settle(self) -> MixtureScorer:
        return MixtureScorer(self.setting, *learn(self.setting, self.basis, self.pool))

    @override
    def state(self) -> bytes:
        return self.pool.saved()

    @override
    def merge(self, state: bytes) -> None:
        merged = self.setting.new_pool()
        merged.restore(state)
        self.pool.merge(merged)
