"""What a pool teaches a mixture: everything that is decided from its statistics."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from siamese_news.scoring import rules
from siamese_news.scoring.article_vectors import ArticleVectors, DistantPosts, Feedback
from siamese_news.scoring.basis import Basis, Setting, unsmoothed
from siamese_news.scoring.evidence import FIRST, shared_words
from siamese_news.scoring.mixture_weights import MixtureWeights
from siamese_news.scoring.passages import PassageScores
from siamese_news.scoring.pool_state import PoolState
from siamese_news.scoring.smoothing import SmoothedScores, likeness
from siamese_news.text.languages import other_languages

Floats = NDArray[np.float64]
Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a mixture has learned from a pool, next to its new `Basis`.

    Attributes:
        pool: the statistics, whose candidates are each article's best posts.
        degrees: (A,) how much each article's question is about itself (`rules.article_degrees`).
        alike: (A,) how far each article's best posts resemble each other, from 0 to 1.
        agreed: (A,) how far vectors decide (`rules.agreement`).
        words: what was learned, in words; or nothing.
    """

    pool: PoolState
    degrees: Floats
    alike: Floats
    agreed: Floats
    words: str


@dataclass(frozen=True, slots=True)
class _WordViews:
    """What each article's best posts share with it by words, and what that decides."""

    gates: Floats  # (A,) how far its scores lean on less similar posts too
    agreed: Floats  # (A,) how far vectors decide
    # By article, the vectors (n, D) of the posts that its own vector moves towards.
    leaders: dict[int, NDArray[np.float32]]


def learn(
    setting: Setting,
    basis_before: Basis,
    pool: PoolState,
    degrees: Floats | None = None,
) -> tuple[Basis, Lesson]:
    """What articles are scored by, once a pool was observed.

    `basis_before` is their basis before it. The pool decides the degrees (`Lesson.degrees`) unless they
    are given.
    """
    options = setting.options
    posts = pool.counts.posts
    alike, trust = likeness_of_best(setting, pool, posts)
    views = _word_views(setting, basis_before.articles, pool, alike)
    if degrees is None:
        degrees = decided_degrees(setting, pool.about, posts, trust)
    feedback = _feedback(setting, pool, degrees, trust)
    leaders = {
        article: (vectors, float(views.agreed[article]) * options.agreement.feedback)
        for article, vectors in views.leaders.items()
    }
    articles = ArticleVectors(
        setting.articles,
        pool=pool.counts,
        degrees=degrees,
        feedback=feedback,
        distant_posts=_distant_posts(setting, pool, degrees, trust),
        leaders=leaders,
    )
    weights = _weights(setting, pool, views)
    surface = passages = smoothed = None
    if basis_before.surface is not None:
        near = list(map(rules.near, _best_scores(setting, pool)))
        surface = basis_before.surface.over(pool.surface, posts, trust * near, degrees)
        if options.passages.weight:
            passages = PassageScores(
                surface, setting.words, pool.candidates, options.passages
            )
    if options.smoothing.weight:
        smoothed = SmoothedScores(
            pool.candidates,
            setting.reader,
            partial(unsmoothed, articles, weights),
            setting.articles.background,
            options.smoothing,
            options.widening,
            views.gates,
        )
    decided = degrees[: setting.positives] if setting.about == "auto" else np.zeros(0)
    words = rules.what_was_learned(
        decided,
        feedback=any(map(len, feedback.lists)),
        smoothed=smoothed is not None,
    )
    basis = Basis(articles, weights, surface, passages, smoothed)
    return basis, Lesson(pool, degrees, alike, views.agreed, words)


def decided_degrees(
    setting: Setting, about: NDArray[np.int64], posts: int, trust: Floats
) -> Floats:
    """How much an article's question is about itself (`FocusedPool`), by the pool: (A,).

    Of so many `posts`, `about` (A,) are about an article's story.
    """
    question = setting.about
    if question == "auto" and setting.one_story and setting.positives > 1:
        question = "event"
    # In these languages function words alone lift posts above the rule's score, so posts that
    # resemble each other are about an event.
    about = np.where(setting.foreign & (trust >= rules.EVENT), 0, about)
    rule = setting.options.focused_pool
    return rules.article_degrees(rule, question, about, posts, setting.positives)


def likeness_of_best(
    setting: Setting, pool: PoolState, posts: int
) -> tuple[Floats, Floats]:
    """(A,) how far each article's best posts resemble each other, and how far they may lead it.

    They are the candidates of a pool of so many `posts`.
    """
    options = setting.options
    articles = range(len(setting))
    alike = np.zeros(len(articles))
    trust = np.ones(len(articles))
    leads = bool(options.feedback.weight) or bool(options.surface.weight)
    if leads or options.smoothing.weight:
        alike = np.array([_alike(setting, pool, article) for article in articles])
    if leads and options.feedback.alike:
        trust = np.array([rules.trust(options.feedback, near, posts) for near in alike])
    return alike, trust


def _best_scores(setting: Setting, pool: PoolState) -> list[NDArray[np.int32]]:
    """The scores of each article's best posts, in millionths and best first."""
    return [pool.candidates.best(article)[1] for article in range(len(setting))]


def _alike(setting: Setting, pool: PoolState, article: int) -> float:
    """How far an article's best posts resemble each other, from 0 to 1."""
    options = setting.options
    any_number = replace(options.feedback, weight=1.0, least=1)
    keys, scores = pool.candidates.best(article)
    good = len(rules.feedback_posts(any_number, keys, scores, False))
    if not good:
        return 0.0
    around = keys[: rules.AROUND].tolist()
    posts = setting.reader.of_candidates(pool.candidates, around)
    return likeness(posts, setting.articles.background, options.smoothing, good)


def _word_views(
    setting: Setting, articles: ArticleVectors, pool: PoolState, alike: Floats
) -> _WordViews:
    """What the best posts share with their article by words, and what it decides.

    That is how far the vectors confirm it and may decide, and how widely to smooth.
    """
    options = setting.options
    candidates = pool.candidates
    views = _WordViews(np.zeros(len(setting)), np.zeros(len(setting)), {})
    confirms = setting.reader.dense and options.agreement.weight > options.dense
    smooths = bool(options.smoothing.weight)
    if not (confirms or smooths):
        return views
    all_articles = range(len(setting))
    for members, union, lists in candidates.together(
        all_articles, options.agreement.posts
    ):
        posts = setting.reader.of_candidates(candidates, union.tolist())
        lexical, dense = articles.heads(posts, members)
        for row, (article, keys) in enumerate(zip(members, lists, strict=True)):
            columns = np.searchsorted(union, keys)
            words = lexical[row, columns]
            if smooths and not setting.foreign[article]:
                best = keys[:FIRST].tolist()
                views.gates[article] = rules.widening(
                    options.widening,
                    words,
                    float(alike[article]),
                    partial(shared_with, setting, pool, article, best),
                )
            if confirms:
                assert dense is not None and posts.vectors is not None
                cosines = dense[row, columns]
                agreed = rules.agreement(options.agreement, words, cosines)
                if agreed:
                    leading = _leading(options.agreement.weight, words, cosines)
                    views.leaders[article] = posts.vectors[columns[leading]]
                    views.agreed[article] = agreed
    return views


def _leading(share: float, words: Scores, cosines: Scores) -> NDArray[np.int64]:
    """The places of the best posts if `share` of a score were the cosine, the rest the words'."""
    weight = np.float32(share / (1 - share))  # of a cosine, if that of words is 1
    total = np.round(words + weight * cosines, 6)
    best_first = np.argsort(-total, kind="stable")
    return best_first[: rules.BEST]


def shared_with(
    setting: Setting, pool: PoolState, article: int, keys: list[int]
) -> float:
    """`Evidence.shared` of an article by the keys of its best posts."""
    articles = setting.articles
    features = articles.terms.features(articles.ids[article])
    posts = setting.reader.of_candidates(pool.candidates, keys)
    return shared_words(posts, features, articles.background)


def _weights(setting: Setting, pool: PoolState, views: _WordViews) -> MixtureWeights:
    """How much words, vectors and the excess of a cosine weigh."""
    options = setting.options
    excess = options.excess
    additional_share = options.agreement.weight - options.dense
    shares = np.full(len(setting), options.dense, np.float32)
    for article in views.leaders:
        shares[article] = (
            options.dense + float(views.agreed[article]) * additional_share
        )
    excesses = quantiles = np.zeros(len(setting), np.float32)
    if excess.weight and pool.counts.posts:
        best_scores = _best_scores(setting, pool)
        weights = [rules.excess_weight(excess, scores) for scores in best_scores]
        excesses = np.array(weights, np.float32)
        quantiles = pool.cosine_quantiles(excess.quantile)
    return MixtureWeights(shares, excesses, quantiles)


def _distant_posts(
    setting: Setting, pool: PoolState, degrees: Floats, trust: Floats
) -> dict[int, DistantPosts]:
    """The posts that are not near each article of a language that the background lacks.

    What is common among them says nothing about the article: there the function words of its
    language are told from the words of its story.
    """
    candidates = pool.candidates
    distant_posts: dict[int, DistantPosts] = {}
    if pool.counts.posts < setting.options.focused_pool.posts:
        return distant_posts
    for article in np.flatnonzero(setting.foreign & (degrees == 0)).tolist():
        keys, scores = candidates.best(article)
        # Where function words lift most posts, few of these are near.
        n_near = min(rules.near(scores), pool.counts.posts // 4)
        near = [candidates.text(key) for key in keys[:n_near].tolist()]
        distant_posts[article] = DistantPosts(pool.counts, near, float(trust[article]))
    return distant_posts


def _feedback(
    setting: Setting, pool: PoolState, degrees: Floats, trust: Floats
) -> Feedback:
    """The posts that expand each article."""
    rule = setting.options.feedback
    candidates = pool.candidates
    lists = []
    all_keys: list[int] = []
    for article, degree in enumerate(degrees.tolist()):
        expanding: list[int] = []
        if article < setting.positives and trust[article]:
            keys, scores = candidates.best(article)
            expanding = rules.feedback_posts(rule, keys, scores, bool(degree))
            if not degree:
                languages = partial(_languages, setting, pool, article)
                expanding += rules.foreign_posts(rule, keys, scores, languages)
        different = list(dict.fromkeys(expanding))
        lists.append([candidates.text(key) for key in different])
        all_keys += different
    return Feedback(lists, candidates.vectors(all_keys), rule.weight * trust)


def _languages(
    setting: Setting, pool: PoolState, article: int, keys: list[int]
) -> list[str | None]:
    """The languages of an article's candidates by their keys; None where one may be its own."""
    words = setting.vocabulary.words
    candidates = pool.candidates
    unknown = candidates.unknown
    texts = [
        [
            words[id] if id < len(words) else unknown.get(id, "")
            for id in candidates.text(key).tolist()
        ]
        for key in keys
    ]
    return other_languages(texts, setting.languages[article])
