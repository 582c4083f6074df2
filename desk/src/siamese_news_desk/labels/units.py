"""What people judge: a post, or an article and a post."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """A post (or an article-post pair) to judge; `name` is that of the order and the labels.

    `article` is empty if the results are a single list, `text` and `link` if they have none.
    """

    name: str
    post: str
    article: str = ""
    text: str = ""
    link: str = ""
