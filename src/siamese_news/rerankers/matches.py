"""Exact matches of a query in a post, for the head of a ranker."""

import torch
from torch import Tensor

#: The number of values of `exact_features`.
EXACT = 4
#: The number of values of `link_features`.
LINK = 3


def exact_features(query_ids: Tensor, post_ids: Tensor, weights: Tensor) -> Tensor:
    """Exact matches of query words in the post: (B, 4).

    Share of query words found; the same by IDF; saturated frequency by IDF (as in BM25 without
    length); logarithm of the post's length. The weights (B, Q) are the IDF of the query words;
    ids are -1 at padding.
    """
    frequency, weights = _frequency(query_ids, post_ids, weights)
    total = weights.sum(dim=1).clamp(min=1e-6)
    present = (frequency > 0).float()
    saturated = frequency / (frequency + 1)
    words = (query_ids >= 0).sum(dim=1)
    length = (post_ids >= 0).sum(dim=1)
    features = [
        present.sum(dim=1) / words.clamp(min=1),
        (present * weights).sum(dim=1) / total,
        (saturated * weights).sum(dim=1) / total,
        torch.log1p(length.float()) / 4,
    ]
    return torch.stack(features, dim=1)


def link_features(
    query_ids: Tensor, post_ids: Tensor, links: Tensor, weights: Tensor
) -> Tensor:
    """Matches of query words in the link of a post: (B, 3).

    Whether there is one; share of query words in its address, by IDF; share of query words in the
    post or the address, by IDF. `links` (B, 1 + Q) says whether there is a link, and which query
    words its address holds; the others are as in `exact_features`.
    """
    in_post, weights = _frequency(query_ids, post_ids, weights)
    in_link = links[:, 1:]
    in_either = in_link | (in_post > 0)
    total = weights.sum(dim=1).clamp(min=1e-6)
    features = [
        links[:, 0].float(),
        (in_link * weights).sum(dim=1) / total,
        (in_either * weights).sum(dim=1) / total,
    ]
    return torch.stack(features, dim=1)


def _frequency(
    query_ids: Tensor, ids: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor]:
    """How often each query word occurs in the text (B, Q), and the weights of real query words."""
    real = query_ids >= 0
    is_match = (query_ids[:, :, None] == ids[:, None]) & real[:, :, None]
    return is_match.sum(dim=2).float(), weights.float() * real
