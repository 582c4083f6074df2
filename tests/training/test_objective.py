"""The objective against naive loops, and the library traps that cost others weeks."""

from pathlib import Path

import pytest
import torch
from hydra import compose, initialize_config_module
from hydra.utils import instantiate
from omegaconf import OmegaConf
from pytorch_metric_learning import distances, losses, miners

from siamese_news.training.objective import SiameseObjective

CONF = Path(__file__).parents[2] / "conf" / "objective"


def _batch(seed=0, articles=4, posts_each=2, size=6):
    generator = torch.Generator().manual_seed(seed)
    a = torch.randn(articles, size, generator=generator, dtype=torch.float64)
    labels = torch.arange(articles)
    post_labels = labels.repeat_interleave(posts_each)
    p = a[post_labels] + torch.randn(
        len(post_labels), size, generator=generator, dtype=torch.float64
    )
    return a, p, labels, post_labels


def _triplet(margin, power, normalize, **options):
    return SiameseObjective(
        loss=losses.TripletMarginLoss(
            margin=margin,
            distance=distances.LpDistance(
                p=2, power=power, normalize_embeddings=normalize
            ),
        ),
        **options,
    )


def test_equation_7_is_squared_and_unnormalized():
    a, p, y, z = _batch()
    violations = []
    for i in range(len(a)):
        for j in range(len(p)):
            for k in range(len(p)):
                if z[j] == y[i] and z[k] != y[i]:
                    d = (
                        (a[i] - p[j]).square().sum()
                        - (a[i] - p[k]).square().sum()
                        + 2.0
                    )
                    violations.append(max(d.item(), 0.0))
    active = [v for v in violations if v > 0]
    assert 0 < len(active) < len(violations)
    loss = _triplet(2.0, 2, False)(a, p, y, z)
    assert loss.item() == pytest.approx(sum(active) / len(active), rel=1e-10)


def test_the_released_code_normalizes_and_lets_both_sides_anchor():
    a, p, y, z = _batch()
    e = torch.nn.functional.normalize(torch.cat([a, p]), dim=-1)
    labels = torch.cat([y, z])
    violations = []
    for i in range(len(e)):
        for j in range(len(e)):
            for k in range(len(e)):
                if i != j and labels[i] == labels[j] and labels[i] != labels[k]:
                    v = (e[i] - e[j]).norm() - (e[i] - e[k]).norm() + 0.075
                    violations.append(max(v.item(), 0.0))
    active = [v for v in violations if v > 0]
    loss = _triplet(0.075, 1, True, anchors="both")(a, p, y, z)
    assert loss.item() == pytest.approx(sum(active) / len(active), rel=1e-9)


def test_posts_can_anchor():
    a, p, y, z = _batch()
    swapped = _triplet(2.0, 2, False, anchors="articles")(p, a, z, y)
    assert _triplet(2.0, 2, False, anchors="posts")(a, p, y, z).item() == swapped.item()


@pytest.mark.parametrize("mined", [False, True])
def test_one_label_object_for_both_sides_loses_no_pair(mined):
    """With the same tensor object the library drops the diagonal, that is every true pair."""
    a, p, y, _ = _batch(posts_each=1)
    miner = miners.MultiSimilarityMiner(epsilon=0.1) if mined else None
    objective = _triplet(5.0, 2, False, miner=miner)
    same = objective(a, p, y, y)
    assert same.item() == objective(a, p, y, y.clone()).item()
    assert same.item() > 0


def test_the_multi_similarity_miner_keeps_what_its_definition_keeps():
    a, p, y, z = _batch(articles=6, posts_each=3)
    na, np_ = (torch.nn.functional.normalize(x, dim=-1) for x in (a, p))
    s = na @ np_.T
    keep_pos, keep_neg = set(), set()
    for i in range(len(a)):
        positives = [j for j in range(len(p)) if z[j] == y[i]]
        negatives = [j for j in range(len(p)) if z[j] != y[i]]
        hardest_neg = max(s[i, j] for j in negatives)
        hardest_pos = min(s[i, j] for j in positives)
        keep_pos |= {(i, j) for j in positives if s[i, j] - 0.1 < hardest_neg}
        keep_neg |= {(i, j) for j in negatives if s[i, j] + 0.1 > hardest_pos}
    a1, pos, a2, neg = miners.MultiSimilarityMiner(epsilon=0.1)(a, y, p, z)
    assert set(zip(a1.tolist(), pos.tolist(), strict=True)) == keep_pos
    assert set(zip(a2.tolist(), neg.tolist(), strict=True)) == keep_neg


def test_unknown_anchor_side_names_the_choices():
    with pytest.raises(ValueError, match=r"articles.*posts.*both"):
        SiameseObjective(loss=losses.TripletMarginLoss(), anchors="tweets")


@pytest.mark.parametrize(
    "path", sorted(CONF.glob("*.yaml")), ids=lambda path: path.stem
)
def test_every_objective_gives_a_finite_loss_and_gradients(path):
    objective = instantiate(OmegaConf.load(path))
    a, p, y, z = _batch(articles=8)
    a.requires_grad_()
    p.requires_grad_()
    loss = objective(a, p, y, z)
    loss.backward()
    assert torch.isfinite(loss)
    assert loss.item() > 0
    assert a.grad.abs().sum() > 0
    assert p.grad.abs().sum() > 0


@pytest.mark.parametrize(
    "path", sorted(CONF.glob("*.yaml")), ids=lambda path: path.stem
)
def test_collapsed_and_zero_vectors_stay_finite(path):
    objective = instantiate(OmegaConf.load(path))
    a = torch.zeros(3, 4, requires_grad=True)
    p = torch.zeros(6, 4, requires_grad=True)
    loss = objective(a, p, torch.arange(3), torch.arange(3).repeat_interleave(2))
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(a.grad).all()
    assert torch.isfinite(p.grad).all()


@pytest.mark.parametrize("anchors", ["articles", "posts", "both"])
@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_what_was_mined_is_counted(anchors, kind):
    a, p, y, z = _batch(articles=6, posts_each=3)
    miner = (
        miners.MultiSimilarityMiner(epsilon=0.1)
        if kind == "pairs"
        else miners.TripletMarginMiner(margin=0.5, type_of_triplets="all")
    )
    objective = _triplet(2.0, 2, False, miner=miner, anchors=anchors)
    objective(a, p, y, z)
    if anchors == "both":
        sides = torch.cat([a, p]), torch.cat([y, z])
        found = miner(*sides)
        labels, others = sides[1], sides[1]
    else:
        order = [(a, y), (p, z)] if anchors == "articles" else [(p, z), (a, y)]
        (x, labels), (w, others) = order
        found = miner(x, labels, w, others)
    sides = (found[1], found[2]) if kind == "triplets" else (found[1], found[3])
    assert objective.mined == tuple(map(len, sides)) and min(objective.mined) > 0


def test_the_miner_of_the_paper_is_active():
    """``experiment=usatoday_paper`` as composed: it mines some of the triplets, not all."""
    with initialize_config_module("siamese_news.conf", version_base="1.3"):
        config = compose("train", overrides=["experiment=usatoday_paper"])
    assert config.objective.miner._target_.endswith("MultiSimilarityMiner")
    objective = instantiate(OmegaConf.to_container(config.objective))
    a, p, y, z = _batch(articles=12, posts_each=1)
    objective(a, p, y, z)
    assert (
        0 < objective.mined.positives <= 12 and 0 < objective.mined.negatives < 12 * 11
    )
    # Every triplet that was not mined is absent from the loss.
    mined = objective.miner(a, y, p, z)
    kept = {
        (i, j, k)
        for i, j in zip(*(side.tolist() for side in mined[:2]), strict=True)
        for m, k in zip(*(side.tolist() for side in mined[2:]), strict=True)
        if m == i
    }
    margin = config.objective.loss.margin
    violations = [
        (a[i] - p[j]).square().sum() - (a[i] - p[k]).square().sum() + margin
        for i, j, k in kept
    ]
    active = [float(v) for v in violations if v > 0]
    assert objective(a, p, y, z).item() == pytest.approx(
        sum(active) / len(active), rel=1e-9
    )


def test_the_default_objective_is_that_of_the_paper():
    with initialize_config_module("siamese_news.conf", version_base="1.3"):
        default = compose("train").objective
        demo = compose("train", overrides=["experiment=demo"]).objective
        best = compose("train", overrides=["experiment=usatoday_best"]).objective
    assert default == OmegaConf.load(CONF / "paper.yaml")
    assert demo == best == OmegaConf.load(CONF / "ntxent.yaml")
