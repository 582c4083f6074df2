"""A model whose encoder computes in torch: any encoder, in training and afterwards."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from typing_extensions import override

from siamese_news.attention.word_projections import Words
from siamese_news.data.collate import length_batches, pad, word_blocks
from siamese_news.encoders import (
    BagEncoder,
    Encoder,
    TokenEmbedding,
    TwoHeadEncoder,
    WhitenedEncoder,
    build_encoder,
    lead_weights,
    places_of,
)
from siamese_news.errors import InputError
from siamese_news.model.folder import (
    CONTENT,
    FolderContent,
    check_arrays,
    check_finite,
    fitting,
    read_folder,
)
from siamese_news.model.memory import check_module
from siamese_news.model.text_model import (
    PRETRAINED,
    Heads,
    Precision,
    TextModel,
    text_parts,
)
from siamese_news.text import PAD
from siamese_news.text.token_ids import Side, TokenIds
from siamese_news.utils.extras import needs
from siamese_news.utils.processor import warn_of_slow_bfloat16

# Within this many tokens, what depends on a word alone is computed once and then looked up.
WORD_BLOCK = 65536
# What `torch.compile` puts into the names of a module's weights.
_COMPILED = "_orig_mod."


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """Without dropout, and in training mode again afterwards if it was before."""
    training = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(training)


class Model(TextModel, nn.Module):
    """A shared (Siamese) encoder with its word vectors; `TextModel` has its other arguments.

    Example:
        >>> from siamese_news import Model
        >>> Model.pretrained().encode_posts(["the river is in my cellar"]).shape
        (1, 64)
    """

    def __init__(
        self, *, embedding: TokenEmbedding, encoder: Encoder, **words: Any
    ) -> None:
        nn.Module.__init__(self)
        TextModel.__init__(self, **words)
        self.embedding = embedding
        self.encoder = encoder
        # The names of the weights stay the same where `torch.compile` wraps a part.
        self.register_state_dict_post_hook(_without_wrappers)
        self.register_load_state_dict_pre_hook(_with_wrappers)

    @property
    def output_dim(self) -> int:
        """D, the size of a vector."""
        return self.encoder.output_dim

    @property
    @override
    def has_factors(self) -> bool:
        return self.encoder.has_factors

    @property
    @override
    def drops_unknown(self) -> bool:
        return self.embedding.unknown_weight == 0

    def forward(self, ids: Tensor) -> Tensor:
        """Encode padded token ids: (B, S) int64, padded with -1 -> (B, D), not normalized."""
        embeddings, mask, weights = self.embedding(ids)
        if self.encoder.uses_weights:
            return self.encoder(embeddings, mask, weights)
        return self.encoder(embeddings, mask)

    def whiten(self, texts: Sequence[str], *, power: float = 0.3) -> None:
        """Whiten the vectors in part, fitted on texts without labels; see `WhitenedEncoder`.

        A table of relevance is dropped: it belongs to the scores of the former vectors.

        Args:
            texts: some thousands, such as the posts that will be searched.
            power: p from 0 (center only) to 1/2 (whiten whole).

        Raises:
            InputError: the encoder has two heads or is whitened already, the vectors of the texts
                do not differ, or another power.
        """
        if isinstance(self.encoder, WhitenedEncoder):
            raise InputError(
                "whiten: the model is whitened already; call undo_whitening() first"
            )
        if isinstance(power, bool) or not isinstance(power, int | float):
            raise InputError(
                f"whiten: power={power!r}; expected a number from 0 to 0.5"
            )
        vectors = self.encode_posts(texts)
        try:
            self._whiten(WhitenedEncoder.fitted(self.encoder, vectors, power))
        except ValueError as error:
            raise InputError(f"whiten: {error}") from error

    def _whiten(self, encoder: WhitenedEncoder) -> None:
        self.encoder = encoder
        self.calibration = None
        self.config = {
            "class": WhitenedEncoder.__name__,
            "input_dim": encoder.input_dim,
            "encoder": {n: v for n, v in self.config.items() if n != "input_dim"},
        }

    def truncate(self, size: int) -> None:
        """Keep the first `size` numbers of each vector; cosines are of these alone.

        This loses little for a model trained with ``objective.matryoshka``. A table of relevance is
        dropped; `undo_whitening` brings the whole vectors back.

        Raises:
            InputError: the size is no part of the vectors, or the encoder has two heads.

        Example:
            >>> from siamese_news import Model
            >>> model = Model.pretrained()
            >>> model.truncate(16)
            >>> model.encode_posts(["the river is in my cellar"]).shape
            (1, 16)
        """
        if not 0 < size <= self.output_dim:
            raise InputError(f"truncate: {size}; expected 1 to {self.output_dim}")
        try:
            if not isinstance(self.encoder, WhitenedEncoder):
                self._whiten(WhitenedEncoder.around(self.encoder))
            assert isinstance(self.encoder, WhitenedEncoder)
            self.encoder.truncate(size)
        except ValueError as error:
            raise InputError(f"truncate: {error}") from error
        self.calibration = None
        self.config["output_dim"] = size

    @classmethod
    def from_pretrained(
        cls, repository: str, *, revision: str, **options: Any
    ) -> "Model":
        """Download a model folder from the Hugging Face hub, at one commit, and open it.

        Only the files of a model folder are fetched; no code from them runs.

        Args:
            repository: ``owner/name``.
            revision: the hash of the commit, which `push_to_hub` returns: a branch may change.
            **options: of `huggingface_hub.snapshot_download`, such as ``token``, ``cache_dir`` and
                ``local_files_only``.

        Raises:
            InputError: the revision is no such hash, or the files are not those of a model folder.
            OSError: the hub does not answer, or has no such repository or commit.
        """
        if not re.fullmatch(r"[0-9a-f]{40}", revision):
            raise InputError(
                f"revision={revision!r}: expected the 40 digits of a commit, which the page of "
                f"{repository} lists: what a branch or tag names can be changed"
            )
        with needs("hub", "Model.from_pretrained"):
            from huggingface_hub import snapshot_download
        folder = snapshot_download(
            repository, revision=revision, allow_patterns=list(CONTENT), **options
        )
        return cls.load(folder)

    def push_to_hub(
        self, repository: str, *, card: str, private: bool = True, **options: Any
    ) -> str:
        """Upload the model folder to the Hugging Face hub, and return the hash of its commit.

        Args:
            repository: ``owner/name``; it is made if necessary.
            card: the model card, in Markdown.
            private: whether a new repository is.
            **options: of `huggingface_hub.HfApi`, such as ``token``.
        """
        with needs("hub", "Model.push_to_hub"):
            from huggingface_hub import HfApi
        api = HfApi(**options)
        api.create_repo(repository, private=private, exist_ok=True)
        with TemporaryDirectory() as parent:
            folder = Path(parent) / "model"
            self.save(folder, card=card)
            commit = api.upload_folder(repo_id=repository, folder_path=folder)
        return str(commit.oid)

    def undo_whitening(self) -> None:
        """Leave the vectors as the encoder was trained; nothing if it is not whitened.

        A table of relevance is dropped, as in `whiten`.
        """
        if isinstance(self.encoder, WhitenedEncoder):
            self.calibration = None
            self.encoder = self.encoder.encoder
            self.config = {
                **self.config["encoder"],
                "input_dim": self.encoder.input_dim,
            }

    def _unit_vectors(
        self, texts: TokenIds, batch_tokens: int, precision: Precision
    ) -> NDArray[np.float32]:
        device = self._device()
        if precision == "bfloat16":
            warn_of_slow_bfloat16(device.type)
        with (
            _evaluating(self),
            torch.inference_mode(),
            torch.autocast(
                device.type, torch.bfloat16, enabled=precision == "bfloat16"
            ),
        ):
            all_in_table = int(texts.flat.max(initial=0)) < len(self.embedding.matrix)
            if self.encoder.is_bag and all_in_table:
                return self._bags(texts, device)
            vectors = np.zeros((len(texts), self.output_dim), dtype=np.float32)
            for rows, encoded in self._batches(texts, batch_tokens, device):
                vectors[rows] = _normalized(encoded)
            # An encoder with a bias gives them all one vector.
            vectors[texts.lengths == 0] = 0.0
            return vectors

    def _device(self) -> torch.device:
        return next(self.buffers(), next(self.parameters(), torch.empty(0))).device

    def _batches(
        self, texts: TokenIds, batch_tokens: int, device: torch.device
    ) -> Iterator[tuple[list[int], Tensor]]:
        """Rows of `texts` and their vectors, by length; words are looked up once for many texts."""
        encoder = self.encoder
        for block, ids, positions in word_blocks(texts, max(WORD_BLOCK, batch_tokens)):
            embeddings, _, weights = self.embedding(
                torch.from_numpy(ids).to(device)[None]
            )
            words = Words(embeddings[0])
            for batch in length_batches(
                [len(text) for text in positions], batch_tokens
            ):
                rows = pad([positions[text] for text in batch]).to(device)
                mask = rows >= 0
                rows = rows.clamp(min=0)
                shares = (weights[0][rows] * mask,) if encoder.uses_weights else ()
                encoded = encoder.encode_words(words, rows, mask, *shares)
                yield [block[text] for text in batch], encoded

    def _bags(self, texts: TokenIds, device: torch.device) -> NDArray[np.float32]:
        """Unit vectors of a bag encoder, without padding, which is about ten times as fast."""
        encoder = getattr(self.encoder, _COMPILED.strip("."), self.encoder)
        embedding = self.embedding
        assert isinstance(encoder, BagEncoder | TwoHeadEncoder)
        flat = torch.from_numpy(texts.flat).to(device)
        starts = torch.from_numpy(texts.offsets[:-1]).to(device)
        weights = embedding.token_weights[flat] if encoder.uses_weights else None
        if encoder.lead is not None:
            lead = lead_weights(places_of(starts, len(flat)), encoder.lead)
            weights = lead if weights is None else weights * lead
        summed = embedding.sums(flat, starts, weights)
        # A linear map of a sum; the length does not count.
        if encoder.output is not None:
            summed = encoder.output(summed)
        return _normalized(summed)

    @override
    def text_heads(self) -> Heads:
        if not self.encoder.has_factors:
            return super().text_heads()
        if not (isinstance(self.encoder, TwoHeadEncoder) and self.encoder.by_word):
            return self._both_heads
        # A factor depends on the word alone, so factors are computed once and looked up.
        words = np.arange(len(self.vocabulary), dtype=np.int64)
        parts = np.array_split(words, len(words) // 4096 + 1)
        table = np.concatenate([*self._both_heads(parts, "post")[1], np.ones(1)])
        unknown_row = len(table) - 1  # the entry that every unknown word shares

        def by_word(
            texts: Sequence[np.ndarray], side: Side
        ) -> tuple[np.ndarray, list[np.ndarray]]:
            factors = [table[np.minimum(ids, unknown_row)] for ids in texts]
            return self.encode_ids(texts, side), factors

        return by_word

    def _both_heads(
        self, texts: Sequence[np.ndarray], side: Side
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Unit vectors (B, D) float32 of B texts, and the factors (S,) of each."""
        vectors = np.zeros((len(texts), self.output_dim), np.float32)
        factors = [np.ones(len(ids), np.float32) for ids in texts]
        with _evaluating(self), torch.inference_mode():
            for rows in length_batches([len(ids) for ids in texts], 8192):
                batch = pad([texts[row] for row in rows]).to(self._device())
                encoded, lexical = heads(self, batch, side)
                vectors[rows] = _normalized(encoded)
                for row, values in zip(
                    rows, lexical.float().cpu().numpy(), strict=True
                ):
                    factors[row] = values[: len(texts[row])]
        check_finite(f"the two heads of {side}s", vectors, *factors)
        return vectors, factors

    def contributions(
        self, ids: NDArray[np.int64], towards: NDArray[Any]
    ) -> NDArray[np.float64]:
        """See `TextModel`: gradient times input, exact for linear encoders."""
        device = self.embedding.matrix.device
        with _evaluating(self):
            embeddings, mask, weights = self.embedding(pad([ids]).to(device))
            explanation = self.encoder.explain(
                embeddings,
                mask,
                weights if self.encoder.uses_weights else None,
                towards=torch.from_numpy(towards)[None].to(device),
            )
        length = float(explanation.vectors.norm().clamp(min=1e-12))
        shares: NDArray[np.float64] = (
            explanation.contributions[0, : len(ids)].cpu().numpy() / length
        )
        return shares

    @override
    def embedding_config(self) -> dict[str, Any]:
        return self.embedding.config()

    @override
    def weights(self) -> dict[str, np.ndarray]:
        return arrays_of(self.state_dict())

    def stored(self, rows: int | None = None) -> dict[str, np.ndarray]:
        """See `TextModel`; with only the first `rows` rows of the word table.

        Next to a table of 8 bits the encoder's weights have 16.
        """
        state = self.state_dict()
        state["embedding.matrix"] = state["embedding.matrix"][:rows]
        if self.embedding.stored == "int8":
            state |= {n: w.half() for n, w in state.items() if n.startswith("encoder.")}
        return arrays_of(self.embedding.compressed(state, "embedding."))

    @classmethod
    def pretrained(cls) -> "Model":
        """The model that ships with the package; its card describes it and its figures."""
        return cls.load(PRETRAINED)

    @classmethod
    def load(cls, folder: str | Path) -> "Model":
        """Load a model folder with an encoder. No code from it runs."""
        return cls.of(folder, read_folder(folder))

    @classmethod
    def of(cls, folder: str | Path, content: FolderContent) -> "Model":
        """The model in a folder, from what `read_folder` returned."""
        config, _, words = content
        if config.get("kind") != "encoder":
            raise InputError(
                f"{folder}: is a model of kind {config.get('kind')!r}, expected 'encoder'"
            )
        with fitting(folder):
            parts, stored = text_parts(folder, content)
            options = dict(config["embedding"])
            size = options.pop("size")

            def build() -> Model:
                embedding = TokenEmbedding(
                    torch.zeros(len(words), size),
                    token_weights=torch.ones(len(words)),
                    **options,
                )
                encoder = build_encoder(
                    {"input_dim": embedding.output_dim, **config["encoder"]}
                )
                return cls(embedding=embedding, encoder=encoder, **parts)

            check_module(config["encoder"], build, _uncompressed(stored))
            model = build()
            embedding = model.embedding
            check_arrays(folder, stored, model.stored(rows=1), shapes=False)
            model.load_state_dict(embedding.expanded(tensors_of(stored), "embedding."))
            model.check()
        return model.eval()


def _uncompressed(stored: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The stored weights, with the steps of an int8 table as the table that they are made into."""
    arrays = dict(stored)
    steps = arrays.pop("embedding.steps", None)
    if steps is not None:
        arrays["embedding.matrix"] = steps
        arrays.pop("embedding.scale", None)
    return arrays


def _without_wrappers(
    module: nn.Module, state: dict[str, Any], prefix: str, metadata: Any
) -> None:
    for name in [name for name in state if _COMPILED in name]:
        state[name.replace(_COMPILED, "")] = state.pop(name)


def _with_wrappers(
    module: nn.Module, state: dict[str, Any], prefix: str, *arguments: Any
) -> None:
    for name, _ in chain(
        module.named_parameters(prefix[:-1]), module.named_buffers(prefix[:-1])
    ):
        plain = name.replace(_COMPILED, "")
        if plain != name and plain in state:
            state[name] = state.pop(plain)


def _normalized(vectors: Tensor) -> NDArray[np.float32]:
    return nn.functional.normalize(vectors.float(), dim=-1).cpu().numpy()


def arrays_of(state: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    """The weights of a module, as a model folder stores them."""
    return {
        name: tensor.detach().cpu().contiguous().numpy()
        for name, tensor in state.items()
    }


def tensors_of(arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """The weights of a module, from those of a model folder."""
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def heads(model: Model, ids: Tensor, side: Side) -> tuple[Tensor, Tensor]:
    """Vectors (B, D) and factors (B, S) of a batch (B, S), with gradients.

    The dense head reads a text as `Model.cut` returns it, the factors every word that has a vector;
    any other word, and padding, keeps the factor 1. The vectors are not normalized.
    """
    is_read = ids != PAD
    if model.embedding.unknown_weight == 0:
        is_read &= ids < len(model.vocabulary)
    # The words that are read come first, in their order.
    order = (~is_read).to(torch.int8).argsort(dim=1, stable=True)
    width = max(1, int(is_read.sum(1).max())) if len(ids) else 1
    order = order[:, :width]
    packed = ids.gather(1, order).masked_fill(~is_read.gather(1, order), PAD)
    inputs = model.embedding(packed)
    vectors, factors = model.encoder.heads(*inputs)
    limit = model.limits[f"{side}_tokens"]
    if limit is not None and width > limit:
        if model.limits["keep"] == "last":
            start = (packed != PAD).sum(1, keepdim=True).sub(limit).clamp(min=0)
            columns = start + torch.arange(limit, device=ids.device)
            inputs = tuple(
                torch.take_along_dim(
                    array, columns if array.dim() == 2 else columns[:, :, None], 1
                )
                for array in inputs
            )
        vectors = model.encoder(*(array[:, :limit] for array in inputs))
    ones = torch.ones_like(ids, dtype=factors.dtype)
    return vectors, ones.scatter(1, order, torch.where(packed != PAD, factors, 1.0))
