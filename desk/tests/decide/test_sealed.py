"""Sealed files of somebody else: changed and sealed again, of another shape, or never ending."""

import json
import os

import pytest
from sheet_commands import certify, finish, run, scored, start
from tests.commands import in_own_process

from siamese_news.errors import InputError
from siamese_news.utils.checked_json import fitting
from siamese_news_desk.decide.checking import (
    STATED,
    check_certificate,
    sheets_of_certificate,
    wrong_fields,
)
from siamese_news_desk.decide.plan.plan_fields import PLANS, Charge
from siamese_news_desk.decide.plan.sealed_files import (
    SEAL,
    read_sealed,
    seal_of,
    write_sealed,
)
from siamese_news_desk.decide.stopping import Goal, Stopping
from siamese_news_desk.labels.matching import read_labels

CRITERIA = "about the flood"


def made(folder, *more):
    """A folder with a certificate that holds."""
    folder.mkdir(exist_ok=True)
    relevant = scored(folder / "scored.jsonl")
    done = start(folder, "--criteria", CRITERIA, *more)
    assert done.exit_code == 0, done.output
    finish(folder, relevant - {f"p{n}" for n in range(0, 200, 40)})
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        return made(tmp_path_factory.mktemp("whole") / "folder")


@pytest.fixture
def certified(whole, tmp_path):
    """A copy that may be changed."""
    for path in whole.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def sealed_again(path, change):
    """Change a sealed file in place, as somebody does who knows how the seal is made."""
    content = json.loads(path.read_text())
    change(content)
    content[SEAL] = seal_of(content)
    path.write_text(json.dumps(content))
    return content[SEAL]


def places(value, name=()):
    """The path of every value inside a JSON value; of a long list only its ends."""
    if isinstance(value, dict):
        parts = list(value.items())
    elif isinstance(value, list):
        parts = [(place, value[place]) for place in {0, len(value) - 1} if value]
    else:
        parts = []
    for key, part in parts:
        yield (*name, key)
        yield from places(part, (*name, key))


def put(content, place, value):
    *parents, last = place
    for name in parents:
        content = content[name]
    if value is GONE:
        del content[last]
    else:
        content[last] = value


def at(content, place):
    for name in place:
        content = content[name]
    return content


GONE = object()


def other(value):
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    return {list: [value, "x"]}.get(type(value), "x")


def test_a_certificate_holds_and_says_what_nothing_can_check(certified):
    done = run("certify", "--check", certified / "sheet.certificate.json")
    assert done.exit_code == 0, done.output
    assert "every statement follows from its scores, plan and labels" in done.stderr
    assert (
        "not checked, because nothing else says it: when it was made, the command"
        in done.stderr
    )


#: Of many cases alike, one in ten runs in the fast tests, and all of them in the slow ones.
SHARES = [
    pytest.param(slice(None, None, 10), id="one in ten"),
    pytest.param(slice(None), id="all", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("share", SHARES)
def test_every_altered_statement_of_a_certificate_is_found(certified, share):
    """Whatever the field, and also where it is left out or a further one comes."""
    path = certified / "sheet.certificate.json"
    content = json.loads(path.read_text())
    altered = [
        (place, value)
        for place in places(content)
        if place[0] not in STATED
        for value in (other(at(content, place)), GONE)
        if not (value is GONE and isinstance(place[-1], int))
    ]
    assert len(altered) > 100
    work = check_certificate(path).certification
    with sheets_of_certificate(path, content) as sheets:
        labels = read_labels(sheets, work.sampled)
    claims = work.claims(labels)
    assert wrong_fields(content, work, labels, claims) == []
    believed = []
    for place, value in [*altered[share], (("claims", 0, "promise"), "certain")]:
        changed = json.loads(path.read_text())
        put(changed, place, value)
        write_sealed(certified / "altered.json", changed)
        try:
            # The files of labels are compared by their hashes.
            changed = read_sealed(certified / "altered.json", "certificate")
            with sheets_of_certificate(path, changed):
                pass
        except InputError:
            continue
        if not wrong_fields(changed, work, labels, claims):
            believed.append((place, value))
    assert [place for place, _ in believed] == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("criteria", "about the strike"),
        ("joint_confidence", 0.99),
        ("judged", "in truth"),
        ("earlier_plans", 3),
        ("remarks", ["checked by nobody"]),
        ("method", "magic"),
        ("model", {"folder": "better", "sha256": "a" * 64}),
    ],
)
def test_an_altered_field_is_named_by_the_command(certified, field, value):
    path = certified / "sheet.certificate.json"
    sealed_again(path, lambda content: content.update({field: value}))
    done = run("certify", "--check", path)
    assert done.exit_code == 2, done.output
    assert f"another certificate: {field}" in done.stderr
    if field in ("method", "criteria"):
        assert "should be" in done.stderr


@pytest.mark.parametrize("ending", ["csv", "html"])
def test_an_altered_list_or_page_next_to_a_certificate_is_found(certified, ending):
    path = certified / f"sheet.certificate.{ending}"
    whole = path.read_text()
    path.write_text(
        whole.replace("p1,", "p599,", 1) if ending == "csv" else whole + "<p>.99</p>"
    )
    done = run("certify", "--check", certified / "sheet.certificate.json")
    assert done.exit_code == 2 and f"{path.name}: is not the" in done.stderr, (
        done.output
    )
    path.unlink()
    done = run("certify", "--check", certified / "sheet.certificate.json")
    assert done.exit_code == 0 and f"{path.name} is not here" in done.stderr, (
        done.output
    )


def test_labels_from_another_file_are_not_believed(certified):
    sheet = certified / "sheet.csv"
    sheet.write_text(sheet.read_text() + "\n")
    done = run("certify", "--check", certified / "sheet.certificate.json")
    assert (
        done.exit_code == 2 and "sheet.csv: is not the file from which" in done.stderr
    )


def test_a_log_that_is_not_here_is_said(certified, monkeypatch):
    (certified / "sheet.verdicts.jsonl").unlink()
    monkeypatch.setenv("XDG_STATE_HOME", str(certified / "nowhere"))
    done = run("certify", "--check", certified / "sheet.certificate.json")
    assert done.exit_code == 0 and "how many verdicts were changed" in done.stderr, (
        done.stderr
    )


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("nulls", 0, 0), 150),  # a test that rules out nothing certifies everything
        (("sets", 0), 100),
        (("cuts", 0), 0.1),
        (("tables", 0), "0" * 64),
        (("criteria",), "about the strike"),
        (("settings", "seed"), 7),
        (("settings", "targets", 0), ".75"),
        (("settings", "budget"), 250),
        (("population", "posts"), 5_000_000),
        (("population", "pairs"), True),
    ],
)
def test_a_plan_that_was_altered_with_its_certificate_is_found(certified, place, value):
    """Both are sealed again, and the certificate says what the altered plan says."""
    plan, path = certified / "sheet.plan.json", certified / "sheet.certificate.json"
    seal = sealed_again(plan, lambda content: put(content, place, value))
    kept = read_sealed(plan, "plan")

    def follow(content):
        content["plan"] = {**content["plan"], "sha256": seal, "tables": kept["tables"]}
        content.update(
            {name: kept[name] for name in ("criteria", "settings", "population")}
        )

    sealed_again(path, follow)
    with pytest.raises(InputError):
        check_certificate(path)


WRONG = (
    None,
    True,
    0,
    -1,
    2.5,
    "",
    "a",
    "../a",
    "1e-999999999",
    [],
    {},
    [1],
    {"a": 1},
    1e308,
)
WRONG += (10**18, 10**30, float("nan"), float("inf"), [None], "a\x00", "..", ".")


def test_a_value_of_another_type_at_any_place_of_a_plan_is_refused(certified):
    """By the schema alone, before anything is computed from it."""
    plan = json.loads((certified / "sheet.plan.json").read_text())
    free = {"format", SEAL}  # read by nobody, and compared with the hash
    free |= {"model", "false_positive"}  # no value, or one of several types
    # Earlier plans lack them.
    new = {
        "order",
        "same_labels",
        "other_criteria",
        "other_posts",
        "unknown",
    }
    for place in [place for place in places(plan) if not free & {*place}]:
        value = at(plan, place)
        for wrong in (*WRONG, GONE):
            alike = type(wrong) in (
                type(value),
                int if isinstance(value, float) else None,
            )
            if alike or (
                wrong is GONE and (isinstance(place[-1], int) or place[-1] in new)
            ):
                continue
            changed = json.loads(json.dumps(plan))
            put(changed, place, wrong)
            with pytest.raises(ValueError, match="field"):
                fitting(changed, PLANS["precision"])
                fitting(changed, Charge)
                pytest.fail(f"{place} may be {wrong!r}")


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", ["sheet.plan.json", "sheet.certificate.json"])
def test_no_wrong_value_ends_in_a_traceback(certified, name, share):
    """Through the commands that read the file."""
    content = json.loads((certified / name).read_text())
    skipped = {"provenance", "claims", SEAL, "created", "command", "tables"}
    wanted = enumerate(p for p in places(content) if p[0] not in skipped)
    for number, place in list(wanted)[share]:
        changed = json.loads(json.dumps(content))
        put(changed, place, WRONG[number % len(WRONG)])
        write_sealed(certified / name, changed)
        done = run("certify", "--check", certified / "sheet.certificate.json")
        assert done.exit_code == 2, (place, done.output)
        assert isinstance(done.exception, SystemExit), (place, done.exception)


@pytest.mark.sampled(4)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")
@pytest.mark.parametrize("endless", ["/dev/zero", "pipe"])
@pytest.mark.parametrize(
    "place", ["labels", "corpus", "plan", "scores", "sheet", "certificate"]
)
def test_files_that_never_end_are_refused(certified, endless, place):
    path = certified / "sheet.certificate.json"
    os.mkfifo(certified / "pipe")
    if place in ("labels", "corpus"):
        name = "sheet.certificate.json" if place == "labels" else "sheet.plan.json"
        listed = [{"file": endless, "sha256": "0" * 64}]

        def point(content):
            if place == "labels":
                content["labels"]["files"] = listed
            else:
                content["corpus"] = listed

        sealed_again(certified / name, point)
    else:
        names = {
            "plan": "sheet.plan.json",
            "scores": "scored.jsonl",
            "sheet": "sheet.csv",
            "certificate": "sheet.certificate.json",
        }
        (certified / names[place]).unlink()
        (certified / names[place]).symlink_to(endless)
    done = in_own_process("certify", "--check", path, folder=certified)
    assert done.returncode == 2 and "is a pipe or a device" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "name", ["a/b", "../sheet.plan.json", "", ".", "..", "a\x00b", "/etc/x"]
)
def test_names_with_folders_are_refused(certified, name):
    fields = [("plan", "sheet.certificate.json")]
    if "/" not in name:  # the scored posts may be in another folder
        fields.append(("population", "sheet.plan.json"))
    for field, file in fields:
        whole = (certified / file).read_bytes()
        sealed_again(
            certified / file, lambda content, f=field: content[f].update(file=name)
        )
        done = run("certify", "--check", certified / "sheet.certificate.json")
        assert done.exit_code == 2 and f"field {field}.file" in done.stderr, done.output
        (certified / file).write_bytes(whole)


@pytest.mark.parametrize("name", ["../others.jsonl", "../mine.csv"])
def test_scored_posts_elsewhere_must_be_those_of_the_plan(certified, name):
    other = certified.parent / name.removeprefix("../")
    other.write_text("secret,score,post\n1,.5,p1\n")
    plan = certified / "sheet.plan.json"
    (certified / "scored.jsonl").unlink()
    sealed_again(plan, lambda content: content["population"].update(file=name))
    done = run("certify", "--check", certified / "sheet.certificate.json")
    other.unlink()
    assert done.exit_code == 2 and "Traceback" not in done.output
    assert other.name in done.stderr and "secret" not in done.stderr


def test_a_plan_with_noise_is_checked_too(tmp_path):
    folder = made(tmp_path / "noisy", "--false-positive-rate", ".01", "--budget", "150")
    path = folder / "sheet.certificate.json"
    assert run("certify", "--check", path).exit_code == 0
    sealed_again(path, lambda content: content.update(judged="in truth"))
    assert "another certificate: judged" in run("certify", "--check", path).stderr


@pytest.mark.parametrize(
    ("place", "wrong"), [(("settings", "find"), "all"), (("settings", "recall"), 3)]
)
def test_plans_of_other_kinds_have_a_shape_too(tmp_path, place, wrong):
    scored(tmp_path / "scored.jsonl")
    plan = tmp_path / "mine.plan.json"
    goal = Goal(None, ".8", ".95", 0)
    Stopping.start(tmp_path / "scored.jsonl", plan, goal)
    sealed_again(plan, lambda content: put(content, place, wrong))
    with pytest.raises(InputError, match=r"\.".join(place)):
        Stopping.resume(plan)


def test_a_share_that_would_fill_the_memory_is_refused_at_once(certified):
    plan = certified / "sheet.plan.json"
    for name in ("confidence", "ratio", "targets"):
        whole = plan.read_bytes()
        share = ["1e-999999999"] if name == "targets" else "1e-999999999"
        sealed_again(
            plan, lambda content, n=name, s=share: content["settings"].update({n: s})
        )
        done = certify(certified)
        assert done.exit_code == 2 and "1e-999999999" in done.stderr, done.output
        plan.write_bytes(whole)


def test_a_wrong_value_in_a_list_of_plans_is_named_with_its_line(tmp_path):
    scored(tmp_path / "scored.jsonl")
    assert start(tmp_path).exit_code == 0
    plans = tmp_path / "siamese-news.plans.jsonl"
    line = json.loads(plans.read_text())
    refused = 0
    wrong = [
        (name, value)
        for name in line
        for value in (WRONG[len(name) % len(WRONG)], GONE)
    ]
    for name, value in [
        *wrong,
        ("error", "1/0"),
        ("posts", ["a", 1]),
        ("earlier", [{}]),
    ]:
        changed = dict(line)
        put(changed, (name,), value)
        plans.write_text(json.dumps(changed) + "\n")
        done = start(tmp_path, "--seed", "1", out="b.csv")
        assert done.exit_code == 2 and isinstance(done.exception, SystemExit), (
            name,
            value,
        )
        refused += "plans.jsonl:1: is damaged" in done.stderr
    assert refused > len(line)


def test_half_a_character_in_both_sealed_files_is_no_traceback(certified):
    plan, path = certified / "sheet.plan.json", certified / "sheet.certificate.json"
    seal = sealed_again(plan, lambda content: content.update(criteria="\ud800"))
    sealed_again(path, lambda content: content.update(criteria="\ud800"))
    sealed_again(path, lambda content: content["plan"].update(sha256=seal))
    (certified / "sheet.drawn.jsonl").unlink()
    for arguments in (("--check", path), ("--labels", certified / "sheet.csv")):
        done = run("certify", *arguments)
        assert done.exit_code == 2 and isinstance(done.exception, SystemExit), (
            done.exception
        )
