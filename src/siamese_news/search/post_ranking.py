"""Ranks posts for seed articles, in bounded memory and the same every time."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.metrics.ranking import id_ranks
from siamese_news.scoring import Scorer
from siamese_news.search.histogram import ScoreCounts
from siamese_news.search.list_relevance import ListRelevance
from siamese_news.search.opened_query import OpenQuery, Outcome
from siamese_news.search.pool import Ints, Pool, Pruning, Window
from siamese_news.search.ranked_posts import RankedPost
from siamese_news.search.remarks import order_remarks, same_lists_remarks
from siamese_news.search.second_look import SecondLook
from siamese_news.search.seeds import MILLION, Seeds

# Candidates more than needed before a list is cut down.
_SLACK = 8192
_ALL_SLACK = 1 << 22  # of all lists together


class Ranking:
    """The `top` posts of each list of a search by a scorer; ties go by post id, descending.

    Only posts that some list may still need are kept, with their scores in numpy arrays, so lists
    as long as the pool cost little more than the pool. Iterating makes one list at a time.
    """

    def __init__(
        self,
        scorer: Scorer,
        seeds: Seeds,
        top: int,
        relevance: ListRelevance | None = None,
    ) -> None:
        self.scorer = scorer
        self.seeds = seeds
        self._top = top
        self.scores = ScoreCounts()
        self._relevance = relevance
        lists = seeds.lists
        self._scores = [np.empty(0, np.int64) for _ in range(lists)]
        # Before seeds were compared, where that is given.
        self._alone = [np.empty(0, np.float32) for _ in range(lists)]
        self._rows = [np.empty(0, np.int64) for _ in range(lists)]
        self._floors = np.full(lists, np.iinfo(np.int64).min)
        self._posts: dict[int, tuple[Post, int]] = {}
        self._slack = min(_SLACK, _ALL_SLACK // lists)
        self._limit = 2 * _SLACK
        self.seen = 0

    def add(
        self,
        posts: Sequence[Post],
        scores: Ints,
        best: NDArray[np.intp],
        rows: Ints | None = None,
        alone: NDArray[np.float32] | None = None,
    ) -> None:
        """Take a block of P posts, of which only those that are kept are read.

        `scores` are (lists, P) whole numbers, `best` (P,) numbers of the nearest seeds, and `rows`
        (P,) places in the pool, if the posts do not come in its order. `alone` are (lists, P) scores
        before rivals and negative seeds, for a second look.
        """
        if rows is None:
            rows = np.arange(self.seen, self.seen + len(posts))
        is_candidate = np.zeros(len(posts), bool)
        for number, line in enumerate(scores):
            columns = self._candidates(number, line)
            is_candidate[columns] = True
            self._scores[number] = np.concatenate([self._scores[number], line[columns]])
            self._rows[number] = np.concatenate([self._rows[number], rows[columns]])
            single_scores = (line / MILLION if alone is None else alone[number])[
                columns
            ]
            self._alone[number] = np.concatenate([self._alone[number], single_scores])
        for column in np.flatnonzero(is_candidate).tolist():
            self._posts[int(rows[column])] = (posts[column], int(best[column]))
        self.seen += len(posts)
        for number, list_scores in enumerate(self._scores):
            if len(list_scores) > 2 * self._top + self._slack:
                self._cut(number)
        if len(self._posts) > self._limit:
            self._forget()

    def least(self, top: int, second_look: SecondLook | None) -> Ints:
        """(lists,) the score below which a post matters to no list anymore.

        Of each list `top` posts are wanted, and those that a second look reads. They become more
        while posts come that look near, so these scores may fall.
        """
        for number in range(len(self._scores)):
            self._cut(number)
        if second_look is None:
            return self._floors.copy()
        return np.array(
            [
                second_look.least(number, scores, self.scorer.agreement(), top)
                for number, scores in enumerate(self._scores)
            ]
        )

    def look_again(self, second_look: SecondLook, top: int) -> None:
        """Order the best posts of each list by a second look, and keep `top` of it."""
        scales, agreed = self.scorer.scales(), self.scorer.agreement()
        for number, (scores, rows, order) in enumerate(self._ordered()):
            # A post that falls behind a rival is raised less.
            alone = np.rint(self._alone[number].astype(np.float64) * MILLION)
            fallen = np.clip(scores / np.maximum(alone, 1), 0, 1)
            falls = np.where(scores < alone, fallen, 1) ** 2
            second_look.reread(
                number,
                scores,
                order,
                partial(self._texts, rows),
                scales,
                agreed,
                falls,
            )
        self._top = top
        self._forget()

    def _texts(self, rows: Ints, indexes: NDArray[np.intp]) -> list[str]:
        return [self._posts[row][0].text for row in rows[indexes].tolist()]

    def posts(self) -> list[Post]:
        """The different posts in the lists, in the order of the pool."""
        self._forget()
        return [post for post, _ in self._posts.values()]

    def _ordered(self) -> Iterator[tuple[Ints, Ints, NDArray[np.intp]]]:
        """Scores and rows of each list, and their order."""
        self._forget()
        live = np.array(list(self._posts), np.int64)  # ascending
        ranks = id_ranks([post.id for post, _ in self._posts.values()])
        for scores, rows in zip(self._scores, self._rows, strict=True):
            columns = np.searchsorted(live, rows)
            yield scores, rows, np.lexsort((-ranks[columns], -scores))

    def _candidates(self, number: int, line: Ints) -> NDArray[np.intp]:
        """Columns that can be among the best, all ties of the last place included."""
        columns = np.flatnonzero(line >= self._floors[number])
        if not len(columns):
            return columns
        candidates = np.concatenate([self._scores[number], line[columns]])
        if len(candidates) > self._top:
            self._floors[number] = np.partition(candidates, -self._top)[-self._top]
            columns = columns[line[columns] >= self._floors[number]]
        return columns

    def _cut(self, number: int) -> None:
        """Cut a list down to `top` posts, the lowest score of which is its floor."""
        scores = self._scores[number]
        rows = self._rows[number]
        if len(scores) <= self._top:
            if len(scores) == self._top:
                self._floors[number] = scores.min()
            return
        floor = np.partition(scores, -self._top)[-self._top]
        self._floors[number] = floor
        above = np.flatnonzero(scores > floor)
        ties = np.flatnonzero(scores == floor).tolist()
        ties.sort(key=lambda index: self._posts[int(rows[index])][0].id, reverse=True)
        best_ties = ties[: self._top - len(above)]
        keep = np.sort(np.concatenate([above, best_ties]).astype(np.intp))
        self._scores[number] = scores[keep]
        self._rows[number] = rows[keep]
        self._alone[number] = self._alone[number][keep]

    def _forget(self) -> None:
        """Cut every list down and let go of the posts that none has."""
        for number in range(len(self._rows)):
            self._cut(number)
        live = np.unique(np.concatenate(self._rows)).tolist()
        self._posts = {row: self._posts[row] for row in live}
        self._limit = 2 * len(live) + 2 * _SLACK

    def remarks(self) -> list[str]:
        """Warnings about lists that say little; there must be a post."""
        ids = [article.id for article in self.seeds.articles]
        names = ["the seeds"] if self.seeds.one_story else ids
        best = (int(scores.max()) / MILLION for scores in self._scores)
        remarks = order_remarks(self.scores, dict(zip(names, best, strict=True)))
        if self.seeds.distinct:
            lists = [set(rows[order].tolist()) for _, rows, order in self._ordered()]
            posts = self.scores.total // len(lists)
            remarks += same_lists_remarks(dict(zip(names, lists, strict=True)), posts)
        if self._relevance is not None:
            remarks = [*remarks, *self._relevance.remarks()]
        return remarks

    @property
    def outcome(self) -> Outcome:
        """What the search did, before and after the posts of the lists are written."""
        return Outcome(
            self.scorer, self.seen, self.seen, self.scores, len(self.posts())
        )

    def __iter__(self) -> Iterator[list[RankedPost]]:
        articles = self.seeds.articles
        together = self.seeds.one_story
        for number, (scores, rows, order) in enumerate(self._ordered()):
            ranked = []
            scores = scores[order]
            rows = rows[order]
            likely: Sequence[float | None] = [None] * len(scores)
            if self._relevance is not None:
                nearest = np.array([self._posts[row][1] for row in rows.tolist()], int)
                likely = self._relevance.column(number, scores, nearest)
            ordered = zip(scores.tolist(), rows.tolist(), likely, strict=True)
            for rank, (score, row, relevance) in enumerate(ordered, 1):
                post, best = self._posts[row]
                article = articles[best if together else number]
                ranked.append(
                    RankedPost(article, rank, score / MILLION, post, relevance)
                )
            yield ranked


def search(
    scorer: Scorer,
    seeds: Seeds,
    pool: Pool,
    *,
    top: int,
    window: Window | None = None,
    texts: bool = True,
    second_look: SecondLook | None = None,
    relevance: Callable[[Scorer], ListRelevance] | None = None,
) -> Ranking:
    """Rank the `top` posts of a pool by a scorer, which was opened with `seeds.texts`.

    Without `texts`, the posts in the ranking may have nothing but their ids; they have the
    `relevance` that comes from the scorer, once it has observed the pool.
    """
    window = window or Window()
    texts = texts or second_look is not None
    scorer = pool.observe(scorer, window)
    seeds = seeds.among_stories(scorer)
    deep = top if second_look is None else max(top, second_look.most)
    of_lists = None if relevance is None else relevance(scorer)
    ranking = Ranking(scorer, seeds, deep, of_lists)
    pruning = Pruning(seeds.at_most, partial(ranking.least, top, second_look))
    for block in pool.parts(scorer, len(seeds.texts), window, pruning):
        scores, best = seeds.combine(block.scores)
        ranking.scores.add(scores, of_all=block.rows is None)
        posts = block.posts
        if block.rows is None and not texts:
            posts = [Post(post.id, "") for post in posts]
        alone = None if seeds.one_story else block.scores
        ranking.add(posts, scores, best, block.rows, alone)
    if not ranking.seen:
        if window.counts():
            raise InputError("no posts to rank; no post is within the dates")
        raise InputError("no posts to rank: expected at least one")
    if second_look is not None:
        second_look.read_sample(pool.sample())
        ranking.look_again(second_look, top)
    return ranking


def rank_posts(opened: OpenQuery, pool: Pool) -> Ranking:
    """Run a query: the posts of a pool ranked."""
    query = opened.query
    bare = query.format == "trec"
    return search(
        opened.scorer(),
        opened.seeds,
        pool,
        top=query.top,
        window=opened.window,
        texts=not bare or query.dedupe,
        second_look=opened.second_look,
        relevance=None if bare else opened.relevance,
    )
