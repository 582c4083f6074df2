"""samCNN, Table 4: which query words the posts at the top hold, for the worst topic."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from papers.exhibit import Content, Exhibit, Published, Table
from papers.jobs import Job, Results, Setting, shared_data
from papers.samcnn.figure3 import RANKER, changes
from papers.samcnn.published import PAPER, PATTERNS, WORST, WORST_IN_CAPTION
from papers.samcnn.runs import (
    YEAR,
    collection_of,
    data_of,
    peers_job,
)
from papers.samcnn.variants import chosen_jobs, trained_as_chosen
from siamese_news.data.trec import read_run
from siamese_news.metrics import ranked
from siamese_news.training.rerank_data import RerankCollection, read_queries

JOB = "patterns"
TOP = 30
# The words of the paper's topic.
WORDS = ("oscars", "snub", "affleck")
Pattern = tuple[int, ...]


def count_patterns(
    query: Sequence[str], posts: Sequence[Sequence[str]], relevant: Sequence[bool]
) -> dict[Pattern, tuple[int, int]]:
    """How many posts hold at least the words of a pattern, for every pattern that occurs.

    A post with the words a and b counts for (a), for (b) and for (a, b), as in the paper's Table 4.

    Returns:
        Places among the distinct words -> (relevant posts, not relevant posts); patterns with the
        most words come first.

    Example:
        >>> count_patterns(["solar", "flare"], [["solar", "flare"], ["solar"]], [True, False])
        {(0, 1): (1, 0), (0,): (1, 1), (1,): (1, 0)}
    """
    counts: dict[bool, Counter[Pattern]] = {True: Counter(), False: Counter()}
    words = list(dict.fromkeys(query))
    for post, is_relevant in zip(posts, relevant, strict=True):
        text = set(post)
        held = [place for place, word in enumerate(words) if word in text]
        for size in range(1, len(held) + 1):
            counts[is_relevant].update(combinations(held, size))
    patterns = sorted({*counts[True], *counts[False]}, key=lambda p: (-len(p), p))
    return {
        pattern: (counts[True][pattern], counts[False][pattern]) for pattern in patterns
    }


def topic_patterns(
    collection: RerankCollection, query: str, run: Mapping[str, float]
) -> dict[str, dict[str, list[int]]]:
    """Patterns of a topic in the top 30 of a run (post id -> score) and among all candidates.

    Returns:
        ``top`` and ``all``: places of the words, such as "0 2" -> [relevant, not relevant].
    """
    order = [post for post, _ in ranked(run)]
    words = collection.queries[query].split()
    grades = collection.qrels.get(query, {})
    counted = {}
    for part, posts in (("top", order[:TOP]), ("all", order)):
        counts = count_patterns(
            words,
            [collection.posts[post].split() for post in posts],
            [grades.get(post, 0) >= 1 for post in posts],
        )
        counted[part] = {
            " ".join(map(str, key)): list(pair) for key, pair in counts.items()
        }
    return counted


def _job(setting: Setting) -> Job:
    def run(folder: Path, results: Results) -> Mapping[str, Any]:
        collection = collection_of(setting, folder.parent)
        seed = setting.seeds[0]
        worst = changes(results, seeds=(seed,))[-1][0]
        scores = read_run(
            trained_as_chosen(setting, folder.parent, RANKER) / "test.run.gz"
        )
        topics = dict.fromkeys(topic for topic in (WORST, worst) if topic in scores)
        counts = {
            topic: topic_patterns(collection, topic, scores[topic]) for topic in topics
        }
        return {"worst": worst, "topics": counts}

    return Job(JOB, run, minutes=0.5, data=data_of(setting), seeds=setting.seeds[:1])


def _words(setting: Setting, topic: str) -> Sequence[str] | None:
    """The words of a topic, read from the shared data: a saved result holds no text."""
    if setting.data != "shared" or not shared_data("trec-microblog"):
        return None
    folder = Path(os.environ["SIAMESE_NEWS_DATA"]) / "trec-microblog"
    return list(dict.fromkeys(read_queries(folder)[0][topic].split()))


def pattern_rows(
    counts: Mapping[str, Mapping[str, Sequence[int]]], words: Sequence[str] | None
) -> list[dict[str, Any]]:
    """One row a pattern in the top (`topic_patterns`), the single words first, as in the paper.

    Without words, places from 1 name them.
    """
    rows = []
    for pattern in sorted(counts["top"], key=lambda pattern: (len(pattern), pattern)):
        relevant, other = counts["top"][pattern]
        places = [int(place) for place in pattern.split()]
        named = [
            f"word {place + 1}" if words is None else words[place] for place in places
        ]
        rows.append(
            {
                "holds at least": " + ".join(named),
                f"posts in the top {TOP}": relevant + other,
                f"relevant in the top {TOP}": relevant,
                f"not relevant in the top {TOP}": other,
                "relevant candidates": counts["all"][pattern][0],
                "other candidates": counts["all"][pattern][1],
            }
        )
    return rows


def _lay_out(results: Results) -> Content:
    if JOB not in results:
        return Content()
    values = results[JOB]
    said = {
        values["worst"]: ", the worst of the first seed here",
        WORST: ", the paper's worst",
    }
    tables = [
        Table(
            f"Topic {topic}{said[topic]}",
            pattern_rows(values["topics"][topic], _words(results.setting, topic)),
            name=topic,
        )
        for topic in dict.fromkeys((WORST, values["worst"]))
        if topic in values["topics"]
    ]
    outcome = f"The worst topic of the first seed here is {values['worst']}, in the paper {WORST}."
    details = ""
    if WORST in values["topics"]:
        top = values["topics"][WORST]["top"]
        counts = ", ".join(
            f"{_named(pattern)} {sum(top.get(pattern, (0, 0)))} ({count})"
            for pattern, count in PATTERNS.items()
        )
        details = (
            f"Of the top {TOP} posts of {WORST}, as printed in brackets: {counts}."
        )
    return Content(tables=tables, outcome=outcome, details=details)


def _named(pattern: str) -> str:
    return " + ".join(WORDS[int(place)] for place in pattern.split())


def _jobs(setting: Setting) -> list[Job]:
    first = Setting(setting.data, setting.seeds[:1])
    trainings = chosen_jobs(first, rankers=(RANKER,), years=(YEAR,))
    return [peers_job(setting), *trainings, _job(setting)]


EXHIBIT = Exhibit(
    paper="samcnn",
    kind="table",
    key="4",
    title="Table 4: query words at the top of the worst topic",
    remark=(
        "As in the paper, a post counts for every set of query words that it holds, not only for "
        "the largest. Words are compared as the collection has them. Of all candidates only 3 hold "
        "the three words of the paper's topic, and 20 hold them as parts of words, so the paper "
        "must have counted forms of the words. The ranking is that of PAtt as chosen (see Other "
        "word vectors), first seed, without QL; the worst topic is the one where this seed loses "
        "most AP against QL. Fig. 3 has the mean over the seeds, so its worst topic may be "
        "another. Without the shared data, words are named by their places."
    ),
    published=Published(
        f"{PAPER}, Table 4",
        [
            Table(
                f"Posts of the top {TOP}, topic {WORST}",
                [
                    {"match": _named(key), "count": count}
                    for key, count in PATTERNS.items()
                ],
            )
        ],
        text=f"The caption numbers the topic {WORST_IN_CAPTION}, the text {WORST}. "
        f"“{' '.join(WORDS)}” is {WORST} in TREC's topics; {WORST_IN_CAPTION} is another.",
    ),
    jobs=_jobs,
    lay_out=_lay_out,
)
