"""A seed's list is its own, by the command and from Python, with the model that ships."""

import json
import random
from pathlib import Path

import pytest
from tests.commands import siamese_news as process
from typer.testing import CliRunner

import siamese_news
import siamese_news.data
from siamese_news import open_model
from siamese_news.cli import app
from siamese_news.data.articles import read_articles
from siamese_news.data.readers import open_posts
from siamese_news.search.searcher import Searcher

STORIES = Path(siamese_news.data.__file__).parent / "stories"


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    """Every third post that ships: each command scores all of them for each of its seeds."""
    file = tmp_path_factory.mktemp("pool") / "posts.jsonl"
    lines = (STORIES / "corpus.jsonl").read_text(encoding="utf-8").splitlines(True)
    file.write_text("".join(lines[::3]), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """A file a seed: eight articles, one of no word, and one that shares none with the pool."""
    folder = tmp_path_factory.mktemp("seeds")
    for article in read_articles([str(STORIES / "queries.jsonl")])[::6]:
        (folder / f"{article.id}.txt").write_text(f"{article.title}\n\n{article.text}")
    (folder / "zz-none.txt").write_text("... !!! ...")
    (folder / "zz-other.txt").write_text("Xylophon qwertzig\n\nUlkig brabbelt yps.")
    return sorted(folder.glob("*.txt"))


def ranked(out, files, pool, *options):
    command = ["rank", "--posts", pool, "--out", out, "--top", "100000", *options]
    done = process(*command, "--articles", *files)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    meta = json.loads(Path(f"{out}.meta.json").read_text())
    scores = {}
    for row in rows:
        scores.setdefault(row["article"], {})[row["post"]] = row["score"]
    return scores, meta, done.stderr


def same(one, other, seed):
    assert one[seed].keys() == other[seed].keys()
    assert one[seed] == pytest.approx(other[seed], abs=5e-6)


def test_without_rivals_other_seeds_change_nothing(seeds, pool, tmp_path):
    whole, meta, said = ranked(tmp_path / "whole.jsonl", seeds, pool, "--no-distinct")
    assert len(whole) == len(seeds)
    assert set(meta["about"]) == set(whole)
    assert "(--about)" in said
    assert "a list for each seed, each by itself; --one-story makes one list" in said
    some = [seeds[-1], seeds[3], seeds[0]]
    few, few_meta, _ = ranked(tmp_path / "few.jsonl", some, pool, "--no-distinct")
    for file in some:
        same(few, whole, file.stem)
        assert few_meta["about"][file.stem] == meta["about"][file.stem]
    # … and the same from Python, one seed alone.
    articles, posts = read_articles([str(seeds[3])]), list(open_posts([str(pool)]))
    records = Searcher().rank(articles, posts, top=len(posts))
    same(
        {seeds[3].stem: {r["post_id"]: r["score"] for r in records}},
        whole,
        seeds[3].stem,
    )
    # A seed without a word, or without one in common, has a list all the same.
    assert set(whole["zz-none"].values()) == {0.0}


def test_distinct_seeds_share_posts_by_how_well_they_fit(seeds, pool, tmp_path):
    once = ("--second-look", "none")
    plain = ranked(tmp_path / "plain.jsonl", seeds, pool, "--no-distinct", *once)[0]
    apart, meta, said = ranked(
        tmp_path / "apart.jsonl", seeds, pool, "--distinct", *once
    )
    assert "--distinct" in meta["command"] and "a list for each seed" not in said
    for post in plain[seeds[0].stem]:
        best = max(own[post] for own in plain.values())
        for seed, own in plain.items():
            expected = own[post] ** 2 / best if own[post] > 0 else own[post]
            assert apart[seed][post] == pytest.approx(expected, abs=5e-6)
    articles = read_articles([str(f) for f in seeds])
    posts = list(open_posts([str(pool)]))
    found = Searcher().rank(
        articles, posts, top=len(posts), distinct=True, second_look="none"
    )
    mine = {
        row["post_id"]: row["score"]
        for row in found
        if row["article_id"] == seeds[3].stem
    }
    same({seeds[3].stem: mine}, apart, seeds[3].stem)


def test_what_is_asked_for_is_said_and_counts(seeds, pool, tmp_path):
    runs = {
        about: ranked(tmp_path / f"{about}.jsonl", seeds[:2], pool, "--about", about)
        for about in ("event", "article")
    }
    for about, (_, meta, said) in runs.items():
        assert set(meta["about"].values()) == {about}
        assert ("event" if about == "event" else "very article") in said
    assert runs["event"][0] != runs["article"][0]
    one = ranked(tmp_path / "one.jsonl", seeds[:2], pool, "--one-story")[1]
    assert set(one["about"].values()) == {"event"}


def test_filter_takes_the_event_and_rank_what_the_pool_suggests(tmp_path):
    """One article, and a pool of which half is about its event."""
    seed, pool = tmp_path / "seed.txt", tmp_path / "pool.jsonl"
    seed.write_text(
        "Ferry sinks off Lesbos\n\nThe ferry to Lesbos sank in a storm on Sunday. Thirteen "
        "passengers drowned. The skipper had been warned by the coast guard, a court heard.\n"
    )
    dice = random.Random(0)
    other = "lunch football music phone coffee summer train garden cat rain dog tea song".split()
    texts = [["lesbos", *dice.sample(other, 4)] for _ in range(100)]
    texts += [dice.sample(other, 5) for _ in range(100)]
    texts += [["skipper", "warned", "by", "coast", "guard", word] for word in other]
    rows = [{"id": str(n), "text": " ".join(words)} for n, words in enumerate(texts)]
    pool.write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = open_model().token_ids

    def run(command, name, *options):
        out = tmp_path / name
        files = ["--articles", seed, "--posts", pool, "--out", out]
        done = process(command, *files, *options)
        assert done.returncode == 0, done.stderr
        found = [json.loads(line) for line in out.read_text().splitlines()]
        texts = {
            ids.tobytes()
            for ids in read([r["text"] for r in found if r["score"] >= 0.1])
        }
        meta = json.loads(Path(f"{out}.meta.json").read_text())
        lines = done.stderr.splitlines()
        summary = lines[
            1
            + next(
                n for n, line in enumerate(lines) if line.startswith("213 posts read")
            ) :
        ]
        return found, len(texts), meta, summary

    kept = {}
    for about in ("event", "article"):
        _, kept[about], meta, _ = run(
            "rank", f"{about}.jsonl", "--about", about, "--top", "1000"
        )
        assert meta["about"] == {seed.stem: about}
    assert kept["event"] > 2 * kept["article"] > 0
    _, count, meta, summary = run("rank", "rank.jsonl", "--top", "1000")
    assert meta["about"] == {seed.stem: "article"} and count == kept["article"]
    assert (
        "very article" in summary[0]
        and "as the seeds and the pool suggest" in summary[0]
    )
    plain = run("filter", "filter.jsonl", "--min-score", "0.1")
    event = run("filter", "asked.jsonl", "--min-score", "0.1", "--about", "event")
    assert plain[0] == event[0] and plain[1] == kept["event"]
    assert plain[3][0] == "Looking for posts about the event (--about)."
    auto = run("filter", "auto.jsonl", "--min-score", "0.1", "--about", "auto")
    assert auto[1] == kept["article"]
    parts = run("filter", "parts.jsonl", "--min-score", "0.1", "--workers", "2")
    assert parts[0] == plain[0] and parts[2]["about"] == plain[2]["about"]
    articles, posts = read_articles([str(seed)]), open_posts([str(pool)])
    same = Searcher().filter(articles, posts, min_score=0.1)
    assert [row["post_id"] for row in same] == [row["post"] for row in plain[0]]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dies", [2, 5, 9])
def test_a_filter_goes_on_to_the_same_bytes(seeds, pool, tmp_path, monkeypatch, dies):
    """Wherever it stops: while the pool is observed, or while it is scored."""
    from siamese_news.scoring.mixture import MixturePass, MixtureScorer
    from siamese_news.search import scan

    monkeypatch.setattr(scan, "BLOCK", 60)
    calls = []

    def run(out, *options):
        files = [
            argument for file in seeds[:2] for argument in ("--articles", str(file))
        ]
        arguments = ["filter", *files, "--posts", str(pool), "--min-score", "0.05"]
        return CliRunner().invoke(
            app, [*arguments, "--out", str(tmp_path / out), *options]
        )

    assert run("whole.jsonl").exit_code == 0
    for kind, name in ((MixturePass, "observe"), (MixtureScorer, "scores")):
        plain = getattr(kind, name)

        def dying(self, posts, plain=plain):
            calls.append(1)
            if len(calls) == dies:
                raise KeyboardInterrupt
            return plain(self, posts)

        monkeypatch.setattr(kind, name, dying)
    assert run("out.jsonl").exit_code == 130
    done = run("out.jsonl", "--resume")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out.jsonl").read_bytes() == (
        tmp_path / "whole.jsonl"
    ).read_bytes()
    assert (tmp_path / "whole.jsonl").read_bytes()


def test_an_explanation_names_the_neighbors(seeds, pool, tmp_path):
    once = ("--second-look", "none")
    scores, _, _ = ranked(tmp_path / "rank.jsonl", seeds[:1], pool, *once)
    (list_,) = scores.values()
    best = max(list_, key=list_.get)
    arguments = [
        "explain",
        "--articles",
        str(seeds[0]),
        "--posts",
        str(pool),
        "--post",
        best,
    ]
    done = CliRunner().invoke(app, [*arguments, "--format", "jsonl"])
    assert done.exit_code == 0, done.output
    one = json.loads(done.stdout.splitlines()[-1])
    assert one["score"] == pytest.approx(list_[best], abs=1e-5)
    assert one["neighbors"]
    assert {near["post"] for near in one["neighbors"]} <= set(list_)
    around = sum(near["added"] for near in one["neighbors"])
    views = one["lexical"] + one["dense"] + one["surface"]
    assert views + around == pytest.approx(one["score"], abs=1e-6)
    carried = sum(sentence["contribution"] for sentence in one["sentences"])
    assert carried + one["feedback"] + one["rest"] == pytest.approx(
        one["score"], abs=1e-6
    )
    done = CliRunner().invoke(app, [*arguments])
    assert "its neighbors" in done.stdout


FLOOD = """The river Asker rose by four metres on Sunday night and flooded the town of Harlowton.
Rescue boats carried nine hundred people from their houses, and the stone bridge was swept away at
dawn. Mayor Edda Thorn said that the flood barrier had failed because a pump lost its power. Schools
stay closed, the railway to Port Ellory is under water, and forecasters expect more rain over the
Asker valley on Tuesday. """
AFTER = """Pumps were running in Harlowton on Wednesday, three days after the river had flooded
the old town. Families came back to cellars full of mud, and engineers looked for the stones of the
bridge. The mayor, Edda Thorn, wants to know why the flood barrier lost its power. Insurers put the
damage in the Asker valley at ninety million, and the railway to Port Ellory opens on Friday. """
OTHER = """The tennis player Ines Quaid won her first title in Toronto on Saturday, in three sets
against the defending champion. Quaid, who is nineteen, served eleven aces and saved two match
points in the tie-break. Her coach said that the new racket and a winter in the gym had changed her
game. She moves up to place twelve of the ranking and plays in Cincinnati next week. """


def test_a_seed_of_another_story_and_a_stub_get_a_remark(pool, tmp_path):
    for name, text in (("one", FLOOD), ("two", AFTER), ("three", OTHER)):
        (tmp_path / f"{name}.txt").write_text(f"{text.split('.')[0]}\n\n{text * 2}")
    (tmp_path / "stub.txt").write_text(
        "River Asker floods Harlowton\n\nThe river Asker rose by four metres on Sunday night. "
        "Subscribe to continue reading this article.\n"
    )

    def remarks(command, names, *options):
        out = tmp_path / f"{command}.jsonl"
        files = [
            "--articles",
            *(tmp_path / f"{name}.txt" for name in names),
            "--posts",
            pool,
        ]
        done = process(command, *files, "--out", out, *options)
        assert done.returncode == 0, done.stderr
        found = json.loads(Path(f"{out}.meta.json").read_text())["remarks"]
        found = [r for r in found if "in common" in r or "paywalled" in r]
        assert all(remark in done.stderr for remark in found)
        return found

    filtered = ["--min-score", "0.1"]
    assert remarks("filter", ["one", "two"], *filtered) == []
    assert remarks("rank", ["one", "two", "three"]) == []  # three questions
    (remark,) = remarks("rank", ["one", "two", "three"], "--one-story")
    assert remark.startswith("three: has little in common with the other seeds")
    both = remarks(
        "filter", ["one", "two", "three", "stub"], *filtered, "--workers", "2"
    )
    assert sum("paywalled" in r and "'stub'" in r for r in both) == 1
    assert sum(r.startswith("three: has little") for r in both) == 1 and len(both) == 2
    # With another article about it, none is alone.
    (tmp_path / "four.txt").write_text((tmp_path / "three.txt").read_text())
    (remark,) = remarks("filter", ["one", "two", "three", "four"], *filtered)
    assert remark.startswith("The seeds fall into 2 groups")
    assert "beginning with one, three." in remark
    # Short seeds of one story have too few words in common to tell.
    (tmp_path / "five.txt").write_text(FLOOD)
    (tmp_path / "six.txt").write_text(OTHER)
    assert remarks("filter", ["five", "six"], *filtered) == []
