"""Every number of the lexical head."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from siamese_news.errors import InputError

# What model folders of 0.1.0 call some options.
_RENAMED = {"half": "lead_half_life", "phrases": "bigram_weight", "narrow": "focused_pool"}


@dataclass(frozen=True, slots=True)
class FocusedPool:
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
class RocchioFeedback:
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
        lead_half_life: place in the article, in content words, at which a word counts half.
        pivot: slope of the length normalisation of posts, 0 to 1.
        article_tokens: content words read of an article.
        bigram_weight: share of the bigrams in the lexical score; 0 for none.
        dense: weight of the dense cosine in the score; the lexical head has 1 - dense.
        focused_pool: the rule for pools that are mostly about the story.
        feedback: what an article takes over from its best posts.
    """

    power: float = 1.5
    lead_half_life: float = 100.0
    pivot: float = 0.6
    article_tokens: int = 2000
    bigram_weight: float = 0.5
    dense: float = 0.05
    focused_pool: FocusedPool = field(default_factory=FocusedPool)
    feedback: RocchioFeedback = field(default_factory=RocchioFeedback)

    def __post_init__(self) -> None:
        if self.power < 0 or self.lead_half_life <= 0 or self.article_tokens < 1:
            raise InputError(
                f"terms: power={self.power}, lead_half_life={self.lead_half_life}, article_tokens="
                f"{self.article_tokens}; expected power >= 0, lead_half_life > 0 and "
                "article_tokens >= 1"
            )
        shares = (self.pivot, self.bigram_weight, self.dense, self.focused_pool.pool)
        if not all(0 <= share <= 1 for share in shares):
            raise InputError(
                f"terms: pivot={self.pivot}, bigram_weight={self.bigram_weight}, "
                f"dense={self.dense}, focused_pool.pool={self.focused_pool.pool}; "
                "expected numbers from 0 to 1"
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
        options = {_RENAMED.get(name, name): value for name, value in values.items()}
        focused = FocusedPool(**options.pop("focused_pool"))
        # Folders from before there was feedback have none.
        feedback = RocchioFeedback(**options.pop("feedback", {"weight": 0.0}))
        return cls(focused_pool=focused, feedback=feedback, **options)

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)
