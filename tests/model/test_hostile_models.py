"""Model folders with right checksums that ask for far more memory than they have bytes."""

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys

import pytest

from siamese_news.encoders import build_encoder
from siamese_news.errors import InputError
from siamese_news.model import Model
from siamese_news.model.loading import open_model
from siamese_news.model.text_model import PRETRAINED

ENCODERS = {
    "star": {
        "class": "StarEncoder",
        "heads": 2,
        "head_dim": 3,
        "sparsity": {"class": "Softmax"},
    },
    "transformer": {
        "class": "TransformerEncoder",
        "heads": 2,
        "head_dim": 3,
        "hidden_dim": 5,
    },
    "gru": {"class": "GRUEncoder", "hidden_dim": 4},
    "cnn": {"class": "CNNEncoder", "filters": 2, "ngrams": [1, 2], "output_dim": 4},
}


@pytest.fixture
def folders(tmp_path, tiny_model):
    """A small model folder of each encoder."""
    root = tmp_path / "models"
    for name, options in ENCODERS.items():
        config = {"input_dim": tiny_model.embedding.output_dim, **options}
        model = Model(
            embedding=tiny_model.embedding,
            encoder=build_encoder(config),
            tokenizer=tiny_model.tokenizer,
            vocabulary=tiny_model.vocabulary,
            limits=tiny_model.limits,
            config=config,
        )
        model.save(root / name, card="# card")
        Model.load(root / name)
    return root


def sealed(folder, to, change):
    """A changed copy whose checksums are right."""
    shutil.copytree(folder, to)
    change(to)
    names = sorted(path.name for path in to.iterdir() if path.name != "SHA256SUMS")
    sums = (
        f"{hashlib.sha256((to / name).read_bytes()).hexdigest()}  {name}\n"
        for name in names
    )
    if (to / "SHA256SUMS").stat().st_size < 2**16:
        (to / "SHA256SUMS").write_text("".join(sums))
    return to


def config(**changes):
    """A change of `config.json`: values by their dotted names."""

    def change(folder):
        document = json.loads((folder / "config.json").read_text())
        for dotted, value in changes.items():
            part, _, name = dotted.partition("__")
            document[part][name] = value
        (folder / "config.json").write_text(json.dumps(document))

    return change


def header(change):
    """A change of the header of `model.safetensors`."""

    def write(folder):
        path = folder / "model.safetensors"
        content = path.read_bytes()
        size = int.from_bytes(content[:8], "little")
        document = json.loads(content[8 : 8 + size])
        change(document)
        new = json.dumps(document).encode()
        path.write_bytes(len(new).to_bytes(8, "little") + new + content[8 + size :])

    return write


def empty(shape):
    def change(document):
        document["more"] = {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}

    return header(change)


def packed(folder):
    words = (folder / "vocab.txt").read_bytes()
    with gzip.open(folder / "vocab.txt", "wb", compresslevel=9) as stream:
        stream.write(words)
        for _ in range(400):
            stream.write(b"a" * 2**20)


def sparse(name):
    def change(folder):
        os.truncate(folder / name, 2**34)

    return change


HOSTILE = {
    "packed words": ("star", packed),
    "layers": ("transformer", config(encoder__layers=10**6)),
    "cycles": ("star", config(encoder__cycles=10**9)),
    "a wide layer": ("transformer", config(encoder__hidden_dim=10**12)),
    "wider than any": ("transformer", config(encoder__hidden_dim=10**30)),
    "heads": ("star", config(encoder__heads=10**10)),
    "a window": ("star", config(encoder__window=10**9)),
    "hidden states": ("gru", config(encoder__hidden_dim=10**8)),
    "an n-gram": ("cnn", config(encoder__ngrams=[1, 10**10])),
    "many n-grams": ("cnn", config(encoder__ngrams=[1] * 10**5)),
    "vectors": ("star", config(embedding__size=10**13)),
    "a projection": ("star", config(embedding__project_to=10**12)),
    "a shape of no size": ("star", empty([2**62, 0])),
    "many dimensions": ("star", empty([0] * 100)),
    "a long SHA256SUMS": ("star", sparse("SHA256SUMS")),
    "a long config.json": (
        "star",
        lambda f: (f / "config.json").write_bytes(b" " * (2**24 + 1)),
    ),
    "long words": ("star", lambda f: (f / "vocab.txt").write_bytes(b"a" * 10**7)),
    "nested lists": ("star", lambda f: (f / "config.json").write_text("[" * 10**5)),
}

LOAD = """
import resource, sys
from siamese_news.errors import InputError
from siamese_news.model import Model
Model.load(sys.argv[1])  # what a good one takes
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for folder in sys.argv[2:]:
    try:
        Model.load(folder)
        print("LOADED", folder)
    except InputError as error:
        assert folder in str(error), error
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) >> 10, "MiB")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux")
def test_nothing_that_a_folder_asks_for_takes_memory_before_it_is_refused(
    folders, tmp_path
):
    paths = [
        str(sealed(folders / name, tmp_path / str(number), change))
        for number, (name, change) in enumerate(HOSTILE.values())
    ]
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(folders / "star"), *paths],
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    assert "LOADED" not in done.stdout
    assert int(done.stdout.split()[0]) < 150, done.stdout


def test_the_table_of_the_model_that_ships_is_not_made_larger(tmp_path):
    folder = sealed(PRETRAINED, tmp_path / "model", config(embedding__size=10**12))
    document = json.loads((folder / "config.json").read_text())
    document["encoder"]["input_dim"] = 10**12
    (folder / "config.json").write_text(json.dumps(document))
    sealed(folder, tmp_path / "again", lambda folder: None)
    with pytest.raises(InputError, match="config and weights do not fit"):
        open_model(tmp_path / "again")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"terms__texts": 12},
            "texts=12, and a word is in .* expected at least as many texts",
        ),
        (
            {"terms__typical": [1e-9, 100.0]},
            "expected the lengths of posts' vectors, from 0.001",
        ),
        (
            {"terms__typical": [70.0, 1e8]},
            "expected the lengths of posts' vectors, from 0.001",
        ),
    ],
)
def test_numbers_of_the_background_that_cannot_be_are_refused(tmp_path, change, said):
    folder = sealed(PRETRAINED, tmp_path / "changed", config(**change))
    with pytest.raises(InputError, match=said):
        open_model(folder)
