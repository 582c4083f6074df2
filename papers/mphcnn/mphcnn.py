"""MP-HCNN: multi-perspective relevance matching with hierarchical convolutions (Rao et al., 2019).

Paper: "Multi-Perspective Relevance Matching with Hierarchical ConvNets for Social Media Search",
section 3. The strongest earlier neural model next to samCNN, built for the same pairs.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from zlib import crc32

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, dropout1d, logsigmoid, pad

from siamese_news.rerankers.pair import Pair, trim, zero_padding


class _Level(nn.Module):
    """One convolution of a hierarchy: "same" length, ReLU, zero at padding."""

    def __init__(self, *, input_dim: int, filters: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.linear = nn.Linear(width * input_dim, filters)

    def forward(self, texts: Tensor, mask: Tensor) -> Tensor:
        """(N, S, E), (N, S) -> (N, S, F)."""
        tokens = texts.shape[1]
        left = (self.width - 1) // 2
        padded = pad(texts, (0, 0, left, self.width - 1 - left))
        windows = torch.cat(
            [padded[:, j : j + tokens] for j in range(self.width)], dim=-1
        )
        return zero_padding(torch.relu(self.linear(windows)), mask)


class Perspective(nn.Module):
    """Soft matches of a query and a text on every level of one hierarchy of convolutions.

    On each level the text tokens spread one unit of attention over `max_query` places (softmax of
    dot products): the query tokens, and empty places, whose dot product is 0 and which take the
    attention of tokens that match nothing. A query token keeps the maximum and the mean over the
    text. (In the released code the empty places are the padding of its queries.)

    The embeddings are one more level. Query tokens after `max_query` have no features. Matches of
    the first `weighted_levels` levels are weighted by IDF. Dropout is that of embeddings (whole
    dimensions) and of the outputs of the convolutions.
    """

    def __init__(
        self,
        *,
        input_dim: int,
        filters: int,
        width: int,
        levels: int,
        max_query: int,
        weighted_levels: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.max_query, self.weighted_levels = max_query, weighted_levels
        self.dropout = dropout
        sizes = [input_dim] + [filters] * levels
        self.levels = nn.ModuleList(
            _Level(input_dim=size, filters=filters, width=width) for size in sizes[:-1]
        )
        self.output_dim = 2 * (levels + 1) * max_query

    def forward(
        self,
        pair: Pair,
        query: tuple[Tensor, Tensor],
        text: tuple[Tensor, Tensor],
        weights: Tensor,
    ) -> Tensor:
        """Features (B, 2 x (levels + 1) x max_query), zero at missing query tokens.

        The query is (G, Q, E), left aligned, and (G, Q), as are its weights; the text is (B, S, E)
        and (B, S); `pair` maps each text to its query.
        """
        query_values, query_mask = (item[:, : self.max_query] for item in query)
        text_values, text_mask = text
        query_values = self._drop_dimensions(query_values)
        text_values = self._drop_dimensions(text_values)
        weights = weights[:, : self.max_query]
        queries_mask = pair.per_post(query_mask)
        features = []
        for number in range(len(self.levels) + 1):
            if number:
                level = self.levels[number - 1]
                query_values = dropout(
                    level(query_values, query_mask), self.dropout, self.training
                )
                text_values = dropout(
                    level(text_values, text_mask), self.dropout, self.training
                )
            matches = _match(
                pair.per_post(query_values),
                queries_mask,
                text_values,
                text_mask,
                self.max_query,
            )
            if number < self.weighted_levels:
                matches = matches * pair.per_post(weights)[:, None]
            features.append(
                pad(matches, (0, self.max_query - matches.shape[2])).flatten(1)
            )
            if number == 0:
                # IDF of a window: the mean over its tokens.
                weights = weights * query_mask
                following = pad(weights[:, 1:], (0, 1))
                weights = (weights + following) / (1 + (following > 0).to(weights))
        return torch.cat(features, dim=1)

    def _drop_dimensions(self, values: Tensor) -> Tensor:
        return dropout1d(values.transpose(1, 2), self.dropout, self.training).transpose(
            1, 2
        )


def _match(
    query: Tensor, query_mask: Tensor, text: Tensor, text_mask: Tensor, places: int
) -> Tensor:
    """Maximum and mean over the text of its attention to each query token: (B, 2, Q)."""
    scores = (
        (text @ query.transpose(1, 2))
        .float()
        .masked_fill(~query_mask[:, None], -torch.inf)
    )
    # All empty places in one column: the logarithm of how many there are; none is -inf.
    empty = (places - query_mask.sum(dim=1)).clamp(min=0).to(scores).log()
    scores = torch.cat(
        [scores, empty[:, None, None].expand(-1, text.shape[1], 1)], dim=2
    )
    attention = torch.softmax(scores, dim=2)[:, :, :-1]
    attention = attention.masked_fill(~text_mask.unsqueeze(2), 0)
    mean = attention.sum(dim=1) / text_mask.sum(dim=1, keepdim=True).clamp(min=1)
    return torch.stack([attention.amax(dim=1), mean], dim=1)


class MPHCNN(nn.Module):
    """Word, character and (optionally) URL perspectives, then two dense layers.

    Shapes: B posts, G queries, Q query words, S post words, E embedding size.

    For the options of each perspective see `Perspective`; the numbers are those of the released
    code.

    Args:
        input_dim: E.
        trigram_dim: size of a trigram's trained vector.
        buckets: rows of the trigram table.
        url: whether the URL of the post is a third perspective.
        hidden: sizes of the dense layers.
        features: extra features in addition to the matches.
    """

    def __init__(
        self,
        *,
        input_dim: int,
        levels: int = 4,
        filters: int = 256,
        word_width: int = 2,
        trigram_width: int = 4,
        trigram_dim: int = 100,
        buckets: int = 16384,
        max_query_words: int = 10,
        max_query_trigrams: int = 60,
        weighted_levels: int = 2,
        url: bool = False,
        dropout: float = 0.1,
        hidden: Sequence[int] = (150, 50),
        features: int = 0,
    ) -> None:
        super().__init__()
        self.buckets, self.features = buckets, features
        perspective = partial(
            Perspective,
            filters=filters,
            levels=levels,
            weighted_levels=weighted_levels,
            dropout=dropout,
        )
        self.words = perspective(
            input_dim=input_dim, width=word_width, max_query=max_query_words
        )
        self.trigrams = nn.Embedding(buckets, trigram_dim)
        nn.init.uniform_(self.trigrams.weight, -0.05, 0.05)
        of_characters = partial(
            perspective,
            input_dim=trigram_dim,
            width=trigram_width,
            max_query=max_query_trigrams,
        )
        self.characters = of_characters()
        self.url = of_characters() if url else None
        parts = [self.words, self.characters] + ([self.url] if self.url else [])
        size = sum(part.output_dim for part in parts) + features
        layers: list[nn.Module] = []
        for width in hidden:
            layers += [nn.Linear(size, width), nn.ReLU()]
            size = width
        self.dense = nn.Sequential(*layers, nn.Linear(size, 1))

    def pieces_of(self, tokens: Iterable[str]) -> list[int]:
        """The trigram ids of a text, word by word."""
        return [
            trigram
            for token in tokens
            for trigram in word_trigrams(token, self.buckets)
        ]

    def forward(self, pair: Pair) -> Tensor:
        """Log-probabilities (B, 2) of (not relevant, relevant).

        Raises:
            ValueError: trigrams or features that the model was built for are missing.
        """
        if pair.pieces is None:
            raise ValueError(
                "MP-HCNN needs trigrams: the pieces of the pair; see `pieces_of`"
            )
        got = 0 if pair.features is None else pair.features.shape[1]
        if got != self.features:
            raise ValueError(
                f"MP-HCNN got {got} extra features; built for {self.features}"
            )
        query = left_aligned(zero_padding(pair.query, pair.query_mask), pair.query_mask)
        weights = pair.query_weights
        if weights is None:
            weights = pair.query_mask.to(pair.query)
        weights, _ = left_aligned(weights.to(pair.query), pair.query_mask)
        post, mask = trim(pair.post, pair.post_mask)
        parts = [self.words(pair, query, (zero_padding(post, mask), mask), weights)]
        characters, present = self._lookup(pair.pieces[0])
        even = present.to(pair.query)
        query = left_aligned(characters, present)
        even, _ = left_aligned(even, present)
        parts.append(self.characters(pair, query, self._lookup(pair.pieces[1]), even))
        if self.url is not None:
            parts.append(self.url(pair, query, self._lookup(pair.pieces[2]), even))
        if pair.features is not None:
            parts.append(pair.features.to(parts[0]))
        logit = self.dense(torch.cat(parts, dim=1)).squeeze(1)
        return torch.stack([logsigmoid(-logit), logsigmoid(logit)], dim=1)

    def _lookup(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        mask = ids >= 0
        ids, mask = trim(ids, mask)
        return zero_padding(self.trigrams(ids.clamp(min=0)), mask), mask


@lru_cache(maxsize=1 << 17)
def word_trigrams(word: str, buckets: int) -> tuple[int, ...]:
    """Trigram ids of one word with a boundary mark on both sides: n letters, n trigrams."""
    marked = f"#{word}#"
    return tuple(
        crc32(marked[i : i + 3].encode("utf-8", "surrogatepass")) % buckets
        for i in range(max(1, len(marked) - 2))
    )


def left_aligned(values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Move the real tokens of every row to its left end, in their order."""
    order = (~mask).to(torch.int8).argsort(dim=1, stable=True)
    index = order if values.dim() == 2 else order.unsqueeze(-1).expand_as(values)
    return values.gather(1, index), mask.gather(1, order)
