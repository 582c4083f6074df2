"""Several seed articles as one query: how their scores are combined."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.records import Article
from siamese_news.errors import InputError
from siamese_news.scoring import Scorer
from siamese_news.scoring.rivals import after_rivals
from siamese_news.search.remarks import stub_remarks

# Seeds of one search: a block of posts has a score for each of them in memory.
MOST = 20_000

# Scores are compared as whole millionths, the digits that are written.
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Seeds:
    """Seed articles, negative articles about different stories, and how several scores become one.

    ``max`` favors a post near any of the seeds, ``mean`` one near all of them. The scores of the
    negative seeds are combined by the same rule and subtracted. `one_story` means one list over all
    seeds instead of one for each; `set_aside` are the reasons why articles were left out.

    `distinct` seeds tell different stories. A score S > 0 of a post whose highest score for any
    seed is M becomes S²/M: it stays for the seed that the post fits best and falls for the others.
    With `rivals` (A, A) the same happens as far as two seeds are unrelated: by their words
    (`rival_weights`), and by what they find (`among_stories`).
    """

    articles: Sequence[Article]
    negatives: Sequence[Article] = ()
    one_story: bool = False
    set_aside: Sequence[str] = ()
    distinct: bool = False
    rivals: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        if not self.articles:
            raise InputError("no seed article; expected at least one")
        if len(self.articles) > MOST:
            raise InputError(
                f"{len(self.articles):,} seed articles came, expected {MOST:,} at most; are articles "
                "and posts exchanged? If not, search for parts of the articles, one after the other"
            )
        seed_texts = {article.full_text for article in self.articles}
        for article in self.negatives:
            if article.full_text in seed_texts:
                raise InputError(
                    f"article '{article.id}' is a seed and a negative seed; expected one of the two"
                )

    @property
    def lists(self) -> int:
        """How many lists there are."""
        return 1 if self.one_story else len(self.articles)

    def among_stories(self, scorer: Scorer) -> "Seeds":
        """The seeds, of which those that tell one story by what a scorer learned are no rivals."""
        if self.rivals is None:
            return self
        count = len(self.articles)
        apart = 1 - scorer.shared_stories()[:count, :count]
        return replace(self, rivals=self.rivals * apart)

    @property
    def texts(self) -> list[str]:
        """The articles of a scorer, in the order of its scores."""
        return [article.full_text for article in (*self.articles, *self.negatives)]

    def remarks(self) -> list[str]:
        """Remarks on the articles, for the reader of the results."""
        remarks = [f"An article was skipped: {reason}" for reason in self.set_aside]
        return [*remarks, *stub_remarks([*self.articles, *self.negatives])]

    def combine(self, scores: np.ndarray) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """The scores of the lists, (lists, P) millionths, and each post's nearest seed, (P,) rows.

        `scores` are (A, P), of the articles and the negatives.
        """
        if not np.isfinite(scores).all():
            raise InputError(
                f"a score is {scores[~np.isfinite(scores)][0]}; the model is broken, train it again"
            )
        count = len(self.articles)
        positive = scores[:count].astype(np.float64)
        best = positive.argmax(axis=0)
        result = positive.max(axis=0)[None] if self.one_story else positive
        if self.distinct:
            share_of_best = np.divide(
                result, result.max(axis=0), out=np.ones_like(result), where=result > 0
            )
            result = result * share_of_best
        elif self.rivals is not None:
            result = after_rivals(result, self.rivals)
        if self.negatives:
            result = result - scores[count:].astype(np.float64).max(axis=0)
        return np.rint(result * MILLION).astype(np.int64), best

    def at_most(
        self, upper: NDArray[np.float32], lower: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """(lists, P) upper bounds of the scores of the lists.

        `upper` and `lower` are (A, P) bounds of the scores of the articles and the negatives.
        """
        count = len(self.articles)
        result = upper[:count].max(axis=0)[None] if self.one_story else upper[:count]
        if self.negatives:
            result = result - lower[count:].max(axis=0)
        return result
