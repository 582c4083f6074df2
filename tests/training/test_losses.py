"""Which losses of pytorch-metric-learning train with which anchors: the table of docs/train.md."""

import inspect
import re
from pathlib import Path

import pytest
import torch
from pytorch_metric_learning import losses

from siamese_news.errors import InputError
from siamese_news.training.objective import SiameseObjective

PAGE = Path(__file__).parents[2] / "docs" / "train.md"
ARTICLES, DIM = 6, 8
# Arguments without a default: how many articles there are, and the size of a vector.
NEEDED = {
    **dict.fromkeys(("num_classes",), ARTICLES),
    **dict.fromkeys(("embedding_size", "descriptors_dim", "l"), DIM),
    "margin": 0.5,
    "Tn": 1.0,
}
# Bases, wrappers of another loss, and mix-ins.
OTHERS = "BaseMetricLossFunction GenericPairLoss BaseLossWrapper MultipleLosses CrossBatchMemory"
OTHERS += " SelfSupervisedLoss EmbeddingRegularizerMixin WeightRegularizerMixin"


def table():
    """Anchors -> the losses that the page lists for them."""
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition("## Losses and miners")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]*`|none) \| ((?:`\w+`(?:, )?)+) \|$", section, re.M)
    return {anchors: set(re.findall(r"\w+", names)) for anchors, names in rows}


def every_loss():
    classes = {name: one for name, one in vars(losses).items() if inspect.isclass(one)}
    return {name: one for name, one in classes.items() if name not in OTHERS.split()}


def made(name):
    parameters = inspect.signature(every_loss()[name]).parameters
    needed = {
        key: NEEDED[key]
        for key, parameter in parameters.items()
        if key in NEEDED and parameter.default is parameter.empty
    }
    if name in ("CosFaceLoss", "SubCenterArcFaceLoss"):
        needed = {"num_classes": ARTICLES, "embedding_size": DIM}
    return every_loss()[name](**needed)


def test_the_page_lists_every_loss_once():
    lists = list(table().values())
    assert set().union(*lists) ^ set(every_loss()) == set()
    assert sum(map(len, lists)) == len(every_loss())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(every_loss()))
def test_a_loss_trains_with_the_anchors_that_the_page_says(name):
    (allowed,) = (anchors for anchors, names in table().items() if name in names)
    for anchors in ("articles", "posts", "both"):
        torch.manual_seed(0)
        articles = torch.randn(ARTICLES, DIM, requires_grad=True)
        posts = torch.randn(2 * ARTICLES, DIM, requires_grad=True)
        labels = torch.arange(ARTICLES)
        batch = articles, posts, labels, labels.repeat_interleave(2)
        if f"`{anchors}`" not in allowed:
            with pytest.raises(InputError, match=rf"objective\.loss={name}: .*anchors"):
                SiameseObjective(loss=made(name), anchors=anchors)(*batch)
            continue
        loss = SiameseObjective(loss=made(name), anchors=anchors)(*batch)
        loss.backward()
        assert torch.isfinite(loss)
        assert articles.grad.abs().sum() > 0 and posts.grad.abs().sum() > 0


def test_a_batch_of_one_article_is_refused():
    objective = SiameseObjective(loss=losses.NTXentLoss())
    with pytest.raises(
        InputError, match="2 posts of one article, so none has a negative"
    ):
        objective(torch.randn(1, 4), torch.randn(2, 4), torch.zeros(1), torch.zeros(2))
