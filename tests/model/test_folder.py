"""The model folder: whole, checked, and no code in it."""

import hashlib
import json
import pickle

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from typer.testing import CliRunner

from siamese_news.cli import app
from siamese_news.errors import InputError
from siamese_news.lexical_head.options import TermOptions
from siamese_news.model import Model
from siamese_news.model.folder import folder_sha256, read_folder, write_folder
from siamese_news.model.loading import open_model
from siamese_news.model.trained_on import TrainingRecord

TEXTS = [
    "Flood in the river town",
    "the mayor and the vote",
    "",
    "zzzz",
    "🔥🔥",
    "fire " * 100,
]


@pytest.fixture
def folder(tmp_path, tiny_model):
    tiny_model.save(tmp_path / "model", card="# card")
    return tmp_path / "model"


def test_a_model_comes_back_as_it_was(folder, tiny_model):
    loaded = Model.load(folder)
    assert sorted(p.name for p in folder.iterdir()) == [
        "README.md",
        "SHA256SUMS",
        "config.json",
        "model.safetensors",
        "trained_on.bin",
        "vocab.txt",
    ]
    np.testing.assert_array_equal(
        loaded.encode_posts(TEXTS), tiny_model.encode_posts(TEXTS)
    )
    np.testing.assert_array_equal(
        loaded.encode_articles(TEXTS), tiny_model.encode_articles(TEXTS)
    )
    assert loaded.trained_on.plain() == tiny_model.trained_on.plain()
    assert loaded.trained_on.tobytes() == tiny_model.trained_on.tobytes()


def test_the_same_model_gives_the_same_bytes(folder, tmp_path):
    Model.load(folder).save(tmp_path / "again", card="# card")
    assert folder_sha256(folder) == folder_sha256(tmp_path / "again")


@pytest.mark.parametrize(
    "name",
    ["config.json", "model.safetensors", "trained_on.bin", "vocab.txt", "README.md"],
)
def test_a_changed_byte_is_noticed(folder, name):
    data = bytearray((folder / name).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / name).write_bytes(data)
    with pytest.raises(InputError, match=f"{name}: differs"):
        Model.load(folder)


@pytest.mark.parametrize(
    "name",
    ["config.json", "model.safetensors", "trained_on.bin", "vocab.txt", "SHA256SUMS"],
)
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(InputError, match=name):
        Model.load(folder)


def test_a_pickle_in_the_folder_is_refused(folder):
    (folder / "extra.pkl").write_bytes(pickle.dumps({"x": 1}))
    with pytest.raises(InputError, match=r"extra\.pkl: does not belong"):
        Model.load(folder)


def _rewrite_config(folder, change):
    config, tensors, words = read_folder(folder)
    change(config)
    document = {"format": 1, **config}
    (folder / "config.json").write_text(json.dumps(document))
    _rewrite_sums(folder)
    return tensors, words


def _rewrite_sums(folder):
    sums = ""
    for name in sorted(
        path.name for path in folder.iterdir() if path.name != "SHA256SUMS"
    ):
        sums += f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n"
    (folder / "SHA256SUMS").write_text(sums)


def test_a_target_is_refused_even_with_right_sums(folder):
    _rewrite_config(folder, lambda c: c["encoder"].update(_target_="os.system"))
    with pytest.raises(InputError, match="_target_"):
        Model.load(folder)


def test_an_unknown_class_names_the_choices(folder):
    _rewrite_config(folder, lambda c: c["encoder"].update({"class": "Popen"}))
    with pytest.raises(InputError, match="BagEncoder"):
        Model.load(folder)


@pytest.mark.parametrize("key", ["tokenizer", "embedding", "limits"])
def test_a_config_without_a_part_is_refused(folder, key):
    _rewrite_config(folder, lambda c: c.pop(key))
    with pytest.raises(InputError, match="do not fit"):
        Model.load(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"limits": {}}, "do not fit"),
        (
            {"limits": {"article_tokens": "a", "post_tokens": 9, "keep": "first"}},
            "tokens is 'a'",
        ),
        (
            {"limits": {"article_tokens": 9, "post_tokens": True, "keep": "first"}},
            "is True",
        ),
        ({"terms": "a"}, "do not fit"),
        ({"terms": {"texts": 1.5, "typical": [1, 1]}}, "texts=1.5"),
        ({"terms": {"texts": 1, "typical": [0, 1]}}, r"typical=\[0, 1\]"),
        ({"encoder": {"class": "BagEncoder", "weighting": 5}}, "BagEncoder|do not fit"),
        ({"unknown": 3}, "do not fit|unknown"),
    ],
)
def test_values_of_another_form_are_refused(folder, change, message):
    _rewrite_config(folder, lambda c: c.update(change))
    with pytest.raises(InputError, match=message) as refused:
        Model.load(folder)
    assert str(folder) in str(refused.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"power": "a"}, "power='a'; expected a number"),
        ({"power": float("nan")}, "power=nan; expected a number"),
        (
            {"feedback": {"score": 1e308}},
            r"feedback.score=1e\+308; expected a number up to",
        ),
        ({"smoothing": {"posts": 2.5}}, "smoothing.posts=2.5; expected a whole number"),
        ({"article_tokens": True}, "article_tokens=True; expected a whole number"),
    ],
)
def test_options_of_the_lexical_head_are_numbers(values, message):
    with pytest.raises(InputError, match=message):
        TermOptions.of({**TermOptions().plain(), **values})


def test_weights_of_another_shape_are_refused(folder, tiny_model):
    tensors = {name: np.zeros((3, 3), np.float32) for name in tiny_model.state_dict()}
    config, _, words = read_folder(folder)
    config["trained_on"] = TrainingRecord().plain()
    write_folder(folder, config, tensors, words, "# card", trained_on=b"")
    with pytest.raises(InputError, match="do not fit"):
        Model.load(folder)


@pytest.mark.parametrize("name", ["steps", "scale", "token_weights"])
def test_weights_declared_as_another_type_are_refused(tmp_path, tiny_model, name):
    """The bits of a weight under another type are other numbers: every score was zero."""
    tiny_model.embedding.stored = "int8"
    tiny_model.save(tmp_path / "model", card="")
    config, tensors, words = read_folder(tmp_path / "model")
    config["trained_on"] = TrainingRecord().plain()
    other = {"steps": np.uint8, "scale": np.int16, "token_weights": np.int32}[name]
    tensors[f"embedding.{name}"] = tensors[f"embedding.{name}"].view(other)
    write_folder(tmp_path / "model", config, tensors, words, "", trained_on=b"")
    (tmp_path / "a.txt").write_text("Flood in the town\n\nThe river took the bridge.\n")
    (tmp_path / "p.jsonl").write_text('{"id": "1", "text": "flood"}\n')
    command = [
        "rank",
        "--model",
        tmp_path / "model",
        "--articles",
        tmp_path / "a.txt",
        "--posts",
        tmp_path / "p.jsonl",
    ]
    result = CliRunner().invoke(app, list(map(str, command)))
    assert result.exit_code == 2
    assert f"embedding.{name}' is {np.dtype(other)}, expected" in " ".join(
        result.output.split()
    )


@pytest.mark.parametrize("lent", [False, True])
def test_a_type_that_numpy_lacks_is_refused(folder, lent):
    """Whether or not something else of the process, like onnx, has lent it to numpy."""
    if lent:
        pytest.importorskip("ml_dtypes")
    weights = {"embedding.matrix": torch.zeros(3, 3, dtype=torch.bfloat16)}
    save_file(weights, folder / "model.safetensors")
    _rewrite_sums(folder)
    with pytest.raises(InputError, match=r"not safetensors with numbers that .*BF16"):
        Model.load(folder)


@pytest.mark.parametrize("levels", [600, 100_000])
def test_a_config_of_endless_brackets_is_refused(folder, levels):
    document = '{"format": 1, "kind": ' + "[" * levels + "]" * levels + "}"
    (folder / "config.json").write_text(document)
    _rewrite_sums(folder)
    with pytest.raises(
        InputError,
        match=r"config\.json: not JSON with the few levels|is a model of kind",
    ):
        Model.load(folder)


def test_a_link_to_a_model_folder_stays_a_link(tmp_path, tiny_model):
    (tmp_path / "big-disk").mkdir()
    (tmp_path / "model").symlink_to(tmp_path / "big-disk" / "model")
    for _ in range(2):
        tiny_model.save(tmp_path / "model", card="# card")
        assert (tmp_path / "model").is_symlink()
    assert [p.name for p in (tmp_path / "big-disk").iterdir()] == ["model"]


def test_a_folder_of_something_else_is_not_overwritten(tmp_path, tiny_model):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years")
    with pytest.raises(InputError, match="not a model folder"):
        tiny_model.save(tmp_path / "mine", card="")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years"


def test_a_folder_that_does_not_count_its_training_texts_is_refused(folder):
    ids = {"articles": {"x": ["a1"]}, "posts": {}, "fingerprints": []}
    _rewrite_config(folder, lambda config: config.update(trained_on=ids))
    _rewrite_sums(folder)
    with pytest.raises(InputError, match="config and weights do not fit"):
        Model.load(folder)


def test_training_ids_that_do_not_fit_the_counts_are_refused(folder):
    (folder / "trained_on.bin").write_bytes(b"1234567")
    _rewrite_sums(folder)
    with pytest.raises(InputError, match=r"trained_on\.bin: has 7 bytes, expected 16"):
        Model.load(folder)
    (folder / "trained_on.bin").unlink()
    _rewrite_sums(folder)
    with pytest.raises(InputError, match=r"trained_on\.bin is missing"):
        Model.load(folder)


def test_what_is_trained_on_grows(tiny_model):
    seen = tiny_model.trained_on
    seen.add("x", articles=["a2", "a1"], posts=["p1"])
    seen.add("y", articles=["a9"])
    seen.add_fingerprints(["ff" * 8, "00" * 8])
    assert seen.plain()["articles"] == {"x": 2, "y": 1}
    assert seen.has_articles("y", ["a9", "a1"]).tolist() == [True, False]
    assert seen.has_fingerprints(["ff" * 8, "01" * 8]).tolist() == [True, False]


def test_a_file_or_another_folder_is_called_so(tmp_path):
    (tmp_path / "file").write_bytes(b"0123456789")
    with pytest.raises(InputError, match="file: is a file; give a folder"):
        Model.load(tmp_path / "file")
    with pytest.raises(
        InputError, match="has no SHA256SUMS, so .* give a folder that training"
    ):
        Model.load(tmp_path)


def test_a_failed_save_leaves_the_old_model(folder, tiny_model):
    before = folder_sha256(folder)
    tiny_model.config["_target_"] = "x"
    with pytest.raises(ValueError, match="plain values"):
        tiny_model.save(folder, card="")
    assert folder_sha256(folder) == before
    assert [p.name for p in folder.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("folder", [None, 3, b"model"])
def test_what_is_no_path_is_named(folder):
    with pytest.raises(
        InputError, match=f"model folder is {type(folder).__name__}; expected a path"
    ):
        Model.load(folder)
    if folder is not None:
        with pytest.raises(InputError, match=r"expected a path"):
            open_model(folder)


def test_no_folder_is_named(tmp_path):
    with pytest.raises(InputError, match="no such model folder"):
        Model.load(tmp_path / "nothing")
