"""The AST authors' file of pairs as a folder."""

import json

import pytest
from papers.ast.tweet_linking import read_ast, write

from siamese_news.data import read_collection
from siamese_news.errors import InputError


def test_the_authors_format(tmp_path):
    rows = [
        {"url": "http://a/1", "article": "One story", "text": "first tweet"},
        {"url": "http://a/1", "article": "One story, updated", "text": "second"},
        {"url": "http://a/ 2", "article": "Two", "text": "third"},
        {"url": "http://a/3", "article": "Three", "text": "@you begins with no word"},
        {"url": "http://a/4", "article": "“Four", "text": "nor does the article"},
    ]
    path = tmp_path / "train.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = read_ast(path)
    assert read.qrels == {
        "train": {
            "http://a/1": {"line-1": 1, "line-2": 1},
            "http://a/%202": {"line-3": 1},
        }
    }
    assert read.articles["http://a/1"].text == "One story"
    write(read, tmp_path / "folder")
    again = read_collection(tmp_path / "folder")
    assert (again.articles, again.posts, again.qrels) == (
        read.articles,
        read.posts,
        read.qrels,
    )
    path.write_text(json.dumps(rows[3]))
    with pytest.raises(InputError, match="all 1 rows"):
        read_ast(path)
    path.write_text('{"url": "u", "text": "t"}')
    with pytest.raises(InputError, match=r"train\.jsonl:1: field 'article' is missing"):
        read_ast(path)
