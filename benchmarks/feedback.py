"""What an order learned from labels is worth, on labels it has not seen.

``python -m benchmarks.feedback --run events.run [--labels 150]``: for each article of events-dev so
many posts, drawn at random from its best 2,000, are labelled by the qrels; average precision on all
other posts before and after. The run is what ``siamese-news rank --articles queries.jsonl.gz
--posts corpus.jsonl.gz --top 12753 --out events.run`` writes.
"""

import argparse
import gzip
import json
import os
from pathlib import Path

import numpy as np

_DRAWN_FROM = 2000


def main() -> None:
    from sklearn.metrics import average_precision_score

    from siamese_news.decide.learning import learn

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--labels", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = Path(os.environ["SIAMESE_NEWS_DATA"]) / "events-dev"
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as stream:
        texts = {row["_id"]: row["text"] for row in map(json.loads, stream)}
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels" / "dev.tsv").read_text().splitlines()[1:]:
        article, post, grade = line.split("\t")
        if int(grade) > 0:
            relevant.setdefault(article, set()).add(post)
    lists: dict[str, list[tuple[float, str]]] = {}
    with options.run.open(encoding="utf-8") as stream:
        for line in stream:
            article, _, post, _, score, _ = line.split()
            lists.setdefault(article, []).append((float(score), post))
    generator = np.random.default_rng(options.seed)
    print("| article | cross-validated | 95% of the gain | used | on all other posts |")
    print("|---|---|---|---|---|")
    gains = []
    for article, rows in sorted(lists.items()):
        rows.sort(reverse=True)
        scores = np.array([score for score, _ in rows])
        said = np.array([post in relevant[article] for _, post in rows])
        drawn = generator.choice(min(_DRAWN_FROM, len(rows)), options.labels, replace=False)
        found = learn(
            [texts[post] for _, post in rows], scores, {int(n): bool(said[n]) for n in drawn}
        )
        rest = np.setdiff1d(np.arange(len(rows)), drawn)
        old = float(average_precision_score(said[rest], scores[rest]))
        new = float(average_precision_score(said[rest], found.scores[rest]))
        gains.append((old, new, new if found.helps else old))
        print(
            f"| {article} | {found.before:.3f} to {found.after:.3f} | {found.low:+.3f} to "
            f"{found.high:+.3f} | {'yes' if found.helps else 'no'} | {old:.3f} to {new:.3f} |"
        )
    means = np.mean(gains, axis=0)
    print(
        f"\nmean over {len(gains)} articles: {means[0]:.3f} by the search, {means[1]:.3f} always "
        f"learned, {means[2]:.3f} where cross-validation is sure of it"
    )


if __name__ == "__main__":
    main()
