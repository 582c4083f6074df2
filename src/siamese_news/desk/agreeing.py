"""How the annotators of a project agree."""

from dataclasses import dataclass
from itertools import combinations

from siamese_news.decide.noise import Agreement, agreement, krippendorff
from siamese_news.desk.labels import LabelLog

_PAIRS = 10  # pairs that are named


@dataclass(frozen=True, slots=True)
class Agreements:
    """What posts that several people labelled tell.

    Attributes:
        pairs: two names and how they agree, those with the most posts in common first.
        posts: labelled by two or more.
        annotators: who labelled any of these.
        alpha: Krippendorff's alpha of all of them; None where all labels are the same.
    """

    pairs: list[tuple[str, str, Agreement]]
    posts: int
    annotators: int
    alpha: float | None


def agreements(log: LabelLog) -> Agreements | None:
    """Compare the annotators; None where no post has the labels of two.

    An unsure label says nothing about the post, and does not count.
    """
    common: dict[tuple[str, str], list[tuple[int, int]]] = {}
    units: list[list[int]] = []
    names: set[str] = set()
    for post in log.posts():
        given = sorted(log.by_annotator(post).items())
        said = {name: int(one.label == "yes") for name, one in given if one.label != "skip"}
        if len(said) < 2:
            continue
        units.append(list(said.values()))
        names |= said.keys()
        for first, second in combinations(said, 2):
            common.setdefault((first, second), []).append((said[first], said[second]))
    if not units:
        return None
    pairs = sorted(common, key=lambda pair: (-len(common[pair]), pair))[:_PAIRS]
    found = [(*pair, agreement(*zip(*common[pair], strict=True))) for pair in pairs]
    return Agreements(found, len(units), len(names), krippendorff(units))
