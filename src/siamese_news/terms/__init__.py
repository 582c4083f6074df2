"""The lexical head: a text as weights on the words that occur in it, compared by their product.

An article's weight on a word is ``idf ** power * lead * (1 + log tf)``, where ``lead = 1 / (1 +
p / half)`` for the place p of its first occurrence among the article's content words: news puts
first what matters most. The vector has length 1. A post's weight is ``idf ** power``; its vector is
divided by ``(1 - pivot) * typical + pivot * length``, the pivoted length normalisation of Singhal
et al. (SIGIR 1996), with the typical length over background posts.

Pairs of neighbouring content words are a second vocabulary, weighted and normalised in the same way
by themselves; `TermOptions.phrases` is their share of the score.

The IDF comes from background text. In a pool that is mostly about the story itself (`Narrow`) it
is mixed with the pool's, geometrically, and the first words of the article, its headline, count as
a second vector: there what tells articles apart is rare in the pool and stands in the headline.

With `Feedback` an article's vector moves towards the mean of its best posts in the pool.

Where the encoder has factors, a word's weight is multiplied by the mean factor over its occurrences
in the text, and that of a pair by the mean product.
"""

from siamese_news.terms.counts import PoolCounts
from siamese_news.terms.features import distinct, mean_factors, pair_factors, pairs_of
from siamese_news.terms.feedback import BestPosts, mean_vectors
from siamese_news.terms.head import TermHead, no_pairs, pair_counters
from siamese_news.terms.options import Feedback, Narrow, TermOptions
from siamese_news.terms.weights import TermWeights

__all__ = [
    "BestPosts",
    "Feedback",
    "Narrow",
    "PoolCounts",
    "TermHead",
    "TermOptions",
    "TermWeights",
    "distinct",
    "mean_factors",
    "mean_vectors",
    "no_pairs",
    "pair_counters",
    "pair_factors",
    "pairs_of",
]
