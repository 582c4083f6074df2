"""How often seeds are said to tell several stories: python -m benchmarks.seed_groups.

Sets of articles of one event, and sets with a half about another event, each cut to its first
words. The events are those of usatoday-cnn (train and dev) with four articles or more; the model
that ships was trained on them.
"""

import random
from dataclasses import replace

from siamese_news import Model
from siamese_news.data.records import Article
from siamese_news.data.sources import open_source
from siamese_news.search.remarks import foreign_remarks
from siamese_news.text.languages import BACKGROUND
from siamese_news.utils.markdown import markdown_table

SETS = 60  # of each size
SIZES = (2, 3, 4, 6, 10)
WORDS = (100, 150)


def events() -> list[list[Article]]:
    """The articles of each event."""
    collection = open_source("usatoday-cnn")
    articles_of: dict[str, list[Article]] = {}
    for split in ("train", "dev"):
        for article_id in collection.qrels[split]:
            article = collection.articles[article_id]
            articles_of.setdefault(str(article.metadata["event"]), []).append(article)
    return [articles for articles in articles_of.values() if len(articles) >= 4]


def main() -> None:
    generator = random.Random(0)
    model = Model.pretrained()
    stories = events()

    def has_remark(articles: list[Article], words: int) -> bool:
        cut = [
            replace(article, title="", text=" ".join(article.full_text.split()[:words]))
            for article in articles
        ]
        return bool(foreign_remarks(model, cut, {a.id: BACKGROUND for a in cut}))

    rows = []
    for words in WORDS:
        for size in SIZES:
            long_enough = [story for story in stories if len(story) >= size]
            of_one = of_two = 0
            for _ in range(SETS):
                articles = generator.sample(generator.choice(long_enough), size)
                of_one += has_remark(articles, words)
                halves = generator.sample(stories, 2)
                sizes = (size // 2, size - size // 2)
                mixed = [
                    article
                    for half, count in zip(halves, sizes, strict=True)
                    for article in generator.sample(half, min(count, len(half)))
                ]
                of_two += has_remark(mixed, words)
            rows.append(
                {
                    "words": words,
                    "articles": size,
                    "sets": SETS,
                    "remark, one event": of_one,
                    "remark, two events": of_two,
                }
            )
    print(markdown_table(rows))
    for words in WORDS:
        some = [row for row in rows if row["words"] == words]
        one, two = (
            sum(row[f"remark, {events}"] for row in some)
            for events in ("one event", "two events")
        )
        print(f"{words} words: {one} and {two} of {SETS * len(SIZES)} sets")


if __name__ == "__main__":
    main()
