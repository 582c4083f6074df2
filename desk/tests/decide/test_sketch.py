"""Whether two populations are the same, against the sets themselves."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese_news_desk.decide.plan import sketch
from siamese_news_desk.decide.plan.population import SKETCH, Population
from siamese_news_desk.decide.plan.sketch import Relation, Sketch
from siamese_news_desk.decide.plan.texts import Texts

KEYS = st.sets(st.integers(0, 2**64 - 1), max_size=40)


@given(KEYS, KEYS, KEYS)
def test_small_sets_are_compared_exactly(first, second, both):
    sets = first | both, second | both
    of_all, of_smaller = sketch._shares(sketch._common_range(*map(sorted, sets)))
    shared = len(sets[0] & sets[1])
    assert of_all == (shared / len(sets[0] | sets[1]) if shared else 0)
    assert of_smaller == (shared / min(map(len, sets)) if shared else 0)


@pytest.mark.parametrize(
    ("size", "shared"), [(20_000, 6_000), (3_000, 1_000), (1_000, 1_000)]
)
def test_large_sets_are_compared_by_their_smallest_hashes(size, shared):
    generator = np.random.default_rng(size)
    for _ in range(20):
        keys = generator.integers(0, 2**63, 20_000 + size - shared).tolist()
        first, second = keys[:20_000], keys[20_000 - shared :]
        ranges = sketch._common_range(
            *(sorted(part)[:SKETCH] for part in (first, second))
        )
        _, of_smaller = sketch._shares(ranges)
        # Four standard errors of a share among as many hashes as the smaller set has in the range.
        count = SKETCH * size / 20_000
        assert abs(of_smaller - shared / size) < 4 * np.sqrt(0.25 / count) + 1e-9


def made(folder, rows, name="scored.jsonl", posts=None):
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    population = Population(folder / name)
    return Sketch.of(population, Texts(population, posts))


def rows(numbers, id="p{}", text="the text {}"):
    return [
        {"post": id.format(n), "score": 1 - n / 10_000, "text": text.format(n)}
        for n in numbers
    ]


@pytest.mark.parametrize(
    ("other", "relation"),
    [
        (rows(range(5000), id="url/{}"), Relation.SAME),
        (rows(range(5000), text="another {}"), Relation.SAME),
        (rows(range(5000), id="q{}", text="  The \n TEXT {} "), Relation.SAME),
        (rows(range(3, 5000, 2), id="q{}"), Relation.PART),
        (rows(range(1, 5000, 3)), Relation.PART),
        (rows([*range(4000, 5000, 4), *range(5000, 5700)]), Relation.PART),
        (rows([*range(4900, 5000), *range(5000, 6000)]), Relation.OTHER),
        (rows(range(5000, 9000)), Relation.OTHER),
        (
            rows(range(80), id="q{}"),
            Relation.SAME,
        ),  # the head of the list, under other names
        (rows(range(5000), id="q{}", text="..{}.."), Relation.OTHER),
        # The same words, without the links or with other signs.
        (rows(range(5000), id="q{}", text="The text, {}!"), Relation.SAME),
        (rows(range(5000), id="q{}", text="the te\u200bxt {}\ufeff"), Relation.SAME),
        (
            rows(
                range(5000),
                id="q{}",
                text="www.a.de/{0} “the” text {0} HTTPS://t.co/{0}",
            ),
            Relation.SAME,
        ),
        (rows(range(60), id="q{}", text="the (text): {}"), Relation.SAME),
        (rows(range(1, 5000, 3), id="q{}", text="THE text – {}"), Relation.PART),
        (rows(range(5000), id="q{}", text="the next {}"), Relation.OTHER),
    ],
)
def test_relations_of_populations(tmp_path, other, relation):
    first, second = made(tmp_path, rows(range(5000))), made(tmp_path, other, "b.jsonl")
    assert first.relation(second) == second.relation(first) == relation


def test_texts_come_from_the_posts_if_the_results_have_none(tmp_path):
    plain = [{"id": row["post"], "text": row["text"]} for row in rows(range(9000))]
    (tmp_path / "posts.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in plain)
    )
    scores = [{"post": row["post"], "score": row["score"]} for row in rows(range(900))]
    bare = made(tmp_path, scores, "bare.jsonl", [tmp_path / "posts.jsonl"])
    assert bare == made(tmp_path, rows(range(900)))
    assert not made(tmp_path, scores, "bare.jsonl").texts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Flut: alle Brücken zu! http://t.co/Ab_1", "flut alle brücken zu"),
        ("#Flut_in Köln,heute…", "flut in köln heute"),
        ("\ufeffdon’t\u200b panic\u2060", "don t panic"),
        ("https://t.co/1", ""),
        ("\U0001f44d !!", ""),
        ("\ud83d half an emoji", "half an emoji"),
    ],
)
def test_words_of_a_text(text, words):
    assert sketch.words_of(text) == words
