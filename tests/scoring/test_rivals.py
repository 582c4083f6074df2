"""Rivals: a post that fits an unrelated seed better falls, by the definition and in a ranking."""

import json
import os

import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from tests.commands import siamese_news as process

from siamese_news import InputError, Searcher, open_model
from siamese_news.data.sources import open_source
from siamese_news.scoring import mixture, observe_all, open_scorer
from siamese_news.scoring.rivals import after_rivals, rival_weights, same_story
from siamese_news.search.query import Query
from siamese_news.search.seeds import Seeds

FLOOD = "The river Asker burst its banks in Harlow Bridge. People were evacuated from the flood."
AGAIN = "In Harlow Bridge the flood of the river Asker falls. Evacuated people return to the bridge."
TRIAL = "The mayor of Quillgate went on trial for bribes. The jury heard of envelopes of money."
POSTS = [
    "flood in Harlow Bridge",
    "evacuated by boat from the river Asker",
    "the mayor of Quillgate and the envelopes, what a trial",
    "Quillgate jury heard it all",
    "the bridge at Quillgate is closed for the trial",
    *[f"new phone number {n}" for n in range(30)],
]


def naive(scores, weights):
    """The definition, a post at a time, over all seeds."""
    found = scores.copy()
    for post in range(scores.shape[1]):
        for seed in range(len(scores)):
            most = max(weights[seed] * scores[:, post])
            own = scores[seed, post]
            if own > 0 and most > own:
                found[seed, post] = own**2 / most
    return found


@pytest.mark.parametrize("seeds", [2, 3, 9])
def test_they_are_those_of_the_definition(seeds):
    generator = np.random.default_rng(seeds)
    scores = np.round(generator.uniform(-0.1, 0.5, (seeds, 200)), 2)  # with ties
    weights = np.clip(generator.uniform(-0.5, 1.5, (seeds, seeds)), 0, 1).astype(
        np.float32
    )
    np.fill_diagonal(weights, 0)
    np.testing.assert_allclose(
        after_rivals(scores, weights), naive(scores, weights), rtol=1e-6
    )


def test_with_many_seeds_the_ten_best_of_a_post_are_asked():
    generator = np.random.default_rng(0)
    scores = generator.uniform(0, 0.5, (60, 100))
    story = np.arange(60) < 30  # fifty of a hundred seeds tell one story
    weights = np.where(story[:, None] & story, 0, 1).astype(np.float32)
    np.fill_diagonal(weights, 0)
    best_ten = np.sort(scores, axis=0)[-10]
    asked = np.where(scores >= best_ten, scores, 0)
    expected = scores.copy()
    for seed in range(60):
        most = (weights[seed][:, None] * asked).max(axis=0)
        falls = most > scores[seed]
        expected[seed, falls] = scores[seed, falls] ** 2 / most[falls]
    np.testing.assert_allclose(after_rivals(scores, weights), expected, rtol=1e-6)


def test_seeds_of_one_story_are_no_rivals():
    weights = rival_weights(open_model(), [FLOOD, AGAIN, TRIAL, FLOOD, ""])
    assert np.array_equal(weights, weights.T)
    assert weights[0, 1] == weights[0, 3] == weights[0, 0] == 0
    assert weights[0, 2] == weights[2, 4] == 1


def test_rank_lowers_what_fits_an_unrelated_seed_better(tmp_path):
    for name, text in (("a", FLOOD), ("b", AGAIN), ("c", TRIAL)):
        (tmp_path / f"{name}.txt").write_text(text)
    rows = [
        json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate(POSTS)
    ]
    (tmp_path / "posts.jsonl").write_text("".join(rows))

    def ranked(*more):
        out = tmp_path / "out.jsonl"
        files = [tmp_path / f"{name}.txt" for name in "abc"]
        done = process(
            *("rank", "--articles", *files, "--posts", tmp_path / "posts.jsonl"),
            *("--out", out, "--second-look", "none", *more),
        )
        assert done.returncode == 0, done.stderr
        found = {}
        for row in map(json.loads, out.read_text().splitlines()):
            found.setdefault(row["article"], {})[row["post"]] = row["score"]
        return found, done.stderr

    alone, said = ranked("--no-distinct")
    assert "a list for each seed, each by itself" in said
    apart, said = ranked()
    assert "posts that fit an unrelated seed better fall (--no-distinct" in said
    for post in alone["a"]:
        for seed, rivals in (("a", "c"), ("b", "c"), ("c", "ab")):
            most, own = max(alone[rival][post] for rival in rivals), alone[seed][post]
            expected = own**2 / most if 0 < own < most else own
            assert apart[seed][post] == pytest.approx(expected, abs=5e-6)
    assert apart["a"]["4"] < alone["a"]["4"] and apart["c"]["4"] == alone["c"]["4"]
    stories = [FLOOD, AGAIN, TRIAL]
    records = Searcher().rank(stories, POSTS, second_look="none")
    scores = [row["score"] for row in records if row["article_id"] == "2"]
    assert scores == sorted(apart["c"].values(), reverse=True)


def test_it_has_one_way_at_a_time():
    with pytest.raises(InputError, match="cannot be one story and distinct ones"):
        Query(distinct=True, one_story=True)


def test_seeds_in_different_languages_are_no_rivals():
    spanish = (
        "El río Asker se desbordó en Harlow Bridge y la policía evacuó a los vecinos por la noche. "
        "Las calles del centro siguen cerradas y el agua no baja todavía."
    )
    weights = rival_weights(open_model(), [FLOOD, spanish, TRIAL])
    assert weights[0, 1] == weights[1, 0] == weights[1, 2] == 0
    assert weights[0, 2] == weights[2, 0] > 0


@pytest.mark.parametrize("seed", range(3))
def test_seeds_tell_one_story_as_far_as_one_finds_the_posts_of_the_other(seed):
    generator = np.random.default_rng(seed)
    shares = generator.uniform(0, 0.7, (5, 5))
    alike = generator.uniform(0.4, 0.8, 5)
    stories = same_story(shares, alike)
    for row, column in np.ndindex(5, 5):
        share = max(shares[row, column], shares[column, row])
        event = min(np.clip((alike[each] - 0.5) / 0.2, 0, 1) for each in (row, column))
        expected = np.clip((share - 0.2) / 0.3, 0, 1) * event
        assert stories[row, column] == pytest.approx(expected, abs=6e-5)


def test_seeds_whose_posts_are_not_alike_stay_rivals():
    stories = same_story(np.ones((3, 3)), np.array([0.9, 0.8, 0.2]))
    assert stories[0, 1] == 1
    assert stories[0, 2] == stories[2, 2] == 0


def test_seeds_of_a_large_event_tell_one_story_though_their_best_posts_differ(
    monkeypatch,
):
    monkeypatch.setattr(mixture, "COMPARED_POSTS", 12)
    flood = "flood in Harlow Bridge, the river Asker burst its banks after days of rain"
    stories = [f"{flood}. Boats came.", f"{flood}. Roads closed.", TRIAL]
    posts = [f"{story} {n}" for story in stories for n in range(80)]
    posts += [f"new phone number {n} today" for n in range(160)]
    scorer = observe_all(open_scorer(open_model(), stories), posts)
    lesson, basis = scorer.lesson, scorer.basis
    best = [lesson.pool.candidates.best(seed)[0][:12].tolist() for seed in range(3)]
    assert not set(best[0]) & set(best[1])
    # The definition, a seed and a post at a time.
    scores = np.array(
        [
            [
                basis.scores(
                    scorer.setting.reader.of_candidates(lesson.pool.candidates, [key])
                )[:, 0]
                for key in keys
            ]
            for keys in best
        ]
    )  # (A, 12, A) of the best posts of each seed, for each seed
    shares = np.zeros((3, 3))
    for finder in range(3):
        threshold = 0.6 * np.quantile(scores[finder, :, finder], 0.1)
        for seed in range(3):
            shares[seed, finder] = np.mean(scores[seed, :, finder] >= threshold)
    expected = same_story(shares, lesson.alike)
    shared = scorer.shared_stories()
    np.testing.assert_allclose(shared, expected, atol=1e-4)
    assert shared[0, 1] > 0.9 and shared[0, 2] == shared[1, 2] == 0


@pytest.mark.slow
@pytest.mark.parametrize("about", ["auto", "article"])
def test_articles_of_one_event_do_not_lower_its_posts(about):
    """Judged by event, nothing is lost to ``--no-rivals``; who asks for articles has them apart."""
    if not os.environ.get("SIAMESE_NEWS_DATA"):
        pytest.skip("the articles of usatoday-cnn are not in this repository")
    collection = open_source("usatoday-cnn")
    qrels = collection.split("train") | collection.split("dev")
    seeds = [collection.articles[id] for id in qrels]
    events = {}
    for seed in seeds:
        posts = {id for id, grade in qrels[seed.id].items() if grade > 0}
        events.setdefault(seed.metadata["event"], set()).update(posts)
    ids = list(collection.posts)
    texts = [post.text for post in collection.posts.values()]
    model = open_model()
    full_texts = [seed.full_text for seed in seeds]
    scorer = observe_all(open_scorer(model, full_texts, about=about), texts)
    scores = scorer.scores(texts)
    rivals = rival_weights(model, full_texts)

    def mean(of_seeds):
        lists = of_seeds.combine(scores)[0]
        figures = [
            average_precision_score(
                [id in events[s.metadata["event"]] for id in ids], a
            )
            for s, a in zip(seeds, lists, strict=True)
        ]
        return np.mean(figures)

    alone = mean(Seeds(seeds))
    apart = mean(Seeds(seeds, rivals=rivals).among_stories(scorer))
    if about == "article":
        assert apart == mean(Seeds(seeds, rivals=rivals)) < alone - 0.03
    else:
        assert apart >= alone - 0.002
