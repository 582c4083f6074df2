"""Why a post matched: the article's sentences and the words that carried the score, and a test.

A score is a sum. The lexical head adds one product for each word; a word's product is split over
its places in the article in proportion to ``1 / (1 + place / lead_half_life)``, the weight that the
head gives a place. The part of the dense head is split over the tokens by gradient times input,
which is exact for linear encoders; for others the remainder is in `Explained.unexplained`.

Both heads compare directions, so a sentence that adds just its part of the article's vector is not
missed: without it the others count more. A sentence carries the score if it adds more than that,
and an explanation names the sentence with the greatest surplus. To test the explanation, each
sentence is then actually removed and the article scored again.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.readers.fields import PARTS
from siamese_news.data.records import Article, Post
from siamese_news.errors import InputError
from siamese_news.lexical_head.term_ids import bigram_ids
from siamese_news.model.text_model import TextModel
from siamese_news.scoring import Content, Scorer, open_scorer
from siamese_news.scoring.scorer import ScoreParts
from siamese_news.search.scan import Block
from siamese_news.text.token_ids import Side, TokenIds

Span = tuple[int, int]

EQUAL = 0.2
"""Sentences are of about equal length if their numbers of tokens differ by up to this share."""

_LINE = re.compile(r"\n")
_BLANK = re.compile(r"\n[^\S\n]*\n")
_TOGETHER = 64  # edited articles scored at once


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the article, and the article's score `without` it.

    `tokens` includes those beyond the model's limits. `contribution` is its part of the score, and
    `expected` the part if all of the article fitted the post equally well.
    """

    text: str
    tokens: int
    contribution: float
    expected: float
    without: float


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the post, or two in a row: its parts of the score by words, vectors and n-grams.

    `fields` contain it, if the post's text is joined from several.
    """

    term: str
    lexical: float
    dense: float
    surface: float = 0.0
    fields: tuple[str, ...] = ()

    @property
    def contribution(self) -> float:
        """The sum over all views."""
        return self.lexical + self.dense + self.surface


@dataclass(frozen=True, slots=True)
class NeighborPost:
    """A similar post of the pool: `weight` times its score is `added` to that of the explained one.

    `key` are its word ids, by which two posts are the same to the model. Before it is looked up in
    the pool, `post` is None and `text` the content words that the model knows.
    """

    post: str | None
    text: str
    weight: float
    added: float
    key: bytes


@dataclass(frozen=True, slots=True)
class Check:
    """The test of the explanation: the sentence it names against those of about equal length.

    Without the sentence, the one with the greatest surplus, the score falls by `drop`; without one
    of the `others` (`EQUAL`), by `greatest` at most, which is None if there are none.
    """

    sentence: int
    drop: float
    others: int
    greatest: float | None

    @property
    def holds(self) -> bool | None:
        """Whether the named sentence matters most; None without another one to compare."""
        return None if self.greatest is None else self.drop > self.greatest


@dataclass(frozen=True, slots=True)
class Explained:
    """The score of a post for an article, by its parts.

    `lexical`, `dense` and `surface` come from words, vectors and n-grams inside words. `neighbors`
    are similar posts whose scores are parts of this one (`Smoothing`), the greatest part first.
    `feedback` is the part that the article's best posts account for
    (`lexical_head.RocchioFeedback`), and `unexplained` the part that neither these nor a sentence does.
    `sentences` are in the order of the article, `terms` strongest first. `check` is None if no
    sentence contributes anything.
    """

    article: Article
    post: Post
    score: float
    kind: str
    lexical: float
    dense: float
    surface: float
    neighbors: list[NeighborPost]
    feedback: float
    unexplained: float
    sentences: list[Sentence]
    terms: list[Term]
    check: Check | None


def sentence_spans(article: Article) -> list[Span]:
    """(start, end) of each sentence in `Article.full_text`, in order, without white space around.

    The title is one sentence. A blank line ends a sentence; so does every line end in an article
    without blank lines, where each line is a paragraph. Every character that is not white space
    is in a span.
    """
    from nupunkt import sentence_spans as split

    text = article.full_text
    start = len(article.title) + 1 if article.title else 0
    spans = [_tight(text, 0, start)]
    break_ = _BLANK if _BLANK.search(text, start) else _LINE
    ends = [match.span() for match in break_.finditer(text, start)]
    for end, following in [*ends, (len(text), len(text))]:
        for sentence_start, sentence_end in split(text[start:end]):
            spans.append(_tight(text, start + sentence_start, start + sentence_end))
        start = following
    return [span for span in spans if span[0] < span[1]]


def without(text: str, span: Span) -> str:
    """The text without a span."""
    return text[: span[0]] + text[span[1] :]


def _tight(text: str, start: int, end: int) -> Span:
    """The span without white space around it."""
    piece = text[start:end]
    stripped_start = start + len(piece) - len(piece.lstrip())
    return stripped_start, max(stripped_start, start + len(piece.rstrip()))


def explain(
    model: TextModel,
    article: Article,
    posts: Sequence[Post],
    scorer: Scorer | None = None,
    number: int = 0,
) -> list[Explained]:
    """Explain the scores of posts for an article.

    `scorer` is one of the model for this article, the `number`-th from 0, and any others, and has
    learned from the pool; with None, scores without a pool are explained.
    """
    if not posts:
        raise InputError("no posts to explain; expected at least one")
    learned = scorer.state() if scorer is not None else b""

    def opened(articles: Sequence[str]) -> Scorer:
        return open_scorer(model, articles).restored(learned, [number] * len(articles))

    texts = [post.text for post in posts]
    article_reader = opened([article.full_text])
    article_scores = article_reader.scores(texts)[0]
    spans = sentence_spans(article)
    sentences = [article.full_text[start:end] for start, end in spans]
    reader = Reader(model, article, sentences)
    text = article.full_text[: spans[reader.last][1]] if spans else ""
    scores = np.tile(article_scores, (len(spans), 1))
    for start in range(0, len(reader.read), _TOGETHER):
        rows = reader.read[start : start + _TOGETHER]
        edited = [without(text, spans[row]) for row in rows]
        scores[rows] = opened(edited).scores(texts)
    return [
        reader.explained(
            post, float(article_scores[column]), scores[:, column], article_reader
        )
        for column, post in enumerate(posts)
    ]


def explain_nearest(
    model: TextModel, articles: Sequence[Article], posts: Sequence[Post], scorer: Scorer
) -> list[Explained]:
    """Explain each post's score for the article it is closest to, in the order of the posts.

    `scorer` was opened with these articles; see `explain`.
    """
    if not posts:
        raise InputError("no posts to explain; expected at least one")
    best = scorer.scores([post.text for post in posts]).argmax(axis=0)
    explained_of: dict[int, Explained] = {}
    for number in np.unique(best).tolist():
        rows = np.flatnonzero(best == number).tolist()
        closest = [posts[row] for row in rows]
        explained = explain(model, articles[number], closest, scorer, number)
        explained_of.update(zip(rows, explained, strict=True))
    return [explained_of[row] for row in range(len(posts))]


def name_neighbors(
    explained: Sequence[Explained], pool: Iterable[Block], model: TextModel
) -> list[Explained]:
    """Give each neighbor the id and text of the first post that is the same to the model.

    The blocks of the `pool` are read until all neighbors are found.
    """
    neighbor_keys = {
        near.key for explanation in explained for near in explanation.neighbors
    }
    posts_by_key: dict[bytes, Post] = {}
    for block in pool if neighbor_keys else ():
        for row, key in _rows_of(block.content, neighbor_keys, model):
            posts_by_key.setdefault(key, block.posts[row])
        if len(posts_by_key) == len(neighbor_keys):
            break

    def named(near: NeighborPost) -> NeighborPost:
        post = posts_by_key.get(near.key)
        return near if post is None else replace(near, post=post.id, text=post.text)

    return [
        replace(explanation, neighbors=list(map(named, explanation.neighbors)))
        for explanation in explained
    ]


def _rows_of(
    content: Content, keys: Collection[bytes], model: TextModel
) -> Iterator[tuple[int, bytes]]:
    """The rows of the texts whose ids are `keys`, and these ids."""
    texts = content if isinstance(content, TokenIds) else model.token_ids(content)
    lengths = {len(key) // texts.flat.itemsize for key in keys}
    for row in np.flatnonzero(np.isin(texts.lengths, list(lengths))).tolist():
        if (key := texts[row].tobytes()) in keys:
            yield row, key


class Reader:
    """The sentences of an article, ready to explain any number of posts; see `explain`.

    Of the sentences that are `read` the model reads something; without another one no score
    changes. Where one is left out, the model reads on, up to the sentence `last` at most.
    """

    def __init__(
        self, model: TextModel, article: Article, sentences: list[str]
    ) -> None:
        self._model = model
        self._article = article
        self._sentences = sentences
        tokens = [model.tokens(text) for text in sentences]
        self._lengths = [len(sentence_tokens) for sentence_tokens in tokens]
        self._ids, self._of_id = _joined(
            [model.vocabulary.ids(sentence_tokens) for sentence_tokens in tokens]
        )
        if model.terms is not None:
            limit = model.terms.options.article_tokens
            self._ids = self._ids[:limit]
            self._of_id = self._of_id[:limit]
            of_read = self._of_id
        else:
            of_read = self._of_id[self._positions_read(self._ids, "article")]
        self.read: list[int] = np.unique(of_read).tolist()
        self.last = len(sentences) - 1
        if self.read and model.limits["keep"] == "first":
            ends = np.cumsum(self._lengths)
            needed = len(of_read) + max(self._lengths)
            self.last = min(self.last, int(np.searchsorted(ends, needed)))

    def explained(
        self, post: Post, score: float, without: NDArray[np.float32], scorer: Scorer
    ) -> Explained:
        """The explanation of a post's score by a scorer of the article alone.

        `without` are (S,) scores of the post for the article without each sentence.
        """
        count = len(self._sentences)
        parts = scorer.parts_of(post.text, 0)
        # The article's vector is multiplied with the post's, and with those of its neighbors.
        counterpart = np.zeros(self._model.output_dim, np.float32)
        counterpart[: len(parts.article_vector)] = parts.article_vector
        article_vector = self._model.encode_ids([self._ids], "article")[0]
        article_terms = self._dense(self._ids, "article", counterpart)
        post_terms = self._dense(self._ids, "article", article_vector)
        # Sentences account for the article's own part of the score.
        by_words = sum(parts.article_terms.values())
        by_vectors = float(article_vector @ counterpart)
        contributions = self._by_sentence(parts.article_terms)
        contributions += np.bincount(self._of_id, article_terms, count)
        expected = by_vectors * np.bincount(self._of_id, post_terms, count)
        expected += by_words * self._by_sentence(scorer.article_term_shares(0))
        is_moved = scorer.article_weight(0) < 1
        feedback = score - by_words - by_vectors if is_moved else 0.0
        by_surface = sum(parts.surface.values())
        lexical = sum(parts.terms.values())
        by_neighbors = sum(neighbor.added for neighbor in parts.neighbors)
        return Explained(
            article=self._article,
            post=post,
            score=score,
            kind=scorer.kind,
            lexical=lexical,
            dense=score - lexical - by_surface - by_neighbors,
            surface=by_surface,
            # Before they are looked up in the pool.
            neighbors=[
                NeighborPost(
                    post=None,
                    text=self._text_of(neighbor.ids),
                    weight=neighbor.weight,
                    added=neighbor.added,
                    key=neighbor.ids.tobytes(),
                )
                for neighbor in parts.neighbors
            ],
            feedback=feedback,
            unexplained=score - feedback - float(contributions.sum()),
            sentences=[
                Sentence(
                    text=text,
                    tokens=self._lengths[number],
                    contribution=float(contributions[number]),
                    expected=float(expected[number]),
                    without=float(without[number]),
                )
                for number, text in enumerate(self._sentences)
            ],
            terms=self._terms(post, parts, article_vector),
            check=check(score, contributions - expected, without, self._lengths),
        )

    def _terms(
        self, post: Post, parts: ScoreParts, article: NDArray[np.float32]
    ) -> list[Term]:
        """What each word of the post adds, the greatest addition first."""
        dense = self._dense_terms(post, parts.post_vector, article)
        fields = self._fields(post)
        terms = []
        for name in dict.fromkeys([*parts.terms, *dense, *parts.surface]):
            words = name.split()
            with_words = [
                field for field, tokens in fields.items() if tokens.issuperset(words)
            ]
            term = Term(
                term=name,
                lexical=parts.terms.get(name, 0.0),
                dense=dense.get(name, 0.0),
                surface=parts.surface.get(name, 0.0),
                fields=tuple(with_words),
            )
            if term.contribution:
                terms.append(term)
        return sorted(terms, key=lambda term: -term.contribution)

    def _dense_terms(
        self, post: Post, factor: float, article: NDArray[np.float32]
    ) -> Mapping[str, float]:
        """Each token's part of the cosine with the article's vector, times a factor."""
        tokens = self._model.tokens(post.text)
        ids, of_token = _joined(
            [self._model.vocabulary.ids([token]) for token in tokens]
        )
        values = factor * self._dense(ids, "post", article)
        weights: defaultdict[str, float] = defaultdict(float)
        for number, value in zip(of_token.tolist(), values.tolist(), strict=True):
            weights[tokens[number]] += value
        return weights

    def _fields(self, post: Post) -> dict[str, set[str]]:
        """The tokens of each field that the post's text is joined from."""
        fields: dict[str, set[str]] = {}
        start = 0
        for name, length in post.metadata.get(PARTS, ()):
            fields[name] = set(self._model.tokens(post.text[start : start + length]))
            start += length + 1
        return fields

    def _text_of(self, ids: NDArray[np.int64]) -> str:
        """The words of a post by their ids; unknown ones are ``…``."""
        vocabulary_words = self._model.vocabulary.words
        return " ".join(
            vocabulary_words[id] if id < len(vocabulary_words) else "…"
            for id in ids.tolist()
        )

    def _by_sentence(self, values: Mapping[int, float]) -> NDArray[np.float64]:
        """Values of words and bigrams by id, split over their places in the article."""
        sums = np.zeros(len(self._sentences))
        if self._model.terms is None:
            return sums
        columns_of: dict[int, list[int]] = {}
        for number, id in enumerate(
            [*self._ids.tolist(), *bigram_ids(self._ids).tolist()]
        ):
            if id in values:
                columns_of.setdefault(id, []).append(number % len(self._ids))
        for id, at in columns_of.items():
            shares = 1 / (1 + np.array(at) / self._model.terms.options.lead_half_life)
            np.add.at(sums, self._of_id[at], values[id] * shares / shares.sum())
        return sums

    def _dense(
        self, ids: NDArray[np.int64], side: Side, towards: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """The part of each id in the cosine with `towards`."""
        positions = self._positions_read(ids, side)
        values = np.zeros(len(ids))
        values[positions] = self._model.contributions(ids[positions], towards)
        return values

    def _positions_read(self, ids: NDArray[np.int64], side: Side) -> NDArray[np.int64]:
        """The places of the ids that the encoder reads."""
        keep_last = self._model.limits["keep"] == "last"
        return _uncut_positions(
            ids, self._model.cut([ids], side)[0], from_end=keep_last
        )


def check(
    score: float,
    surplus: NDArray[np.float64],
    without: NDArray[np.float32],
    lengths: Sequence[int],
) -> Check | None:
    """The test of an explanation; None if no sentence has a surplus."""
    if not len(surplus) or surplus.max() <= 0:
        return None
    sentence = int(surplus.argmax())
    drops = score - without
    comparable = alike(sentence, lengths)
    greatest = float(drops[comparable].max()) if comparable else None
    return Check(sentence, float(drops[sentence]), len(comparable), greatest)


def alike(sentence: int, lengths: Sequence[int]) -> list[int]:
    """The other sentences of about its length."""
    length = lengths[sentence]
    return [
        number
        for number, other_length in enumerate(lengths)
        if number != sentence and abs(other_length - length) <= EQUAL * length
    ]


def _joined(
    pieces: list[NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All ids, and the number of the piece that each is of."""
    ids = np.concatenate([*pieces, np.zeros(0, np.int64)])
    return ids, np.repeat(np.arange(len(pieces)), [len(piece) for piece in pieces])


def _uncut_positions(
    ids: NDArray[np.int64], cut_ids: NDArray[np.int64], *, from_end: bool
) -> NDArray[np.int64]:
    """The places of the ids that `TextModel.cut` left; it drops whole words and one end."""
    rows: list[int] = []
    positions = range(len(ids) - 1, -1, -1) if from_end else range(len(ids))
    unmatched_ids = list(cut_ids if from_end else cut_ids[::-1])
    for position in positions:
        if unmatched_ids and ids[position] == unmatched_ids[-1]:
            unmatched_ids.pop()
            rows.append(position)
    return np.array(rows[::-1] if from_end else rows, np.int64)
