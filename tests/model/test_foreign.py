"""Models of other libraries rank and filter like ours; loading them is refused politely."""

import json
import sys
import types
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from siamese_news.cli import app
from siamese_news.errors import InputError
from siamese_news.model.loading import (
    ExternalModel,
    folder_hash,
    library_of,
    open_model,
)
from siamese_news.scoring import observe_all, open_scorer
from siamese_news.scoring.cosine import CosineScorer
from siamese_news.scoring.mixture import MixtureScorer
from siamese_news.search.searcher import Searcher

WORDS = ["flood", "river", "fire", "smoke"]


class Other(ExternalModel):
    """An encoder of letters, which sees more of a text than its words."""

    def __init__(self):
        self.texts = 0

    def encode_articles(self, texts):
        return self._letters(texts)

    def encode_posts(self, texts):
        self.texts += len(texts)
        return self._letters(texts)

    def _letters(self, texts):
        counts = np.array(
            [[text.count(letter) for letter in "aefimorstw@ "] for text in texts]
        )
        counts = counts.astype(np.float32)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


class Counting:
    """Counts four words, as an encoder of another library would."""

    given: ClassVar[dict] = {}

    def __init__(self, folder, **options):
        Counting.given = options

    @classmethod
    def from_pretrained(cls, folder):
        return cls(folder)

    def encode(self, texts, show_progress_bar):
        return np.array(
            [[text.lower().count(word) for word in WORDS] for text in texts]
        )


@pytest.fixture(params=["sentence_transformers", "model2vec"])
def folder(request, tmp_path, monkeypatch):
    fake = types.ModuleType(request.param)
    fake.SentenceTransformer = fake.StaticModel = Counting
    monkeypatch.setitem(sys.modules, request.param, fake)
    root = tmp_path / "model"
    root.mkdir()
    if request.param == "model2vec":
        (root / "config.json").write_text(json.dumps({"model_type": "model2vec"}))
        (root / "model.safetensors").touch()
    else:
        (root / "modules.json").write_text("[]")
    assert library_of(root) == request.param
    return root


def test_alone_its_scores_are_cosines(folder):
    scorer = open_scorer(ExternalModel(folder), ["flood flood river"], fusion="vectors")
    assert isinstance(scorer, CosineScorer)
    found = scorer.scores(["flood", "fire", ""])[0]
    np.testing.assert_allclose(found, [2 / 5**0.5, 0, 0], atol=1e-6)
    assert found.dtype == np.float32
    assert scorer.observer() is None
    if library_of(folder) == "sentence_transformers":
        assert Counting.given["trust_remote_code"] is False


@pytest.mark.parametrize("library", ["model2vec", "sentence_transformers"])
def test_a_table_of_halves_gives_a_text_without_a_known_word_zeros(tmp_path, library):
    """A real folder of model2vec, which sentence-transformers can read, too."""
    pytest.importorskip(library)
    model2vec = pytest.importorskip("model2vec")
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.models.WordLevel(
        {"[UNK]": 0, "flood": 1, "fire": 2}, unk_token="[UNK]"
    )
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    table = np.array([[0, 0], [3, 4], [1, 0]], np.float16)
    model2vec.StaticModel(table, tokenizer, normalize=True).save_pretrained(
        tmp_path / "m"
    )
    assert library_of(tmp_path / "m") == "model2vec"
    if library == "sentence_transformers":
        (tmp_path / "m" / "config.json").write_text("{}")
        assert library_of(tmp_path / "m") == library
    found = ExternalModel(tmp_path / "m").encode_posts(
        ["flood", "", "zzz", "fire fire"]
    )
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0], [0, 0], [1, 0]], atol=1e-3)


def test_vectors_that_are_no_numbers_are_refused(folder, monkeypatch):
    broken = np.array([[1.0, float("nan")]])
    monkeypatch.setattr(Counting, "encode", lambda *_, **__: broken)
    with pytest.raises(InputError, match="NaN or infinity"):
        ExternalModel(folder).encode_posts(["flood"])


def test_beside_our_words_its_cosines_are_mixed_in(folder):
    """The score before a pool, by hand: the words of the model that ships, and the cosine."""
    model = ExternalModel(folder)
    posts = ["flood", "fire", "", "The river flooded"]
    scorer = open_scorer(model, ["flood flood river"])
    assert isinstance(scorer, MixtureScorer)
    assert scorer.observer() is not None
    ours = open_scorer(open_model(), ["flood flood river"], fusion="words")
    (scale,), surface = ours.scales(), np.zeros((1, len(posts)), np.float32)
    ours.basis.surface.add(surface, ours.token_ids(posts))
    words = ours.scores(posts) - surface
    cosines = open_scorer(model, ["flood flood river"], fusion="vectors").scores(posts)
    share = model.options.dense
    np.testing.assert_allclose(
        scorer.scores(posts),
        (1 - share) * words + scale * share * cosines + surface,
        atol=1e-3,
    )
    np.testing.assert_array_equal(
        open_scorer(model, ["flood"], fusion="words").scores(posts),
        open_scorer(open_model(), ["flood"], fusion="words").scores(posts),
    )


POOL = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in ("", "now", "@x")] + [
    "",
    "new phone",
]


@given(st.permutations(range(len(POOL))), st.integers(1, len(POOL) - 1))
@settings(max_examples=10)
def test_its_scores_do_not_depend_on_the_order_or_the_parts(order, cut):
    """Posts of the same words with other vectors are other posts, and parts can be merged."""
    seeds = ["flood flood river in the town", "fire and smoke"]
    whole = open_scorer(Other(), seeds)
    whole = observe_all(whole, POOL)
    texts = [POOL[place] for place in order]
    first, second = (open_scorer(Other(), seeds).observer() for _ in "ab")
    first.observe(texts[:cut])
    second.observe(texts[cut:])
    first.merge(second.state())
    merged = open_scorer(Other(), seeds).observer()
    merged.merge(first.state())
    restored = merged.settle()
    assert restored.parts_of(POOL[1], 0).neighbors
    np.testing.assert_allclose(restored.scores(POOL), whole.scores(POOL), atol=1e-6)


def test_every_post_is_encoded_once():
    encoder = Other()
    scorer = open_scorer(encoder, ["flood in the river"])
    scorer = observe_all(scorer, POOL)
    scorer.scores(POOL)
    scorer.matched_terms(POOL[:3])
    assert encoder.texts == len(set(POOL))


def test_only_the_first_words_of_an_article_are_read(folder):
    model = ExternalModel(folder)
    assert not model.encode_articles(["word " * 150 + "flood"]).any()
    assert model.encode_posts(["word " * 150 + "flood"]).any()


def test_rank_takes_it_and_explain_says_why_not(folder, tmp_path):
    (tmp_path / "a.txt").write_text("Flood\nThe river rose.")
    rows = [{"id": "1", "text": "flood now"}, {"id": "2", "text": "smoke"}]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    common = [
        "--model",
        folder,
        "--articles",
        tmp_path / "a.txt",
        "--posts",
        tmp_path / "p.jsonl",
    ]
    common = list(map(str, common))
    result = CliRunner().invoke(app, ["rank", *common, "--format", "trec"])
    assert result.exit_code == 0, result.output
    assert result.stdout.split()[2] == "1"
    result = CliRunner().invoke(app, ["explain", *common, "--post", "1"])
    assert result.exit_code == 2
    assert "not explain" in result.output


def test_filter_takes_it_and_knows_it_again(folder, tmp_path):
    (tmp_path / "a.txt").write_text("Flood\nThe river rose.")
    (tmp_path / "p.jsonl").write_text(
        '{"id": "1", "text": "flood now"}\n{"id": "2", "text": ""}\n'
    )
    out = tmp_path / "out.jsonl"
    command = [
        "filter",
        "--model",
        folder,
        "--articles",
        tmp_path / "a.txt",
        "--posts",
        tmp_path / "p.jsonl",
        "--min-score",
        0.05,
        "--out",
        out,
    ]
    result = CliRunner().invoke(app, list(map(str, command)))
    assert result.exit_code == 0, result.output
    assert [json.loads(line)["post"] for line in out.read_text().splitlines()] == ["1"]
    meta = json.loads((tmp_path / "out.jsonl.meta.json").read_text())
    assert meta["provenance"]["model"]["library"] == library_of(folder)
    before = folder_hash(folder)
    assert meta["provenance"]["model"]["sha256"] == before
    (folder / "more").mkdir()
    (folder / "more" / "weights").write_text("1")
    assert folder_hash(folder) != before


@pytest.mark.parametrize("opened", [False, True])
def test_a_searcher_takes_it_and_says_why_it_cannot_explain(folder, opened):
    searcher = Searcher(ExternalModel(folder) if opened else str(folder))
    posts = ["smoke", "flood now", "river"]
    found = searcher.rank(["flood flood river"], posts, top=2, fusion="vectors")
    assert [row["post_id"] for row in found] == ["1", "2"]
    assert found[0]["score"] == pytest.approx(2 / 5**0.5, abs=1e-6)
    assert len(searcher.filter(["flood"], posts, min_score=0.5, fusion="vectors")) == 1
    with pytest.raises(InputError, match=rf"{folder}: .*not explain"):
        searcher.explain(["flood"], posts)


def test_a_folder_of_no_library_and_a_missing_library_are_named(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"modules\.json"):
        ExternalModel(tmp_path)
    (tmp_path / "modules.json").write_text("[]")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(InputError, match=r"pip install .siamese-news\[bench\]"):
        ExternalModel(tmp_path)


class Prompted(Counting):
    """A model that asks for other words before a query than before a document."""

    def encode_query(self, texts, show_progress_bar):
        return self.encode([f"flood {text}" for text in texts], show_progress_bar)

    def encode_document(self, texts, show_progress_bar):
        return self.encode([f"smoke {text}" for text in texts], show_progress_bar)


def test_a_searcher_puts_the_models_prompts_before_articles_and_posts(
    tmp_path, monkeypatch
):
    """Articles are queries and posts are documents, for a model that tells them apart."""
    fake = types.ModuleType("sentence_transformers")
    fake.SentenceTransformer = Prompted
    monkeypatch.setitem(sys.modules, "sentence_transformers", fake)
    (tmp_path / "modules.json").write_text("[]")
    found = Searcher(tmp_path).rank(
        ["river"], ["river", "river flood", "fire"], top=3, fusion="vectors"
    )
    # The article is read as "flood river", the posts as "smoke river", and so on.
    assert [row["post_id"] for row in found] == ["1", "0", "2"]
    scores = [row["score"] for row in found]
    assert scores == pytest.approx([2 / 6**0.5, 1 / 2, 0], abs=1e-6)


@pytest.mark.parametrize("method", ["encode_articles", "encode_posts"])
def test_one_text_is_not_read_letter_by_letter(folder, method):
    encode = getattr(ExternalModel(folder), method)
    np.testing.assert_array_equal(encode("flood"), encode(["flood"]))


def test_a_config_of_endless_brackets_is_no_model(tmp_path):
    (tmp_path / "config.json").write_text("[" * 100_000 + "]" * 100_000)
    assert library_of(tmp_path) is None
