"""What to expect by language: average precision on events-dev, each seed by itself.

python -m benchmarks.languages [--model FOLDER]
Needs SIAMESE_NEWS_DATA. The pool is that of all twelve events together, in several languages; a
post's language is told by the detector that fills `lang` in results. Prints Markdown.
"""

import argparse
import platform
import time
from collections import defaultdict

import numpy as np
from sklearn.metrics import average_precision_score

from siamese_news import __version__
from siamese_news.data.sources import open_source
from siamese_news.model.loading import open_model
from siamese_news.model.text_model import BLOCK
from siamese_news.scoring import observe_all, open_scorer
from siamese_news.search.language_remarks import SearchLanguages, languages_of_posts


def scores_of(model, text, posts):
    """The scores of the posts for an article alone."""
    scorer = open_scorer(model, [text])
    scorer = observe_all(scorer, posts)
    starts = range(0, len(posts), BLOCK)
    parts = [scorer.scores(posts[start : start + BLOCK]) for start in starts]
    return np.round(np.concatenate(parts, axis=1)[0], 6)


def precision(relevant, scores, among):
    """Average precision among some of the posts; NaN where none of them is relevant."""
    if not relevant[among].any():
        return float("nan")
    return float(average_precision_score(relevant[among], scores[among]))


def figures_of(model):
    """Of each seed: event, share of the relevant posts in its language, and three precisions.

    Args:
        model: any model.

    Returns:
        Seed's language -> rows, whose precisions are those among all posts, among those in the
        seed's language and among those in others.
    """
    source = open_source("events-dev")
    qrels = source.split("dev")
    posts = list(source.posts.values())
    texts = [post.text for post in posts]
    told = np.array([code or "" for code in languages_of_posts(posts)])
    found = defaultdict(list)
    for id, article in source.articles.items():
        event = str(article.metadata["event"])
        name = SearchLanguages([article]).seeds[id]
        scores = scores_of(model, article.full_text, texts)
        relevant = np.array([qrels.get(id, {}).get(post.id, 0) > 0 for post in posts])
        figures = [
            precision(relevant, scores, np.ones(len(posts), bool)),
            precision(relevant, scores, told == name),
            precision(relevant, scores, (told != name) & (told != "")),
        ]
        share = float(
            (told[relevant] == name).sum() / max((told[relevant] != "").sum(), 1)
        )
        found[name].append((event, share, figures))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--model", help="a model folder; the model that ships without it"
    )
    arguments = parser.parse_args()
    started = time.monotonic()
    model = open_model(arguments.model)
    found = figures_of(model)
    foreign = {
        event for name, rows in found.items() if name != "en" for event, _, _ in rows
    }
    print(
        "| seed in | event | relevant posts in the seed's language | AP, all posts | "
        "AP, posts in its language | AP, posts in others |\n|---|---|---:|---:|---:|---:|"
    )
    for name, rows in sorted(found.items()):
        for event, share, figures in rows:
            if event in foreign:
                _line(name, event.replace("_", " "), share, figures)
        if name == "en":
            others = [row for row in rows if row[0] not in foreign]
            shares = float(np.mean([share for _, share, _ in others]))
            means = np.nanmean([figures for _, _, figures in others], axis=0)
            _line(name, f"mean of the {len(others)} other events", shares, means)
    print(
        f"\n{time.monotonic() - started:.0f} s; siamese_news {__version__}, "
        f"Python {platform.python_version()}, {platform.machine()}"
    )


def _line(name, event, share, figures) -> None:
    cells = " | ".join(f"{value:.3f}".removeprefix("0") for value in figures)
    print(f"| {name} | {event} | {share:.0%} | {cells} |")


if __name__ == "__main__":
    main()
