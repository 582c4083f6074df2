"""A table of pairs works wherever a folder does, and says what is wrong with it."""

import gzip

import pytest

from siamese_news import SiameseDataModule
from siamese_news.data.pairs import read_pairs
from siamese_news.data.sources import open_posts_of, open_source
from siamese_news.errors import InputError

TEXTS = """article,post,split
"The river floods, the town",cellars full,train
"The river floods, the town",boats in the street,train
Fire at night,smoke everywhere,dev
"""


def test_texts_become_articles_and_posts_once(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(TEXTS + "Fire at night,smoke everywhere,dev\n")
    pairs = open_source(str(path))
    assert pairs.name == "mine"
    assert [a.text for a in pairs.articles.values()] == [
        "The river floods, the town",
        "Fire at night",
    ]
    assert pairs.qrels == {
        "train": {"a1": {"p1": 1, "p2": 1}},
        "dev": {"a2": {"p3": 1}},
    }
    assert set(open_posts_of(str(path))) == {"p1", "p2", "p3"}
    packed = tmp_path / "mine.tsv.gz"
    packed.write_bytes(
        gzip.compress(b"post\ttitle\tarticle\tscore\nx\tT\tA\t2\ny\tT\tA\t0\n")
    )
    (article,) = read_pairs(packed).articles.values()
    assert article.full_text == "T\nA" and read_pairs(packed).qrels["train"]["a1"] == {
        "p1": 2,
        "p2": 0,
    }


def test_ids_take_their_texts_from_two_tables(tmp_path):
    (tmp_path / "links.csv").write_text("post_id,article_id\np1,a\np2,a\np3,b\n")
    (tmp_path / "articles.csv").write_text(
        "id,title,text\na,Flood,The river\nb,Fire,At night\n"
    )
    posts = "".join(f"p{n}\tpost {n}\n" for n in range(1, 5))
    (tmp_path / "posts.tsv").write_text(f"id\ttext\n{posts}")
    pairs = read_pairs(tmp_path / "links.csv")
    assert pairs.articles["a"].full_text == "Flood\nThe river" and len(pairs.posts) == 4
    assert pairs.qrels == {"train": {"a": {"p1": 1, "p2": 1}, "b": {"p3": 1}}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "article,text\nA,B\n",
            r":1: no column 'post', only article, text; expected article and",
        ),
        ("post\nB\n", r":1: no column 'article', only post; "),
        ("article,post\n", "no pair in the file, only a header"),
        ("", "the file is empty, expected at least one line"),
        ("article,post\nA,B\n,C\n", r":3: field 'article' is empty"),
        ("article,post\nA, \n", r":2: field 'post' is empty"),
        (
            "article,post,score\nA,B,yes\n",
            r":2: grade is 'yes', expected a whole number",
        ),
        ("article,post\nA,B,C\n", r":2: 3 columns, expected 2"),
        ("article,article,post\nA,A,B\n", "two columns are called 'article'"),
        (
            "article_id,post_id\na,p\n",
            r"looked for in .*articles\.csv \(or \.tsv, \.jsonl\)",
        ),
        (
            "article_id,article,post\na,A,x\na,B,y\n",
            r":3: field 'article_id' is 'a', which an ear",
        ),
        ("article_id,article,post\n,A,x\n", r":2: field 'article_id' is empty"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=message) as raised:
        open_source(str(path))
    assert str(raised.value).startswith(str(path)) and "\n" not in str(raised.value)


def test_an_id_in_one_table_only_is_named(tmp_path):
    (tmp_path / "links.csv").write_text("article_id,post_id\na,p1\na,p9\n")
    (tmp_path / "articles.csv").write_text("id,text\na,The river\n")
    (tmp_path / "posts.csv").write_text("id,text\np1,post\n")
    with pytest.raises(
        InputError, match=r"links\.csv:3: field 'post_id' is 'p9', which the table"
    ):
        read_pairs(tmp_path / "links.csv")


def test_the_data_module_keeps_splits_and_cuts_new_ones(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(TEXTS + "Strike,trains stand,train\n")
    data = SiameseDataModule(path)
    assert data.sizes() == "train 2, dev 1" and data.test is None
    path.write_text(
        "article,post\n" + "".join(f"Article {n},post {n}\n" for n in range(20))
    )
    assert SiameseDataModule(path).sizes() == "train 12, dev 3, test 5"
    with pytest.raises(InputError, match="no such folder or file"):
        SiameseDataModule(tmp_path / "nowhere.csv")
    path.write_text("article,post,score\nA,x,0\nB,y,0\n")
    with pytest.raises(
        InputError, match="has 2 articles to split, expected at least 3"
    ):
        SiameseDataModule(path).sizes()
    path.write_text("article,post,score,split\nA,x,0,train\nB,y,1,dev\n")
    with pytest.raises(
        InputError, match=r"split 'train' of '.*mine\.csv': no pair to train on"
    ):
        SiameseDataModule(path).sizes()


TWEETS = """headline,tweet,post,label,split
River floods,my cellar,no text,3,train
River floods,trains stand,no text,0,train
Strike,trains stand,no text,2,train
River floods,so wet,no text,1,dev
Strike,so wet,no text,2,dev
Fire,smoke,no text,1,train
"""


def test_the_columns_of_a_table_have_names_of_their_own(tmp_path):
    path = tmp_path / "tweets.csv"
    path.write_text(TWEETS)
    names = {"article": "Headline", "post": "tweet", "score": "label"}
    collection = read_pairs(path, names)
    assert {p.text for p in collection.posts.values()} == {
        *("my cellar", "trains stand", "so wet", "smoke")
    }
    river, strike, _ = collection.articles
    assert sorted(collection.qrels["train"][river].values()) == [0, 3]
    # A post of two articles, with a grade for each.
    dev = collection.qrels["dev"]
    assert [dev[article] for article in (river, strike)] == [{"p3": 1}, {"p3": 2}]
    data = SiameseDataModule(path, columns=names)
    assert data.sizes() == "train 3, dev 2"
    assert sorted(map(len, data.train_set.posts_of)) == [1, 1, 1]
    with pytest.raises(
        InputError, match=r"tweets\.csv:1: no column 'toot' \(data\.col"
    ):
        SiameseDataModule(path, columns={**names, "post": "toot"})
    with pytest.raises(
        InputError, match="data.columns has text; expected among article"
    ):
        SiameseDataModule(path, columns={"text": "tweet"})
    with pytest.raises(
        InputError, match=r"(?s)no column 'article'.*data\.columns={article"
    ):
        SiameseDataModule(path).sizes()
    for wrong in (1, None, "headline"):
        with pytest.raises(InputError, match="expected the name of another column for"):
            read_pairs(path, {**names, "post": wrong})
    (tmp_path / "beir").mkdir()
    with pytest.raises(
        InputError, match="is not a table, so it has no columns to name"
    ):
        open_source(str(tmp_path / "beir"), {"post": "tweet"})
