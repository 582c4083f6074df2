"""Split hashtags into words by their capitals, or by word frequency if they have none."""

import math
import re
from collections.abc import Mapping

# "NYPDStrong" -> NYPD Strong; letters of any script, so capitals are looked at one by one.
_RUN = re.compile(r"\d+|[^\W\d_]+|[^\w\s]+")

_LONGEST = 24  # characters of the longest word looked for
_TAG = 100  # characters of the longest hashtag segmented by frequency: the search is quadratic
_RARE_SHORT = 4_000  # two letters make a word inside a hashtag only among the most frequent words
_PER_LETTER = 2.3  # cost of each letter of a word that the list does not know
_TRUST_CAPITALS = 3.0  # "GOPdebate" is gop debate, though its capitals say go pdebate


def split_capitals(body: str) -> list[str]:
    """Split at underscores, digits and capitals; the pieces keep their case.

    ``BostonMarathon`` becomes ``Boston Marathon``, ``NYPDStrong2013`` ``NYPD Strong 2013``.
    """
    pieces: list[str] = []
    for run in _RUN.findall(body):
        start = 0
        for at in range(1, len(run)):
            here = run[at].isupper()
            rises = here and not run[at - 1].isupper()
            ends_capitals = here and at + 1 < len(run) and run[at + 1].islower()
            if (rises or ends_capitals) and start < at:
                pieces.append(run[start:at])
                start = at
        pieces.append(run[start:])
    return pieces


class HashtagSplitter:
    """Split the body of a hashtag into lower-case words.

    Without ranks only capitals, digits and underscores split. With them, a piece without inner
    capitals is cut where the words are likeliest: a word costs the logarithm of its rank times
    log V (Zipf's law, its probability is about 1 / (rank log V)), and a word that the list does
    not know costs as much as the rarest one plus a price per letter, so that an unknown name stays
    whole instead of being cut into fragments.
    """

    def __init__(self, rank: Mapping[str, int] | None = None):
        """Take the rank of each word by frequency, or None to split by capitals alone."""
        self._rank = rank
        known = rank or {}
        log_size = math.log(max(len(known), 3))
        self._unknown = math.log((len(known) + 1) * log_size)
        # Every list of words contains single letters and rare pairs, as initials and fragments.
        self._costs = {
            word: math.log((rank + 1) * log_size)
            for word, rank in known.items()
            if word.isalnum()
            and (
                len(word) > 2
                or word in ("a", "i")
                or word.isdigit()
                or (len(word) == 2 and rank < _RARE_SHORT)
            )
        }

    def __call__(self, body: str) -> list[str]:
        """The words of a hashtag body (without ``#``), lower-cased."""
        if self._rank is None or len(body) > _TAG:
            return [piece.lower() for piece in split_capitals(body)]
        words: list[str] = []
        for part in filter(None, body.split("_")):
            pieces = split_capitals(part)
            # Digits belong to words ("4thofJuly", "g20"): only capitals speak against the search.
            if any(piece[0].isupper() for piece in pieces[1:]):
                cut = [word for piece in pieces for word in self._segment(piece.lower())]
                if all(len(word) > 2 and word in self._costs for word in cut):
                    words.extend(cut)
                    continue
                whole = self._segment(part.lower())
                cheaper = self._price(cut) < self._price(whole) + _TRUST_CAPITALS
                words.extend(cut if cheaper else whole)
            else:
                words.extend(self._segment(part.lower()))
        return words

    def _price(self, words: list[str]) -> float:
        return sum(self._costs.get(word) or self._guess(word) for word in words)

    def _guess(self, word: str) -> float:
        """The cost of an unknown word; a number is always a word."""
        return self._unknown + (0 if word.isdigit() else _PER_LETTER * len(word))

    def _segment(self, piece: str) -> list[str]:
        """The cheapest cut of a lower-case piece (Viterbi over its positions)."""
        if not piece:
            return []
        if self._rank is None or piece in self._rank:
            return [piece]
        known = self._costs.get
        letters_only = piece.isalpha()
        guesses = [self._unknown + _PER_LETTER * length for length in range(_LONGEST + 1)]
        best = [0.0]
        back = [0]
        for end in range(1, len(piece) + 1):
            lowest, cut = math.inf, 0
            for start in range(max(0, end - _LONGEST), end):
                word = piece[start:end]
                cost = known(word)
                if cost is None:
                    cost = guesses[end - start] if letters_only else self._guess(word)
                cost += best[start]
                if cost < lowest:
                    lowest, cut = cost, start
            best.append(lowest)
            back.append(cut)
        words: list[str] = []
        end = len(piece)
        while end:
            words.append(piece[back[end] : end])
            end = back[end]
        return words[::-1]
