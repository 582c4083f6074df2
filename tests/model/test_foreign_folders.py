"""A folder of another library is opened only if nothing in it runs and nothing is fetched."""

import json
import sys
import types

import numpy as np
import pytest

from siamese_news.errors import InputError
from siamese_news.model.foreign import check_folder, open_foreign
from siamese_news.model.loading import ExternalModel
from siamese_news.search.second_look import SecondLook
from siamese_news.training.teacher import teacher_vectors

CLASSES = "sentence_transformers.sentence_transformer.modules"
GOOD = {
    "modules.json": [
        {"idx": 0, "name": "0", "path": "", "type": f"{CLASSES}.Transformer"},
        {
            "idx": 1,
            "name": "1",
            "path": "1_Pooling",
            "type": "sentence_transformers.models.Pooling",
        },
        {
            "idx": 2,
            "name": "2",
            "path": "2_Dense",
            "type": "sentence_transformers.models.Dense",
        },
    ],
    "config.json": {
        "model_type": "bert",
        "activation_function": "gelu",
        "vocab_size": 9,
        "hidden_size": 12,
    },
    "tokenizer.json": {"anything": "auto_map"},
    "model.safetensors": "weights " * 20,  # more bytes than 9 times 12
    "pytorch_model.bin": {},
    "2_Dense/config.json": {"activation_function": "torch.nn.modules.activation.Tanh"},
    "2_Dense/model.safetensors": {},
    "openvino/openvino_model.bin": {},
    "README.md": {},
}
HELPER = "raise SystemExit('code of the folder runs')"


def write(root, files):
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return root


def module(kind, path=""):
    return [{"idx": 0, "name": "0", "path": path, "type": kind}]


BAD = {
    "a module of the folder": (
        {"modules.json": module("helper_module.Helper"), "helper_module.py": HELPER},
        "code|known one",
    ),
    "a module of Python": ({"modules.json": module("os.system")}, "known one"),
    "another module of the library": (
        {"modules.json": module("sentence_transformers.util.http_get")},
        "known one",
    ),
    "modules that nothing declares the size of": (
        {"modules.json": module("sentence_transformers.models.LSTM", "1_LSTM")},
        "known one",
    ),
    "a module that is loaded many times": (
        {"modules.json": 9 * module(f"{CLASSES}.Dense", "2_Dense")},
        "one place for several",
    ),
    "a router of modules": (
        {"modules.json": module("sentence_transformers.models.Router")},
        "known one",
    ),
    "a place outside": (
        {"modules.json": module(f"{CLASSES}.Pooling", "../other")},
        "outside",
    ),
    "a class that is no text": ({"modules.json": [{"type": 3}]}, "known one"),
    "no list of modules": ({"modules.json": 7}, "known one"),
    "code": ({"1_Pooling/modeling.py": HELPER}, "is code"),
    "compiled code": ({"__pycache__/x.pyc": "x"}, "is code"),
    "a map of classes": (
        {"config.json": {"auto_map": {"AutoModel": "x--y.Model"}}},
        "auto_map",
    ),
    "a map inside": (
        {"tokenizer_config.json": {"a": [{"auto\u005fmap": 1}]}},
        "auto_map",
    ),
    "trust": ({"config.json": {"trust_remote_code": True}}, "trust_remote_code"),
    "another activation": (
        {"2_Dense/config.json": {"activation_function": "torch.hub.load"}},
        "not an activation",
    ),
    "the activation of a cross-encoder": (
        {"config.json": {"sentence_transformers": {"activation_fn": "os.abort"}}},
        "not an activation",
    ),
    "an adapter": (
        {"adapter_config.json": {"base_model_name_or_path": "who/ever"}},
        "adapter",
    ),
    "weights in pickles": ({"3_Dense/pytorch_model.bin": "x"}, "safetensors"),
    "endless settings": (
        {"config.json": '{"a": "' + "a" * 2**23 + '"}'},
        "more than",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_folder_with_code_or_names_of_code_is_refused(tmp_path, case, monkeypatch):
    """Before the library is imported, by every door."""
    files, message = BAD[case]
    folder = write(tmp_path, {**GOOD, **files})
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(InputError, match=message):
        ExternalModel(folder)
    (folder / "modules.json").touch()
    with pytest.raises(InputError, match=message):
        teacher_vectors(["flood"], source=str(folder))
    pairs = {"architectures": ["BertForSequenceClassification"]}
    settings = files.get("config.json", {})
    if isinstance(settings, dict):
        write(folder, {"config.json": {**settings, **pairs}})
        with pytest.raises(InputError, match=message):
            SecondLook(folder, None)


def test_an_ordinary_folder_passes(tmp_path):
    assert check_folder(write(tmp_path, GOOD), "sentence_transformers") == tmp_path


@pytest.mark.parametrize(
    ("file", "settings"),
    [
        ("config.json", {"vocab_size": 10**12, "hidden_size": 384}),
        ("config.json", {"text_config": {"d_model": 2**20, "d_ff": 2**20}}),
        ("2_Dense/config.json", {"in_features": 10**6, "out_features": -(10**6)}),
        ("1_Pooling/config.json", {"hidden_size": 2**40, "intermediate_size": 1}),
        ("config.json", {"type_vocab_size": 10**9, "hidden_size": 384}),
        ("config.json", {"vocab_size": 10**9, "embedding_size": 128}),
        # A later object has the same name.
        (
            "config.json",
            {"vocab_size": 10**9, "hidden_size": 9, "z": {"vocab_size": 9}},
        ),
        ("config.json", {"n_layer": 10**7}),
        ("config.json", {"num_local_experts": 10**6}),
        # A name for each, before any array; the weights have more bytes.
        ("config.json", {"num_labels": 10**7, "hidden_size": 1}),
        ("2_LayerNorm/config.json", {"dimension": 2 * 10**9}),
    ],
)
def test_what_the_settings_declare_is_in_the_weights(tmp_path, file, settings):
    """A library makes these arrays before it reads the weights; all of them fit real ones."""
    write(tmp_path, GOOD)
    (tmp_path / "model.safetensors").write_bytes(bytes(4 * 30522 * 384))
    good = {"vocab_size": 30522, "hidden_size": 384, "intermediate_size": 1536}
    write(tmp_path, {"config.json": good})
    check_folder(tmp_path, "sentence_transformers")
    write(tmp_path, {file: settings})
    with pytest.raises(InputError, match="declares arrays of [0-9,]+ numbers"):
        check_folder(tmp_path, "sentence_transformers")


@pytest.mark.parametrize(
    "settings",
    [
        {"model_type": "gpt2", "n_embd": 40_000, "n_layer": 1, "n_head": 1},
        {"model_type": "opt", "word_embed_proj_dim": 2**22, "num_hidden_layers": 1},
        {"model_type": "bert", "hidden_size": 8, "vocab_size": 2**25},
    ],
)
def test_arrays_of_any_architecture_are_counted_before_they_are_made(
    tmp_path, settings, monkeypatch
):
    """Whatever it calls their sizes."""
    pytest.importorskip("transformers")
    opened = types.ModuleType("sentence_transformers")
    opened.SentenceTransformer = None
    monkeypatch.setitem(sys.modules, "sentence_transformers", opened)
    write(tmp_path, GOOD)
    write(tmp_path, {"config.json": settings})
    with pytest.raises(InputError, match="declares arrays of [0-9,]+ numbers"):
        open_foreign(tmp_path, "sentence_transformers", "SentenceTransformer")


@pytest.mark.parametrize("name", ["tokenizer.json", "vocab.txt", "spiece.model"])
def test_files_of_words_have_a_bound(tmp_path, name):
    write(tmp_path, GOOD)
    with (tmp_path / name).open("ab") as stream:
        stream.truncate(2**28)
    with pytest.raises(InputError, match=f"{name} has more than 134,217,728 bytes"):
        check_folder(tmp_path, "sentence_transformers")


def test_a_folder_of_model2vec_needs_its_weights(tmp_path):
    """Without them the library takes the path for the name of a model of the hub."""
    write(tmp_path, {"config.json": {"model_type": "model2vec"}})
    with pytest.raises(InputError, match="safetensors"):
        ExternalModel(tmp_path)


def test_the_library_is_told_to_stay_on_this_machine(tmp_path, monkeypatch):
    """By the whole path, which no hub takes for a name, and before it is imported."""
    given = {}

    class Opened:
        def __init__(self, folder, **options):
            given.update(options, folder=folder)

    fake = types.ModuleType("sentence_transformers")
    fake.SentenceTransformer = Opened
    monkeypatch.setitem(sys.modules, "sentence_transformers", fake)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    (tmp_path / "janes-secret-project").mkdir()
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "janes-secret-project", GOOD)
    open_foreign("janes-secret-project", "sentence_transformers", "SentenceTransformer")
    assert given["local_files_only"] is True and given["trust_remote_code"] is False
    assert given["folder"] == str(tmp_path / "janes-secret-project")
    import os

    assert os.environ["HF_HUB_OFFLINE"] == "1"


def test_a_folder_cannot_ask_for_a_package(tmp_path, monkeypatch):
    """What it requires is the sender's choice, so no advice of ours repeats it."""

    class Requiring:
        def __init__(self, folder, **options):
            raise ImportError("needs evil>=1: run pip install evil")

    fake = types.ModuleType("sentence_transformers")
    fake.SentenceTransformer = Requiring
    monkeypatch.setitem(sys.modules, "sentence_transformers", fake)
    with pytest.raises(InputError) as caught:
        ExternalModel(write(tmp_path, GOOD))
    assert "evil" not in str(caught.value)


def test_a_link_to_a_folder_is_refused_and_a_link_to_a_file_is_read(tmp_path):
    hidden = write(tmp_path / "hidden", {"pytorch_model.bin": {}})
    root = write(tmp_path / "model", GOOD)
    (root / "merges.txt").symlink_to(root / "README.md")  # as in a cache of the hub
    check_folder(root, "sentence_transformers")
    (root / "3_Dense").symlink_to(hidden)
    with pytest.raises(InputError, match="3_Dense is a link to a folder"):
        check_folder(root, "sentence_transformers")


def test_what_a_library_raises_about_texts_is_named_by_the_folder(
    tmp_path, monkeypatch
):
    """Settings can pass at the opening and fail at the first text."""
    opened = types.ModuleType("sentence_transformers")

    class Opened:
        def __init__(self, *arguments, **options):
            pass

        def encode(self, texts, **options):
            if "empty" in texts:  # as with a truncate_dim of 0
                return np.empty((len(texts), 0), np.float32)
            raise ValueError("a chunk of 9 does not divide 4; pip install stranger")

    opened.SentenceTransformer = Opened
    monkeypatch.setitem(sys.modules, "sentence_transformers", opened)
    model = ExternalModel(write(tmp_path, GOOD))
    for text, reason in (("the weir fails", "ValueError"), ("empty", "its vectors .*")):
        with pytest.raises(InputError, match=rf"without the network \({reason}\)"):
            model.encode_posts([text])
