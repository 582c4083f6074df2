"""What the scores of a mixture are computed from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siamese_news.lexical_head.options import TermOptions
from siamese_news.scoring import rules
from siamese_news.scoring.article_vectors import ArticleVectors, ReadArticles
from siamese_news.scoring.mixture_weights import MixtureWeights
from siamese_news.scoring.passages import PassageScores
from siamese_news.scoring.pool_state import PoolState
from siamese_news.scoring.post_features import PostReader, Posts
from siamese_news.scoring.scorer import Content
from siamese_news.scoring.smoothing import SmoothedScores
from siamese_news.scoring.surface import BUCKETS, SurfaceScores
from siamese_news.text.token_ids import TokenIds
from siamese_news.text.vocabulary import Vocabulary
from siamese_news.utils.choices import About

_CELLS = 1 << 24


@dataclass(frozen=True, slots=True)
class Setting:
    """What is the same for A articles whatever the pool.

    Attributes:
        options: the numbers; without the dense head, those of it are 0.
        about: with `one_story` and `positives` as in `open_scorer`.
        vocabulary: of the model.
        reader: reads posts for both heads, `word_reader` for the lexical head alone.
        articles: as both heads read them.
        words: their word ids, with the words outside the vocabulary.
        foreign: (A,) whether the vocabulary lacks an article's language.
        languages: of the articles.
    """

    options: TermOptions
    about: About
    one_story: bool
    positives: int
    vocabulary: Vocabulary
    reader: PostReader
    word_reader: PostReader
    articles: ReadArticles
    words: TokenIds
    foreign: NDArray[np.bool_]
    languages: list[str]

    def __len__(self) -> int:
        return len(self.articles)

    def blocks(self, posts: Content) -> Iterator[tuple[int, Posts]]:
        """Posts of which all articles are scored at once, and the place of the first of them."""
        step = max(1, _CELLS // max(len(self), 1))
        for start in range(0, len(posts), step):
            yield start, self.reader(posts[start : start + step])

    def counted(self, near: NDArray[np.bool_]) -> NDArray[np.int64]:
        """(A,) how many posts are about each article's story, given which are near it: (A, P).

        What is near one article of a story is about the story of them all.
        """
        about = near.copy()
        if self.one_story:
            about[: self.positives] = near[: self.positives].any(axis=0)
        return about.sum(axis=1)

    def new_pool(self) -> PoolState:
        """The statistics of a pool without posts."""
        options = self.options
        words = len(self.vocabulary)
        feedback = options.feedback
        around = rules.AROUND if feedback.alike else 0
        surface = options.surface.weight
        # The weight of each rule, and how many of an article's best posts it looks at.
        looked_at = [
            (options.smoothing.weight, options.smoothing.posts),
            (options.excess.weight, rules.STRONGEST),
            (feedback.weight, max(feedback.posts, feedback.focused_posts, around)),
            (surface, rules.COUNTED),
            (surface and options.passages.weight, options.passages.posts),
        ]
        candidates = max((posts for weight, posts in looked_at if weight), default=0)
        counters = words + BUCKETS if surface else 0
        return PoolState(words, len(self), candidates, counters)


@dataclass(frozen=True, slots=True)
class Basis:
    """What scores are computed from: the same for every post.

    Attributes:
        articles: the vectors of the articles.
        weights: those of words and vectors.
        surface: None where n-grams inside words do not count.
        passages: None before a pool, and where they do not count.
        smoothed: the same.
    """

    articles: ArticleVectors
    weights: MixtureWeights
    surface: SurfaceScores | None
    passages: PassageScores | None = None
    smoothed: SmoothedScores | None = None

    @classmethod
    def before_pool(cls, setting: Setting) -> "Basis":
        """That of articles which have seen no pool."""
        options = setting.options
        articles = setting.articles
        surface = None
        if options.surface.weight:
            surface = SurfaceScores(
                articles.terms, setting.vocabulary, setting.words, options.surface
            )
        weights = MixtureWeights.before_pool(options.dense, len(articles))
        return cls(ArticleVectors(articles), weights, surface)

    @property
    def scales(self) -> NDArray[np.float32]:
        """(A,) the factor of each article's scores before the surface is added."""
        if self.surface is None:
            return np.ones(len(self.articles), np.float32)
        return self.surface.scales.astype(np.float32)

    def scores(self, posts: Posts) -> NDArray[np.float32]:
        """(A, P) the scores of posts."""
        scores = unsmoothed(self.articles, self.weights, posts)
        if self.smoothed is not None:
            self.smoothed.put(scores, posts)
        if self.surface is not None:
            scores *= self.scales[:, None]
            self.surface.add(scores, posts.ids)
        if self.passages is not None:
            self.passages.add(scores, posts)
        return scores


def unsmoothed(
    vectors: ArticleVectors,
    weights: MixtureWeights,
    posts: Posts,
    articles: Sequence[int] | None = None,
) -> NDArray[np.float32]:
    """The scores before smoothing, for some articles or all."""
    return weights.mixed(*vectors.heads(posts, articles), articles)
