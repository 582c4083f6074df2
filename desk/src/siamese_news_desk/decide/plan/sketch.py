"""Sketches of populations: whether two plans are about the same posts, whatever their ids are.

A sketch has the smallest hashes of a set (bottom-k, Broder 1997). Below the larger end of neither,
it has all hashes of its set, so what two sketches share there estimates what the sets share.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from siamese_news.utils.strings import Strings
from siamese_news_desk.decide.plan.design import keys_of
from siamese_news_desk.decide.plan.population import (
    SKETCH,
    Population,
    are_distinctive,
    smallest,
)
from siamese_news_desk.decide.plan.texts import Texts

_SAME = 0.5  # of all posts of both are in both: they are the same population
_PART = 0.25  # of the posts of the smaller one are in both: it is a part of the other

# Of the pairs of words of two halves or quarters of a pool, which repeat phrases, at most .19 are in
# both; of a pool and a cleaned copy, whole or a tenth, at least .36 of the smaller. These shares were
# measured once, by hand; ``python -m benchmarks.same_posts`` counts what the limits decide rightly.
_WORDS = 12  # of a post
_CHANCE = 0.1  # posts that would have both words if these came independently
_LETTERS = 5  # words that cleaning leaves in place have as many; stemming leaves these
_FEW = 16  # so few pairs may be those of a form that posts of many pools have
_TWICE = 1 / 8  # of the texts that come once; pools of real posts have .1 at most
_TEXTS_READ = 1000  # by which it is decided what kind they are
_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, so that different sums stay different


class Relation(Enum):
    """How the posts of two plans are related, the closest relation first.

    By links, names of users and hashtags alone, they are a translation, or a panel's next wave. It
    is unknown where only one of the plans has texts of its own.
    """

    SAME = "same"
    PART = "part"
    MARKS = "marks"
    UNKNOWN = "unknown"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Sketch:
    """What a list of plans keeps of a population: hashes, ascending.

    Attributes:
        posts: the smallest hashes of the ids.
        best: those of the ids of the best posts.
        texts: the smallest hashes of the texts, which do not change with a file's name and with
            another column of ids; none if other posts may have these as well (`are_distinctive`).
        best_texts: those of the texts of the best posts.
        pairs: the smallest hashes of pairs of rare words of a post, which change little with stop
            words, stemming, other tokenizers and another order of the words.
        best_pairs: those of the best posts.
        distinctive: see `Population`.
        marks: those of pairs of links, names of users and hashtags, which a translation leaves, and
            which two months of a forum may share.
        repeats: whether too many texts have a copy, as stock replies do, which come again in any
            study. Then the hashes are those of the distinct texts, for a copy without the doubled
            ones; otherwise, of those that come once.
    """

    posts: Sequence[int]
    best: Sequence[int]
    texts: Sequence[int]
    best_texts: Sequence[int]
    # Lists of earlier versions have no more.
    pairs: Sequence[int] = ()
    best_pairs: Sequence[int] = ()
    distinctive: bool = True
    marks: Sequence[int] = ()
    repeats: bool = False

    @classmethod
    def of(cls, population: Population, texts: Texts) -> "Sketch":
        """The sketch of a population; this reads all texts, if there are any."""
        wordings = _Words("texts", 1)
        words, marks = _Words("words", 2), _Words("words", 2)
        sample: list[str] = []
        for piece, is_best in texts.pieces():
            plain = [" ".join(text.casefold().split()) for text in piece]
            wordings.take([[text] if text else [] for text in plain], is_best)
            words.take(map(_words, piece), is_best)
            marks.take(map(_MARK.findall, plain), is_best)
            sample += filter(None, plain[: _TEXTS_READ - len(sample)])
        has_own = are_distinctive(sample, len(population))
        repeats = wordings.repeat
        return cls(
            population.sketch,
            population.best,
            *(wordings.hashes(repeats) if has_own else ([], [])),
            *words.pairs(repeats),
            population.distinctive,
            marks.pairs(repeats)[0],
            repeats,
        )

    @property
    def has_texts(self) -> bool:
        """Whether these posts have texts that others have not."""
        return bool(self.texts or self.pairs or self.marks) and not self.repeats

    @property
    def lasts(self) -> bool:
        """Whether these posts are recognized with other scores, too."""
        return self.has_texts or bool(self.posts and self.distinctive)

    @property
    def tells(self) -> bool:
        """Whether anything identifies these posts."""
        return self.lasts or bool(self.posts)

    def relation(self, sketch: "Sketch") -> Relation:
        """Whether two populations are the same, or one is a part of the other.

        They are the same if they share half of all their posts or texts, or of their best ones: the
        head of a list is not another population. Without best ones, a question is about all posts,
        such as recall, and the precision of a part is another question. Where both have texts, ids
        count for nothing: other texts under the same ids, such as rows or users, are other posts.
        """
        relations = []
        # The best posts are the same ones, or others: a part of them is not the question.
        alike = bool(self.best or self.best_texts) == bool(
            sketch.best or sketch.best_texts
        )
        if not (self.repeats and sketch.repeats):
            texts = self.texts, sketch.texts, self.best_texts, sketch.best_texts
            pairs = self.pairs, sketch.pairs, self.best_pairs, sketch.best_pairs
            by_texts = [
                _relation(*texts, alike=alike),
                _relation(*pairs, alike=alike, fewest=_FEW),
            ]
            by_marks = _relation(self.marks, sketch.marks, alike=alike, fewest=_FEW)
            relations = by_texts + [Relation.MARKS] * (by_marks is not Relation.OTHER)
        if self.repeats or sketch.repeats:  # a study of the same stock is not refused
            relations = [
                Relation.PART for related in relations if related is not Relation.OTHER
            ]
        if not (self.has_texts and sketch.has_texts):
            ids = self.posts, sketch.posts, self.best, sketch.best
            relations.append(_relation(*ids, alike=alike))
        if self.has_texts != sketch.has_texts:
            relations.append(Relation.UNKNOWN)
        return min([*relations, Relation.OTHER], key=list(Relation).index)


class _Words:
    """(P, `_WORDS`) the hashes of the words of posts, ascending; of a long post, the smallest.

    Posts with less than the `fewest` words are left out.
    """

    def __init__(self, purpose: str, fewest: int) -> None:
        self._purpose = purpose
        self._fewest = fewest
        self._keys = [np.empty((0, _WORDS), np.uint64)]
        self._is_best = [np.empty(0, np.bool_)]

    def take(
        self, words_of_posts: Iterable[Iterable[str]], is_best: NDArray[np.bool_]
    ) -> None:
        """Add posts, with whether each is of the best."""
        words_of = [set(words) for words in words_of_posts]
        words = list(set[str]().union(*words_of))
        keys = keys_of(0, Strings.of(words), purpose=self._purpose).tolist()
        key_of = dict(zip(words, keys, strict=True))
        rows = [sorted(key_of[word] for word in words)[:_WORDS] for words in words_of]
        padded = [row + [0] * (_WORDS - len(row)) for row in rows]
        self._keys.append(np.array(padded, np.uint64).reshape(-1, _WORDS))
        self._is_best.append(is_best)

    @property
    def repeat(self) -> bool:
        """Whether too many have a copy; of a stock with few copies in one study, another has few."""
        _, _, counts = self._distinct()
        twice, once = np.sum(counts == 2), np.sum(counts == 1)
        return bool(len(counts) and twice >= _TWICE * once)

    def hashes(self, repeats: bool) -> tuple[list[int], list[int]]:
        """The smallest hashes of the first words, and of those of the best posts; see `Sketch`."""
        keys, is_best = self._posts(repeats)
        return smallest(keys[:, 0]), smallest(keys[is_best, 0])

    def pairs(self, repeats: bool) -> tuple[list[int], list[int]]:
        """The same of the pairs of words of a post that chance would hardly bring together."""
        keys, is_best = self._posts(repeats)
        _, codes, counts = np.unique(keys, return_inverse=True, return_counts=True)
        frequencies = np.where(keys > 0, counts[codes].reshape(keys.shape), len(keys))
        pairs, pairs_of_best = [], []
        for step in range(1, _WORDS):
            is_pair = frequencies[:, step:] * frequencies[:, :-step] <= _CHANCE * len(
                keys
            )
            # Mixed, or the smallest would be those of the few words with the smallest hashes.
            sums = (keys[:, step:] + keys[:, :-step]) * _MIX
            pairs.append(np.unique(sums[is_pair])[:SKETCH])
            pairs_of_best.append(sums[is_best][is_pair[is_best]])
        return smallest(np.concatenate(pairs)), smallest(np.concatenate(pairs_of_best))

    def _posts(self, repeats: bool) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """The words of the posts that a sketch keeps, and whether these are of the best."""
        keys, is_best, counts = self._distinct()
        is_kept = (
            np.full(len(counts), True) if repeats else (counts == 1) & (not self.repeat)
        )
        return keys[is_kept], is_best[is_kept]

    def _distinct(
        self,
    ) -> tuple[NDArray[np.uint64], NDArray[np.bool_], NDArray[np.int64]]:
        """The words of each different post, whether it is of the best, and how often it comes."""
        keys, is_best = np.concatenate(self._keys), np.concatenate(self._is_best)
        is_long = keys[:, self._fewest - 1] > 0
        keys, is_best = keys[is_long], is_best[is_long]
        _, rows, counts = np.unique(
            keys.sum(axis=1), return_index=True, return_counts=True
        )
        return keys[rows], is_best[rows], counts


def _words(text: str) -> list[str]:
    """The beginnings of the long words, without links, names of users, accents and numbers.

    Scripts without spaces have every three characters instead.
    """
    text = _LINK.sub(" ", text)
    if text.isascii():
        return _WORD.findall(text.casefold())
    decomposed = unicodedata.normalize("NFKD", visible(text)).casefold()
    plain = "".join(sign for sign in decomposed if not unicodedata.combining(sign))
    joined = _INSIDE.sub("", plain)
    return _WORD.findall(_SPACELESS.sub(" ", joined)) + _THREE.findall(joined)


def visible(text: str) -> str:
    """A text without format characters, such as a zero-width space."""
    for sign in set(text):
        if unicodedata.category(sign) == "Cf":
            text = text.replace(sign, "")
    return text


_LINK = re.compile(r"(?:https?://|www\.)\S+|@\w+", re.IGNORECASE)
_MARK = re.compile(r"(?:https?://|www\.)\S+[\w/]|[@#]\w+")
_WORD = re.compile(rf"(?<![^\W\d_])[^\W\d_]{{{_LETTERS}}}")
# Thai, Lao, Burmese and Khmer, kana, and Chinese characters.
_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"
)
_INSIDE = re.compile(rf"(?<={_SPACELESS.pattern})\s+(?={_SPACELESS.pattern})")
_THREE = re.compile(rf"(?=({_SPACELESS.pattern}{{3}}))")


def _relation(
    keys: Sequence[int],
    other_keys: Sequence[int],
    best: Sequence[int] = (),
    other_best: Sequence[int] = (),
    *,
    alike: bool,
    fewest: int = 0,
) -> Relation:
    """The relation by hashes of one kind, of all posts and of the best ones.

    The questions are not `alike` if only one of them is about the best posts: then posts that are a
    part of the others count as other posts.
    """
    of_all, of_smaller = _shares(_common_range(keys, other_keys), fewest)
    of_best, _ = _shares(_common_range(best, other_best), fewest)
    if max(of_all, of_best) >= _SAME:
        return Relation.SAME
    return Relation.PART if alike and of_smaller >= _PART else Relation.OTHER


def _shares(sets: tuple[set[int], set[int]], minimum: int = 0) -> tuple[float, float]:
    """The share of two sets that is in both: of all their members, and of the smaller set.

    Nothing if the smaller set has fewer members than the `minimum`.
    """
    smaller, larger = sorted(sets, key=len)
    shared = len(smaller & larger)
    if not shared or len(smaller) < minimum:
        return 0.0, 0.0
    return shared / len(smaller | larger), shared / len(smaller)


def _common_range(
    left_keys: Sequence[int], right_keys: Sequence[int]
) -> tuple[set[int], set[int]]:
    """The hashes of two sketches down to the end of the shorter range."""
    end = min(_end(left_keys), _end(right_keys))
    return {key for key in left_keys if key <= end}, {
        key for key in right_keys if key <= end
    }


def _end(keys: Sequence[int]) -> float:
    """The hash down to which a sketch has all of its set; infinite if it has the whole set."""
    return keys[-1] if len(keys) == SKETCH else float("inf")
