"""siamese_news: news articles in, the posts about them out."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from siamese_news.search.searcher import Searcher

__version__ = "0.1.0"
__all__ = ["Searcher", "__version__"]


def __getattr__(name: str) -> Any:
    """`Searcher` on first use: importing the package alone stays light."""
    if name == "Searcher":
        from siamese_news.search.searcher import Searcher

        return Searcher
    raise AttributeError(f"module 'siamese_news' has no attribute {name!r}")
