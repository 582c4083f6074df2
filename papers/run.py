"""From the names on the command line to the folder: missing runs, contents, files."""

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from papers.exhibit import Exhibit
from papers.jobs import Job, Setting, Store, shared_data, unique
from papers.layout import Made, write_folder
from siamese_news.errors import InputError

log = logging.getLogger(__name__)

# The collections that each paper's runs read.
COLLECTIONS = {"ast": ("usatoday-cnn", "crisislex-boston"), "samcnn": ("trec-microblog",)}
MISSING = ("train", "say")
NAMED = 8  # missing runs that are listed by name


def reproduce(
    chosen: Sequence[Exhibit], out: Path, *, store: Store, seeds: Sequence[int], missing: str
) -> Path:
    """Make some exhibits of one paper and lay them out.

    An exhibit whose results are all saved needs no data. One that has to be computed uses the
    shared data; where that is not there, the bundled stories at a size of minutes.

    Args:
        chosen: exhibits of one paper.
        out: the folder for tables, figures and page.
        store: of the results.
        seeds: of the runs.
        missing: ``train`` makes the results that are not there; ``say`` lays out those that are,
            and names the others on the page.

    Returns:
        The path of the page.

    Raises:
        InputError: `missing` is neither.
    """
    if missing not in MISSING:
        raise InputError(f"missing={missing}: expected {' or '.join(MISSING)}")
    paper = chosen[0].paper
    there = shared_data(*COLLECTIONS[paper])
    settings = {
        exhibit.name: _setting(exhibit, store, tuple(seeds), there=there, say=missing == "say")
        for exhibit in chosen
    }
    if missing == "train":
        for setting in dict.fromkeys(settings.values()):
            jobs = unique(
                [
                    job
                    for exhibit in chosen
                    if settings[exhibit.name] == setting
                    for job in exhibit.jobs(setting)
                ]
            )
            _train(store, setting, jobs)
    made = []
    for exhibit in chosen:
        setting = settings[exhibit.name]
        jobs = list(exhibit.jobs(setting))
        results = store.results(setting, jobs)
        content = exhibit.lay_out(results)
        waiting = [job for job in jobs if job.name not in results]
        lost = [job.name for job in waiting]
        if lost:
            command = f"python -m papers paper={paper} {exhibit.kind}={exhibit.key}"
            more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
            names = f"{', '.join(lost[:NAMED])}{more}"
            time_needed = duration(sum(job.minutes for job in waiting))
            line = f"{len(lost)} of {len(jobs)} runs ({names}); {command} makes them in about "
            line += f"{time_needed} of one processor core"
            content = replace(content, missing=[*content.missing, line])
        bundled = setting.data == "stories" and bool(jobs)
        made.append(Made(exhibit, content, list(results.by_job.values()), bundled))
    return write_folder(out, paper, made)


def _setting(
    exhibit: Exhibit, store: Store, seeds: tuple[int, ...], *, there: bool, say: bool
) -> Setting:
    shared = Setting("shared", seeds)
    complete = not store.missing(shared, exhibit.jobs(shared))
    return shared if there or say or complete else Setting("stories", seeds[:1])


def _train(store: Store, setting: Setting, jobs: Sequence[Job]) -> None:
    waiting = store.missing(setting, jobs)
    if not waiting:
        return
    minutes = sum(job.minutes for job in waiting)
    log.info(
        "%d of %d runs are missing: about %s of one processor core; an interrupted command goes on "
        "where it stopped",
        len(waiting),
        len(jobs),
        duration(minutes),
    )
    started = time.monotonic()
    for place, job in enumerate(store.make(setting, jobs), start=1):
        minutes -= job.minutes
        left = f"about {duration(minutes)} left" if place < len(waiting) else "all of them"
        took = duration((time.monotonic() - started) / 60)
        log.info("%d/%d %s done after %s; %s", place, len(waiting), job.name, took, left)


def duration(minutes: float) -> str:
    """Minutes in words.

    Example:
        >>> duration(0.2), duration(61), duration(200)
        ('1 minute', '61 minutes', '3.3 hours')
    """
    if minutes > 90:
        return f"{minutes / 60:.1f} hours"
    whole = max(1, round(minutes))
    return f"{whole} minute{'s' if whole > 1 else ''}"
