"""Split posts and articles into lower-case tokens like those of GloVe."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache, reduce
from itertools import chain, product
from operator import add
from typing import Any, Literal, NamedTuple

from siamese_news.errors import InputError
from siamese_news.text.patterns import DOTTED, PATTERN, clean, joined_letters, visible
from siamese_news.text.spaceless import bigrams, has_letter, parts
from siamese_news.text.word_table import LONGEST_TAG, TagTable, loops
from siamese_news.utils.choices import check_choice

Hashtags = Literal["both", "keep", "split", "drop"]
Marks = Literal["drop", "mark", "keep"]

_CLITIC = re.compile(r"(.+?)(n't|'(?:s|re|ve|ll|d|m))((?:'(?:s|re|ve|ll|d|m))*)")
_LONG_RUN = re.compile(r"([^\W\d_])\1{2,}")
_JOINED = re.compile(r"[-_&'.]+")
# Those of links that the loop over chunks leaves out.
_LINK_SIGNS = "/._?=%~+-"
_SIGNS = frozenset(',!?;")].')

# "NYPDStrong" -> NYPD Strong; letters of any script, so capitals are checked one by one.
_TAG_RUN = re.compile(r"\d+|[^\W\d_]+|[^\w\s]+")
# Capitals inside a segment of a hashtag: "FloodWatch", "NYPDStrong"; not "Flood" or "NYPD".
_INNER_CAPITALS = re.compile(r"[^\W_][A-Z][a-z]|[a-z][A-Z]")

_LONGEST_WORD = 24  # characters of the longest word looked for
# Two letters make a word inside a hashtag only among the most frequent words.
_RARE_SHORT = 4_000
# Three letters are a word next to others between two capitals only if it is as frequent.
_FREQUENT = 300
_PER_LETTER = 2.3  # cost of each letter of a word that the list does not know
_TRUST_CAPITALS = 3.0  # "GOPdebate" is gop debate, though its capitals say go pdebate

_MEMO_CHUNKS = 1 << 17
_MEMO_CHARACTERS = 64


class ChunkShapes(NamedTuple):
    """Chunks of ASCII that need no tokenizer, or that it need not see as they are.

    A word of letters has the same tokens in any case, and one with a sign of `signs` after it those
    of the word and of the sign, unless the word has at most `longest_abbreviation` letters and the
    sign is a full stop. Mentions and links of letters, digits and `link_signs` have no tokens where
    they are dropped; a mention may have one of the `signs` or a colon after it.
    """

    signs: str
    link_signs: str
    drops_mentions: bool
    drops_links: bool
    longest_abbreviation: int
    keeps_numbers: bool
    ranks: Mapping[str, int] | None


class Tokenizer:
    """Cut a text into lower-case tokens with one compiled pattern.

    Beyond words and punctuation:

    - ``#BostonMarathon`` becomes ``#bostonmarathon boston marathon`` (`hashtags="both"`); one
      without capitals is cut by word frequency if `words` are given.
    - Contractions as GloVe has them: ``don't`` becomes ``do n't``, ``it's`` ``it 's``.
    - ``sooooo``: a letter three times or more becomes two or one, whichever makes the most frequent
      of the `words`; two where none is known or without `words`. ``www`` and ``iii`` stay.
    - ``anti-war`` and ``o'brien`` stay whole if known or without `words`; otherwise their parts.
    - An emoji with its joiners, skin tone or flag is one token, without its variation selector; an
      emoji or a punctuation mark repeated without a space counts once; ``....`` becomes ``...``.
    - Chinese, Japanese, Thai, Lao, Khmer, Burmese and Korean as character bigrams (`spaceless`):
      ``洪水警報`` becomes ``洪水 水警 警報``; half and full width are one.
    - Unicode NFC, HTML references (``&amp;``) resolved once, curly quotes made straight; controls,
      NULs, bidi signs, lone surrogates and zero-width signs are dropped.

    Args:
        hashtags: ``both`` (the tag and its words), ``keep`` (the tag), ``split`` (its words),
            ``drop``.
        urls: ``drop``, ``mark`` (``<url>``) or ``keep``.
        mentions: ``drop``, ``mark`` (``<user>``) or ``keep``; mail addresses count as mentions.
        numbers: ``keep``, ``mark`` (``<number>``) or ``drop``; ``1,000``, ``3.5``, ``10:30`` and
            ``2-1`` are numbers, ``1980s`` is a word, ``20%`` is a number and a sign.
        max_characters: a longer text is cut here, before anything else.
        words: known words in frequency order, most frequent first.

    Raises:
        InputError: for an option that is not among those named here.
    """

    def __init__(
        self,
        *,
        hashtags: Hashtags = "both",
        urls: Marks = "drop",
        mentions: Marks = "drop",
        numbers: Marks = "keep",
        max_characters: int = 200_000,
        words: Sequence[str] | None = None,
    ):
        for name, value, choices in (
            ("hashtags", hashtags, Hashtags),
            ("urls", urls, Marks),
            ("mentions", mentions, Marks),
            ("numbers", numbers, Marks),
        ):
            check_choice(f"Tokenizer: {name}", value, choices)
        if type(max_characters) is not int or max_characters < 1:
            raise InputError(
                f"Tokenizer: max_characters={max_characters!r}; expected an integer, 1 or more"
            )
        if isinstance(words, str):
            raise InputError("Tokenizer: words is one string; expected a list of words")
        self.hashtags = hashtags
        self.urls = urls
        self.mentions = mentions
        self.numbers = numbers
        self.max_characters = max_characters
        self._split_hashtag = _splitter(None if words is None else tuple(words))
        self._rank = self._split_hashtag.rank

    def __call__(self, text: str) -> list[str]:
        """The tokens of `text`; an empty list where nothing is left.

        Raises:
            InputError: if `text` is not a string.
        """
        try:
            if len(text) > self.max_characters:
                text = text[: self.max_characters]
            chunks = joined_letters(text).split()
            return list(chain.from_iterable(map(self._chunk, chunks)))
        except (TypeError, AttributeError):
            if isinstance(text, str):
                raise
            raise InputError(
                f"a text is {type(text).__name__}, expected a string"
            ) from None

    def config(self) -> dict[str, Any]:
        """Plain values that rebuild this tokenizer (without `words`)."""
        names = ("hashtags", "urls", "mentions", "numbers", "max_characters")
        return {name: getattr(self, name) for name in names}

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_remembered", None)
        return state

    def __repr__(self) -> str:
        options = ", ".join(f"{key}={value!r}" for key, value in self.config().items())
        return f"Tokenizer({options}, words={'none' if self._rank is None else len(self._rank)})"

    @property
    def shapes(self) -> ChunkShapes:
        """The chunks that can be told from their letters, for a loop over many texts."""
        return ChunkShapes(
            "".join(sorted(_SIGNS)),
            _LINK_SIGNS,
            self.mentions == "drop",
            self.urls == "drop",
            max(map(len, DOTTED)),
            self.numbers == "keep",
            self._rank,
        )

    @cached_property
    def _remembered(self) -> Callable[[str], tuple[str, ...]]:
        return lru_cache(_MEMO_CHUNKS)(self.chunk_tokens)

    def _chunk(self, chunk: str) -> tuple[str, ...]:
        long = len(chunk) > _MEMO_CHARACTERS
        return self.chunk_tokens(chunk) if long else self._remembered(chunk)

    def chunk_tokens(self, chunk: str) -> tuple[str, ...]:
        """The tokens of a text without whitespace, for a caller that remembers them itself."""
        tokens: list[str] = []
        for fragment in clean(chunk).split():
            if fragment.isascii() or not has_letter(fragment):
                self._match(fragment, tokens)
                continue
            for kind, piece in parts(fragment):
                if kind == "run":
                    tokens.extend(bigrams(piece))
                elif kind == "tag":
                    self._hashtag(piece.lower().strip("#"), tokens)
                else:
                    self._match(piece, tokens)
        return tuple(tokens)

    def _match(self, fragment: str, tokens: list[str]) -> None:
        """Append the tokens of a clean text without whitespace, as the pattern finds them."""
        previous_piece = ""
        for match in PATTERN.finditer(fragment):
            kind = match.lastgroup
            piece = match[0]
            if kind in ("plain", "joined", "word"):
                self._word(piece.lower(), tokens)
            elif kind in ("sign", "mark", "emoji"):
                # Only a repetition without a gap: the same sign directly after itself.
                if piece != previous_piece and visible(piece[0]):
                    tokens.append(piece.replace("\ufe0f", ""))
            else:
                self._special(kind, piece, tokens)
            previous_piece = piece

    def _hashtag(self, body: str, tokens: list[str]) -> None:
        """Append a hashtag, and the words in it."""
        if self.hashtags in ("both", "keep"):
            tokens.append(f"#{body.lower()}")
        if self.hashtags in ("both", "split"):
            for kind, piece in parts(body) if has_letter(body) else [("rest", body)]:
                tokens.extend(
                    bigrams(piece) if kind == "run" else self._split_hashtag(piece)
                )

    def _special(self, kind: str | None, piece: str, tokens: list[str]) -> None:
        """Append the tokens of a piece that is neither a word nor a single sign."""
        lowered = piece.lower()
        if kind == "hashtag":
            self._hashtag(piece[1:], tokens)
        elif kind == "url":
            _marked(self.urls, "<url>", lowered, tokens)
        elif kind in ("mention", "mail"):
            _marked(self.mentions, "<user>", lowered, tokens)
        elif kind == "number":
            if any(character.isalpha() for character in piece):
                self._word(lowered, tokens)
            elif self.numbers == "keep" and "-" in piece:
                self._joined(lowered, tokens)
            else:
                _marked(self.numbers, "<number>", lowered, tokens)
        elif kind == "abbreviation":
            tokens.append(lowered if lowered.endswith(".") else f"{lowered}.")
        elif kind == "domain":
            self._joined(lowered, tokens)
        elif kind == "smile":
            # One nose and one mouth: ":-)))" is ":)", "<3333" is "<3".
            eyes = lowered[0]
            mouth = lowered[1:].lstrip("-")[:1]
            tokens.append("<3" if eyes == "<" else eyes + mouth)
        elif kind == "dots":
            tokens.append("...")
        else:
            tokens.append("--")

    def _word(self, word: str, tokens: list[str]) -> None:
        """Append the tokens of a lower-case word: its contraction and its parts."""
        if "'" in word and (self._rank is None or word not in self._rank):
            match = _CLITIC.fullmatch(word)
            if match is not None:
                self._joined(match[1], tokens)
                tokens.append(match[2])
                tokens.extend(re.findall(r"'\w+", match[3]))
                return
        self._joined(word, tokens)

    def _joined(self, word: str, tokens: list[str]) -> None:
        """Append a word, or its parts where only they can be known."""
        word = word.rstrip("_")
        is_known = self._rank is None or word in self._rank
        parts = (
            []
            if is_known
            else [component for component in _JOINED.split(word) if component]
        )
        tokens.extend(map(self._shorten, parts if len(parts) > 1 else [word]))

    def _shorten(self, word: str) -> str:
        """The usual spelling of an elongated word."""
        if _LONG_RUN.search(word) is None or len(word) == 3:
            return word
        twice = _LONG_RUN.sub(r"\1\1", word)
        # At most four elongated letters are tried: sixteen spellings.
        pieces = _LONG_RUN.split(word)  # text, letter, text, letter, ..., text
        if self._rank is None or len(pieces) > 9:
            return twice
        spellings = []
        for lengths in product((2, 1), repeat=len(pieces) // 2):
            middle = zip(pieces[1::2], lengths, pieces[2::2], strict=True)
            spellings.append(
                pieces[0] + "".join(c * n + following for c, n, following in middle)
            )
        return min(
            filter(self._rank.__contains__, spellings),
            key=self._rank.__getitem__,
            default=twice,
        )


def _marked(option: Marks, mark: str, piece: str, tokens: list[str]) -> None:
    if option == "keep":
        tokens.append(piece)
    elif option == "mark":
        tokens.append(mark)


def check_texts(texts: Sequence[str], location: str) -> None:
    """Refuse a value that is not a list of texts; `location` names the function or argument."""
    if isinstance(texts, str):
        raise InputError(f"{location} got one string; expected a list of texts: [text]")
    if isinstance(texts, Mapping) or not hasattr(texts, "__getitem__"):
        raise InputError(
            f"{location} got {type(texts).__name__}; expected a list of texts: [text]"
        )
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(
                f"{location}: item {row} is {type(text).__name__}, expected str"
            )


def _split_capitals(body: str) -> list[str]:
    """Split at underscores, digits and capitals; the pieces keep their case.

    ``BostonMarathon`` becomes ``Boston Marathon``, ``NYPDStrong2013`` ``NYPD Strong 2013``.
    """
    pieces: list[str] = []
    for run in _TAG_RUN.findall(body):
        start = 0
        for at in range(1, len(run)):
            is_upper = run[at].isupper()
            rises = is_upper and not run[at - 1].isupper()
            ends_capitals = is_upper and at + 1 < len(run) and run[at + 1].islower()
            if (rises or ends_capitals) and start < at:
                pieces.append(run[start:at])
                start = at
        pieces.append(run[start:])
    return pieces


@lru_cache(maxsize=2)
def _splitter(words: tuple[str, ...] | None) -> "_HashtagSplitter":
    """The splitter by some words, which models with the same words share, as the two that ship do."""
    ranks: dict[str, int] = {}
    for rank, word in enumerate(words or ()):
        # An elongated word is never taken for known, though lists have "sooo" too.
        if len(word) == 3 or _LONG_RUN.search(word) is None:
            ranks.setdefault(word, rank)
    return _HashtagSplitter(None if words is None else ranks)


class _HashtagSplitter:
    """Split the body of a hashtag into lower-case words.

    Without ranks only capitals, digits and underscores split. With them, a piece without inner
    capitals is cut where the words are likeliest: a word costs the logarithm of its rank times
    log V (Zipf's law, its probability is about 1 / (rank log V)), and a word that the list does
    not know costs as much as the rarest one plus a price per letter, so that an unknown name stays
    whole instead of being cut into fragments.
    """

    def __init__(self, rank: Mapping[str, int] | None) -> None:
        self.rank = rank
        rank_of = rank or {}
        log_size = math.log(max(len(rank_of), 3))
        self._unknown = math.log((len(rank_of) + 1) * log_size)
        self._guesses = [
            self._unknown + _PER_LETTER * length for length in range(_LONGEST_WORD + 1)
        ]
        # Every list of words contains single letters and rare pairs, as initials and fragments.
        self._costs = {
            word: math.log((rank + 1) * log_size)
            for word, rank in rank_of.items()
            if word.isalnum()
            and (
                len(word) > 1 + (rank >= _RARE_SHORT)
                or word in ("a", "i")
                or word.isdigit()
            )
        }

    def __call__(self, body: str) -> list[str]:
        """The words of a hashtag body (without ``#``), lower-cased."""
        if self.rank is None or len(body) > LONGEST_TAG:
            return [piece.lower() for piece in _split_capitals(body)]
        words: list[str] = []
        segments = [segment for segment in body.split("_") if segment]
        for segment in segments:
            # Underscores say where words end: "Tansymere" in #Quay_Tansymere_Shut stays whole, although
            # the cheapest cut might find "tansy mere". Inner capitals say it within a segment.
            if len(segments) > 1 and not _INNER_CAPITALS.search(segment):
                words.extend(self._titled(segment.lower()))
                continue
            pieces = _split_capitals(segment)
            # Digits belong to words ("4thofJuly", "g20"): only capitals speak against the search.
            capitals = any(piece[0].isupper() for piece in pieces[1:])
            cut = (
                [w for piece in pieces for w in self._segment(piece.lower())]
                if capitals
                else []
            )
            titled = (piece[1:].islower() and len(piece) > 2 for piece in pieces)
            if capitals and all(titled):
                cut = [word for piece in pieces for word in self._titled(piece.lower())]
            elif not (
                cut and all(len(word) > 2 and word in self._costs for word in cut)
            ):
                uncut = self._segment(segment.lower())
                if not cut or self._price(cut) >= self._price(uncut) + _TRUST_CAPITALS:
                    cut = uncut
            words.extend(cut)
        return words

    def _titled(self, piece: str) -> list[str]:
        """The words between two capitals: a name stays whole, ``prayfor`` is two words."""
        cut = self._segment(piece)
        return cut if all(map(self._known_well, cut)) else [piece]

    def _known_well(self, word: str) -> bool:
        assert self.rank is not None
        size = len(self.rank)
        return self.rank.get(word, size) < (_FREQUENT if len(word) < 4 else size)

    @cached_property
    def _compiled(self) -> TagTable | None:
        return TagTable(self._costs, self._guesses) if loops() and self._costs else None

    def _price(self, words: list[str]) -> float:
        # `sum` has other digits from Python 3.12 on.
        return reduce(add, (self._costs.get(w) or self._guess(w) for w in words))

    def _guess(self, word: str) -> float:
        """The cost of an unknown word; a number is always a word."""
        return self._unknown + (0 if word.isdigit() else _PER_LETTER * len(word))

    def _segment(self, piece: str) -> list[str]:
        """The cheapest cut of a lower-case piece (Viterbi over its positions)."""
        if not piece:
            return []
        if self.rank is None or piece in self.rank:
            return [piece]
        if self._compiled is not None and piece.isascii():
            return self._compiled(piece)
        cost_of = self._costs.get
        best = [0.0]
        back = [0]
        for end in range(1, len(piece) + 1):
            earliest = max(0, end - _LONGEST_WORD)
            words = [piece[start:end] for start in range(earliest, end)]
            unknown = map(self._guess, words)
            costs = list(map(add, map(cost_of, words, unknown), best[earliest:]))
            lowest = min(costs)
            best.append(lowest)
            back.append(earliest + costs.index(lowest))
        cut: list[str] = []
        end = len(piece)
        while end:
            cut.append(piece[back[end] : end])
            end = back[end]
        return cut[::-1]
