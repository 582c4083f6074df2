"""Words and vectors together."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from typing_extensions import override

from siamese_news.lexical_head.options import DenseExcess, TermOptions
from siamese_news.model.base import TextModel
from siamese_news.model.calibration import Evidence
from siamese_news.scoring import rules
from siamese_news.scoring.articles import ArticleVectors, Rest
from siamese_news.scoring.evidence import (
    COMPARED,
    FIRST,
    apart,
    highest,
    shared_words,
)
from siamese_news.scoring.features import EncodedOnce, PostReader, Posts
from siamese_news.scoring.passages import PassageScores
from siamese_news.scoring.pool import PoolState
from siamese_news.scoring.scorer import Content, Neighbor, ScoreForm, ScoreParts, Scorer
from siamese_news.scoring.smoothing import SmoothedScores, likeness
from siamese_news.scoring.surface import SurfaceScores, by_id
from siamese_news.scoring.weights import MixtureWeights
from siamese_news.text.languages import (
    BACKGROUND,
    function_words,
    language_of_seed,
    other_language,
)
from siamese_news.text.token_ids import TokenIds
from siamese_news.text.tokens import check_texts
from siamese_news.utils.choices import About

_CELLS = 1 << 24


class MixtureScorer(Scorer):
    """The lexical head's score, the cosine of the dense head, and their smoothing.

    Before smoothing and the surface a score is ``(1 - w - e) L + w D + e max(0, D - q)``: L the
    score of the words, D the cosine, q a high quantile of the article's cosines over the pool, e
    the higher the less the article's words find (`DenseExcess`), and w the higher the more the
    vectors confirm of it (`Agreement`). Without a pool, and in the first
    pass over one, it is ``(1 - w) L + w D``. The options of the lexical head have w and e.

    Smoothed or not, ``s X`` is added to it: X the cosine of n-grams inside words, s its weight
    (`SurfaceScores`); then the bonus for a close passage (`PassageScores`). The sum is multiplied
    by ``1 / (1 + 1.2 s)``, so that scores mean about the same for articles of different s.

    A pass of `observe` finds the words that are rare in the pool (`FocusedPool`), the posts for
    pseudo-relevance feedback (`RocchioFeedback`) and those whose scores are smoothed (`Smoothing`).
    Each article is judged by itself, so its scores do not depend on the others, unless they are one
    story.

    Args:
        model: a model with a lexical head.
        articles: with `positives`, `one_story` and `about` as in `open_scorer`.
        vectors: False leaves the dense head out, whatever the options say.
        options: the numbers; None: those of the model's lexical head.
        encoder: a dense model of another library, whose cosines take the place of the model's own.
    """

    kind = "mixture"

    def __init__(
        self,
        model: TextModel,
        articles: Sequence[str],
        *,
        positives: int | None = None,
        one_story: bool = False,
        about: About = "auto",
        vectors: bool = True,
        options: TermOptions | None = None,
        encoder: EncodedOnce | None = None,
    ) -> None:
        assert model.terms is not None
        self._options = options = model.terms.options if options is None else options
        self._about, self._one_story = about, one_story
        self._positives = len(articles) if positives is None else positives
        self._feedback, self._smoothing = options.feedback, options.smoothing
        self._excess = options.excess if vectors else DenseExcess(weight=0.0)
        self._weights = MixtureWeights(options.dense if vectors else 0.0, len(articles))
        dense = vectors and bool(options.dense or self._excess.weight)
        self._read = PostReader(model, dense=dense, encoder=encoder)
        self._read_words = PostReader(model, dense=False)
        self._terms, self._background = model.terms, model.terms.background()
        self._articles = ArticleVectors(model, articles, self._read, self._background)
        best = self._smoothing.posts if self._smoothing.weight else 0
        if self._excess.weight:
            best = max(best, rules.STRONGEST)
        if self._feedback.weight:
            around = rules.AROUND if self._feedback.alike else 0
            best = max(best, self._feedback.posts, self._feedback.focused_posts, around)
        # Not a method: `SmoothedScores` keeps it, and must not keep this scorer.
        self._unsmoothed = partial(_unsmoothed, self._articles, self._weights)
        self._surface: SurfaceScores | None = None
        if options.surface.weight:
            best = max(best, rules.COUNTED)
            if options.passages.weight:
                best = max(best, options.passages.posts)
            read = TokenIds.of(self._articles.ids)
            read = replace(read, unknown=model.token_ids(articles).unknown)
            self._surface = SurfaceScores(
                model.terms, model.vocabulary, read, options.surface
            )
            self._words = read
        counters = 0 if self._surface is None else self._surface.counters
        self._pool = PoolState(len(model.vocabulary), len(articles), best, counters)
        self._degrees, self._settled = np.zeros(len(articles)), False
        lacking = [np.sum(ids >= len(model.vocabulary)) for ids in self._articles.ids]
        lengths = [max(len(ids), 1) for ids in self._articles.ids]
        self._foreign = np.array(lacking) / lengths >= rules.FOREIGN
        self._alike, self._agreed = np.zeros(len(articles)), np.zeros(len(articles))
        self._leaders: dict[int, NDArray[np.float32]] = {}
        self._gates = np.zeros(len(articles))
        self._trust = np.ones(len(articles))
        self._vocabulary = model.vocabulary
        self._languages = [language_of_seed(text) or BACKGROUND for text in articles]
        self._told: dict[tuple[str, int], str | None] = {}
        self._smoothed: SmoothedScores | None = None
        self._passages: PassageScores | None = None

    @property
    @override
    def observing(self) -> bool:
        return not self._settled

    @override
    def token_ids(self, posts: Sequence[str]) -> TokenIds | None:
        check_texts(posts, "token_ids: posts")
        return self._read.token_ids(posts)

    @override
    def observe(self, posts: Content) -> None:
        assert not self._settled
        for _, read in self._blocks(posts, "observe"):
            self._observe(read)

    def _blocks(self, posts: Content, method: str) -> Iterator[tuple[int, Posts]]:
        """Posts of which all articles are scored at once, and the place of the first of them."""
        if not isinstance(posts, TokenIds):
            check_texts(posts, f"{method}: posts")
        step = max(1, _CELLS // max(len(self._articles), 1))
        for start in range(0, len(posts), step):
            yield start, self._read(posts[start : start + step])

    def _observe(self, posts: Posts) -> None:
        lexical, dense = self._articles.heads(posts)
        self._pool.counts.add(posts.rows, posts.terms, len(posts.ids))
        if self._surface is not None:
            self._surface.count(posts.ids, self._pool.surface)
        # The words alone: unlike theirs, the cosine of what has nothing in common is not 0.
        near = lexical > self._options.focused_pool.score
        if self._one_story:
            near[: self._positives] = near[: self._positives].any(axis=0)
        self._pool.about += near.sum(axis=1)
        if dense is not None and self._excess.weight:
            self._pool.add_cosines(dense)
        self._pool.candidates.add(
            self._weights.mixed(lexical, dense), posts.ids, posts.said
        )

    @override
    def settle(self) -> str:
        if self._settled:
            return ""
        self._see_likeness()
        self._see_words()
        self._degrees = self._decided(self._pool.about, self._pool.counts.posts)
        return self._apply()

    def _decided(self, about: NDArray[np.int64], posts: int) -> NDArray[np.float64]:
        """How much an article's question is about itself (`FocusedPool`), by the pool: (A,)."""
        wanted = self._about
        if wanted == "auto" and self._one_story and self._positives > 1:
            wanted = "event"
        rule = self._options.focused_pool
        # In these languages function words alone lift posts above the rule's score, so posts that
        # resemble each other are about an event.
        about = np.where(self._foreign & (self._trust >= rules.EVENT), 0, about)
        return rules.article_degrees(rule, wanted, about, posts, self._positives)

    @override
    def form(self) -> ScoreForm | None:
        article_form = None if self._read.whole_texts else self._articles.form()
        if article_form is None:
            return None
        terms, pairs, vectors = article_form
        weights = self._weights
        excesses = weights.excesses.astype(np.float64)
        return ScoreForm(
            columns=self._articles.columns,
            terms=terms,
            pairs=pairs,
            vectors=vectors,
            lexical=1 - weights.shares.astype(np.float64) - excesses,
            cosine=weights.shares.astype(np.float64),
            excess=excesses,
            quantiles=weights.quantiles.astype(np.float64),
            about=self._options.focused_pool.score,
            quantile=self._excess.quantile
            if self._excess.weight and not self._settled
            else None,
        )

    @override
    def scales(self) -> NDArray[np.float32]:
        if self._surface is None:
            return np.ones(len(self._articles), np.float32)
        return self._surface.scales.astype(np.float32)

    @override
    def surface(self, posts: TokenIds) -> NDArray[np.float32]:
        if self._surface is None:
            return np.zeros((1, 1), np.float32)
        scores = np.zeros((len(self._articles), len(posts)), np.float32)
        self._surface.add(scores, posts)
        return scores

    def surface_squares(self, words: sparse.csr_matrix) -> NDArray[np.float32] | None:
        """What bounds `surface` of any article: (V + U,); see `SurfaceScores.squares`."""
        return None if self._surface is None else self._surface.squares(words)

    def candidates(self, posts: TokenIds) -> NDArray[np.int64]:
        """Instead of `observe`: take note of posts that may be among an article's best.

        The result, (A,), is the least score in millionths that is still of use.
        """
        for _, read in self._blocks(posts, "candidates"):
            self._pool.candidates.add(self._unsmoothed(read), read.ids)
        return self._pool.candidates.least()

    def cosines(self, posts: TokenIds, article: int) -> NDArray[np.float32]:
        """(P,) the cosines of P posts with an article."""
        vectors, _ = self._read.of_best(posts, None)
        cosines: NDArray[np.float32] = self._articles.cosines(
            vectors, np.array([article])
        )[0]
        return cosines

    def conclude(
        self,
        posts: int,
        about: NDArray[np.int64],
        cosines: NDArray[np.int32] | None,
        counted: Callable[[], NDArray[np.int64]],
    ) -> bool:
        """Instead of `observe`: statistics of the whole pool of so many posts, after `candidates`.

        At most `about` (A,) of them are about an article's story. `cosines` (A, bins) are those of
        `PoolState`, of which only the place of the quantile has to be right; None where no quantile
        counts. `counted` returns what `SurfaceScores.count` counts.

        The result tells whether this is enough. If not, nothing has changed but the candidates, and
        the pool has to be observed.
        """
        if self._foreign.any() or self._decided(about, posts).any():
            return False
        self._pool.counts.posts, self._pool.about = posts, about
        if cosines is not None:
            self._pool.cosines = cosines
        if self._surface is not None:
            self._pool.surface += counted()
        return True

    def _see_likeness(self) -> None:
        """Find how far each article's best posts resemble each other, and may lead it."""
        leads = bool(self._feedback.weight) or self._surface is not None
        if leads or self._smoothing.weight:
            self._alike = np.array(
                [self._likeness(a) for a in range(len(self._articles))]
            )
        if leads and self._feedback.alike:
            rule, posts = self._feedback, self._pool.counts.posts
            self._trust = np.array(
                [rules.trust(rule, alike, posts) for alike in self._alike]
            )

    def _see_words(self) -> None:
        """Find what the best posts share with their article by words, and what it decides.

        That is how far the vectors confirm it and may decide, and how widely to smooth.
        """
        options, candidates = self._options.agreement, self._pool.candidates
        confirms = self._read.dense and options.weight > self._options.dense
        if not (confirms or self._smoothing.weight):
            return
        for some, union, lists in candidates.together(
            range(len(self._articles)), options.posts
        ):
            texts = [candidates.text(key) for key in union.tolist()]
            posts = self._read.of_ids(texts, candidates.vectors(union.tolist()))
            lexical, dense = self._articles.heads(posts, some)
            for row, (article, keys) in enumerate(zip(some, lists, strict=True)):
                places = np.searchsorted(union, keys)
                words = lexical[row, places]
                if self._smoothing.weight and not self._foreign[article]:
                    best = keys[:FIRST].tolist()
                    self._gates[article] = rules.widening(
                        self._options.widening,
                        words,
                        float(self._alike[article]),
                        partial(self._shared, article, best),
                    )
                if confirms:
                    assert dense is not None and posts.vectors is not None
                    vectors, cosines = posts.vectors[places], dense[row, places]
                    self._see_agreement(article, words, cosines, vectors)

    def _shared(self, article: int, keys: list[int]) -> float:
        """`Evidence.shared` of an article by the keys of its best posts."""
        candidates = self._pool.candidates
        texts, vectors = list(map(candidates.text, keys)), candidates.vectors(keys)
        features = self._terms.features(self._articles.ids[article])
        posts = self._read.of_ids(texts, vectors)
        return shared_words(posts, features, self._background)

    def _see_agreement(
        self,
        article: int,
        words: NDArray[np.float32],
        cosines: NDArray[np.float32],
        vectors: NDArray[np.float32],
    ) -> None:
        """Find how far the vectors (N, D) of an article's N best posts confirm their words."""
        options = self._options.agreement
        agreed = rules.agreement(options, words, cosines)
        if agreed:
            weight = np.float32(options.weight / (1 - options.weight))
            order = np.argsort(-np.round(words + weight * cosines, 6), kind="stable")
            self._leaders[article] = vectors[order[: rules.BEST]]
            self._agreed[article] = agreed

    def _apply(self) -> str:
        """Score by the statistics of the pool from now on."""
        candidates = self._pool.candidates
        lists, said = self._feedback_posts()
        shares = self._feedback.weight * self._trust
        counts = self._pool.counts
        self._articles.use(counts, self._degrees, lists, said, shares, self._rests())
        options = self._options
        for article, vectors in self._leaders.items():
            agreed = float(self._agreed[article])
            self._articles.lead(article, vectors, agreed * options.agreement.feedback)
            share = options.dense + agreed * (options.agreement.weight - options.dense)
            self._weights.shares[article] = share
        if self._excess.weight and self._pool.counts.posts:
            self._weights.quantiles = self._pool.cosine_quantiles(self._excess.quantile)
            for article in range(len(self._articles)):
                scores = candidates.best(article)[1]
                self._weights.excesses[article] = rules.excess_weight(
                    self._excess, scores
                )
        self._settled = True
        if self._surface is not None:
            near = [
                rules.near(candidates.best(a)[1]) for a in range(len(self._articles))
            ]
            posts = self._pool.counts.posts
            self._surface.use(
                self._pool.surface, posts, self._trust * near, self._degrees
            )
            if self._options.passages.weight:
                self._passages = PassageScores(
                    self._surface, self._words, candidates, self._options.passages
                )
        if self._smoothing.weight:
            self._smoothed = SmoothedScores(
                self._pool.candidates,
                self._read,
                self._unsmoothed,
                self._background,
                self._smoothing,
                self._options.widening,
                self._gates,
            )
        degrees = (
            self._degrees[: self._positives] if self._about == "auto" else np.zeros(0)
        )
        smoothed = self._smoothed is not None
        return rules.what_was_learned(
            degrees, feedback=any(map(len, lists)), smoothed=smoothed
        )

    def _rests(self) -> dict[int, Rest]:
        """The posts that are not near each article of a language that the background lacks.

        What is common among them says nothing about the article: there the function words of its
        language are told from the words of its story.
        """
        candidates, rests = self._pool.candidates, {}
        for article in np.flatnonzero(self._foreign & (self._degrees == 0)).tolist():
            keys, scores = candidates.best(article)
            # Where function words lift most posts, few of these are near.
            most = min(rules.near(scores), self._pool.counts.posts // 4)
            near = [candidates.text(key) for key in keys[:most].tolist()]
            rests[article] = Rest(self._pool.counts, near, float(self._trust[article]))
        return (
            rests if self._pool.counts.posts >= self._options.focused_pool.posts else {}
        )

    def _feedback_posts(
        self,
    ) -> tuple[list[list[NDArray[np.int64]]], NDArray[np.float16] | None]:
        """The posts that expand each article, as `ArticleVectors.use` takes them."""
        candidates, best = self._pool.candidates, []
        for article, degree in enumerate(self._degrees.tolist()):
            mine: list[int] = []
            if article < self._positives and self._trust[article]:
                keys, scores = candidates.best(article)
                mine = rules.feedback_posts(self._feedback, keys, scores, bool(degree))
                if not degree:
                    told = partial(self._language, self._languages[article])
                    mine = mine + rules.foreign_posts(
                        self._feedback, keys, scores, told
                    )
            best.append(list(dict.fromkeys(mine)))
        lists = [[candidates.text(key) for key in keys] for keys in best]
        return lists, candidates.vectors([key for keys in best for key in keys])

    def _likeness(self, article: int) -> float:
        """How far an article's best posts resemble each other, from 0 to 1."""
        candidates = self._pool.candidates
        any_number = replace(self._feedback, weight=1.0, least=1)
        keys, scores = candidates.best(article)
        found = 0.0
        if good := len(rules.feedback_posts(any_number, keys, scores, False)):
            some = keys[: rules.AROUND].tolist()
            posts = self._read.of_ids(
                list(map(candidates.text, some)), candidates.vectors(some)
            )
            found = likeness(posts, self._background, self._smoothing, good)
        return found

    def _language(self, seed_language: str, key: int) -> str | None:
        """The language of a candidate by its key; None where it may be an article's own."""
        if (seed_language, key) not in self._told:
            candidates = self._pool.candidates
            words, unknown = self._vocabulary.words, candidates.unknown
            ids = candidates.text(key).tolist()
            text = [words[id] if id < len(words) else unknown.get(id, "") for id in ids]
            self._told[seed_language, key] = other_language(text, seed_language)
        return self._told[seed_language, key]

    @override
    def scores(self, posts: Content) -> np.ndarray:
        scores = np.zeros((len(self._articles), len(posts)), np.float32)
        for start, read in self._blocks(posts, "scores"):
            scores[:, start : start + len(read.ids)] = self._scored(read)
        return scores

    def _scored(self, posts: Posts) -> NDArray[np.float32]:
        """(A, P) the scores of posts."""
        scores = self._unsmoothed(posts)
        if self._smoothed is not None:
            self._smoothed.put(scores, posts)
        if self._surface is not None:
            scores *= self.scales()[:, None]
            self._surface.add(scores, posts.ids)
        if self._passages is not None:
            self._passages.add(scores, posts)
        return scores

    @override
    def evidence(self, articles: Sequence[int]) -> list[Evidence]:
        candidates, evidence_of = self._pool.candidates, {}
        for some, union, lists in candidates.together(articles, COMPARED):
            texts = TokenIds.of([candidates.text(key) for key in union.tolist()])
            texts = replace(texts, unknown=candidates.unknown)
            vectors = candidates.vectors(union.tolist())
            scores = self._scored(self._read.of_ids(texts, vectors))[some]
            for article, posts_near, line in zip(some, lists, scores, strict=True):
                mine = line[np.searchsorted(union, posts_near)]
                evidence_of[article] = self._evidence(
                    article, posts_near.tolist(), mine
                )
        return [evidence_of.get(article, Evidence()) for article in articles]

    def _evidence(
        self, article: int, keys: list[int], scores: NDArray[np.float32]
    ) -> Evidence:
        """The evidence of an article by its best posts, best first, and their scores."""
        candidates = self._pool.candidates
        posts = self._read.of_ids(
            list(map(candidates.text, keys)), candidates.vectors(keys)
        )
        features = self._terms.features(self._articles.ids[article])
        shared = shared_words(posts, features, self._background)
        differ = apart(posts, features, self._background, self._smoothing)
        # In a pool of fewer posts than are compared, these places are as deep in proportion.
        deep = min(self._pool.counts.posts / COMPARED, 1.0)
        places = (1, math.ceil(10 * deep), math.ceil(30 * deep))
        best, tenth, thirtieth = (highest(scores, place) for place in places)
        alike = round(float(self._alike[article]), 6)
        return Evidence(alike, shared, differ, best, tenth, thirtieth)

    @override
    def agreement(self) -> NDArray[np.float64]:
        return self._agreed

    @override
    def decisions(self) -> list[str]:
        if not self._settled:
            return []
        return [
            rules.DECISIONS[degree]
            for degree in self._degrees[: self._positives].tolist()
        ]

    def matched_terms(self, posts: Content, limit: int = 8) -> list[list[str]]:
        """See `Scorer`; by the lexical head."""
        if not isinstance(posts, TokenIds):
            check_texts(posts, "matched_terms: posts")
        read = self._read_words(posts)
        best = self._articles.heads(read)[0].argmax(axis=0)
        terms: list[list[str]] = [[] for _ in read.ids]
        for group in self._articles.groups:
            mine = np.flatnonzero(np.isin(best, group.rows))
            if not len(mine):
                continue
            vectors = read.weighted(group.weights, self._articles.columns)[mine]
            rows = group.vectors[np.searchsorted(group.rows, best[mine])]
            products = sparse.csr_matrix(rows.multiply(vectors))
            numbers = np.diff(products.indptr)
            places = np.repeat(mine, numbers)
            order = np.lexsort((-products.data, places))  # equal ones as they are
            ids = self._articles.columns[products.indices[order]]
            names = self._read_words.names_of(read.ids, places, ids)
            for place, count in zip(mine.tolist(), numbers.tolist(), strict=True):
                # Its function words say nothing to a reader.
                language = self._languages[best[place]]
                left_out = (
                    frozenset() if language == BACKGROUND else function_words(language)
                )
                of_post = dict.fromkeys(islice(names, count))
                terms[place] = [name for name in of_post if name not in left_out]
                del terms[place][limit:]
        return terms

    @override
    def parts_of(self, post: str, article: int) -> ScoreParts:
        articles, (share, excess, quantile) = self._articles, self._weights.of(article)
        group, row = articles.group_of(article)
        read = self._read([post])
        own_weight, around = 1.0, list[Neighbor]()
        if self._smoothed is not None:
            own_weight, around = self._smoothed.neighbors(read, article)
        scale = float(self.scales()[article])
        own_weight = own_weight * scale
        around = [
            replace(neighbor, weight=neighbor.weight * scale) for neighbor in around
        ]
        shares = np.array(
            [own_weight, *(neighbor.weight for neighbor in around)], np.float32
        )
        said = [
            part
            for part in (read.said, *(neighbor.said for neighbor in around))
            if part is not None
        ]
        near = self._read.of_ids(
            [*read.ids, *(neighbor.ids for neighbor in around)],
            np.concatenate(said) if said else None,
        )
        lexical, kept_share = 1 - share - excess, float(articles.kept[article])
        vectors = near.weighted(group.weights, articles.columns)
        products = group.vectors[[row]].multiply(vectors[[0]]).tocoo()
        names = self._read.names(post)
        terms = _named(names, articles.columns[products.col], products.data)
        mine = (
            group.own[[row]].multiply(sparse.csr_matrix(shares[None]) @ vectors).tocoo()
        )
        own_terms = by_id(
            articles.columns[mine.col],
            mine.data.astype(np.float64) * lexical * kept_share,
        )
        views = (
            [] if self._surface is None else [self._surface.parts(read.ids, article)]
        )
        if self._passages is not None:
            views.append(self._passages.parts(read, article))
        of_post = _total(by_post for by_post, _ in views)
        vector, factor = np.zeros(0, np.float32), 0.0
        dense = articles.heads(near, [article])[1]
        if dense is not None and near.vectors is not None:
            # The excess of a cosine is the cosine times a factor.
            over = np.maximum(dense[0] - quantile, 0) / np.where(
                dense[0] > 0, dense[0], 1.0
            )
            factors = (share + excess * over).astype(np.float32)
            kept_dense = float(articles.kept_dense[article])
            vector = np.float32(kept_dense) * ((shares * factors) @ near.vectors)
            factor = kept_dense * own_weight * float(factors[0])
        ids = np.array(list(of_post), np.int64)
        values = np.array(list(of_post.values()))
        return ScoreParts(
            terms={name: value * lexical * own_weight for name, value in terms.items()},
            surface=_named(names, ids, values),
            article_terms=_total([own_terms, *(by_article for _, by_article in views)]),
            article_vector=vector,
            post_vector=factor,
            own=own_weight,
            neighbors=sorted(around, key=lambda neighbor: -neighbor.added),
        )

    @override
    def article_term_shares(self, article: int) -> dict[int, float]:
        return self._articles.term_shares(article)

    @override
    def article_weight(self, article: int) -> float:
        return float(self._articles.kept[article])

    @override
    def state(self) -> bytes:
        return self._pool.saved(settled=np.array(self._settled), degrees=self._degrees)

    @override
    def restore(self, state: bytes, of: Sequence[int] | None = None) -> None:
        saved = self._pool.restore(state, of)
        if saved["settled"]:
            which = range(len(saved["degrees"])) if of is None else of
            self._degrees = saved["degrees"][list(which)]
            self._see_likeness()
            self._see_words()
            self._apply()

    @override
    def merge(self, state: bytes) -> None:
        pool = self._pool
        size, counters = pool.candidates.count, len(pool.surface)
        other = PoolState(
            len(pool.counts.counts[0]), len(self._articles), size, counters
        )
        other.restore(state)
        pool.merge(other)


def _unsmoothed(
    vectors: ArticleVectors,
    weights: MixtureWeights,
    posts: Posts,
    articles: Sequence[int] | None = None,
) -> NDArray[np.float32]:
    """The scores before smoothing, for some articles or all."""
    return weights.mixed(*vectors.heads(posts, articles), articles)


def _total(parts: Iterable[dict[int, float]]) -> dict[int, float]:
    """Their sum, by id."""
    totals: dict[int, float] = {}
    for part in parts:
        for id, value in part.items():
            totals[id] = totals.get(id, 0.0) + value
    return totals


def _named(
    names: dict[int, str], ids: NDArray[Any], values: NDArray[Any]
) -> dict[str, float]:
    """Values by name, highest first."""
    order = np.argsort(-values, kind="stable")
    words = (names[id] for id in ids[order].tolist())
    return dict(zip(words, values[order].tolist(), strict=True))
