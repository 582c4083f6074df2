"""Seeds and posts in many languages, through the command that a user types."""

import json
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.commands import siamese_news
from typer.testing import CliRunner

from siamese_news.cli import app
from siamese_news.lexical_head.options import RocchioFeedback
from siamese_news.model.loading import open_model
from siamese_news.scoring import observe_all, rules
from siamese_news.scoring.mixture import mixture_scorer
from siamese_news.text import languages
from siamese_news.text.languages import other_languages
from siamese_news.utils.compiled_loops import SWITCH

# Language -> an article about an invented flood, posts about it, and other posts.
STORIES = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
del STORIES["_"]


def write(folder, *, seeds, posts=tuple(STORIES)):
    """A file of seeds in some languages, and one of posts; the ids say which is what."""
    with (folder / "seeds.jsonl").open("w", encoding="utf-8") as stream:
        for name in seeds:
            row = {
                "_id": name,
                "title": STORIES[name]["title"],
                "text": STORIES[name]["text"],
            }
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    with (folder / "posts.jsonl").open("w", encoding="utf-8") as stream:
        for name in posts:
            for kind in ("flood", "other"):
                for number, text in enumerate(STORIES[name][kind]):
                    row = {"id": f"{name}-{kind}-{number}", "text": text}
                    stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def rank(folder, *more):
    run = siamese_news(
        "rank",
        "--articles",
        folder / "seeds.jsonl",
        "--posts",
        folder / "posts.jsonl",
        "--out",
        folder / "out.jsonl",
        "--top",
        "200",
        *more,
    )
    assert run.returncode == 0, run.stderr
    rows = [json.loads(line) for line in (folder / "out.jsonl").open(encoding="utf-8")]
    meta = json.loads((folder / "out.jsonl.meta.json").read_text(encoding="utf-8"))
    lists = {}
    for row in rows:
        lists.setdefault(row["article"], []).append(row)
    return lists, meta, run.stderr


def check(found, name):
    # A name may well find a post about the flood in another language.
    found = [row for row in found if name in row["post"] or "other" in row["post"]]
    assert {row["post"] for row in found[:3]} == {f"{name}-flood-{n}" for n in range(3)}
    assert found[2]["score"] > 0.02
    assert found[2]["score"] > found[3]["score"]
    assert all(row["terms"] for row in found[:3])
    assert {row["lang"] for row in found[:3]} == {name}


def test_posts_about_the_story_come_first_in_each_language(tmp_path):
    write(tmp_path, seeds=STORIES)
    lists, meta, console = rank(tmp_path)
    for name in STORIES:
        check(lists[name], name)
    assert meta["languages"]["seeds"] == {name: name for name in STORIES}
    assert "Seeds are in 'ar', 'de', " in console
    assert any(remark.startswith("Seeds are in 'ar'") for remark in meta["remarks"])


@settings(max_examples=6)
@given(
    company=st.lists(
        st.sampled_from(sorted(STORIES)), min_size=2, max_size=4, unique=True
    )
)
def test_a_seeds_list_does_not_depend_on_the_languages_of_the_others(company):
    """In whatever language; by default, posts only fall, where they fit another seed better."""

    def ranked(folder, seeds, *more):
        write(folder, seeds=seeds)
        files = [
            "--articles",
            folder / "seeds.jsonl",
            "--posts",
            folder / "posts.jsonl",
        ]
        files += ["--out", folder / "out.jsonl", "--top", "1000", *more]
        done = CliRunner().invoke(app, ["rank", *map(str, files)])
        assert done.exit_code == 0, done.output
        rows = map(json.loads, (folder / "out.jsonl").open(encoding="utf-8"))
        return {r["post"]: r["score"] for r in rows if r["article"] == seeds[0]}

    with TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("alone", "together"):
            (folder / part).mkdir()
        alone = ranked(folder / "alone", company[:1])
        assert alone == pytest.approx(
            ranked(folder / "together", company, "--no-distinct"), abs=2e-6
        )
        assert max(alone.values()) > 0.02
        fallen = ranked(folder / "together", company)
        assert fallen.keys() == alone.keys()
        assert all(score <= alone[post] + 2e-6 for post, score in fallen.items())


@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES)
def test_a_seed_alone_is_read_in_its_language(tmp_path, name):
    write(tmp_path, seeds=[name])
    lists, meta, console = rank(tmp_path)
    check(lists[name], name)
    assert f"Seeds are in '{name}', not in English. The weights" in console
    assert meta["remarks"][0] in console


@pytest.mark.slow
def test_japanese_alone(tmp_path):
    write(tmp_path, seeds=["ja"], posts=["ja"])
    lists, meta, console = rank(tmp_path)
    check(lists["ja"], "ja")
    assert meta["languages"] == {"seeds": {"ja": "ja"}, "pool": {}}
    assert "'ja'" in console
    terms = [term for row in lists["ja"] for term in row["terms"]]
    assert not any("。" in term for term in terms)
    # Two bigrams that overlap are shown as one run of three characters.
    assert any(len(term) == 3 and " " not in term for term in terms)


def test_an_english_seed_over_spanish_posts_is_told_apart(tmp_path):
    write(tmp_path, seeds=[], posts=["es", "de", "pt", "zh"])
    (tmp_path / "seeds.jsonl").write_text(
        json.dumps(
            {
                "_id": "en",
                "title": "Flood in Karamo: thousands evacuated",
                "text": "After heavy rain the dam of the river Mira broke and the center of the "
                "town of Karamo is under water. Twelve people are missing.",
            }
        )
    )
    lists, meta, console = rank(tmp_path)
    assert meta["languages"]["seeds"] == {"en": "en"}
    assert meta["languages"]["pool"]["es"] >= 0.2
    (remark,) = meta["remarks"]
    assert remark.startswith(
        "About 100% of the posts are in other languages than the seeds"
    )
    assert remark in console
    # Names still find what has them.
    assert "karamo" in lists["en"][0]["terms"]


@pytest.mark.slow
def test_english_seeds_and_posts_have_no_remark(tmp_path):
    texts = [
        "The dam of the river broke and our street is under water",
        "They say that twelve people are missing in Karamo",
        "I have never had a better coffee than the one in this bar",
    ]
    rows = [{"id": str(n), "text": text} for n, text in enumerate(texts * 5)]
    (tmp_path / "posts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "seeds.jsonl").write_text(
        json.dumps(
            {"_id": "en", "text": "The dam of the river Mira broke, Karamo is flooded."}
        )
    )
    lists, meta, console = rank(tmp_path)
    assert meta["remarks"] == []
    assert "language" not in console
    assert {row["lang"] for row in lists["en"]} == {"en"}


def test_mixed_scripts_match_across_width_and_spacing(tmp_path):
    (tmp_path / "seeds.jsonl").write_text(
        json.dumps(
            {"_id": "a", "text": "ＮＨＫによるとカラモ市で洪水。Mira川が氾濫した。"}
        )
    )
    rows = [
        {"id": "width", "text": "@nhk_newsさん NHKがｶﾗﾓ市の洪水を報道"},
        {"id": "link", "text": "https://t.co/abcMira川が氾濫した"},
        {"id": "other", "text": "新しいラーメン屋 opening today"},
        {"id": "none", "text": "nothing to see here"},
    ]
    (tmp_path / "posts.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    lists, _, _ = rank(tmp_path)
    scores = {row["post"]: row["score"] for row in lists["a"]}
    assert (
        min(scores["width"], scores["link"])
        > 0.1
        > max(scores["other"], scores["none"])
    )


@pytest.mark.slow
def test_filter_and_explain_read_a_seed_in_the_same_way(tmp_path):
    write(tmp_path, seeds=["es"], posts=["es"])
    lists, _, _ = rank(tmp_path)
    best = lists["es"][0]
    files = [
        "--articles",
        str(tmp_path / "seeds.jsonl"),
        "--posts",
        str(tmp_path / "posts.jsonl"),
    ]
    out = tmp_path / "found.jsonl"
    run = siamese_news("filter", *files, "--min-score", "0.01", "--out", out)
    assert "not in English" in run.stderr
    first = json.loads(out.read_text().splitlines()[0])
    assert (first["post"], first["score"], first["lang"]) == (
        best["post"],
        best["score"],
        "es",
    )
    run = siamese_news("explain", *files, "--post", best["post"], "--format", "jsonl")
    explained = json.loads(run.stdout)
    assert explained["score"] == pytest.approx(best["score"], abs=1e-5)
    assert any(term["lexical"] for term in explained["terms"])
    assert first["terms"] and not {"el", "de", "la"} & {*first["terms"]}


NAMED = (
    "Alluvione in Sardegna: le strade sono sommerse, sedici vittime #Sardinia",
    "Il ciclone ha colpito la Sardegna e i paesi della costa #Sardinia",
    "Il fango dell'alluvione ha invaso le case dopo il ciclone #Sardinia",
    "Scuole chiuse per l'alluvione, il ciclone non si ferma #Sardinia",
    "Almeno sedici vittime per il ciclone, alluvione sulla costa #Sardinia",
    "La protezione civile porta aiuti dopo l'alluvione #Sardinia",
)
NAMELESS = (
    "L'alluvione ha invaso le strade e le case, scuole chiuse: almeno sedici vittime"
)
STORM = (
    "Cyclone Cleopatra floods Sardinia\nA cyclone named Cleopatra has brought floods to the island "
    "of Sardinia. Sixteen people died in and around Olbia; streets and houses are full of mud."
)


def test_posts_with_names_lead_to_those_of_their_language_without_any():
    model = open_model()
    cats = [
        f"La gatta numero {n} dorme sul divano e sogna i pesci della nonna"
        for n in range(60)
    ]
    mayors = [f"The mayor of town {n} opened a library on Monday" for n in range(60)]
    posts = [*NAMED, NAMELESS, *cats, *mayors]
    options, ranks = model.terms.options, []
    for foreign in (0, 40):
        changed = replace(
            options, feedback=replace(options.feedback, foreign_posts=foreign)
        )
        scorer = mixture_scorer(model, [STORM], about="event", options=changed)
        scorer = observe_all(scorer, posts)
        scores = scorer.scores(posts)[0]
        assert min(scores[: len(NAMED)]) > max(scores[len(NAMED) + 1 :])
        ranks.append(scores[len(NAMED)] - max(scores[len(NAMED) + 1 :]))
    assert ranks[1] > ranks[0] + 0.02 and ranks[1] > 0


@given(
    st.lists(st.tuples(st.integers(0, 99), st.sampled_from([None, "it", "es", "tl"]))),
    st.data(),
)
def test_feedback_takes_the_best_of_each_language(found, data):
    options = RocchioFeedback(
        foreign_posts=data.draw(st.integers(0, 4)),
        foreign_least=data.draw(st.integers(1, 4)),
        foreign_score=0.00003,
        weight=data.draw(st.sampled_from([0.0, 0.2])),
    )
    found = sorted(found, key=lambda row: -row[0])
    keys = np.arange(len(found), dtype=np.uint64)
    scores = np.array([s for s, _ in found], np.int32)
    names = [name for _, name in found]
    taken = rules.foreign_posts(
        options, keys, scores, lambda keys: [names[key] for key in keys]
    )
    wanted = []
    for name in dict.fromkeys(name for score, name in found if name and score >= 30):
        own = [
            key for key, (score, one) in enumerate(found) if one == name and score >= 30
        ]
        if len(own) >= options.foreign_least and options.weight:
            wanted += own[: options.foreign_posts]
    assert taken == wanted


@pytest.mark.parametrize(
    ("text", "seed", "found"),
    [
        ("la gatta dorme sul divano e sogna i pesci della nonna", "en", "it"),
        ("la gatta dorme sul divano e sogna i pesci della nonna", "it", None),
        ("the cat sleeps on the sofa and dreams of fish", "en", None),
        ("the cat sleeps on the sofa and dreams of fish", "it", "en"),
        ("sardinia cleopatra olbia", "en", None),  # too few words to tell
        ("", "en", None),
    ],
)
def test_a_post_is_in_another_language_only_where_that_is_sure(text, seed, found):
    company = ["uno due tre quattro cinque gatti neri".split(), [], text.split()]
    assert other_languages(company, seed)[2] == found


@pytest.mark.parametrize("loops", ["1", "0"])
def test_the_detector_says_what_that_of_its_package_says(monkeypatch, tmp_path, loops):
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    # It takes half a second to decompress.
    read = cache(LanguageIdentifier.from_model_file)

    def from_model_file(cls, path, **options):
        detector = read(path)
        tables = (detector.nb_ptc, detector.nb_pc, detector.nb_classes)
        states = (detector.tk_nextmove, detector.tk_output)
        return cls(*tables, *states, tk_row=detector.tk_row, **options)

    monkeypatch.setattr(
        LanguageIdentifier, "from_model_file", classmethod(from_model_file)
    )
    package = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    package.set_languages(languages._LANGUAGES)
    stories = [story["text"] for story in STORIES.values()][:12]
    mixed = [f"{text[:40]} {other[:40]}" for text, other in pairwise(stories)]
    texts = [
        *stories,
        *(text[:30] for text in stories),
        *mixed,
        "AAA " * 400,
        "12:30",
        "",
    ]
    texts = [" ".join(text.split()) for text in texts]
    classified = [package.classify(text) for text in texts]
    # Also where the probability of a text is just the least one.
    bounds = [0.5, *(probability for _, probability in classified)]
    wanted = [
        [None if found < least or code == "zxx" else code for code, found in classified]
        for least in bounds
    ]
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(tmp_path))
    monkeypatch.setenv(SWITCH, loops)

    def told():
        detector = languages._detector.__wrapped__()
        return [detector.told(texts, least) for least in bounds]

    assert told() == wanted
    kept = list(tmp_path.rglob("*.npz"))
    with monkeypatch.context() as patch:
        patch.setattr(LanguageIdentifier, "from_model_file", None)
        assert told() == wanted, "not from the cache"
    for size in (100, 0):
        kept[0].write_bytes(kept[0].read_bytes()[:size])
        assert told() == wanted, "half a file was read"
        with monkeypatch.context() as patch:
            patch.setattr(LanguageIdentifier, "from_model_file", None)
            assert told() == wanted, "the damaged file is still there"
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", "/dev/null/nowhere")
    assert told() == wanted, "no cache can be written to"
