"""Seeds in a language that the vocabulary lacks: words common among posts that are not near."""

import numpy as np

from siamese_news import open_model, open_scorer
from siamese_news.lexical_head.weights import PoolCounts
from siamese_news.scoring import observe_all
from siamese_news.scoring.article_vectors import DistantPosts


def test_words_common_among_posts_that_are_not_near_say_little_of_a_foreign_seed():
    """Danish-like: every post has "dzt zr"; the seed's own words are in a tenth of them."""
    dice = np.random.default_rng(0)
    words = [f"{a}{b}qz" for a in "bdfgklmnprst" for b in "aeiouy"]
    posts = [" ".join(["dzt", "zr", *dice.choice(words, 6)]) for _ in range(270)]
    posts += [
        " ".join(["brznkvej", "kvlstad", *dice.choice(words, 6)]) for _ in range(30)
    ]
    seed = (
        "Brznkvej kvlstad dzt zr brznkvej dzt zr kvlstad vnldskvn dzt zr "
        + " ".join(words[:4])
    )
    scorer = open_scorer(
        open_model(), [seed, "The fire in the old town of Dresden burns on"]
    )
    scorer = observe_all(scorer, posts)
    assert scorer.decisions() == ["event", "event"]
    foreign = scorer.scores(posts)[0]
    assert foreign[270:].min() > foreign[:270].max()
    shares = scorer.article_term_shares(0)
    vocabulary = open_model().vocabulary
    dzt, story = (vocabulary.id_list([word])[0] for word in ("dzt", "kvlstad"))
    assert shares.get(dzt, 0.0) < 0.01 < shares[story]


def test_the_rarity_of_words_among_the_rest_is_counted_by_hand():
    head = open_model().terms
    near, other = [[3, 5], [3, 9]], [[3, 7], [5, 7], [7, 7], [8, 7], [8, 5], [9, 7]]
    pool, columns = PoolCounts(len(head.frequencies)), np.array([3, 5, 7, 8, 9])
    pool.add(*head.distinct([np.array(post) for post in near + other]))
    texts = [np.array(post) for post in near]

    def by_hand(counts, posts):
        shares = np.clip(np.array(counts) / posts, 0.03, 0.4)
        return np.log(0.4 / shares) / np.log(0.4 / 0.03)

    whole = DistantPosts(pool, texts, 1.0).rarity(head, columns)  # of six posts
    np.testing.assert_allclose(whole, by_hand([1, 2, 5, 2, 1], 6), atol=1e-12)
    half = DistantPosts(pool, texts, 0.5).rarity(head, columns)  # of seven
    np.testing.assert_allclose(half, by_hand([2, 2.5, 5, 2, 1.5], 7), atol=1e-12)
    assert whole[2] == 0 < whole[0] < 1
