"""The fields of the sealed files: plans, and what a certificate must have to be checked.

Each plan is one JSON object. A field that is listed here is checked whenever the file is read;
further fields may come with later versions. Values that a type cannot describe, such as a share
between 0 and 1, are checked where the user's own options are.
"""

import sys
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

Whole = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Count = Annotated[int, Meta(ge=1, le=1 << 40)]
Some = Annotated[int, Meta(ge=0, le=1 << 40)]
Number = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
Rate = Annotated[float, Meta(ge=0, le=1)]
# A number as the user typed it, read exactly, as a fraction.
Typed = Annotated[str, Meta(max_length=50)]

# A probability as `fractions.Fraction` writes it.
Error = Annotated[str, Meta(pattern=r"^\d{1,40}(/[1-9]\d{0,39})?\Z")]

# The name of a file in the same folder.
FileName = Annotated[str, Meta(pattern=r"^(?!\.{1,2}\Z)[^/\x00]{1,255}\Z")]

# The path of a file, from the folder of the record.
FilePath = Annotated[
    str, Meta(max_length=4096, pattern=r"^([^\x00]*/)?(?!\.{1,2}\Z)[^/\x00]{1,255}\Z")
]


class Named(TypedDict):
    """A file in the folder of the record."""

    file: FileName
    sha256: str


class Located(TypedDict):
    """A file that may be elsewhere."""

    file: FilePath
    sha256: str


class ScoredPosts(TypedDict):
    """The file of scored posts; units are article-post pairs if a post is in several lists.

    If nothing tells the posts from others, `study` is a random name, which no other plan has.
    """

    file: FilePath
    posts: Count
    sha256: str
    pairs: bool
    study: NotRequired[str]


class ModelFolder(TypedDict):
    """The model that scored them."""

    folder: str
    sha256: str


class EarlierPlan(TypedDict):
    """A plan over the same posts, with the probability that it leads to a wrong statement."""

    sha256: str
    error: Error


@dataclass(frozen=True, slots=True)
class Charge:
    """What a plan pays for, and what its certificate names.

    Attributes:
        earlier: the plans whose errors lower its confidence.
        same_labels: withdrawn plans that had the same posts in the same order: each of
            their targets is tested once, like those of a single plan, so they count only for all
            targets together.
        other_criteria: number of plans over these posts that ask another question.
        other_posts: number of plans over other posts with the same criteria or in the same folder.
        unknown: why there may be plans that the lists do not know; empty if there are none.
    """

    earlier: list[EarlierPlan]
    same_labels: list[EarlierPlan]
    other_criteria: Some
    other_posts: Some
    unknown: str = ""  # plans of earlier versions have none


class _Charged(TypedDict):
    """What a plan asks, in its file and in the lists of plans; both have a `Charge` as well."""

    criteria: str
    order: str
    error: Error


class _Plan(_Charged):
    """The fields of every plan, but its settings."""

    kind: Literal["precision", "audit", "stopping"]
    created: str
    command: str
    population: ScoredPosts
    sets: Annotated[list[Count], Meta(min_length=1)]
    cuts: Annotated[list[Number], Meta(min_length=1)]
    model: ModelFolder | None
    corpus: list[Located]


class PlanLine(_Charged):
    """A plan in the lists of `ledger`, which has the fields of a `Sketch` as well."""

    sha256: str
    kind: str
    question: NotRequired[str]
    settings: NotRequired[dict[str, Any]]
    plan: NotRequired[str]


class Plan(_Plan):
    """A plan of any kind."""

    settings: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PrecisionSettings:
    """The user's choices, fixed before the first label; shares as typed.

    Attributes:
        targets: precisions.
        confidence: of each target.
        budget: planned labels.
        first: posts of the first set.
        false_positive: share of not relevant posts that the annotator may call relevant; None for a
            certificate about the annotator's own verdicts.
        false_negative: least share of relevant posts that the annotator calls not relevant.
    """

    targets: Annotated[tuple[Typed, ...], Meta(min_length=1, max_length=100)]
    confidence: Typed
    budget: Count
    first: Count
    ratio: Typed
    seed: Whole
    false_positive: Rate | None
    false_negative: Rate


class PrecisionPlan(_Plan):
    """A plan to certify precision: its test, and the errors that each test must rule out."""

    settings: PrecisionSettings
    method: str
    tables: list[str]
    nulls: list[list[Whole]]


class AuditSettings(TypedDict):
    """See `audit.Audit.start`."""

    budget: Count
    confidence: Typed
    seed: Whole
    threshold: Number | None
    population: Count | None
    above: NotRequired[Some]
    certificate: NotRequired["CertifiedList"]


class CertifiedList(TypedDict):
    """The list of a certificate below which an audit draws."""

    file: FilePath
    sha256: str
    target: Typed
    size: Some
    posts: Count
    put_in: Some
    relevant_at_least: Some
    error: Error


class AuditPlan(_Plan):
    """A plan to audit a list, or a threshold."""

    settings: AuditSettings


@dataclass(frozen=True, slots=True)
class StoppingSettings:
    """The user's choices, fixed before the first label; shares as typed.

    Attributes:
        find: number of relevant posts to find, or None.
        recall: share of all relevant posts to find, or None.
    """

    find: Count | None
    recall: Typed | None
    confidence: Typed
    seed: Whole


class StoppingPlan(_Plan):
    """A plan to label down a ranking."""

    settings: StoppingSettings


# The kinds of plans.
PLANS: dict[str, type] = {
    "precision": PrecisionPlan,
    "audit": AuditPlan,
    "stopping": StoppingPlan,
}


class CertifiedLabels(TypedDict):
    """The files of labels of a certificate, and how many of the labels were of drawn posts."""

    used: Some
    files: Annotated[list[Located], Meta(min_length=1, max_length=10_000)]


class Divided(TypedDict):
    """The columns by which the lists of a certificate are divided."""

    by: Annotated[list[str], Meta(max_length=100)]


class Certificate(TypedDict):
    """What a check needs of a certificate; it compares all other fields with its own findings."""

    answers: Divided
    flow: Annotated[list[tuple[str, Some]], Meta(max_length=1000)]
    plan: Named
    labels: CertifiedLabels
