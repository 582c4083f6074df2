"""A search request: one record shared by the commands, the page, `Searcher` and the workers."""

import hashlib
import hmac
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypedDict,
    get_args,
    get_origin,
)

from siamese_news.data.columns import RANKED
from siamese_news.errors import InputError
from siamese_news.utils.choices import About, Format, Fusion, check_choice
from siamese_news.utils.files import file_sha256, reading

if TYPE_CHECKING:  # these bring numpy, which the help of a command does not need
    from siamese_news.data.records import Post
    from siamese_news.search.pool import Window

_KEPT = (
    "author",
    "threshold",
    "min_score",
    "relevance_map",
    "fusion",
    "about",
)
_KEY_BYTES = 16
_LISTS = ("articles", "posts", "negatives")


class SearchOptions(TypedDict, total=False):
    """The options of `Query` that `Searcher.rank` and `Searcher.filter` take as keywords.

    Attributes:
        about: which posts are wanted: those about the ``event``, those about this very ``article``,
            or ``auto``, which decides from the pool (`open_scorer`).
        fusion: how words and vectors are combined (`open_scorer`); None: as set in the model.
        after: only posts from this date on (UTC), such as ``2013-04-15``, or undated ones.
        before: only posts before this date, or undated ones.
        dedupe: keep only the best of near-duplicates.
        second_look: what reads each list's best posts again and moves those near the seeds up:
            ``"star"``, the Star Transformer that ships, ``"none"``, or the folder of a model or of a
            cross-encoder. A threshold keeps the same posts as without it. None: the star next to the
            built-in model, nothing next to another one.
        relevance_map: the file of a map that ``siamese-news relevance`` fitted to labels.
    """

    about: About
    fusion: Fusion | None
    after: str | None
    before: str | None
    dedupe: bool
    second_look: str | PathLike[str] | None
    relevance_map: str | PathLike[str] | None


@dataclass(frozen=True, slots=True)
class Option:
    """What a field of a `Query` is for people who type it.

    Attributes:
        help: what it does.
        name: of its option, if it is not that of the field.
        metavar: the name of its value, if that is not its type.
        minimum: the least value.
    """

    help: str
    name: str = ""
    metavar: str | None = None
    minimum: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A search request, checked; each field has its `Option`."""

    articles: Annotated[
        Sequence[str],
        Option(
            "Seed articles: text files, saved web pages, JSON, JSON lines or CSV; one "
            "or more files, folders or globs, or - for standard input."
        ),
    ] = ()
    posts: Annotated[
        Sequence[str],
        Option(
            "Posts: exports from any known platform, JSON lines, CSV or Parquet; one or"
            " more files, folders or globs, or - for standard input."
        ),
    ] = ()
    negatives: Annotated[
        Sequence[str],
        Option(
            "Articles about a different story; their score is subtracted.",
            name="not",
            metavar="ARTICLE",
        ),
    ] = ()
    index: Annotated[
        Path | None,
        Option("Search this index (from siamese-news index) instead of --posts."),
    ] = None
    top: Annotated[
        int, Option("Number of posts to list for each article.", minimum=1)
    ] = 100
    threshold: Annotated[
        float | None,
        Option(
            "Keep posts with at least this relevance, from 0 to 1; 0.5 keeps those that"
            " are more likely relevant than not.",
            metavar="RELEVANCE",
        ),
    ] = None
    min_score: Annotated[
        float | None,
        Option(
            "Keep posts with at least this score, such as that of a certificate; unlike"
            " a relevance, it means something else on each pool.",
            metavar="SCORE",
        ),
    ] = None
    relevance_map: Annotated[
        Path | None,
        Option(
            "Relevance by your own labels: the map that siamese-news relevance wrote.",
            metavar="MAP",
        ),
    ] = None
    one_story: Annotated[
        bool,
        Option(
            "Treat the seeds as one story: one list for all of them instead of one for "
            "each."
        ),
    ] = False
    distinct: Annotated[
        bool | None,
        Option(
            "Treat the seeds as different stories: a post falls in the lists of all "
            "seeds but the one it fits best; or (no) no list depends on another seed "
            "(default: posts that fit an unrelated seed better fall)."
        ),
    ] = None
    fusion: Fusion | None = None  # in Python alone, see `SearchOptions`
    after: Annotated[
        str | None,
        Option("Keep posts from this date on (UTC) and undated posts.", metavar="DATE"),
    ] = None
    before: Annotated[
        str | None,
        Option("Keep posts before this date (UTC) and undated posts.", metavar="DATE"),
    ] = None
    about: Annotated[
        About,
        Option(
            "Find posts about the event or about the article itself. auto: the event "
            "for several seeds of one story, otherwise as the posts suggest."
        ),
    ] = "auto"
    text_field: Annotated[
        str | Sequence[str] | None,
        Option("Field with the text of a post, or several, whose texts are joined."),
    ] = None
    id_field: Annotated[
        str | None, Option("Field with the id of a post; 'line' numbers the rows.")
    ] = None
    date_field: Annotated[str | None, Option("Field with the date of a post.")] = None
    date_format: Annotated[
        str | None,
        Option(
            "How dates of numbers are written: dmy, mdy, ymd, or a pattern such as "
            "'%d/%m/%Y %H:%M' (default: as the whole column tells)."
        ),
    ] = None
    encoding: Annotated[
        str | None,
        Option(
            "Encoding of the files of posts, such as utf-16 or cp1252 (default: "
            "detected)."
        ),
    ] = None
    dedupe: Annotated[
        bool, Option("Show only the best of near-duplicates, with their number.")
    ] = False
    ids_only: Annotated[
        bool, Option("Write no text of the posts, so that the file can be shared.")
    ] = False
    author: Annotated[
        bytes | None,
        Option(
            "Write the authors, too: plain, or as HMAC-SHA256 with the secret key in this"
            " file, which replaces no names inside texts and ids (Bluesky).",
            metavar="KEYFILE",
        ),
    ] = field(default=None, repr=False)
    format: Annotated[
        Format | None, Option("Output format (default: by the file name, or a table).")
    ] = None
    second_look: Annotated[
        Path | None,
        Option(
            "What reads each list's best posts again and moves those near the seeds up: star"
            " (the built-in model's default), none, or the folder of a model or "
            "cross-encoder.",
            metavar="FOLDER",
        ),
    ] = None
    model: Annotated[
        Path | None,
        Option(
            "Model folder from training (default: the built-in model). A sentence-"
            "transformers or model2vec folder replaces only the vectors of the built-in"
            " model."
        ),
    ] = None
    out: Annotated[Path | None, Option("File to write (default: the terminal).")] = None

    @classmethod
    def flag(cls, name: str) -> str:
        """The option of a field as a person types it."""
        return f"--{(OPTIONS[name].name or name).replace('_', '-')}"

    def __post_init__(self) -> None:
        for name, choices, optional in _CHOICES:
            value = getattr(self, name)
            if value is not None or not optional:
                check_choice(name, value, choices)
        for name, optional in _SWITCHES:
            switch = getattr(self, name)
            if not isinstance(switch, bool) and not (switch is None and optional):
                choices = "True, False or None" if optional else "True or False"
                raise InputError(f"{name} is {switch!r}; expected {choices}")
        if self.one_story and self.distinct:
            raise InputError(
                "the seeds cannot be one story and distinct ones; expected one of the two"
            )
        for name in _LISTS:
            # An unset variable of the shell would mean this folder.
            if "" in getattr(self, name):
                raise InputError(
                    f"{self.flag(name)} has an empty name; expected files, folders or globs"
                )
        if (
            not isinstance(self.top, Integral)
            or isinstance(self.top, bool)
            or self.top < 1
        ):
            raise InputError(f"top is {self.top!r}; expected a whole number from 1 on")
        # An integer of numpy can be too small for sums with it.
        object.__setattr__(self, "top", int(self.top))
        if self.threshold is not None and not (
            _is_number(self.threshold) and 0 <= self.threshold <= 1
        ):
            raise InputError(
                f"threshold is {self.threshold!r}; expected a relevance, a number from 0 to 1 such as "
                "0.5 (min_score takes a score)"
            )
        if self.min_score is not None and not (
            _is_number(self.min_score) and math.isfinite(self.min_score)
        ):
            raise InputError(
                f"min_score is {self.min_score!r}; expected a finite number"
            )
        if self.after or self.before:
            self.window()

    @property
    def reads_again(self) -> Path | None:
        """The folder of the model that takes a second look.

        Unless the user names one, it is `SHIPPED_STAR` next to the built-in model, words and
        vectors, and none next to another one.
        """
        if self.second_look is None:
            return None if self.model or self.fusion else SHIPPED_STAR
        return None if self.second_look == NO_LOOK else Path(self.second_look)

    def window(self) -> "Window":
        """The selection by date, with its counts at 0."""
        from siamese_news.search.pool import Window

        return Window.of(self.after, self.before)

    def reading(self) -> dict[str, Any]:
        """How files of posts are read: the options of `open_posts`."""
        return {name: getattr(self, name) for name in READING}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are written."""
        left_out = {"link"} if self.author else set()
        if self.ids_only:
            left_out = {"text", "terms", "link"}
        names = tuple(name for name in RANKED if name not in left_out)
        author = () if self.author is None else ("author",)
        return (*names, *author)

    def author_of(self, post: "Post") -> str | None:
        """The author as written to the results: HMAC-SHA256 with the key, if there is one."""
        author = post.metadata.get("author")
        if not author or self.author is None:
            return None
        if self.author == PLAIN:
            return str(author)
        return hmac.new(self.author, str(author).encode(), hashlib.sha256).hexdigest()

    def job(self) -> dict[str, Any]:
        """The values that decide which posts and columns are in the results, by name."""
        window = self.window()
        values = {name: getattr(self, name) for name in (*_KEPT, *READING)}
        if self.relevance_map is not None:
            values["relevance_map"] = file_sha256(self.relevance_map)
        if self.author is not None:
            values["author"] = hashlib.sha256(b"job" + self.author).hexdigest()
        return {"after": window.begin, "before": window.end, **values}

    def arguments(self, unsaid: "Query") -> list[str]:
        """The command-line options that turn `unsaid`, a command's defaults, into this query."""
        arguments: list[str] = []
        for name in OPTIONS:
            value = getattr(self, name)
            option = self.flag(name)
            if value == getattr(unsaid, name):
                continue
            if isinstance(value, bool):
                arguments.append(option if value else option.replace("--", "--no-", 1))
            elif name in READING:  # in one word: no value is taken for an option
                several = value if isinstance(value, list | tuple) else [value]
                arguments += [f"{option}={item}" for item in several]
            elif isinstance(value, list | tuple):
                arguments += [word for item in value for word in (option, str(item))]
            else:
                text = json.dumps(value) if isinstance(value, float) else str(value)
                arguments += [option, text.removesuffix(".0")]
        return arguments


_ANNOTATED: dict[str, tuple[Any, Option]] = {
    spec.name: get_args(spec.type)
    for spec in fields(Query)
    if get_origin(spec.type) is Annotated
}
TYPES = {
    spec.name: _ANNOTATED.get(spec.name, (spec.type,))[0] for spec in fields(Query)
}
"""The type of each field of a query."""
OPTIONS = {name: option for name, (_, option) in _ANNOTATED.items()}
"""The option of each field of a query that people can type."""

_CHOICES = [
    (name, several, kind is not several)
    for name, kind in TYPES.items()
    for several in (kind, *get_args(kind))
    if get_origin(several) is Literal
]
"""The fields that take one of several words: these, and whether the field can be None."""

_SWITCHES = [
    (name, kind is not bool)
    for name, kind in TYPES.items()
    if kind in (bool, bool | None)
]
"""The fields that are on or off, and whether the field can be None."""

# Fields that several commands take, in the order of their help.
LISTS = ("one_story", "distinct")
CUT = ("threshold", "min_score", "relevance_map")
SCORING = ("negatives", "about")
DATES = ("after", "before")
OUTPUT = ("format", "out")
SHARED = ("ids_only", "author")
READING = (
    "text_field",
    "id_field",
    "date_field",
    "date_format",
    "encoding",
)
"""The fields of a query that say how files of posts are read, as `open_posts` names them."""

SHIPPED_STAR = Path("star")
"""What names the Star Transformer that ships as a second look."""
NO_LOOK = Path("none")
PLAIN = b""
"""The key of authors that are written as they are."""

FILTER = Query(one_story=True, about="event")
"""The query of ``filter`` without options."""


def check_cut(query: Query) -> None:
    """Check that a query says which posts to keep.

    Raises:
        InputError: it has neither a threshold nor a lowest score.
    """
    if query.threshold is None and query.min_score is None:
        raise InputError(
            "expected --threshold (in Python threshold=) with a relevance from 0 to 1, such as 0.5 "
            "to keep the posts that are more likely relevant than not, or --min-score (min_score=) "
            "with a score"
        )


def read_score(text: object, name: str = "the threshold") -> float:
    """A score that a person typed, with a decimal point or comma; errors call it `name`.

    Raises:
        InputError: not a number that a score can be, such as a percentage.
    """
    score = _number(text)
    if not abs(score) <= 4:
        remark = "" if math.isinf(score) else " (a score is not a percentage)"
        raise InputError(
            f"{name} is {str(text)[:40]!r}; expected a score, a number from -4 to 4 such as "
            f"0.3{remark}"
        )
    return score


def read_relevance(text: object) -> float:
    """A relevance that a person typed, with a decimal point or comma.

    Raises:
        InputError: not a number from 0 to 1, such as a percentage.
    """
    relevance = _number(text)
    if not 0 <= relevance <= 1:
        raise InputError(
            f"the threshold is {str(text)[:40]!r}; expected a relevance, a number from 0 to 1 such "
            "as 0.5 for the posts that are more likely relevant than not (--min-score takes a "
            "score)"
        )
    return relevance


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _number(text: object) -> float:
    """A number that a person typed, with a decimal point or comma; NaN for anything else."""
    try:
        return float(str(text).strip().replace(",", "."))
    except ValueError:
        return math.nan


def read_key(path: Path) -> bytes:
    """The secret in a file, without white space around it; `PLAIN` for the name ``plain``."""
    if path == Path("plain"):
        return PLAIN
    with reading(path):
        key = path.read_bytes().strip()
    if len(key) < _KEY_BYTES:
        raise InputError(
            f"{path}: the key has {len(key)} bytes, expected at least {_KEY_BYTES}; make one with "
            "python -c 'import secrets; print(secrets.token_hex(32))' and keep it to yourself"
        )
    return key
