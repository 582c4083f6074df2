"""Where the order of a result means little: what a user should know before reading it."""

from collections.abc import Mapping

from siamese_news.search.histogram import ScoreCounts

WEAK = 0.02
"""Posts that share a rare word with an article, or two common ones, score above this."""

_NAMED = 3


def order_remarks(scores: ScoreCounts, best: Mapping[str, float]) -> list[str]:
    """Remarks on a ranking that says little.

    Args:
        scores: of all posts that were scored.
        best: the best score of each list, by the name of its seed.
    """
    found = []
    if not scores.of_all:
        pass  # of an index only posts that can matter are scored
    elif scores.total == 1:
        found.append("There is one post, which is ranked against nothing.")
    elif scores.different == 1:
        found.append(
            f"All {scores.total:,} scores are the same to a thousandth: the order means nothing. "
            "Are the posts copies of one, or without words?"
        )
    weak = [name for name, score in best.items() if score < WEAK]
    if weak:
        more = f" and {len(weak) - _NAMED:,} more" if len(weak) > _NAMED else ""
        found.append(
            f"No post has much in common with {', '.join(weak[:_NAMED])}{more}: the best score is "
            f"below {WEAK}, and the order means little."
        )
    return found
