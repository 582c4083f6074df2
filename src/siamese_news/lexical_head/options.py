"""Every number of the lexical head."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Annotated, Any, get_args

from siamese_news.errors import InputError

# A number above this is a mistake: memory would be asked for it, or it would not fit.
_MOST = 10**9


@dataclass(frozen=True, slots=True)
class Bounds:
    """The numbers that an option takes, in words, and the limits."""

    words: str
    minimum: float
    maximum: float = math.inf


_ANY = Bounds("a number", -math.inf)
Share = Annotated[float, Bounds("a number from 0 to 1", 0, 1)]
Amount = Annotated[float, Bounds("0 or more", 0)]
Positive = Annotated[float, Bounds("a number above 0", math.ulp(0.0))]
Number = Annotated[int, Bounds("0 or more", 0)]
Count = Annotated[int, Bounds("1 or more", 1)]


@dataclass(frozen=True, slots=True)
class FocusedPool:
    """When a pool counts as mostly about an article's story, and how the weights change then.

    The degree x is 0 while at most the share `share` of the posts has a lexical score above
    `score`, 1 from the share `full` on, and linear between them, rounded to halves. Each IDF is
    then ``background ** (1 - x pool) * pool's ** (x pool)``.

    Attributes:
        score: a post whose words score above this under the background IDF is about the story.
        share: the share of such posts up to which a pool is not focused.
        full: the share of such posts from which on it is fully so.
        posts: the fewest posts that a pool must have for the rule to apply.
        pool: the exponent of the pool's IDF for x = 1.
        headline: how many content words the headline vector has; 0 for none.
        headline_weight: the weight of the headline vector for x = 1.
    """

    score: float = 0.03
    share: Amount = 0.1
    full: float = 0.15
    posts: int = 100
    pool: Share = 0.75
    headline: int = 12
    headline_weight: Share = 0.5


@dataclass(frozen=True, slots=True)
class RocchioFeedback:
    """Pseudo-relevance feedback: an article's best posts join its query (Rocchio 1971).

    Attributes:
        posts: the most feedback posts of an article, each of a different text.
        focused_posts: the same in a pool that is mostly about the article's story (`FocusedPool`),
            where more posts would be those about the story and not about the article.
        least: the fewest such posts; an article with fewer is unchanged.
        score: the score that a post must reach.
        weight: the weight of their mean vector in the article's; 0 for no feedback.
        alike: how alike these posts must be. Those about an event resemble each other; those for
            one claim among thousands do not, and lead astray. Up to a likeness of `alike` (the mean
            g of `Smoothing` with a weight of 1) the article is unchanged; from twice that on it
            takes the full `weight`, in between linearly. In a pool of n < 2,000 posts the limit is
            ``alike * n / 2000``, the least weight ``weight * (1 - n / 2000)``. 0: always full.
        foreign_posts: the most feedback posts of each other language, where an article asks for its
            event; 0 for none.
        foreign_least: the fewest of a language.
        foreign_score: the score that they must reach: names and hashtags alone find them.
    """

    posts: int = 20
    focused_posts: int = 5
    least: Count = 3
    score: float = 0.15
    weight: Share = 0.25
    alike: Share = 0.3
    foreign_posts: Number = 40
    foreign_least: Count = 5
    foreign_score: float = 0.05


@dataclass(frozen=True, slots=True)
class DenseExcess:
    """A bonus for a cosine that is high for its article.

    Attributes:
        quantile: of the article's cosines over the pool; what exceeds it (and 0) counts.
        weight: of the excess in the score of an article whose words find little; 0 for none.
        strong_weight: the same where they find much; not above `weight`.
        weak: words find little where the mean score of the article's three best posts in the first
            pass is at most this.
        strong: and much from this on; between the two the weight is linear.
    """

    quantile: Share = 0.995
    weight: Share = 0.2
    strong_weight: Amount = 0.1
    weak: float = 0.1
    strong: float = 0.3


@dataclass(frozen=True, slots=True)
class Agreement:
    """When the vectors decide: where many posts share words with an article, but weak ones.

    The gate of an article is a product of three ramps from 0 to 1, by its best posts in the first
    pass: the vectors confirm the words, many posts share words, and no post shares much.

    Attributes:
        weight: of the cosine where the gate is open, in the place of `TermOptions.dense`; in
            between linear.
        feedback: weight of the mean vector of the article's best posts, next to its own, where the
            gate is open.
        first: so many best posts are compared with the others.
        posts: so many best posts are looked at.
        low: the vectors do not confirm the words up to here: the mean cosine of the `first` posts
            above that of the others, in standard deviations of the latter.
        high: they do from here on.
        few: not many posts share words up to this mean score by words of the `first` posts.
        many: they do from here on.
        weak: no post shares much up to this mean score by words of the three best.
        strong: some do from here on.
    """

    weight: Share = 0.1
    feedback: Amount = 0.5
    first: Count = 20
    posts: Count = 1000
    low: float = 1.75
    high: float = 2.5
    few: float = 0.04
    many: float = 0.09
    weak: float = 0.25
    strong: float = 0.4


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
        prior: the weight of a post's own score; see above.
        dense: share of the cosine of the vectors in the similarity; the rest is the cosine of the
            words and that of the bigrams, half each, under the background IDF.
        weight: of the neighbors; 0 for no smoothing.
    """

    posts: Count = 2000
    neighbors: Count = 20
    least: Amount = 0.25
    exponent: float = 3.0
    prior: Positive = 0.3
    dense: Share = 0.2
    weight: Share = 1.0


@dataclass(frozen=True, slots=True)
class Widening:
    """Where scores lean on less similar posts too: posts answer without naming the matter.

    Comments answer a story in words of their own, so few have a close neighbor. The gate x of an
    article is a product of three ramps from 0 to 1: many posts share words with the article, its
    best posts do not resemble each other (the likeness of `RocchioFeedback.alike`), and each of
    them shares other words with it (`Evidence.shared`). It is 0 for an article in a language that
    the vocabulary lacks, where posts resemble each other by function words. With w the weight of a
    neighbor by `Smoothing`, it becomes ``(1 - x) w + x similarity ** exponent``, the latter for a
    similarity above `least`.

    Attributes:
        neighbors: of a post, at most, where x is above 0.
        least: the similarity above which a post is a neighbor.
        exponent: of the similarity.
        first: so many best posts tell how many share words with the article.
        few: not many do up to this mean of their scores by words in the first pass.
        many: many do from here on.
        unlike: the best posts do not resemble each other up to this likeness.
        alike: they do from here on.
        scattered: two of them have none of the article's words in common up to this mean.
        shared: they have from here on.
    """

    neighbors: Count = 40
    least: Amount = 0.1
    exponent: float = 1.5
    first: Count = 20
    few: float = 0.06
    many: float = 0.12
    unlike: float = 0.4
    alike: float = 0.6
    scattered: float = 0.07
    shared: float = 0.12


@dataclass(frozen=True, slots=True)
class Surface:
    """The part of n-grams of characters inside words in the score (`siamese_news.scoring.surface`).

    Attributes:
        weight: of the surface, next to a score whose parts sum to 1; 0 for none.
        unknown: factor on the weight where none of an article's words is in the vocabulary; in
            between it is linear in their share.
        characters: length of an n-gram.
        near: the number of posts near an article that halves the weight of the pool's IDF. A post
            is near if its words and vector score more than half of the mean score of the
            article's ten best posts. They count as far as feedback does (`RocchioFeedback.alike`).
        background: weight of the background's IDF where the pool's has none, from 0 to 1.
    """

    weight: Amount = 0.25
    unknown: Amount = 8.0
    characters: Count = 4
    near: Positive = 50.0
    background: Share = 0.25


@dataclass(frozen=True, slots=True)
class Passages:
    """A bonus for closeness to one passage of the article (`siamese_news.scoring.passages`).

    Attributes:
        weight: of the squared excess, next to a score whose parts sum to 1; 0 for none.
        words: length of a passage; the next one begins after half of it.
        rank: what exceeds the closeness of an article's post of this rank counts.
        posts: an article's best posts that are compared; each text counts once.
    """

    weight: Amount = 2.6
    words: Count = 60
    rank: Count = 20
    posts: Count = 2000


@dataclass(frozen=True, slots=True)
class TermOptions:
    """Every number of the lexical head; the package's docstring explains them.

    Attributes:
        power: exponent of the IDF.
        lead_half_life: place in the article, in content words, at which a word counts half.
        pivot: slope of the length normalization of posts, 0 to 1.
        article_tokens: content words read of an article.
        bigram_weight: share of the bigrams in the lexical score; 0 for none.
        dense: weight of the dense cosine in the score; the lexical head has what this and
            `excess` leave to 1. In the first pass over a pool, which picks the posts for feedback
            and smoothing, the excess is not known yet.
        agreement: where the cosine weighs more.
        excess: the bonus for an article's highest cosines.
        focused_pool: the rule for pools that are mostly about the story.
        feedback: the words that an article takes over from its best posts.
        smoothing: how scores lean on those of similar posts.
        widening: where they lean on those of less similar posts too.
        surface: the weight of n-grams inside words, after smoothing.
        passages: the bonus for closeness to one passage; needs the surface.
    """

    power: Amount = 1.5
    lead_half_life: Positive = 100.0
    pivot: Share = 0.6
    article_tokens: Count = 2000
    bigram_weight: Share = 0.5
    dense: Share = 0.03
    agreement: Agreement = field(default_factory=Agreement)
    excess: DenseExcess = field(default_factory=DenseExcess)
    focused_pool: FocusedPool = field(default_factory=FocusedPool)
    feedback: RocchioFeedback = field(default_factory=RocchioFeedback)
    smoothing: Smoothing = field(default_factory=Smoothing)
    widening: Widening = field(default_factory=Widening)
    surface: Surface = field(default_factory=Surface)
    passages: Passages = field(default_factory=Passages)

    def __post_init__(self) -> None:
        values = dict(_checked_numbers(self, ""))

        def expect(is_met: bool, names: Sequence[str], expected: str) -> None:
            if not is_met:
                pairs = ", ".join(f"{name}={values[name]}" for name in names)
                raise InputError(f"terms: {pairs}; expected {expected}")

        for cosine, excess in _PARTS_OF_ONE:
            total = values[cosine] + values[excess]
            expect(total <= 1, (cosine, excess), "a sum of at most 1")
        for ramp, start, end in _ASCENDING:
            names = (f"{ramp}.{start}", f"{ramp}.{end}")
            expect(values[names[0]] < values[names[1]], names, f"{start} < {end}")
        rule = self.feedback
        expect(
            rule.least <= min(rule.posts, rule.focused_posts),
            ("feedback.least", "feedback.posts", "feedback.focused_posts"),
            "least to be at most either number of posts",
        )

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "TermOptions":
        """From plain values, such as those of a model folder; older ones lack some parts."""
        options = {"agreement": {}, "widening": {}, **values}
        for option in fields(cls):
            if isinstance(option.type, type) and is_dataclass(option.type):
                options[option.name] = option.type(**options[option.name])
        return cls(**options)

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


# Two weights of one score, which leave the rest to the lexical head.
_PARTS_OF_ONE = (("dense", "excess.weight"), ("agreement.weight", "excess.weight"))
# The two ends of a ramp, by part.
_ASCENDING = (
    ("agreement", "low", "high"),
    ("agreement", "few", "many"),
    ("agreement", "weak", "strong"),
    ("widening", "few", "many"),
    ("widening", "unlike", "alike"),
    ("widening", "scattered", "shared"),
    ("excess", "weak", "strong"),
    ("focused_pool", "share", "full"),
)


def _checked_numbers(options: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Dotted names and values, all of the right type, finite and within their bounds."""
    for option in fields(options):
        value = getattr(options, option.name)
        name = f"{prefix}{option.name}"
        if is_dataclass(value):
            yield from _checked_numbers(value, f"{name}.")
            continue
        kind, bounds = get_args(option.type) or (option.type, _ANY)
        kinds = (int,) if kind is int else (int, float)
        if type(value) not in kinds or not abs(value) <= _MOST:  # NaN is not <= either
            number = "a whole number" if kind is int else "a number"
            raise InputError(
                f"terms: {name}={value!r}; expected {number} up to {_MOST:,}"
            )
        if not bounds.minimum <= value <= bounds.maximum:
            raise InputError(f"terms: {name}={value}; expected {bounds.words}")
        yield name, value
