"""Which seeds are rivals: a post that fits an unrelated seed better falls in a list.

Of the posts that fail in a list, most fit another seed better that tells another story. But several
seeds may tell one story, or parts of one, and share their posts; so a seed is a rival of another as
far as their words differ, and as far as neither finds the other's best posts about one event.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from siamese_news.model.text_model import TextModel
from siamese_news.text.languages import BACKGROUND, language_of_seed

# Words of an article that are compared: news puts first what matters most.
_WORDS = 300
# Seeds up to this cosine are full rivals.
_UNRELATED = 0.05
# Seeds from this cosine on are no rivals.
_RELATED = 0.2
# Rivals are looked for among so many best seeds of a post.
_BEST = 10
# A seed finds a post that has this share of the score of its own best posts.
FINDS = 0.6
# If one of two seeds finds the first share of the other's best posts they may tell one story, and
# if it finds the second they do.
_SHARED = (0.2, 0.5)
# So many best posts are looked at; a pool has as many posts for each of them.
COMPARED_POSTS = 100
POSTS_FOR_EACH = 30
# From the first on, how much a seed's best posts resemble each other says that they may be about one
# event, and from the second on that they are. Chosen on development pools: articles of one event of
# usatoday-cnn (train and dev), events-dev with all seeds as rivals, and pools of single stories.
EVENT = (0.5, 0.7)


def rival_weights(model: TextModel, articles: Sequence[str]) -> NDArray[np.float32]:
    """(A, A) how far each article is a rival of each: 1 for unrelated ones, 0 for related ones.

    The cosine is of their different words, by the background's IDF to the power of the lexical
    head, which the model must have. Articles in different languages are no rivals: they share few
    words even if they tell one story.
    """
    assert model.terms is not None
    ids = [model.ids(text)[:_WORDS] for text in articles]
    weights = model.terms.background()
    columns = np.unique(np.concatenate(ids))
    vectors = np.zeros((len(ids), len(columns)), np.float32)
    for row, seed_ids in enumerate(ids):
        words, counts = np.unique(seed_ids, return_counts=True)
        values = weights.of(words) * (1 + np.log(counts))
        length = np.linalg.norm(values) or 1.0
        word_columns = np.searchsorted(columns, words)
        vectors[row, word_columns] = values / length
    cosines = vectors @ vectors.T
    rivals = np.clip((_RELATED - cosines) / (_RELATED - _UNRELATED), 0, 1)
    languages = np.array([language_of_seed(text) or BACKGROUND for text in articles])
    differ = languages[:, None] != languages[None, :]
    rivals[differ] = 0
    # Sums differ in their last digits.
    return np.round(rivals, 4).astype(np.float32)


def same_story(
    shares: NDArray[np.float64], alike: NDArray[np.float64]
) -> NDArray[np.float32]:
    """(A, A) how far each two seeds tell one story, from 0 to 1, by what they find.

    They do as far as one of them finds the best posts of the other, however many posts the event
    has, and the best posts of both resemble each other, as posts about an event do. One is enough:
    a seed about the whole event finds what a seed about one aspect finds, seldom the reverse. Fact
    checks of like claims share posts too, and compete for them: their best posts are not alike.

    Args:
        shares: (A, A) the share of the best posts of the seed of each row that the seed of each
            column finds: they score `FINDS` of what its own best posts do.
        alike: (A,) how far the best posts of each resemble each other (`Lesson.alike`).
    """
    overlap = np.clip(np.maximum(shares, shares.T), *_SHARED) - _SHARED[0]
    events = np.clip(alike, *EVENT) - EVENT[0]
    stories = overlap * np.minimum.outer(events, events)
    stories /= (_SHARED[1] - _SHARED[0]) * (EVENT[1] - EVENT[0])
    return np.round(stories, 4).astype(np.float32)


def after_rivals(
    scores: NDArray[np.float64], weights: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Scores (A, P) after each post's rivals: S becomes ``S**2 / M`` where M > S > 0.

    M is the highest score of the post for a rival, times how far that is one.
    """
    seeds, seed_scores = _best_seeds(scores)
    factors = weights[:, seeds[0]].astype(np.float64)
    highest_rivals = factors * seed_scores[0]  # (A, P) M by the best seed of each post
    # If the best seed is not a full rival, a seed with a lower score may count more.
    rows, posts = np.nonzero((factors < 1) & (scores > 0))
    for seed_rank in range(1, len(seeds)):
        rivalry = weights[rows, seeds[seed_rank, posts]]
        rival_scores = rivalry * seed_scores[seed_rank, posts]
        highest_rivals[rows, posts] = np.maximum(
            highest_rivals[rows, posts], rival_scores
        )
    falls = (scores > 0) & (highest_rivals > scores)
    divisors = np.where(falls, highest_rivals, 1.0)
    return np.where(falls, scores**2 / divisors, scores)


def _best_seeds(
    scores: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The best seeds of each post, best first, and their scores: twice (seeds, P)."""
    count = min(_BEST, len(scores))
    if count < len(scores):
        best = np.argpartition(-scores, count - 1, axis=0)[:count]
        best = np.sort(best, axis=0)  # equal scores come in one order
    else:
        best = np.tile(np.arange(count)[:, None], (1, scores.shape[1]))
    best_scores = np.take_along_axis(scores, best, axis=0)
    order = np.argsort(-best_scores, axis=0, kind="stable")
    return (
        np.take_along_axis(best, order, axis=0),
        np.take_along_axis(best_scores, order, axis=0),
    )
