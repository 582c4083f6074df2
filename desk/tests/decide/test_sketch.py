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


def rows(numbers, id="p{}", text="the text {}", score=lambda n: 1 - n / 10_000):
    return [
        {"post": id.format(n), "score": score(n), "text": text.format(n)}
        for n in numbers
    ]


LONG = "{}-a-long-name"


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("other", "relation"),
    [
        (rows(range(5000), id="url/{}"), Relation.SAME),
        (rows(range(5000), id="q{}", text="  The \n TEXT {} "), Relation.SAME),
        (rows(range(3, 5000, 2), id="q{}"), Relation.PART),
        (rows(range(1, 5000, 3)), Relation.PART),
        (rows([*range(4000, 5000, 4), *range(5000, 5700)]), Relation.PART),
        (rows([*range(4900, 5000), *range(5000, 6000)]), Relation.OTHER),
        (rows(range(5000, 9000)), Relation.OTHER),
        # The head of the list, under other names.
        (rows(range(80), id="q{}"), Relation.SAME),
        (rows(range(5000), id="q{}", text="..{}.."), Relation.OTHER),
        (rows(range(5000), id="q{}", text="the next {}"), Relation.OTHER),
        # Numbers of rows are names of any texts.
        (rows(range(5000), text="another {}"), Relation.OTHER),
    ],
)
def test_relations_of_populations(tmp_path, other, relation):
    first, second = made(tmp_path, rows(range(5000))), made(tmp_path, other, "b.jsonl")
    assert first.relation(second) == second.relation(first) == relation


def test_long_ids_are_those_of_the_same_posts_whatever_their_texts(tmp_path):
    first = made(tmp_path, rows(range(5000), id=LONG))
    second = made(tmp_path, rows(range(5000), id=LONG, text="another {}"), "b.jsonl")
    assert first.relation(second) == Relation.SAME


@pytest.mark.sampled(4)
@pytest.mark.parametrize("id", ["{}", "post {}", "doc-{:05}", "1{:07}"])
@pytest.mark.parametrize(
    ("score", "relation"),
    [
        (lambda n: 1 - n / 10_000 + 1e-7, Relation.SAME),
        (lambda n: 0.9 - n / 9_000, Relation.OTHER),
        (lambda n: n % 10 == 0, Relation.OTHER),
    ],
)
def test_numbers_of_rows_are_compared_with_their_scores(tmp_path, id, score, relation):
    def bare(score):
        wanted = rows(range(3000), id=id, text="", score=score)
        return [{"post": row["post"], "score": float(row["score"])} for row in wanted]

    first = made(tmp_path, bare(lambda n: 1 - n / 10_000))
    assert first.relation(made(tmp_path, bare(score), "b.jsonl")) == relation
    graded = made(tmp_path, bare(lambda n: n % 10 == 0), "c.jsonl")
    assert graded.relation(graded) == Relation.OTHER and not graded.posts


def test_two_studies_with_yes_and_no_alone_are_two(tmp_path):
    """Scores that many posts have do not tell which posts they are."""
    generator = np.random.default_rng(0)
    studies = [
        made(
            tmp_path,
            [
                {"post": str(n), "score": float(yes)}
                for n, yes in enumerate(generator.random(2000) < 0.5)
            ],
            f"{number}.jsonl",
        )
        for number in range(2)
    ]
    assert studies[0].relation(studies[1]) == Relation.OTHER


WORDS = [
    a + b + c
    for a in "bdfgklmnprst"
    for b in "aeiou"
    for c in ("rriva", "ndore", "stimo")
]


def sentences(seed, count=400):
    generator = np.random.default_rng(seed)
    return [
        f"Breaking: the {' of '.join(generator.choice(WORDS, 7))} https://t.co/{n}"
        for n in range(count)
    ]


def posts_of(texts, start):
    return [
        {"post": f"{start}/{n}", "score": 1 - n / 1000, "text": text}
        for n, text in enumerate(texts)
    ]


@pytest.mark.parametrize(
    "clean",
    [
        lambda text: text.replace("the ", "").replace("of ", ""),
        lambda text: " ".join(
            word[:-1] if len(word) > 6 else word for word in text.split()
        ),
        lambda text: text.upper().split("HTTPS")[0].replace(" ", "  "),
        lambda text: "\u200b".join(text.split(" HTTPS")[0].replace("a", "\u00e0")),
        lambda text: f"@someone {text} 2026!",
    ],
)
def test_a_cleaned_copy_is_recognized(tmp_path, clean):
    texts = sentences(1)
    first = made(tmp_path, posts_of(texts, "a"))
    copy = made(tmp_path, posts_of(list(map(clean, texts)), "b"), "b.jsonl")
    assert first.relation(copy) != Relation.OTHER
    part = made(tmp_path, posts_of(list(map(clean, texts[::3])), "b"), "c.jsonl")
    assert first.relation(part) != Relation.OTHER
    unrelated = made(tmp_path, posts_of(sentences(2), "a"), "d.jsonl")
    assert first.relation(unrelated) == Relation.OTHER


def translated(text):
    """Other words in another order; links, names of users and hashtags stay."""
    words = [word if word[0] in "@#h" else f"{word[::-1]}a" for word in text.split()]
    marks = [word for word in words if word[0] in "@#" or word.startswith("http")]
    return " ".join([*marks, *(word for word in words if word not in marks)])


def test_a_translation_that_keeps_names_of_users_and_links_is_recognized(tmp_path):
    def told(seed, users):
        return [f"@user{n + users} {text}" for n, text in enumerate(sentences(seed))]

    first = made(tmp_path, posts_of(told(1, 0), "a"))
    for number, step in enumerate((1, 3)):
        texts = list(map(translated, told(1, 0)[::step]))
        copy = made(tmp_path, posts_of(texts, "b"), f"{number}.jsonl")
        expected = Relation.SAME if step == 1 else Relation.PART
        assert first.relation(copy) == copy.relation(first) == expected
    # The same links in posts of others, and a form that all posts of two pools have.
    others = made(tmp_path, posts_of(told(2, 1000), "c"), "c.jsonl")
    assert first.relation(others) == Relation.OTHER
    form = "@bbc #news {} https://t.co/1"
    pools = [
        made(
            tmp_path,
            posts_of([form.format(text.split(" http")[0]) for text in texts], seed),
            f"{seed}.jsonl",
        )
        for seed, texts in ((3, sentences(3)), (4, sentences(4)))
    ]
    assert pools[0].relation(pools[1]) == Relation.OTHER


def test_chinese_is_recognized_whatever_its_words(tmp_path):
    generator = np.random.default_rng(3)
    texts = [
        "".join(map(chr, generator.integers(0x4E00, 0x4E80, 15))) for _ in range(200)
    ]
    first = made(tmp_path, posts_of(texts, "a"))
    cut = [" ".join((text[:2], text[2:3], text[3:7], text[7:])) for text in texts]
    assert (
        first.relation(made(tmp_path, posts_of(cut, "b"), "b.jsonl")) == Relation.SAME
    )


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
        ("Flut: alle Brücken zu! http://t.co/Ab_1", ["bruck"]),
        ("#Flutwelle_in Köln,heute…", ["flutw", "heute"]),
        ("@someone\ufeffdon’t\u200b pan\u2060ic", ["panic"]),
        ("\ud83d half an emoji", ["emoji"]),
        ("今日の 天気", ["今日の", "日の天", "の天気"]),
    ],
)
def test_words_of_a_text(text, words):
    assert sketch._words(text) == words
