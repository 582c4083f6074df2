"""Sketches of populations: whether two plans are about the same posts, whatever their ids are.

A sketch has the smallest hashes of a set (bottom-k, Broder 1997). Below the larger end of neither,
it has all hashes of its set, so what two sketches share there estimates what the sets share.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from siamese_news.utils.strings import Strings
from siamese_news_desk.decide.plan.design import keys_of
from siamese_news_desk.decide.plan.population import SKETCH, Population
from siamese_news_desk.decide.plan.texts import Texts

_SAME = 0.5  # of all posts of both are in both: they are the same population
_PART = 0.25  # of the posts of the smaller one are in both: it is a part of the other

# Of the pairs of words of two unrelated pools of one platform, at most .15 are in both; of two
# halves of the posts about one event .22, because these repeat phrases; of a pool and a cleaned copy
# at least .55 (``python -m benchmarks.same_posts``). Of marks, .06, .27 and 1.
_PART_OF_PAIRS = 0.4
_LETTERS = 5  # words that cleaning leaves in place have as many; stemming leaves these
_FEW = 32  # so few pairs may be those of a form that posts of many pools have


class Relation(Enum):
    """How the posts of two plans are related."""

    SAME = "same"
    PART = "part"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Sketch:
    """What a list of plans keeps of a population: hashes, ascending.

    Attributes:
        posts: the smallest hashes of the ids.
        best: those of the ids of the best posts.
        texts: the smallest hashes of the texts, which do not change with a file's name and with
            another column of ids.
        best_texts: those of the texts of the best posts.
        pairs: the smallest hashes of pairs of words that follow each other, which change little with
            stop words, stemming and other tokenizers, in whatever posts they are.
        distinctive: see `Population`.
        marks: those of pairs of links, names of users and hashtags, which a translation leaves.
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
    best_marks: Sequence[int] = ()

    @classmethod
    def of(cls, population: Population, texts: Texts) -> "Sketch":
        """The sketch of a population; this reads all texts, if there are any."""
        text_hashes, pairs, marks = _Smallest(), _Smallest(), _Smallest()
        for piece, is_best in texts.pieces():
            plain = [" ".join(text.casefold().split()) for text in piece]
            says = np.array([bool(text) for text in plain], bool)
            keys = keys_of(0, Strings.of(plain), purpose="texts")
            text_hashes.take(keys[says], is_best[says])
            pairs.take(*_pairs_of(piece, is_best, _words))
            marks.take(*_pairs_of(plain, is_best, _MARK.findall))
        return cls(
            population.sketch,
            population.best,
            *text_hashes.lists,
            *pairs.lists,
            population.distinctive,
            *marks.lists,
        )

    def relation(self, sketch: "Sketch") -> Relation:
        """Whether two populations are the same, or one is a part of the other.

        They are the same if they share half of all their posts or texts, or of their best ones: the
        head of a list is not another population. Without best ones, a question is about all posts,
        such as recall, and the precision of a part is another question. Where both have texts, ids
        that other posts may have as well count for nothing.
        """
        wording = [
            _shares(_common_range(*hashes), _FEW)
            for hashes in (
                (self.pairs, sketch.pairs),
                (self.marks, sketch.marks),
                (self.best_pairs, sketch.best_pairs),
                (self.best_marks, sketch.best_marks),
            )
        ]
        identifiers = [
            ((self.texts, sketch.texts), (self.best_texts, sketch.best_texts))
        ]
        have_texts = bool(self.texts) and bool(sketch.texts)
        if not have_texts or (self.distinctive and sketch.distinctive):
            identifiers.append(((self.posts, sketch.posts), (self.best, sketch.best)))
        shares = [_shares(_common_range(*of_all)) for of_all, _ in identifiers]
        heads = [_shares(_common_range(*of_best)) for _, of_best in identifiers]
        if any(of_all >= _SAME for of_all, _ in [*shares, *heads, *wording]):
            return Relation.SAME
        alike = bool(self.best or self.best_texts) == bool(
            sketch.best or sketch.best_texts
        )
        is_part = any(of_smaller >= _PART for _, of_smaller in shares)
        of_smaller = max(share for _, share in wording[:2])  # of pairs, of marks
        if alike and (is_part or of_smaller >= _PART_OF_PAIRS):
            return Relation.PART
        return Relation.OTHER


def _pairs_of(
    texts: Sequence[str],
    is_best: NDArray[np.bool_],
    words_of: Callable[[str], Sequence[str]],
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Hashes (n,) of the pairs of words that follow each other, and whether in one of the best."""
    codes: dict[str, int] = {}
    left_codes: list[int] = []
    right_codes: list[int] = []
    numbers = []
    for text in texts:
        words = [codes.setdefault(w, len(codes)) for w in dict.fromkeys(words_of(text))]
        left_codes += words[:-1]
        right_codes += words[1:]
        numbers.append(max(0, len(words) - 1))
    keys = keys_of(0, Strings.of(list(codes)), purpose="words")
    return keys[left_codes] + keys[right_codes], np.repeat(is_best, numbers)


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


class _Smallest:
    """The smallest of the hashes of posts, and of those of the best posts."""

    def __init__(self) -> None:
        self._smallest = np.empty(0, np.uint64)
        self._best = np.empty(0, np.uint64)

    @property
    def lists(self) -> tuple[list[int], list[int]]:
        """The hashes of all posts and of the best ones, ascending."""
        return self._smallest.tolist(), self._best.tolist()

    def take(self, keys: NDArray[np.uint64], is_best: NDArray[np.bool_]) -> None:
        """Add hashes, with whether each is of one of the best posts."""
        self._smallest = np.union1d(self._smallest, keys)[:SKETCH]
        self._best = np.union1d(self._best, keys[is_best])[:SKETCH]


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
