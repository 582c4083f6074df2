"""The speed of the lexical head behind the encoder: python -m benchmarks.words.

Posts are those of the bundled stories, repeated; the articles are the first five of the stories.
Prints two figures of one thread's CPU time: how long 1,000,000 posts take whose sparse vectors are
ready (their product with the articles and the best article of each post), and how long one post
takes from its text to a score and from its text to the words that carried the score.
"""

import statistics

import numpy as np

from benchmarks.measure import machine, seconds
from siamese_news.data.sources import open_source
from siamese_news.model import Model
from siamese_news.scoring import open_scorer

POSTS = 1_000_000
BLOCK = 40_000  # posts scored at a time
ARTICLES = 5
TARGET = 3.0  # seconds for POSTS posts


def product_seconds(model: Model, articles: list[str], posts: list[str]) -> float:
    """CPU seconds to score `POSTS` posts whose sparse vectors are ready."""
    head = model.terms
    assert head is not None
    article_ids = [model.ids(text) for text in articles]
    columns = np.unique(np.concatenate([head.features(ids) for ids in article_ids]))
    weights = head.background()
    article_vectors = weights.articles(article_ids, columns)
    rows, features, count = head.distinct([model.ids(text) for text in posts])
    post_vectors = weights.posts(rows, features, count, columns)  # (P, C), sparse

    def score() -> None:
        for _ in range(POSTS // len(posts)):
            (article_vectors @ post_vectors.T).toarray().max(axis=0)

    return statistics.median(seconds(score) for _ in range(3))


def seconds_per_post(
    model: Model, articles: list[str], posts: list[str]
) -> tuple[float, float]:
    """CPU seconds from a post's text to its score, and from its text to its matched words."""
    scorer = open_scorer(model, articles, fusion="words", expand=False)
    # The tokenizer remembers words; both figures are of a warm one.
    scorer.scores(posts)
    scoring = statistics.median(seconds(lambda: scorer.scores(posts)) for _ in range(3))
    naming = statistics.median(
        seconds(lambda: scorer.matched_terms(posts)) for _ in range(3)
    )
    return scoring / len(posts), naming / len(posts)


def main() -> None:
    stories = open_source("stories")
    articles = [
        article.full_text for article in list(stories.articles.values())[:ARTICLES]
    ]
    texts = [post.text for post in stories.posts.values()]
    posts = [texts[number % len(texts)] for number in range(BLOCK)]
    model = Model.pretrained()
    product = product_seconds(model, articles, posts)
    scoring, naming = seconds_per_post(model, articles, posts)
    met = "met" if product < TARGET else "not met"
    print(f"{machine()}; {ARTICLES} articles\n")
    print("| figure | measured |")
    print("|---|---|")
    print(
        f"| {POSTS:,} posts, vectors ready | {product:.2f} s (target {TARGET:g} s: {met}) |"
    )
    print(f"| one post, from its text to a score by words | {scoring * 1e6:.0f} µs |")
    print(f"| one post, from its text to its matched words | {naming * 1e6:.0f} µs |")


if __name__ == "__main__":
    main()
