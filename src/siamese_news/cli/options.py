"""The options that commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How results are written."""

    table = "table"
    jsonl = "jsonl"
    csv = "csv"
    parquet = "parquet"
    trec = "trec"


class Aggregate(StrEnum):
    """How the scores over several seeds become one."""

    max = "max"
    mean = "mean"
    softmax = "softmax"


class About(StrEnum):
    """Which posts are wanted."""

    auto = "auto"
    event = "event"
    article = "article"


class Fusion(StrEnum):
    """How words and vectors come together."""

    weighted = "weighted"
    reciprocal = "reciprocal"
    words = "words"
    vectors = "vectors"


ArticlesOption = Annotated[
    list[str],
    typer.Option(
        help="Seed articles: .txt, saved web pages, JSON, JSON lines, CSV; files, folders, globs, "
        "or - for standard input; several may follow."
    ),
]
PostsOption = Annotated[
    list[str],
    typer.Option(
        help="Posts: dumps of any known platform, JSON lines, CSV, Parquet; files, folders, globs, "
        "or -; several may follow."
    ),
]
OptionalPostsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--posts",
        help="Posts: dumps of any known platform, JSON lines, CSV, Parquet; files, folders, globs, "
        "or -; several may follow.",
    ),
]
IndexOption = Annotated[
    Path | None,
    typer.Option(
        "--index", help="In place of --posts: an index of them that siamese-news index wrote."
    ),
]
ModelOption = Annotated[
    Path | None,
    typer.Option(
        help="Model folder that training wrote; else the one shipped. A folder of "
        "sentence-transformers or model2vec gives the vectors beside the words of the one shipped."
    ),
]
NotOption = Annotated[
    list[str] | None,
    typer.Option(
        "--not",
        metavar="ARTICLE",
        help="Article of a story that is not meant: its score is subtracted; several may follow.",
    ),
]
AggregateOption = Annotated[
    Aggregate,
    typer.Option(
        help="Score over several seeds: near any of them (max), near all (mean), between (softmax)."
    ),
]
AboutOption = Annotated[
    About,
    typer.Option(
        help="Posts about the article's event, or about this very article. auto: the event for "
        "several seeds of one story; else as the pool suggests."
    ),
]
FilterAboutOption = Annotated[
    About,
    typer.Option(
        help="Posts about the articles' event, or about this very article. auto: as rank decides."
    ),
]
SmoothOption = Annotated[
    bool,
    typer.Option(
        "--smooth/--no-smooth",
        help="Let posts that are alike lend each other their scores, where the model does.",
    ),
]
FusionOption = Annotated[
    Fusion | None,
    typer.Option(
        help="Words and vectors: added with the model's weight, by reciprocal ranks (another "
        "pass), or one alone. Else as the model says."
    ),
]
ExpandOption = Annotated[
    bool | None,
    typer.Option(
        "--expand/--no-expand",
        help="Let each article's best posts speak for it as well (pseudo-relevance feedback; "
        "another pass). Else as the model says; the one shipped does.",
    ),
]
AfterOption = Annotated[
    str | None, typer.Option(metavar="DATE", help="Only posts from then on (UTC), or undated.")
]
BeforeOption = Annotated[
    str | None, typer.Option(metavar="DATE", help="Only posts before then (UTC), or undated.")
]
DatedOnlyOption = Annotated[bool, typer.Option("--dated-only", help="Leave out undated posts.")]
DedupeOption = Annotated[
    bool, typer.Option("--dedupe", help="Of near-duplicates show the best one, with their number.")
]
IdsOnlyOption = Annotated[
    bool, typer.Option("--ids-only", help="Write no words of the posts, for sharing.")
]
AuthorOption = Annotated[bool, typer.Option("--author", help="Write the authors as well.")]
PseudonymiseOption = Annotated[
    Path | None,
    typer.Option(
        metavar="KEYFILE",
        help="Write the authors as HMAC-SHA256 under a secret key. Names inside texts and ids "
        "(Bluesky) stay.",
    ),
]
MapOption = Annotated[
    bool,
    typer.Option(
        "--map",
        help="Places x and y of the best 2,000 posts, for a viewer such as embedding-atlas.",
    ),
]
BomOption = Annotated[bool, typer.Option("--bom", help="Begin a CSV as Excel likes it.")]
TextFieldOption = Annotated[str | None, typer.Option(help="Field of a post's text.")]
IdFieldOption = Annotated[
    str | None, typer.Option(help="Field of a post's id; 'line' numbers the rows.")
]
DateFieldOption = Annotated[str | None, typer.Option(help="Field of a post's date.")]
EncodingOption = Annotated[
    str | None,
    typer.Option(help="Encoding of the posts' files, such as utf-16 or cp1252; else by a look."),
]
LongWindowOption = Annotated[
    bool, typer.Option("--long-window", help="Allow .zst windows of up to 2 GiB.")
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Stop at the first bad row instead of setting it aside.")
]
ThreadsOption = Annotated[int | None, typer.Option(min=1, help="CPU threads.")]
