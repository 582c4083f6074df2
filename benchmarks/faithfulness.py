"""Whether explanations are true: python -m benchmarks.faithfulness --model demo/model --split dev.

For pairs of an article and a post that links to it: the sentence that the explanation names is
taken out of the article, or another one of about its length (within 20 % of its tokens; the mean
over all of them), and the article is scored anew. The same is done with words: the named
ones are taken out of the post, or as many others (20 random choices). Intervals are 95 %, by
bootstrap over the articles, because the pairs of one article are not independent.
"""

import argparse
from collections.abc import Sequence

import numpy as np

from benchmarks.measure import machine
from siamese_news.data.records import Article, Post
from siamese_news.data.sources import open_source
from siamese_news.model import Model
from siamese_news.scoring import open_scorer
from siamese_news.search.explain.explainer import Explained, alike, explain

WORDS = 3  # number of named words that are taken out of a post
DRAWS = 20  # random sets of words of a post
ROUNDS = 2000


def of_sentence(explained: Explained) -> tuple[float, float, float] | None:
    """(drop, mean drop of the others, share of the others that it beats); None for no pair."""
    if explained.check is None or not explained.check.others:
        return None
    drops = np.array(
        [explained.score - sentence.without for sentence in explained.sentences]
    )
    named = explained.check.sentence
    others = drops[alike(named, [sentence.tokens for sentence in explained.sentences])]
    beaten = float((drops[named] > others).mean())
    return float(drops[named]), float(others.mean()), beaten


def of_words(
    model: Model, explained: Explained, dice: np.random.Generator
) -> tuple[float, float, float] | None:
    """The same for words; None where the post has too few of them."""
    chunks = explained.post.text.split()
    tokens = [set(model.tokens(chunk)) for chunk in chunks]
    named = {term.term for term in explained.terms[:WORDS]}
    named |= {word for term in named for word in term.split()}
    out = [place for place, post_words in enumerate(tokens) if post_words & named]
    rest = [
        place
        for place, post_words in enumerate(tokens)
        if post_words and not post_words & named
    ]
    if not out or len(rest) < len(out):
        return None
    sets = [
        set(out),
        *(set(dice.choice(rest, len(out), replace=False)) for _ in range(DRAWS)),
    ]
    texts = [
        " ".join(c for p, c in enumerate(chunks) if p not in gone) for gone in sets
    ]
    drops = (
        explained.score
        - open_scorer(model, [explained.article.full_text]).scores(texts)[0]
    )
    return (
        float(drops[0]),
        float(drops[1:].mean()),
        float((drops[0] > drops[1:]).mean()),
    )


def row(name: str, figures: Sequence[tuple[str, tuple[float, float, float]]]) -> str:
    """A line of the table."""
    articles = sorted({article for article, _ in figures})
    groups = [
        np.array([f for id, f in figures if id == article]) for article in articles
    ]
    everything = np.concatenate(groups)
    dice = np.random.default_rng(0)
    means = []
    for _ in range(ROUNDS):
        drawn = np.concatenate(
            [groups[g] for g in dice.integers(0, len(groups), len(groups))]
        )
        means.append([(drawn[:, 0] - drawn[:, 1]).mean(), drawn[:, 2].mean()])
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    named, other, beaten = everything.mean(axis=0)
    return (
        f"| {name} | {len(articles)} | {len(everything)} | {named:.4f} | {other:.4f} "
        f"| {named - other:.4f} [{low[0]:.4f}, {high[0]:.4f}] "
        f"| {beaten:.3f} [{low[1]:.3f}, {high[1]:.3f}] |"
    )


def measured(
    model: Model, pairs: Sequence[tuple[Article, list[Post]]]
) -> dict[str, list[tuple[str, tuple[float, float, float]]]]:
    """Figures of the pairs, by what was taken out."""
    dice = np.random.default_rng(0)
    figures: dict[str, list[tuple[str, tuple[float, float, float]]]] = {
        "sentence": [],
        "words": [],
    }
    for article, posts in pairs:
        for explained in explain(model, article, posts):
            if explained.score <= 0:
                continue
            for name, figure in (
                ("sentence", of_sentence(explained)),
                ("words", of_words(model, explained, dice)),
            ):
                if figure is not None:
                    figures[name].append((article.id, figure))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--model", default=None, help="model folder; else the one shipped"
    )
    parser.add_argument("--data", default="usatoday-cnn")
    parser.add_argument("--split", default="dev")
    parser.add_argument(
        "--posts", type=int, default=50, help="at most so many of an article"
    )
    arguments = parser.parse_args()
    model = Model.load(arguments.model) if arguments.model else Model.pretrained()
    collection = open_source(arguments.data)
    pairs = [
        (collection.articles[id], [collection.posts[post] for post in sorted(judged)])
        for id, judged in collection.split(arguments.split).items()
    ]
    figures = measured(
        model, [(article, posts[: arguments.posts]) for article, posts in pairs]
    )
    print(f"{arguments.data} {arguments.split}; {machine()}\n")
    print(
        "| taken out | articles | pairs | named | others | difference | beats others |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    print(row("sentence", figures["sentence"]))
    print(row(f"{WORDS} words", figures["words"]))


if __name__ == "__main__":
    main()
