"""Attributes the score of a post to the sentences of an article."""

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.readers.fields import PARTS
from siamese_news.data.records import Article, Post
from siamese_news.lexical_head import bigram_ids
from siamese_news.model.base import Contributions, TextModel
from siamese_news.scoring import Scorer
from siamese_news.search.explain.records import Explained, NeighborPost, Sentence, Term, check
from siamese_news.text.token_ids import Side


class Reader:
    """The sentences of an article, ready to explain any number of posts; see `explain`.

    Attributes:
        read: the sentences of which the model reads something; without one of the others the score
            is unchanged.
    """

    def __init__(
        self,
        model: TextModel,
        article: Article,
        sentences: list[str],
        stop_words: Collection[str] = (),
    ) -> None:
        self._model, self._article, self._sentences = model, article, sentences
        tokens = [model.tokens(text, stop_words) for text in sentences]
        self._lengths = [len(own) for own in tokens]
        self._ids, self._of_id = _joined([model.vocabulary.ids(own) for own in tokens])
        if model.terms is not None:
            limit = model.terms.options.article_tokens
            self._ids, self._of_id = self._ids[:limit], self._of_id[:limit]
            of_read = self._of_id
        else:
            of_read = self._of_id[self._places(self._ids, "article")]
        self.read: list[int] = np.unique(of_read).tolist()

    def explained(
        self, post: Post, score: float, without: NDArray[np.float32], scorer: Scorer
    ) -> Explained:
        """The explanation of a post's score by a scorer of the article alone.

        `without` are (S,) scores of the post for the article without each sentence.
        """
        model, count = self._model, len(self._sentences)
        parts = scorer.parts_of(post.text, 0)
        words, surface = parts.terms, parts.surface
        # The article's vector is multiplied with the post's, and with those of its neighbors.
        vector = np.zeros(model.output_dim, np.float32)
        vector[: len(parts.article_vector)] = parts.article_vector
        mine = model.encode_ids([self._ids], "article")[0]
        given, read, places = self._dense(self._ids, "article", vector)
        own, _, _ = self._dense(self._ids, "article", mine)
        # Sentences account for the article's own part of the score.
        by_words, by_vectors = sum(parts.article_terms.values()), float(mine @ vector)
        contributions = self._by_sentence(parts.article_terms)
        contributions += np.bincount(self._of_id, given, count)
        expected = by_vectors * np.bincount(self._of_id, own, count)
        expected += by_words * self._by_sentence(scorer.article_term_shares(0))
        neighbors = [
            NeighborPost(None, self._text_of(one.ids), one.weight, one.added, one.ids.tobytes())
            for one in parts.neighbors
        ]
        feedback = score - by_words - by_vectors if scorer.article_weight(0) < 1 else 0.0
        by_surface, lexical = sum(surface.values()), sum(words.values())
        dense = self._dense_terms(post, parts.post_vector, mine)
        fields = self._fields(post)
        terms = [
            Term(
                name,
                words.get(name, 0.0),
                dense.get(name, 0.0),
                surface.get(name, 0.0),
                tuple(part for part, own in fields.items() if own.issuperset(name.split())),
            )
            for name in dict.fromkeys([*words, *dense, *surface])
        ]
        attention = self._attention(read, places)
        return Explained(
            article=self._article,
            post=post,
            score=score,
            kind=scorer.kind,
            lexical=lexical,
            dense=score - lexical - by_surface - sum(one.added for one in neighbors),
            surface=by_surface,
            neighbors=neighbors,
            feedback=feedback,
            rest=score - feedback - float(contributions.sum()),
            sentences=[
                Sentence(
                    text=text,
                    tokens=self._lengths[number],
                    contribution=float(contributions[number]),
                    expected=float(expected[number]),
                    attention={name: rows[number].tolist() for name, rows in attention.items()},
                    without=float(without[number]),
                )
                for number, text in enumerate(self._sentences)
            ],
            terms=sorted(
                (term for term in terms if term.contribution), key=lambda t: -t.contribution
            ),
            alphas=read.alphas,
            check=check(score, contributions - expected, without, self._lengths),
        )

    def _dense_terms(
        self, post: Post, factor: float, mine: NDArray[np.float32]
    ) -> dict[str, float]:
        """Each token's part of the cosine with the article's vector, times a factor."""
        tokens = self._model.tokens(post.text)
        ids, of_token = _joined([self._model.vocabulary.ids([token]) for token in tokens])
        values = factor * self._dense(ids, "post", mine)[0]
        found: dict[str, float] = {}
        for number, value in zip(of_token.tolist(), values.tolist(), strict=True):
            found[tokens[number]] = found.get(tokens[number], 0.0) + value
        return found

    def _fields(self, post: Post) -> dict[str, set[str]]:
        """The tokens of each field that the post's text is joined from."""
        fields: dict[str, set[str]] = {}
        start = 0
        for name, length in post.metadata.get(PARTS, ()):
            fields[name] = set(self._model.tokens(post.text[start : start + length]))
            start += length + 1
        return fields

    def _text_of(self, ids: NDArray[np.int64]) -> str:
        """The words of a post by their ids, as far as the vocabulary has them."""
        known = self._model.vocabulary.words
        return " ".join(known[id] if id < len(known) else "…" for id in ids.tolist())

    def _by_sentence(self, values: Mapping[int, float]) -> NDArray[np.float64]:
        """Values of words and bigrams by id, split over the places where the article has them."""
        sums = np.zeros(len(self._sentences))
        if self._model.terms is None:
            return sums
        found: dict[int, list[int]] = {}
        for number, id in enumerate([*self._ids.tolist(), *bigram_ids(self._ids).tolist()]):
            if id in values:
                found.setdefault(id, []).append(number % len(self._ids))
        for id, at in found.items():
            shares = 1 / (1 + np.array(at) / self._model.terms.options.lead_half_life)
            np.add.at(sums, self._of_id[at], values[id] * shares / shares.sum())
        return sums

    def _dense(
        self, ids: NDArray[np.int64], side: Side, towards: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], Contributions, NDArray[np.int64]]:
        """The part of each id in the cosine with `towards`, and the places that are read."""
        places = self._places(ids, side)
        read = self._model.contributions(ids[places], towards)
        values = np.zeros(len(ids))
        values[places] = read.values
        return values, read, places

    def _places(self, ids: NDArray[np.int64], side: Side) -> NDArray[np.int64]:
        """The places of the ids that the encoder reads."""
        last = self._model.limits["keep"] == "last"
        return _kept(ids, self._model.cut([ids], side)[0], last=last)

    def _attention(
        self, read: Contributions, places: NDArray[np.int64]
    ) -> dict[str, NDArray[np.float64]]:
        """By name, (sentences, H): the attention of the relay or the mean token to each one."""
        found = {}
        for name, given in read.attention.items():
            found[name] = np.zeros((len(self._sentences), given.shape[1]))
            np.add.at(found[name], self._of_id[places], given)
        return found


def _joined(pieces: list[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All ids, and the number of the piece that each is of."""
    ids = np.concatenate([*pieces, np.zeros(0, np.int64)])
    return ids, np.repeat(np.arange(len(pieces)), [len(piece) for piece in pieces])


def _kept(ids: NDArray[np.int64], read: NDArray[np.int64], *, last: bool) -> NDArray[np.int64]:
    """The places of the ids that `TextModel.cut` left; it drops whole words and one end."""
    kept: list[int] = []
    places = range(len(ids) - 1, -1, -1) if last else range(len(ids))
    left = list(read if last else read[::-1])
    for place in places:
        if left and ids[place] == left[-1]:
            left.pop()
            kept.append(place)
    return np.array(kept[::-1] if last else kept, np.int64)
