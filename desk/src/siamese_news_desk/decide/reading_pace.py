"""How many relevant posts the labels found, post by post as they were read."""

from siamese_news.utils.terminal import counted, verb
from siamese_news_desk.labels.journal import YES, LabelJournal

_LATEST = 50  # posts whose share of relevant ones tells the pace


def found_against_read(log: LabelJournal) -> list[tuple[int, int]]:
    """The posts read, and the relevant ones among them, after each post.

    Posts come in the order of their first labels, and count by what all annotators say today. One
    that got the label of a near-duplicate was not read.
    """
    points = [(0, 0)]
    for post in log.posts():
        if any(label.post == post for label in log.by_annotator(post).values()):
            n_read, relevant = points[-1]
            points.append((n_read + 1, relevant + (log.verdict(post) == YES)))
    return points


def pace_sentence(points: list[tuple[int, int]]) -> str:
    """The numbers at the end of `found_against_read` in words, and the pace."""
    n_read, relevant = points[-1]
    sentence = f"{counted(n_read, 'post')} read, {relevant:,} relevant."
    if n_read > _LATEST:
        latest = relevant - points[-1 - _LATEST][1]
        sentence += (
            f" Of the last {_LATEST}, {latest:,} {verb(latest, 'are')} relevant."
        )
    return sentence
