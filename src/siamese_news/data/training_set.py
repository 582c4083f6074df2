"""The training pairs of one or several sources, by index."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from siamese_news.data.leaks import same_text_key
from siamese_news.data.pairs import relevant_pairs
from siamese_news.data.records import Article, Collection, Post


@dataclass(slots=True)
class TrainingSet:
    """Articles and posts by index, and each article's posts.

    Attributes:
        articles: those with at least one relevant post, in the order of the sources.
        posts: those relevant to an article.
        posts_of: for each article the indices of its relevant posts.
    """

    articles: list[Article] = field(default_factory=list)
    posts: list[Post] = field(default_factory=list)
    posts_of: list[list[int]] = field(default_factory=list)

    def text_groups(self) -> list[int]:
        """For each post a number that posts of the same text (`same_text_key`) share."""
        numbers: dict[str, int] = {}
        # A post without a word is like no other.
        keys = (same_text_key(post.text) or f"\x00{n}" for n, post in enumerate(self.posts))
        return [numbers.setdefault(key, len(numbers)) for key in keys]

    def texts(self) -> Iterator[str]:
        """All training texts: articles with their titles, then posts."""
        yield from (article.full_text for article in self.articles)
        yield from (post.text for post in self.posts)


def training_set(sources: Iterable[tuple[str, Collection, str]]) -> TrainingSet:
    """Join (source name, collection, split) into one training set.

    Ids of different sources do not mix, even where they look the same; splits of one source do.

    Raises:
        InputError: for a split that a collection does not have.
    """
    joined = TrainingSet()
    article_index: dict[tuple[str, str], int] = {}
    post_index: dict[tuple[str, str], int] = {}
    seen: set[tuple[int, int]] = set()
    for source, collection, split in sources:
        for article_id, post_id in relevant_pairs(collection.split(split)):
            article = article_index.setdefault((source, article_id), len(joined.articles))
            if article == len(joined.articles):
                joined.articles.append(collection.articles[article_id])
                joined.posts_of.append([])
            post = post_index.setdefault((source, post_id), len(joined.posts))
            if post == len(joined.posts):
                joined.posts.append(collection.posts[post_id])
            if (article, post) not in seen:
                seen.add((article, post))
                joined.posts_of[article].append(post)
    return joined
