"""The spool between two passes: the same results, from one reading of the posts."""

import errno

import pytest

from siamese_news.data.records import Article, Post
from siamese_news.model import Model
from siamese_news.scoring import open_scorer
from siamese_news.search import scan
from siamese_news.search.pool import Window
from siamese_news.search.post_ranking import search
from siamese_news.search.scan import StreamPool
from siamese_news.search.seeds import Seeds

SEEDS = Seeds(
    [Article("a", "The river floods the old town."), Article("b", "A fire in a mill.")]
)
TEXTS = (
    "the river is in my cellar",
    "fire at the mill",
    "new phone",
    "",
    "flood 洪水 #RiverFlood",
)
POSTS = [
    Post(
        f"p{n}",
        f"{TEXTS[n % 5]} {n % 7}",
        {"created_at": f"2020-01-{n % 20 + 1:02}T00:00:00Z"},
    )
    for n in range(60)
]


class Counted:
    """Posts that know how often they were read."""

    def __init__(self):
        self.passes = 0

    def __iter__(self):
        self.passes += 1
        return iter(POSTS)


@pytest.fixture(scope="module")
def model():
    return Model.pretrained()


def found(model, posts, kind=StreamPool, **options):
    scorer = open_scorer(model, SEEDS.texts, **options)
    window = Window.of("2020-01-03", None)
    lists = search(scorer, SEEDS, kind(posts), top=20, window=window)
    return [
        [(r.post, r.rank, r.score) for r in line] for line in lists
    ], window.counts()


class Full:
    """A file on a disk that takes so many writes."""

    def __init__(self, file, writes):
        self._file, self._writes = file, writes

    def write(self, data):
        self._writes -= 1
        if self._writes < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._file.write(data)

    def __getattr__(self, name):
        return getattr(self._file, name)


@pytest.mark.parametrize(("fusion", "passes"), [(None, 2), ("vectors", 1)])
@pytest.mark.parametrize("writes", [None, 0, 4])
def test_the_posts_are_read_once_and_again_where_the_disk_is_full(
    monkeypatch, model, fusion, passes, writes
):
    monkeypatch.setattr(scan, "BLOCK", 8)
    plain = list(POSTS)
    expected = found(model, plain, fusion=fusion)
    make = scan.tempfile.TemporaryFile
    if writes is not None:
        monkeypatch.setattr(
            scan.tempfile,
            "TemporaryFile",
            lambda **options: Full(make(**options), writes),
        )
    posts = Counted()
    assert found(model, posts, fusion=fusion) == expected
    assert posts.passes == (1 if writes is None else passes)


def test_a_pass_over_the_spool_can_be_watched(monkeypatch, model):
    monkeypatch.setattr(scan, "BLOCK", 8)
    seen = []

    class Watched(StreamPool):
        def _read_again(self, spool):
            for block in spool:
                seen.append((block.number, len(block.posts), spool.posts))
                yield block

    found(model, POSTS, Watched)
    inside = sum(count for _, count, _ in seen)
    assert [number for number, _, _ in seen] == list(range(8))
    assert inside == seen[0][2] == 54


def test_nothing_is_left_in_the_folder(tmp_path, model):
    scorer = open_scorer(model, SEEDS.texts)
    pool = StreamPool(POSTS, folder=tmp_path)
    pool.observe(scorer, Window())
    assert not list(tmp_path.iterdir()) and pool.spool.posts == len(POSTS)
