"""Speed from release to release: python -m benchmarks.speed_history record | renew | check | draw.

*record* measures and writes a file to ``benchmarks/history/``, with revision, date and machine;
*renew* measures every recorded revision again, in turns on one machine, after the commands or the
posts have changed; *draw* makes ``docs/speed.svg`` from these files. *check* runs the revision of
the newest record and this one in turns, because machines of one name differ by more than revisions
do: it ends with 1 if a figure is more than 15% worse. All figures are CPU seconds of whole commands
on one thread, the least of several turns, which other work on the machine changes least.
"""

import argparse
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.coldstart import posts, seconds, write_pages
from siamese_news import __version__
from siamese_news.utils.files import atomic_write
from siamese_news.utils.provenance import provenance

HISTORY = Path(__file__).parent / "history"
PICTURE = Path(__file__).parents[1] / "docs" / "speed.svg"
WORSE = 0.15
MANY = 100_000  # posts; the rest is start-up


def commands(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    """What is measured, in an order in which each finds its files; the posts are invented."""
    write_pages(folder / "pages")
    for name, count in (("few", 1000), ("many", MANY)):
        lines = (json.dumps(row) + "\n" for row in posts(count))
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    one = ["--articles", folder / "pages" / "bridge.html"]
    three = ["--articles", folder / "pages"]
    many = folder / "many.jsonl"
    found = folder / "found.jsonl"
    yield "--help", ["--help"]
    yield "rank, 1,000 posts", ["rank", *three, "--posts", folder / "few.jsonl"]
    yield "rank, 100,000 posts", ["rank", *three, "--posts", many]
    filtered = ["filter", *one, "--posts", many, "--threshold", 0.1, "--out", found]
    yield "filter, 100,000 posts", filtered
    yield (
        "index of 100,000 posts",
        ["index", "--posts", many, "--out", folder / "index"],
    )
    yield "rank with the index", ["rank", *three, "--index", folder / "index"]


def measured(turns: int, *sources: Path | None) -> list[dict[str, float]]:
    """CPU seconds of each command with each source (`seconds`), the least over the turns."""
    found: list[dict[str, list[float]]] = [{} for _ in sources]
    for _ in range(turns):
        for source, times in zip(sources, found, strict=True):
            with tempfile.TemporaryDirectory() as folder:
                for name, command in commands(Path(folder)):
                    times.setdefault(name, []).append(
                        seconds(command, source=source)[1]
                    )
    return [
        {name: round(min(all_), 3) for name, all_ in times.items()} for times in found
    ]


def write_revision(revision: str, folder: Path) -> Path:
    """The `src` of a revision of this repository, unpacked into a folder with its loops compiled."""
    archive = ["git", "archive", revision, "src", "conf", "setup.py"]
    done = subprocess.run(archive, cwd=HISTORY.parents[1], capture_output=True)
    if done.returncode:
        sys.exit(f"git has no revision {revision}, the newest in {HISTORY}; fetch it")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as packed:
        packed.extractall(folder, filter="data")
    # Without these, the loops of a revision that builds them at installation would not run.
    build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(build, cwd=folder, check=True)
    return folder / "src"


def records(folder: Path) -> list[dict[str, Any]]:
    """What was recorded, oldest first."""
    read = [
        json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")
    ]
    return sorted(read, key=lambda one: one["date"])


def write_record(record: Mapping[str, Any], folder: Path) -> Path:
    """Write what was measured of a revision; returns the file, which is named after it."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{str(record['date'])[:10]}-{record['revision']}.json"
    with atomic_write(path) as stream:
        json.dump(record, stream, indent=1)
        stream.write("\n")
    return path


def regressions(before: Mapping[str, float], now: Mapping[str, float]) -> list[str]:
    """A line for each figure that both have and that is worse by more than `WORSE`."""
    return [
        f"{name}: {before[name]:.2f} -> {now[name]:.2f} CPU seconds "
        f"({now[name] / before[name] - 1:+.0%})"
        for name in before
        if name in now and now[name] > before[name] * (1 + WORSE)
    ]


def draw(recorded: Sequence[Mapping[str, Any]]) -> bytes:
    """A panel for each figure, a line for each kind of machine, as SVG."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(name for one in recorded for name in one["seconds"]))
    machines = list(dict.fromkeys(one["machine"] for one in recorded))
    # A version and a day are written once, where they begin, so that labels do not overlap.
    days = [f"{one['date'][5:10]}\n{one['version']}" for one in recorded]
    labels = [
        label if place == 0 or label != days[place - 1] else ""
        for place, label in enumerate(days)
    ]
    with matplotlib.rc_context({"svg.hashsalt": "speed", "svg.fonttype": "none"}):
        figure, grid = plt.subplots(
            2, -(-len(names) // 2), figsize=(9.6, 5.4), squeeze=False
        )
        for panel in grid.flat[len(names) :]:
            panel.remove()
        for name, panel in zip(names, grid.flat, strict=False):
            for machine in machines:
                here = [
                    n for n, one in enumerate(recorded) if one["machine"] == machine
                ]
                panel.plot(
                    here,
                    [recorded[n]["seconds"].get(name, np.nan) for n in here],
                    "o-",
                    label=machine,
                )
            panel.set_title(name, fontsize=10)
            panel.set_ylim(0, 1.15 * panel.get_ylim()[1])
            panel.set_xticks(range(len(labels)), labels, fontsize=8)
        grid[0, 0].set_ylabel("CPU seconds")
        figure.legend(
            *grid[0, 0].get_legend_handles_labels(), loc="lower center", fontsize=8
        )
        figure.tight_layout(rect=(0, 0.04 + 0.03 * len(machines), 1, 1))
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
        plt.close(figure)
    return buffer.getvalue()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=("record", "renew", "check", "draw"))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--history", type=Path, default=HISTORY)
    options = parser.parse_args(arguments)
    about = provenance()
    kept = records(options.history)
    if options.step == "check":
        if not kept:
            sys.exit(
                f"{options.history}: no record; run python -m benchmarks.speed_history record"
            )
        revision = kept[-1]["revision"]
        with tempfile.TemporaryDirectory() as folder:
            source = write_revision(revision, Path(folder))
            before, now = measured(options.turns, source, None)
        for name, value in now.items():
            print(
                f"{name}: {value:.2f} CPU seconds; {revision}: {before.get(name, np.nan):.2f}"
            )
        if worse := regressions(before, now):
            sys.exit(f"more than {WORSE:.0%} worse:\n" + "\n".join(worse))
    if options.step == "record":
        (now,) = measured(options.turns, None)
        record = {key: about[key] for key in ("date", "revision", "python", "machine")}
        record |= {"version": __version__, "seconds": now}
        print(write_record(record, options.history))
    if options.step == "renew":
        here = {key: about[key] for key in ("python", "machine")}
        with tempfile.TemporaryDirectory() as folder:
            sources = [
                write_revision(one["revision"], Path(folder) / one["revision"])
                for one in kept
            ]
            figures = measured(options.turns, *sources)
        for record, now in zip(kept, figures, strict=True):
            renewed = {**record, **here, "measured": about["date"], "seconds": now}
            print(write_record(renewed, options.history))
    if options.step == "draw":
        PICTURE.write_bytes(draw(kept))
        print(PICTURE)


if __name__ == "__main__":
    main()
