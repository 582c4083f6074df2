"""Rank a stream of posts for seed articles: memory bounded, the same every time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral

from siamese_news.data.records import Article, Post
from siamese_news.errors import InputError
from siamese_news.model.siamese import Model
from siamese_news.scoring import Scorer, open_scorer
from siamese_news.search.histogram import ScoreCounts
from siamese_news.search.index.scoring import Wanted
from siamese_news.search.remarks import order_remarks
from siamese_news.search.scan import ReplayablePosts, observe, scored
from siamese_news.search.seeds import MILLION, Seeds
from siamese_news.search.spool import Spool
from siamese_news.search.top import TopPosts
from siamese_news.search.window import Window


@dataclass(frozen=True, slots=True)
class RankedPost:
    """A post at its rank.

    Attributes:
        article: the seed article; in one list over several seeds, the one it is nearest to.
        rank: from 1.
        score: rounded to 6 decimals; what it is depends on the model (`Scorer.kind`).
        post: the post.
    """

    article: Article
    rank: int
    score: float
    post: Post


class Ranking:
    """The lists of a search, made one at a time: they may be as long as the pool.

    Attributes:
        seeds: what was searched for.
        scores: how many posts have which score, of all that were scanned.
    """

    def __init__(self, seeds: Seeds, found: TopPosts, scores: ScoreCounts) -> None:
        self.seeds = seeds
        self.scores = scores
        self._found = found

    @property
    def scanned(self) -> int:
        """How many posts were scored."""
        return self._found.seen

    def remarks(self) -> list[str]:
        """What a user should know of lists that say little."""
        names = ["the seeds"] if self.seeds.over else [a.id for a in self.seeds.articles]
        best = (score / MILLION for score in self._found.best())
        return order_remarks(self.scores, dict(zip(names, best, strict=True)))

    def posts(self) -> list[Post]:
        """The different posts in the lists."""
        return self._found.posts()

    def __iter__(self) -> Iterator[list[RankedPost]]:
        articles = self.seeds.articles
        for number, kept in enumerate(self._found.lists()):
            yield [
                RankedPost(articles[best if self.seeds.over else number], rank, s / MILLION, post)
                for rank, (s, post, best) in enumerate(kept, 1)
            ]


def rank_posts(
    model: Model, articles: Sequence[Article], posts: Iterable[Post], *, top: int
) -> list[list[RankedPost]]:
    """The `top` posts of each article, best first.

    Scores are rounded to 6 decimals; ties break by post id, descending, as trec_eval breaks them.
    Posts are encoded in blocks of 8,192 input rows, so only one block and the best are in memory.

    Args:
        model: any model.
        articles: the seeds.
        posts: any number of posts.
        top: how many posts to keep for each article.

    Returns:
        One list an article, in the order of `articles`.

    Raises:
        InputError: no articles, no posts, a post id twice, or `top` below 1.
    """
    seeds = Seeds(articles)
    return list(
        search(
            open_scorer(model, seeds.texts, positives=len(seeds.articles)),
            seeds,
            ReplayablePosts(posts),
            top=top,
        )
    )


def search(
    scorer: Scorer,
    seeds: Seeds,
    posts: Iterable[Post],
    *,
    top: int,
    window: Window | None = None,
    texts: bool = True,
    again: Callable[[str], None] | None = None,
    spool: Spool | None = None,
) -> Ranking:
    """Rank posts whose ids are known to differ and that can be read twice.

    Args:
        scorer: opened with `seeds.texts`.
        seeds: what to search for.
        posts: such as a `PostStream`.
        top: posts of each list.
        window: which posts by date; None for all.
        texts: whether the posts in the ranking need more than their ids.
        again: called after each pass that the scorer learned from, with what it learned.
        spool: where the first pass leaves what it read for the others; None is a new one.

    Raises:
        InputError: no post, or `top` below 1.
    """
    if isinstance(top, bool) or not isinstance(top, Integral) or top < 1:
        raise InputError(f"top is {top!r}; expected a whole number from 1 on")
    spool = spool or Spool()
    for _ in observe(scorer, posts, window=window, again=again, spool=spool):
        pass
    found, counts = TopPosts(seeds.lists, top), ScoreCounts()
    wanted = Wanted(seeds.at_most, found.least)
    for block in scored(
        scorer, posts, articles=len(seeds.texts), window=window, spool=spool, wanted=wanted
    ):
        scores, best = seeds.combine(block.scores)
        counts.add(scores, of_all=block.rows is None)
        bare = block.rows is None and not texts
        kept = [Post(post.id, "") for post in block.posts] if bare else block.posts
        found.add(kept, scores, best, block.rows)
    spool.close()
    if not found.seen:
        dates = window.counts() if window else {}
        reason = "; no post lies within the dates" if dates else ": expected at least one"
        raise InputError(f"there is no post to rank{reason}")
    return Ranking(seeds, found, counts)
