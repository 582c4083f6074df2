"""A Star Transformer without torch has the vectors of the encoder in torch."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from siamese_news.encoders import TokenEmbedding, WhitenedEncoder, build_encoder
from siamese_news.errors import InputError
from siamese_news.model import Model
from siamese_news.model.loading import open_model
from siamese_news.model.star_model import StarModel
from siamese_news.model.text_model import STAR
from siamese_news.text import Tokenizer, Vocabulary
from siamese_news.utils.checksums import write_sums

WORDS = [f"w{n}" for n in range(300)]
OPTIONS = {
    "class": "StarEncoder",
    "input_dim": 12,
    "heads": 3,
    "head_dim": 4,
    "window": 2,
    "cycles": 1,
    "scale": None,
    "bias": True,
    "output_projection": True,
    "pre_norm": True,
    "feed_forward": 4,
    "residual": "block",
    "pooling": "idf_relay",
    "lead": 15.0,
    "dropout": 0.1,
    "sparsity": {"class": "AdaptiveEntmax", "init": "uniform", "backend": "newton"},
}
KINDS = {
    "adaptive": {},
    "softmax": {
        "sparsity": {"class": "Softmax"},
        "residual": "zero_init",
        "pooling": "mean_relay",
        "window": 0,
        "pre_norm": False,
    },
    "sparsemax": {
        "sparsity": {"class": "Sparsemax", "backend": "newton"},
        "residual": "add",
        "cycles": 2,
        "feed_forward": 2,
        "bias": False,
        "lead": None,
    },
    "entmax15": {
        "sparsity": {"class": "Entmax15", "backend": "newton"},
        "residual": "none",
        "output_projection": False,
        "window": 3,
        "feed_forward": 0,
    },
}
LENGTHS = [*range(20), 31, 64, 127, 300, 511, 512]


def star(kind, stored="float32", whiten=False):
    """A random star of a kind, in torch."""
    options = OPTIONS | KINDS[kind]
    torch.manual_seed(3)
    encoder = build_encoder(options)
    with torch.no_grad():
        for name, weight in encoder.named_parameters():
            if "factor" in name or "bias" in name:
                weight.normal_()
    model = Model(
        tokenizer=Tokenizer(words=WORDS),
        vocabulary=Vocabulary(WORDS, unknown="drop"),
        embedding=TokenEmbedding(
            torch.randn(len(WORDS), 12),
            trainable=False,
            token_weights=torch.rand(len(WORDS)),
            unknown_weight=0.0,
            stored=stored,
        ),
        encoder=encoder,
        limits={"article_tokens": None, "post_tokens": None, "keep": "first"},
        config=options,
    ).eval()
    if whiten:
        model.whiten(texts_of([5] * 60))
    return model


def texts_of(lengths):
    rng = np.random.default_rng(1)
    return [" ".join(rng.choice(WORDS, length)) for length in lengths]


@pytest.mark.parametrize("kind", KINDS)
def test_the_vectors_are_those_of_torch(kind, tmp_path):
    stored = "int8" if kind == "adaptive" else "float32"
    model = star(kind, stored, whiten=kind in ("adaptive", "sparsemax"))
    model.save(tmp_path / "m", card="# card")
    light = open_model(tmp_path / "m")
    assert isinstance(light, StarModel)
    full = Model.load(tmp_path / "m")
    texts = texts_of(LENGTHS)
    expected = full.encode_posts(texts)
    np.testing.assert_allclose(light.encode_posts(texts), expected, atol=1e-5)
    assert not light.encode_posts([""]).any()
    weights = full.weights()
    for name, array in light.weights().items():
        np.testing.assert_allclose(array.ravel(), weights[name].ravel(), atol=1e-6)


def test_the_star_that_ships():
    words = open_model(STAR).vocabulary.words
    rng = np.random.default_rng(2)
    texts = [" ".join(rng.choice(words, n)) for n in (*range(0, 90, 7), 200, 512)]
    light, full = open_model(STAR), Model.load(STAR)
    for side in ("encode_posts", "encode_articles"):
        expected = getattr(full, side)(texts)
        np.testing.assert_allclose(getattr(light, side)(texts), expected, atol=1e-5)
    assert isinstance(full.encoder, WhitenedEncoder)


def test_a_vector_has_the_same_bits_whatever_is_encoded_with_it():
    light = open_model(STAR)
    texts = [
        f"the river took bridge {n} and " + "the cellar " * (n % 9) for n in range(200)
    ]
    together = light.encode_posts(texts)
    order = np.random.default_rng(0).permutation(len(texts))
    parts = [
        light.encode_posts([texts[row] for row in order[s : s + 7]])
        for s in range(0, 200, 7)
    ]
    assert (np.concatenate(parts) == together[order]).all()
    assert (light.encode_posts(texts[5]) == together[5]).all()


def test_a_search_with_the_star_imports_no_torch(tmp_path):
    code = (
        "import sys; from siamese_news import Searcher; "
        "Searcher().rank(['A river floods a town.'], ['the river is in my cellar']); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heads": 5}, "do not fit"),
        ({"cycles": 2}, "do not fit"),
        ({"input_dim": 8}, "expected"),
        ({"window": 10**9}, "window"),
    ],
)
def test_options_that_the_weights_do_not_fit(tmp_path, change, message):
    folder = tmp_path / "m"
    star("adaptive").save(folder, card="# card")
    config = json.loads((folder / "config.json").read_text())
    config["encoder"] |= change
    (folder / "config.json").write_text(json.dumps(config))
    write_sums(folder)
    with pytest.raises(InputError, match=message):
        open_model(folder)


def test_an_explanation_is_that_of_torch(tmp_path):
    model = star("adaptive")
    model.save(tmp_path / "m", card="# card")
    light = open_model(tmp_path / "m")
    ids = light.ids("w1 w2 w3")
    towards = np.ones(12)
    np.testing.assert_allclose(
        light.contributions(ids, towards), model.contributions(ids, towards), atol=1e-6
    )
