"""Is a reply without words of its own found through what it answers? A made pool of events-dev.

Half of the posts of events-dev get a reply of one of 20 phrases that say nothing; a reply is
relevant where its post is. Three ways to find them: the search alone; each reply searched together
with the text of its post; and the search alone with the replies of each post behind it, which is
the result of `siamese-news threads`.

    python -m benchmarks.wordless_replies --seed 0
"""

import argparse
import random
from statistics import mean

from siamese_news.data.records import Post
from siamese_news.data.sources import open_source
from siamese_news.model.loading import open_model
from siamese_news.scoring import open_scorer
from siamese_news.search.post_ranking import search
from siamese_news.search.scan import StreamPool
from siamese_news.search.seeds import Seeds

PHRASES = (
    "so true",
    "this",
    "wow",
    "source?",
    "same here",
    "oh no",
    "lol",
    "exactly",
    "no way",
    "thank you",
    "what happened?",
    "really?",
    "omg",
    "agreed",
    "not again",
    "me too",
    "sad",
    "unbelievable",
    "yes",
    "who cares",
)
THRESHOLD = 0.1


def average_precision(scores: dict[str, float], relevant: set[str]) -> float:
    """Of the posts by score; ties by id, descending."""
    found, total = 0, 0.0
    order = sorted(scores, key=lambda post: (scores[post], post), reverse=True)
    for place, post in enumerate(order, 1):
        if post in relevant:
            found += 1
            total += found / place
    return total / len(relevant)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    draw = random.Random(parser.parse_args().seed)
    pool = open_source("events-dev")
    model = open_model(None)
    posts = list(pool.posts.values())
    above = {f"r{post.id}": post for post in draw.sample(posts, len(posts) // 2)}
    said = {reply: draw.choice(PHRASES) for reply in above}
    bare = [*posts, *(Post(reply, text) for reply, text in said.items())]
    joined = [
        *posts,
        *(Post(reply, f"{text}\n{above[reply].text}") for reply, text in said.items()),
    ]
    rows: dict[str, list[list[float]]] = {}
    for article, grades in pool.qrels["dev"].items():
        own = {post for post, grade in grades.items() if grade >= 1}
        relevant = own | {reply for reply, post in above.items() if post.id in own}
        found = {}
        for name, texts in (("alone", bare), ("context", joined)):
            seed = Seeds([pool.articles[article]])
            scorer = open_scorer(model, seed.texts)
            (ranking,) = search(scorer, seed, StreamPool(texts), top=len(texts))
            found[name] = {item.post.id: item.score for item in ranking}
        behind = {reply: found["alone"][post.id] for reply, post in above.items()}
        found["threads"] = found["alone"] | behind
        for name, scores in found.items():
            kept = {reply for reply in above if scores[reply] >= THRESHOLD}
            right = len(kept & relevant)
            figures = [
                average_precision(scores, relevant),
                average_precision({post.id: scores[post.id] for post in posts}, own),
                right / len(relevant - own),
                right / len(kept) if kept else 0.0,
            ]
            rows.setdefault(name, []).append(figures)
    print("way      MAP, all  MAP, posts  recall of replies  precision of replies")
    for name, values in rows.items():
        print(
            f"{name:9}" + "".join(f"{mean(v):10.4f}" for v in zip(*values, strict=True))
        )


if __name__ == "__main__":
    main()
