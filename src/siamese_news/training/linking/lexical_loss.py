"""Batches as the lexical head sees them, with gradients for the factors of their words."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from siamese_news.lexical_head import TermHead, TermWeights, bigram_ids
from siamese_news.text import PAD
from siamese_news.training.distributed import gather_rows

Ids = np.ndarray


class TermVectors:
    """Turns token ids and factors into the vectors that the lexical head compares.

    A vector has one place for each distinct word of the batch, and one for each distinct pair. Its
    weights are those of `lexical_head`, times the factors; the words and the pairs each have their
    share of the squared length 1, so that the cosine of two vectors is the score without the
    part of the posts' length normalisation that is not the post's own (``pivot`` = 1).

    Args:
        terms: the lexical head; weights are by the background IDF.
    """

    def __init__(self, terms: TermHead) -> None:
        self._weights: TermWeights = terms.background()

    def __call__(
        self, articles: Tensor, posts: Tensor, article_factors: Tensor, post_factors: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Vectors of a batch; ranks of a process group have the same places.

        Args:
            articles: (A, S) token ids, padded with -1 on the right.
            posts: (P, S') token ids.
            article_factors: (A, S).
            post_factors: (P, S').

        Returns:
            (A, C) and (P, C).
        """
        share = self._weights.options.bigram_weight
        texts = [[row[row != PAD] for row in ids.cpu().numpy()] for ids in (articles, posts)]
        flat = [article_factors[articles != PAD], post_factors[posts != PAD]]
        words = self._group(texts, flat, 1 - share)
        if not share:
            return words
        pairs = [[bigram_ids(text) for text in side] for side in texts]
        products = [
            (factors[:, :-1] * factors[:, 1:])[ids[:, 1:] != PAD]
            for ids, factors in ((articles, article_factors), (posts, post_factors))
        ]
        both = zip(words, self._group(pairs, products, share), strict=True)
        joined = [torch.cat(sides, 1) for sides in both]
        return joined[0], joined[1]

    def _group(
        self, texts: Sequence[Sequence[Ids]], factors: Sequence[Tensor], share: float
    ) -> tuple[Tensor, Tensor]:
        """Articles and posts by their words alone, or by their pairs alone."""
        columns = self._columns([*texts[0], *texts[1]], factors[0].device)
        articles, posts = (
            nn.functional.normalize(self._dense(rows, flat, columns, lead), dim=1) * share**0.5
            for rows, flat, lead in zip(texts, factors, (True, False), strict=True)
        )
        return articles, posts

    @staticmethod
    def _columns(texts: Sequence[Ids], device: torch.device) -> Ids:
        """The sorted distinct ids over all ranks."""
        local = torch.from_numpy(np.unique(np.concatenate(texts))).to(device)
        columns: Ids = gather_rows(local).unique().cpu().numpy()
        return columns

    def _dense(self, texts: Sequence[Ids], factors: Tensor, columns: Ids, lead: bool) -> Tensor:
        """(B, C) from B texts and the factors of all their features, end to end."""
        factors = factors.to(torch.promote_types(factors.dtype, torch.float32))
        lengths = [len(text) for text in texts]
        rows = np.repeat(np.arange(len(texts)), lengths)
        places = np.searchsorted(columns, np.concatenate([*texts, np.zeros(0, np.int64)]))
        keys, first, inverse, counts = np.unique(
            rows * max(len(columns), 1) + places,
            return_index=True,
            return_inverse=True,
            return_counts=True,
        )
        weights = self._weights.of(columns)[keys % max(len(columns), 1)] / counts
        if lead:
            position = first - (np.cumsum(lengths) - lengths)[rows[first]]
            weights *= (1 + np.log(counts)) / (1 + position / self._weights.options.lead_half_life)

        def tensor(values: np.ndarray) -> Tensor:
            return torch.from_numpy(values).to(factors.device)

        sums = factors.new_zeros(len(keys)).index_add(0, tensor(inverse), factors)
        vectors = factors.new_zeros(len(texts) * len(columns))
        vectors = vectors.index_put((tensor(keys),), sums * tensor(weights).to(factors.dtype))
        return vectors.view(len(texts), len(columns))
