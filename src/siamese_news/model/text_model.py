"""The base of every model of this package: text to token ids, unit vectors and a model folder."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from siamese_news import __version__
from siamese_news.lexical_head.head import TermHead
from siamese_news.model.calibration import Calibration
from siamese_news.model.folder import (
    FolderContent,
    check_arrays,
    check_finite,
    read_folder,
    write_folder,
)
from siamese_news.model.trained_on import TrainingRecord
from siamese_news.text import Tokenizer, Vocabulary
from siamese_news.text.chunk_table import ChunkTable, Reading, chunk_ids
from siamese_news.text.content_words import STOP_WORDS, content_words
from siamese_news.text.token_ids import (
    ChunkIds,
    Side,
    TokenIds,
    check_limits,
    truncated,
)
from siamese_news.text.tokens import check_texts
from siamese_news.utils.choices import check_choice
from siamese_news.utils.processes import spawning

Precision = Literal["float32", "bfloat16"]
"""What vectors are computed in; bfloat16 is faster where the processor has it."""

BLOCK = 8192
"""Texts of a block, by input row: memory is bounded and order does not matter."""
# The names of the lexical head's arrays in a folder begin with it.
_TERMS = "terms."
_SIDES: tuple[Side, Side] = ("article", "post")
# The model that ships with the package.
PRETRAINED = Path(__file__).parents[1] / "pretrained"
# The Star Transformer that ships, which takes the second look.
STAR = PRETRAINED.with_name("pretrained_star")

# Token ids (all of each text) of B texts and their side -> unit vectors (B, D) float32, and the
# encoder's factor for each token (S,) of each text, or None.
Heads = Callable[
    [Sequence[np.ndarray], Side], tuple[np.ndarray, list[np.ndarray] | None]
]


class TextParts(TypedDict):
    """The arguments of a `TextModel` that a model folder and a checkpoint have."""

    tokenizer: Tokenizer
    vocabulary: Vocabulary
    limits: Mapping[str, Any]
    config: Mapping[str, Any]
    trained_on: TrainingRecord
    terms: TermHead | None
    calibration: NotRequired[Calibration | None]


class TextModel(ABC):
    """A shared (Siamese) encoder with its tokenizer and vocabulary.

    `siamese_news.model.loading.open_model` returns a `TableModel`, which needs numpy alone, if a
    text's vector is a mean of word vectors, and otherwise a `Model`, which needs torch.

    Args:
        tokenizer: text to tokens.
        vocabulary: tokens to ids.
        limits: ``article_tokens`` and ``post_tokens``, the most tokens read of a text (None: all),
            and ``keep``: ``"first"``, or ``"last"`` as in the released code of the AST paper.
        config: plain values that name the encoder's class and options; kept in the folder.
        trained_on: the articles and posts it was trained on. Evaluation refuses a test that
            overlaps with them.
        terms: the lexical head; None for a dense model. With it both heads read content words
            alone, and scores are a mixture (`siamese_news.scoring`).
        calibration: what turns these scores into relevance; None where nothing was fitted.

    Raises:
        InputError: the limits are of another form (`check_limits`).

    Example:
        >>> from siamese_news import open_model
        >>> model = open_model()
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
        limits: Mapping[str, Any],
        config: Mapping[str, Any],
        trained_on: TrainingRecord | None = None,
        terms: TermHead | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        check_limits(limits)
        self.tokenizer = tokenizer
        self.vocabulary = vocabulary
        self.limits = dict(limits)
        self.config = dict(config)
        self.trained_on = TrainingRecord() if trained_on is None else trained_on
        self.terms = terms
        self.calibration = calibration

    @property
    @abstractmethod
    def output_dim(self) -> int:
        """D, the size of a vector."""

    @property
    def has_factors(self) -> bool:
        """Whether the encoder puts a factor on each token's weight in the lexical head."""
        return False

    is_costly: ClassVar[bool] = False
    """Whether a vector takes so long that it is kept, and has the same bits in whatever batch."""

    @property
    @abstractmethod
    def drops_unknown(self) -> bool:
        """Whether a word outside the vocabulary has no vector."""

    @abstractmethod
    def _unit_vectors(
        self, texts: TokenIds, batch_tokens: int, precision: Precision
    ) -> NDArray[np.float32]:
        """(B, D) of B texts, each as `cut` returns it."""

    def encode_ids(
        self,
        texts: Sequence[np.ndarray],
        side: Side,
        batch_tokens: int = 8192,
        precision: Precision = "float32",
    ) -> NDArray[np.float32]:
        """`encode_posts` or `encode_articles` of B texts given by their token `ids`."""
        vectors = self._unit_vectors(self.cut(texts, side), batch_tokens, precision)
        check_finite(f"encode_{side}s", vectors)
        return vectors

    def text_heads(self) -> Heads:
        """A function for vectors and factors of texts, with the present weights."""
        return lambda texts, side: (self.encode_ids(texts, side), None)

    @abstractmethod
    def contributions(
        self, ids: NDArray[np.int64], towards: NDArray[Any]
    ) -> NDArray[np.float64]:
        """The share of each token of a text in the product of its unit vector with `towards` (D,).

        The ids (S,) are those that `cut` returns.
        """

    @abstractmethod
    def embedding_config(self) -> dict[str, Any]:
        """Plain values that describe the table of word vectors."""

    @abstractmethod
    def weights(self) -> dict[str, np.ndarray]:
        """The weights by name, without those of the lexical head."""

    @abstractmethod
    def stored(self) -> dict[str, np.ndarray]:
        """The same weights as the model folder keeps them."""

    @property
    def kind(self) -> str:
        """The kind of its scores: ``cosine``, or ``mixture`` with a lexical head."""
        return "cosine" if self.terms is None else "mixture"

    def tokens(self, text: str) -> list[str]:
        """The tokens that the model reads; content words alone if it has a lexical head."""
        return self._read(self.tokenizer(text))

    def _read(self, tokens: Sequence[str]) -> list[str]:
        """Those of the tokens that the model reads."""
        return list(tokens) if self.terms is None else content_words(tokens)

    def ids(self, text: str) -> np.ndarray:
        """The token ids (S,) of a text, all of it; see `tokens`."""
        return self.vocabulary.ids(self.tokens(text))

    @cached_property
    def _chunks(self) -> ChunkTable | ChunkIds:
        # Made at the first use: its memory is large.
        return chunk_ids(
            self._chunk_ids,
            Reading(
                self.vocabulary.words,
                self.vocabulary.unknown,
                None if self.terms is None else STOP_WORDS,
                self.tokenizer.shapes,
            ),
        )

    def _chunk_ids(self, chunk: str) -> tuple[list[int], dict[int, str]]:
        """The ids of a text without whitespace, and its words outside the vocabulary."""
        # `ChunkIds` remembers them, so the memory of the tokenizer would be a second one.
        tokens = self._read(self.tokenizer.chunk_tokens(chunk))
        ids = self.vocabulary.id_list(tokens)
        words = len(self.vocabulary)
        if not ids or max(ids) < words:
            return ids, {}
        return ids, {
            id: token for id, token in zip(ids, tokens, strict=True) if id >= words
        }

    def token_ids(self, texts: Sequence[str]) -> TokenIds:
        """The token ids of many texts; faster than `ids` of each."""
        return self._chunks.of(texts, self.tokenizer.max_characters)

    def cut(self, texts: Sequence[np.ndarray], side: Side) -> TokenIds:
        """The token ids that the encoder reads, of all token ids of each text."""
        texts = TokenIds.of(texts)
        if self.drops_unknown:
            texts = texts.where(texts.flat < len(self.vocabulary))
        return truncated(texts, self.limits, side)

    def encode(
        self,
        texts: str | Sequence[str],
        side: Side = "post",
        precision: Precision = "float32",
    ) -> np.ndarray:
        """Unit vectors (B, D) float32 of texts; each side has its own limit of tokens.

        Example:
            >>> from siamese_news import open_model
            >>> open_model().encode("the river is in my cellar").shape
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
        processes: int = 1,
    ) -> np.ndarray:
        """Encode posts into unit vectors, whose products are cosine similarities.

        A text without a known token has the zero vector: its cosine with everything is 0. In
        float32 a result does not depend on the order or the number of texts (beyond 1e-6).

        Args:
            texts: the texts, or one.
            batch_tokens: how many tokens, padding included, go through the encoder at once.
            precision: ``"bfloat16"`` computes matrix products in bfloat16; a `TableModel` has none.
            processes: how many of this machine share the texts, in blocks; the result is the same.
                A script that asks for several guards its main part by ``__name__ == "__main__"``.

        Returns:
            (B, D) float32.

        Raises:
            InputError: `texts` contains something that is not text, or the precision is unknown.
        """
        return self._encode(texts, "post", batch_tokens, precision, processes)

    def _encode(
        self,
        texts: str | Sequence[str],
        side: Side,
        batch_tokens: int,
        precision: Precision,
        processes: int = 1,
    ) -> np.ndarray:
        check_choice("side", side, Side)
        check_choice("precision", precision, Precision)
        texts = [texts] if isinstance(texts, str) else texts
        check_texts(texts, f"encode_{side}s")
        vectors = np.zeros((len(texts), self.output_dim), dtype=np.float32)
        starts = range(0, len(texts), BLOCK)
        blocks = (texts[start : start + BLOCK] for start in starts)
        if processes > 1 and len(starts) > 1:
            encoded = self._encode_apart(
                blocks, min(processes, len(starts)), side, batch_tokens, precision
            )
        else:
            encoded = (
                self.encode_ids(self.token_ids(block), side, batch_tokens, precision)
                for block in blocks
            )
        for start, block_vectors in zip(starts, encoded, strict=True):
            vectors[start : start + BLOCK] = block_vectors
        return vectors

    def _encode_apart(
        self, blocks: Iterable[Sequence[str]], processes: int, *options: Any
    ) -> Iterator[np.ndarray]:
        """Encode each block in one of several processes, which get this model once."""
        threads = max(1, (os.cpu_count() or 1) // processes)
        with (
            spawning() as context,
            context.Pool(processes, _receive, (self, threads)) as pool,
        ):
            yield from pool.imap(_encode_block, ((block, options) for block in blocks))

    def __getstate__(self) -> dict[str, Any]:
        # The table of chunks is memory of the compiled loop, made again at the first use.
        return {n: value for n, value in vars(self).items() if n != "_chunks"}

    def folder_config(self) -> dict[str, Any]:
        """The plain values of ``config.json``: everything but weights, words and training texts."""
        return {
            "kind": "encoder",
            "version": __version__,
            "score": self.kind,
            "terms": None if self.terms is None else self.terms.config(),
            "calibration": None
            if self.calibration is None
            else self.calibration.plain(),
            "tokenizer": self.tokenizer.config(),
            "unknown": self.vocabulary.unknown,
            "embedding": self.embedding_config(),
            "encoder": self.config,
            "limits": self.limits,
            "trained_on": self.trained_on.plain(),
        }

    def save(self, folder: str | Path, *, card: str) -> None:
        """Write the model folder with a Markdown card, whole or not at all, over an earlier one.

        It is opened before it takes its place.

        Raises:
            InputError: it cannot be opened, or `folder` exists and is not a model folder.
        """
        arrays = self.stored()
        if self.terms is not None:
            arrays |= self.terms.arrays(_TERMS)
        write_folder(
            folder,
            self.folder_config(),
            arrays,
            self.vocabulary.words,
            card,
            trained_on=self.trained_on.tobytes(),
            reopen=lambda path: self.of(path, read_folder(path)),
        )

    @classmethod
    @abstractmethod
    def of(cls, folder: str | Path, content: FolderContent) -> "TextModel":
        """The model in a folder, from what `read_folder` returned."""

    def check(self) -> None:
        """Encode a text of each side: some invalid values are only found in use."""
        for side in _SIDES:
            self.encode_ids([np.arange(min(3, len(self.vocabulary)))], side)


_received: TextModel  # of a process that encodes for another one


def _receive(model: TextModel, threads: int) -> None:
    global _received
    _received = model
    threadpool_limits(threads)


def _encode_block(job: tuple[Sequence[str], tuple[Any, ...]]) -> np.ndarray:
    texts, options = job
    return _received.encode_ids(_received.token_ids(texts), *options)


def text_parts(
    folder: str | Path, content: FolderContent
) -> tuple[TextParts, dict[str, np.ndarray]]:
    """The arguments of `TextModel` from the content of a folder, and the remaining weights."""
    config, arrays, words = content
    of_terms = {
        name: array for name, array in arrays.items() if name.startswith(_TERMS)
    }
    weights = {name: array for name, array in arrays.items() if name not in of_terms}
    head = TermHead.rebuilt(config.get("terms"), len(words))
    parts: TextParts = {
        "tokenizer": Tokenizer(words=words, **config["tokenizer"]),
        "vocabulary": Vocabulary(words, unknown=config["unknown"]),
        "limits": config["limits"],
        "config": config["encoder"],
        "terms": head,
        "calibration": Calibration.of(config.get("calibration")),
        "trained_on": TrainingRecord.in_folder(folder, config["trained_on"]),
    }
    check_arrays(folder, of_terms, {} if head is None else head.arrays(_TERMS))
    if head is not None:
        head.fill(of_terms[f"{_TERMS}frequencies"], of_terms[f"{_TERMS}pairs"])
    return parts, weights
