"""The factors that an encoder puts on the weights of a text's words in the lexical head."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from siamese_news.data.collate import length_batches, pad
from siamese_news.encoders import TwoHeadEncoder
from siamese_news.errors import InputError
from siamese_news.model.siamese import Model
from siamese_news.text import PAD
from siamese_news.text.token_ids import Side


def heads(model: Model, ids: Tensor, side: Side) -> tuple[Tensor, Tensor]:
    """Both heads of a batch, with gradients.

    The dense head reads what `Model.cut` leaves of a text, the factors all words that have a
    vector; any other word keeps the factor 1.

    Args:
        model: its encoder has factors.
        ids: (B, S) int64, padded with -1 on the right.
        side: the side whose length limit applies.

    Returns:
        Vectors (B, D), not normalised, and factors (B, S); 1 at padding.
    """
    read = ids != PAD
    if model.embedding.unknown_weight == 0:
        read &= ids < len(model.vocabulary)
    # The words that are read come first, in their order.
    order = (~read).to(torch.int8).argsort(dim=1, stable=True)
    width = max(1, int(read.sum(1).max())) if len(ids) else 1
    order = order[:, :width]
    packed = ids.gather(1, order).masked_fill(~read.gather(1, order), PAD)
    inputs = model.embedding(packed)
    vectors, factors = model.encoder.heads(*inputs)
    limit = model.limits[f"{side}_tokens"]
    if limit is not None and width > limit:
        if model.limits["keep"] == "last":
            start = (packed != PAD).sum(1, keepdim=True).sub(limit).clamp(min=0)
            places = start + torch.arange(limit, device=ids.device)
            inputs = tuple(_gather(part, places) for part in inputs)
        vectors = model.encoder(*(part[:, :limit] for part in inputs))
    ones = torch.ones_like(ids, dtype=factors.dtype)
    return vectors, ones.scatter(1, order, torch.where(packed != PAD, factors, 1.0))


def _gather(part: Tensor, places: Tensor) -> Tensor:
    """The columns `places` (B, L) of a tensor (B, S) or (B, S, E)."""
    if part.dim() == 2:
        return part.gather(1, places)
    return part.gather(1, places[:, :, None].expand(-1, -1, part.shape[2]))


class TextHeads:
    """Computes vectors and factors of texts in the fastest way that the model allows.

    Args:
        model: any model.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._by_word: np.ndarray | None = None
        encoder = model.encoder
        if isinstance(encoder, TwoHeadEncoder) and encoder.by_word:
            # A factor depends on the word alone, so factors are computed once and looked up.
            words = np.arange(len(model.vocabulary), dtype=np.int64)
            parts = np.array_split(words, len(words) // 4096 + 1)
            self._by_word = np.concatenate([*self._encoded(parts, "post")[1], np.ones(1)])

    def __call__(
        self, texts: Sequence[np.ndarray], side: Side
    ) -> tuple[np.ndarray, list[np.ndarray] | None]:
        """Unit vectors (B, D) float32 of B texts, and each one's factors (S,); None without any.

        Args:
            texts: token ids of each text, all of them.
            side: whose limit counts.
        """
        if not self._model.encoder.has_factors:
            return self._model.encode_ids(texts, side), None
        if self._by_word is None:
            return self._encoded(texts, side)
        last = len(self._by_word) - 1  # the entry that every unknown word shares
        factors = [self._by_word[np.minimum(ids, last)] for ids in texts]
        return self._model.encode_ids(texts, side), factors

    def _encoded(
        self, texts: Sequence[np.ndarray], side: Side, batch_tokens: int = 8192
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        model = self._model
        vectors = np.zeros((len(texts), model.output_dim), np.float32)
        factors = [np.ones(len(ids), np.float32) for ids in texts]
        training = model.training
        model.eval()
        try:
            with torch.inference_mode():
                for rows in length_batches([len(ids) for ids in texts], batch_tokens):
                    batch = pad([texts[row] for row in rows]).to(next(model.buffers()).device)
                    outputs = heads(model, batch, side)
                    vectors[rows] = (
                        nn.functional.normalize(outputs[0].float(), dim=-1).cpu().numpy()
                    )
                    for row, values in zip(rows, outputs[1].float().cpu().numpy(), strict=True):
                        factors[row] = values[: len(texts[row])]
        finally:
            model.train(training)
        if not (
            np.isfinite(vectors).all() and all(np.isfinite(values).all() for values in factors)
        ):
            raise InputError(
                f"the two heads of {side}s: the model gives NaN or infinity; its weights are "
                "broken, train it again with a smaller learning rate"
            )
        return vectors, factors
