"""How often `report --by` lists a word where groups do not differ: posts dealt at random.

The posts of each crisis of events-dev are dealt to groups at random, again and again; any word that
is listed is one too many. The limit is 5 % of the draws.

    python -m benchmarks.words_by_chance --draws 100
"""

import argparse
import random

from siamese_news.data.sources import open_source
from siamese_news.search.clusters import cluster_posts
from siamese_news.search.compare import words_of

GROUPS = (2, 5, 20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100)
    draws = parser.parse_args().draws
    pool = open_source("events-dev")
    stories: dict[str, list[str]] = {}
    for post in pool.posts.values():
        stories.setdefault(str(post.metadata["collected_for"]), []).append(post.text)
    different = [
        list(dict(zip(cluster_posts(texts), texts, strict=True)).values())
        for texts in stories.values()
    ]
    print("groups  draws  with a word  words")
    for count in GROUPS:
        draw = random.Random(count)
        wrong = 0
        words = 0
        for number in range(draws):
            texts = different[number % len(different)]
            groups: list[list[str]] = [[] for _ in range(count)]
            for text in texts:
                groups[draw.randrange(count)].append(text)
            sure = sum(word.sure for own in words_of(groups) for word in own)
            wrong = wrong + bool(sure)
            words = words + sure
        print(f"{count:6} {draws:6} {wrong:12} {words:6}")


if __name__ == "__main__":
    main()
