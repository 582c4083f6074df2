"""Labels, certificates and the page: what a list of scored posts is worth.

Nothing here opens a model: every list with ids and scores can be certified, whatever made it.

Example:
    >>> from tempfile import TemporaryDirectory
    >>> from siamese_news_desk import certify_scores
    >>> ids = [f"post {row}" for row in range(1000)]  # the first 300 are relevant
    >>> with TemporaryDirectory() as folder:
    ...     done = certify_scores(range(1000, 0, -1), ids, folder, budget=100)
    >>> len(done.next_rows) > 0  # to be labeled, best first
    True
"""

from typing import TYPE_CHECKING, Any

from siamese_news.utils.extras import lazy_attribute

if TYPE_CHECKING:
    from siamese_news_desk.decide.arrays import certify_scores

__version__ = "0.1.0"
__all__ = ["__version__", "certify_scores"]

_HOMES = {"decide.arrays": ("certify_scores",)}


def __getattr__(name: str) -> Any:
    """A name of `__all__`, on first use."""
    return lazy_attribute(__name__, _HOMES, name, "desk")


def __dir__() -> list[str]:
    """The names that may be imported, for completion."""
    return list(__all__)
