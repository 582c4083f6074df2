import gzip

import pytest

from siamese_news.data import bundled, read_collection
from siamese_news.data.splits import relevant_pairs, same_event_qrels
from siamese_news.errors import InputError


def test_reads_plain_and_gz(small):
    collection = read_collection(small)
    assert collection.name == "small"
    assert len(collection.articles) == 12
    assert len(collection.posts) == 40
    assert {name: len(relevant_pairs(q)) for name, q in collection.qrels.items()} == {
        "train": 18,
        "dev": 9,
        "test": 9,
    }
    for path in [*small.glob("*.jsonl"), *small.glob("qrels/*.tsv")]:
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert read_collection(small) == collection
    assert list(read_collection(small, splits=["dev"]).qrels) == ["dev"]


def test_unknown_split_names_the_known(small):
    with pytest.raises(InputError, match="it has: dev, test, train"):
        read_collection(small).split("valid")
    with pytest.raises(InputError, match=r"valid\.tsv: no such file"):
        read_collection(small, splits=["valid"])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("nobody\tp0-0-0\t1", r":20: field 'query-id' is 'nobody'"),
        ("a0-0\tnothing\t1", r":20: field 'corpus-id' is 'nothing'"),
        ("a0-0\tp1-0-0\tyes", r":20: grade is 'yes'"),
        ("a0-0\tp1-0-0\tnan", r":20: grade is 'nan'"),
        ("a0-0\tp1-0-0", r":20: 2 fields, expected 3"),
        ("a0-0 p1-0-0 1", r":20: 1 fields, expected 3"),
        ("a0-0\tp0-0-0\t1", r":20: document 'p0-0-0' occurs twice under query 'a0-0'"),
    ],
)
def test_a_bad_qrel_is_named(small, row, message):
    with (small / "qrels" / "train.tsv").open("a") as file:
        file.write(row + "\n")
    with pytest.raises(InputError, match=r"train\.tsv" + message):
        read_collection(small)


def test_missing_parts(small, tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        read_collection(tmp_path / "nowhere")
    with (small / "corpus.jsonl").open("a") as file:
        file.write('{"_id": "p0-0-0", "text": "again"}\n')
    with pytest.raises(
        InputError,
        match=r"corpus\.jsonl:41: .* that of another post, in an earlier row;",
    ):
        read_collection(small)
    (small / "corpus.jsonl").unlink()
    with pytest.raises(InputError, match=r"corpus\.jsonl: no such file, nor"):
        read_collection(small)
    for path in small.glob("qrels/*"):
        path.write_text("query-id\tcorpus-id\tscore\n")
    (small / "corpus.jsonl").write_text('{"_id": "p", "text": ""}')
    with pytest.raises(InputError, match="no pair in the file"):
        read_collection(small)
    for path in small.glob("qrels/*"):
        path.unlink()
    with pytest.raises(InputError, match="no qrels there"):
        read_collection(small)


def test_same_event_relevance(small):
    collection = read_collection(small)
    qrels = same_event_qrels(collection.articles.values(), collection.posts.values())
    assert set(qrels) == set(collection.articles)
    assert set(qrels["a0-0"]) == {f"p0-{a}-{p}" for a in range(3) for p in range(3)}


def test_the_bundled_corpus():
    try:
        collection = bundled()
    except InputError as error:
        pytest.skip(str(error))
    assert len(collection.articles) >= 48
    assert set(collection.qrels) == {"train", "dev", "test"}
    assert all(
        article.metadata.get("event") for article in collection.articles.values()
    )


@pytest.mark.parametrize(
    ("name", "articles", "posts", "pairs"),
    [
        ("usatoday-cnn", 94, 6003, 6003),
        ("signal1m", 92, 21783, 1783),
        ("crisislex-boston", 38, 40078, 5648),
    ],
)
def test_the_shared_collections(data_dir, name, articles, posts, pairs):
    collection = read_collection(data_dir / name)
    found = sum(len(relevant_pairs(qrels)) for qrels in collection.qrels.values())
    assert (len(collection.articles), len(collection.posts), found) == (
        articles,
        posts,
        pairs,
    )
