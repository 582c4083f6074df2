"""The detector of languages for many texts at a time: py3langid's model, with arrays for loops."""

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

_FEW = 32  # texts that still have bytes, below which a plain loop is faster


class Automaton:
    """An automaton that reads texts byte by byte, and weights of its outputs for each language.

    Args:
        detector: a `LanguageIdentifier` of py3langid with `norm_probs`.
    """

    def __init__(self, detector: Any) -> None:
        self._detector = detector
        self._moves = np.frombuffer(detector.tk_nextmove, detector.tk_nextmove.typecode)
        rows = np.frombuffer(detector.tk_row, detector.tk_row.typecode)
        self._row_starts = rows.astype(np.int64) << 8
        self._outputs = np.array(detector.tk_output, np.int64)
        self._weights = detector.nb_ptc  # (outputs, languages)
        self._priors = np.asarray(detector.nb_pc, np.float32)
        self._languages: list[str] = list(detector.nb_classes)
        # Some languages are there twice, in two alphabets.
        self._doubles: list[tuple[int, int]] = []
        first: dict[str, int] = {}
        for number, code in enumerate(self._languages):
            if code in first:
                self._doubles.append((first[code], number))
            else:
                first[code] = number

    def classify(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        """The likeliest language of each text and its probability, as the detector has them."""
        encoded = [_bytes_of(text) for text in texts]
        probabilities = self._probabilities(encoded)
        best = probabilities.argmax(axis=1)
        sure = probabilities[np.arange(len(texts)), best]
        codes = [self._languages[number] for number in best.tolist()]
        return list(zip(codes, sure.tolist(), strict=True))

    def _probabilities(self, texts: Sequence[bytes]) -> NDArray[np.float32]:
        """(T, L) of T texts and L languages; 0 in the second place of a language."""
        lengths = np.array([len(text) for text in texts], np.int64)
        rows, outputs = self._visits(texts, lengths)
        keys = rows * len(self._outputs) + outputs
        different, counts = np.unique(keys, return_counts=True)
        rows, outputs = np.divmod(different, len(self._outputs))
        features, columns = np.unique(outputs, return_inverse=True)
        shape = (len(texts), len(features))
        values = np.log1p(counts.astype(np.float32))
        visits = sparse.csr_matrix((values, (rows, columns)), shape=shape)
        scores = visits @ self._weights[features].astype(np.float32) + self._priors
        # A text without any feature could be in every language.
        scores[np.diff(visits.indptr) == 0] = 0.0
        roots = np.sqrt(np.maximum(lengths, 1)).astype(np.float32)
        scores /= roots[:, None]
        np.exp(scores - scores.max(axis=1, keepdims=True), out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        for first, second in self._doubles:
            scores[:, first] += scores[:, second]
            scores[:, second] = 0.0
        return scores

    def _visits(
        self, texts: Sequence[bytes], lengths: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The text and the number of each output that the automaton makes."""
        order = np.argsort(-lengths, kind="stable")
        letters = np.frombuffer(b"".join(texts), np.uint8).astype(np.int64)
        places = (np.cumsum(lengths) - lengths)[order]
        ends = places + lengths[order]
        states = np.zeros(len(texts), np.int64)
        rows = [np.zeros(0, np.int64)]
        outputs = [np.zeros(0, np.int64)]
        reading = np.count_nonzero(places < ends)
        while reading >= _FEW:
            starts = self._row_starts[states[:reading]]
            states[:reading] = self._moves[starts + letters[places[:reading]]]
            made = self._outputs[states[:reading]]
            hits = np.flatnonzero(made >= 0)
            rows.append(order[hits])
            outputs.append(made[hits])
            places += 1
            reading = np.count_nonzero(places < ends)
        for number in range(reading):
            rest = letters[places[number] : ends[number]].tolist()
            made_last = self._walk(int(states[number]), rest)
            rows.append(np.full(len(made_last), order[number]))
            outputs.append(np.array(made_last, np.int64))
        return np.concatenate(rows), np.concatenate(outputs)

    def _walk(self, state: int, letters: Sequence[int]) -> list[int]:
        """The outputs of the automaton for the rest of one text."""
        moves = self._detector.tk_nextmove
        rows = self._detector.tk_row
        output_of = self._detector.tk_output
        made = []
        for letter in letters:
            state = moves[(rows[state] << 8) + letter]
            if (output := output_of[state]) >= 0:
                made.append(output)
        return made


def _bytes_of(text: str) -> bytes:
    """A text as the detector reads it."""
    lowered = text.lower() if text.isupper() else text
    return unicodedata.normalize("NFC", lowered).encode("utf-8", "surrogatepass")
