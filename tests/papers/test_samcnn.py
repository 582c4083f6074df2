"""samCNN's tables and figures, against truths worked out by hand."""

import json

import numpy as np
import pytest
import torch
from papers import Setting, choose
from papers.jobs import Result, Results, Store
from papers.run import reproduce
from papers.samcnn import authors, figure3, figure4, table1, table2, table3, table4
from papers.samcnn.published import SETTINGS
from papers.samcnn.runs import RANKERS, ensemble, peer_figures, run_name, training_jobs
from papers.samcnn.stories import CANDIDATES, stories_collection

from siamese_news.data.trec import write_run
from siamese_news.encoders import TokenEmbedding
from siamese_news.metrics import evaluate_run, means
from siamese_news.model.reranker import TextRanker
from siamese_news.text import Vocabulary
from siamese_news.training.rerank_data import RerankCollection, read_reranking


def toy(tmp_path):
    """One topic, "oscars snub affleck", with four posts; a and c are relevant."""
    posts = {
        "a": "oscars snub affleck again",
        "b": "oscars oscars tonight",
        "c": "affleck and the snub",
        "d": "nothing of it",
    }
    return RerankCollection(
        name="toy",
        queries={"125": "oscars snub affleck"},
        years={"125": 2013},
        posts=posts,
        urls=dict.fromkeys(posts, ""),
        candidates={"125": dict.fromkeys(posts, 1.0)},
        qrels={"125": {"a": 2, "c": 1, "b": 0, "elsewhere": 1}},
        runs=tmp_path,
    )


def test_a_post_counts_for_every_pattern_that_it_holds(tmp_path):
    # a holds all three words; b only "oscars", twice; c "snub" and "affleck"; d none.
    collection = toy(tmp_path)
    posts = [text.split() for text in collection.posts.values()]
    counts = table4.count_patterns(
        ["oscars", "snub", "affleck"], posts, [True, False, True, False]
    )
    assert counts == {
        (0, 1, 2): (1, 0),
        (0, 1): (1, 0),
        (0, 2): (1, 0),
        (1, 2): (2, 0),
        (0,): (1, 1),
        (1,): (2, 0),
        (2,): (2, 0),
    }
    # A word that the query has twice is one word.
    assert table4.count_patterns(["a", "a"], [["a"], ["b"]], [False, True]) == {
        (0,): (0, 1)
    }


def test_table4_counts_within_the_top(tmp_path, monkeypatch):
    monkeypatch.setattr(table4, "TOP", 2)
    run = {"a": 0.1, "b": 0.9, "c": 0.8, "d": 0.2}  # so b and c are on top
    counts = table4.topic_patterns(toy(tmp_path), "125", run)
    assert counts["top"] == {"1 2": [1, 0], "0": [0, 1], "1": [1, 0], "2": [1, 0]}
    assert counts["all"]["0 1 2"] == [1, 0] and counts["all"]["1 2"] == [2, 0]
    rows = table4.pattern_rows(counts, ["oscars", "snub", "affleck"])
    # The single words come first, as in the paper.
    assert [row["holds at least"] for row in rows[:2]] == ["oscars", "snub"]
    assert list(rows[-1].values()) == ["snub + affleck", 1, 1, 0, 2, 0]
    assert table4.pattern_rows(counts, None)[0]["holds at least"] == "word 1"


def test_table1_counts_what_the_candidates_hold(tmp_path):
    # "elsewhere" is relevant, but no candidate.
    assert table1.count(toy(tmp_path)) == [
        {
            "year": "2013",
            "topics": 1,
            "candidates": 4,
            "relevant": 2,
            "query words": 3.0,
            "post words": 3.5,
        }
    ]


def test_table2_prints_what_conf_trains_with():
    rows = {row["setting"]: row for row in table2.rows()}
    assert rows["words without a vector"]["rerank_samcnn"] == "U[-0.05, 0.05]"
    assert rows["word vectors"]["rerank_samcnn"].endswith(", fine-tuned")
    assert rows["epochs"]["rerank_samcnn"].startswith(
        "15, stopping after 4 validations"
    )
    for name in ("filters", "window width", "size of a text's vector"):
        printed = SETTINGS[name][0]
        assert rows[name]["rerank_samcnn"] == rows[name]["rerank_authors"] == printed
    assert "0.003, times 0.75 every 5 epochs" in rows["learning rate"]["rerank_authors"]
    assert (
        rows["epochs"]["rerank_authors"]
        == "15; validated every 30 queries, selected by P30"
    )
    assert rows["learning rate"]["rerank_samcnn"].startswith(
        SETTINGS["learning rate"][0]
    )


def model_of(collection):
    words = sorted(
        {word for text in collection.posts.values() for word in text.split()}
    )
    torch.manual_seed(0)
    options = {
        "class": "PAtt",
        "filters": 6,
        "widths": [2],
        "dropout": 0.5,
        "hidden": 5,
        "head_hidden": 4,
        "head_order": "relu-norm",
        "head_dropout": 0.5,
    }
    return TextRanker(
        vocabulary=Vocabulary(words, unknown="hash"),
        embedding=TokenEmbedding(torch.randn(len(words), 8), trainable=False),
        ranker=options,
        exact_match=False,
    )


def test_figure4_projects_the_hidden_layer_of_every_candidate(tmp_path):
    collection = toy(tmp_path)
    model = model_of(collection)
    hidden = figure4.hidden_layers(model, collection, "125")
    assert hidden.shape == (4, 4) and (hidden >= 0).all() and (hidden > 0).any()
    # From o to the score by hand: batch normalization of a new model leaves it, then the output.
    head = model.ranker.head
    scores = torch.log_softmax(head.output(head.norm(torch.from_numpy(hidden))), 1)[
        :, 1
    ]
    posts = [text.split() for text in collection.posts.values()]
    expected = model.score(collection.queries["125"].split(), posts)
    np.testing.assert_allclose(scores.detach().numpy(), expected, atol=1e-5)


def test_neighbors_in_the_plane():
    # The nearest of the first is the second and the other way round; of the third, the fourth.
    places = [[0, 0], [0, 1], [9, 9], [9, 8]]
    assert figure4.separation(places, [True, True, False, False]) == 1.0
    assert figure4.separation(places, [True, False, True, False]) == 0.0
    assert figure4.separation(places, [False] * 4) is None


def made(values):
    return Result(values, {"minutes": 0.0})


def toy_results():
    """QL and PAtt with two seeds on the topics of 2013."""
    topics = [str(topic) for topic in range(111, 131)]
    results = {
        "peers": made(
            {
                "weights": {},
                "systems": {
                    "QL": {
                        "2013": {m: dict.fromkeys(topics, 0.5) for m in ("AP", "P@30")}
                    }
                },
            }
        )
    }
    for seed, ap in ((0, 0.2), (1, 0.4)):
        figures = {"AP": dict.fromkeys(topics, ap), "P@30": dict.fromkeys(topics, 0.5)}
        figures["AP"]["125"] = ap - 0.2
        figures["AP"]["127"] = ap + 0.4
        values = {"topics": {"": figures, " +QL": figures}}
        for name in ("rerank_samcnn", "rerank_chosen"):
            results[run_name(name, "patt", 2013, seed)] = made(values)
    return Results(Setting("shared", (0, 1)), results)


@pytest.mark.parametrize(
    ("best", "verb"), [("patt", "agrees with"), ("qatt", "contradicts")]
)
def test_figure4_says_whether_patt_separates_best(best, verb):
    apart = [[0, 0], [0, 1], [9, 9], [9, 8]]
    mixed = [[0, 0], [9, 9], [0, 1], [9, 8]]
    by_job = {
        f"hidden_layer_{option}": made(
            {
                "topic": "164",
                "relevant": [1, 1, 0, 0],
                "places": apart if option == best else mixed,
            }
        )
        for option in RANKERS
    }
    content = figure4.EXHIBIT.lay_out(Results(Setting("shared"), by_job))
    assert content.outcome.startswith(f"This {verb} the paper, whose PAtt separates")
    assert f"1.00 ({RANKERS[best]})" in content.outcome
    assert "0.50 by chance" in content.details


def test_figure3_takes_the_mean_over_seeds():
    changes = figure3.changes(toy_results())
    assert changes[0] == ("127", pytest.approx(0.3 + 0.4 - 0.5))
    assert changes[-1] == ("125", pytest.approx(0.3 - 0.2 - 0.5))
    # Of equal ones the lower topic first.
    assert changes[1] == (
        "111",
        pytest.approx(-0.2),
    )
    said = figure3.EXHIBIT.lay_out(toy_results()).details
    assert "best topic is 127 (+0.2000 AP), the worst 125 (-0.4000 AP)" in said


def test_figure3_is_of_the_chosen_patt():
    jobs = [job.name for job in figure3.EXHIBIT.jobs(Setting("shared", (0, 1)))]
    chosen = [run_name("rerank_chosen", "patt", 2013, seed) for seed in (0, 1)]
    assert jobs == ["peers", *chosen]
    results = toy_results()
    of_table3 = figure3.changes(results, experiment="rerank_samcnn", seeds=(1,))
    assert of_table3[0] == ("127", pytest.approx(0.4 + 0.4 - 0.5))


def test_table3_marks_what_is_significant():
    results = toy_results()
    systems = table3.peer_systems(results)
    systems |= table3.ranker_systems(results, RANKERS, experiment="rerank_samcnn")
    rows = table3.system_rows(systems, samples=500)
    assert [row["system"] for row in rows] == ["PAtt", "PAtt +QL", "QL"]
    assert [row["seeds"] for row in rows] == ["2", "2", "1"]
    # 19 of 20 topics are worse than QL, one is better; P30 is the same for all. The numbers are
    # those of the paper, whose third, fourth and fifth rows these are.
    assert [row["row"] for row in rows] == ["3", "4", "5"]
    assert rows[2]["2013 AP"] == "0.5000 ↑3,4"
    assert rows[0]["2013 AP"] == "0.3100 ±0.1414"
    assert rows[0]["2013 P30"] == "0.5000 ±0.0000" and rows[0]["2011 AP"] is None
    further = table3.system_rows(
        {**systems, "PAtt, changed": systems["PAtt"]}, samples=50
    )
    assert further[-1]["row"] == "9"  # after the paper's eight
    assert table3.mean_of(systems, "PAtt", 2013, "AP") == pytest.approx(0.31)


def test_table3_says_how_many_seeds_a_cell_is_the_mean_of():
    results = toy_results()
    one_seed = dict.fromkeys(("1", "2"), 0.25)
    values = {suffix: {"AP": one_seed, "P@30": one_seed} for suffix in ("", " +QL")}
    by_job = {run_name("rerank_samcnn", "patt", 2011, 0): made({"topics": values})}
    results = Results(results.setting, {**results.by_job, **by_job})
    systems = table3.ranker_systems(results, RANKERS, experiment="rerank_samcnn")
    row = table3.system_rows(systems, samples=100)[0]
    assert (row["system"], row["seeds"]) == ("PAtt", "1, 2")
    assert row["2011 AP"] == "0.2500 (1 seed)"
    assert row["2013 P30"] == "0.5000 ±0.0000 (2 seeds)" and row["2012 AP"] is None


def test_table3_says_what_came_out():
    def flat(ap, p30):
        return {(2013, "AP"): {"1": [ap]}, (2013, "P@30"): {"1": [p30]}}

    systems = {
        "QL": flat(0.2532, 0.445),
        "PAtt": flat(0.25, 0.5),
        "PAtt +QL": flat(0.2965, 0.5),
    }
    assert table3.details(systems) == (
        "As printed to four places, all 2 figures: QL. PAtt alone, above QL in the paper, is above "
        "it in 0 of 1 years."
    )
    higher = table3.details({"QL": systems["QL"], "QAtt": flat(0.26, 0.5)})
    assert "QAtt alone, above QL in the paper, is above it in 1 of 1 years." in higher
    assert table3.details({}) == table3.headline({}) == ""
    assert table3.headline(systems).startswith("As printed: QL; our single models")


def test_an_ensemble_is_the_mean_probability_of_its_runs(tmp_path):
    """Against a loop; the topics held out are those of the rankers' training."""
    collection = read_reranking(str(stories_collection(tmp_path)))
    dev = collection.of_year(2011)[:4]
    draw = np.random.default_rng(0)
    folders, runs = [], []
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        (folder / "topics.json").write_text(json.dumps({"dev": dev}))
        own = {}
        for part, topics in (("dev", dev), ("test", collection.of_year(2013))):
            own[part] = {
                t: {
                    p: float(np.log(draw.uniform(0.01, 0.99)))
                    for p in collection.candidates[t]
                }
                for t in topics
            }
            write_run(folder / f"{part}.run.gz", own[part], "tag")
        folders.append(folder)
        runs.append(own["test"])
    values = ensemble(collection, 2013, folders)
    expected = {
        topic: {
            post: sum(np.exp(run[topic][post]) for run in runs) / 3 for post in posts
        }
        for topic, posts in runs[0].items()
    }
    figures = evaluate_run(expected, collection.judged(collection.of_year(2013)))
    assert values["topics"][""]["AP"] == pytest.approx(figures["AP"], abs=1e-6)
    assert set(values["topics"]) == {"", " +QL"} and values["weight"] >= 0


def test_the_authors_figures_are_next_to_print_and_to_ours():
    rows = authors.rows({"PAtt": {(2013, "AP"): {"111": [0.2, 0.4]}}}, {}, {})
    assert len(rows) == 24
    by_place = {(row["system"], row["year"]): row for row in rows}
    assert list(by_place["QAtt", "2012"].values())[2:] == [
        "0.2376",
        "0.1660",
        "0.2177",
        *[None, None, None],
        "0, 0",
    ]
    assert list(by_place["QAtt, sum", "2012"].values())[2:5] == [
        "0.2376",
        "0.2326",
        "0.2382",
    ]
    assert by_place["BiCNN", "2011"]["authors, ensemble of 10"] is None
    assert by_place["PAtt", "2013"]["ours as chosen, mean"] == "0.3000"
    assert by_place["PAtt", "2013"][authors.SEEDS] == "2, 0"


def test_runs_are_made_a_whole_year_at_a_time():
    jobs = training_jobs(
        Setting("shared", (0, 1, 2)), rankers=("bicnn", "patt"), years=(2011, 2012)
    )
    order = [job.name for job in jobs]
    years_and_seeds = [(2011, 0), (2012, 0), (2011, 1), (2011, 2), (2012, 1), (2012, 2)]
    assert order == [
        run_name("rerank_samcnn", ranker, year, seed)
        for year, seed in years_and_seeds
        for ranker in ("bicnn", "patt")
    ]


@pytest.fixture(scope="module")
def stories(tmp_path_factory):
    return read_reranking(str(stories_collection(tmp_path_factory.mktemp("stories"))))


def test_the_stories_are_a_reranking_collection(stories):
    assert len(stories.queries) == 48 and set(stories.years.values()) == {
        2011,
        2012,
        2013,
        2014,
    }
    assert all(len(pool) == CANDIDATES for pool in stories.candidates.values())
    for year in (2011, 2014):
        run, topics = stories.peer("ql", [year]), stories.of_year(year)
        figures = means(
            evaluate_run(run, {query: stories.qrels[query] for query in topics})
        )
        # Far above chance, which is a percent or two.
        assert figures["AP"] > 0.2
    peers = peer_figures(stories)
    assert list(peers["systems"]) == ["QL", "RM3"] and peers["weights"] == {}


def test_the_stories_are_written_once(tmp_path):
    first = stories_collection(tmp_path)
    (first / "corpus.jsonl.gz").unlink()
    assert (
        stories_collection(tmp_path) == first
        and not (first / "corpus.jsonl.gz").exists()
    )


def test_without_runs_a_page_says_what_is_missing(tmp_path, monkeypatch, caplog):
    monkeypatch.delenv("SIAMESE_NEWS_DATA", raising=False)
    store = Store(saved=tmp_path / "saved", made=tmp_path / "made", paper="samcnn")
    page = reproduce(
        choose("samcnn"), tmp_path / "out", store=store, seeds=[0], missing="say"
    )
    text = page.read_text(encoding="utf-8")
    assert "paper=samcnn table=3 missing=train makes them" in text
    assert "rerank_samcnn_patt_2013_0" in caplog.text
    assert not (tmp_path / "made").exists()


@pytest.mark.slow
def test_the_whole_paper_on_the_stories(tmp_path, monkeypatch):
    monkeypatch.delenv("SIAMESE_NEWS_DATA", raising=False)
    store = Store(saved=tmp_path / "saved", made=tmp_path / "made", paper="samcnn")
    reproduce(
        choose("samcnn"), tmp_path / "out", store=store, seeds=[0, 1], missing="train"
    )
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {
        "table1.csv",
        "table3.csv",
        "widths.csv",
        "authors.csv",
        "own_vectors.csv",
    } <= names
    assert {"figure3.svg", "figure4.png", "index.html"} <= names
    saved = tmp_path / "made" / "results" / "samcnn" / "stories"
    written = json.loads((saved / "rerank_samcnn_patt_2013_0.json").read_text("utf-8"))
    assert str(tmp_path) not in json.dumps(written)
    row = written["values"]["row"]
    assert row["AP"] == pytest.approx(
        np.mean(list(written["values"]["topics"][""]["AP"].values())), abs=1e-6
    )
