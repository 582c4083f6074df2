"""How many more labels the page says a certificate takes, and how many it took.

    python -m benchmarks.labels_ahead --cache FILE [--draws 2]

``--cache`` is the file of scored pools that ``python -m benchmarks.calibration --cache FILE`` writes.
The first six lists of each pool with 100 relevant posts or more among their best are taken. None of
them chose anything of what is judged here:

- *About n more labels to certify m posts*: plans for a precision of .9 with 300 labels are followed
  for 900. After every 25 labels the sentence's number is compared with the labels that it then took to
  certify this set. ``at most n``, ``at most 2n`` and ``never`` are shares of these sentences.
- *A certificate needs about n labels*, in the line on where the list ends: the posts with a relevance
  of .5 or more by a table that no pool of the kind was in, and by 20 labels. Nothing is said where
  relevance is unknown. The number is compared with the one that follows from the true precision;
  ``never`` is the share of lists whose precision is below .9.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.calibration import Scored, fitted, read_pools
from benchmarks.printed_table import print_table
from benchmarks.replay import generator_of, random_order, tables_of
from benchmarks.twenty_labels import by_labels
from siamese_news.data.label_map import Mapped
from siamese_news_desk.decide.bounds.descent import UNKNOWN, descend, likely_labels
from siamese_news_desk.decide.bounds.hypergeometric import labels_for_precision
from siamese_news_desk.decide.own_relevance import FEWEST
from siamese_news_desk.decide.plan.design import first_set, nested_sets

TARGET, ERROR, BUDGET, FOLLOWED = Fraction(9, 10), 0.05, 300, 900
EVERY = 25  # labels between two sentences
_LISTS, _RELEVANT = 6, 100
_MORE, _NEEDS = "about n more labels", "a certificate needs about n labels"

Forecast = tuple[float, float]
"""The number of labels that is named, and how many it took; infinite if no number is enough."""


def plan_forecasts(
    scores: NDArray[np.float64], truth: NDArray[np.bool_], seed: int
) -> Iterator[Forecast]:
    """The sentences of one plan over a list of N posts, and what became of them."""
    sizes = nested_sets(scores, first_size=first_set(BUDGET))
    order = random_order(sizes, generator_of(seed, len(scores)), FOLLOWED)
    tables = tables_of(sizes, TARGET, BUDGET, ERROR)
    verdicts = np.full(len(scores), UNKNOWN, np.int8)

    def labels_of(ranks: NDArray[np.int64]) -> NDArray[np.int8]:
        return verdicts[ranks]

    waiting: list[tuple[int, int, int]] = []  # set, labels so far, labels named
    number = n_labels = 0
    while n_labels < FOLLOWED:
        outcome = descend(tables, order, labels_of, start=number)
        number = len(sizes) if outcome.done else outcome.steps[-1].number
        for said in [said for said in waiting if said[0] < number]:
            waiting.remove(said)
            yield said[2], n_labels - said[1]
        if not outcome.needed:
            break
        if n_labels and n_labels % EVERY == 0 and n_labels < BUDGET:
            likely = likely_labels(tables, outcome.steps[-1], budget=BUDGET)
            if likely is not None:
                new = labels_of(order.first(number, likely)) == UNKNOWN
                waiting.append((number, n_labels, int(new.sum())))
        batch = np.array(outcome.needed[: EVERY - n_labels % EVERY])
        verdicts[batch] = truth[batch]
        n_labels += len(batch)
    for _, _, named in waiting:
        yield named, np.inf


def list_forecast(
    relevance: NDArray[np.float64], truth: NDArray[np.bool_]
) -> Forecast | None:
    """The number of labels for the list at .5 by its relevance, and by the truth.

    None if no number is named.
    """
    in_list = relevance >= 0.5
    size = int(in_list.sum())
    numbers = [
        labels_for_precision(float(TARGET), size, float(share), ERROR) if size else None
        for share in (relevance[in_list].mean(), truth[in_list].mean())
    ]
    named, needed = numbers
    return None if named is None else (named, np.inf if needed is None else needed)


def lists_of(pool: Scored) -> list[int]:
    """The rows of the lists of a pool that are taken."""
    rows = np.flatnonzero(pool.relevant.sum(axis=1) >= _RELEVANT)
    return rows[:_LISTS].tolist()


def forecasts(
    pools: list[Scored], draws: int
) -> dict[str, dict[str, list[tuple[str, Forecast]]]]:
    """The forecasts of each sentence with the kinds of their lists."""
    sentences: dict[str, list[tuple[str, Forecast]]] = defaultdict(list)
    for kind in dict.fromkeys(pool.kind for pool in pools):
        table = fitted([pool for pool in pools if pool.kind != kind])
        for pool in (pool for pool in pools if pool.kind == kind):
            for row in lists_of(pool):
                scores, truth = pool.best[row], pool.relevant[row]
                values_of: dict[Mapped, NDArray[np.float64]] = {"score": scores}
                estimates = []
                if table.knows(pool.evidence[row]):
                    relevance = table.relevance(scores, pool.evidence[row])
                    values_of = {"relevance": relevance, **values_of}
                    estimates.append((_NEEDS, relevance))
                for seed in range(draws):
                    said = plan_forecasts(scores, truth, seed)
                    sentences[_MORE] += [(kind, forecast) for forecast in said]
                    by_20 = by_labels(values_of, truth, FEWEST, seed)
                    estimates.append((f"{_NEEDS}, by 20 labels", by_20))
                for sentence, relevance in estimates:
                    forecast = list_forecast(relevance, truth)
                    if forecast is not None:
                        sentences[sentence].append((kind, forecast))
    return sentences


def row_of(sentence: str, kind: str, several: list[Forecast]) -> dict[str, object]:
    """A row of the table."""
    named, needed = np.array(several).T
    ratio = needed / np.maximum(named, 1)
    low, high = np.quantile(ratio, [0.05, 0.95], method="inverted_cdf")
    return {
        "sentence": sentence,
        "kind": kind,
        "sentences": len(several),
        "at most n": f"{np.mean(ratio <= 1):.0%}",
        "at most 2n": f"{np.mean(ratio <= 2):.0%}",
        "n/2 to 2n": f"{np.mean((ratio >= 0.5) & (ratio <= 2)):.0%}",
        "never": f"{np.isinf(ratio).mean():.0%}",
        "nine of ten": f"{low:.1f} n to {high:.1f} n",
    }


def main(arguments: list[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.labels_ahead", description=__doc__
    )
    parser.add_argument(
        "--cache", type=Path, required=True, help="file of scored pools"
    )
    parser.add_argument("--draws", type=int, default=2, help="plans of each list")
    given = parser.parse_args(arguments)
    pools = read_pools(given.cache)
    rows = []
    for sentence, of_kinds in sorted(forecasts(pools, given.draws).items()):
        by_kind: dict[str, list[Forecast]] = defaultdict(list)
        for kind, forecast in of_kinds:
            by_kind[kind].append(forecast)
            by_kind["all"].append(forecast)
        rows += [row_of(sentence, *item) for item in by_kind.items()]
    print_table(rows)


if __name__ == "__main__":
    main()
