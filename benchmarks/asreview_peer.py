"""ASReview itself, in its own environment, on the lists of `benchmarks.learning`.

``python -m venv peer && peer/bin/pip install asreview==3.0.8 pyarrow``, then ``peer/bin/python
benchmarks/asreview_peer.py --lists FOLDER`` with the folder that ``python -m benchmarks.learning
--lists FOLDER`` keeps. Prints, for each collection, the average precision of all posts after 50, 100
and 300 labels, with the labeled posts where they belong (the last figure of that table): the model
of a name (``--model``), five posts at a time, the best of its order; until it has both kinds of
labels, the best of the search. Needs nothing of this repository.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
from asreview.learner import ActiveLearningCycle
from asreview.models.models import get_ai_config

SIZES = (50, 100, 300)
BATCH = 5


def whole_precision(
    relevant: np.ndarray, scores: np.ndarray, labeled: list[int]
) -> float:
    """Average precision of all posts, labeled relevant ones first and the others last."""
    places = np.empty(len(scores))
    places[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
    rows = np.array(labeled)
    places[rows] = np.where(relevant[rows], -1.0, len(scores))
    hits = np.flatnonzero(relevant[np.argsort(places, kind="stable")])
    return float(np.mean(np.arange(1, len(hits) + 1) / (hits + 1)))


def review(table: pd.DataFrame, model: str) -> dict[int, float]:
    """Label a list, best first; the precision after each of `SIZES` labels."""
    cycle = ActiveLearningCycle.from_meta(get_ai_config(model)["value"])
    relevant = table["relevant"].to_numpy()
    texts = pd.DataFrame({"title": table["text"], "abstract": ""})
    features = cycle.transform(texts)
    scores = table["score"].to_numpy(dtype=float)
    labeled: list[int] = []
    precision = {}
    while len(labeled) < max(SIZES):
        unlabeled = np.setdiff1d(np.arange(len(scores)), labeled)
        best = unlabeled[np.argsort(-scores[unlabeled], kind="stable")]
        labeled += best[:BATCH].tolist()
        verdicts = relevant[labeled].astype(int)
        if 0 < verdicts.sum() < len(verdicts):
            cycle.fit(features[labeled], verdicts)
            order = cycle.rank(features)
            scores = np.empty(len(order))
            scores[order] = -np.arange(len(order), dtype=float)
        if len(labeled) in SIZES:
            precision[len(labeled)] = whole_precision(relevant, scores, labeled)
    return precision


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lists", type=Path, required=True)
    parser.add_argument("--model", default="elas_u4")
    options = parser.parse_args()
    precisions = defaultdict(list)
    for path in sorted(options.lists.glob("*.parquet")):
        group = path.name.split(".")[0]
        precisions[group].append(review(pd.read_parquet(path), options.model))
    for group, lists in precisions.items():
        means = [f"{np.mean([one[size] for one in lists]):.3f}" for size in SIZES]
        print(f"{group} ({len(lists)} lists): {' '.join(means)}")


if __name__ == "__main__":
    main()
