"""Every number of the lexical head."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from siamese_news.errors import InputError


@dataclass(frozen=True, slots=True)
class Narrow:
    """When a pool counts as mostly about the story, and what is done then.

    Attributes:
        score: a post whose words score above this for a seed counts as about the story.
        share: the rule applies from this share of the pool on.
        posts: … and from so many posts on.
        pool: the exponent of the pool's IDF; that of the background's is 1 - pool.
        headline: how many content words the headline vector has; 0 for none.
    """

    score: float = 0.06
    share: float = 0.2
    posts: int = 100
    pool: float = 0.75
    headline: int = 12


@dataclass(frozen=True, slots=True)
class Feedback:
    """Pseudo-relevance feedback: an article's best posts speak for it as well (Rocchio 1971).

    Attributes:
        posts: how many different posts of an article, at most.
        least: … and at least; an article with fewer stays as it is.
        score: what their score must reach.
        weight: of their mean vector in the article's; 0 for no feedback.
    """

    posts: int = 5
    least: int = 3
    score: float = 0.15
    weight: float = 0.2


@dataclass(frozen=True, slots=True)
class TermOptions:
    """Every number of the lexical head; the module's docstring says what they do.

    Attributes:
        power: exponent of the IDF.
        half: place in the article at which a word counts half.
        pivot: slope of the length normalisation of posts, 0 to 1.
        article_tokens: content words read of an article.
        phrases: share of the pairs in the lexical score; 0 for none.
        dense: weight of the dense cosine in the score; the lexical head has 1 - dense.
        narrow: the rule for pools that are mostly about the story.
        feedback: what an article takes over from its best posts.
    """

    power: float = 1.5
    half: float = 100.0
    pivot: float = 0.6
    article_tokens: int = 2000
    phrases: float = 0.5
    dense: float = 0.05
    narrow: Narrow = field(default_factory=Narrow)
    feedback: Feedback = field(default_factory=Feedback)

    def __post_init__(self) -> None:
        if self.power < 0 or self.half <= 0 or self.article_tokens < 1:
            raise InputError(
                f"terms: power={self.power}, half={self.half}, article_tokens="
                f"{self.article_tokens}; expected power >= 0, half > 0, article_tokens >= 1"
            )
        shares = (self.pivot, self.phrases, self.dense, self.narrow.pool)
        if not all(0 <= share <= 1 for share in shares):
            raise InputError(
                f"terms: pivot={self.pivot}, phrases={self.phrases}, dense={self.dense}, "
                f"narrow.pool={self.narrow.pool}; expected numbers from 0 to 1"
            )
        back = self.feedback
        if not 0 <= back.weight <= 1 or not 1 <= back.least <= back.posts:
            raise InputError(
                f"terms: feedback.weight={back.weight}, feedback.least={back.least}, "
                f"feedback.posts={back.posts}; expected a weight from 0 to 1 and 1 <= least <= "
                "posts"
            )

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "TermOptions":
        """From plain values, such as those of a model folder."""
        options = dict(values)
        narrow = Narrow(**options.pop("narrow"))
        # Folders from before there was feedback have none.
        feedback = Feedback(**options.pop("feedback", {"weight": 0.0}))
        return cls(narrow=narrow, feedback=feedback, **options)

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)
