"""The scorer of a model."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

from siamese_news.errors import InputError
from siamese_news.lexical_head import RocchioFeedback
from siamese_news.model.external import ExternalModel
from siamese_news.model.siamese import Model
from siamese_news.scoring.cosine import CosineScorer
from siamese_news.scoring.mixture import MixtureScorer
from siamese_news.scoring.protocol import Scorer
from siamese_news.scoring.reciprocal import ReciprocalScorer
from siamese_news.text.checks import check_texts

Fusion = Literal["weighted", "reciprocal", "words", "vectors"]


def open_scorer(
    model: Model | ExternalModel,
    articles: Sequence[str],
    *,
    positives: int | None = None,
    fusion: Fusion | None = None,
    expand: bool | None = None,
) -> Scorer:
    """The scorer of a model for A articles.

    Args:
        model: any model.
        articles: A full texts (`Article.full_text`).
        positives: how many of them, the first, say what the story is; the others (negative seeds)
            do not count when a pool is judged to be mostly about it. None means all.
        fusion: how words and vectors come together: added with the model's weight, by reciprocal
            ranks, or only one of the two. None: as the model's folder says, which is ``weighted``
            for a model with both heads.
        expand: whether the best posts of the pool speak for the articles as well
            (`RocchioFeedback`).
            None: as the model's folder says.

    Raises:
        InputError: a fusion or feedback that needs words, of a model that has vectors alone;
            `articles` is one string; `positives` is not from 1 to A.

    Example:
        >>> from siamese_news import open_model, open_scorer
        >>> scorer = open_scorer(open_model(), ["A river floods a town."])
        >>> scores = scorer.scores(["the river is in my cellar", "new phone today"])
        >>> scores.shape, bool(scores[0, 0] > scores[0, 1])
        ((1, 2), True)
    """
    if fusion not in (None, *get_args(Fusion)):
        raise InputError(f"fusion is {fusion!r}; expected one of {', '.join(get_args(Fusion))}")
    check_texts(articles, "open_scorer: articles")
    if positives is not None and positives not in range(1, len(articles) + 1):
        raise InputError(
            f"positives is {positives!r}; expected a whole number from 1 to the number of "
            f"articles, {len(articles)}"
        )
    if not isinstance(model, Model) or model.terms is None:
        if fusion not in (None, "vectors") or expand:
            asked_for = "feedback" if fusion in (None, "vectors") else f"the fusion '{fusion}'"
            raise InputError(
                f"{asked_for} needs a model that scores by words as well, and this one has vectors "
                "alone; leave the option out, or take the model that ships"
            )
        return CosineScorer(model, articles)
    if fusion == "vectors":
        if expand:
            raise InputError("feedback is by words; expected another fusion than 'vectors'")
        return CosineScorer(model, articles)
    options = model.terms.options
    feedback = options.feedback
    if expand is False:
        feedback = replace(feedback, weight=0.0)
    elif expand and not feedback.weight:
        feedback = replace(feedback, weight=RocchioFeedback().weight)
    # For ranks the weight only says which posts are best before they are known.
    dense = {"words": 0.0, "reciprocal": options.dense or 0.5}.get(fusion or "weighted")
    mixture = MixtureScorer(model, articles, positives=positives, dense=dense, feedback=feedback)
    return ReciprocalScorer(mixture, len(articles)) if fusion == "reciprocal" else mixture
