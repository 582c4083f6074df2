"""A ranker with its vocabulary: it scores token ids or raw text and is saved as a model folder."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import embedding

from siamese_news.data.collate import pad
from siamese_news.encoders.embedding import TokenEmbedding
from siamese_news.errors import InputError
from siamese_news.model.folder import (
    check_arrays,
    check_finite,
    fitting,
    read_folder,
    write_folder,
)
from siamese_news.model.memory import check_module
from siamese_news.model.siamese import arrays_of, tensors_of
from siamese_news.rerankers import Pair, build_ranker
from siamese_news.rerankers.matches import EXACT, LINK, exact_features, link_features
from siamese_news.rerankers.pair import WordTexts
from siamese_news.text.patterns import link_matches
from siamese_news.text.token_ids import TokenIds
from siamese_news.text.tokens import Tokenizer
from siamese_news.text.vocabulary import Vocabulary

KIND = "reranker"
# The scores that `TextRanker.score` returns.
SCORE = "log relevance probability"


class IdBatch(NamedTuple):
    """Pairs as ids, -1 = padding, like `Pair`. Lightning moves a tuple's tensors to its device."""

    query_ids: Tensor  # (G, Q) words of the distinct queries
    post_ids: Tensor  # (B, S)
    group: Tensor
    pieces: tuple[Tensor, Tensor, Tensor] | None = None
    links: Tensor | None = None  # (B, 1 + Q) bool from `link_matches`
    labels: Tensor | None = None  # (B,) int64 0 or 1, where known
    rows: Tensor | None = None  # (B,) int64, of these pairs in the data set


class TextRanker(nn.Module):
    """An embedding, optional exact-match features and a ranker, with their vocabulary."""

    def __init__(
        self,
        *,
        vocabulary: Vocabulary,
        embedding: TokenEmbedding,
        ranker: Mapping[str, Any],
        exact_match: bool,
        link_match: bool = False,
        tokenizer: Mapping[str, Any] | None = None,
    ) -> None:
        """Build the reranker from its parts.

        Args:
            vocabulary: of the embedding.
            embedding: vectors and IDF weights.
            ranker: plain values for `build_ranker`, without ``input_dim`` and ``features``.
            exact_match: whether the head reads `exact_features`.
            link_match: whether it reads `link_features`.
            tokenizer: arguments of `Tokenizer` for raw text.
        """
        super().__init__()
        self.vocabulary = vocabulary
        self.embedding = embedding
        self.exact_match = exact_match
        self.link_match = link_match
        self.ranker_config = dict(ranker)
        self.tokenizer_config = dict(tokenizer or {})
        self.ranker = build_ranker(
            {
                **ranker,
                "input_dim": embedding.output_dim,
                "features": EXACT * exact_match + LINK * link_match,
            }
        )

    def encode(
        self,
        queries: Sequence[Sequence[str]],
        posts: Sequence[Sequence[str]],
        urls: Sequence[str] | None = None,
    ) -> "EncodedTexts":
        """Tokenized queries and posts as ids, with the link of each post ("" for none)."""
        urls = urls or [""] * len(posts)
        links = None
        if self.link_match:
            # Only words with an id, so that matches by word and by id can be aligned.
            known_words = [
                [w for w in words if len(self.vocabulary.ids([w]))] for words in queries
            ]
            links = known_words, urls
        pieces = None
        if pieces_of := getattr(self.ranker, "pieces_of", None):
            # The end of a long link names the page.
            ends = [[url[-100:]] if url else [] for url in urls]
            pieces = [
                TokenIds.of(list(map(pieces_of, texts)))
                for texts in (queries, posts, ends)
            ]
        return EncodedTexts(
            TokenIds.of(list(map(self.vocabulary.ids, queries))),
            TokenIds.of(list(map(self.vocabulary.ids, posts))),
            pieces,
            links,
        )

    def pair(self, batch: IdBatch) -> Pair:
        """Look the ids up, those of queries and posts at once, and every word once.

        Thus a trained table gets one gradient of its own size per step, not two and their sum, and
        what a ranker computes of a word's vector alone is computed once a batch. Where dropout
        makes the vectors of a word differ, every token is a word of its own.
        """
        queries, posts = batch.query_ids, batch.post_ids
        ids = torch.cat([queries.flatten(), posts.flatten()])
        if self.training and self.embedding.dropout.p:
            rows = torch.arange(len(ids), device=ids.device)
        else:
            ids, rows = ids.unique(return_inverse=True)
        words, masks, idfs = (values[0] for values in self.embedding(ids[None]))
        of_queries = rows[: queries.numel()].view(queries.shape)
        of_posts = rows[queries.numel() :].view(posts.shape)
        weights = idfs[of_queries]
        features = []
        if self.exact_match or self.link_match:
            query_words = queries[batch.group]
            idf = weights[batch.group]
            if self.exact_match:
                features.append(exact_features(query_words, posts, idf))
            if self.link_match:
                assert batch.links is not None
                features.append(link_features(query_words, posts, batch.links, idf))
        texts = WordTexts(words, of_posts, masks[of_posts])
        return Pair(
            query=embedding(of_queries, words),
            query_mask=masks[of_queries],
            post=texts.vectors(words),
            post_mask=texts.mask,
            post_words=texts,
            group=None if len(queries) == 1 else batch.group,
            query_weights=weights,
            features=torch.cat(features, dim=1) if features else None,
            pieces=batch.pieces,
        )

    def forward(self, batch: IdBatch) -> Tensor:
        """Log-probabilities (B, 2) of (not relevant, relevant)."""
        return self.ranker(self.pair(batch))

    def batches(
        self,
        query: Sequence[str],
        posts: Sequence[Sequence[str]],
        *,
        urls: Sequence[str] | None = None,
        batch_size: int = 512,
    ) -> Iterator[tuple[NDArray[np.int64], IdBatch]]:
        """Tokenized posts for one tokenized query, in batches of similar length, with their rows.

        The link of a post is "" where it has none; `urls` is None where no post has one.
        """
        encoded = self.encode([query], posts, urls)
        order = np.argsort(encoded.posts.lengths, kind="stable")
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            yield rows, encoded.batch(np.zeros(len(rows), np.int64), rows)

    @torch.no_grad()
    def score(
        self,
        query: Sequence[str],
        posts: Sequence[Sequence[str]],
        *,
        urls: Sequence[str] | None = None,
        batch_size: int = 512,
    ) -> NDArray[np.float32]:
        """Log p(relevant) (n,) of tokenized posts for one tokenized query; see `batches`."""
        self.eval()
        scores = np.zeros(len(posts), np.float32)
        for rows, batch in self.batches(query, posts, urls=urls, batch_size=batch_size):
            scores[rows] = self(batch)[:, 1].float().numpy()
        return scores

    def tokenizer(self) -> Tokenizer:
        """The tokenizer for raw text."""
        return Tokenizer(words=self.vocabulary.words, **self.tokenizer_config)

    def save(self, path: str | Path, *, card: str) -> None:
        """Write the model folder, as `TextModel.save` does."""
        embedding = self.embedding.config()
        # As the matrix says, and always float32.
        del (
            embedding["size"],
            embedding["stored"],
        )
        config = {
            "kind": KIND,
            "score": SCORE,
            "ranker": self.ranker_config,
            "exact_match": self.exact_match,
            "link_match": self.link_match,
            "unknown": self.vocabulary.unknown,
            "tokenizer": self.tokenizer_config,
            "embedding": embedding,
        }
        write_folder(
            path, config, arrays_of(self.state_dict()), self.vocabulary.words, card
        )

    @classmethod
    def load(cls, path: str | Path) -> "TextRanker":
        """Read a model folder; nothing in it is executed."""
        config, arrays, words = read_folder(path)
        tensors = tensors_of(arrays)
        if config.get("kind") != KIND:
            raise InputError(
                f"{path}: is a model of kind {config.get('kind')!r}, expected {KIND!r}; "
                "train one with task=rerank"
            )
        with fitting(path):
            vocabulary = Vocabulary(words, unknown=config["unknown"])
            rows, size = arrays["embedding.matrix"].shape

            def build() -> TextRanker:
                embedding = TokenEmbedding(
                    torch.zeros(rows, size),
                    token_weights=torch.ones(rows),
                    **config["embedding"],
                )
                return cls(
                    vocabulary=vocabulary,
                    embedding=embedding,
                    ranker=config["ranker"],
                    exact_match=config["exact_match"],
                    link_match=config["link_match"],
                    tokenizer=config["tokenizer"],
                )

            check_module(config["ranker"], build, arrays)
            model = build()
            check_arrays(path, arrays, arrays_of(model.state_dict()), shapes=False)
            model.load_state_dict(tensors)
            # Some invalid values are only found in use.
            model.tokenizer()
            check_finite(str(path), model.score(words[:1], [words[:2]]))
        return model.eval()


class EncodedTexts(NamedTuple):
    """Queries and posts as ids; pieces and links only for rankers that read them.

    `links` has the known words of every query and the link of every post.
    """

    queries: TokenIds
    posts: TokenIds
    pieces: Sequence[TokenIds] | None
    links: tuple[Sequence[Sequence[str]], Sequence[str]] | None

    def batch(
        self, queries: NDArray[np.int64], posts: NDArray[np.int64], **details: Tensor
    ) -> IdBatch:
        """Pairs of the queries and posts at these rows; `known` are the batch's labels and rows."""
        distinct, group = np.unique(queries, return_inverse=True)
        pieces = None
        links = None
        if self.pieces is not None:
            of_queries, of_posts, of_links = self.pieces
            pieces = (
                pad([of_queries[row] for row in distinct]),
                pad([of_posts[row] for row in posts]),
                pad([of_links[row] for row in posts]),
            )
        if self.links is not None:
            words, urls = self.links
            matches = link_matches(
                [words[i] for i in queries], [urls[i] for i in posts]
            )
            links = torch.from_numpy(matches)
        return IdBatch(
            query_ids=pad([self.queries[row] for row in distinct]),
            post_ids=pad([self.posts[row] for row in posts]),
            group=torch.from_numpy(group),
            pieces=pieces,
            links=links,
            **details,
        )
