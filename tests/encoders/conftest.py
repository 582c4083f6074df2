"""What the encoder tests share."""

from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf
from tests.composed import option

import siamese_news.conf

CONF = Path(siamese_news.conf.__file__).parent


def small(name: str, sparsity: str, input_dim: int) -> dict:
    """The plain values of one conf/encoder file, with sizes fit for a test."""
    options = option("encoder", name)
    inner = OmegaConf.to_container(OmegaConf.load(CONF / f"sparsity/{sparsity}.yaml"))
    inner.pop("_partial_")
    inner["class"] = inner.pop("_target_").split(".")[-1]
    options["class"] = options.pop("_target_").split(".")[-1]
    sizes = {
        "heads": 3,
        "head_dim": 2,
        "output_dim": 5,
        "hidden_dim": 4,
        "filters": 3,
        "cycles": 2,
    }
    context = options.get("context")
    if context is not None:
        context.pop("_partial_")
        context["class"] = context.pop("_target_").split(".")[-1]
    for part in (options, context or {}):
        for key, value in sizes.items():
            if part.get(key) is not None:
                part[key] = value
        if "sparsity" in part:
            part["sparsity"] = inner
    return {"input_dim": input_dim, **options}


@pytest.fixture
def texts():
    """A function that makes a ragged batch: embeddings (B, S, E), mask and weights (B, S)."""

    def make(lengths, dim=6, seed=0, dtype=torch.float64, extra=0, garbage=0.0):
        generator = torch.Generator().manual_seed(seed)
        width = max(lengths) + extra
        rows = [torch.randn(n, dim, generator=generator, dtype=dtype) for n in lengths]
        embeddings = torch.full((len(lengths), width, dim), garbage, dtype=dtype)
        mask = torch.zeros(len(lengths), width, dtype=torch.bool)
        for row, text in enumerate(rows):
            embeddings[row, : len(text)] = text
            mask[row, : len(text)] = True
        weights = (
            torch.arange(1, width + 1, dtype=dtype).sqrt().expand(len(lengths), -1)
        )
        return embeddings, mask, weights * mask

    return make


@pytest.fixture
def config():
    return small
