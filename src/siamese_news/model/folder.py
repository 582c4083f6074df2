"""The model folder: plain values, safetensors, words, a card and checksums; loading runs no code.

Layout: ``config.json`` (plain values), ``model.safetensors``, ``vocab.txt``, ``README.md`` (model
card), ``SHA256SUMS``, in the format of ``sha256sum``, and where a model remembers what it was
trained on ``trained_on.bin`` (`siamese_news.model.trained_on`).
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from siamese_news.errors import InputError
from siamese_news.model.trained_on import TRAINED_ON
from siamese_news.text.vocabulary import Vocabulary
from siamese_news.utils.files import reading

FORMAT = 1
_FILES = ("README.md", "config.json", "model.safetensors", "vocab.txt")
_SUMS = "SHA256SUMS"
# The types of number that a model writes, as safetensors names them.
_TYPES = ("F64", "F32", "F16", "I64", "I32", "I16", "I8", "U8", "BOOL")


def write_folder(
    path: str | Path,
    config: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    words: Sequence[str],
    card: str,
    *,
    trained_on: bytes | None = None,
) -> None:
    """Write a model folder; it appears whole or not at all, and replaces an earlier one.

    Args:
        path: the folder. If it exists it must be a model folder.
        config: plain values (JSON) from which the model is rebuilt.
        arrays: the weights by name.
        words: the vocabulary in the order of its ids.
        card: the model card, Markdown.
        trained_on: what `TrainingRecord.tobytes` gives; None writes no such file.

    Raises:
        InputError: `path` exists and is not a model folder.
        ValueError: `config` holds a key that starts with an underscore (``_target_`` and the like).
    """
    target = Path(os.path.realpath(path))  # a symbolic link is followed and stays a link
    if target.exists() and not (target / _SUMS).is_file():
        raise InputError(f"{target}: exists and is not a model folder; name another folder")
    hidden = _hidden_key(config)
    if hidden:
        raise ValueError(f"a model folder holds plain values only; config has {hidden!r}")
    target.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        document = json.dumps({"format": FORMAT, **config}, indent=2, ensure_ascii=False) + "\n"
        (staged / "config.json").write_text(document, encoding="utf-8")
        weights = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        save_file(weights, str(staged / "model.safetensors"))
        os.chmod(
            staged / "model.safetensors", 0o644
        )  # safetensors creates a file that only its owner may read
        Vocabulary(words, unknown="drop").save(staged / "vocab.txt")
        (staged / "README.md").write_text(card.rstrip() + "\n", encoding="utf-8")
        if trained_on is not None:
            (staged / TRAINED_ON).write_bytes(trained_on)
        names = sorted(item.name for item in staged.iterdir())
        sums = "".join(f"{_sha256(staged / name)}  {name}\n" for name in names)
        (staged / _SUMS).write_text(sums, encoding="utf-8")
        os.chmod(staged, 0o755)
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
            os.replace(target, old / target.name)
            os.replace(staged, target)
            shutil.rmtree(old)
        else:
            os.replace(staged, target)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise


def read_folder(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray], list[str]]:
    """Read and verify a model folder; nothing in it is executed.

    Returns:
        Its config, its weights by name and its words.

    Raises:
        InputError: a file is missing, changed, unlisted (a pickle, say) or malformed, or the
            config carries a ``_target_``.
    """
    folder = Path(path)
    with reading(folder):
        if not folder.is_dir():
            raise InputError(f"{folder}: no such model folder; give a folder that training wrote")
        _verify(folder)
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        hidden = _hidden_key(config)
    except ValueError as error:
        raise InputError(f"{folder / 'config.json'}: not JSON ({error})") from error
    except RecursionError as error:
        raise InputError(
            f"{folder / 'config.json'}: lists or objects lie too deep inside each other; expected "
            "the few levels that training writes: copy the model folder again"
        ) from error
    if not isinstance(config, dict) or config.pop("format", None) != FORMAT:
        raise InputError(
            f'{folder / "config.json"}: expected an object with "format": {FORMAT}; '
            "the folder was written by another version"
        )
    if hidden:
        raise InputError(
            f"{folder / 'config.json'}: holds {hidden!r}; a model folder names no code to run, "
            "so it is refused"
        )
    arrays: dict[str, np.ndarray] = {}
    weights = folder / "model.safetensors"
    try:
        with safe_open(weights, "numpy") as stored:
            for name in sorted(stored.keys()):
                kind = stored.get_slice(name).get_dtype()
                if kind not in _TYPES:
                    raise InputError(
                        f"{weights}: tensor {name!r} is {kind}, expected one of "
                        f"{', '.join(_TYPES)}; the weights were changed: train the model again or "
                        "copy it anew"
                    )
                arrays[name] = stored.get_tensor(name)
    except SafetensorError as error:
        raise InputError(f"{weights}: not safetensors ({error})") from error
    return config, arrays, list(Vocabulary.load(folder / "vocab.txt", unknown="drop").words)


@contextmanager
def fitting(folder: str | Path) -> Iterator[None]:
    """Around the rebuilding of a model: whatever its values break is the folder's fault.

    Raises:
        InputError: instead of what its parts raise; it names the folder.
    """
    try:
        yield
    except InputError as error:
        if str(folder) in str(error):
            raise
        raise InputError(f"{Path(folder) / 'config.json'}: {error}") from error
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise InputError(f"{folder}: config and weights do not fit ({error})") from error


def check_types(
    path: str | Path, arrays: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]
) -> None:
    """Refuse numbers that are declared to be of another type than the model writes.

    They would be converted silently, and the scores would be meaningless.

    Args:
        path: the model folder.
        arrays: the weights in it, by name.
        expected: an array of the right type for each name; names that are not in both are left to
            `check_shapes` or `torch.nn.Module.load_state_dict`.

    Raises:
        InputError: the first array of another type.
    """
    for name in sorted(arrays.keys() & expected.keys()):
        dtype, expected_dtype = arrays[name].dtype, expected[name].dtype
        if dtype != expected_dtype:
            raise InputError(
                f"{Path(path) / 'model.safetensors'}: tensor {name!r} is {dtype}, expected "
                f"{expected_dtype}; the weights were changed: train the model again or copy it anew"
            )


def check_shapes(arrays: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> None:
    """Refuse missing or unknown arrays, and those of another shape.

    Raises:
        ValueError: the first of them.
    """
    for name in sorted(arrays.keys() | expected.keys()):
        shapes = [of[name].shape if name in of else None for of in (arrays, expected)]
        if shapes[0] != shapes[1]:
            raise ValueError(f"{name} has the shape {shapes[0]}, expected {shapes[1]}")


def folder_sha256(path: str | Path) -> str:
    """The SHA-256 of a model folder's checksum file, which identifies the exact model."""
    return _sha256(Path(path) / _SUMS)


def _verify(folder: Path) -> None:
    if not (folder / _SUMS).is_file():
        raise InputError(
            f"{folder}: has no {_SUMS}; it is not a model folder, or an incomplete one"
        )
    listed: dict[str, str] = {}
    sums = (folder / _SUMS).read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(sums.splitlines(), 1):
        digest, _, name = line.partition("  ")
        if name not in (*_FILES, TRAINED_ON) or len(digest) != 64:
            raise InputError(f"{folder / _SUMS}:{number}: unexpected line {line!r}")
        listed[name] = digest
    for name in sorted({*_FILES, *listed}):
        if name not in listed or not (folder / name).is_file():
            raise InputError(f"{folder}: {name} is missing; copy the model folder again")
    for item in sorted(folder.iterdir()):
        if item.name not in (*listed, _SUMS):
            raise InputError(
                f"{item}: does not belong in a model folder (pickles are never loaded); remove it"
            )
    for name, digest in listed.items():
        if _sha256(folder / name) != digest:
            raise InputError(f"{folder / name}: differs from {_SUMS}; copy the model folder again")


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _hidden_key(value: Any) -> str | None:
    """The first key that starts with an underscore, at any depth."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if str(key).startswith("_"):
                return str(key)
            if hidden := _hidden_key(item):
                return hidden
    elif isinstance(value, list | tuple):
        for item in value:
            if hidden := _hidden_key(item):
                return hidden
    return None
