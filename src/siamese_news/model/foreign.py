"""Opens models of other libraries: nothing in their folder runs, and nobody is asked for more.

These libraries load whatever class a folder names, and look up at a hub what it lacks. So a folder
is checked before the library sees it: known classes, weights in safetensors, no code.
"""

import importlib
import json
import math
import os
import re
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from siamese_news.errors import InputError
from siamese_news.model.folder import check_finite
from siamese_news.utils.checked_json import inner_pairs, read_object
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
_SAFE = ".safetensors"
_REFUSED = (
    {
        "adapter": "is an adapter, whose base model would be fetched; merge it into that model"
    }
    | dict.fromkeys(".py .pyc .pyx .so .pyd .dll .dylib .pth".split(), "is code")
    | dict.fromkeys(
        ".bin .pt .ckpt .pkl .pickle .joblib .dill .npy .npz .h5 .ot .msgpack .gguf".split(),
        "is a file of weights that is not safetensors, and may run code when it is loaded: remove it "
        "if a .safetensors file has the same weights; else open the model where you trust it, such as "
        "SentenceTransformer(folder), and call its save_pretrained(new_folder)",
    )
)
# Bytes of a JSON file of settings, and of any other file that is read but the weights.
_SETTINGS = 2**23
_LARGEST = 2**27
_WORDS = ("tokenizer.json", "vocab.json", "unigram.json")
# Each layer and expert is many objects before it has an array, a name is made for each label, and
# modules other than transformers make their arrays of these sizes before they read the weights.
_MOST = {
    "layer": 1000,
    "expert": 1000,
    "num_labels": 2**16,
    "features": 2**14,
    "dimension": 2**14,
    "prompts": 2**14,  # letters, which go before every text
}
_COMPUTED = 2**26  # numbers that are in no weights, such as masks and positions
# The letters that a step of tokenizers makes of one letter, at most; others are not known.
_MADE = dict.fromkeys(
    "Lowercase Nmt Strip StripAccents Precompiled BertPreTokenizer CharDelimiterSplit Delimiter "
    "Digits FixedLength Metaspace Punctuation Split UnicodeScripts Whitespace WhitespaceSplit".split(),
    1,
) | {"NFC": 3, "NFD": 4, "NFKC": 18, "NFKD": 18, "BertNormalizer": 4, "ByteLevel": 4}
# Letters that all steps make of one; XLNet's make 684, most others less than 100.
_MOST_MADE = 1000
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
        raise InputError(
            f"{folder}: is a model of "
            + import_problem(error, library, f"'{PACKAGE}[bench]'")
        ) from error
    if library == "sentence_transformers":
        _expect_in_weights(folder, root)
        options.update(
            trust_remote_code=False,
            local_files_only=True,
            model_kwargs={"use_safetensors": True},
        )
    with library_errors(folder):
        model = (loaded if library != "model2vec" else loaded.from_pretrained)(
            str(root), **options
        )
    _expect_whole(folder, root, model)
    return model


def _expect_whole(folder: str | Path, root: Path, model: Any) -> None:
    """Refuse weights that are not finite, or that the files lack: a library makes random ones.

    sentence-transformers has tensors, and model2vec an array and, for some models, weights of words.
    The names are compared on the device ``meta``, without numbers.
    """
    check_finite(
        str(folder),
        *(
            tensor.float().numpy(force=True)
            for tensor in getattr(model, "state_dict", dict)().values()
        ),
        *(
            table
            for table in (
                getattr(model, name, None) for name in ("embedding", "weights")
            )
            if isinstance(table, np.ndarray)
        ),
    )
    modules = list(getattr(model, "modules", list)())
    if any("message" in getattr(module, "modality_config", ()) for module in modules):
        raise InputError(
            f"{folder}: writes each text anew by a template (chat_template), which can make it "
            "long; expected a model that reads texts as they are"
        )
    if any(type(module).__name__ == "EmbeddingBag" for module in modules):
        model.float()  # in halves, a text without a token is the mean of nothing, and not zeros
    # The first one is the whole transformer, whose settings name its kind.
    transformers = [m for m in modules if hasattr(m, "base_model_prefix")]
    for transformer in transformers[:1]:
        for path in root.rglob("config.json"):
            report: dict[str, Any] = {"missing_keys": ()}
            if "model_type" in read_object(path) and any(path.parent.glob(f"*{_SAFE}")):
                with library_errors(folder):
                    _, report = type(transformer).from_pretrained(
                        str(path.parent),
                        config=transformer.config,
                        device_map="meta",
                        output_loading_info=True,
                        use_safetensors=True,
                        local_files_only=True,
                    )
            # Vectors of texts do not depend on the pooler of a base model, which many lack.
            for name in report["missing_keys"]:
                if not name.startswith("pooler."):
                    raise InputError(
                        f"{folder}: its weights lack {name}, for which random numbers would be "
                        "used; save the model again, or copy its whole folder"
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
        if problem := _problem(path):
            raise InputError(
                f"{folder}: {path.relative_to(root)} {problem}. Nothing in the folder of a model "
                "that somebody sent may run or be fetched: save the model from its library, as "
                "safetensors, with classes of the library alone"
            )
    if library == "model2vec" and not any(root.rglob(f"*{_SAFE}")):
        raise InputError(
            f"{folder}: has no {_SAFE} file; expected a model of model2vec"
        )
    return root


def _expect_in_weights(folder: str | Path, root: Path) -> None:
    """Refuse settings of arrays that the weights do not have: a library makes them at once.

    A number in the weights has at least a byte. The arrays of a transformer are counted on torch's
    device ``meta``, which has shapes and no memory, whatever its settings call their sizes.
    """
    weights = sum(path.stat().st_size for path in root.rglob(f"*{_SAFE}"))
    for path in sorted(root.rglob("*config.json")):
        numbers = 0
        with suppress(Exception):  # the library says what is wrong with the settings
            import torch

            # It comes with sentence-transformers.
            transformers = importlib.import_module("transformers")
            config = transformers.AutoConfig.from_pretrained(
                path, local_files_only=True, trust_remote_code=False
            )
            with torch.device("meta"):
                model = transformers.AutoModel.from_config(config)
            numbers = sum(
                array.numel() for array in chain(model.parameters(), model.buffers())
            )
        if numbers > weights + _COMPUTED:
            raise InputError(
                f"{folder}: {path.relative_to(root)} declares arrays of {numbers:,} numbers, and all "
                f"weights of the folder have {weights:,} bytes; the library would make them before "
                "it reads the weights: save the model again"
            )


def _problem(path: Path) -> str:
    """Why a file is refused; empty if it is not."""
    name, suffix = path.name, path.suffix.lower()
    if path.is_dir():
        return "is a link to a folder, into which nobody looked" * path.is_symlink()
    expect_regular(path)
    if refused := _REFUSED.get("adapter" if name.startswith("adapter_") else suffix):
        return refused
    largest = _SETTINGS if suffix == ".json" and name not in _WORDS else _LARGEST
    # Files of ONNX are never read.
    if not suffix.startswith((_SAFE, ".onnx")) and path.stat().st_size > largest:
        return f"has more than {largest:,} bytes, which such a file does not"
    if suffix != ".json":
        return ""
    try:
        settings = json.loads(path.read_bytes())
        letters = _made(settings)
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
        return "is not JSON, or has steps of a tokenizer that are not known"
    if letters > _MOST_MADE:
        return "has steps of a tokenizer that make a text too long"
    if name in _WORDS:
        return ""
    if name == "modules.json":
        paths = [str(value) for key, value in inner_pairs(settings) if key == "path"]
        if len(set(paths)) < len(paths):
            return "names one place for several modules, and each of them would load it"
    for key, value in inner_pairs(settings):
        if (name, key) == ("modules.json", "type") and not _MODULE.fullmatch(
            str(value)
        ):
            return f"names the class {str(value)[:80]!r}, which is not a known one of the library"
        limits = [limit for word, limit in _MOST.items() if word in key]
        size = len(json.dumps(value)) if key == "prompts" else value
        if type(size) is int and abs(size) > min(limits, default=math.inf):
            return f"has {key} of {size:,}, expected at most {min(limits):,}"
        # The settings of a transformer go to the functions that open it: folders to write to, other
        # places of a tokenizer, methods of the model.
        if (
            key in ("auto_map", "custom_pipelines")
            or (key in ("trust_remote_code", "use_kernels") and value)
            or ("attn_implementation" in key and "/" in str(value))
            or (key == "method" and value != "forward")
            or (
                value
                and name.startswith("sentence_")
                and key.endswith(("_args", "_kwargs", "_name_or_path"))
            )
        ):
            return f"has {key!r}, which names code or what the library should do"
        if isinstance(value, str) and (
            (key in _ACTIVATIONS and "." in value) and not _ACTIVATION.fullmatch(value)
        ):
            return f"names {value[:80]!r}, which is not an activation of torch"
        names_place = key == "path" or name.endswith(".index.json")
        path_named = Path(value if names_place and isinstance(value, str) else "")
        if path_named.is_absolute() or ".." in path_named.parts:
            return f"names the place {value[:80]!r} outside the folder"
    return ""


def _made(settings: Any) -> float:
    """The most letters that a tokenizer makes of one letter; 1 of other settings.

    It goes from the last step to the first; `weights` has the letters that the later steps make of
    a letter, and of "" those of all other letters. What is put around a text is bounded, too: a
    special token takes 40 letters of JSON, and a number of its list 4.
    """
    is_tokenizer = isinstance(settings, dict) and isinstance(
        settings.get("model"), dict
    )
    tokenizer: dict[str, Any] = settings if is_tokenizer else {}
    weights = {"": 1.0}
    steps: list[Any] = [tokenizer.get("normalizer"), tokenizer.get("pre_tokenizer")]
    while steps:
        step = steps.pop() or {"type": "Strip"}
        weight = sum(
            weights.get(letter, weights[""])
            for letter in step.get("content", step.get("prepend", ""))
        )
        letter_replaced = step.get("pattern", {}).get("String", "")[:1]
        if step["type"] == "Sequence":
            steps += step["normalizers" if "normalizers" in step else "pretokenizers"]
        elif step["type"] == "Replace" and letter_replaced:
            weights[letter_replaced] = max(
                weights.get(letter_replaced, weights[""]), weight
            )
        # A pattern may fit between any two letters.
        elif step["type"] in ("Replace", "Prepend"):
            weights = {letter: old + weight for letter, old in weights.items()}
        else:
            charsmap = b64decode(step.get("precompiled_charsmap") or "")
            texts = charsmap[4 + int.from_bytes(charsmap[:4], "little") :].decode()
            longest = max(_MADE[step["type"]], *map(len, texts.split("\0")))
            weights = {"": max(weights.values()) * longest}
    return max(*weights.values(), len(json.dumps(tokenizer.get("post_processor"))) / 4)
