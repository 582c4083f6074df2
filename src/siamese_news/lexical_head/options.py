"""Every number of the lexical head."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any

from siamese_news.errors import InputError

# A number above this is a mistake: memory would be asked for it, or it would not fit.
_MOST = 10**9


@dataclass(frozen=True, slots=True)
class FocusedPool:
    """When a pool counts as mostly about an article's story, and what is done then.

    The degree x of it is 0 while at most the share `share` of the posts has a lexical score above
    `score`, 1 from the share `full` on, and linear between them, rounded to halves. Each IDF is
    then ``background ** (1 - x pool) * pool's ** (x pool)``.

    Attributes:
        score: a post whose words score above this under the background IDF is about the story.
        share: the share of such posts up to which a pool is not focused.
        full: the share of such posts from which on it is fully so.
        posts: the fewest posts that a pool must have for the rule to apply.
        pool: the exponent x = 1 gives to the pool's IDF.
        headline: how many content words the headline vector has; 0 for none.
        headline_weight: the weight that x = 1 gives to the headline vector.
    """

    score: float = 0.03
    share: float = 0.1
    full: float = 0.15
    posts: int = 100
    pool: float = 0.75
    headline: int = 12
    headline_weight: float = 0.5


@dataclass(frozen=True, slots=True)
class RocchioFeedback:
    """Pseudo-relevance feedback: an article's best posts speak for it as well (Rocchio 1971).

    Attributes:
        posts: the most posts, of different texts, that speak for an article.
        focused_posts: the same in a pool that is mostly about the article's story (`FocusedPool`),
            where more posts would be those about the story and not about the article.
        least: the fewest such posts; an article with fewer stays as it is.
        score: the score that a post must reach.
        weight: the weight of their mean vector in the article's; 0 for no feedback.
        foreign_posts: the most posts of each other language that speak for an article as well,
            where it asks for its event; 0 for none.
        foreign_least: the fewest of a language.
        foreign_score: the score that they must reach: names and hashtags alone find them.
    """

    posts: int = 20
    focused_posts: int = 5
    least: int = 3
    score: float = 0.15
    weight: float = 0.2
    foreign_posts: int = 40
    foreign_least: int = 5
    foreign_score: float = 0.05


@dataclass(frozen=True, slots=True)
class DenseExcess:
    """What a cosine that is high for its article adds to the score.

    Attributes:
        quantile: of the article's cosines over the pool; what exceeds it (and 0) counts.
        weight: of the excess in the score of an article whose words find little; 0 for none.
        strong_weight: the same where they find much; not above `weight`.
        weak: words find little where the mean score of the article's three best posts in the first
            pass is at most this.
        strong: and much from this on; between the two the weight is linear.
    """

    quantile: float = 0.995
    weight: float = 0.2
    strong_weight: float = 0.1
    weak: float = 0.1
    strong: float = 0.3


@dataclass(frozen=True, slots=True)
class Smoothing:
    """How scores lean on those of similar posts (Diaz, CIKM 2005).

    A neighbor counts ``w = similarity ** exponent``. With t the sum of these weights a post's score
    S becomes ``(1 - g) S + g sum(w S_neighbor) / t`` with ``g = weight * t / (t + prior)``: a post
    with close neighbors takes their mean, one without any keeps its score.

    Attributes:
        posts: an article's best posts in the first pass that take part; each text counts once.
        neighbors: of a post, at most.
        least: the similarity above which a post is a neighbor.
        exponent: of the similarity.
        prior: what a post's own score counts; see above.
        dense: share of the cosine of the vectors in the similarity; the rest is the cosine of the
            words and that of the bigrams, half each, under the background IDF.
        weight: of the neighbors; 0 for no smoothing.
    """

    posts: int = 2000
    neighbors: int = 20
    least: float = 0.25
    exponent: float = 3.0
    prior: float = 0.3
    dense: float = 0.2
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Surface:
    """What n-grams of characters inside words add to the score (`siamese_news.scoring.surface`).

    Attributes:
        weight: of the surface, beside a score whose parts sum to 1; 0 for none.
        unknown: so many times the weight where none of an article's words is in the vocabulary; in
            between it is linear in their share.
        characters: length of an n-gram.
        near: so many posts near an article halve the weight of the pool's IDF. A post is near if
            its words and vector score more than half of what the article's ten best posts do.
        background: weight of the background's IDF where the pool's has none, from 0 to 1.
    """

    weight: float = 0.25
    unknown: float = 8.0
    characters: int = 4
    near: float = 50.0
    background: float = 0.25


@dataclass(frozen=True, slots=True)
class Passages:
    """What closeness to one passage of the article adds (`siamese_news.scoring.passages`).

    Attributes:
        weight: of the squared excess, after smoothing and the surface; 0 for none.
        words: length of a passage; the next one begins after half of it.
        rank: what exceeds the closeness of an article's post of this rank counts.
        posts: an article's best posts that are compared; each text counts once.
    """

    weight: float = 2.0
    words: int = 60
    rank: int = 20
    posts: int = 2000


_WEIGHTED: dict[str, Any] = {
    "excess": DenseExcess,
    "feedback": RocchioFeedback,
    "smoothing": Smoothing,
    "surface": Surface,
    "passages": Passages,
}


@dataclass(frozen=True, slots=True)
class TermOptions:
    """Every number of the lexical head; the module's docstring says what they do.

    Attributes:
        power: exponent of the IDF.
        lead_half_life: place in the article, in content words, at which a word counts half.
        pivot: slope of the length normalisation of posts, 0 to 1.
        article_tokens: content words read of an article.
        bigram_weight: share of the bigrams in the lexical score; 0 for none.
        dense: weight of the dense cosine in the score; the lexical head has what this and
            `excess` leave to 1. In the first pass over a pool, which picks the posts for feedback
            and smoothing, there is no excess yet.
        excess: what an article's highest cosines add.
        focused_pool: the rule for pools that are mostly about the story.
        feedback: what an article takes over from its best posts.
        smoothing: how scores lean on those of similar posts.
        surface: what n-grams inside words add, after smoothing.
        passages: what posts add that are close to one passage; needs the surface.
    """

    power: float = 1.5
    lead_half_life: float = 100.0
    pivot: float = 0.6
    article_tokens: int = 2000
    bigram_weight: float = 0.5
    dense: float = 0.03
    excess: DenseExcess = field(default_factory=DenseExcess)
    focused_pool: FocusedPool = field(default_factory=FocusedPool)
    feedback: RocchioFeedback = field(default_factory=RocchioFeedback)
    smoothing: Smoothing = field(default_factory=Smoothing)
    surface: Surface = field(default_factory=Surface)
    passages: Passages = field(default_factory=Passages)

    def __post_init__(self) -> None:
        _check_numbers(self, "terms: ")
        if self.power < 0 or self.lead_half_life <= 0 or self.article_tokens < 1:
            raise InputError(
                f"terms: power={self.power}, lead_half_life={self.lead_half_life}, article_tokens="
                f"{self.article_tokens}; expected power >= 0, lead_half_life > 0 and "
                "article_tokens >= 1"
            )
        shares = {
            "pivot": self.pivot,
            "bigram_weight": self.bigram_weight,
            "dense": self.dense,
            "dense + excess.weight": self.dense + self.excess.weight,
            "excess.weight": self.excess.weight,
            "excess.quantile": self.excess.quantile,
            "focused_pool.pool": self.focused_pool.pool,
            "focused_pool.headline_weight": self.focused_pool.headline_weight,
            "smoothing.dense": self.smoothing.dense,
            "smoothing.weight": self.smoothing.weight,
        }
        for name, share in shares.items():
            if not 0 <= share <= 1:
                raise InputError(f"terms: {name}={share}; expected a number from 0 to 1")
        if self.excess.weak >= self.excess.strong or self.excess.strong_weight < 0:
            raise InputError(
                f"terms: excess.weak={self.excess.weak}, excess.strong={self.excess.strong}, "
                f"excess.strong_weight={self.excess.strong_weight}; expected weak < strong and a "
                "weight from 0"
            )
        if not 0 <= self.focused_pool.share < self.focused_pool.full:
            raise InputError(
                f"terms: focused_pool.share={self.focused_pool.share}, focused_pool.full="
                f"{self.focused_pool.full}; expected 0 <= share < full"
            )
        smooth = self.smoothing
        if min(smooth.posts, smooth.neighbors) < 1 or smooth.prior <= 0 or smooth.least < 0:
            raise InputError(
                f"terms: smoothing.posts={smooth.posts}, smoothing.neighbors={smooth.neighbors}, "
                f"smoothing.prior={smooth.prior}, smoothing.least={smooth.least}; expected posts "
                "and neighbors >= 1, prior > 0 and least >= 0"
            )
        over = self.surface
        positive = min(over.weight, over.unknown) >= 0 and over.characters >= 1 and over.near > 0
        if not positive or not 0 <= over.background <= 1:
            raise InputError(
                f"terms: surface.weight={over.weight}, surface.unknown={over.unknown}, "
                f"surface.characters={over.characters}, surface.near={over.near}, "
                f"surface.background={over.background}; expected weight and unknown >= 0, "
                "characters >= 1, near > 0 and background from 0 to 1"
            )
        near = self.passages
        if near.weight < 0 or min(near.words, near.rank, near.posts) < 1:
            raise InputError(
                f"terms: passages.weight={near.weight}, passages.words={near.words}, "
                f"passages.rank={near.rank}, passages.posts={near.posts}; expected weight >= 0 and "
                "the others >= 1"
            )
        back = self.feedback
        most = min(back.posts, back.focused_posts)
        if min(back.foreign_posts, back.foreign_least - 1) < 0:
            raise InputError(
                f"terms: feedback.foreign_posts={back.foreign_posts}, feedback.foreign_least="
                f"{back.foreign_least}; expected foreign_posts >= 0 and foreign_least >= 1"
            )
        if not 0 <= back.weight <= 1 or not 1 <= back.least <= most:
            raise InputError(
                f"terms: feedback.weight={back.weight}, feedback.least={back.least}, "
                f"feedback.posts={back.posts}, feedback.focused_posts={back.focused_posts}; "
                "expected a weight from 0 to 1 and 1 <= least <= both numbers of posts"
            )

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "TermOptions":
        """From plain values, such as those of a model folder."""
        options = dict(values)
        # Parts that a folder was written without stay off.
        if "feedback" in options:
            options["feedback"] = {"foreign_posts": 0, **options["feedback"]}
        parts = {
            name: kind(**options.pop(name, {"weight": 0.0})) for name, kind in _WEIGHTED.items()
        }
        return cls(focused_pool=FocusedPool(**options.pop("focused_pool")), **parts, **options)

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def _check_numbers(options: Any, where: str) -> None:
    """Refuse what is not a number, and for a count what is not whole (NaN is neither)."""
    for option in fields(options):
        value, name = getattr(options, option.name), f"{where}{option.name}"
        if is_dataclass(value):
            _check_numbers(value, f"{name}.")
        elif option.type is int:
            if type(value) is not int or not abs(value) <= _MOST:
                raise InputError(f"{name}={value!r}; expected a whole number up to {_MOST:,}")
        elif type(value) not in (int, float) or not abs(value) <= _MOST:
            raise InputError(f"{name}={value!r}; expected a number up to {_MOST:,}")
