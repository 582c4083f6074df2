"""Text in, unit vectors out, whatever the text."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news.attention import compiled, ring
from siamese_news.data.collate import length_batches, pad, word_blocks
from siamese_news.encoders import (
    CNNEncoder,
    StarEncoder,
    TokenEmbedding,
    WhitenedEncoder,
    build_encoder,
)
from siamese_news.errors import InputError
from siamese_news.model import Model
from siamese_news.text import Tokenizer, Vocabulary

TEXTS = [
    "flood river",
    "the mayor",
    "train strike in the town tonight",
    "boat",
    "help " * 30,
]


def test_vectors_are_unit_float32(tiny_model):
    vectors = tiny_model.encode_posts(TEXTS)
    assert vectors.shape == (5, tiny_model.output_dim)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(
    "text", ["", " ", "🔥👩‍🚒", "qqqq xxxx", "\x00\ud800", "https://t.co/x"]
)
def test_a_text_without_a_known_word_gives_zeros(tiny_model, text):
    assert not tiny_model.encode_posts([text]).any()


def test_an_encoder_with_a_bias_gives_zeros_too(tiny_model):
    tiny_model.encoder = CNNEncoder(input_dim=8, filters=3, output_dim=5)
    vectors = tiny_model.encode_posts(["ไม่รู้จัก", "flood river", "..."])
    assert not vectors[[0, 2]].any() and vectors[1].any()


def test_a_post_of_a_million_characters_is_cut_not_fatal(tiny_model):
    long = tiny_model.encode_posts(["flood river " * 100_000])
    np.testing.assert_allclose(
        long, tiny_model.encode_posts(["flood river " * 10]), atol=1e-6
    )


def test_nothing_gives_an_empty_matrix(tiny_model):
    assert tiny_model.encode_posts([]).shape == (0, tiny_model.output_dim)


def test_order_and_batch_size_do_not_matter(tiny_model):
    vectors = tiny_model.encode_posts(TEXTS)
    np.testing.assert_allclose(
        tiny_model.encode_posts(TEXTS[::-1])[::-1], vectors, atol=1e-6
    )
    np.testing.assert_allclose(
        tiny_model.encode_posts(TEXTS, batch_tokens=1), vectors, atol=1e-6
    )
    alone = np.vstack([tiny_model.encode_posts([text]) for text in TEXTS])
    np.testing.assert_allclose(alone, vectors, atol=1e-6)


def test_which_end_is_kept(tiny_model):
    text = "flood " * 20 + "fire " * 20
    first = tiny_model.encode_posts([text])
    tiny_model.limits["keep"] = "last"
    last = tiny_model.encode_posts([text])
    np.testing.assert_allclose(first, tiny_model.encode_posts(["flood"]), atol=1e-6)
    np.testing.assert_allclose(last, tiny_model.encode_posts(["fire"]), atol=1e-6)


def test_one_text_is_a_list_of_one(tiny_model):
    for encode in (
        tiny_model.encode,
        tiny_model.encode_posts,
        tiny_model.encode_articles,
    ):
        np.testing.assert_array_equal(encode("flood"), encode(["flood"]))


def test_what_is_no_text_is_refused(tiny_model):
    with pytest.raises(InputError, match="item 1 is float"):
        tiny_model.encode_posts(["flood", float("nan")])


@pytest.mark.parametrize(
    "texts", [None, 5, {"flood"}, {"flood": 1}, (word for word in ["flood"])]
)
def test_what_is_no_list_of_texts_is_named(tiny_model, texts):
    kind = type(texts).__name__
    with pytest.raises(
        InputError, match=f"encode_posts got {kind}; expected a list of texts"
    ):
        tiny_model.encode_posts(texts)


def test_an_array_of_texts_is_a_list(tiny_model):
    assert tiny_model.encode_posts(np.array(["flood", "storm"])).shape[0] == 2


def test_an_unknown_side_or_precision_is_refused(tiny_model):
    with pytest.raises(
        InputError, match="side is 'articles'; expected one of article, post"
    ):
        tiny_model.encode(["flood"], side="articles")
    with pytest.raises(
        InputError, match="precision is 'half'; expected one of float32, bfloat16"
    ):
        tiny_model.encode_posts(["flood"], precision="half")


def test_encoding_leaves_the_training_mode_alone(tiny_model):
    tiny_model.train()
    tiny_model.encode_posts(["flood"])
    assert tiny_model.training


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 100))
@settings(deadline=None)
def test_batches_hold_every_row_once_and_keep_the_budget(lengths, budget):
    batches = list(length_batches(lengths, budget))
    assert sorted(row for batch in batches for row in batch) == list(
        range(len(lengths))
    )
    for batch in batches:
        width = max(max(lengths[row] for row in batch), 1)
        assert len(batch) == 1 or len(batch) * width <= budget


def star_model(cycles=2):
    """A star encoder behind a projection, with weights for its words."""
    torch.manual_seed(0)
    options = {"heads": 2, "head_dim": 4, "residual": "add", "pooling": "idf_relay"}
    return Model(
        tokenizer=Tokenizer(),
        vocabulary=Vocabulary([f"word{row}" for row in range(9)], unknown="hash"),
        embedding=TokenEmbedding(
            torch.randn(9, 5),
            trainable=False,
            token_weights=torch.rand(9),
            project_to=8,
        ),
        encoder=StarEncoder(
            input_dim=8, cycles=cycles, context_includes_embedding=True, **options
        ),
        limits={"article_tokens": 100, "post_tokens": 100, "keep": "first"},
        config={},
    ).eval()


def test_words_looked_up_once_give_what_each_text_gives_alone(monkeypatch):
    model = star_model()
    rng = np.random.default_rng(0)
    lengths = (0, 1, 3, 70, 2, 0, 30)
    texts = [rng.choice([0, 1, 4, 8, 9 + 2**40, 9 + 2**50], size) for size in lengths]
    monkeypatch.setattr("siamese_news.model.siamese.WORD_BLOCK", 100)  # several blocks
    vectors = model.encode_ids(texts, "post", batch_tokens=64)
    with torch.no_grad():
        alone = [model(pad([ids]))[0] for ids in texts]
    expected = torch.nn.functional.normalize(torch.stack(alone), dim=-1).numpy()
    expected[[0, 5]] = 0  # the texts without a word
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


@given(
    st.lists(st.lists(st.integers(0, 2**62), max_size=9), max_size=20),
    st.integers(1, 30),
)
def test_word_blocks_hold_every_text_once(texts, budget):
    arrays = [np.array(text, np.int64) for text in texts]
    seen = {}
    for rows, ids, places in word_blocks(arrays, budget):
        assert 0 in ids
        seen |= {
            row: ids[where].tolist() for row, where in zip(rows, places, strict=True)
        }
    assert seen == dict(enumerate(texts))


def test_vectors_of_the_compiled_loop_are_those_of_the_expressions(monkeypatch):
    model = star_model(1)
    rng = np.random.default_rng(0)
    texts = [
        rng.integers(0, 9, size) for size in (0, 1, 2, 3, 40, 60, 99, 15, 2500, 1030)
    ]
    model.limits["post_tokens"] = None
    vectors = {}
    for loop in (True, False):
        if not loop:
            monkeypatch.setattr(compiled, "library", lambda: (None, "off"))
        for budget in (1, 50, 4096):
            vectors[budget, loop] = model.encode_ids(texts, "post", budget)
    for budget in (1, 50, 4096):
        np.testing.assert_allclose(
            vectors[budget, True], vectors[budget, False], atol=1e-6
        )


@pytest.mark.parametrize("output", [True, False])
def test_vectors_in_bfloat16_are_close(output):
    model = star_model()
    if not output:
        for layer in model.encoder.modules():
            if isinstance(layer, ring.RingAttention):
                layer.output = None
    texts = [
        " ".join(f"word{(row * step) % 9}" for step in range(row)) for row in range(40)
    ]
    vectors = model.encode_posts(texts)
    found = model.encode_posts(texts, precision="bfloat16")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, vectors, atol=0.05)
    assert not np.array_equal(found, vectors)


def test_the_star_in_the_repository_is_whole_and_shares_the_shipped_words():
    folder = Path(__file__).parents[2] / "models" / "star"
    model, shipped = Model.load(folder), Model.pretrained()
    assert model.vocabulary.words == shipped.vocabulary.words
    assert sum(file.stat().st_size for file in folder.iterdir()) < 20e6
    texts = [
        "the river is in my cellar",
        "water rises in our basement",
        "the striker scored twice",
    ]
    vectors = model.encode_posts(texts)
    cosines = vectors @ vectors.T
    assert cosines[0, 1] > cosines[0, 2] + 0.2
    assert cosines[0, 1] > cosines[1, 2] + 0.2


WORDY = [
    " ".join(f"word{(row * step) % 9}" for step in range(row)) for row in range(40)
]


def star_of_a_folder():
    """A star as a folder has it: its config rebuilds it."""
    torch.manual_seed(0)
    config = {"class": "StarEncoder", "heads": 2, "head_dim": 4, "input_dim": 8}
    return Model(
        tokenizer=Tokenizer(),
        vocabulary=Vocabulary([f"word{row}" for row in range(9)], unknown="drop"),
        embedding=TokenEmbedding(torch.randn(9, 8), trainable=False),
        encoder=build_encoder(config),
        limits={"article_tokens": 100, "post_tokens": 100, "keep": "first"},
        config=config,
    ).eval()


def test_a_whitened_model_comes_back_from_its_folder(tmp_path):
    model = star_of_a_folder()
    plain = model.encode_posts(WORDY)
    config = dict(model.config)
    model.whiten(WORDY, power=0.3)
    vectors = model.encode_posts(WORDY)
    assert np.abs(vectors.mean(0)).max() < np.abs(plain.mean(0)).max()
    assert not vectors[0].any()  # a text without a word
    model.save(tmp_path / "whitened", card="# Whitened")
    loaded = Model.load(tmp_path / "whitened")
    np.testing.assert_allclose(loaded.encode_posts(WORDY), vectors, atol=1e-6)
    loaded.undo_whitening()
    np.testing.assert_allclose(loaded.encode_posts(WORDY), plain, atol=1e-6)
    assert loaded.config == config
    loaded.undo_whitening()  # there is none
    assert loaded.config == config


def test_what_cannot_be_whitened_is_named():
    model = star_model()
    with pytest.raises(InputError, match="do not differ"):
        model.whiten(["nothing known here", ""])
    for power in (2, "x", None, True):
        with pytest.raises(InputError, match=r"expected a number from 0 to 0\.5"):
            model.whiten(WORDY, power=power)
    model.whiten(WORDY)
    with pytest.raises(InputError, match=r"undo_whitening\(\) first"):
        model.whiten(WORDY)


def test_other_vectors_have_no_table_of_relevance():
    shipped = Model.pretrained()
    assert shipped.calibration is not None
    shipped.whiten(["the river is in my cellar", "no trains today", "my cellar"])
    assert shipped.calibration is None


def test_the_star_in_the_repository_is_whitened_and_reads_beginnings_first():
    encoder = Model.load(Path(__file__).parents[2] / "models" / "star").encoder
    assert isinstance(encoder, WhitenedEncoder)
    assert encoder.encoder.lead == 15
