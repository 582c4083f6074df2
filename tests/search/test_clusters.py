"""Near-duplicates against a sample labeled by hand, and against comparing every pair."""

import random
from collections import Counter, defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news.search import clusters
from siamese_news.search.clusters import SHORT, cluster_posts, normal_form
from siamese_news.text.patterns import clean
from siamese_news.utils.unicode import normalized

# Every group is one story told once, copied by others; a group of one is like nothing else.
SAMPLE = [
    [
        "Old mill bridge collapses near Harlow after night of heavy rain https://ex.am/a1",
        "RT @HarlowNews: Old mill bridge collapses near Harlow after night of heavy rain https://…",
        "rt @a: RT @b_c: OLD MILL BRIDGE COLLAPSES NEAR HARLOW AFTER NIGHT OF HEAVY RAIN",
        "Old mill bridge collapses near Harlow after night of heavy rain! www.harlow.example/x?y=1",
        "“Old mill bridge collapses near Harlow after night of heavy rain” via @HarlowNews",
        "Old mill #bridge collapses near #Harlow after night of heavy rain. #news #flood",
        "Old mill bridge collapses near Harlow after night of heavy rain https://ex.am/a2 #harlow",
        "Old mill bridge colapses near Harlow after night of heavy rain",
        "🚨 Old mill bridge collapses near Harlow after night of heavy rain 🚨🚨",
        "Old mill bridge collapses near Harlow after night of heavy rain. Wow",
        "Old\u200b mill bridge\u202e collapses near Harlow&nbsp;after night of heavy rain",
        "𝗢𝗹𝗱 𝗺𝗶𝗹𝗹 𝗯𝗿𝗶𝗱𝗴𝗲 collapses near Harlow after night of heavy rain",
        "Old mill bridge collapses near Harlow after night of heavy rai...",
    ],
    [
        "Harlow bridge: 3 people missing after last night's collapse, police confirm",
        "MT @wire: Harlow bridge: 3 people missing after last night's collapse, police confirm",
    ],
    ["Harlow bridge: 5 people missing after last night's collapse, police confirm"],
    ["The mill bridge near Harlow is gone. It stood there for two hundred years"],
    ["Heavy rain expected across the county tonight, stay off the roads if you can"],
    [
        "Mayor of Harlow promises a new bridge before the end of next summer bit.ly/3xYz",
        "Mayor of Harlow promises a new bridge before the end of next summer tinyurl.com/abc",
        "@friend Mayor of Harlow promises a new bridge before the end of next summer #politics",
    ],
    ["Mayor of Ashby refuses to pay for a new bridge before the next election"],
    [
        "Magnitude 4.1 earthquake recorded 12 km north of Lindal",
        "magnitude 4.1 earthquake recorded 12 km north of lindal #quake #lindal",
    ],
    ["Magnitude 5.1 earthquake recorded 12 km north of Lindal"],
    ["Magnitude 4.1 earthquake recorded 12 km north of Bravik"],
    [
        "Pray for the people of #Harlow",
        "RT @x: Pray for the people of #Harlow",
        "pray for the people of Harlow",
        "Pray for the people of #Harlow #sad #rain",
    ],
    ["Pray for the people of #Lindal"],
    ["Pray for the people of #Bravik"],
    ["so sad", "So sad!!", "SO SAD", "so sad https://ex.am/q"],
    ["so bad"],
    ["so sad 😭"],
    ["so sad 🙏"],
    ["yes"],
    ["yes 2"],
    ["no", "No."],
    ["", "   ", "\u200b\u202e"],
    ["🔥", "RT @z: 🔥", "🔥 @someone"],
    ["😂"],
    ["🔥🔥"],
    ["https://ex.am/only-a-link", "RT @q: https://ex.am/only-a-link"],
    ["https://ex.am/another-link"],
    ["!!!"],
    ["?"],
    ["#PrayForHarlow #Harlow", "#prayforharlow #harlow https://ex.am/7"],
    ["#PrayForLindal #Lindal"],
    [
        "El puente viejo de Harlow se derrumba tras una noche de lluvia intensa https://ej.em/1",
        "RT @diario: El puente viejo de Harlow se derrumba tras una noche de lluvia intensa",
        "El puente viejo de Harlow se derrumba tras una noche de lluvia intensa #lluvia #Harlow",
    ],
    ["El alcalde de Harlow promete un puente nuevo antes del final del verano"],
    [
        "激しい雨の夜のあとハーロウ近くの古い水車橋が崩れ落ちたと警察が発表しました",
        "RT @shinbun: 激しい雨の夜のあとハーロウ近くの古い水車橋が崩れ落ちたと警察が発表しました。",
    ],
    ["市長は来年の夏の終わりまでにハーロウに新しい橋を架けると約束しました"],
    [
        "انهيار جسر قديم قرب هارلو بعد ليلة من الأمطار",
        "«انهيار جسر قديم قرب هارلو بعد ليلة من الأمطار»",
    ],
    [
        "I just signed the petition to rebuild the old mill bridge, will you sign it too?",
        "I just signed the petition to rebuild the old mill bridge, will you sign it to?",
        "I just signed the petition to rebuild the old mill bridge. Will you sign it too",
    ],
    ["I would never sign a petition to rebuild that ugly bridge"],
    [
        "Volunteers needed at Harlow town hall: bring boots, gloves and sandbags tonight",
        "Volunteers needed at Harlow town hall - bring boots, gloves and sandbags tonight!!",
        "Volunteers needed at Harlow town hall bring boots gloves & sandbags tonight",
    ],
    ["Harlow town hall will stay closed to the public for the rest of the week"],
    ["the the the the the the the the the the"],
    ["lol lol lol lol lol lol lol lol lol lol"],
]


def partition(numbers, items):
    groups = defaultdict(set)
    for number, item in zip(numbers, items, strict=True):
        groups[number].add(item)
    return {frozenset(group) for group in groups.values()}


def test_the_labeled_sample_is_clustered_exactly():
    labeled = [(text, story) for story, group in enumerate(SAMPLE) for text in group]
    assert len(labeled) >= 60
    random.Random(0).shuffle(labeled)
    texts = [text for text, _ in labeled]
    stories = [story for _, story in labeled]
    rows = range(len(texts))
    found = partition(cluster_posts(texts), rows)
    truth = partition(stories, rows)
    assert [sorted(texts[r] for r in group) for group in found ^ truth] == []


def test_clusters_are_numbered_as_they_appear():
    assert cluster_posts(["b c", "a", "B C!", "d", "a"]) == [0, 1, 0, 2, 1]
    assert cluster_posts([]) == []


def test_a_very_long_post_is_a_post_like_any_other():
    long = "".join(random.Random(0).choices("abcdefgh ", k=100_000))
    solid = "x" * 100_000
    tags = "#a" * 50_000
    texts = [
        long,
        solid,
        long.upper() + " https://ex.am",
        tags,
        "RT @a: " * 10_000 + "hello",
    ]
    assert cluster_posts(texts) == [0, 1, 0, 2, 3]


def test_a_flood_of_copies_is_one_cluster():
    """More copies in one bucket than are compared with each other."""
    base = "the old mill bridge is gone after a night of heavy rain says reader "
    texts = [
        base + "".join(random.Random(i).choices("abcdefgh", k=4)) for i in range(500)
    ]
    assert set(cluster_posts(texts)) == {0}


STORY = "old mill bridge collapses near harlow after night of heavy rain police say road closed"
words = st.lists(st.sampled_from(STORY.split()), min_size=1, max_size=16).map(" ".join)
edited = st.tuples(
    st.integers(0, len(STORY) - 1), st.integers(0, 12), st.text("abc 12", max_size=12)
).map(lambda cut: STORY[: cut[0]] + cut[2] + STORY[cut[0] + cut[1] :])
anything = st.text(max_size=40)
posts = st.lists(st.one_of(words, edited, anything), max_size=14)


def _grams(form):
    units = form.encode("utf-16-le")
    return {units[i : i + 8] for i in range(0, len(units) - 7, 2)}


def _numbers(form):
    return Counter("".join(c if c.isdecimal() else " " for c in form).split())


def _near(a, b, threshold):
    if a == b:
        return True
    if min(len(a), len(b)) < SHORT or _numbers(a) != _numbers(b):
        return False
    shared = len(_grams(a) & _grams(b))
    return shared >= threshold * len(_grams(a) | _grams(b))


@given(posts, st.sampled_from([0.3, 0.5, 0.8, 0.95, 1.0]))
@settings(deadline=None, max_examples=60)
def test_equal_to_comparing_every_pair(texts, threshold):
    forms = list(map(normal_form, texts))
    groups = list(range(len(texts)))
    for i, a in enumerate(forms):
        for j, b in enumerate(forms[:i]):
            if _near(a, b, threshold):
                groups = [groups[j] if g == groups[i] else g for g in groups]
    rows = range(len(texts))
    assert partition(cluster_posts(texts, threshold=threshold), rows) == partition(
        groups, rows
    )


@given(posts, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=40)
def test_the_order_of_the_posts_does_not_change_the_partition(texts, randomness):
    rows = list(range(len(texts)))
    expected = partition(cluster_posts(texts), rows)
    randomness.shuffle(rows)
    assert partition(cluster_posts([texts[row] for row in rows]), rows) == expected


@given(posts)
@settings(deadline=None, max_examples=40)
def test_one_text_a_cluster_stays_one_text_a_cluster(texts):
    first = dict(zip(reversed(cluster_posts(texts)), reversed(texts), strict=True))
    kept = [first[number] for number in sorted(first)]
    # A chain a-b-c may fall apart without b, but the kept ones never join anew.
    assert cluster_posts(kept) == list(range(len(kept)))


@given(st.text(max_size=60))
def test_a_retweet_is_its_original(text):
    original = "x " + text
    assert normal_form(f"RT @some_one: {original}") == normal_form(original)


@given(st.lists(st.text("abcd ", max_size=SHORT), max_size=10))
@settings(deadline=None, max_examples=60)
def test_short_texts_merge_only_with_their_equals(texts):
    forms = [normal_form(text) for text in texts]
    short = [
        (n, f)
        for n, f in zip(cluster_posts(texts), forms, strict=True)
        if len(f) < SHORT
    ]
    assert len({number for number, _ in short}) == len({form for _, form in short})


@given(
    st.lists(
        st.sampled_from(
            "the River @ann @ann.b@c.d via http https://t.co/x HTTPS HTTPſ www.x.org "
            "WWW. t.co/x a/b x.y.org/ &amp; a\u0301 ＠ann ＨＴＴＰ \x01 ｗｗｗ．ｘ RT".split(
                " "
            )
        )
        | st.text(max_size=4),
        max_size=8,
    ).map(" ".join)
)
@settings(deadline=None, max_examples=300)
def test_shortcuts_change_no_normal_form(text):
    plain = normalized("NFKC", " ".join(map(clean, text.split())))
    assert clusters._without_links(plain) == clusters._LINK.sub(" | ", plain)
    if text.isascii():  # with a character that takes the long way
        assert normal_form(text) == normal_form(f"\u200b{text}")
