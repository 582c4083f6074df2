"""The rerank task end to end on a small made-up collection, and its bad inputs."""

import dataclasses
import gzip
import json
import random
from itertools import pairwise

import numpy as np
import pytest
import torch
from benchmarks.rerank_table import averaged, full_table, peers, saved
from tests.composed import option

from siamese_news.data.records import Post
from siamese_news.data.trec import read_run, write_run
from siamese_news.encoders.embedding import unknown_vectors
from siamese_news.errors import InputError
from siamese_news.model.reranker import TextRanker
from siamese_news.rerankers import Pair
from siamese_news.search.reranking import rerank_posts
from siamese_news.text.vocabulary import stable_hash
from siamese_news.train import train
from siamese_news.training import rerank_task
from siamese_news.training.rerank_data import (
    Pairs,
    encode_collection,
    make_fold,
    newest_first,
    read_reranking,
)
from siamese_news.training.rerank_module import RerankModule
from siamese_news.training.schema import check_config

YEARS = (2011, 2012, 2013, 2014)
WORDS = [f"word{i}" for i in range(60)]


def write_lines(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(line + "\n" for line in lines)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Four years of 8 topics with 12 posts; a post with the topic's words is relevant."""
    draw = random.Random(0)
    root = tmp_path / "data" / "small"
    topics, posts = [], []
    runs, qrels = {year: {} for year in YEARS}, {year: [] for year in YEARS}
    for number in range(8 * len(YEARS)):
        year, topic = YEARS[number // 8], str(number + 1)
        words = draw.sample(WORDS, 2)
        topics.append(
            {"_id": topic, "text": " ".join(words), "metadata": {"year": year}}
        )
        for k in range(12):
            post = f"{number + 1}{k:03d}"
            text = draw.sample(WORDS, 4) + (words if k % 3 == 0 else []) + ["newname"]
            if k == 11:
                text = []
            posts.append(
                {
                    "_id": post,
                    "text": " ".join(text),
                    "metadata": {"url": "http://a.b/c"},
                }
            )
            runs[year].setdefault(topic, {})[post] = 5.0 + draw.random()
            qrels[year].append(f"{topic} 0 {post} {int(k % 3 == 0)}")
        qrels[year].append(f"{topic} 0 unknown-post 1")
    write_lines(root / "queries.jsonl.gz", map(json.dumps, topics))
    write_lines(root / "corpus.jsonl.gz", map(json.dumps, posts))
    for year in YEARS:
        write_lines(root / f"qrels.microblog{year}.txt.gz", qrels[year])
        for name in ("candidates", "ql", "rm3", "mphcnn"):
            write_run(root / "runs" / f"{name}.{year}.txt.gz", runs[year], name)
    generator = np.random.default_rng(0)
    vectors = tmp_path / "vectors.txt"
    vectors.write_text(
        "".join(
            f"{w} {' '.join(f'{x:.4f}' for x in generator.normal(size=8))}\n"
            for w in WORDS
        )
    )
    monkeypatch.setenv("SIAMESE_NEWS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(tmp_path / "cache"))
    return root


def configuration(folder, ranker="patt", **task):
    small = {"filters": 6, "hidden": 5, "head_hidden": 4}
    options = option("ranker", ranker)
    options = {key: small.get(key, value) for key, value in options.items()}
    settings = option("task", "rerank")
    settings |= {"collection": "small", "epochs": 2, "batch_size": 32, **task}
    return {
        "task": settings,
        "ranker": options,
        "vectors": {
            "source": str(folder.parents[1] / "vectors.txt"),
            "max_words": None,
            "trainable": False,
            "unit_length": False,
            "remove_components": 0,
            "project_to": None,
            "unknown": "hash",
            "dropout": 0.0,
        },
        "trainer": {
            "accelerator": "cpu",
            "devices": 1,
            "num_nodes": 1,
            "strategy": "auto",
            "precision": "32-true",
            "deterministic": True,
            "threads": 1,
            "max_epochs": settings["epochs"],
            "val_check_interval": settings["validate_every"],
            "num_sanity_val_steps": 0,
            "log_every_n_steps": 1,
            "enable_progress_bar": False,
            "gradient_clip_val": settings["gradient_clip"],
        },
        "fold": 2013,
        "seed": 0,
        "resume": None,
    }


def test_several_devices_are_refused(folder, tmp_path):
    config = configuration(folder)
    config["trainer"] |= {"devices": 2, "strategy": "ddp_spawn"}
    with pytest.raises(
        InputError, match=r"this task trains on one device.*2 processes"
    ):
        rerank_task.run(config, tmp_path / "out")


def test_the_optimizer_and_its_schedule_are_those_of_the_configuration(
    folder, tmp_path
):
    rmsprop = {"_target_": "torch.optim.RMSprop", "_partial_": True, "lr": 0.01}
    schedule = {
        "_target_": "torch.optim.lr_scheduler.ExponentialLR",
        "_partial_": True,
        "gamma": 0.5,
    }
    config = configuration(folder, optimizer=rmsprop, schedule=schedule)
    rerank_task.run(config, tmp_path / "out")
    saved = torch.load(
        tmp_path / "out" / "checkpoints" / "last.ckpt", weights_only=True
    )
    (state,) = saved["optimizer_states"]
    assert "alpha" in state["param_groups"][0]  # RMSprop's smoothing constant
    assert state["param_groups"][0]["lr"] == pytest.approx(0.01 * 0.5**2)


def saved_ap(systems, topic):
    (found,) = [
        s
        for s in systems
        if s.name.endswith(" +QL") and not s.name.startswith("MP-HCNN (")
    ]
    return found.topics["AP"][topic]


def test_trains_saves_and_is_not_trained_twice(folder, tmp_path):
    config = configuration(
        folder, exact_match=True, link_match=True, interpolation="log-odds"
    )
    row = train(config, tmp_path / "out")
    assert row["fold"] == 2013 and row["epochs"] == 2 and 0 < row["AP"] <= 1
    run = read_run(tmp_path / "out" / "test.run.gz")
    assert set(run) == {str(n) for n in range(17, 25)} and len(run["17"]) == 12
    written = (tmp_path / "out" / "row.json").stat().st_mtime_ns
    assert train(config, tmp_path / "out") == row
    assert (tmp_path / "out" / "row.json").stat().st_mtime_ns == written
    with pytest.raises(
        InputError, match=r"another configuration.* seed \(0 there, 5 here\)"
    ):
        train({**config, "seed": 5}, tmp_path / "out")
    collection = read_reranking("small")
    assert "AP +QL" in row and "weight" in row
    systems = peers(collection, share=0.15, seed=0, neighbors=3)
    systems += saved(collection, [tmp_path / "out"], share=0.15, seed=0, neighbors=3)
    means = averaged(
        collection, [tmp_path / "out"], "mean", share=0.15, seed=0, neighbors=0
    )
    assert [system.name for system in means] == ["mean", "mean +QL"]
    table = full_table(collection, [*systems, *means], samples=100)
    assert "| MP-HCNN (published run) +QL +near |" in table and "| mean +QL |" in table
    # The mean of one run on the scale it was interpolated on is that run.
    assert means[1].topics["AP"]["17"] == pytest.approx(saved_ap(systems, "17"))
    # The saved model gives the saved scores.
    model = TextRanker.load(tmp_path / "out" / "model")
    posts = [collection.posts[post].split() for post in run["17"]]
    urls = [collection.urls[post] for post in run["17"]]
    scores = model.score(
        collection.queries["17"].split(), posts, urls=urls, batch_size=5
    )
    np.testing.assert_allclose(scores, list(run["17"].values()), atol=2e-6)


def test_a_crash_goes_on_from_the_last_epoch(folder, tmp_path, monkeypatch):
    whole = rerank_task.run(configuration(folder), tmp_path / "whole")
    score = rerank_task.score_pairs

    def crash(*arguments):
        raise RuntimeError("power cut")

    monkeypatch.setattr(rerank_task, "score_pairs", crash)
    with pytest.raises(RuntimeError, match="power cut"):
        train(configuration(folder, epochs=1), tmp_path / "out")
    assert not (tmp_path / "out" / "row.json").exists()
    monkeypatch.setattr(rerank_task, "score_pairs", score)
    with pytest.raises(
        InputError, match=r"unfinished training of another.* ranker\._target_"
    ):
        train(configuration(folder, "bicnn"), tmp_path / "out")
    row = train(configuration(folder), tmp_path / "out")
    assert {k: v for k, v in row.items() if not k.endswith(" s")} == {
        k: v for k, v in whole.items() if not k.endswith(" s")
    }


def test_folds_hold_out_a_share_of_every_training_year(folder):
    collection = read_reranking("small")
    fold = make_fold(collection, 2012, share=0.25, seed=3)
    assert fold.test == collection.of_year(2012)
    assert len(fold.dev) == 6 and len(fold.train) == 18
    assert not set(fold.dev) & set(fold.train) and not set(fold.test) & set(
        fold.dev + fold.train
    )
    assert {collection.years[q] for q in fold.dev} == {2011, 2013, 2014}
    other = make_fold(collection, 2013, share=0.25, seed=3)
    same = {q for q in fold.dev if collection.years[q] == 2011}
    assert same == {q for q in other.dev if collection.years[q] == 2011}


def small_model(folder, **task):
    collection = read_reranking("small")
    fold = make_fold(collection, 2013, share=0.15, seed=0)
    return (
        collection,
        fold,
        *rerank_task._build(configuration(folder, **task), collection, fold),
    )


def test_the_table_of_a_fine_tuned_ranker_holds_the_words_of_the_collection(folder):
    plain = small_model(folder)[2]
    _, _, model, _ = small_model(folder, collection_words=2, unknown_range=0.05)
    # "newname" stands in posts, and has no vector; every word of the vectors stands in some post.
    assert set(model.vocabulary.words) == {*WORDS, "newname"}
    table = model.embedding.matrix
    (row,) = model.vocabulary.ids(["newname"])
    assert table[row].abs().max() <= 0.05
    # It starts where it would be, had it no row.
    unknown = torch.tensor([len(model.vocabulary) + stable_hash("newname")])
    assert torch.equal(table[row], unknown_vectors(unknown, 8, 0.05)[0])
    for word in WORDS:
        (new,), (old,) = model.vocabulary.ids([word]), plain.vocabulary.ids([word])
        assert torch.equal(table[new], plain.embedding.matrix[old])
    frequent = small_model(folder, collection_words=300, unknown_range=0.05)[2]
    assert frequent.vocabulary.words == ("newname",)


def test_training_changes_words_without_a_vector(folder, tmp_path):
    config = configuration(folder, collection_words=1, unknown_range=0.05, patience=1)
    config["vectors"]["trainable"] = True
    row = rerank_task.run(config, tmp_path / "out")
    before = small_model(folder, collection_words=1, unknown_range=0.05)[2]
    after = TextRanker.load(tmp_path / "out" / "model")
    assert (
        after.vocabulary == before.vocabulary
        and row["parameters"] > before.embedding.matrix.numel()
    )
    (place,) = after.vocabulary.ids(["newname"])
    assert (
        after.embedding.matrix[place] - before.embedding.matrix[place]
    ).abs().max() > 1e-5
    assert after.embedding.unknown_range == 0.05


@pytest.mark.sampled(1)
@pytest.mark.parametrize("ranker", ["bicnn_multi", "qatt_multi", "patt_multi"])
def test_a_ranker_of_several_widths_trains_under_a_name_of_its_own(
    folder, tmp_path, ranker
):
    row = rerank_task.run(configuration(folder, ranker, epochs=1), tmp_path / "out")
    name = {"b": "BiCNN", "q": "QAtt", "p": "PAtt"}[ranker[0]]
    assert row["ranker"] == f"{name}, widths 1-2-3"
    assert TextRanker.load(tmp_path / "out" / "model").ranker.encoder.widths == [
        1,
        2,
        3,
    ]


def test_batches_cover_every_pair_once_and_are_drawn_by_epoch(folder):
    collection, fold, _, encoded = small_model(folder)
    pairs = Pairs(collection, encoded, fold.train, batch_size=30, shuffle=True, seed=5)
    seen = np.concatenate([batch.rows.numpy() for batch in pairs])
    assert sorted(seen) == list(range(len(pairs.labels)))
    again = np.concatenate([batch.rows.numpy() for batch in pairs])
    pairs.epoch = 1
    assert (seen == again).all()
    assert (seen != np.concatenate([batch.rows.numpy() for batch in pairs])).any()
    few = Pairs(
        collection, encoded, fold.train, batch_size=30, shuffle=True, negatives=1.0
    )
    labels = np.concatenate([batch.labels.numpy() for batch in few])
    assert labels.mean() == 0.5 and labels.sum() == few.labels.sum()
    for batch in few:
        for row, group in zip(batch.rows.tolist(), batch.group.tolist(), strict=True):
            ids = batch.query_ids[group]
            expected = encoded.queries[few.query[row]]
            assert ids[ids >= 0].tolist() == expected.tolist()


def test_scores_do_not_depend_on_the_batch(folder):
    collection, _, model, encoded = small_model(folder)
    words = collection.queries["1"].split()
    posts = [collection.posts[p].split() for p in collection.candidates["1"]]
    np.testing.assert_allclose(
        model.score(words, posts), model.score(words, posts, batch_size=1), atol=1e-5
    )
    assert len(encode_collection(collection, model).posts) == len(encoded.posts)


def losses(folder, ranker, pair_of):
    """The losses of eight steps in float64 with fine-tuned vectors, and the table after them."""
    config = configuration(folder, ranker, collection_words=1, unknown_range=0.05)
    config["vectors"]["trainable"] = True
    collection = read_reranking("small")
    fold = make_fold(collection, 2013, share=0.15, seed=0)
    torch.manual_seed(0)
    model, encoded = rerank_task._build(config, collection, fold)
    model.double().train()
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4
    )
    pairs = Pairs(collection, encoded, fold.train, batch_size=30, shuffle=True, seed=5)
    values = []
    for batch, _ in zip(pairs, range(8), strict=False):
        loss = torch.nn.functional.nll_loss(
            model.ranker(pair_of(model, batch)), batch.labels
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    return values, model.embedding.matrix.detach()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("ranker", ["bicnn", "qatt", "patt"])
def test_one_look_up_trains_the_table_as_one_for_queries_and_one_for_posts(
    folder, ranker
):
    def two_look_ups(model, batch):
        query, query_mask, weights = model.embedding(batch.query_ids)
        post, post_mask, _ = model.embedding(batch.post_ids)
        return Pair(
            query=query,
            query_mask=query_mask,
            post=post,
            post_mask=post_mask,
            group=None if len(query) == 1 else batch.group,
            query_weights=weights,
        )

    expected, table = losses(folder, ranker, two_look_ups)
    got, trained = losses(folder, ranker, TextRanker.pair)
    assert expected[0] != expected[-1]
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    torch.testing.assert_close(trained, table, rtol=1e-10, atol=1e-12)


def test_where_dropout_makes_vectors_differ_every_token_is_a_word(folder):
    collection, _, model, encoded = small_model(folder)
    batch = next(iter(Pairs(collection, encoded, list(collection.queries))))
    tokens = batch.query_ids.numel() + batch.post_ids.numel()
    assert len(model.train().pair(batch).post_words.words) < tokens
    model.embedding.dropout.p = 0.5
    pair = model.pair(batch)
    assert len(pair.post_words.words) == tokens
    torch.testing.assert_close(
        pair.post_words.vectors(pair.post_words.words), pair.post
    )
    assert len(model.eval().pair(batch).post_words.words) < tokens


def test_search_reranks_and_names_a_query_without_words(folder):
    _, _, model, _ = small_model(folder)
    posts = [
        Post(id=str(i), text=f"word{i} word{i + 1} news", metadata={})
        for i in range(20)
    ]
    posts.append(Post(id="empty", text="", metadata={}))
    found = rerank_posts(model, "word3 oscars", posts, top=5)
    assert [item.rank for item in found] == [1, 2, 3, 4, 5]
    assert all(a.score >= b.score for a, b in pairwise(found))
    long = rerank_posts(model, " ".join(WORDS * 4)[:1200], posts)
    assert len(long) == 21 and all(np.isfinite(item.score) for item in long)
    some = rerank_posts(model, "word3", posts, first_stage="bm25", candidates=4)
    assert len(some) == 4 and "3" in {item.post.id for item in some}
    with pytest.raises(InputError, match="no word that the model knows"):
        rerank_posts(model, " ?! ", posts)
    with pytest.raises(InputError, match="no posts to rerank"):
        rerank_posts(model, "word3", [])
    with pytest.raises(InputError, match="same id"):
        rerank_posts(model, "word3", [posts[0], posts[0]])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"batch_size": 0}, "task.batch_size=0: expected a whole number, 1 or more"),
        ({"negatives": -1}, "task.negatives=-1: expected a number, 0 or more"),
        (
            {"validation_share": 2},
            "task.validation_share=2: expected a number, below 1",
        ),
    ],
)
def test_impossible_options_are_named(folder, tmp_path, wrong, message):
    with pytest.raises(InputError, match=message):
        check_config(configuration(folder, **wrong))


def test_an_option_that_a_ranker_refuses_is_named(folder, tmp_path):
    config = configuration(folder)
    config["ranker"]["widths"] = []
    with pytest.raises(
        InputError, match=r"ranker PAtt: widths is \[\]; expected one or more"
    ):
        rerank_task.run(config, tmp_path / "out")


def test_bad_collections_are_named(folder, monkeypatch):
    collection = read_reranking("small")
    with pytest.raises(InputError, match="fold=2020: no such year"):
        make_fold(collection, 2020, share=0.15, seed=0)
    path = folder / "runs" / "ql.2013.txt.gz"
    run = read_run(path)
    del run["20"]
    write_run(path, run, "ql")
    with pytest.raises(InputError, match="topic 20 is missing"):
        collection.peer("ql", [2013])
    collection.qrels.clear()
    with pytest.raises(InputError, match="no relevant candidate"):
        make_fold(collection, 2013, share=0.15, seed=0)
    run = read_run(folder / "runs" / "candidates.2013.txt.gz")
    run["20"]["nowhere"] = 1.0
    write_run(folder / "runs" / "candidates.2013.txt.gz", run, "candidates")
    with pytest.raises(
        InputError, match="post nowhere of topic 20 is not in the corpus"
    ):
        read_reranking("small")
    del run["20"]
    write_run(folder / "runs" / "candidates.2013.txt.gz", run, "candidates")
    with pytest.raises(InputError, match="topic 20 has no candidate"):
        read_reranking("small")
    monkeypatch.delenv("SIAMESE_NEWS_DATA")
    with pytest.raises(InputError, match="SIAMESE_NEWS_DATA"):
        read_reranking("small")


def test_other_models_and_changed_folders_are_refused(folder, tmp_path):
    _, _, model, _ = small_model(folder)
    model.save(tmp_path / "model", card="# card")
    assert TextRanker.load(tmp_path / "model").vocabulary == model.vocabulary
    config = tmp_path / "model" / "config.json"
    config.write_text(config.read_text().replace("reranker", "encoder"))
    with pytest.raises(InputError, match="differs from SHA256SUMS"):
        TextRanker.load(tmp_path / "model")


def test_the_newest_candidates_come_first_whatever_the_number_of_their_digits(folder):
    collection = read_reranking("small")
    scores = {"9": 3.0, "1000": 1.0, "998": 2.0, "10": 0.5}
    ordered = newest_first(dataclasses.replace(collection, candidates={"1": scores}))
    assert list(ordered.candidates["1"].items()) == [
        ("1000", 1.0), ("998", 2.0), ("10", 0.5), ("9", 3.0)
    ]  # fmt: skip
    assert list(scores) == ["9", "1000", "998", "10"]
    assert ordered.qrels == collection.qrels and ordered.posts == collection.posts


def test_batches_of_one_query_come_in_the_order_of_the_files(folder):
    collection = read_reranking("small")
    topics = ["3", "1", "12"]
    pairs = Pairs(
        collection, small_model(folder)[3], topics, batch_size=11, by_query=True
    )
    expected = []
    for topic in topics:
        # 12 posts in batches of 11 would leave one alone, which batch normalization cannot take.
        expected.append([(topic, post) for post in collection.candidates[topic]])
    served = [[pairs.names[row] for row in batch.rows] for batch in pairs]
    assert served == expected and len(pairs) == 3
    pairs = Pairs(
        collection, small_model(folder)[3], topics, batch_size=5, by_query=True
    )
    sizes = [len(batch.rows) for batch in pairs]
    assert sizes == [5, 5, 2] * 3 and len(pairs) == 9
    assert pairs.ends_of_queries() == [3, 6, 9]
    assert all(len(batch.query_ids) == 1 for batch in pairs)


def test_validation_follows_after_so_many_queries(folder, tmp_path, monkeypatch):
    """21 topics an epoch, two batches each; a validation after topics 5, 10, ... of all epochs."""
    events, figures = [], []
    step, end = RerankModule.training_step, RerankModule.on_validation_epoch_end

    def training_step(self, batch, index):
        events.append(self.train_pairs.names[int(batch.rows[-1])][0])
        return step(self, batch, index)

    def on_validation_epoch_end(self):
        events.append("validation")
        end(self)
        figures.append(float(self.trainer.callback_metrics["dev/ap"]))

    monkeypatch.setattr(RerankModule, "training_step", training_step)
    monkeypatch.setattr(
        RerankModule, "on_validation_epoch_end", on_validation_epoch_end
    )
    config = configuration(folder, batches="query", batch_size=6, validate_queries=5)
    row = rerank_task.run(config, tmp_path / "out")
    # The best of the validations is kept, not what an epoch ends with.
    assert row["dev AP"] == pytest.approx(max(figures)) and len(figures) == 8
    collection = read_reranking("small")
    expected, topics = [], 0
    for _ in range(2):
        for topic in make_fold(collection, 2013, share=0.15, seed=0).train:
            expected += [topic, topic]
            topics += 1
            if topics % 5 == 0:
                expected.append("validation")
    assert events == expected and topics == 42


def test_a_training_on_the_newest_posts_first(folder, tmp_path, monkeypatch):
    served = []
    step = RerankModule.training_step

    def training_step(self, batch, index):
        served.extend(self.train_pairs.names[int(row)] for row in batch.rows)
        return step(self, batch, index)

    monkeypatch.setattr(RerankModule, "training_step", training_step)
    config = configuration(folder, batches="newest", batch_size=6, epochs=1)
    rerank_task.run(config, tmp_path / "out")
    collection = read_reranking("small")
    train = make_fold(collection, 2013, share=0.15, seed=0).train
    assert served == [
        (topic, post)
        for topic in train
        for post in sorted(collection.candidates[topic], key=int, reverse=True)
    ]


def test_named_topics_are_held_out(folder):
    collection = read_reranking("small")
    named = ["2", "9", "10", "18", "30"]
    fold = make_fold(collection, 2013, share=0.15, seed=0, dev_topics=named)
    assert fold.dev == ["2", "9", "10", "30"] and fold.test == [
        str(n) for n in range(17, 25)
    ]
    assert fold.train == [
        str(n) for n in range(1, 33) if str(n) not in (*fold.dev, *fold.test)
    ]
    with pytest.raises(
        InputError, match=r"validation_topics: 'small' has no topic 99 \(1 unknown"
    ):
        make_fold(collection, 2013, share=0.15, seed=0, dev_topics=["1", "99"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"batches": "query", "negatives": 2.0},
            r"task.negatives=2.0: batches of one query",
        ),
        (
            {"validate_queries": 5},
            r"task.validate_queries=5 counts batches of one query",
        ),
        ({"batches": "query", "validate_queries": 99}, r"an epoch has 21 topics"),
    ],
)
def test_options_that_do_not_fit_batches_of_one_query(
    folder, tmp_path, options, message
):
    with pytest.raises(InputError, match=message):
        rerank_task.run(configuration(folder, **options), tmp_path / "out")
