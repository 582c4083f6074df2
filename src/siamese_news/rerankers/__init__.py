"""Rankers of short posts for a keyword query: samCNN and MP-HCNN. Needs torch only."""

from collections.abc import Mapping
from typing import Any

from torch import nn

from siamese_news.errors import InputError
from siamese_news.rerankers.mphcnn import MPHCNN
from siamese_news.rerankers.pair import Pair
from siamese_news.rerankers.samcnn import BiCNN, Combined, PAtt, QAtt, SamCNN

RANKERS: dict[str, type[nn.Module]] = {
    "BiCNN": BiCNN,
    "QAtt": QAtt,
    "PAtt": PAtt,
    "Combined": Combined,
    "MPHCNN": MPHCNN,
}
"""The rankers by the names that a model folder may contain; a test checks that conf/ has them."""


def build_ranker(config: Mapping[str, Any]) -> nn.Module:
    """Build a ranker from plain values.

    Args:
        config: ``class``, a name in `RANKERS`, and the keyword arguments of that class.

    Raises:
        InputError: for an unknown class, or arguments that it does not have.
    """
    options = dict(config)
    name = options.pop("class", None)
    if name not in RANKERS:
        raise InputError(f"ranker class is {name!r}; expected one of {', '.join(RANKERS)}")
    try:
        return RANKERS[name](**options)
    except TypeError as error:
        raise InputError(f"ranker {name}: {error}; correct the ranker's options") from error


__all__ = [
    "MPHCNN",
    "RANKERS",
    "BiCNN",
    "Combined",
    "PAtt",
    "Pair",
    "QAtt",
    "SamCNN",
    "build_ranker",
]
