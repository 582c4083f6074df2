"""Explanations: sums that must come out, a test that must be a test, and the command."""

import dataclasses
import io
import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from siamese_news import open_model
from siamese_news.cli import app
from siamese_news.data.records import Article, Post
from siamese_news.encoders import StarEncoder, TransformerEncoder
from siamese_news.errors import InputError
from siamese_news.lexical_head.head import TermHead, empty_bigram_counters
from siamese_news.lexical_head.options import (
    DenseExcess,
    FocusedPool,
    RocchioFeedback,
    Smoothing,
    Surface,
    TermOptions,
)
from siamese_news.scoring import observe_all, open_scorer
from siamese_news.search.explain.explainer import (
    Check,
    NeighborPost,
    _uncut_positions,
    alike,
    check,
    explain,
    explain_nearest,
    name_neighbors,
    sentence_spans,
    without,
)
from siamese_news.search.explain.output import check_words, record_of, write_explained
from siamese_news.search.scan import Block
from siamese_news.sparsity import AdaptiveEntmax
from siamese_news.text import Vocabulary

STORY = Article(
    "story",
    "The river took the bridge of Qwertz. The mayor of the town asked for a vote. "
    "A boat came to help in the night.\n\nNo fire, no smoke. The train strike in the rain.",
    title="Flood in the town of Qwertz",
)
POSTS = [
    Post("1", "qwertz bridge gone! flood"),
    Post("2", "the mayor wants a vote"),
    Post("3", ""),
]


@pytest.fixture
def mixture(tiny_model):
    words = tiny_model.vocabulary.words
    tiny_model.vocabulary = Vocabulary(words, unknown="hash")
    tiny_model.embedding.unknown_weight = 0.0
    tiny_model.terms = TermHead(
        np.arange(len(words)),
        empty_bigram_counters(),
        texts=50,
        typical=[8.0, 20.0],
        options=TermOptions(
            dense=0.25,
            bigram_weight=0.4,
            lead_half_life=10.0,
            excess=DenseExcess(weight=0.0),
            smoothing=Smoothing(weight=0.0),
            focused_pool=FocusedPool(posts=5),
        ),
    )
    return tiny_model


@pytest.fixture(params=["star", "transformer"])
def attentive(tiny_model, request):
    torch.manual_seed(0)
    if request.param == "star":
        encoder = StarEncoder(
            input_dim=8,
            heads=2,
            head_dim=4,
            sparsity=AdaptiveEntmax,
            residual="none",
            activation="gelu",
        )
    else:
        encoder = TransformerEncoder(
            input_dim=8,
            layers=1,
            heads=2,
            head_dim=4,
            hidden_dim=8,
            positions=True,
            dropout=0.5,
            sparsity=AdaptiveEntmax,
        )
    tiny_model.encoder = encoder
    return tiny_model


def texts_of(article):
    return [article.full_text[start:end] for start, end in sentence_spans(article)]


def test_sentences_titles_and_abbreviations():
    story = Article(
        "x", "Mr. Ray of the U.S. Army came at 3 p.m. Eastern. He left.", title="A. B"
    )
    expected = ["A. B", "Mr. Ray of the U.S. Army came at 3 p.m. Eastern.", "He left."]
    assert texts_of(story) == expected


def test_line_ends_end_sentences_only_without_blank_lines():
    assert texts_of(Article("x", "one line\nanother line")) == [
        "one line",
        "another line",
    ]
    assert len(texts_of(Article("x", "one line\nits rest\n\nanother"))) == 2


@given(st.text(max_size=80), st.sampled_from(["", "Title", "\u2028 ."]))
@settings(deadline=None)
def test_spans_hold_all_that_is_no_white_space(text, title):
    article = Article("x", text, title)
    place = 0
    for start, end in sentence_spans(article):
        assert place <= start < end
        assert not article.full_text[place:start].strip()
        place = end
    assert not article.full_text[place:].strip()


def test_the_parts_add_up_to_the_score(mixture):
    scores = open_scorer(mixture, [STORY.full_text]).scores(
        [post.text for post in POSTS]
    )[0]
    for one, score in zip(explain(mixture, STORY, POSTS), scores, strict=True):
        assert one.score == pytest.approx(float(score), abs=1e-6)
        assert one.lexical + one.dense + one.surface == pytest.approx(one.score)
        assert sum(term.surface for term in one.terms) == pytest.approx(one.surface)
        # A bag is linear, so gradient times input is exact.
        assert sum(s.contribution for s in one.sentences) == pytest.approx(
            one.score, abs=1e-5
        )
        assert one.unexplained == pytest.approx(0, abs=1e-5)
        assert sum(term.contribution for term in one.terms) == pytest.approx(
            one.score, abs=1e-5
        )
        assert sum(s.expected for s in one.sentences) == pytest.approx(
            one.score, abs=1e-5
        )


def test_words_are_the_exact_products(mixture):
    one = explain(mixture, STORY, POSTS[:1])[0]
    scorer = open_scorer(mixture, [STORY.full_text])
    expected = scorer.parts_of(POSTS[0].text, 0).terms
    assert {t.term: t.lexical for t in one.terms if t.lexical} == pytest.approx(
        expected
    )
    assert one.terms[0].term in ("qwertz", "bridge", "flood")
    # Unknown to the vectors, known to the words.
    assert next(t for t in one.terms if t.term == "qwertz").dense == 0


def test_without_is_the_score_of_the_edited_article(mixture):
    one = explain(mixture, STORY, POSTS[:1])[0]
    for sentence, span in zip(one.sentences, sentence_spans(STORY), strict=True):
        scorer = open_scorer(mixture, [without(STORY.full_text, span)])
        assert sentence.without == pytest.approx(
            float(scorer.scores([POSTS[0].text])[0, 0])
        )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("limit", [1, 5, None])
@pytest.mark.parametrize("kind", ["mixture", "tiny_model"])
def test_without_is_so_too_where_the_article_is_not_read_to_its_end(
    kind, limit, request
):
    model = request.getfixturevalue(kind)
    model.limits["article_tokens"] = limit
    if model.terms is not None and limit:
        model.terms.options = TermOptions(dense=0.25, article_tokens=limit)
    one = explain(model, STORY, POSTS[:1])[0]
    for sentence, span in zip(one.sentences, sentence_spans(STORY), strict=True):
        scorer = open_scorer(model, [without(STORY.full_text, span)])
        expected = float(scorer.scores([POSTS[0].text])[0, 0])
        assert sentence.without == pytest.approx(expected, abs=1e-6)


def test_the_sentence_that_carries_the_score_is_named(mixture):
    about_vote = explain(mixture, STORY, POSTS[1:2])[0]
    assert "mayor" in about_vote.sentences[about_vote.check.sentence].text
    drops = [about_vote.score - s.without for s in about_vote.sentences]
    assert about_vote.check.drop == pytest.approx(max(drops))


def test_what_adds_nothing_is_exactly_zero(mixture):
    mixture.limits["article_tokens"] = 3  # the vectors read no further
    one = explain(mixture, STORY, POSTS[1:2])[0]
    smoke = next(s for s in one.sentences if "smoke" in s.text)
    assert smoke.contribution == 0
    out = io.StringIO()
    write_explained(out, [one], "table", terminal=False)
    assert " 0.0%" not in out.getvalue()


def test_a_pool_that_was_looked_at_counts(mixture):
    scorer = open_scorer(mixture, [STORY.full_text])
    scorer = observe_all(scorer, ["flood of qwertz", "flood river qwertz bridge"] * 5)
    assert scorer.decisions() == ["article"]
    plain, adapted = (explain(mixture, STORY, POSTS[:1], s)[0] for s in (None, scorer))
    assert adapted.score == pytest.approx(float(scorer.scores([POSTS[0].text])[0, 0]))
    assert adapted.score != pytest.approx(plain.score)
    assert sum(s.contribution for s in adapted.sentences) == pytest.approx(
        adapted.score, abs=1e-5
    )


def test_an_encoder_with_attention_is_explained_without_dropout(attentive):
    one = explain(attentive, STORY, POSTS[:1])[0]
    assert one.kind == "cosine" and one.lexical == 0
    total = sum(sentence.contribution for sentence in one.sentences) + one.unexplained
    assert total == pytest.approx(one.score)
    again = explain(attentive.train(), STORY, POSTS[:1])[0]
    assert again.sentences == one.sentences  # no dropout in an explanation
    assert attentive.training


def test_both_ends_of_an_article_can_be_read(attentive):
    attentive.limits.update(keep="last", article_tokens=3)
    one = explain(attentive, STORY, POSTS[:1])[0]
    read = ["strike" in sentence.text for sentence in one.sentences]
    assert [bool(sentence.contribution) for sentence in one.sentences] == read


def test_gradients_of_a_dense_model_add_up(tiny_model):
    one = explain(tiny_model, STORY, POSTS[:1])[0]
    assert sum(s.contribution for s in one.sentences) == pytest.approx(
        one.score, abs=1e-5
    )
    assert sum(t.dense for t in one.terms) == pytest.approx(one.score, abs=1e-5)


@given(
    st.lists(st.integers(0, 5), max_size=12),
    st.integers(0, 12),
    st.integers(0, 5),
    st.booleans(),
)
def test_the_places_of_what_is_read(ids, limit, dropped, last):
    places = [place for place, id in enumerate(ids) if id != dropped]
    expected = places[max(len(places) - limit, 0) :] if last else places[:limit]
    read = np.array([ids[place] for place in expected], np.int64)
    assert (
        _uncut_positions(np.array(ids, np.int64), read, from_end=last).tolist()
        == expected
    )


def test_the_check_can_fail():
    surplus = np.array([0.3, 0.1, 0.0])
    without_ = np.array([0.45, 0.2, 0.5], np.float32)
    assert check(0.5, surplus, without_, [10, 11, 30]).holds is False
    assert check(0.5, surplus, without_[[1, 0, 2]], [10, 11, 30]).holds is True
    assert check(0.5, surplus, without_, [10, 30, 31]).holds is None
    assert check(0.0, np.zeros(3), without_, [1, 1, 1]) is None
    assert alike(0, [10, 12, 13, 8, 7]) == [1, 3]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "text", ["", "the of a", "zzz", "👍" * 50, "\x1b[31m \u202e x"]
)
@pytest.mark.parametrize(
    "article", [STORY, Article("x", "the of"), Article("y", "flood")]
)
def test_nothing_in_common_is_no_error(mixture, text, article):
    one = explain(mixture, article, [Post("p", text)])[0]
    assert np.isfinite(
        [one.score, one.unexplained, *(s.contribution for s in one.sentences)]
    ).all()
    out = io.StringIO()
    write_explained(out, [one], "table", terminal=False)
    assert not {"\x1b", "\u202e"} & set(out.getvalue())
    json.dumps(record_of(one), allow_nan=False)
    if not one.score:
        assert check_words(one) == "No sentence carries the score."


@pytest.mark.parametrize(
    ("others", "said"),
    [
        (1, "without the 1 other sentence about"),
        (2, "without any of 2 other sentences about"),
    ],
)
def test_one_other_sentence_is_in_the_singular(mixture, others, said):
    one = explain(mixture, STORY, POSTS[:1])[0]
    tested = Check(sentence=0, drop=0.1, others=others, greatest=0.05)
    assert said in check_words(dataclasses.replace(one, check=tested))


def test_each_post_is_explained_for_its_nearest_article(mixture):
    articles = [Article("fire", "Fire and smoke at night"), STORY]
    posts = [
        Post("1", "flood bridge"),
        Post("2", "fire! smoke!"),
        Post("3", "mayor vote"),
    ]
    found = explain_nearest(
        mixture, articles, posts, open_scorer(mixture, [a.full_text for a in articles])
    )
    assert [one.article.id for one in found] == ["story", "fire", "story"]
    assert [one.post.id for one in found] == ["1", "2", "3"]


def test_a_word_is_told_with_the_fields_that_have_it(mixture):
    parts = [["text", 11], ["alt", 12]]
    post = Post("1", "mayor flood\nflood bridge", {"@fields": parts})
    (one,) = explain(mixture, STORY, [post])
    fields = {term.term: term.fields for term in one.terms}
    assert (fields["mayor"], fields["bridge"]) == (("text",), ("alt",))
    assert fields["flood"] == ("text", "alt")
    stream = io.StringIO()
    write_explained(stream, [one], "table", terminal=False)
    assert "text, alt" in stream.getvalue()


def test_no_post_is_an_error(mixture):
    with pytest.raises(InputError, match="no post"):
        explain(mixture, STORY, [])
    with pytest.raises(InputError, match="no post"):
        explain_nearest(mixture, [STORY], [], open_scorer(mixture, [STORY.full_text]))


@pytest.fixture
def files(tmp_path, mixture):
    mixture.save(tmp_path / "model", card="")
    (tmp_path / "story.txt").write_text(f"{STORY.title}\n\n{STORY.text}\n")
    rows = [{"id": post.id, "text": post.text} for post in POSTS]
    rows += [{"id": f"1{n}", "text": "flood of qwertz bridge"} for n in range(8)]
    (tmp_path / "posts.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    return tmp_path


def run(files, *more, command="explain"):
    arguments = [
        command,
        "--articles",
        files / "story.txt",
        "--model",
        files / "model",
        *more,
    ]
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_the_command_explains_the_score_of_the_search(files):
    posts = files / "posts.jsonl"
    searched = run(files, "--posts", posts, "--format", "jsonl", command="rank")
    scores = {
        row["post"]: row["score"]
        for row in map(json.loads, searched.stdout.splitlines())
    }
    done = run(
        files, "--posts", posts, "--post", "2", "--post", "1", "--format", "jsonl"
    )
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["post"] for row in rows] == ["2", "1"]
    for row in rows:
        assert row["score"] == pytest.approx(scores[row["post"]], abs=1e-6)
        assert row["sentences"][row["check"]["sentence"] - 1]["share"] > 0.2
        assert {*row["check"]} == {"sentence", "drop", "others", "greatest", "holds"}
    assert "mostly about the story" in done.stderr


def test_the_command_explains_the_score_in_the_list_that_a_post_fits_best(files):
    (files / "water.txt").write_text(
        "Water in street\n\nRescue in street, water and news."
    )
    rows = [{"id": "both", "text": "flood of qwertz bridge, water in street"}]
    rows += [
        {"id": f"water{n}", "text": f"water and news in street {n}"} for n in range(8)
    ]
    with (files / "posts.jsonl").open("a") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    posts = ["--articles", files / "water.txt", "--posts", files / "posts.jsonl"]
    lists = {}
    for rivals in (["--no-distinct"], []):
        done = run(
            files, *posts, *rivals, "--format", "jsonl", "--top", "99", command="rank"
        )
        assert done.exit_code == 0, done.output
        lists[bool(rivals)] = list(map(json.loads, done.stdout.splitlines()))
    assert lists[False] != lists[True]
    best = {}
    for row in lists[False]:
        best[row["post"]] = max(best.get(row["post"], 0), row["score"])
    asked = ["--post", "1", "--post", "both", "--post", "water3"]
    done = run(files, *posts, *asked, "--format", "jsonl")
    assert done.exit_code == 0, done.output
    for row in map(json.loads, done.stdout.splitlines()):
        assert row["score"] == pytest.approx(best[row["post"]], abs=1e-6)


def test_the_command_takes_a_text(files):
    out = files / "why.jsonl"
    done = run(files, "--text", "flood bridge", "--format", "jsonl", "--out", out)
    assert done.exit_code == 0, done.output
    assert json.loads(out.read_text())["post"] == "text-1"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "name a post with --post or --text"),
        (["--post", "1"], "expected both"),
        (["--text", "x", "--posts", "posts.jsonl"], "expected both"),
        (["--posts", "posts.jsonl", "--post", "99"], "there is no post '99'"),
    ],
)
def test_the_commands_mistakes_are_named(files, options, message, monkeypatch):
    monkeypatch.chdir(files)
    done = run(files, *options)
    assert done.exit_code == 2
    assert message in done.stderr


def test_what_the_best_posts_add_is_told_apart(mixture):
    feedback = RocchioFeedback(posts=3, least=2, score=0.05, weight=0.4)
    mixture.terms.options = dataclasses.replace(
        mixture.terms.options, feedback=feedback, surface=Surface(weight=0.0)
    )
    scorer = open_scorer(mixture, ["lake", STORY.full_text], about="event")
    found = ["qwertz bridge boat", "flood of qwertz smoke"]
    scorer = observe_all(scorer, [*found, *["vote mayor street"] * 30])
    assert "best posts" in scorer.learned
    one = explain(mixture, STORY, POSTS[:1], scorer, 1)[0]
    assert one.score == pytest.approx(
        float(scorer.scores([POSTS[0].text])[1, 0]), abs=1e-6
    )
    assert one.feedback > 0
    total = (
        sum(sentence.contribution for sentence in one.sentences)
        + one.feedback
        + one.unexplained
    )
    assert total == pytest.approx(one.score, abs=1e-6)
    assert one.unexplained == pytest.approx(0, abs=1e-5)
    # What is left without feedback is the article's own part, by its weight.
    alone = explain(mixture, STORY, POSTS[:1])[0]
    assert one.score - one.feedback == pytest.approx(0.6 * alone.score, abs=1e-5)
    out = io.StringIO()
    write_explained(out, [one], "table", terminal=False)
    assert "by its best posts" in out.getvalue()


def test_a_neighbor_is_the_first_post_with_its_words_whoever_cut_them(mixture):
    texts = ["no vote", "Flood of QWERTZ!", "flood qwertz", "qwertz flood", "a boat"]
    pool = [Post(str(number), text) for number, text in enumerate(texts)]
    neighbors = [
        NeighborPost(None, "", 0.1, 0.1, mixture.ids(text).tobytes())
        for text in ("qwertz flood", "the flood, qwertz", "smoke")
    ]
    (explained,) = explain(mixture, STORY, POSTS[:1])
    explained = dataclasses.replace(explained, neighbors=neighbors)
    for content in (texts, mixture.token_ids(texts)):
        blocks = [Block(0, pool[:3], content[:3]), Block(1, pool[3:], content[3:])]
        (named,) = name_neighbors([explained], blocks, mixture)
        posts = [(near.post, near.text) for near in named.neighbors]
        assert posts == [("3", "qwertz flood"), ("1", "Flood of QWERTZ!"), (None, "")]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [40, 1_500])
def test_a_long_article_is_read_as_far_as_a_search_reads_it(size):
    """Where a sentence is left out, the model reads on behind its limit."""
    model = open_model()
    words = [word for word in model.vocabulary.words if word.isalpha()][500:6_500]
    parts = [words[start : start + size] for start in range(0, len(words), size)]
    sentences = [f"{' '.join(part).capitalize()}." for part in parts]
    article = Article("long", "\n".join(sentences), title="")
    post = Post("1", " ".join(words[1_900:2_100:3]))
    (explained,) = explain(model, article, [post])
    spans = sentence_spans(article)
    assert len(explained.sentences) == len(sentences)
    whole = explained.score
    changed = [n for n, s in enumerate(explained.sentences) if s.without != whole]
    for number in {0, 1, changed[-1], len(sentences) - 1}:
        edited = without(article.full_text, spans[number])
        expected = open_scorer(model, [edited]).scores([post.text])[0, 0]
        assert explained.sentences[number].without == pytest.approx(expected, abs=0)
    assert changed[-1] < len(sentences) - 1
