"""A bundle is the same on another machine, or says what is not."""

import json
import zipfile

import pytest
from sheet_commands import fill, finish, run, scored, start


@pytest.fixture
def certified(tmp_path):
    """A folder with a certificate, its labels, and results; every third post is a copy."""
    folder = tmp_path / "certified"
    folder.mkdir()
    relevant = scored(folder / "scored.jsonl", text=lambda n: f"secret words {n // 3}")
    done = start(folder, "--criteria", "about the flood")
    assert done.exit_code == 0, done.output
    finish(folder, relevant)
    return folder


def packed(folder, out, *more):
    done = run(
        "bundle",
        "--certificate",
        folder / "sheet.certificate.json",
        "--out",
        out,
        *more,
    )
    assert done.exit_code == 0, done.output
    return out


def changed(path, out, **files):
    """A copy of a zip in which some files have another content; None leaves one out."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = files.pop(name.replace(".", "_").replace("-", "_"), old.read(name))
            if data is not None:
                new.writestr(name, data)
        for name, data in files.items():
            new.writestr(name, data)
    return out


def manifest_of(path):
    with zipfile.ZipFile(path) as pack:
        return json.loads(pack.read("manifest.json"))


@pytest.mark.parametrize("texts", [False, True])
def test_a_bundle_holds_in_an_empty_folder(certified, tmp_path, texts):
    path = packed(
        certified, tmp_path / "supplement.zip", *(["--texts"] if texts else [])
    )
    done = run("bundle", "--check", path)
    assert done.exit_code == 0, done.output
    assert "holds" in done.output and "follows from the plan" in done.output
    with zipfile.ZipFile(path) as pack:
        content = {name: pack.read(name) for name in pack.namelist()}
    assert any(b"secret" in data for data in content.values()) == texts
    assert {"README.md", "scores.jsonl", "labels.csv"} <= content.keys()
    readme = content["README.md"].decode()
    sentence = json.loads(content["sheet.certificate.json"])["claims"][0]["posts"]
    assert f"{sentence:,} of 600 posts are certified" in readme
    rows = [json.loads(line) for line in content["scores.jsonl"].splitlines()]
    assert len({row["text"] for row in rows}) == 200
    assert "## Commands" in readme


def test_any_change_is_found(certified, tmp_path):
    path = packed(certified, tmp_path / "good.zip")
    bad = tmp_path / "bad.zip"
    for name in manifest_of(path)["files"]:
        with zipfile.ZipFile(path) as pack:
            data = pack.read(name)
        key = name.replace(".", "_").replace("-", "_")
        for other in (data[:-2] + b"x\n", b"", None):
            done = run("bundle", "--check", changed(path, bad, **{key: other}))
            assert done.exit_code == 2 and name in done.output.replace("\n", ""), (
                name,
                done.output,
            )
    assert run("bundle", "--check", changed(path, bad, extra=b"1")).exit_code == 2


def test_labels_and_their_hash_changed_together_are_found(certified, tmp_path):
    from hashlib import sha256

    path, bad = packed(certified, tmp_path / "good.zip"), tmp_path / "bad.zip"
    manifest = manifest_of(path)
    with zipfile.ZipFile(path) as pack:
        labels = pack.read("labels.csv").replace(b",1,", b",0,", 5)
    manifest["files"]["labels.csv"]["sha256"] = sha256(labels).hexdigest()
    done = run(
        "bundle",
        "--check",
        changed(
            path, bad, labels_csv=labels, manifest_json=json.dumps(manifest).encode()
        ),
    )
    assert done.exit_code == 2 and "another certificate follows" in done.output


def test_bad_input(certified, tmp_path):
    for arguments, said in (
        ((), "either --out or --check"),
        (("--out", tmp_path / "a.zip"), "nothing to pack"),
        (("--check", tmp_path / "none.zip"), "no such file"),
        (("--check", tmp_path), "is a folder; expected a zip"),
        (
            ("--out", tmp_path / "a.zip", "--certificate", tmp_path / "none.json"),
            "cannot be read",
        ),
    ):
        done = run("bundle", *arguments)
        assert done.exit_code == 2 and said in done.output, done.output
    assert not (tmp_path / "a.zip").exists()
    path = packed(certified, tmp_path / "good.zip")
    (tmp_path / "half.zip").write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert (
        "cannot be read as a zip"
        in run("bundle", "--check", tmp_path / "half.zip").output
    )
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as pack:
        pack.writestr("a.txt", "text")
    assert (
        "has no manifest.json"
        in run("bundle", "--check", tmp_path / "other.zip").output
    )
    newer = manifest_of(path) | {"format": 9, "version": "7.0"}
    bad = changed(
        path, tmp_path / "newer.zip", manifest_json=json.dumps(newer).encode()
    )
    assert "written by siamese_news 7.0" in run(
        "bundle", "--check", bad
    ).output.replace("\n", " ")
    assert "already exists" in run(
        "bundle", "--out", path, "--certificate", certified / "sheet.certificate.json"
    ).output.replace("\n", " ")


def test_labels_that_were_changed_after_the_certificate_are_refused(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl")
    start(tmp_path)
    finish(tmp_path, relevant)
    fill(tmp_path / "sheet.csv", set())
    done = run(
        "bundle",
        "--certificate",
        tmp_path / "sheet.certificate.json",
        "--out",
        tmp_path / "a.zip",
    )
    assert done.exit_code == 2 and "is not the file from which" in done.output


def test_a_bundle_is_a_zip_by_name(tmp_path):
    out = tmp_path / "supplement.csv"
    done = run("bundle", "--certificate", tmp_path / "none.json", "--out", out)
    assert (
        done.exit_code == 2
        and f"{out}: expected a name that ends with .zip" in done.stderr
    )
