"""The bag against a loop over its words."""

import pytest
import torch

from siamese_news.encoders import build_encoder
from siamese_news.errors import InputError

BAGS = (
    {"class": "BagEncoder", "input_dim": 6, "weighting": "idf", "output_dim": None},
    {"class": "BagEncoder", "input_dim": 6, "weighting": "mean", "output_dim": None},
    {
        "class": "TwoHeadEncoder",
        "input_dim": 6,
        "context": None,
        "sparsity": {"class": "Softmax"},
    },
)


@pytest.mark.parametrize("config", BAGS)
@pytest.mark.parametrize("lead", [None, 2.5])
def test_a_bag_is_the_weighted_mean_of_its_words(texts, config, lead):
    bag = build_encoder({**config, "lead": lead}).double()
    embeddings, mask, weights = texts([4, 1, 7], extra=2, garbage=9.0)
    found = bag(embeddings, mask, weights)
    for row, length in enumerate([4, 1, 7]):
        shares = []
        for place in range(length):
            share = float(weights[row, place]) if bag.uses_weights else 1.0
            shares.append(share if lead is None else share / (1 + place / lead))
        words = (share * embeddings[row, place] for place, share in enumerate(shares))
        torch.testing.assert_close(
            found[row], sum(words) / sum(shares), rtol=0, atol=1e-12
        )


@pytest.mark.parametrize("config", BAGS)
def test_a_place_that_counts_half_lies_above_zero(config):
    with pytest.raises(InputError, match="lead=0"):
        build_encoder({**config, "lead": 0})


def test_a_context_has_its_own_pooling():
    star = {"class": "StarEncoder", "heads": 2, "head_dim": 3, "pooling": "idf_relay"}
    with pytest.raises(InputError, match="no context"):
        build_encoder({**BAGS[2], "context": star, "lead": 3.0})
