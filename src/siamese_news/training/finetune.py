"""Fine-tuning: the model that training starts from, and whether the result is better."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from siamese_news.data.sources import EvaluationSet
from siamese_news.encoders import BagEncoder, build_encoder
from siamese_news.evaluation.system_results import evaluate_model
from siamese_news.metrics.statistics import bootstrap_interval
from siamese_news.model.siamese import Model


def open_start(init: str | Path) -> Model:
    """The model that ships (``"pretrained"``), or that in a folder."""
    return Model.pretrained() if init == "pretrained" else Model.load(init)


def trainable_copy(model: Model) -> Model:
    """A copy of the model with trainable parameters.

    A frozen bag with a lexical head, such as the model that ships, gets a factor for each word's
    weight, which starts at 1, and a linear map of the dense vector, which starts as the identity:
    the scores are unchanged at first. The words' vectors stay fixed. A table of relevance is
    dropped, because training changes the scores that it was fitted on.
    """
    trainable = copy.deepcopy(model)
    trainable.calibration = None
    bag = model.encoder
    frozen = not any(parameter.requires_grad for parameter in model.parameters())
    if (
        not frozen
        or model.terms is None
        or not isinstance(bag, BagEncoder)
        or not bag.uses_weights
    ):
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
    """The gain in mean AP by fine-tuning, its 95% bootstrap interval, and the articles compared."""

    gain: float
    lower: float
    upper: float
    articles: int

    @property
    def better(self) -> bool:
        """Whether the interval lies above 0."""
        return self.lower > 0

    def __str__(self) -> str:
        figures = f"{self.gain:+z.3f} [{self.lower:+z.3f}, {self.upper:+z.3f}]"
        held_out = f"MAP on {self.articles} held-out articles, 95% interval"
        if self.better:
            return f"better by {figures} ({held_out})"
        return f"not better: kept the model it started from; {figures} ({held_out})"


def compare(tuned: Model, start: Model, held_out: Sequence[EvaluationSet]) -> Verdict:
    """Compare a fine-tuned model with its start by AP, article by article.

    The articles and posts neither trained it nor stopped its training, and no reported figure is
    measured on them.
    """
    gains: list[float] = []
    for evaluation_set in held_out:
        tuned_ap, start_ap = (
            evaluate_model(
                model, "model", evaluation_set, bootstrap=0
            ).evaluation.per_article["AP"]
            for model in (tuned, start)
        )
        gains += [tuned_ap[article] - value for article, value in start_ap.items()]
    lower_bound, upper_bound = bootstrap_interval(np.array(gains), samples=2000)
    return Verdict(float(np.mean(gains)), lower_bound, upper_bound, len(gains))
