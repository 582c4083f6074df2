"""Fine-tuning of a model on a user's pairs; the result is used only if it is better."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from siamese_news.data.sources import EvaluationSet
from siamese_news.encoders import BagEncoder, build_encoder
from siamese_news.evaluation.results import evaluate_model
from siamese_news.metrics.statistics import bootstrap_interval
from siamese_news.model.siamese import Model


def make_trainable(model: Model) -> Model:
    """A copy of the model with trainable parameters.

    A frozen bag with a lexical head, such as the model that ships, gets a factor for each word's
    weight, which starts at 1, and a linear map of the dense vector, which starts as the identity:
    the scores are those of before. The words' vectors stay as they are.
    """
    trainable = copy.deepcopy(model)
    bag = model.encoder
    frozen = not any(parameter.requires_grad for parameter in model.parameters())
    if not frozen or model.terms is None or not isinstance(bag, BagEncoder) or not bag.uses_weights:
        return trainable
    trainable.config = {
        "class": "TwoHeadEncoder",
        "input_dim": bag.input_dim,
        "context": None,
        "relay": False,
        "sparsity": {"class": "Softmax"},
        "output_dim": bag.input_dim,
        "lead": bag.lead,
    }
    trainable.encoder = build_encoder(trainable.config)
    return trainable


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gain of fine-tuning on held-out articles.

    Attributes:
        gain: difference of the mean AP over articles.
        low: lower bound of its 95% bootstrap interval over articles.
        high: upper bound of that interval.
        articles: number of held-out articles.
    """

    gain: float
    low: float
    high: float
    articles: int

    @property
    def better(self) -> bool:
        """Whether the interval lies above 0."""
        return self.low > 0

    def __str__(self) -> str:
        figures = f"{self.gain:+z.3f} [{self.low:+z.3f}, {self.high:+z.3f}]"
        held_out = f"MAP on {self.articles} held-out articles, 95% interval"
        if self.better:
            return f"better by {figures} ({held_out})"
        return f"not better: kept the model it started from; {figures} ({held_out})"


def compare(tuned: Model, start: Model, held_out: Sequence[EvaluationSet]) -> Verdict:
    """Compare by AP, article by article, on pairs that no choice was made on.

    Args:
        tuned: the fine-tuned model.
        start: what it started from.
        held_out: articles and posts that neither trained it nor stopped its training, and that no
            reported figure is measured on.
    """
    gains: list[float] = []
    for part in held_out:
        after, before = (
            evaluate_model(model, "model", part, bootstrap=0).evaluation.per_article["AP"]
            for model in (tuned, start)
        )
        gains += [after[article] - value for article, value in before.items()]
    low, high = bootstrap_interval(np.array(gains), samples=2000)
    return Verdict(float(np.mean(gains)), low, high, len(gains))
