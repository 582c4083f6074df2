"""One `filter` as plain values: any process can open it and do a part of it."""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from siamese_news import __version__, scoring
from siamese_news.data.readers import PostStream, open_posts
from siamese_news.data.readers.shares import Share
from siamese_news.data.records import Article
from siamese_news.model.loading import open_named
from siamese_news.scoring import About, Fusion, Scorer
from siamese_news.search.export import ExportOptions
from siamese_news.search.languages import SearchLanguages
from siamese_news.search.seeds import Aggregate, Seeds
from siamese_news.search.window import Window


@dataclass(frozen=True, slots=True)
class Work:
    """What a `filter` does, whoever does it.

    Attributes:
        articles: the seeds.
        negatives: articles of stories that are not meant.
        set_aside: what articles were left out for, in words.
        aggregate: how the scores over several seeds become one.
        model: its folder; None is the one shipped.
        posts: what the user named: files, folders, globs.
        fields: how the files are read, the options of `open_posts`.
        threshold: of the score.
        about: which posts are wanted.
        fusion: how words and vectors come together.
        expand: whether the best posts speak for the articles as well.
        smooth: whether posts that are alike lend each other their scores.
        after: the first moment, as `Window` has it.
        before: the first moment that is too late.
        dated_only: leave out posts without a date.
        share: what is written of a post.
        format: of the results.
        dedupe: of near-duplicates only the best post.
        bom: whether a CSV begins with a byte order mark.
        threads: CPU threads; None: as many as torch takes.
        shards: how many parts the posts are read in; 0 is all at once.
    """

    articles: list[Article]
    negatives: list[Article]
    set_aside: list[str]
    aggregate: Aggregate
    model: str | None
    posts: list[str]
    fields: dict[str, Any]
    threshold: float
    about: About
    fusion: Fusion | None
    expand: bool | None
    smooth: bool
    after: str | None
    before: str | None
    dated_only: bool
    format: str
    dedupe: bool
    bom: bool
    threads: int | None
    share: ExportOptions = field(default_factory=ExportOptions)
    shards: int = 0

    def plain(self) -> dict[str, Any]:
        """As plain values, without the key of the pseudonyms: it is not for the disk."""
        values = asdict(self)
        values["share"]["key"] = None
        # The columns follow from whether there is one.
        values["share"]["keyed"] = self.share.key is not None
        return values

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Work":
        """From what `plain` gave; where there was a key, it can write results but no author."""
        options = dict(values)
        share = dict(options.pop("share"))
        share["key"] = b"" if share.pop("keyed") else None
        for name in ("articles", "negatives"):
            options[name] = [Article(**article) for article in options[name]]
        return cls(**options, share=ExportOptions(**share))

    @property
    def seeds(self) -> Seeds:
        """What to search for."""
        return Seeds(self.articles, self.negatives, True, self.aggregate, self.set_aside)

    def window(self) -> Window:
        """Which posts by date, counting from 0."""
        return Window(self.after, self.before, self.dated_only)

    def stream(
        self,
        rejected: Path | None,
        share: Share | None = None,
        taken: Collection[str] = (),
    ) -> PostStream:
        """The posts, or one part of them."""
        return open_posts(self.posts, rejected=rejected, share=share, taken=taken, **self.fields)

    def job(self, stream: PostStream | None, which: Mapping[str, str]) -> dict[str, Any]:
        """What must be the same to go on with a run: by the name that a message has for it.

        Args:
            stream: the posts; None where they come from an index.
            which: the model, as `open_named` says.
        """
        import torch

        files = [Path(found.source) for found in stream.detected] if stream else []
        stats = [(path, path.stat()) for path in files if path.is_file()]
        key = hashlib.sha256(b"job" + self.share.key).hexdigest() if self.share.key else None
        articles = [[a.id, a.full_text] for a in (*self.articles, *self.negatives)]
        return {
            "version": __version__,
            "model": which["sha256"] + which.get("words", ""),
            "seeds": hashlib.sha256(json.dumps(articles).encode()).hexdigest(),
            "posts": [[str(path), stat.st_size, stat.st_mtime_ns] for path, stat in stats],
            "threads": torch.get_num_threads(),
            "options": [
                len(self.negatives), self.aggregate, self.share.author, key, self.threshold,
                self.fusion, self.expand, self.about, self.smooth, self.after, self.before,
                self.dated_only, *self.fields.values(),
            ],
        }  # fmt: skip


class OpenWork:
    """A work whose model is loaded.

    Args:
        work: the work.

    Attributes:
        which: the model: ``folder``, ``sha256`` and perhaps ``library``.
        model: the model.
        languages: of the seeds, and of a sample of the posts.
    """

    def __init__(self, work: Work) -> None:
        self.work = work
        self.languages = SearchLanguages(work.articles, work.negatives)
        self.model, self.which = open_named(None if work.model is None else Path(work.model))

    def scorer(self) -> Scorer:
        """A scorer that has observed nothing."""
        work = self.work
        return scoring.open_scorer(
            self.model,
            work.seeds.texts,
            positives=len(work.articles),
            one_story=True,
            about=work.about,
            fusion=work.fusion,
            expand=work.expand,
            smooth=None if work.smooth else False,
            stop_words=self.languages.stop_words(self.model),
        )
