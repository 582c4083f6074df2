"""The model turns texts into vectors; it loads and saves its model folder."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from siamese_news import __version__
from siamese_news.attention.word_projections import Words
from siamese_news.data.collate import length_batches, pad, word_blocks
from siamese_news.encoders import (
    BagEncoder,
    Encoder,
    TokenEmbedding,
    TwoHeadEncoder,
    build_encoder,
    lead_weights,
    places_of,
)
from siamese_news.errors import InputError
from siamese_news.lexical_head import TermHead
from siamese_news.model.folder import check_dtypes, fitting, read_folder, write_folder
from siamese_news.model.trained_on import TrainingRecord
from siamese_news.text import Tokenizer, Vocabulary
from siamese_news.text.checks import check_texts
from siamese_news.text.content_words import content_words
from siamese_news.text.token_ids import ChunkIds, Side, TokenIds, check_limits, truncated
from siamese_news.utils.stopwatch import timed

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


def model_parts(folder: str | Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What `Model` is built of, its weights empty, and the weights by name.

    Raises:
        InputError: the folder is incomplete, was changed, or does not hold an encoder.
    """
    config, tensors, words = read_folder(folder)
    if config.get("kind") != "encoder":
        raise InputError(f"{folder}: holds a {config.get('kind')!r} model, expected an 'encoder'")
    with fitting(folder):
        parts = _parts(config, words)
        parts["trained_on"] = TrainingRecord.in_folder(folder, config["trained_on"])
    return parts, tensors


def _parts(config: Mapping[str, Any], words: list[str]) -> dict[str, Any]:
    options = dict(config["embedding"])
    embedding = TokenEmbedding(
        torch.zeros(len(words), options.pop("size")),
        token_weights=torch.ones(len(words)),
        **options,
    )
    return {
        "tokenizer": Tokenizer(words=words, **config["tokenizer"]),
        "vocabulary": Vocabulary(words, unknown=config["unknown"]),
        "embedding": embedding,
        "encoder": build_encoder({"input_dim": embedding.output_dim, **config["encoder"]}),
        "limits": config["limits"],
        "config": config["encoder"],
        "terms": TermHead.rebuilt(config.get("terms"), len(words)),
    }


Precision = Literal["float32", "bfloat16"]
"""What vectors are computed in; bfloat16 is faster where the processor has it."""

BLOCK = 8192
"""Texts are processed in fixed blocks by input row: memory is bounded and order does not matter."""
_SIDES: tuple[Side, Side] = ("article", "post")
# The model that ships with the package.
PRETRAINED = Path(__file__).parents[1] / "pretrained"


class Model(nn.Module):
    """A shared (Siamese) encoder with its tokeniser, vocabulary and word vectors.

    Args:
        tokenizer: text to tokens.
        vocabulary: tokens to ids.
        embedding: ids to vectors.
        encoder: vectors to one vector a text.
        limits: ``article_tokens`` and ``post_tokens``, the most tokens read of a text (None: all),
            and ``keep``: ``"first"``, or ``"last"`` as the released code of the AST paper does.
        config: plain values that name the encoder's class and options; kept in the folder.
        trained_on: the articles and posts it was trained on. Evaluation refuses a test that
            overlaps with them.
        terms: the lexical head; None for a dense model. With it both heads read content words
            alone, and scores are a mixture (`siamese_news.scoring`).

    Raises:
        InputError: the limits are of another form (`check_limits`).

    Example:
        >>> from siamese_news import Model
        >>> model = Model.pretrained()
        >>> articles = model.encode_articles(["A river floods a town. Cellars are full of water."])
        >>> posts = model.encode_posts(["the river is in my cellar", "new phone today"])
        >>> cosines = articles @ posts.T  # (A, P)
        >>> bool(cosines[0, 0] > cosines[0, 1])
        True
    """

    def __init__(
        self,
        *,
        tokenizer: Tokenizer,
        vocabulary: Vocabulary,
        embedding: TokenEmbedding,
        encoder: Encoder,
        limits: Mapping[str, Any],
        config: Mapping[str, Any],
        trained_on: TrainingRecord | None = None,
        terms: TermHead | None = None,
    ) -> None:
        super().__init__()
        check_limits(limits)
        self.tokenizer = tokenizer
        self.vocabulary = vocabulary
        self.embedding = embedding
        self.encoder = encoder
        self.limits = dict(limits)
        self.config = dict(config)
        self.trained_on = TrainingRecord() if trained_on is None else trained_on
        self.terms = terms
        self._chunks = ChunkIds(self._id_list, len(vocabulary))

    @property
    def kind(self) -> str:
        """What its scores are: ``cosine``, or ``mixture`` with a lexical head."""
        return "cosine" if self.terms is None else "mixture"

    @property
    def output_dim(self) -> int:
        """D, the size of a vector."""
        return self.encoder.output_dim

    def forward(self, ids: Tensor) -> Tensor:
        """Encode padded token ids: (B, S) int64, padded with -1 -> (B, D), not normalised."""
        embeddings, mask, weights = self.embedding(ids)
        if self.encoder.uses_weights:
            return self.encoder(embeddings, mask, weights)
        return self.encoder(embeddings, mask)

    def tokens(self, text: str, stop_words: Collection[str] = ()) -> list[str]:
        """The tokens that the model reads; content words alone if it has a lexical head.

        Args:
            text: the text.
            stop_words: tokens to leave out besides the English stop words; a model without a
                lexical head reads every token.
        """
        tokens = self.tokenizer(text)
        if self.terms is None:
            return tokens
        tokens = content_words(tokens)
        return [token for token in tokens if token not in stop_words] if stop_words else tokens

    def ids(self, text: str, stop_words: Collection[str] = ()) -> np.ndarray:
        """The token ids (S,) of a text, all of it; see `tokens`."""
        return self.vocabulary.ids(self.tokens(text, stop_words))

    def _id_list(self, text: str) -> tuple[list[int], dict[int, str]]:
        tokens = self.tokens(text)
        ids = self.vocabulary.id_list(tokens)
        words = len(self.vocabulary)
        if not ids or max(ids) < words:
            return ids, {}
        return ids, {id: token for id, token in zip(ids, tokens, strict=True) if id >= words}

    def token_ids(self, texts: Sequence[str]) -> TokenIds:
        """The token ids of many texts, which is faster than `ids` of each."""
        return self._chunks.of(texts, self.tokenizer.max_characters)

    def cut(self, texts: Sequence[np.ndarray], side: Side) -> TokenIds:
        """The token ids that the encoder reads, of all token ids of each text."""
        texts = TokenIds.of(texts)
        if self.embedding.unknown_weight == 0 and self.encoder.uses_weights:
            # Unknown words have no vector.
            texts = texts.where(texts.flat < len(self.vocabulary))
        return truncated(texts, self.limits, side)

    def encode(
        self, texts: str | Sequence[str], side: Side = "post", precision: Precision = "float32"
    ) -> np.ndarray:
        """Unit vectors (B, D) float32 of texts; see `encode_posts`.

        Args:
            texts: the texts, or one.
            side: what they are: each side has its own limit of tokens.
            precision: see `encode_posts`.

        Example:
            >>> from siamese_news import Model
            >>> Model.pretrained().encode("the river is in my cellar").shape
            (1, 64)
        """
        return self._encode(texts, side, 4096, precision)

    def encode_articles(
        self,
        texts: str | Sequence[str],
        *,
        batch_tokens: int = 8192,
        precision: Precision = "float32",
    ) -> np.ndarray:
        """Encode articles; see `encode_posts`."""
        return self._encode(texts, "article", batch_tokens, precision)

    def encode_posts(
        self,
        texts: str | Sequence[str],
        *,
        batch_tokens: int = 4096,
        precision: Precision = "float32",
    ) -> np.ndarray:
        """Encode posts into unit vectors, whose products are cosine similarities.

        A text without a known token gives the zero vector: its cosine with everything is 0. In
        float32 a result does not depend on the order or the number of texts (beyond 1e-6).

        Args:
            texts: the texts, or one.
            batch_tokens: how many tokens, padding included, go through the encoder at once.
            precision: ``"bfloat16"`` runs the matrix products in bfloat16.

        Returns:
            (B, D) float32.

        Raises:
            InputError: `texts` holds something that is not text.
        """
        return self._encode(texts, "post", batch_tokens, precision)

    @timed("encoding")
    def _encode(
        self, texts: str | Sequence[str], side: Side, batch_tokens: int, precision: Precision
    ) -> np.ndarray:
        texts = [texts] if isinstance(texts, str) else texts
        check_texts(texts, f"encode_{side}s")
        vectors = np.zeros((len(texts), self.output_dim), dtype=np.float32)
        for start in range(0, len(texts), BLOCK):
            block = self.token_ids(texts[start : start + BLOCK])
            vectors[start : start + BLOCK] = self.encode_ids(block, side, batch_tokens, precision)
        return vectors

    def encode_ids(
        self,
        texts: Sequence[np.ndarray],
        side: Side,
        batch_tokens: int = 8192,
        precision: Precision = "float32",
    ) -> np.ndarray:
        """`encode_posts` or `encode_articles` of B texts whose token ids `ids` gave."""
        texts = self.cut(texts, side)
        device = next(self.buffers(), next(self.parameters(), torch.empty(0))).device
        training = self.training
        self.eval()
        try:
            with (
                torch.inference_mode(),
                torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16"),
            ):
                vectors = unit_vectors(self.embedding, self.encoder, texts, batch_tokens, device)
        finally:
            self.train(training)
        if not np.isfinite(vectors).all():
            raise InputError(
                f"encode_{side}s: the model gives NaN or infinity; its weights are broken, "
                "train it again with a smaller learning rate"
            )
        return vectors

    def compile_attention(self) -> None:
        """Compile the inner loop of attention with `torch.compile`, which makes encoding faster.

        This needs a C++ compiler and takes up to a minute the first time on a machine, seconds
        after that. The vectors differ by less than 1e-6 from those without it.

        Raises:
            InputError: there is no compiler, or the encoder has no star attention.
        """
        try:
            self.encoder.fuse()
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[0]
            raise InputError(
                f"compile=True: torch.compile failed ({reason}); install a C++ compiler such as "
                "g++, or leave compile out"
            ) from error

    def save(self, folder: str | Path, *, card: str) -> None:
        """Write the model folder, whole or not at all.

        Args:
            folder: the path; an earlier model folder there is replaced.
            card: the model card, Markdown.
        """
        config = {
            "kind": "encoder",
            "version": __version__,
            "score": self.kind,
            "terms": None if self.terms is None else self.terms.config(),
            "tokenizer": self.tokenizer.config(),
            "unknown": self.vocabulary.unknown,
            "embedding": self.embedding.config(),
            "encoder": self.config,
            "limits": self.limits,
            "trained_on": self.trained_on.plain(),
        }
        training_record = self.trained_on.tobytes()
        write_folder(
            folder, config, self._stored(), self.vocabulary.words, card, trained_on=training_record
        )

    def _stored(self, rows: int | None = None) -> dict[str, Tensor]:
        """The state as it is saved, with only the first `rows` rows of the word table."""
        state = self.state_dict()
        state["embedding.matrix"] = state["embedding.matrix"][:rows]
        return self.embedding.compressed(state, "embedding.")

    @classmethod
    def pretrained(cls) -> "Model":
        """The model that ships with the package; its card says what it is and how well it does."""
        return cls.load(PRETRAINED)

    @classmethod
    def load(cls, folder: str | Path, *, compile: bool = False) -> "Model":
        """Load a model folder. No code from it runs.

        Args:
            folder: the model folder.
            compile: see `compile_attention`.

        Raises:
            InputError: the folder is incomplete, was changed, or does not hold an encoder.
        """
        parts, tensors = model_parts(folder)
        with fitting(folder):
            model = cls(**parts)
            check_dtypes(folder, tensors, model._stored(rows=1))
            model.load_state_dict(model.embedding.expanded(tensors, "embedding."))
            # Some values are only found wrong when they are used.
            for side in _SIDES:
                model.encode_ids([np.arange(min(3, len(model.vocabulary)))], side)
        if compile:
            model.compile_attention()
        return model.eval()
