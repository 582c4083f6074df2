"""Evidence of what a list is, without any label: from the best posts of its seeds.

Where many posts are about the seed's event, the best of them share the seed's words with each
other: its names and places come again and again. Where one or two posts answer a claim, the others
among the best each share another word with it; and if they resemble each other, it is by words that
the seed lacks, such as the formulas of a genre or the function words of a language.
"""

import numpy as np

from siamese_news.lexical_head.weights import TermWeights
from siamese_news.scoring.post_features import Ids, Posts, unit_terms

# So many of a list's best posts are compared.
COMPARED = 100
# The words in common are those of so many of them.
FIRST = 30


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
