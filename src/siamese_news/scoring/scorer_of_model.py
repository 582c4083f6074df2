"""The scorer of a model."""

from collections.abc import Sequence
from dataclasses import replace

from siamese_news.errors import InputError
from siamese_news.lexical_head.options import RocchioFeedback, Smoothing
from siamese_news.model.loading import AnyModel, ExternalModel
from siamese_news.model.text_model import BLOCK
from siamese_news.scoring.cosine import CosineScorer
from siamese_news.scoring.mixture import mixture_scorer
from siamese_news.scoring.post_features import EncodedOnce
from siamese_news.scoring.scorer import Scorer
from siamese_news.text.tokens import check_texts
from siamese_news.utils.choices import About, Fusion, check_choice


def open_scorer(
    model: AnyModel,
    articles: Sequence[str],
    *,
    positives: int | None = None,
    one_story: bool = False,
    about: About = "auto",
    fusion: Fusion | None = None,
    expand: bool | None = None,
    smooth: bool | None = None,
) -> Scorer:
    """The scorer of a model for A articles, before any pool.

    Args:
        model: any model. One of another library scores with the words of the model that ships
            (`ExternalModel.options`), or alone with the fusion ``vectors``.
        articles: A full texts (`Article.full_text`).
        positives: how many of them, the first, are searched for; the others (negative seeds) take
            nothing over from the pool's best posts. None means all.
        one_story: whether these tell one story, so that the pool is judged for all of them at once;
            otherwise each article's scores are what they are without the others.
        about: which posts are wanted: ``event``, those about the article's event; ``article``,
            those about this very article, which a pool that is mostly about the event has to tell
            apart; ``auto``, the event for several articles of one story, and otherwise what the
            pool suggests (`FocusedPool`). That also holds for negative seeds under ``event``.
        fusion: how words and vectors come together: added with the model's weight, or only one of
            the two. None: as the model's folder says, which is ``weighted`` for a model with both
            heads.
        expand: whether the best posts of the pool expand the articles (`RocchioFeedback`). None: as
            the model's folder says.
        smooth: whether scores are smoothed over similar posts (`Smoothing`). None: as the model's
            folder says.

    Raises:
        InputError: a fusion, feedback or smoothing that needs words, of a model that has vectors
            alone; an unknown `fusion` or `about`; `articles` is one string; `positives` is not from
            1 to A.

    Example:
        >>> from siamese_news import open_model, open_scorer
        >>> scorer = open_scorer(open_model(), ["A river floods a town."])
        >>> scores = scorer.scores(["the river is in my cellar", "new phone today"])
        >>> scores.shape, bool(scores[0, 0] > scores[0, 1])
        ((1, 2), True)
    """
    if fusion is not None:
        check_choice("fusion", fusion, Fusion)
    check_choice("about", about, About)
    check_texts(articles, "open_scorer: articles")
    if positives is not None and positives not in range(1, len(articles) + 1):
        raise InputError(
            f"positives is {positives!r}; expected a whole number from 1 to the number of "
            f"articles, {len(articles)}"
        )
    words = model.words if isinstance(model, ExternalModel) else model
    if words.terms is None:
        asks = {
            "feedback": expand,
            "smoothing": smooth,
            "about 'article'": about == "article",
        }
        asks[f"the fusion {fusion!r}"] = fusion not in (None, "vectors")
        if features_asked := [
            name for name, is_requested in asks.items() if is_requested
        ]:
            raise InputError(
                f"{features_asked[0]} needs a model that scores by words as well, and this one has "
                "vectors alone; leave the option out, or take the model that ships"
            )
        return CosineScorer(model, model.encode_articles(articles))
    if fusion == "vectors":
        if expand or smooth:
            raise InputError(
                f"{'feedback' if expand else 'smoothing'} is by words; expected another fusion "
                "than 'vectors'"
            )
        return CosineScorer(model, model.encode_articles(articles))
    encoder = EncodedOnce(model) if isinstance(model, ExternalModel) else None
    options = model.options if isinstance(model, ExternalModel) else words.terms.options
    feedback = replace(options.feedback, weight=_weight(options.feedback, expand))
    smoothing = replace(options.smoothing, weight=_weight(options.smoothing, smooth))
    return mixture_scorer(
        words,
        articles,
        positives=positives,
        one_story=one_story,
        about=about,
        vectors=fusion != "words",
        options=replace(options, feedback=feedback, smoothing=smoothing),
        encoder=encoder,
    )


def _weight(options: RocchioFeedback | Smoothing, enabled: bool | None) -> float:
    """The weight of a part that is wanted, not wanted, or left to the model's folder."""
    if enabled is None:
        return options.weight
    return (options.weight or type(options)().weight) if enabled else 0.0


def observe_all(scorer: Scorer, posts: Sequence[str]) -> Scorer:
    """The scorer of a pool that is in memory.

    Args:
        scorer: any scorer before a pool.
        posts: all posts of the pool.

    Returns:
        The scorer that learned from the pool, or the same one if it learns nothing from any.

    Example:
        >>> from siamese_news import open_model, open_scorer
        >>> from siamese_news.scoring import observe_all
        >>> scorer = open_scorer(open_model(), ["A river floods a town."])
        >>> posts = ["the river is in my cellar", "new phone today"]
        >>> observe_all(scorer, posts).learned
        'scores are smoothed over similar posts'
    """
    observer = scorer.observer()
    if observer is None:
        return scorer
    for start in range(0, len(posts), BLOCK):
        observer.observe(posts[start : start + BLOCK])
    return observer.settle()
