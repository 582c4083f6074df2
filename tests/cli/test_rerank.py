"""`siamese-news rerank` as a user runs it, with a small trained ranker."""

import csv
import gzip
import io
import json
import random

import numpy as np
import pytest
import torch
from torch.nn.functional import nll_loss
from typer.testing import CliRunner

from siamese_news.cli import app
from siamese_news.encoders.embedding import TokenEmbedding
from siamese_news.model.ranker_ensemble import open_ranker
from siamese_news.model.reranker import TextRanker
from siamese_news.text.vocabulary import Vocabulary

WORDS = [f"word{i}" for i in range(40)] + ["oscars", "snub", "affleck"]
SMALL = {
    "class": "PAtt",
    "filters": 6,
    "widths": [2],
    "dropout": 0.0,
    "hidden": 5,
    "head_hidden": 4,
    "head_order": "relu-norm",
    "head_dropout": 0.0,
}


def lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Trained to put posts with the words of the query first."""
    torch.manual_seed(0)
    dice = random.Random(0)
    matrix = np.random.default_rng(0).normal(size=(len(WORDS), 8)).astype(np.float32)
    ranker = TextRanker(
        vocabulary=Vocabulary(WORDS, unknown="hash"),
        embedding=TokenEmbedding(torch.from_numpy(matrix), trainable=False),
        ranker=SMALL,
        exact_match=True,
        link_match=True,
        tokenizer={
            "hashtags": "both",
            "urls": "drop",
            "mentions": "drop",
            "numbers": "keep",
        },
    )
    optimizer = torch.optim.Adam(ranker.parameters(), lr=0.03)
    for _ in range(60):
        query = dice.sample(WORDS, 2)
        posts = [dice.sample(WORDS, 4) + (query if i % 2 else []) for i in range(20)]
        ((rows, batch),) = ranker.batches(query, posts, urls=[""] * 20)
        loss = nll_loss(ranker(batch), torch.from_numpy(rows % 2))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    folder = tmp_path_factory.mktemp("ranker") / "model"
    ranker.eval().save(folder, card="")
    return folder


@pytest.fixture
def posts(tmp_path):
    """Two posts with all words of the query among 30."""
    dice = random.Random(1)
    records = [
        {"id": f"p{i:02d}", "text": " ".join(dice.sample(WORDS[:40], 5)), "lang": "en"}
        for i in range(28)
    ]
    records.insert(7, {"id": "both", "text": "Oscars snub: Affleck word1 word2"})
    records.insert(20, {"id": "short", "text": "affleck oscars snub"})
    return lines(tmp_path / "posts.jsonl", records)


def rerank(model, posts, *more, query="oscars snub affleck"):
    return CliRunner().invoke(
        app,
        list(
            map(
                str,
                ["rerank", "--model", model, "--query", query, "--posts", posts, *more],
            )
        ),
    )


def test_posts_with_the_words_of_the_query_come_first(model, posts):
    done = rerank(model, posts, "--top", 5)
    assert done.exit_code == 0, done.output
    shown = [line for line in done.stdout.splitlines() if "p0" in line or "p1" in line]
    assert done.stdout.index("both") < done.stdout.index(shown[0])
    assert (
        "Oscars snub: Affleck" in done.stdout and "oscars snub affleck" in done.stdout
    )


@pytest.mark.parametrize("name", ["jsonl", "csv", "trec"])
def test_the_ending_of_the_file_names_the_format_of_the_ranking(
    model, posts, tmp_path, name
):
    out = tmp_path / f"ranking.{name}"
    done = rerank(model, posts, "--top", 4, "--out", out)
    assert done.exit_code == 0, done.output
    text = out.read_text()
    if name == "jsonl":
        rows = [json.loads(line) for line in text.splitlines()]
        ids, scores = [r["post"] for r in rows], [r["score"] for r in rows]
        assert [row["rank"] for row in rows] == [1, 2, 3, 4]
    elif name == "csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        ids, scores = [r["post"] for r in rows], [float(r["score"]) for r in rows]
    else:
        fields = [line.split() for line in text.splitlines()]
        ids, scores = [f[2] for f in fields], [float(f[4]) for f in fields]
    assert set(ids[:2]) == {"both", "short"} and len(ids) == 4
    assert scores == sorted(scores, reverse=True) and all(score < 0 for score in scores)


def test_the_same_command_replaces_its_own_ranking(model, posts, tmp_path):
    out = tmp_path / "ranking.csv"
    for top in (4, 2):
        done = rerank(model, posts, "--top", top, "--out", out)
        assert done.exit_code == 0, done.output
    assert len(list(csv.DictReader(io.StringIO(out.read_text())))) == 2
    out.write_text("notes of the user")
    assert rerank(model, posts, "--out", out).exit_code == 2


def test_bm25_picks_what_is_reranked(model, posts, tmp_path):
    many = tmp_path / "many.jsonl.gz"
    noise = [{"id": f"n{i:04d}", "text": "word3 word4"} for i in range(1200)]
    with gzip.open(many, "wt") as stream:
        stream.write(posts.read_text())
        stream.writelines(json.dumps(record) + "\n" for record in noise)

    def ids(*more):
        done = rerank(model, many, "--top", 2000, "--format", "jsonl", *more)
        assert done.exit_code == 0, done.output
        return [json.loads(line)["post"] for line in done.stdout.splitlines()]

    every, best = ids(), ids("--first-stage", "bm25")
    assert len(every) == 1230 and len(best) == 1000
    assert set(best[:2]) == set(every[:2]) == {"both", "short"}
    assert [post for post in every if post in set(best)] == best


def test_a_link_in_the_text_is_read(model, tmp_path):
    texts = {
        "a": "word1 http://x.org/oscars-snub",
        "b": "word1 http://x.org/word7",
        "c": "word1",
    }
    path = lines(
        tmp_path / "links.jsonl", [{"id": i, "text": t} for i, t in texts.items()]
    )
    done = rerank(model, path, "--format", "jsonl")
    scores = {r["post"]: r["score"] for r in map(json.loads, done.stdout.splitlines())}
    assert len(set(scores.values())) == 3


@pytest.mark.parametrize(
    ("content", "query", "says"),
    [
        ("", "oscars", "posts.jsonl: the file is empty"),
        ('{"id": "1", "text": "a"}\n{"id": \n', "oscars", "posts.jsonl:2"),
        (
            '{"id": "1", "text": "a"}\n{"id": "1", "text": "b"}\n',
            "oscars",
            "posts.jsonl:2: the id '1' is that of another post, in ",
        ),
        ('{"id": "1", "text": "a"}\n', "?!", "no word that the model knows"),
    ],
)
def test_bad_input_says_what_to_change(model, tmp_path, content, query, says):
    path = tmp_path / "posts.jsonl"
    path.write_text(content)
    done = rerank(model, path, query=query)
    assert done.exit_code == 2 and says in done.output + done.stderr
    assert "Traceback" not in done.output


def test_another_model_or_no_model_is_named(model, posts, tmp_path, tiny_model):
    tiny_model.save(tmp_path / "encoder", card="")
    done = rerank(tmp_path / "encoder", posts)
    assert done.exit_code == 2 and "task=rerank" in done.output + done.stderr
    done = rerank(tmp_path / "nothing", posts)
    assert done.exit_code == 2 and "nothing" in done.output + done.stderr
    done = rerank(model, tmp_path / "nothing.jsonl")
    assert done.exit_code == 2 and "nothing.jsonl" in done.output + done.stderr


def test_a_folder_of_several_rankers_scores_by_their_mean_probability(
    model, posts, tmp_path
):
    """Two seeds, one as a model folder and one as a training's folder, against a loop."""
    first = TextRanker.load(model)
    second = TextRanker.load(model)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in second.ranker.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    both = tmp_path / "both"
    first.save(both / "seed0", card="")
    second.save(both / "seed1" / "model", card="")
    (both / "logs").mkdir()
    query = ["oscars", "snub", "affleck"]
    texts = [["oscars", "snub", "word1"], ["word3"], ["affleck"]]
    expected = [
        np.log((np.exp(a) + np.exp(b)) / 2)
        for a, b in zip(
            first.score(query, texts), second.score(query, texts), strict=True
        )
    ]
    np.testing.assert_allclose(
        open_ranker(both).score(query, texts), expected, rtol=1e-5
    )
    done = rerank(both, posts, "--format", "csv")
    assert done.exit_code == 0, done.output
    scores = {
        row["post"]: float(row["score"])
        for row in csv.DictReader(io.StringIO(done.stdout))
    }
    alone = [
        {
            row["post"]: float(row["score"])
            for row in csv.DictReader(io.StringIO(one.stdout))
        }
        for one in (
            rerank(both / "seed0", posts, "--format", "csv"),
            rerank(both / "seed1" / "model", posts, "--format", "csv"),
        )
    ]
    for post, score in scores.items():
        mean = (np.exp(alone[0][post]) + np.exp(alone[1][post])) / 2
        assert score == pytest.approx(np.log(mean), abs=2e-5)


def test_rankers_that_read_differently_are_no_ensemble(model, posts, tmp_path):
    both = tmp_path / "both"
    first = TextRanker.load(model)
    first.save(both / "seed0", card="")
    first.tokenizer_config["numbers"] = "drop"
    first.save(both / "seed1", card="")
    done = rerank(both, posts)
    assert done.exit_code == 2 and "rankers of an ensemble differ" in done.output
