"""samCNN: token-specific convolutions for reranking short posts (Shi et al., 2019).

Paper: "Simple Attention-Based Representation Learning for Ranking Short Social Media Posts",
sections 2.1 (general encoder, QAtt and PAtt), 2.2 (aggregation over the query tokens), 2.3 (head).
"""

from collections.abc import Sequence
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, linear, normalize

from siamese_news.rerankers.conv import ConvEncoder
from siamese_news.rerankers.pair import Pair, WordTexts, zero_padding
from siamese_news.utils.choices import check_choice

Order = Literal["relu-norm", "norm-tanh"]
Aggregation = Literal["mean", "sum"]


class PredictionHead(nn.Module):
    """A hidden layer, its normalization and a two-way log-softmax (samCNN, section 2.3).

    The order "relu-norm" is ReLU, then batch normalization (the paper); "norm-tanh" is batch
    normalization, then tanh (the released code). Extra features are joined to the hidden layer
    after its dropout.
    """

    def __init__(
        self,
        *,
        input_dim: int,
        hidden: int,
        order: Order,
        dropout: float,
        features: int = 0,
    ) -> None:
        super().__init__()
        check_choice("head_order", order, Order)
        self.features = features
        self.hidden = nn.Linear(input_dim, hidden)
        self.norm = nn.BatchNorm1d(hidden)
        self.order = order
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden + features, 2)

    def hidden_layer(self, encoded: Tensor) -> Tensor:
        """The hidden layer o, (B, hidden): the output of ReLU or tanh."""
        hidden = self.hidden(encoded)
        if self.order == "relu-norm":
            return torch.relu(hidden)
        return torch.tanh(self.norm(hidden))

    def forward(self, encoded: Tensor, features: Tensor | None = None) -> Tensor:
        """Log-probabilities (B, 2) from (B, input_dim) and (B, features)."""
        hidden = self.hidden_layer(encoded)
        if self.order == "relu-norm":
            hidden = self.norm(hidden)
        hidden = self.dropout(hidden)
        if features is not None:
            hidden = torch.cat([hidden, features.to(hidden)], dim=1)
        return torch.log_softmax(self.output(hidden), dim=1)


class SamCNN(nn.Module):
    """Base class of the samCNN rankers: encode query and post, add attention vectors, predict.

    Each attention adds one vector, from a convolution of its own and a mean or sum over the query.

    Shapes: B posts, G queries, Q query tokens, S post tokens, E embedding size, D output size.

    For the options of the encoder and of the head see `ConvEncoder` and `PredictionHead`.

    Args:
        input_dim: E.
        hidden: D, size of every encoded text.
        features: extra features that the head takes.
        aggregation: of the post's vectors for the query words: "mean" (section 2.2), or "sum", what
            the code behind the authors' log computes: its softmax is over a dimension of size one,
            so that every weight is 1.
    """

    #: Whether the subclass attends to the query (Eq. 1) and to positions of the post (Eq. 2-4).
    query_attention = post_attention = False

    def __init__(
        self,
        *,
        input_dim: int,
        filters: int,
        widths: Sequence[int],
        dropout: float,
        hidden: int,
        head_hidden: int,
        head_order: Order,
        head_dropout: float,
        features: int = 0,
        aggregation: Aggregation = "mean",
    ) -> None:
        super().__init__()
        check_choice("aggregation", aggregation, Aggregation)
        convolution = partial(
            ConvEncoder,
            input_dim=input_dim,
            output_dim=hidden,
            filters=filters,
            widths=widths,
            dropout=dropout,
        )
        self.encoder = convolution()
        self.head = PredictionHead(
            input_dim=hidden * (2 + self.query_attention + self.post_attention),
            hidden=head_hidden,
            order=head_order,
            dropout=head_dropout,
            features=features,
        )
        self.aggregation = aggregation
        if self.query_attention:
            self.query_context = convolution()
        if self.post_attention:
            self.post_context = convolution()

    def encode(self, pair: Pair) -> Tensor:
        """The input of the head: [g_q, g_p, v of the attention], (B, 2 D or 3 D)."""
        queries = WordTexts.of(pair.query, pair.query_mask).trimmed()
        posts = pair.texts_of_posts().trimmed()
        g_query = pair.per_post(self.encoder(queries))
        g_post = self.encoder(posts)
        return torch.cat([g_query, g_post, *self.context_vectors(pair, posts)], dim=1)

    def forward(self, pair: Pair) -> Tensor:
        """Log-probabilities (B, 2) of (not relevant, relevant); the second one is the score."""
        return self.head(self.encode(pair), pair.features)

    def hidden_layer(self, pair: Pair) -> Tensor:
        """The head's hidden layer o (section 2.3), which the paper's Fig. 4 projects: (B, H)."""
        return self.head.hidden_layer(self.encode(pair))

    def context_vectors(self, pair: Pair, posts: WordTexts) -> list[Tensor]:
        """The vector v of section 2.2 of the attention, over the kernels of Eq. 1 or 4."""
        vectors = []
        if self.query_attention:
            pooled = self._query_attention(pair, posts)
            vectors.append(self._aggregate(self.query_context, pair, pooled))
        if self.post_attention:
            pooled = self._post_attention(pair, posts)
            vectors.append(self._aggregate(self.post_context, pair, pooled))
        return vectors

    def _aggregate(self, encoder: ConvEncoder, pair: Pair, pooled: Tensor) -> Tensor:
        """The vector v of section 2.2, (B, D): the mean or sum of the vectors h_i of query tokens.

        These are linear maps of the pooled features (B, Q, F). A query without a token has zeros.
        """
        weights = pair.per_post(pair.query_mask).to(pooled)
        if self.aggregation == "mean":
            weights = weights / weights.sum(dim=1, keepdim=True).clamp(min=1)
        # The linear map commutes with the weighted sum, which is shorter; its bias has the weight
        # of all tokens: one, or for the plain sum their number.
        summed = torch.einsum("bq,bqf->bf", weights, pooled)
        bias = weights.sum(dim=1, keepdim=True) * encoder.linear.bias
        return linear(summed, encoder.linear.weight) + bias

    def _query_attention(self, pair: Pair, posts: WordTexts) -> Tensor:
        """Eq. 1: kernels W_j diag(q), so a convolution over the products q * p; (B, Q, F)."""
        # Only the real tokens of queries: the products of each with a post are a text of their own.
        texts, token_indices = pair.per_post(pair.query_mask).nonzero(as_tuple=True)
        numbers = torch.arange(pair.query_mask.numel(), device=token_indices.device)
        token = pair.per_post(numbers.view(pair.query_mask.shape))[texts, token_indices]
        # The product of a query token and a word is computed once.
        words = len(posts.words)
        numbers_of_products = token[:, None] * words + posts.rows[texts]
        products, rows = torch.unique(numbers_of_products, return_inverse=True)
        query = embedding(products // words, pair.query.flatten(0, 1))
        vectors = query * embedding(products % words, posts.words)
        mask = posts.mask[texts]
        weights = mask[:, None].to(vectors)
        context = WordTexts(vectors, rows, mask)
        features = self.query_context.pooled(context, weights).squeeze(1)
        shape = len(posts.rows), pair.query.shape[1], features.shape[-1]
        return features.new_zeros(shape).index_put((texts, token_indices), features)

    def _post_attention(self, pair: Pair, posts: WordTexts) -> Tensor:
        """Eq. 2-4: kernels W_j cos(q, p_j): a convolution over posts weighted by cosine."""
        query = zero_padding(pair.query, pair.query_mask)
        unit = pair.per_post(normalize(query, dim=-1, eps=1e-6))
        words = posts.vectors(normalize(posts.words, dim=-1, eps=1e-6))
        weights = (unit @ words.transpose(1, 2)) * posts.mask[:, None]
        return self.post_context.pooled(posts, weights)


class BiCNN(SamCNN):
    """The general sentence encoder alone, on both sides (samCNN, section 2.1)."""


class QAtt(SamCNN):
    """Query-aware attention (samCNN, section 2.1): kernels rescaled by each query token."""

    query_attention = True


class PAtt(SamCNN):
    """Position-aware attention (samCNN, section 2.1): kernels rescaled by token similarity."""

    post_attention = True
