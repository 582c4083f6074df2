"""Vectors that are cut, and encoding in several processes."""

from pathlib import Path

import numpy as np
import pytest
import torch
from pytorch_metric_learning import losses

from siamese_news import InputError, Model
from siamese_news.model import text_model
from siamese_news.training.objective import SiameseObjective

STAR = Path(__file__).parents[2] / "models" / "star"
POSTS = ["the river is in my cellar", "no trains today", "", "smoke over the mill"]


@pytest.fixture(scope="module")
def star():
    return Model.load(STAR)


def test_cut_vectors_are_the_beginnings_and_are_saved(star, tmp_path):
    whole = star.encode_posts(POSTS)
    for model in (Model.load(STAR), Model.pretrained()):
        whole = model.encode_posts(POSTS)
        model.truncate(20)
        cut = model.encode_posts(POSTS)
        lengths = np.linalg.norm(whole[:, :20], axis=1, keepdims=True)
        expected = whole[:, :20] / np.where(lengths, lengths, 1)
        np.testing.assert_allclose(cut, expected, atol=2e-6)
        model.save(tmp_path / "cut", card="# cut")
        opened = Model.load(tmp_path / "cut")
        np.testing.assert_allclose(opened.encode_posts(POSTS), cut, atol=1e-3)
        assert opened.output_dim == 20
    with pytest.raises(InputError, match="truncate: 21; expected 1 to 20"):
        model.truncate(21)


def test_matryoshka_is_the_mean_over_the_beginnings():
    torch.manual_seed(0)
    articles, posts = torch.randn(5, 8), torch.randn(10, 8)
    labels = torch.arange(5)
    batch = labels, labels.repeat_interleave(2)
    loss = losses.NTXentLoss()
    nested = SiameseObjective(loss=loss, matryoshka=[2, 5, 8])(articles, posts, *batch)
    plain = SiameseObjective(loss=loss)
    parts = [plain(articles[:, :n], posts[:, :n], *batch) for n in (2, 5, 8)]
    torch.testing.assert_close(nested, sum(parts) / 3)
    with pytest.raises(InputError, match="the vectors have 8 numbers"):
        SiameseObjective(loss=loss, matryoshka=[2, 9])(articles, posts, *batch)
    for sizes in ([0], [-3, 4], ["8"]):
        with pytest.raises(InputError, match="expected sizes from 1 on"):
            SiameseObjective(loss=loss, matryoshka=sizes)
    proxies = losses.ProxyAnchorLoss(5, 8)
    with pytest.raises(InputError, match="has weights for whole vectors alone"):
        SiameseObjective(loss=proxies, anchors="both", matryoshka=[2])


def test_several_processes_encode_the_same(star, monkeypatch):
    monkeypatch.setattr(text_model, "BLOCK", 64)
    posts = [f"{POSTS[n % 4]} {n} word{n % 7}" for n in range(150)]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as each process has; the last digit depends on it
    try:
        once = star.encode_posts(posts)
    finally:
        torch.set_num_threads(threads)
    np.testing.assert_array_equal(star.encode_posts(posts, processes=2), once)
