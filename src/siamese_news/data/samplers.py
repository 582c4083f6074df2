"""Batches of articles with their posts: deterministic, rank-aware, resumable.

A batch of articles is a list of groups (`siamese_news.data.collate`). All samplers are pure
functions of (seed, epoch, rank, world): any worker or restart makes the same batches.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from torch.utils.data import Sampler

from siamese_news.data.collate import Batch, Group, conflicts_of, share
from siamese_news.errors import InputError

#: A text under at most so many articles is always trained on.
FEW = 3
T = TypeVar("T")


class BatchSampler(Sampler[T]):
    """Epoch and position; a subclass makes the batches of a rank.

    With `one_epoch` every epoch has the batches of the first one.

    The position moves only through `advance` and `load_state_dict`, because batches that a
    loader's workers fetched ahead are not yet trained on.
    """

    _batches: int  # of one epoch

    def __init__(
        self, *, seed: int, rank: int, world: int, one_epoch: bool = False
    ) -> None:
        self.seed = int(seed)
        self.rank = rank
        self.world = world
        self.one_epoch = one_epoch
        self.epoch = self.batch = 0

    def __len__(self) -> int:
        """Batches of one epoch: the same for every epoch and rank."""
        return self._batches

    @property
    def sampler(self) -> "BatchSampler[T]":
        """Itself: Lightning calls ``set_epoch`` only on a batch sampler's ``sampler``."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Go to the start of an epoch; the current epoch keeps its position."""
        if epoch != self.epoch:
            self.epoch = int(epoch)
            self.batch = 0

    def advance(self, batches: int = 1) -> None:
        """Count batches of this epoch as trained on."""
        self.batch += batches

    def state_dict(self) -> dict[str, int]:
        """The position: epoch, batches of it trained on, and the batches an epoch has."""
        return {"epoch": self.epoch, "batch": self.batch, "batches": len(self)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a saved position; the end of an epoch is the start of the next.

        Raises:
            InputError: the epoch had another number of batches, from other data or settings.
        """
        saved = int(state.get("batches", len(self)))
        if saved != len(self):
            raise InputError(
                f"the saved run had {saved} batches per epoch, this one has {len(self)}: the "
                "data, data.batching or the number of processes differ; resume with the same"
            )
        self.epoch = int(state["epoch"])
        self.batch = int(state["batch"])
        if self.batch >= len(self):
            self.epoch = self.epoch + 1
            self.batch = 0


class _GroupSampler(BatchSampler[Batch]):
    """A subclass makes global batches, which are shared out to the ranks."""

    @abstractmethod
    def global_batches(self, epoch: int) -> list[Batch]:
        """The batches of one epoch before they are shared out to the ranks."""

    def __iter__(self) -> Iterator[Batch]:
        """This rank's batches of the epoch, from the position on."""
        for batch in self.global_batches(0 if self.one_epoch else self.epoch)[
            self.batch :
        ]:
            yield share(batch, world=self.world)[self.rank]


class ArticleBatchSampler(_GroupSampler):
    """Batches of distinct articles, each with up to m of its posts.

    An article's posts are shuffled and cut into chunks of nearly equal size, at most m; every chunk
    is in one batch of the epoch, so every pair is visited exactly once. An article is at most once
    in a batch. Two articles that share a post, or a post's text, are never in one global batch, so
    no pair looks like a negative. Where articles could only be kept apart by more batches than
    their posts fill, the texts under the most articles are left out (`left_out`): they say nothing
    about any of them. Articles of similar length share a batch. Batches are equally full: if one
    article has far more posts than others, an epoch has as many batches as it has chunks.

    Over several ranks each takes an equal number of articles and of posts of every global batch
    (an uneven gather fails or hangs); the few left over wait for another epoch's shuffle.

    Args:
        posts: for each article the indices of its posts (at least one, each once).
        lengths: for each article its number of tokens.
        articles_per_batch: per rank. Only where most articles share posts may a batch hold more.
        posts_per_article: m.
        chunks_per_epoch: at most this many chunks of an article per epoch; its posts then take
            turns over the epochs. None: all of them in every epoch.
        text_of: for each post a number that posts of the same text share; they count as one post
            when articles are kept apart. None: every post has its own.

    Attributes:
        left_out: how many pairs are left out.
        most_articles: the most articles that a text of the others is under.

    Raises:
        InputError: for no article, fewer articles than processes, or batches of one article, which
            have no negative.
    """

    def __init__(
        self,
        *,
        posts: Sequence[Sequence[int]],
        lengths: Sequence[int],
        articles_per_batch: int,
        posts_per_article: int,
        chunks_per_epoch: int | None = None,
        text_of: Sequence[int] | None = None,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
        one_epoch: bool = False,
    ) -> None:
        super().__init__(seed=seed, rank=rank, world=world, one_epoch=one_epoch)
        if not posts or any(len(of_article) == 0 for of_article in posts):
            raise InputError(
                "no training pair, or an article without a post; each needs one"
            )
        if len(posts) < world:
            raise InputError(
                f"{len(posts)} articles for {world} processes; use fewer processes"
            )
        self.lengths = np.asarray(lengths, dtype=np.int64)
        self.articles_per_batch = articles_per_batch
        self.posts_per_article = posts_per_article
        self.window = (
            None if chunks_per_epoch is None else chunks_per_epoch * posts_per_article
        )
        self._keep_apart(posts, text_of)
        total = int(self.chunks.sum())
        if articles_per_batch * world < 2:
            raise InputError(
                "data.batching.articles_per_batch is 1: a batch of one article has no negative; "
                "expected 2 or more"
            )
        if (n_articles := np.count_nonzero(self.chunks)) < 2:
            shared = " once the posts that most articles share are left out" * bool(
                self.left_out
            )
            raise InputError(
                f"{n_articles} of {len(posts)} training articles have posts{shared}: a batch needs 2, "
                "or a post has no negative; add pairs"
            )
        if total // self._batches < world:
            raise InputError(
                f"{total} chunks in {self._batches} batches cannot feed {world} processes: one "
                "article has too many posts; set data.batching.chunks_per_epoch=1"
            )
        if total < 2 * self._batches:
            raise InputError(
                f"{total} chunks of posts in {self._batches} batches: some batches would have one "
                "article and no negative, because one article has too many posts, or most share "
                "posts; set data.batching.chunks_per_epoch=1, or remove the posts that are shared"
            )

    def _keep_apart(
        self, posts: Sequence[Sequence[int]], text_of: Sequence[int] | None
    ) -> None:
        """Set the posts that are trained on, the articles' conflicts and the number of batches."""
        texts = [
            [post if text_of is None else text_of[post] for post in of_article]
            for of_article in posts
        ]
        articles_of = Counter(text for of_article in texts for text in set(of_article))
        max_articles = max(articles_of.values())
        while True:
            allowed = [
                [articles_of[text] <= max_articles for text in of_article]
                for of_article in texts
            ]
            self.posts = [
                np.asarray(of_article, dtype=np.int64)[np.asarray(keep, dtype=bool)]
                for of_article, keep in zip(posts, allowed, strict=True)
            ]
            # Chunks per article: the same in every epoch, so every epoch has equally many batches.
            post_counts = [
                min(len(of_article), self.window or len(of_article))
                for of_article in self.posts
            ]
            self.chunks = np.asarray(
                [-(-n // self.posts_per_article) for n in post_counts]
            )
            total = int(self.chunks.sum())
            full = -(-total // (self.articles_per_batch * self.world))
            full = min(full, max(1, total // 2))  # three articles in twos are one batch
            enough = max(full, int(self.chunks.max()), FEW)
            if (
                max_articles > enough
            ):  # each article of such a text needs a batch of its own
                max_articles = enough
                continue
            self.conflicts = conflicts_of(
                [
                    {
                        text
                        for text, keep in zip(of_article, allowed_texts, strict=True)
                        if keep
                    }
                    for of_article, allowed_texts in zip(texts, allowed, strict=True)
                ]
            )
            # With this many batches a chunk always finds one without an article in conflict.
            room = max(
                int(chunks + sum(self.chunks[rival] for rival in rivals))
                for chunks, rivals in zip(self.chunks, self.conflicts, strict=True)
            )
            if room <= enough or max_articles <= FEW:
                break
            max_articles = max(
                FEW, max(n for n in articles_of.values() if n <= max_articles) - 1
            )
        self.most_articles = max_articles
        self.left_out = sum(len(of_article) for of_article in posts) - sum(
            len(of_article) for of_article in self.posts
        )
        self._batches = max(full, room)

    def global_batches(self, epoch: int) -> list[Batch]:
        """The batches of one epoch."""
        rng = np.random.default_rng([self.seed, epoch])
        order = self._order(rng)
        batches: list[Batch] = [[] for _ in range(self._batches)]
        # Without conflicts chunk j goes to batch j modulo their number: equally full, and the
        # consecutive chunks of one article (never more than batches) all to different ones.
        turn = 0
        owners: list[set[int]] = [set() for _ in batches]
        for article in order:
            for chunk in self._cut(article, epoch, rng):
                target = self._free(article, turn % self._batches, owners)
                owners[target].add(article)
                batches[target].append((article, chunk))
                turn += 1
        self._top_up(batches)
        rng.shuffle(batches)
        return batches

    def _order(self, rng: np.random.Generator) -> list[int]:
        """A random order, in layers of one chunk per batch, each layer by length.

        The n-th batch then gets the n-th longest of every layer.
        """
        order = rng.permutation(len(self.posts))
        order = order[self.chunks[order] > 0]  # the posts of the others are left out
        chunks_before = np.cumsum(self.chunks[order]) - self.chunks[order]
        return order[
            np.lexsort((self.lengths[order], chunks_before // self._batches))
        ].tolist()

    def _cut(
        self, article: int, epoch: int, rng: np.random.Generator
    ) -> list[tuple[int, ...]]:
        of_article = self.posts[article]
        if self.window is not None and self.window < len(of_article):
            turns = np.random.default_rng([self.seed, 1, article]).permutation(
                of_article
            )
            start = epoch * self.window
            of_article = turns[np.arange(start, start + self.window) % len(turns)]
        return [
            tuple(chunk.tolist())
            for chunk in np.array_split(
                rng.permutation(of_article), int(self.chunks[article])
            )
        ]

    def _free(self, article: int, start: int, owners: Sequence[set[int]]) -> int:
        """The next batch with room and no article in conflict; the least full if none has room."""
        blocked = self.conflicts[article] | {article}
        candidates = chain(range(start, self._batches), range(start))
        allowed = (index for index in candidates if owners[index].isdisjoint(blocked))
        room = self.articles_per_batch * self.world
        tried: list[int] = []
        for index in allowed:
            if len(owners[index]) < room:
                return index
            tried.append(index)
        return min(tried, key=lambda index: len(owners[index]))

    def _top_up(self, batches: list[Batch]) -> None:
        """Move chunks to batches with too few articles to share out, or to have a negative."""
        minimum = max(2, self.world)
        for small in [batch for batch in batches if len(batch) < minimum]:
            for large in sorted(batches, key=len, reverse=True):
                while len(small) < minimum < len(large):
                    held = {article for article, _ in small}
                    group = next(
                        (
                            g
                            for g in large
                            if held.isdisjoint(self.conflicts[g[0]] | {g[0]})
                        ),
                        None,
                    )
                    if group is None:
                        break
                    large.remove(group)
                    small.append(group)
            if len(small) < minimum:
                raise InputError(
                    f"a batch has {len(small)} articles, but needs {minimum}, one for each process "
                    "and two for a negative: too many articles share posts; use fewer processes, "
                    "or remove the posts that are shared"
                )


class PairBatchSampler(_GroupSampler):
    """Random batches of single pairs, as the paper's released code made them (128 pairs).

    Every pair is in one batch of the epoch; an article may come several times in a batch, each
    time with one post. The last batch may be smaller; a batch that has pairs of one article alone
    gets one of another article, as a negative. Over several ranks each takes an equal
    share; a remainder that does not divide is left out of that epoch.

    Raises:
        InputError: for fewer pairs than processes, or one article alone.
    """

    def __init__(
        self,
        *,
        posts: Sequence[Sequence[int]],
        pairs_per_batch: int,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
        one_epoch: bool = False,
    ) -> None:
        super().__init__(seed=seed, rank=rank, world=world, one_epoch=one_epoch)
        self.pairs = [
            (article, post)
            for article, of_article in enumerate(posts)
            for post in of_article
        ]
        if len(self.pairs) < world:
            raise InputError(
                f"{len(self.pairs)} pairs for {world} processes; use fewer processes"
            )
        if (
            len({article for article, _ in self.pairs}) < 2
            or pairs_per_batch * world < 2
        ):
            raise InputError(
                f"{len(posts)} training articles in batches of {pairs_per_batch * world} pairs: a "
                "post has no negative; expected 2 or more of both"
            )
        self.pairs_per_batch = pairs_per_batch
        self._kept = len(self.pairs) // world * world
        self._batches = -(-self._kept // (pairs_per_batch * world))

    def global_batches(self, epoch: int) -> list[Batch]:
        """The batches of one epoch."""
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.pairs))
        chosen = [self.pairs[index] for index in order[: self._kept]]
        size = self.pairs_per_batch * self.world
        batches: list[Batch] = [
            [(article, (post,)) for article, post in chosen[start : start + size]]
            for start in range(0, len(chosen), size)
        ]
        for batch in batches:
            article = batch[0][0]
            if all(owner == article for owner, _ in batch):
                batch.append(self._negative(article, batches))
        return batches

    @staticmethod
    def _negative(article: int, batches: Sequence[Batch]) -> Group:
        """A pair of another article, taken from a batch that keeps pairs of two articles."""
        for batch in sorted(batches, key=len, reverse=True):
            for index, (candidate, _) in enumerate(batch):
                owners = {owner for owner, _ in batch[:index] + batch[index + 1 :]}
                if candidate != article and len(owners) > 1:
                    return batch.pop(index)
        raise InputError(
            "a batch has pairs of one article alone, and so no negative, because most pairs are of "
            "one article; use data.batching.kind=articles"
        )
