"""Evidence of what a list is, without any label: from the best posts of its seeds.

Where many posts are about the seed's event, the best of them share the seed's words with each
other: its names and places come again and again. Where one or two posts answer a claim, the others
among the best each share another word with it; and if they resemble each other, it is by words that
the seed lacks, such as the formulas of a genre or the function words of a language.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from siamese_news.lexical_head.options import Smoothing
from siamese_news.lexical_head.weights import TermWeights
from siamese_news.scoring.features import Ids, Posts, unit_terms
from siamese_news.scoring.smoothing import Neighbors

# So many of a list's best posts are compared.
COMPARED = 100
# The words in common are those of so many of them.
FIRST = 30
# Added to a likeness before it divides.
_LITTLE = 0.02


def shared_words(posts: Posts, article: Ids, weights: TermWeights) -> float:
    """`Evidence.shared` of an article's best posts, best first.

    `article` are the ids of its words and pairs.
    """
    count = min(FIRST, len(posts.ids))
    if count < 2:
        return 0.0
    terms = unit_terms(posts, weights)[:count]
    in_article = np.isin(np.unique(posts.terms), article)  # of the columns
    of_seed = terms[:, in_article]
    products = np.asarray((of_seed @ of_seed.T).toarray(), np.float64)
    # Without the products of each post with itself.
    between_posts = products.sum() - np.trace(products)
    return round(float(between_posts / (count * (count - 1))), 6)


def apart(
    posts: Posts, article: Ids, weights: TermWeights, options: Smoothing
) -> float:
    """`Evidence.apart` of the same posts."""
    count = min(FIRST, len(posts.ids))
    if count < 2:
        return 0.0
    words = replace(options, weight=1.0, dense=0.0)
    nothing = np.zeros((len(posts.ids), 0), np.float32)

    def likeness(without: Ids | None) -> float:
        post_terms = unit_terms(posts, weights, without)
        gains = Neighbors.of(post_terms, nothing, words).gains
        return float(gains[:count].mean())

    by_other_words = likeness(article)
    return round(by_other_words / (likeness(None) + _LITTLE), 6)


def highest(scores: NDArray[np.floating], place: int) -> float:
    """The score at a place from 1 on; 0 where there are fewer."""
    if len(scores) < place:
        return 0.0
    score = np.partition(scores, -place)[-place]
    return round(float(score), 6)
