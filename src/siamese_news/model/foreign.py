"""Opens models of other libraries: nothing in their folder runs, and nobody is asked for more.

These libraries load whatever class a folder names, and look up at a hub what it lacks. So a folder
is checked before the library sees it: known classes, weights in safetensors, no code.
"""

import importlib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError
from siamese_news.utils.extras import PACKAGE, import_problem
from siamese_news.utils.files import expect_regular

# Of sentence-transformers, for texts; others import further classes that the folder names.
_MODULE = re.compile(
    r"sentence_transformers(?:\.\w+)*\.(?:Transformer|Pooling|Normalize|Dense|Dropout|LayerNorm"
    r"|WeightedLayerPooling|StaticEmbedding|LogitScore)"
)
_ACTIVATION = re.compile(r"torch\.nn\.modules\.(?:activation|linear)\.\w+")
_ACTIVATIONS = (
    "activation_function",
    "activation_fn",
    "sbert_ce_default_activation_function",
)
_CODE = (".py", ".pyc", ".pyx", ".so", ".pyd", ".dll", ".dylib", ".pth")
_PICKLES = (
    ".bin",
    ".pt",
    ".ckpt",
    ".pkl",
    ".pickle",
    ".joblib",
    ".dill",
    ".npy",
    ".npz",
)
_SAFE = ".safetensors"
_SETTINGS = (
    2**23
)  # bytes of a JSON file of settings; those of words are larger, and name nothing
# The sizes of arrays, by the names that settings of transformers and of Dense give them.
_ARRAYS = (
    ("vocab_size", "hidden_size"),
    ("vocab_size", "d_model"),
    ("vocab_size", "dim"),
    ("vocab_size", "embedding_size"),
    ("type_vocab_size", "hidden_size"),
    ("type_vocab_size", "embedding_size"),
    ("max_position_embeddings", "hidden_size"),
    ("max_position_embeddings", "embedding_size"),
    ("max_position_embeddings", "dim"),
    ("hidden_size", "intermediate_size"),
    ("d_model", "d_ff"),
    ("dim", "hidden_dim"),
    ("in_features", "out_features"),
    ("num_hidden_layers", "hidden_size"),
    ("dimension",),
)
# Each layer and expert is many objects before it has an array, and a name is made for each label.
_MOST_OBJECTS = {"layer": 1000, "expert": 1000, "num_labels": 2**16}
_COMPUTED = 2**26  # numbers that are in no weights, such as masks and positions
_LARGEST = 2**27  # bytes of a file of words
_WORDS = ("tokenizer.json", "vocab.json", "unigram.json")
_WORDS_ENDINGS = (".txt", ".model", ".spm", ".vocab", ".bpe", ".tiktoken")
# Read at the import of the libraries: no look-up at the model hub, and no count of uses.
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}


def open_foreign(folder: str | Path, library: str, name: str, **options: Any) -> Any:
    """The model in a folder of sentence-transformers or model2vec, by the library's class `name`.

    The process stays offline for these libraries from then on, even for other models.

    Raises:
        InputError: the folder has what `check_folder` refuses, the library is not installed, or
            cannot open the folder.
    """
    root = check_folder(folder, library)
    os.environ.update(_OFFLINE)
    try:
        loaded = getattr(importlib.import_module(library), name)
    except Exception as error:  # whatever its code raises
        problem = import_problem(error, library, f"'{PACKAGE}[bench]'")
        raise InputError(f"{folder}: is a model of {problem}") from error
    if library == "sentence_transformers":
        _expect_in_weights(folder, root, _allocated, _COMPUTED)
    with library_errors(folder):
        if library == "model2vec":
            return loaded.from_pretrained(str(root))
        return loaded(
            str(root), trust_remote_code=False, local_files_only=True, **options
        )


@contextmanager
def library_errors(folder: str | Path) -> Iterator[None]:
    """Turn whatever a library raises about a foreign model into an `InputError`."""
    try:
        yield
    except Exception as error:  # any of several libraries'
        raise InputError(
            f"{folder}: is not a folder that its library can use without the network "
            f"({reason_of(error)}); expected all files of a model that it saved"
        ) from error


def reason_of(error: BaseException) -> str:
    """What a library says of an error, but for advice.

    A folder says what it requires, and libraries tell the user to install that.
    """
    reason = " ".join(str(error).split()) or type(error).__name__
    return type(error).__name__ if "pip" in reason else reason[:300]


def check_folder(folder: str | Path, library: str) -> Path:
    """The resolved folder of a model whose loading runs none of its code and fetches nothing.

    Raises:
        InputError: it has code, an adapter, weights in pickles, or names a class that is not one
            of the library's own, or of torch's activations.

    Example:
        >>> import tempfile
        >>> from siamese_news.model.foreign import check_folder
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     check_folder(folder, "sentence_transformers").is_dir()
        True
    """
    root = Path(folder).resolve()
    if not root.is_dir():
        raise InputError(
            f"{folder}: is not a folder; expected that of a saved model. Nothing is downloaded"
        )
    for path in sorted(root.rglob("*")):
        problem = _problem(path)
        if problem:
            raise InputError(
                f"{folder}: {path.relative_to(root)} {problem}. Nothing in the folder of a model "
                "that somebody sent may run or be fetched: save the model from its library, as "
                "safetensors, with classes of the library alone"
            )
    _expect_in_weights(folder, root, _declared)
    if library == "model2vec" and not any(root.rglob(f"*{_SAFE}")):
        raise InputError(
            f"{folder}: has no {_SAFE} file; expected a model of model2vec"
        )
    return root


def _expect_in_weights(
    folder: str | Path, root: Path, numbers_of: Callable[[Path], int], spare: int = 1
) -> None:
    """Refuse settings of arrays that the weights do not have: a library makes them at once.

    A number of them has at least a byte; `spare` numbers are in no weights.
    """
    weights = sum(path.stat().st_size for path in root.rglob(f"*{_SAFE}"))
    for path in sorted(root.rglob("*config.json")):
        numbers = numbers_of(path)
        if numbers > weights + spare:
            raise InputError(
                f"{folder}: {path.relative_to(root)} declares arrays of {numbers:,} numbers, and all "
                f"weights of the folder have {weights:,} bytes; the library would make them before "
                "it reads the weights: save the model again"
            )


def _declared(path: Path) -> int:
    """The numbers in the largest array that a file of settings makes a library allocate."""
    numbers: Counter[str] = Counter()
    with suppress(ValueError, RecursionError):
        for key, value in _pairs(json.loads(path.read_bytes())):
            if type(value) is int:
                numbers[key] = max(numbers[key], abs(value))
                limits = [limit for word, limit in _MOST_OBJECTS.items() if word in key]
                if limits and abs(value) > limits[0]:
                    return abs(value) * _LARGEST
    sizes = ([numbers[name] or 1 for name in names] for names in _ARRAYS)
    return max(map(math.prod, sizes))


def _allocated(path: Path) -> int:
    """The numbers of all arrays of a transformer, whatever its settings call their sizes.

    They are counted on torch's device ``meta``, which has shapes and no memory.
    """
    with suppress(Exception):  # the library says what is wrong with the settings
        import torch

        # It comes with sentence-transformers.
        transformers = importlib.import_module("transformers")
        config = transformers.AutoConfig.from_pretrained(
            path, local_files_only=True, trust_remote_code=False
        )
        with torch.device("meta"):
            model = transformers.AutoModel.from_config(config)
        return sum(a.numel() for a in chain(model.parameters(), model.buffers()))
    return 0


def _problem(path: Path) -> str:
    """Why a file is refused; empty if it is not."""
    name, suffix = path.name, path.suffix.lower()
    if path.is_dir():
        return "is a link to a folder, into which nobody looked" * path.is_symlink()
    if suffix in _CODE:
        return "is code"
    if name.startswith("adapter_"):
        return (
            "is an adapter, whose base model would be fetched; merge it into that model"
        )
    # OpenVINO's own .bin, which is no pickle and which nothing here reads, may lie in any folder.
    pickle = suffix in _PICKLES and not name.startswith("openvino")
    if pickle and not any(path.parent.glob(f"*{_SAFE}")):
        return f"has weights that may run code when loaded; expected {_SAFE}"
    words = name in _WORDS or suffix in _WORDS_ENDINGS
    if suffix != ".json" and not words:
        return ""
    expect_regular(path)
    if words:
        large = path.stat().st_size > _LARGEST
        return f"has more than {_LARGEST:,} bytes, which words do not" * large
    if path.stat().st_size > _SETTINGS:
        return f"has more than {_SETTINGS:,} bytes, which settings do not"
    settings: Any = None
    with suppress(ValueError, RecursionError):  # the library says what is wrong with it
        settings = json.loads(path.read_bytes())
    if name == "modules.json":
        modules = settings if isinstance(settings, list) else [settings]
        paths = [
            str(module.get("path", number))
            for number, module in enumerate(modules)
            if isinstance(module, dict)
        ]
        if len(set(paths)) < len(paths):
            return "names one place for several modules, and each of them would load it"
        for module in modules:
            kind, module_path = (
                str(module.get(key, "")) if isinstance(module, dict) else ""
                for key in ("type", "path")
            )
            if not _MODULE.fullmatch(kind):
                return f"names the class {kind[:80]!r}, which is not a known one of the library"
            if Path(module_path).is_absolute() or ".." in Path(module_path).parts:
                return f"names the place {module_path[:80]!r} outside the folder"
    for key, value in _pairs(settings):
        if key in ("auto_map", "custom_pipelines") or (
            key == "trust_remote_code" and value
        ):
            return f"has {key!r}, which names code"
        names_class = key in _ACTIVATIONS and isinstance(value, str) and "." in value
        if names_class and not _ACTIVATION.fullmatch(value):
            return f"names {value[:80]!r}, which is not an activation of torch"
    return ""


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    """The names and values of all objects inside a value of JSON."""
    inside = [value]
    while inside:
        item = inside.pop()
        if isinstance(item, Mapping):
            yield from item.items()
        if isinstance(item, Mapping | list):
            inside += item.values() if isinstance(item, Mapping) else item
