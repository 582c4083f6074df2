"""Keywords that would have found some posts, for APIs that can only be searched by words."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import IO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.model.text_model import BLOCK
from siamese_news.search.result_files import add_row, console, empty_table, write_rows
from siamese_news.text import Tokenizer
from siamese_news.text.chunk_table import Reading, chunk_ids
from siamese_news.text.content_words import content_words
from siamese_news.text.spaceless import phrase
from siamese_news.utils.terminal import clean, counted

_SURE = 1.96  # standard errors that a term's log-odds must be above 0
_MANY = 20  # accepted posts from which a term must be in two of them
_GAP = -1  # a token that is not a term
_MEMO_PAIRS = 1 << 20


@dataclass(frozen=True, slots=True)
class Keyword:
    """One term of the list: a word, a hashtag, or two consecutive words in quotation marks.

    It is in `accepted` accepted posts and `others` of the pool. It `adds` those that no term above
    it finds, `found` with the terms above. `log_odds`, natural, says how much likelier it is in an
    accepted post than in another one.
    """

    term: str
    adds: int
    found: int
    accepted: int
    others: int
    log_odds: float


@dataclass(frozen=True, slots=True)
class KeywordList:
    """The terms, best first, and the numbers of accepted and of other posts in the pool."""

    keywords: list[Keyword]
    accepted: int
    unaccepted: int


def find_keywords(
    pool: Iterable[Post],
    accepted: Collection[str],
    *,
    limit: int,
    texts: Iterable[str] = (),
) -> KeywordList:
    """Choose up to `limit` terms one after the other, each for the accepted posts that it adds.

    A term is worth the posts that it adds times the share of accepted posts among all posts that
    have it, so that a word everyone uses does not come first. Only terms are chosen whose log-odds
    between accepted and other posts of the pool are surely above 0.

    With the `texts` of the accepted posts the pool is read once. If the pool has other texts of
    theirs, or none are given, it is read a second time; the result is the same.
    """
    vocabulary: dict[str, int] = {}

    def places_of(text: str) -> list[int]:
        return [vocabulary.setdefault(term, len(vocabulary)) for term in terms_of(text)]

    for text in texts:
        places_of(text)
    expected = len(vocabulary)
    rows: list[list[int]] = []
    counts = _TermCounts(vocabulary)
    for post in pool:
        if post.id in accepted:
            rows.append(places_of(post.text))
        elif expected:
            counts.add(post.text)
    if not rows:
        raise InputError(
            "none of the accepted posts is among the posts; expected the pool they were found in"
        )
    if len(vocabulary) > expected or not expected:
        counts = _TermCounts(vocabulary)
        for post in pool:
            if post.id not in accepted:
                counts.add(post.text)
    n_others = counts.texts
    if not n_others:
        raise InputError(
            "every post of the pool is accepted; expected others to tell them from"
        )
    matrix = _matrix(rows, len(vocabulary))
    chosen = _cover(matrix, counts.of_terms(), n_others, list(vocabulary), limit)
    return KeywordList(chosen, len(rows), n_others)


def _matrix(rows: Sequence[Sequence[int]], terms: int) -> sparse.csc_matrix:
    """(posts, terms) of ones: the places of the terms that each post has."""
    post_of_place = np.repeat(np.arange(len(rows)), list(map(len, rows)))
    columns = np.array([column for row in rows for column in row], np.int64)
    entries = (np.ones(len(columns), np.int64), (post_of_place, columns))
    return sparse.csc_matrix(entries, shape=(len(rows), terms))


def _numbers(
    number_of: Mapping[str, int], chunk: str
) -> tuple[list[int], Mapping[int, str]]:
    """The tokens of a text without whitespace as `chunk_ids` wants them."""
    tokens = _tokens.chunk_tokens(chunk)
    return [number_of.get(token, _GAP) for token in tokens], {}


class _TermCounts:
    """In how many of some texts each of the `terms` occurs, counted many texts at a time.

    A text is read as the numbers of its words that are terms, with a gap for any other token: a
    pair of neighbors is a term only if both of its words are.
    """

    def __init__(self, terms: Mapping[str, int]) -> None:
        self._terms = dict(terms)
        self._words = [term for term in terms if not term.startswith('"')]
        number_of = {word: number for number, word in enumerate(self._words)}
        numbers = partial(_numbers, number_of)  # a method would be a reference cycle
        self._place_of_word = np.array([terms[word] for word in self._words], np.int64)
        self._pairs = np.array(
            [not word.startswith("#") for word in self._words] or [False]
        )
        self._place_of_pair: dict[int, int] = {}
        self._chunks = chunk_ids(
            numbers, Reading(self._words, "gap", None, _tokens.shapes)
        )
        self._counts = np.zeros(len(terms), np.int64)
        self._waiting: list[str] = []
        self.texts = 0

    def add(self, text: str) -> None:
        """Count the terms of one more text."""
        self.texts += 1
        self._waiting.append(text)
        if len(self._waiting) == BLOCK:
            self._count()

    def of_terms(self) -> NDArray[np.int64]:
        """The number of texts that each term is in."""
        self._count()
        return self._counts

    def _count(self) -> None:
        ids = self._chunks.of(self._waiting, _tokens.max_characters)
        self._waiting = []
        numbers = ids.flat
        rows = ids.rows
        is_word = numbers != _GAP
        self._note(rows[is_word], self._place_of_word[numbers[is_word]])
        in_pairs = is_word & self._pairs[numbers]
        within_text = rows[:-1] == rows[1:]
        pair_starts = np.flatnonzero(in_pairs[:-1] & in_pairs[1:] & within_text)
        pairs = numbers[pair_starts] * len(self._words) + numbers[pair_starts + 1]
        different, which = np.unique(pairs, return_inverse=True)
        place_of = np.array([self._pair(pair) for pair in different.tolist()], np.int64)
        if len(different):
            term_numbers = place_of[which]
            is_term = term_numbers != _GAP
            self._note(rows[pair_starts][is_term], term_numbers[is_term])

    def _pair(self, pair: int) -> int:
        """The place of a pair of words among the terms, or `_GAP`."""
        term_number = self._place_of_pair.get(pair)
        if term_number is None:
            word, next_word = divmod(pair, len(self._words))
            term = _pair_of(self._words[word], self._words[next_word])
            term_number = self._terms.get(term, _GAP)
            if len(self._place_of_pair) < _MEMO_PAIRS:
                self._place_of_pair[pair] = term_number
        return term_number

    def _note(self, rows: NDArray[np.int64], term_numbers: NDArray[np.int64]) -> None:
        """Count each place once for each row that has it."""
        size = len(self._counts)
        different = (
            np.unique(rows * size + term_numbers) % size if size else term_numbers
        )
        self._counts += np.bincount(different, minlength=size)


# Whole hashtags: a query for a word does not match it inside one.
_tokens = Tokenizer(hashtags="keep")


def terms_of(text: str) -> list[str]:
    """The different words, hashtags and pairs of neighboring words, by their first occurrence."""
    terms: dict[str, None] = {}
    tokens = _tokens(text)
    content = {token for token in content_words(tokens) if len(token) > 1}
    previous = ""
    for token in tokens:
        if token in content:
            terms[token] = None
            if previous and not token.startswith("#"):
                terms[_pair_of(previous, token)] = None
        previous = token if token in content and not token.startswith("#") else ""
    return list(terms)


def _pair_of(word: str, next_word: str) -> str:
    return f'"{phrase(word, next_word)}"'


def _cover(
    matrix: sparse.csc_matrix,
    counts: np.ndarray,
    n_others: int,
    terms: Sequence[str],
    limit: int,
) -> list[Keyword]:
    """The terms of `find_keywords`, from which accepted posts (rows) have them (columns).

    `counts` (terms,) tells how many of so many `n_others` have each.
    """
    posts = matrix.shape[0]
    have = np.asarray(matrix.sum(axis=0)).ravel()
    odds, error = _log_odds(have, posts, counts, n_others)
    fewest = 2 if posts >= _MANY else 1
    usable = (odds > _SURE * error) & (have >= fewest)
    share = have / np.maximum(have + counts, 1)
    uncovered = np.ones(posts, np.int64)
    # Equal worth: the likelier term, then the alphabet.
    order = sorted(np.flatnonzero(usable).tolist(), key=lambda p: (-odds[p], terms[p]))
    chosen: list[Keyword] = []
    covered = 0
    while order and len(chosen) < limit:
        adds = matrix.T @ uncovered
        best = max(order, key=lambda term: adds[term] * share[term])
        if not adds[best]:
            break
        order.remove(best)
        covered += int(adds[best])
        with_term = matrix.indices[matrix.indptr[best] : matrix.indptr[best + 1]]
        uncovered[with_term] = 0
        chosen.append(
            Keyword(
                term=terms[best],
                adds=int(adds[best]),
                found=covered,
                accepted=int(have[best]),
                others=int(counts[best]),
                log_odds=round(float(odds[best]), 3),
            )
        )
    return chosen


def _log_odds(
    have: np.ndarray, posts: int, counts: np.ndarray, n_others: int
) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds ratio with half a post added to each of the four counts, and its standard error."""
    a = have + 0.5
    b = posts - have + 0.5
    c = counts + 0.5
    d = n_others - counts + 0.5
    return np.log(a / b) - np.log(c / d), np.sqrt(1 / a + 1 / b + 1 / c + 1 / d)


def write_keywords(
    stream: IO[str], keywords: KeywordList, format: str, *, terminal: bool
) -> None:
    """Write the list as ``table``, ``jsonl`` or ``csv``."""
    if format == "table":
        _table(stream, keywords, terminal)
        return
    rows = [
        {"rank": rank, **asdict(item)} for rank, item in enumerate(keywords.keywords, 1)
    ]
    columns = ("rank", *(item.name for item in fields(Keyword)))
    write_rows(stream, rows, format, columns=columns)


def _table(stream: IO[str], keywords: KeywordList, terminal: bool) -> None:
    reached = keywords.keywords[-1].found if keywords.keywords else 0
    title = (
        f"{counted(len(keywords.keywords), 'term')}, in {reached:,} of {keywords.accepted:,} accepted "
        f"posts; the pool has {keywords.unaccepted:,} others"
    )
    columns = ("term", "adds", "finds so far", "accepted", "others", "log-odds")
    table = empty_table(title, columns, texts=("term",))
    for item in keywords.keywords:
        share = f"{item.found / keywords.accepted:.0%}"
        counts = [f"{item.adds:,}", share, f"{item.accepted:,}", f"{item.others:,}"]
        add_row(table, [clean(item.term), *counts, f"{item.log_odds:.1f}"])
    console(stream, terminal).print(table)
