"""siamese_news: news articles in, the posts about them out.

Importing the package alone imports no other; each name below is imported when it is first used.

Example:
    >>> from siamese_news import Searcher
    >>> posts = ["the river is in my cellar", "new phone today"]
    >>> found = Searcher().rank(["A river floods a town. Cellars are full of water."], posts)
    >>> found[0]["text"]
    'the river is in my cellar'
"""

import sys

# `python -m siamese_news…` puts the current folder first on the path, where a file of somebody else
# named like a module would run in place of it. At this point Python still looks for the module.
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    _named = [_word.removeprefix("-m").partition(".")[0] for _word in sys.orig_argv]
    if __name__ in _named:
        del sys.path[0]

from typing import TYPE_CHECKING, Any

from siamese_news.utils.extras import lazy_attribute

if TYPE_CHECKING:
    from siamese_news.data.articles import read_articles
    from siamese_news.data.readers import open_posts
    from siamese_news.data.records import Article, Post
    from siamese_news.encoders import StarEncoder, build_encoder
    from siamese_news.errors import InputError
    from siamese_news.model import Model
    from siamese_news.model.loading import open_model
    from siamese_news.scoring import open_scorer
    from siamese_news.search.searcher import Searcher
    from siamese_news.training.datamodule import SiameseDataModule
    from siamese_news.training.module import SiameseModule

__version__ = "0.1.0"
__all__ = [
    "Article",
    "InputError",
    "Model",
    "Post",
    "Searcher",
    "SiameseDataModule",
    "SiameseModule",
    "StarEncoder",
    "__version__",
    "build_encoder",
    "open_model",
    "open_posts",
    "open_scorer",
    "read_articles",
]

_HOMES = {
    "data.articles": ("read_articles",),
    "data.readers": ("open_posts",),
    "data.records": ("Article", "Post"),
    "encoders": ("StarEncoder", "build_encoder"),
    "errors": ("InputError",),
    "model": ("Model",),
    "model.loading": ("open_model",),
    "scoring": ("open_scorer",),
    "search.searcher": ("Searcher",),
    "training.datamodule": ("SiameseDataModule",),
    "training.module": ("SiameseModule",),
}


def __getattr__(name: str) -> Any:
    """A name of `__all__`, on first use."""
    extra = "train" if name in ("SiameseDataModule", "SiameseModule") else "encoders"
    return lazy_attribute(__name__, _HOMES, name, extra)


def __dir__() -> list[str]:
    """The names that may be imported, for completion."""
    return list(__all__)
