"""A folder of another library is opened only if nothing in it runs and nothing is fetched."""

import base64
import json
import os
import shutil
import string
import sys
import types
import unicodedata

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
    "2_Dense/config.json": {"activation_function": "torch.nn.modules.activation.Tanh"},
    "2_Dense/model.safetensors": {},
    "sentence_bert_config.json": {
        "max_seq_length": 64,
        "modality_config": {"text": {"method": "forward"}},
        "model_args": {},
    },
    "onnx/model.onnx": {},
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
    "attention of the hub": (
        {"config.json": {"_attn_implementation": "who/ever"}},
        "names code",
    ),
    "a folder to write to": (
        {"sentence_bert_config.json": {"model_args": {"offload_folder": "/x"}}},
        "'model_args'",
    ),
    "texts that are filled up": (
        {
            "sentence_bert_config.json": {
                "processing_kwargs": {"text": {"padding": "max_length"}}
            }
        },
        "'processing_kwargs'",
    ),
    "a tokenizer of another place": (
        {"0/sentence_xlnet_config.json": {"tokenizer_name_or_path": "/x"}},
        "'tokenizer_name_or_path'",
    ),
    "a method of the model": (
        {
            "sentence_bert_config.json": {
                "modality_config": {"text": {"method": "save_pretrained"}}
            }
        },
        "'method'",
    ),
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
    "weights in pickles": (
        {"3_Dense/pytorch_model.bin": "x"},
        r"safetensors.*save_pretrained\(new_folder\)",
    ),
    "weights next to safetensors that are not those of a model": (
        {"model.ckpt": "x", "other.safetensors": "x"},
        "not safetensors",
    ),
    "weights in HDF5": ({"tf_model.H5": "x"}, "remove it if a .safetensors"),
    "shards outside": (
        {"2_Dense/model.safetensors.index.json": {"weight_map": {"a": "/srv/b"}}},
        "outside",
    ),
    "shards of a neighbor": (
        {"model.safetensors.index.json": {"weight_map": {"a": "x/../../b"}}},
        "outside",
    ),
    "a prompt as long as a book": (
        {"config_sentence_transformers.json": {"prompts": {"q": "read " * 4000}}},
        "prompts of",
    ),
    "settings that are not JSON": ({"tokenizer_config.json": "{"}, "not JSON"),
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
        ("2_Dense/config.json", {"in_features": 10**6, "out_features": -(10**6)}),
        ("config.json", {"n_layer": 10**7}),
        # A later object has the same name.
        ("config.json", {"n_layer": 10**7, "z": {"n_layer": 9}}),
        ("config.json", {"num_local_experts": 10**6}),
        # A name for each, before any array; the weights have more bytes.
        ("config.json", {"num_labels": 10**7, "hidden_size": 1}),
        ("2_LayerNorm/config.json", {"dimension": 2 * 10**9}),
    ],
)
def test_sizes_that_a_library_makes_at_once_have_bounds(tmp_path, file, settings):
    """Before it reads the weights; all of them fit real ones."""
    write(tmp_path, GOOD)
    good = {"num_hidden_layers": 96, "num_labels": 1000, "id2label": {"0": "layer"}}
    write(tmp_path, {"config.json": good})
    write(tmp_path, {"2_Dense/config.json": {"in_features": 8192}})
    check_folder(tmp_path, "sentence_transformers")
    write(tmp_path, {file: settings})
    with pytest.raises(InputError, match="expected at most"):
        check_folder(tmp_path, "sentence_transformers")


@pytest.mark.parametrize(
    "settings",
    [
        {"model_type": "gpt2", "n_embd": 40_000, "n_layer": 1, "n_head": 1},
        {"model_type": "opt", "word_embed_proj_dim": 2**22, "num_hidden_layers": 1},
        {"model_type": "bert", "hidden_size": 12, "vocab_size": 2**25},
        {"model_type": "bert", "hidden_size": 384, "vocab_size": 10**12},
        {"model_type": "bert", "hidden_size": 384, "type_vocab_size": 10**9},
        {"model_type": "albert", "embedding_size": 128, "vocab_size": 10**9},
        {"model_type": "t5", "d_model": 2**20, "d_ff": 2**20},
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


def steps(*normalizers, pre_tokenizer=None, **further):
    """The settings of a tokenizer with these steps."""
    normalizer = {"type": "Sequence", "normalizers": list(normalizers)}
    return {
        "model": {"type": "WordLevel", "vocab": {"layer": 70_000, "auto_map": 1}},
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        **further,
    }


def replaced(content, **pattern):
    return {"type": "Replace", "pattern": pattern, "content": content}


def charsmap(text):
    """The replacements of sentencepiece: a table that is not read, and texts."""
    blob = (4).to_bytes(4, "little") + b"tree" + text.encode() + b"\0"
    return {
        "type": "Precompiled",
        "precompiled_charsmap": base64.b64encode(blob).decode(),
    }


ACCENTS = [{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]
LONGEST = "\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}"
WORKING = {
    "BERT": steps(
        {"type": "BertNormalizer"}, pre_tokenizer={"type": "BertPreTokenizer"}
    ),
    "XLNet": steps(
        replaced('"', String="``"),
        *ACCENTS,
        charsmap(unicodedata.normalize("NFKC", LONGEST)),
        replaced(" ", Regex=" {2,}"),
        pre_tokenizer={"type": "Metaspace", "replacement": "▁"},
    ),
    # As model2vec keeps punctuation apart: letters of one step are not those of the next.
    "punctuation": steps(
        {"type": "BertNormalizer"},
        *(replaced(f" {mark} ", String=mark) for mark in string.punctuation),
        replaced(" ", Regex=r"\s+"),
        {"type": "Strip"},
    ),
    "none": steps() | {"normalizer": None},
}
GROWING = {
    "a letter that becomes itself twice": steps(*12 * [replaced("nn", String="n")]),
    "letters that become each other": steps(
        *6 * [replaced("bbbb", String="a"), replaced("aaaa", String="b")]
    ),
    "a long text for a pair of letters": steps(replaced("x" * 4000, String="th")),
    "between all letters": steps(*11 * [replaced("-", Regex="")]),
    "a pattern of nothing": steps(*11 * [replaced("-", String="")]),
    "before each text": steps({"type": "Prepend", "prepend": "read this: " * 200}),
    "ligatures": steps(*4 * [replaced(LONGEST, String=" "), {"type": "NFKC"}]),
    "a table of sentencepiece": steps(charsmap("long " * 300)),
    "bytes of bytes": steps(
        pre_tokenizer={"type": "Sequence", "pretokenizers": 6 * [{"type": "ByteLevel"}]}
    ),
    "tokens around a text": steps(
        post_processor={
            "type": "TemplateProcessing",
            "single": 900 * [{"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
        }
    ),
    "one special token of many": steps(
        post_processor={"special_tokens": {"[CLS]": {"ids": 9000 * [2]}}}
    ),
    "a step of tomorrow": steps({"type": "Translate"}),
    "a step without a kind": steps({"content": "x"}),
    "steps that are not a list": steps() | {"normalizer": {"type": "Sequence"}},
}


@pytest.mark.parametrize("case", WORKING)
def test_the_steps_of_known_tokenizers_pass(tmp_path, case):
    write(tmp_path, {**GOOD, "tokenizer.json": WORKING[case]})
    check_folder(tmp_path, "sentence_transformers")


@pytest.mark.parametrize("name", ["tokenizer.json", "0/tokenizer.4.0.json"])
@pytest.mark.parametrize("case", GROWING)
def test_a_tokenizer_cannot_make_a_text_long(tmp_path, case, name):
    """Its steps run in a library that takes all memory and ends the process."""
    settings = GROWING[case]
    if name != "tokenizer.json":  # whose words are read like settings
        settings = {**settings, "model": {}}
    write(tmp_path, {**GOOD, name: settings})
    with pytest.raises(InputError, match=f"{name} .*has steps of a tokenizer"):
        check_folder(tmp_path, "sentence_transformers")


@pytest.mark.parametrize(
    "name", ["README.md", "config.json", "chat_template.jinja", "2_Dense/notes"]
)
def test_a_pipe_or_a_device_is_not_waited_for(tmp_path, name):
    write(tmp_path, GOOD)
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match=f"{name}: is a pipe or a device"):
        ExternalModel(tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(InputError, match=f"{name}: is a pipe or a device"):
        ExternalModel(tmp_path)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A real folder of sentence-transformers, which opens."""
    pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    root = tmp_path_factory.mktemp("small")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "flood", "fire", "weir"]
    (root / "vocab.txt").write_text("\n".join(words))
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=32,
    )
    transformers.BertModel(config).save_pretrained(root)
    transformers.BertTokenizerFast(str(root / "vocab.txt")).save_pretrained(root)
    (root / "modules.json").write_text(
        json.dumps(
            [
                {"idx": 0, "name": "0", "path": "", "type": f"{CLASSES}.Transformer"},
                {"idx": 1, "name": "1", "path": "1", "type": f"{CLASSES}.Pooling"},
            ]
        )
    )
    (root / "1").mkdir()
    (root / "1" / "config.json").write_text('{"word_embedding_dimension": 8}')
    assert ExternalModel(root).encode_posts(["fire at the weir"]).any()
    return root


def changed(root, folder, change):
    """A copy of a folder with other weights."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(root, folder)
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize(
    "name", ["encoder.layer.0.output.dense.bias", "embeddings.word_embeddings.weight"]
)
def test_one_weight_that_is_not_a_number_is_refused(small, tmp_path, name, value):
    def change(weights):
        weights[name].view(-1)[-1] = value  # "weir", which no text here has

    folder = changed(small, tmp_path / "m", change)
    with pytest.raises(InputError, match=f"{folder}: NaN or infinity"):
        ExternalModel(folder)


def test_a_table_of_model2vec_is_checked_as_well(tmp_path, monkeypatch):
    opened = types.ModuleType("model2vec")
    table = np.array([[0.5, 1], [np.inf, 0]], np.float16)
    of_folder = types.SimpleNamespace(embedding=table, encode=None)
    opened.StaticModel = types.SimpleNamespace(from_pretrained=lambda _: of_folder)
    monkeypatch.setitem(sys.modules, "model2vec", opened)
    write(
        tmp_path, {"config.json": {"model_type": "model2vec"}, "model.safetensors": ""}
    )
    with pytest.raises(InputError, match="NaN or infinity"):
        ExternalModel(tmp_path)


@pytest.mark.parametrize("moved", [False, True])
def test_weights_that_the_file_lacks_are_not_made_up(small, tmp_path, moved):
    """In the folder itself, or in the folder of its first module."""
    name = "encoder.layer.0.attention.self.query.weight"
    folder = changed(small, tmp_path / "m", lambda weights: weights.pop(name))
    if moved:
        modules = json.loads((folder / "modules.json").read_text())
        modules[0]["path"] = "0_Transformer"
        (folder / "0_Transformer").mkdir()
        for path in [path for path in folder.iterdir() if path.is_file()]:
            path.rename(folder / "0_Transformer" / path.name)
        write(folder, {"modules.json": modules})
    with pytest.raises(InputError, match=f"weights lack {name}"):
        ExternalModel(folder)


def test_a_base_model_without_a_pooler_opens(small, tmp_path):
    """Some save none; the vectors do not depend on it."""

    def change(weights):
        for name in ("pooler.dense.weight", "pooler.dense.bias"):
            del weights[name]

    texts = ["fire", "flood at the weir"]
    folder = changed(small, tmp_path / "m", change)
    np.testing.assert_array_equal(
        ExternalModel(folder).encode_posts(texts),
        ExternalModel(small).encode_posts(texts),
    )


TEMPLATE = "{{ 'weir ' * 9999999 }}"


@pytest.mark.parametrize("pairs", [False, True])
def test_a_template_that_makes_texts_long_is_refused(small, tmp_path, pairs):
    """The library of a cross-encoder uses it in any case."""
    folder = tmp_path / "m"
    shutil.copytree(small, folder)
    reading = {"method": "forward", "method_output_name": "last_hidden_state"}
    settings = json.loads((folder / "config.json").read_text())
    tokenizer = json.loads((folder / "tokenizer_config.json").read_text())
    files = {
        "tokenizer_config.json": {**tokenizer, "chat_template": TEMPLATE},
        "sentence_bert_config.json": {
            "modality_config": {"message": reading},
            "module_output_name": "token_embeddings",
        },
    }
    if pairs:
        (folder / "modules.json").unlink()
        settings["architectures"] = ["BertForSequenceClassification"]
        files["config.json"] = settings
    write(folder, files)
    with pytest.raises(InputError, match="anew by a template"):
        SecondLook(folder, None) if pairs else ExternalModel(folder)
