"""The texts of drawn posts, and the verdicts that a text shares with its copies."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.readers import open_posts
from siamese_news.data.results import text_pieces
from siamese_news.errors import InputError
from siamese_news_desk.decide.bounds.descent import UNKNOWN
from siamese_news_desk.decide.plan.design import FIRST, Order
from siamese_news_desk.decide.plan.population import Population
from siamese_news_desk.labels.matching import Labels
from siamese_news_desk.labels.units import Unit

# A pass over the posts costs much more than holding their texts, so one pass looks up many:
_BEST = 50_000  # posts from the top, because labels of small sets are anywhere in a larger one
_AHEAD = 50  # further down: sets from the present one on (each 1.02 times as large as the last)
_OF_EACH = 512  # the fewest posts of each of these sets
_NOT_LOOKED_UP = -2  # neither `UNKNOWN` nor one of the labels 0 and 1
_BLOCK = 8192  # posts of a file in memory at one time


class Texts:
    """Units with texts, from the results or from files of posts; each is looked up once."""

    def __init__(
        self, population: Population, posts: Sequence[Path] | None = None
    ) -> None:
        self._population = population
        self._posts = list(posts or [])
        self._found: dict[int, Unit] = {}
        self._keys: dict[int, tuple[str, str] | None] = {}

    def units(
        self, ranks: Sequence[int], ahead: Callable[[], Iterable[int]] | None = None
    ) -> list[Unit]:
        """The units at these ranks; a lookup also fetches those `ahead`."""
        if any(rank not in self._found for rank in ranks):
            missing = sorted({*ranks, *(ahead() if ahead else ())} - self._found.keys())
            units = self._population.units(missing)
            if self._posts:
                units = self._with_texts(units)
            self._found.update(zip(missing, units, strict=True))
        return [self._found[rank] for rank in ranks]

    def keys(
        self, ranks: Sequence[int], ahead: Callable[[], Iterable[int]] | None = None
    ) -> list[tuple[str, str] | None]:
        """`text_key` of the units at these ranks; see `units`."""
        missing = [rank for rank in ranks if rank not in self._keys]
        if missing:
            units = self.units(missing, ahead)
            self._keys.update(zip(missing, map(text_key, units), strict=True))
        return list(map(self._keys.__getitem__, ranks))

    def expect_any(self) -> None:
        """Raise an `InputError` if the best posts have neither texts nor links to them."""
        units = self._population.units(range(min(FIRST, len(self._population))))
        post_ids = {unit.post for unit in units}
        if not any(unit.text.strip() or unit.link for unit in units) and not any(
            post.id in post_ids and post.text.strip()
            for post in (open_posts(self._posts) if self._posts else ())
        ):
            raise InputError(
                f"{[*self._posts, self._population.path][0]}: has no texts of the posts to label; "
                "name the files or folders that have them with --posts"
            )

    def pieces(self) -> Iterator[tuple[list[str], NDArray[np.bool_]]]:
        """All texts, a piece at a time, with whether each is of one of the best posts."""
        if not self._posts:
            start = 0
            for texts in text_pieces(self._population.path):
                yield texts, self._population.is_best(start, start + len(texts))
                start += len(texts)
            return
        posts = iter(open_posts(self._posts))
        while block := list(islice(posts, _BLOCK)):
            in_population, best = self._population.members([post.id for post in block])
            yield (
                [
                    post.text
                    for post, is_here in zip(block, in_population, strict=True)
                    if is_here
                ],
                best[in_population],
            )

    def copies(self) -> NDArray[np.int64]:
        """(N,) for the post at each rank, the posts down to it with its text, including itself."""
        seen: Counter[tuple[str, str]] = Counter()
        copies = np.ones(len(self._population), np.int64)
        for rank, key in enumerate(self.keys(range(len(copies)))):
            if key is not None:
                seen[key] += 1
                copies[rank] = seen[key]
        return copies

    def _with_texts(self, units: list[Unit]) -> list[Unit]:
        post_ids = {unit.post for unit in units}
        texts: dict[str, tuple[str, str]] = {}
        for post in open_posts(self._posts):
            if post.id in post_ids:
                link = post.metadata.get("permalink") or post.metadata.get("url") or ""
                texts[post.id] = (post.text, str(link))
        with_text = (
            (unit, texts.get(unit.post, (unit.text, unit.link))) for unit in units
        )
        return [replace(unit, text=text, link=link) for unit, (text, link) in with_text]


class KnownVerdicts:
    """Labels by rank; a post whose text was labeled before has that label.

    The label of a copy costs nothing and changes no probability: it is what the annotator says
    about that text. A post without words has no copies, because its content is not known. `order`
    and `sizes` of the sets serve to look up in advance the texts that will be needed.
    """

    def __init__(
        self,
        labels: Labels,
        population: Population,
        texts: Texts,
        order: Order,
        sizes: NDArray[np.int64],
    ) -> None:
        self._texts = texts
        self._order = order
        self._sizes = sizes
        names = list(labels.of)
        self.ranks = population.ranks_of(names) if names else {}
        of = {rank: int(labels.of[name].relevant) for name, rank in self.ranks.items()}
        self._labeled = np.array(sorted(of), np.int64)
        self._labels = np.array([of[rank] for rank in sorted(of)], np.int8)
        self._by_text: dict[tuple[str, str], int] = {}
        decided = [r for n, r in self.ranks.items() if not labels.of[n].skipped]
        best = range(min(_BEST, len(population)))
        for rank, key in zip(decided, texts.keys(decided, lambda: best), strict=True):
            if key is not None:
                self._by_text.setdefault(key, of[rank])
        # A set contains most of the ranks of the one before, so that each is looked up once.
        self._verdicts = np.full(
            len(population), _NOT_LOOKED_UP if self._by_text else UNKNOWN, np.int8
        )
        self._verdicts[self._labeled] = self._labels

    def __call__(self, ranks: NDArray[np.int64]) -> NDArray[np.int8]:
        """The labels of these ranks; see `descent.Verdicts`."""
        verdicts = self._verdicts[ranks]
        unknown = np.flatnonzero(verdicts == _NOT_LOOKED_UP)
        if len(unknown):
            missing_ranks = ranks[unknown]
            keys = self._texts.keys(missing_ranks.tolist(), lambda: self._ahead(ranks))
            label_of = self._by_text.get
            verdicts[unknown] = [
                UNKNOWN if key is None else label_of(key, UNKNOWN) for key in keys
            ]
            self._verdicts[missing_ranks] = verdicts[unknown]
        return verdicts

    def given(self, ranks: NDArray[np.int64]) -> int:
        """The number of labels behind the verdicts of these ranks; copies share one.

        A post without a label counts as an error, and as a label.
        """
        labeled_ranks = ranks[self(ranks) != UNKNOWN].tolist()
        return (
            len(ranks)
            - len(labeled_ranks)
            + len(distinct(self._texts.units(labeled_ranks), labeled_ranks))
        )

    def of_best(self, size: int) -> NDArray[np.int8]:
        """The labels (size,) of the first posts; copies are only found down to rank 50,000."""
        verdicts = np.full(size, UNKNOWN, np.int8)
        inside = self._labeled < size
        verdicts[self._labeled[inside]] = self._labels[inside]
        best = np.arange(min(size, _BEST) if self._by_text else 0)
        verdicts[best] = self(best)
        return verdicts

    def not_relevant(self, size: int) -> NDArray[np.int64]:
        """Ranks of the first `size` posts that are known to be not relevant, ascending.

        Copies of labeled posts are only found down to rank 50,000.
        """
        return np.flatnonzero(self.of_best(size) == 0)

    def relevant_from(self, size: int) -> NDArray[np.int64]:
        """Ranks from `size` on that were labeled relevant."""
        return self._labeled[(self._labels == 1) & (self._labeled >= size)]

    def _ahead(self, ranks: NDArray[np.int64]) -> set[int]:
        """The first posts of the sets from these ranks on."""
        set_number = int(np.searchsorted(self._sizes, int(ranks.max()) + 1))
        return {
            rank
            for number in range(set_number, min(set_number + _AHEAD, len(self._sizes)))
            for rank in self._order.first(
                number, max(2 * len(ranks), _OF_EACH)
            ).tolist()
        }


def text_key(unit: Unit) -> tuple[str, str] | None:
    """The article and the text, which copies share; None for a post without words."""
    text = " ".join(unit.text.split())
    return (unit.article, text) if text else None


def distinct(units: Sequence[Unit], ranks: Sequence[int]) -> list[int]:
    """The ranks without those whose text came before."""
    seen: set[tuple[str, str]] = set()
    first_of_text = []
    for unit, rank in zip(units, ranks, strict=True):
        key = text_key(unit)
        if key is None or key not in seen:
            first_of_text.append(rank)
        if key is not None:
            seen.add(key)
    return first_of_text
