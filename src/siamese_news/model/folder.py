"""The model folder: plain values, safetensors, words, a card and checksums; loading runs no code.

Layout: ``config.json`` (plain values), ``model.safetensors``, ``vocab.txt``, ``README.md`` (model
card), ``SHA256SUMS``, in the format of ``sha256sum``, and ``trained_on.bin`` if a model records its
training texts (`siamese_news.model.trained_on`).
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from siamese_news.errors import InputError
from siamese_news.model.trained_on import TRAINED_ON
from siamese_news.text.vocabulary import Vocabulary
from siamese_news.utils.checked_json import inner_pairs
from siamese_news.utils.checksums import SUMS, check_sums, write_sums
from siamese_news.utils.files import file_sha256, packing, reading

FORMAT = 1
_FILES = ("README.md", "config.json", "model.safetensors", "vocab.txt")
#: All files of a model folder.
CONTENT = (*_FILES, TRAINED_ON, SUMS)
_LARGEST = {SUMS: 1 << 16, "config.json": 1 << 24}  # bytes
_LONGEST_WORD = 1 << 12  # bytes; the mean of all words is far below
_MOST_DIMENSIONS = 8
_LONGEST_ROW = 1 << 40  # numbers
# Types of safetensors that numpy has without another package, such as ml_dtypes.
_TYPES = "BOOL U8 I8 U16 I16 F16 U32 I32 F32 U64 I64 F64".split()


class FolderContent(NamedTuple):
    """The config of a model folder, its weights by name, and its words by id."""

    config: dict[str, Any]
    arrays: dict[str, np.ndarray]
    words: list[str]


def write_folder(
    path: str | Path,
    config: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    words: Sequence[str],
    card: str,
    *,
    trained_on: bytes | None = None,
    reopen: Callable[[Path], object] | None = None,
) -> None:
    """Write a model folder; it appears whole or not at all, and replaces an earlier one.

    The model is rebuilt from the plain values of `config`, of which no key starts with an
    underscore (``_target_`` and the like), from the weights by name and from the words in the order
    of their ids. The card is Markdown; `trained_on` has the bytes of a `TrainingRecord`, if any.
    `reopen`, if any, opens the folder before it takes its place.

    Raises:
        InputError: `path` exists and is not a model folder, or `reopen` could not open it.
    """
    # A symbolic link is followed and stays a link.
    target = Path(os.path.realpath(path))
    if target.exists() and not (target / SUMS).is_file():
        raise InputError(
            f"{target}: exists and is not a model folder; name another folder"
        )
    hidden = _hidden_key(config)
    if hidden:
        raise ValueError(
            f"a model folder contains plain values only; config has {hidden!r}"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        document = (
            json.dumps({"format": FORMAT, **config}, indent=2, ensure_ascii=False)
            + "\n"
        )
        (staged / "config.json").write_text(document, encoding="utf-8")
        weights = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        save_file(weights, str(staged / "model.safetensors"))
        # safetensors creates a file that only its owner can read.
        os.chmod(staged / "model.safetensors", 0o644)
        Vocabulary(words, unknown="drop").save(staged / "vocab.txt")
        (staged / "README.md").write_text(card.rstrip() + "\n", encoding="utf-8")
        if trained_on is not None:
            (staged / TRAINED_ON).write_bytes(trained_on)
        write_sums(staged)
        if reopen is not None:
            try:
                reopen(staged)
            except InputError as error:
                raise InputError(
                    f"{target}: is not written, because it could not be opened again: "
                    f"{str(error).replace(str(staged), str(target))}"
                ) from error
        os.chmod(staged, 0o755)
        old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
        if target.exists():
            os.replace(target, old / target.name)
        os.replace(staged, target)
        shutil.rmtree(old)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise


def folder_path(path: str | os.PathLike[str]) -> Path:
    """The path of a model folder; `InputError` where it is not one, such as None."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(
            f"model folder is {type(path).__name__}; expected a path, such as 'models/star'"
        )
    return Path(path).expanduser()


def read_folder(path: str | Path) -> FolderContent:
    """Read and verify a model folder; nothing in it is executed.

    Raises:
        InputError: a file is missing, changed, unlisted (a pickle, say) or malformed, or the
            config carries a ``_target_``.
    """
    folder = folder_path(path)
    with reading(folder):
        if not folder.is_dir():
            problem = "is a file" if folder.exists() else "no such model folder"
            raise InputError(f"{folder}: {problem}; give a folder that training wrote")
        _check_sizes(folder)
        _verify(folder)
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        hidden = _hidden_key(config)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{folder / 'config.json'}: not JSON with the few levels that training writes ({error})"
            "; copy the model folder again"
        ) from error
    if not isinstance(config, dict) or config.pop("format", None) != FORMAT:
        raise InputError(
            f'{folder / "config.json"}: expected an object with "format": {FORMAT}; '
            "the folder was written by another version"
        )
    if hidden:
        raise InputError(
            f"{folder / 'config.json'}: has the key {hidden!r}; a model folder must not name code "
            "to run, so it is refused"
        )
    weights = folder / "model.safetensors"
    try:
        _check_header(weights)
        arrays = load_file(weights)
    # Shapes that no memory holds, and types that numpy lacks.
    except (SafetensorError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{weights}: not safetensors with numbers that training writes ({error}); train the "
            "model again or copy it anew"
        ) from error
    check_finite(str(weights), *arrays.values())
    words = folder / "vocab.txt"
    with reading(words), words.open("rb") as stream:
        if packing(stream):
            raise InputError(
                f"{words}: is packed; expected one word a line, as training writes them: copy the "
                "model folder again"
            )
    rows = max((len(array) for array in arrays.values() if array.ndim), default=0)
    if words.stat().st_size > _LONGEST_WORD * (rows + 1):
        raise InputError(
            f"{words}: has {words.stat().st_size:,} bytes, too many for the {rows:,} words that "
            "have weights; copy the model folder again"
        )
    vocabulary = Vocabulary.load(words, unknown="drop")
    return FolderContent(config, arrays, list(vocabulary.words))


@contextmanager
def fitting(folder: str | Path) -> Iterator[None]:
    """Turn any error while a model is rebuilt into an `InputError` that names the folder."""
    try:
        yield
    except InputError as error:
        if str(folder) in str(error):
            raise
        raise InputError(f"{Path(folder) / 'config.json'}: {error}") from error
    except Exception as error:
        raise InputError(
            f"{folder}: config and weights do not fit ({error})"
        ) from error


def check_arrays(
    path: str | Path,
    arrays: Mapping[str, np.ndarray],
    expected: Mapping[str, np.ndarray],
    *,
    shapes: bool = True,
) -> None:
    """Refuse weights of another type or shape than the model writes, and missing or unknown ones.

    Numbers of another type would be converted silently, and the scores would be meaningless.
    Without `shapes`, names and shapes are left to `torch.nn.Module.load_state_dict`. A wrong type
    is an `InputError`, everything else a `ValueError`, which `fitting` explains.
    """
    for name in sorted(arrays.keys() & expected.keys()):
        dtype = arrays[name].dtype
        expected_dtype = expected[name].dtype
        if dtype != expected_dtype:
            raise InputError(
                f"{Path(path) / 'model.safetensors'}: tensor {name!r} is {dtype}, expected "
                f"{expected_dtype}; the weights were changed: train the model again or copy it anew"
            )
    for name in sorted(arrays.keys() | expected.keys()) if shapes else ():
        there, expected_shape = (
            of[name].shape if name in of else None for of in (arrays, expected)
        )
        if there != expected_shape:
            raise ValueError(f"{name} has the shape {there}, expected {expected_shape}")


def check_finite(source: str, *arrays: np.ndarray) -> None:
    """Raise an `InputError` for NaN and infinity in the output of a model."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise InputError(
            f"{source}: NaN or infinity, so the weights of the model are broken: copy its folder "
            "again, or train it again with a smaller learning rate"
        )


def folder_sha256(path: str | Path) -> str:
    """The SHA-256 of a model folder's checksum file, which identifies the exact model."""
    return file_sha256(Path(path) / SUMS)


def _check_sizes(folder: Path) -> None:
    """Refuse files that are read as a whole and are larger than training writes them."""
    for name, limit in _LARGEST.items():
        path = folder / name
        if path.is_file() and (size := path.stat().st_size) > limit:
            raise InputError(
                f"{path}: has {size:,} bytes, expected at most {limit:,}; copy the model folder "
                "again"
            )


def _check_header(path: Path) -> None:
    """Raise a ValueError for a tensor that numpy alone cannot have; nothing is loaded."""
    with safe_open(path, framework="numpy") as content:
        for name in content.keys():
            tensor = content.get_slice(name)
            shape = tensor.get_shape()
            if len(shape) > _MOST_DIMENSIONS or max(shape, default=0) > _LONGEST_ROW:
                raise ValueError(f"tensor {name[:80]!r} has the shape {shape}")
            if tensor.get_dtype() not in _TYPES:
                raise ValueError(f"tensor {name[:80]!r} is {tensor.get_dtype()}")


def _verify(folder: Path) -> None:
    if not (folder / SUMS).is_file():
        raise InputError(
            f"{folder}: has no {SUMS}, so it is not a model folder, or it is incomplete; give a "
            "folder that training wrote, or copy it again"
        )
    names = check_sums(folder, "copy the model folder again", _FILES)
    if foreign := sorted(names.difference(_FILES, (TRAINED_ON,))):
        raise InputError(
            f"{folder / foreign[0]}: does not belong in a model folder (pickles are never loaded); "
            f"remove it, and its line in {SUMS}"
        )


def _hidden_key(value: Any) -> str | None:
    """A key that starts with an underscore, at any depth."""
    return next((key for key, _ in inner_pairs(value) if key.startswith("_")), None)
