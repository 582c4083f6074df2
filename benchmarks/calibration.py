"""Fit the table that turns scores into relevance, and print how well it holds on pools left out.

    python -m benchmarks.calibration [--model FOLDER] [--cache FILE] [--write]

The pools are those of `benchmarks.calibration_pools`. Each is judged twice: by a table that no pool
of its kind was in, and by one that no pool of its collection was in. The figures are those of the
posts with a relevance of .5 or more, where all seeds are searched at once: their share of relevant
posts (precision) next to the mean of their relevance (expected), in the lists whose relevance is
known. Pools of one or two seeds count together, by kind and collection.

A table is fitted in two steps, by likelihood, with a small ridge: first the mixture of what a score
means where many and where few posts answer, then its correction by the number of posts, without
the lists where many are counted and most of them are not relevant (`_is_fitted`). Kinds, collections
within them, pools, seeds and the logarithms of ranks count alike. The correction is then steeper by
`STEEPER`: what is fitted to all these kinds at once is too cautious on each other one.

``--write`` puts the table of all pools into the model's folder; ``--cache`` keeps the scores of the
pools.
"""

import argparse
import json
import pickle
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.optimize import minimize

from benchmarks.calibration_pools import Shape, shapes
from benchmarks.printed_table import print_origin
from siamese_news.data.records import Post
from siamese_news.model.calibration import (
    LEAST_NEAR,
    MANY_COUNTED,
    SIDES,
    Calibration,
    Evidence,
)
from siamese_news.model.loading import open_model
from siamese_news.model.text_model import PRETRAINED, TextModel
from siamese_news.scoring import Scorer, observe_all, open_scorer
from siamese_news.scoring.rivals import rival_weights
from siamese_news.search.list_relevance import short
from siamese_news.search.query import SHIPPED_STAR
from siamese_news.search.second_look import SecondLook
from siamese_news.search.seeds import MILLION, Seeds
from siamese_news.text.languages import BACKGROUND, language_of_seed
from siamese_news.utils.checksums import write_sums
from siamese_news.utils.files import atomic_write
from siamese_news.utils.markdown import markdown_table

Floats = NDArray[np.float64]

RIDGE = 1e-3
# A factor on the logit of relevance, which leaves the cut at .5 where it is. Among 1, 1.25, 1.5, 2
# and 3, each kind left out chose 1.25 to 2 for the others, most of them 1.5.
STEEPER = 1.5
_WORDS = 8
# Measured and wrong, so relevance is unknown there: Thai is in the fit by a tiny pool alone.
_WRONG = frozenset({"th"})
_PLACES = (
    45  # places of a list that a table is fitted on, evenly over the logarithm of ranks
)
_DEEPEST = 1500
_JUDGED = 2500  # posts of a list that are judged
_ERROR = 300  # posts of a list that the calibration error is of
_START = {"asked": (0.0, 1.5), "many": (0.0, 1.5), "few": (-4.0, 1.0)}
_MIXED = ("asked", "many", "few")


@dataclass(frozen=True, slots=True)
class Scored:
    """The lists of a pool: their evidence, and the scores and the truth of some places.

    Attributes:
        fitted: of each list, the scores (N,), the truth (N,) and the weights (N,) to fit on.
        best: (A, P) the best scores of each list where all seeds are searched at once.
        relevant: (A, P) whether these are relevant.
        answers_of: (A,) the number of relevant posts of each list.
        map: the mean average precision of the lists.
    """

    name: str
    kind: str
    source: str
    languages: tuple[str, ...]
    evidence: Sequence[Evidence]
    fitted: Sequence[tuple[Floats, NDArray[np.bool_], Floats]]
    best: Floats
    relevant: NDArray[np.bool_]
    answers_of: NDArray[np.int64]
    map: float


def scored(model: TextModel, shape: Shape) -> Scored:
    """Score a pool, each seed by itself and all at once."""
    seeds = Seeds(shape.seeds)
    scorer = observe_all(
        open_scorer(model, seeds.texts, about=shape.about), shape.posts
    )
    of_lists = scorer.evidence(range(seeds.lists))
    assert of_lists is not None
    evidence = [
        replace(about, short=short(seed))
        for about, seed in zip(of_lists, shape.seeds, strict=True)
    ]
    scores = scorer.scores(shape.posts)
    first_look = seeds.combine(scores)[0]
    alone = _second_look(seeds, scorer, shape.posts, first_look, first_look)
    rivals = rival_weights(model, seeds.texts) if seeds.lists > 1 else None
    compared = replace(seeds, rivals=rivals).combine(scores)[0]
    together = _second_look(seeds, scorer, shape.posts, compared, first_look)
    places = np.argsort(-together, axis=1, kind="stable")
    truth = np.take_along_axis(shape.relevant, places, axis=1)
    return Scored(
        shape.name,
        shape.kind,
        shape.source,
        tuple(language_of_seed(seed.full_text) or BACKGROUND for seed in shape.seeds),
        evidence,
        [_places(*pair) for pair in zip(alone, shape.relevant, strict=True)],
        np.take_along_axis(together, places, axis=1)[:, :_JUDGED],
        truth[:, :_JUDGED],
        truth.sum(axis=1),
        float(np.mean([_average_precision(line) for line in truth if line.any()])),
    )


def _second_look(
    seeds: Seeds,
    scorer: Scorer,
    posts: Sequence[str],
    lists: NDArray[np.int64],
    alone: NDArray[np.int64],
) -> Floats:
    """(A, P) the scores of lists (A, P) once the star read their best posts, as `rank` has them.

    `alone` (A, P) are the scores of each seed by itself.
    """
    look = SecondLook(SHIPPED_STAR, seeds)
    look.read_sample(Post(str(number), text) for number, text in enumerate(posts))

    def texts_of(places: NDArray[np.intp]) -> list[str]:
        return [posts[place] for place in places.tolist()]

    scales, agreed = scorer.scales(), scorer.agreement()
    reread_lists = lists.copy()
    for number, line in enumerate(reread_lists):
        order, single = np.argsort(-line, kind="stable"), alone[number]
        # A post that falls behind a rival is raised less.
        falls = np.where(line < single, line / np.maximum(single, 1), 1.0) ** 2
        look.reread(number, line, order, texts_of, scales, agreed, falls)
    return reread_lists / MILLION


def _places(
    scores: Floats, relevant: NDArray[np.bool_]
) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """Scores, truth and weights of places that are spread over the logarithm of ranks."""
    order = np.argsort(-scores, kind="stable")
    count = min(len(order), _DEEPEST)
    ranks = np.unique(np.round(np.exp(np.linspace(0, np.log(count), _PLACES)))) - 1
    edges = np.concatenate([[0.5], (ranks[:-1] + ranks[1:]) / 2 + 1, [count + 0.5]])
    weights = np.log(edges[1:] / edges[:-1])
    some = order[ranks.astype(int)]
    return scores[some], relevant[some], weights / weights.sum()


def _average_precision(truth: NDArray[np.bool_]) -> float:
    precision = np.cumsum(truth) / np.arange(1, len(truth) + 1)
    return float(precision[truth].mean())


def fitted(pools: Sequence[Scored]) -> Calibration:
    """The table of some pools; those of fewer than ten posts are judged only."""
    pools = [pool for pool in pools if pool.kind != "handful"]
    kinds = Counter(pool.kind for pool in pools)
    sources = Counter((pool.kind, pool.source) for pool in pools)
    lists = [
        (
            about,
            line,
            line[2]
            / len(pool.evidence)
            / sources[pool.kind, pool.source] ** 0.7
            / kinds[pool.kind] ** 0.3,
        )
        for pool in pools
        for about, line in zip(pool.evidence, pool.fitted, strict=True)
    ]
    number = np.repeat(np.arange(len(lists)), [len(weight) for *_, weight in lists])
    weight = np.concatenate([weight for *_, weight in lists])
    weight /= weight.sum()
    truth = np.concatenate([line[1] for _, line, _ in lists]).astype(float)
    asked = np.stack([about.asked() for about, *_ in lists])
    many = np.concatenate([about.many(line[0]) for about, line, _ in lists])
    few = np.concatenate([about.few(line[0]) for about, line, _ in lists])
    weights = _mixture(asked, many, few, number, truth, weight)
    languages = {language for pool in pools for language in pool.languages}
    table = Calibration(
        {**weights, "counted": dict.fromkeys(SIDES["counted"], 0.0)},
        _WORDS,
        tuple(sorted(languages - _WRONG)),
        (0.0, 0.0),
    )
    counted = np.concatenate(
        [
            about.counted(
                table.mixed(line[0], about), table.mixed(np.array(about.scores), about)
            )
            for about, line, _ in lists
        ]
    )
    used = np.array([_is_fitted(table, about) for about, *_ in lists])[number]
    correction = _logistic(counted[used], truth[used], weight[used])
    return replace(table, weights={**weights, "counted": correction})


def _is_fitted(table: Calibration, about: Evidence) -> bool:
    """Whether the correction is fitted on a list.

    It is not where many posts are counted, and hardly any of the pool is near the seed or the very
    article is asked for: relevance is unknown there.
    """
    count = (table.mixed(np.array(about.scores), about) >= 0.5).sum()
    is_sound = about.near >= LEAST_NEAR and about.article <= 0.5
    return bool(count <= MANY_COUNTED or is_sound)


@dataclass(frozen=True, slots=True)
class _Standard:
    """Features (N, F), the first of them constant, with means of 0 and deviations of 1."""

    means: Floats
    deviations: Floats

    @classmethod
    def of(cls, features: Floats, weight: Floats) -> "_Standard":
        means = weight @ features / weight.sum()
        spread = np.sqrt(weight @ (features - means) ** 2 / weight.sum()) + 1e-6
        means[0], spread[0] = 0.0, 1.0
        return cls(means, spread)

    def __call__(self, features: Floats) -> Floats:
        standard: Floats = (features - self.means) / self.deviations
        return standard

    def named(self, side: str, weights: Floats) -> dict[str, float]:
        """Weights of the standard features as weights of the features."""
        slopes = weights / self.deviations
        slopes[0] -= slopes[1:] @ self.means[1:]
        return dict(zip(SIDES[side], slopes.round(4).tolist(), strict=True))


def _least(
    cost: Callable[[Floats], tuple[float, Floats]], start: Floats, free: Sequence[int]
) -> Floats:
    """The weights of the least cost with a ridge on all but the `free` ones."""

    def ridged(weights: Floats) -> tuple[float, Floats]:
        bound = weights.copy()
        bound[list(free)] = 0.0
        value, gradient = cost(weights)
        return value + RIDGE * float(bound @ bound) / 2, gradient + RIDGE * bound

    best: Floats = minimize(
        ridged, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}
    ).x
    return best


def _mixture(
    asked: Floats,
    many: Floats,
    few: Floats,
    number: NDArray[np.int64],
    truth: Floats,
    weight: Floats,
) -> dict[str, dict[str, float]]:
    """The weights of the three logits of a mixture; `number` is the list of each of N rows."""
    of_lists = np.bincount(number, weight).astype(np.float64)
    standards = [
        _Standard.of(asked, of_lists),
        _Standard.of(many, weight),
        _Standard.of(few, weight),
    ]
    ask, much, little = (
        standard(features)
        for standard, features in zip(standards, (asked, many, few), strict=True)
    )
    ends = np.cumsum([features.shape[1] for features in (ask, much, little)])

    def cost(weights: Floats) -> tuple[float, Floats]:
        of_asked, of_many, of_few = np.split(weights, ends[:-1])
        gate = special.expit(ask @ of_asked)
        share = gate[number]
        high, low = special.expit(much @ of_many), special.expit(little @ of_few)
        mixed = np.clip(share * high + (1 - share) * low, 1e-9, 1 - 1e-9)
        loss = -weight @ (truth * np.log(mixed) + (1 - truth) * np.log(1 - mixed))
        slope = weight * (mixed - truth) / (mixed * (1 - mixed))
        by_list = np.bincount(number, slope * (high - low)) * gate * (1 - gate)
        gradient = [
            by_list @ ask,
            (slope * share * high * (1 - high)) @ much,
            (slope * (1 - share) * low * (1 - low)) @ little,
        ]
        return float(loss), np.concatenate(gradient)

    start = np.zeros(ends[-1])
    firsts = [0, *ends[:-1].tolist()]
    for first, side in zip(firsts, _MIXED, strict=True):
        start[first : first + 2] = _START[side]
    best = np.split(_least(cost, start, firsts), ends[:-1])
    return {
        side: standard.named(side, weights)
        for side, standard, weights in zip(_MIXED, standards, best, strict=True)
    }


def _logistic(features: Floats, truth: Floats, weight: Floats) -> dict[str, float]:
    """The weights of the correction by the number of posts."""
    weight = weight / weight.sum()
    standard = _Standard.of(features, weight)
    scaled = standard(features)

    def cost(weights: Floats) -> tuple[float, Floats]:
        logits = scaled @ weights
        loss = weight @ (np.logaddexp(0, logits) - truth * logits)
        return float(loss), (weight * (special.expit(logits) - truth)) @ scaled

    best = _least(cost, np.zeros(scaled.shape[1]), [0])
    return standard.named("counted", STEEPER * best)


@dataclass(frozen=True, slots=True)
class Judged:
    """What a table keeps of a pool at .5."""

    name: str
    kind: str
    lists: int
    known: int  # lists whose relevance is known; what follows is of these
    kept: int
    right: int
    expected: float  # the sum of the relevance of the kept posts
    answers: int
    error: float  # expected calibration error of each list's best posts
    map: float

    @property
    def precision(self) -> float:
        """The share of kept posts that are relevant; NaN without any."""
        return self.right / self.kept if self.kept else float("nan")

    @property
    def off(self) -> float:
        """By how much precision is above what was expected; NaN without kept posts."""
        return self.precision - self.expected / self.kept if self.kept else float("nan")

    @property
    def recall(self) -> float:
        """The share of relevant posts that is kept."""
        return self.right / max(self.answers, 1)


def judged(table: Calibration, pool: Scored) -> Judged:
    """Judge a table on the lists of a pool in which it knows relevance."""
    known = np.array([table.knows(about) for about in pool.evidence])
    relevance = np.stack(
        [table.relevance(*pair) for pair in zip(pool.best, pool.evidence, strict=True)]
    )[known]
    relevant = pool.relevant[known]
    kept = relevance >= 0.5
    values = relevance[:, :_ERROR].ravel()
    truth = relevant[:, :_ERROR].ravel()
    bins = np.minimum((values * 10).astype(int), 9)
    errors = [
        abs((values[here] - truth[here]).sum())
        for place in range(10)
        if (here := bins == place).any()
    ]
    return Judged(
        pool.name,
        pool.kind,
        len(pool.evidence),
        int(known.sum()),
        int(kept.sum()),
        int(relevant[kept].sum()),
        float(relevance[kept].sum()),
        int(pool.answers_of[known].sum()),
        float(sum(errors) / max(len(values), 1)),
        pool.map,
    )


def left_out(pools: Sequence[Scored], by: Literal["kind", "source"]) -> list[Judged]:
    """Each pool judged by the table of those of other kinds, or of other collections."""
    tables = {
        name: fitted([pool for pool in pools if getattr(pool, by) != name])
        for name in dict.fromkeys(getattr(pool, by) for pool in pools)
    }
    results: dict[str, list[Judged]] = {}
    for pool in pools:
        small = len(pool.evidence) < 3
        name = f"{pool.kind}, {pool.source}, small pools" if small else pool.name
        results.setdefault(name, []).append(judged(tables[getattr(pool, by)], pool))
    return [_together(name, several) for name, several in results.items()]


def _together(name: str, several: Sequence[Judged]) -> Judged:
    sums = [
        sum(getattr(pool, field) for pool in several)
        for field in ("lists", "known", "kept", "right", "expected", "answers")
    ]
    means = [
        float(np.mean([getattr(pool, field) for pool in several]))
        for field in ("error", "map")
    ]
    return Judged(name, several[0].kind, *sums, *means)


def interval(results: Sequence[Judged]) -> tuple[float, float]:
    """Between which two differences of precision and expected precision nine of ten pools are."""
    low, high = np.nanquantile([pool.off for pool in results], [0.05, 0.95])
    return round(float(low), 2), round(float(high), 2)


def table_of(results: Sequence[Judged]) -> str:
    """The figures as a Markdown table, and how many pools reach the goals."""
    rows = [
        {
            "pool": pool.name,
            "kind": pool.kind,
            "lists": pool.lists,
            "known": pool.known,
            "MAP": f"{pool.map:.2f}",
            "kept": pool.kept,
            "precision": f"{pool.precision:.2f}",
            "expected": f"{pool.precision - pool.off:.2f}",
            "recall": f"{pool.recall:.2f}",
            "calibration error": f"{pool.error:.3f}",
        }
        for pool in results
    ]
    # A pool most of whose lists have no relevance is unknown.
    shown = [pool for pool in results if pool.known * 2 >= pool.lists]
    keeping = [pool for pool in shown if pool.kept]
    good = [pool for pool in shown if pool.map > 0.4]
    off = np.array([pool.off for pool in keeping])
    precision = np.array([pool.precision for pool in keeping])
    recall = np.array([pool.recall for pool in good])
    # Above a precision of .98, a cut at .5 leaves out more than it needs to.
    too_high = precision > 0.98
    reached = (precision >= 0.5) & ~too_high & (abs(off) <= 0.2)
    return (
        f"{markdown_table(rows)}\n"
        f"{len(results) - len(shown)} of {len(results)} pools are unknown. Of the others: within .2 "
        f"of what was expected: {np.mean(abs(off) <= 0.2):.0%}; more than .2 below it: "
        f"{np.mean(off < -0.2):.0%}. A precision of .5 or more: {np.mean(precision >= 0.5):.0%}; of "
        f".98 or less: {np.mean(~too_high):.0%}; between both and within .2: {np.mean(reached):.0%}. A "
        f"recall of .15 or more where MAP is above .4: {np.mean(recall >= 0.15):.0%}. Mean "
        f"calibration error: {np.mean([pool.error for pool in shown]):.3f}. Nine of ten: "
        f"{interval(shown)}."
    )


def write_table(table: Calibration, folder: Path) -> None:
    """Put a table into a model folder."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["calibration"] = table.plain()
    with atomic_write(path) as stream:
        stream.write(json.dumps(config, indent=2, ensure_ascii=False) + "\n")
    write_sums(folder)


def read_pools(cache: Path) -> list[Scored]:
    """The scored pools in the file of ``--cache``."""
    pools: list[Scored] = pickle.loads(cache.read_bytes())
    return pools


def main(arguments: list[str] | None = None) -> None:
    """Print the tables left out, and write the table of all if that is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.calibration", description=__doc__
    )
    parser.add_argument("--model", type=Path, default=PRETRAINED, help="a model folder")
    parser.add_argument("--cache", type=Path, help="file of the scored pools")
    parser.add_argument("--write", action="store_true", help="into the model's folder")
    given = parser.parse_args(arguments)
    if given.cache is not None and given.cache.exists():
        pools = read_pools(given.cache)
    else:
        model = open_model(given.model)
        assert isinstance(model, TextModel)
        pools = []
        for shape in shapes():
            print(f"scoring {shape.name}", file=sys.stderr)
            pools.append(scored(model, shape))
        if given.cache is not None:
            given.cache.write_bytes(pickle.dumps(pools))
    both = []
    for by in ("source", "kind"):
        results = left_out(pools, by)
        print(f"\nLeft out by {by}:\n\n{table_of(results)}")
        both += [pool for pool in results if pool.known * 2 >= pool.lists]
    table = replace(fitted(pools), off=interval(both))
    print(f"\n{json.dumps(table.plain())}")
    if given.write:
        write_table(table, given.model)
    print_origin()


if __name__ == "__main__":
    main()
