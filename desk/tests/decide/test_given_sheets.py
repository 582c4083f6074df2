"""Each command takes the sheets that are for it, and names the command of another one."""

import csv
import json
import shutil

import pytest
from sheet_commands import fill, rows_of, run, scored, start

WRITERS = ("sample", "audit", "sample --for relevance", "feedback --next")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with results, and a labeled sheet of each command."""
    folder = tmp_path_factory.mktemp("sheets")
    results = folder / "scored.jsonl"
    relevant = scored(results)
    given = ("--results", results)
    sheets = {writer: folder / f"{n} of it.csv" for n, writer in enumerate(WRITERS)}
    out = {writer: ("--out", sheet) for writer, sheet in sheets.items()}
    assert start(folder, *out["sample"]).exit_code == 0
    for done in (
        run("audit", *given, "--budget", 20, *out["audit"]),
        run("sample", "--for", "relevance", *given, *out["sample --for relevance"]),
        run("feedback", *given, "--next", sheets["feedback --next"]),
    ):
        assert done.exit_code == 0, done.output
    for sheet in sheets.values():
        fill(sheet, relevant)
    return folder, sheets


def read_by(reader, folder, sheets):
    """What a command says to sheets."""
    labels = [part for sheet in sheets for part in ("--labels", sheet)]
    given = ("--results", folder / "scored.jsonl")
    calls = {
        "certify": ("certify", *labels),
        "audit": ("audit", *labels),
        "relevance": ("relevance", *given, *labels),
        "sample --for relevance": (
            *("sample", "--for", "relevance", *given, *labels),
            *("--out", folder / "further.csv"),
        ),
        "feedback": ("feedback", *given, *labels, "--next", folder / "learn.csv"),
    }
    done = run(*calls[reader])
    return done.exit_code, done.output.replace("\n", " ")


TAKEN = {
    "certify": ("sample",),
    "audit": ("audit",),
    "relevance": ("sample --for relevance", "sample"),
    "sample --for relevance": ("sample --for relevance",),
    "feedback": WRITERS,
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("reader", TAKEN)
def test_a_sheet_of_another_command_is_refused_by_its_name(
    made, tmp_path, reader, writer
):
    folder = shutil.copytree(made[0], tmp_path / "copy")
    sheet = folder / made[1][writer].name
    code, output = read_by(reader, folder, [sheet])
    if writer in TAKEN[reader]:
        assert code == 0, output
    else:
        assert code == 2 and f"is a sheet of {writer}, for" in output, output
        drawn = [path.name for path in folder.glob("*.drawn.jsonl")]
        assert all(
            (folder / name).read_bytes() == (made[0] / name).read_bytes()
            for name in drawn
        )


@pytest.mark.parametrize("writer", WRITERS[1:])
def test_so_is_a_later_one_and_one_that_another_program_saved(made, tmp_path, writer):
    """With the plan by its name, and in a format that has no column key or is UTF-16."""
    folder = shutil.copytree(made[0], tmp_path / "copy")
    sheet = folder / made[1][writer].name
    rows = rows_of(sheet)
    if writer == "sample --for relevance":  # as Label Studio exports it, without keys
        tasks = [
            {
                "data": {"post": row["post"], "text": row["text"]},
                "annotations": [{"result": [{"value": {"choices": ["yes"]}}]}],
            }
            for row in rows
        ]
        sheet = sheet.with_suffix(".json")
        sheet.write_text(json.dumps(tasks))
    else:
        with sheet.open("w", newline="", encoding="utf-16") as stream:
            table = csv.DictWriter(stream, rows[0], delimiter="\t")
            table.writeheader()
            table.writerows(rows)
    plan = made[1]["sample"].with_suffix(".plan.json").name
    done = run(
        *("certify", "--plan", folder / plan),
        *("--labels", folder / made[1]["sample"].name, "--labels", sheet),
    )
    said = done.output.replace("\n", " ")
    assert done.exit_code == 2 and f"is a sheet of {writer}, for" in said, said
