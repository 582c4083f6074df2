"""Gradient caching: the gradient of the whole batch, from parts that are encoded twice."""

from functools import partial

import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from siamese_news.encoders import TokenEmbedding, build_encoder
from siamese_news.model import Model
from siamese_news.text import Tokenizer, Vocabulary
from siamese_news.training.module import SiameseModule

CONF = "conf/objective"
WORDS = [f"w{number}" for number in range(60)]


def module(cache, objective, tokens):
    torch.manual_seed(0)
    model = Model(
        tokenizer=Tokenizer(words=WORDS),
        vocabulary=Vocabulary(WORDS, unknown="drop"),
        embedding=TokenEmbedding(torch.randn(len(WORDS), 6), trainable=True),
        encoder=build_encoder(
            "star_paper", input_dim=6, heads=2, head_dim=3, dropout=0.2
        ),
        limits={"article_tokens": 30, "post_tokens": 10, "keep": "first"},
        config={},
    ).double()
    options = OmegaConf.load(f"{CONF}/{objective}.yaml")
    options.cache = cache
    found = SiameseModule(
        model=model,
        objective=instantiate(options),
        batch_tokens=tokens,
        optimizer=partial(torch.optim.SGD, lr=0.1),
    )
    found.log = lambda *_, **__: None
    return found.train()


def batch():
    generator = torch.Generator().manual_seed(1)
    ids = [
        torch.randint(0, 60, (count, width), generator=generator)
        for count, width in ((7, 30), (21, 10))
    ]
    for side in ids:
        for row, length in zip(
            side, torch.randint(1, side.shape[1], (len(side),)), strict=True
        ):
            row[length:] = -1
    labels = torch.arange(7)
    return {
        "article_ids": ids[0],
        "post_ids": ids[1],
        "article_labels": labels,
        "post_labels": labels.repeat_interleave(3),
    }


@pytest.mark.parametrize("objective", ["ntxent", "paper", "reference"])
@pytest.mark.parametrize("tokens", [40, 10**6])
def test_the_gradient_is_that_of_the_whole_batch(objective, tokens):
    rows = batch()
    losses, gradients = [], []
    for cache in (False, True):
        own = module(cache, objective, tokens)
        torch.manual_seed(2)  # of dropout, which the second encoding repeats
        loss = own.training_step(rows, 0)
        loss.backward()
        losses.append(loss.item())
        gradients.append({name: p.grad for name, p in own.named_parameters()})
    assert losses[0] == losses[1] != 0
    assert sum(expected.abs().sum() for expected in gradients[0].values()) > 0
    for name, expected in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], expected, rtol=1e-9, atol=1e-12)


def test_the_second_encoding_has_the_precision_of_the_first():
    own, seen = module(True, "ntxent", 40).float(), []

    def note(*_):
        seen.append((torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")))

    own.model.encoder.register_forward_pre_hook(note)
    with torch.autocast("cpu", torch.bfloat16):
        loss = own.training_step(batch(), 0)
    first = len(seen)
    loss.backward()
    assert len(seen) == 2 * first > 0
    assert set(seen) == {(True, torch.bfloat16)}


def test_what_a_part_holds_is_not_kept():
    """Tensors that autograd keeps until the backward pass: those of the vectors alone."""
    kept = []
    for cache in (False, True):
        own, sizes = module(cache, "ntxent", 40), []

        def pack(tensor, sizes=sizes):
            sizes.append(tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            own.training_step(batch(), 0)
        kept.append(sum(sizes))
    assert kept[1] < kept[0] / 5
