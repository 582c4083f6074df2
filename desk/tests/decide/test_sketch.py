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


SYLLABLES = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
WORDS = [
    a + b + c for a in SYLLABLES for b in SYLLABLES for c in ("rriva", "ndore", "stimo")
]


def told(number):
    """Two rare words, which no other number has."""
    return f"{WORDS[number % len(WORDS)]} {WORDS[7919 * number % (len(WORDS) + 1) - 1]}"


def rows(numbers, id="p{}", text="the text {}", score=lambda n: 1 - n / 10_000):
    return [
        {"post": id.format(n), "score": score(n), "text": text.format(told(n))}
        for n in numbers
    ]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("other", "relation"),
    [
        (rows(range(5000), id="url/{}"), Relation.SAME),
        (rows(range(5000), id="q{}", text="  The \n TEXT {} "), Relation.SAME),
        (rows(range(3, 5000, 3), id="q{}"), Relation.PART),
        (rows(range(1, 5000, 3)), Relation.PART),
        (rows([*range(4000, 5000, 4), *range(5000, 5700)]), Relation.PART),
        (rows([*range(4900, 5000), *range(5000, 6000)]), Relation.OTHER),
        (rows(range(5000, 9000)), Relation.OTHER),
        # The head of the list, under other names.
        (rows(range(80), id="q{}"), Relation.SAME),
        (rows(range(5000), id="q{}", text="..{}.."), Relation.SAME),
        # Numbers of rows are names of any texts.
        (
            [
                {**row, "post": f"p{n}"}
                for n, row in enumerate(rows(range(5000, 10_000)))
            ],
            Relation.OTHER,
        ),
    ],
)
def test_relations_of_populations(tmp_path, other, relation):
    first, second = made(tmp_path, rows(range(5000))), made(tmp_path, other, "b.jsonl")
    assert first.relation(second) == second.relation(first) == relation


@pytest.mark.parametrize(
    "name",
    [
        "{}-a-long-name",
        "https://forum/list/{0}#{0}",
        "2026-{:06}T05:00",
        "1{:017}",
    ],
)
def test_ids_count_for_nothing_where_both_have_texts(tmp_path, name):
    """Rows that were drawn with one seed, hours, and the users of a panel have the same ids twice."""
    sketches = [
        made(
            tmp_path,
            [
                {**row, "post": name.format(n * 7919 % 100_003)}
                for n, row in enumerate(rows(numbers))
            ],
            f"{number}.jsonl",
        )
        for number, numbers in enumerate((range(3000), range(3000, 6000)))
    ]
    assert sketches[0].relation(sketches[1]) is Relation.OTHER


def bare(folder, scores, id="{}", name="scored.jsonl"):
    """The sketch of numbered posts without texts."""
    posts = [
        {"post": id.format(n), "score": float(score)} for n, score in enumerate(scores)
    ]
    return made(folder, posts, name)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("id", ["{}", "post {}", "doc-{:05}", "1{:07}", "{0}/{0}"])
@pytest.mark.parametrize("is_sorted", [False, True])
def test_numbers_of_rows_are_compared_with_their_scores(tmp_path, id, is_sorted):
    drawn = np.random.default_rng(0).beta(1, 3, (2, 3000))
    first, second = np.sort(drawn)[:, ::-1] if is_sorted else drawn
    whole = bare(tmp_path, first, id)
    again = bare(tmp_path, first + 1e-7, id, "b.jsonl")
    assert whole.relation(again) == again.relation(whole) == Relation.SAME
    assert whole.relation(bare(tmp_path, second, id, "c.jsonl")) == Relation.OTHER
    if is_sorted:  # the best posts alone
        head = bare(tmp_path, first[:200], id, "d.jsonl")
        assert whole.relation(head) == Relation.SAME


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "scores",
    [
        range(3000, 0, -1),
        np.ones(3000),
        1 / (60 + np.arange(3000)),
        np.linspace(1, 0, 3000).round(4),
        np.exp(-np.arange(3000) / 400),
        np.random.default_rng(0).permutation(3000),
        np.arange(3000) % 300,
        (np.arange(3000) * 37 % 3000) / 3000,
        np.random.default_rng(0).integers(0, 101, 3000) / 100,
        np.random.default_rng(0).random(3000) < 0.5,
        np.random.default_rng(0).random(10),
        np.r_[0.97, 0.4, np.zeros(2998)],
    ],
)
def test_ranks_and_grades_of_numbered_posts_tell_nothing(tmp_path, scores):
    """Two studies without texts may have all of these alike, so neither is recognized."""
    study = bare(tmp_path, scores)
    assert study.relation(study) == Relation.OTHER and not study.tells


STUDIES = {
    "numbers": lambda g: [str(n) for n in g.permutation(1000)],
    "prices": lambda g: [f"{n / 100:.2f} €" for n in g.integers(0, 9999, 1000)],
    "forms": lambda g: [f"comment number {n} of the list" for n in range(1000)],
    "nothing": lambda g: [""] * 1000,
    "names of countries": lambda g: list(g.permutation(WORDS[:190])) * 5,
    "one word": lambda g: list(g.choice(WORDS[:3000], 1000)),
    "emoji": lambda g: ["".join(s) for s in g.choice(list("😀😂🔥👍🙏"), (1000, 4))],
    "stock replies": lambda g: [
        f"thank you for your {WORDS[n]}, we will answer your {WORDS[-n]}"
        for n in g.integers(0, 400, 1000)
    ],
    "some stock replies": lambda g: (
        [*(f"thank you for your {WORDS[n]} and your {WORDS[-n]}" for n in range(100))]
        * 9
        + [" ".join(g.choice(WORDS, 7)) for _ in range(150)]
    ),
    "few words": lambda g: [" ".join(g.choice(WORDS[::180], 7)) for _ in range(1000)],
    "a closed vocabulary": lambda g: [
        " ".join(g.choice(WORDS[::20], 7)) for _ in range(3000)
    ],
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", STUDIES)
def test_two_studies_of_texts_that_any_study_has_are_two(tmp_path, kind):
    texts_of = STUDIES[kind]
    first, second = (
        made(tmp_path, posts_of(texts_of(np.random.default_rng(seed)), "a"))
        for seed in (0, 1)
    )
    assert first.relation(second) == second.relation(first) == Relation.OTHER


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
        lambda text: " ".join(sorted(text.split())),
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
    def tweets(seed, users):
        return [f"@user{n + users} {text}" for n, text in enumerate(sentences(seed))]

    first = made(tmp_path, posts_of(tweets(1, 0), "a"))
    # Two months of a forum may have as many marks in common, so such posts are only named.
    for number, step in enumerate((1, 3)):
        texts = list(map(translated, tweets(1, 0)[::step]))
        copy = made(tmp_path, posts_of(texts, "b"), f"{number}.jsonl")
        assert first.relation(copy) == copy.relation(first) == Relation.MARKS
    # The same links in posts of others, and a form that all posts of two pools have.
    others = made(tmp_path, posts_of(tweets(2, 1000), "c"), "c.jsonl")
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


@pytest.mark.parametrize(
    "user",
    ["@member{0}", "@member{0} @doctor{0}", "@shop{0} https://shop{0}.example"],
)
def test_the_next_wave_of_a_panel_is_another_study(tmp_path, user):
    waves = [
        [f"{user.format(n)} {text}" for n, text in enumerate(sentences(seed))]
        for seed in (5, 6)
    ]
    first, second = (
        made(
            tmp_path,
            [
                {**row, "post": f"member-{n * 7919 % 100_003}"}
                for n, row in enumerate(posts_of(texts, "a"))
            ],
        )
        for texts in waves
    )
    assert first.relation(second) in (Relation.MARKS, Relation.OTHER)


def test_two_halves_of_one_pool_with_phrases_that_come_again_are_two(tmp_path):
    """Most posts have one of many phrases of five words, as claims about one picture do."""
    generator = np.random.default_rng(9)
    phrases = [" ".join(generator.choice(WORDS, 4)) for _ in range(1200)]
    texts = [
        f"{phrases[n]} {' '.join(generator.choice(WORDS, 5))}"
        for n in generator.integers(0, len(phrases), 2400)
    ]
    first, second = (
        made(tmp_path, posts_of(texts[half::2], str(half))) for half in (0, 1)
    )
    assert first.relation(second) == second.relation(first) == Relation.OTHER


@pytest.mark.parametrize("clean", [str, str.upper, lambda text: text.replace("of", "")])
@pytest.mark.parametrize("copies", [2, 3])
def test_a_copy_without_doubled_texts_is_recognized(tmp_path, clean, copies):
    texts = sentences(7, 300)
    doubled = [
        text for n, text in enumerate(texts) for _ in range(copies if n % 2 else 2)
    ]
    first = made(tmp_path, posts_of(doubled, "a"))
    copy = made(tmp_path, posts_of(list(map(clean, texts)), "b"), "b.jsonl")
    assert first.relation(copy) == copy.relation(first) == Relation.PART
    assert not first.has_texts and copy.has_texts
    unrelated = made(tmp_path, posts_of(sentences(8), "c"), "c.jsonl")
    assert first.relation(unrelated) is Relation.UNKNOWN


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
