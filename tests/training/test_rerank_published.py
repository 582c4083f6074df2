"""The published figures from the shared runs, and trec_eval's own figures for them."""

import pytest

from siamese_news.metrics import evaluate_run, means
from siamese_news.training.interpolation import interpolate, tune_weight
from siamese_news.training.rerank_data import make_fold, read_reranking

# Table 3 of samCNN: AP and P30 for QL, RM3 and MP-HCNN.
PUBLISHED = {
    ("ql", 2011): (0.3576, 0.4000),
    ("rm3", 2011): (0.3824, 0.4211),
    ("mphcnn", 2011): (0.3832, 0.4075),
    ("ql", 2012): (0.2091, 0.3311),
    ("rm3", 2012): (0.2342, 0.3452),
    ("mphcnn", 2012): (0.2337, 0.3689),
    ("ql", 2013): (0.2532, 0.4450),
    ("rm3", 2013): (0.2766, 0.4733),
    ("mphcnn", 2013): (0.2818, 0.5222),
    ("ql", 2014): (0.3924, 0.6182),
    ("rm3", 2014): (0.4480, 0.6339),
    ("mphcnn", 2014): (0.4304, 0.6297),
}


@pytest.fixture(scope="module")
def collection(data_dir):
    if not (data_dir / "trec-microblog").is_dir():
        pytest.skip("trec-microblog is not in SIAMESE_NEWS_DATA")
    return read_reranking("trec-microblog")


def judged(collection, topics):
    return {
        query: collection.qrels[query] for query in topics if query in collection.qrels
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "year"),
    [pytest.param(name, year) for name, year in sorted(PUBLISHED)],
)
def test_the_published_figures_come_out(collection, name, year):
    run = collection.peer(name, [year])
    figures = means(evaluate_run(run, judged(collection, collection.of_year(year))))
    assert (round(figures["AP"], 4), round(figures["P@30"], 4)) == PUBLISHED[name, year]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "year"), sorted(PUBLISHED))
def test_every_run_scores_as_under_trec_eval(collection, name, year):
    ir_measures = pytest.importorskip("ir_measures")
    from ir_measures import AP, P, nDCG

    run = collection.peer(name, [year])
    qrels = judged(collection, collection.of_year(year))
    qrels = {
        query: grades for query, grades in qrels.items() if max(grades.values()) >= 1
    }
    ours = evaluate_run(run, qrels)
    columns = {AP: "AP", P @ 30: "P@30", nDCG @ 10: "nDCG@10"}
    for found in ir_measures.iter_calc(list(columns), qrels, run):
        assert ours[columns[found.measure]][found.query_id] == pytest.approx(
            found.value, abs=1e-6
        )


@pytest.mark.slow
def test_the_published_interpolation_is_beatable(collection):
    """Published for 2013: AP .2896; with the weight tuned on validation topics it is better."""
    fold = make_fold(collection, 2013, share=0.15, seed=0)
    years = sorted(set(collection.years.values()))
    strong, first = collection.peer("mphcnn", years), collection.peer("ql", years)
    weight = tune_weight(strong, first, collection.qrels, fold.dev)
    mixed = interpolate({q: strong[q] for q in fold.test}, first, weight)
    assert means(evaluate_run(mixed, judged(collection, fold.test)))["AP"] > 0.2896
