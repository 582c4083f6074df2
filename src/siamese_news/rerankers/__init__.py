"""samCNN, the rankers of short posts for a keyword query. They need torch alone."""

from collections.abc import Mapping
from typing import Any

from torch import nn

from siamese_news.errors import InputError
from siamese_news.rerankers.pair import Pair
from siamese_news.rerankers.samcnn import BiCNN, PAtt, QAtt, SamCNN
from siamese_news.utils.plugins import find_class

RANKERS: dict[str, type[nn.Module]] = {cls.__name__: cls for cls in (BiCNN, QAtt, PAtt)}
"""Our rankers by class name; a test checks that conf/ has them. Installed packages add others."""


def build_ranker(config: Mapping[str, Any]) -> nn.Module:
    """Build a ranker from plain values: ``class``, a name, and the keyword arguments of that class.

    Raises:
        InputError: for an unknown class, or arguments that it does not take.
    """
    options = dict(config)
    ranker = find_class("rerankers", RANKERS, options)
    try:
        built: nn.Module = ranker(**options)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"ranker {ranker.__name__}: {error}; correct the ranker's options"
        ) from error
    return built


__all__ = ["RANKERS", "BiCNN", "PAtt", "Pair", "QAtt", "SamCNN", "build_ranker"]
