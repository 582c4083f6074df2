"""Token ids to unit vectors: batches of like length, words looked up once, bags without padding."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from siamese_news.attention.word_projections import Words
from siamese_news.data.collate import length_batches, pad, word_blocks
from siamese_news.encoders import (
    BagEncoder,
    Encoder,
    TokenEmbedding,
    TwoHeadEncoder,
    lead_weights,
    places_of,
)
from siamese_news.text.token_ids import TokenIds

# Within this many tokens, what depends on a word alone is computed once and then looked up.
WORD_BLOCK = 65536


def unit_vectors(
    embedding: TokenEmbedding,
    encoder: Encoder,
    texts: TokenIds,
    batch_tokens: int,
    device: torch.device,
) -> np.ndarray:
    """Encode texts without gradients; the caller sets modes and precision.

    Args:
        embedding: ids to vectors.
        encoder: vectors to one vector a text.
        texts: the token ids of B texts, as the encoder reads them.
        batch_tokens: how many tokens, padding included, go through the encoder at once.
        device: where the weights are.

    Returns:
        (B, D) float32.
    """
    known = int(texts.flat.max(initial=0)) < len(embedding.matrix)
    if encoder.is_bag and known:
        return _bags(embedding, encoder, texts, device)
    vectors = np.zeros((len(texts), encoder.output_dim), dtype=np.float32)
    for rows, encoded in _batches(embedding, encoder, texts, batch_tokens, device):
        encoded = nn.functional.normalize(encoded.float(), dim=-1)
        vectors[rows] = encoded.cpu().numpy()
    return vectors


def _batches(
    embedding: TokenEmbedding,
    encoder: Encoder,
    texts: TokenIds,
    batch_tokens: int,
    device: torch.device,
) -> Iterator[tuple[list[int], Tensor]]:
    """Rows of `texts` and their vectors, by length; words are looked up once for many texts."""
    for block, ids, places in word_blocks(texts, max(WORD_BLOCK, batch_tokens)):
        embeddings, _, weights = embedding(torch.from_numpy(ids).to(device)[None])
        words = Words(embeddings[0])
        for batch in length_batches([len(text) for text in places], batch_tokens):
            rows = pad([places[text] for text in batch]).to(device)
            mask, rows = rows >= 0, rows.clamp(min=0)
            shares = (weights[0][rows] * mask,) if encoder.uses_weights else ()
            encoded = encoder.encode_words(words, rows, mask, *shares)
            yield [block[text] for text in batch], encoded


def _bags(
    embedding: TokenEmbedding, encoder: Encoder, texts: TokenIds, device: torch.device
) -> np.ndarray:
    """Unit vectors of a bag encoder, without padding, which is about ten times as fast."""
    assert isinstance(encoder, BagEncoder | TwoHeadEncoder)
    flat = torch.from_numpy(texts.flat).to(device)
    starts = torch.from_numpy(texts.offsets[:-1]).to(device)
    weights = embedding.token_weights[flat] if encoder.uses_weights else None
    if encoder.lead is not None:
        lead = lead_weights(places_of(starts, len(flat)), encoder.lead)
        weights = lead if weights is None else weights * lead
    summed = embedding.sums(flat, starts, weights)
    if encoder.output is not None:  # a linear map of a sum; the length does not count
        summed = encoder.output(summed)
    return np.asarray(nn.functional.normalize(summed.float(), dim=-1).cpu())
