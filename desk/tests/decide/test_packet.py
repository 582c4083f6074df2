"""A packet is checked on a machine without the posts, or says what is not as it was."""

import json
import shlex
import shutil
import sys
from hashlib import sha256

import pytest
from sheet_commands import fill, finish, run, scored, start

from siamese_news_desk.decide import packet as packet_module
from siamese_news_desk.decide.checking import check_certificate


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """A folder with a certificate, its labels, and results; every third post is a copy."""
    folder = tmp_path_factory.mktemp("certified")
    relevant = scored(folder / "scored.jsonl", text=lambda n: f"secret words {n // 3}")
    done = start(folder, "--criteria", "about the flood")
    assert done.exit_code == 0, done.output
    finish(folder, relevant)
    done = pack(folder, folder / "packet")
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def packet(certified, tmp_path):
    return shutil.copytree(certified / "packet", tmp_path / "packet")


def pack(folder, out):
    certificate = folder / "sheet.certificate.json"
    return run("certify", "--check", certificate, "--packet", out)


def check(packet):
    done = run("certify", "--check", packet)
    return done.exit_code, done.output.replace("\n", " ")


def test_a_packet_holds_alone_and_has_no_texts(packet):
    code, output = check(packet)
    assert code == 0 and "holds" in output and "follows from its plan" in output
    assert "not checked" not in output
    content = {path.name: path.read_bytes() for path in packet.iterdir()}
    assert not any(b"secret" in data for data in content.values())
    readme = content["README.md"].decode()
    certificate = json.loads(content["sheet.certificate.json"])
    sentence = f"{certificate['claims'][0]['posts']:,} of 600 posts are certified"
    assert sentence in readme and sentence in output
    for part in ("about the flood", "## Flow of rows", "seed of the random order | 0"):
        assert part in readme
    rows = [json.loads(line) for line in content["scores.jsonl"].splitlines()]
    assert len({row["text"] for row in rows}) == 200
    assert content["flow.csv"].decode().startswith("rows,number")
    assert content["groups.csv"].decode().startswith("precision,column,group")


def test_any_change_is_found(packet):
    for path in sorted(packet.iterdir()):
        before = path.read_bytes()
        for other in (before[:-2] + b"x\n", b"", None):
            path.unlink() if other is None else path.write_bytes(other)
            code, output = check(packet)
            assert code == 2, (path.name, output)
            path.write_bytes(before)
    (packet / "extra").write_bytes(b"1")
    assert "does not belong here" in check(packet)[1]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("labels.csv", b",1,", b",0,"),
        ("scores.jsonl", b'"post": "p1"', b'"post": "q1"'),
        ("README.md", b"seed of the random order | 0", b"seed of the random order | 7"),
        ("README.md", b"| labeled |", b"| judged |"),
        ("flow.csv", b"\nlabeled,", b"\nlabeled,1"),
        ("groups.csv", b"precision,", b"share,"),
    ],
)
def test_a_file_and_its_hash_changed_together_are_found(packet, name, old, new):
    path, sums = packet / name, packet / "SHA256SUMS"
    before = path.read_bytes()
    after = before.replace(old, new)
    assert before != after
    path.write_bytes(after)
    hashes = [sha256(data).hexdigest() for data in (before, after)]
    sums.write_text(sums.read_text().replace(*hashes))
    code, output = check(packet)
    assert code == 2, output


def test_a_readme_of_another_version_is_not_compared_and_that_is_said(packet):
    readme, sums = packet / "README.md", packet / "SHA256SUMS"
    before = readme.read_bytes()
    after = before.replace(b"(siamese-news-desk ", b"(siamese-news-desk 0.0.")
    readme.write_bytes(after)
    hashes = [sha256(data).hexdigest() for data in (before, after)]
    sums.write_text(sums.read_text().replace(*hashes))
    code, output = check(packet)
    assert code == 0 and "not checked: README.md and tables" in output, output


def test_its_commands_can_be_pasted(tmp_path, monkeypatch):
    folder = tmp_path / "the flood's posts"
    folder.mkdir()
    relevant = scored(folder / "scored.jsonl")
    typed = {
        "sample": ("--criteria", 'about the "Elbe" & its $banks\nin June'),
        "certify": ("--labels", str(folder / "sheet.csv")),
    }

    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)

    def called(command):
        monkeypatch.setattr("sys.argv", ["siamese-news", command, *typed[command]])

    called("sample")
    assert start(folder, *typed["sample"]).exit_code == 0
    called("certify")
    finish(folder, relevant)
    assert pack(folder, tmp_path / "packet").exit_code == 0
    readme = (tmp_path / "packet" / "README.md").read_text()
    commands = readme.split("## Commands\n\n```\n")[1].split("```")[0]
    assert shlex.split(commands) == [
        *("siamese-news", "sample", *typed["sample"]),
        *("siamese-news", "certify", *typed["certify"]),
    ]


@pytest.mark.parametrize(
    "line", ["x", "0" * 64 + "  ../scored.jsonl", "0" * 64 + "  none"]
)
def test_strange_hashes_are_refused(packet, line):
    sums = packet / "SHA256SUMS"
    sums.write_text(f"{sums.read_text()}{line}\n")
    assert check(packet)[0] == 2


def test_bad_input(certified, tmp_path):
    done = run(
        "certify", "--labels", certified / "sheet.csv", "--packet", tmp_path / "a"
    )
    assert done.exit_code == 2 and "--packet requires --check" in done.output
    done = pack(certified, certified)
    assert done.exit_code == 2 and "exists already" in done.output


def test_labels_that_were_changed_after_the_certificate_are_refused(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl")
    start(tmp_path)
    finish(tmp_path, relevant)
    fill(tmp_path / "sheet.csv", set())
    done = pack(tmp_path, tmp_path / "packet")
    assert done.exit_code == 2 and "is not the file from which" in done.output
    assert not (tmp_path / "packet").exists()


@pytest.mark.parametrize("step", ["methods_of", "write_sums", "write_csv"])
def test_a_packet_that_is_interrupted_leaves_nothing(
    certified, tmp_path, monkeypatch, step
):
    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(packet_module, step, stop)
    certificate = certified / "sheet.certificate.json"
    with pytest.raises(KeyboardInterrupt):
        packet_module.write_packet(
            tmp_path / "packet", certificate, check_certificate(certificate)
        )
    assert not any(tmp_path.iterdir())
