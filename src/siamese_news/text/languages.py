"""The language of a text, and words in Latin letters.

The detector is py3langid, offline and pure Python. It is loaded when a text is first not plainly
English; its arrays, which take half a second to decompress, are kept in the cache.
"""

import ctypes
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import compress
from pathlib import Path
from typing import Any
from zlib import crc32

from anyascii import anyascii

from siamese_news.text.tokens import Tokenizer
from siamese_news.utils.cache import load_arrays, private_folder, save_arrays
from siamese_news.utils.compiled_loops import load_loops
from siamese_news.utils.unicode import normalized

# The language of the background text behind the IDF of the model that ships.
BACKGROUND = "en"

# Words that English has and its neighbors have not, or seldom: a sixth of any English prose.
_ENGLISH = frozenset(
    "the and of to that for with from have this are were has its on by".split()
)
_PLAINLY_ENGLISH = 0.1
# One of these occurs in nine of ten English posts; few of them are words elsewhere.
_COMMON = _ENGLISH | frozenset(
    "is you my it be not but at they what your will just so if we all when how like get can out up "
    "more about he she was".split()
)
_FEW_WORDS = 5
_WORD = re.compile(r"[^\W\d_]+")
# Links and the like, which would mislead the detector.
_NOISE = re.compile(r"(?:https?:|www\.)\S+|@\w+|#|^RT\b|&\w+;", re.IGNORECASE)
# The languages that platforms themselves tell posts by: fewer to take a short text for by mistake.
_LANGUAGES = (
    "af am ar bg bn bs ca cs cy da de el en es et eu fa fi fr gu he hi hr ht hu hy id is it ja ka "
    "km kn ko lo lt lv mk ml mr ms my ne nl no or pa pl ps pt ro ru si sk sl sq sr sv sw ta te th "
    "tl tr ug uk ur uz vi zh zxx"
).split()
_SURE = 0.5
_SURE_OF_A_SEED = 0.9  # in Latin letters; others are hardly English
_LEAST_LETTERS = 12
_ROUNDING = 1e-3  # of a probability, at most
_CONFIRMING = 0.2  # share of function words in a post that confirm its language
# Of the detector.
_ARRAYS = (
    "nb_ptc",
    "nb_pc",
    "nb_classes",
    "tk_output",
    "tk_nextmove",
    "tk_row",
)


def language_of(text: str) -> str | None:
    """The language of one text; see `languages_of`."""
    return languages_of([text])[0]


def languages_of(texts: Sequence[str]) -> list[str | None]:
    """The ISO 639 code of each text's language; None if it is too short or could be several."""
    texts = [" ".join(_NOISE.sub(" ", text).split()) for text in texts]
    long_enough = list(map(_is_long_enough, texts))
    detected = iter(_detector().told(list(compress(texts, long_enough)), _SURE))
    return [next(detected) if is_long else None for is_long in long_enough]


def _is_long_enough(words: str) -> bool:
    letters = sum(map(len, _WORD.findall(words)))
    # A character of Chinese or Korean says as much as a short word.
    return letters >= _LEAST_LETTERS or (letters > 0 and not words.isascii())


def language_of_seed(text: str) -> str | None:
    """The language of an article; None if it is English, or cannot be told.

    A text with its share of English function words is English without further questions, and one
    of another language must surely be so: a seed in English never loses a word.
    """
    if plainly_english(text):
        return None
    words = _WORD.findall(text.lower())
    latin = sum(map(str.isascii, words)) > len(words) / 2
    minimum = _SURE_OF_A_SEED if latin else _SURE
    (code,) = _detector().told([_NOISE.sub(" ", text)], minimum)
    return None if code == BACKGROUND else code


def plainly_english(text: str) -> bool:
    """Whether a text has its share of English function words, or no words at all."""
    words = _WORD.findall(text.lower())
    return sum(word in _ENGLISH for word in words) >= _PLAINLY_ENGLISH * len(words)


def looks_english(text: str) -> bool:
    """Whether a post has a common English word, or too few words of any kind to tell."""
    words = _WORD.findall(_NOISE.sub(" ", text).lower())
    is_short = len(words) < _FEW_WORDS and all(map(str.isascii, words))
    return is_short or not _COMMON.isdisjoint(words)


def other_languages(texts: Sequence[Sequence[str]], language: str) -> list[str | None]:
    """The language of each post that is surely in another one than its seed's `language`.

    The posts are lists of words. One of fewer than five different words, or with a function word of
    the seed's language, is taken to be in that one: asking the detector takes far longer.
    """
    known_words = function_words(language)
    different = map(set, texts)
    unlike_seed = [
        len(words) >= _FEW_WORDS and words.isdisjoint(known_words)
        for words in different
    ]
    detected = iter(languages_of(list(map(" ".join, compress(texts, unlike_seed)))))
    codes = [next(detected) if is_unlike else None for is_unlike in unlike_seed]
    return [None if code == language else code for code in codes]


def is_confirmed(text: str, language: str) -> bool:
    """Whether the words of a text bear out the detected language.

    The detector names one of the languages that it knows, also for a language that it does not,
    such as Hindi in Latin letters. Another alphabet bears a language out, and so do two different
    function words that are a fifth of the words.
    """
    words = _WORD.findall(_NOISE.sub(" ", text).lower())
    latin = sum(map(str.isascii, words)) > len(words) / 2
    if not latin:
        return True
    words_there = function_words(language)
    hits = [word for word in words if word in words_there]
    return len(set(hits)) > 1 and len(hits) >= _CONFIRMING * len(words)


@cache
def function_words(language: str) -> frozenset[str]:
    """Words that tell a language: its stop words that are one token each and not English."""
    if language == BACKGROUND:
        return _COMMON
    import stopwordsiso

    has_list = stopwordsiso.has_lang(language)
    words: Iterable[str] = stopwordsiso.stopwords(language) if has_list else ()
    cut = map(Tokenizer(), words)
    return frozenset(tokens[0] for tokens in cut if len(tokens) == 1) - _COMMON


@cache
def _detector() -> Any:
    import numpy as np
    from py3langid import __version__
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    loops, _ = load_loops(Path(__file__).with_name("automaton.c"))
    pointers = [ctypes.c_void_p] * 5
    if loops is not None:
        number = [ctypes.c_int64]
        loops.score.argtypes = [
            *pointers,
            *number,
            *pointers[:2],
            *number,
            *pointers[:4],
        ]

    class Detector(LanguageIdentifier):  # type: ignore[misc]  # it has no types
        """The same for many texts at once: in C, where that was built."""

        def __init__(self, *arrays: Any, **options: Any) -> None:
            super().__init__(*arrays, **options)
            self._feature_of = array("i", self.tk_output)
            tables = (self.tk_nextmove, self.tk_row, self._feature_of)
            self._automaton = [table.buffer_info()[0] for table in tables]

        def told(self, texts: Sequence[str], minimum: float) -> list[str | None]:
            """The language of each text; None where its probability is below `minimum`."""
            # The package normalizes as well, but in quadratic time.
            texts = [normalized("NFC", " ".join(text.split())) for text in texts]
            answers: Iterator[tuple[str, float]] = map(self.classify, texts)
            if loops is not None and texts:
                answers = self._classified(texts, minimum)
            return [
                None if probability < minimum or code in ("zxx", "und") else str(code)
                for code, probability in answers
            ]

        def _classified(
            self, texts: Sequence[str], minimum: float
        ) -> Iterator[tuple[str, float]]:
            """`classify` each text, to more digits only where `minimum` is near."""
            encoded = list(map(self._encode, texts))
            lengths = np.array(list(map(len, encoded)), np.int64)
            scores = np.empty((len(texts), len(self.nb_classes)), np.float32)
            weights = [
                np.ascontiguousarray(table, np.float32)
                for table in (self.nb_ptc, self.nb_pc)
            ]
            ends = np.cumsum(lengths)
            logs = np.log1p(np.arange(lengths.max() + 1, dtype=np.float32))
            counts = np.zeros(len(self.nb_ptc), np.int32)
            visited = np.empty(lengths.max(), np.int32)
            assert loops is not None
            loops.score(
                *self._automaton,
                *(table.ctypes.data for table in weights),
                scores.shape[1],
                b"".join(encoded),
                ends.ctypes.data,
                len(texts),
                *(table.ctypes.data for table in (logs, counts, visited, scores)),
            )
            scores /= np.sqrt(np.maximum(lengths, 1))[:, None]
            np.exp(scores - scores.max(axis=1, keepdims=True), out=scores)
            scores /= scores.sum(axis=1, keepdims=True)
            for label, alias in self._alias_pairs:
                scores[:, label] += scores[:, alias]
                scores[:, alias] = 0
            best = scores.argmax(axis=1).tolist()
            for text, label, probability in zip(
                texts, best, scores.max(axis=1).tolist(), strict=True
            ):
                if abs(probability - minimum) < _ROUNDING:
                    yield self.classify(text)
                else:
                    yield self.nb_classes[label], probability

    key = crc32(" ".join(_LANGUAGES).encode())
    folder = private_folder("languages")
    path = None if folder is None else folder / f"{__version__}-{key:08x}-single.npz"
    arrays = None if path is None else load_arrays(path)
    if arrays is None or arrays.keys() != set(_ARRAYS):
        detector = Detector.from_model_file(MODEL_FILE, norm_probs=True)
        detector.set_languages(_LANGUAGES)
        # A text needs some rows, in single precision; as they come, that takes twice as long.
        detector.nb_ptc = np.ascontiguousarray(detector.nb_ptc, np.float32)
        if path is not None:
            with suppress(OSError):  # a cache that cannot be written to costs time only
                save_arrays(
                    path,
                    **{name: np.asarray(getattr(detector, name)) for name in _ARRAYS},
                )
        return detector
    moves, rows = (array(arrays[name].dtype.char) for name in ("tk_nextmove", "tk_row"))
    moves.frombytes(arrays["tk_nextmove"].data.cast("B"))
    rows.frombytes(arrays["tk_row"].data.cast("B"))
    ptc, pc, classes, output = (arrays[name] for name in _ARRAYS[:4])
    states = classes.tolist(), moves, output.tolist()
    return Detector(ptc, pc, *states, norm_probs=True, tk_row=rows)


# Greek, Cyrillic, Armenian, Georgian, the scripts of India. Scripts that leave vowels out (Arabic,
# Hebrew) share too little with how names are spelled here, and words of Chinese, Japanese, Korean
# and Thai are pairs of characters.
_SCRIPTS = ((0x0370, 0x052F), (0x0531, 0x0589), (0x0900, 0x0DFF), (0x10A0, 0x10FF))


@cache
def _letters() -> dict[int, str]:
    codes = [code for start, end in _SCRIPTS for code in range(start, end + 1)]
    spelled = {code: anyascii(chr(code)).lower() for code in codes}
    return {code: "".join(filter(str.isalnum, text)) for code, text in spelled.items()}


def in_latin(word: str) -> str:
    """A word in lower-case Latin letters, as far as its letters are of an alphabet that has them.

    Example:
        >>> from siamese_news.text.languages import in_latin
        >>> in_latin("челябинск"), in_latin("αθήνα"), in_latin("überfall")
        ('chelyabinsk', 'athina', 'überfall')
    """
    return word if word.isascii() else word.translate(_letters()) or word
