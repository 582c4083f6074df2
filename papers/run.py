"""From the exhibits to the folder: missing runs, contents, files."""

import logging
import time
from collections.abc import Sequence
from pathlib import Path

from papers.exhibit import Exhibit
from papers.jobs import Job, Setting, Store, shared_data
from papers.layout import Made, write_folder
from siamese_news.errors import InputError

log = logging.getLogger(__name__)

# The collections that each paper's runs read.
COLLECTIONS = {
    "ast": ("usatoday-cnn", "crisislex-boston"),
    "samcnn": ("trec-microblog",),
}
MISSING = ("train", "say")
NAMED = 8  # missing runs that are listed by name


def reproduce(
    chosen: Sequence[Exhibit],
    out: Path,
    *,
    store: Store,
    seeds: Sequence[int],
    missing: str,
) -> Path:
    """Lay out some exhibits of one paper.

    An exhibit whose results are all saved needs no data. One that has to be computed uses the
    shared data or, without it, the bundled stories at a size of minutes. Where `missing` is
    ``train``, what has no result is run; ``say`` names it on the page. Returns the page's path.

    Raises:
        InputError: `missing` is neither.
    """
    if missing not in MISSING:
        raise InputError(f"missing={missing}: expected {' or '.join(MISSING)}")
    paper = chosen[0].paper
    shared = Setting("shared", tuple(seeds))
    use_shared = missing == "say" or shared_data(*COLLECTIONS[paper])
    settings = {}
    for exhibit in chosen:
        complete = use_shared or not store.missing(shared, exhibit.jobs(shared))
        settings[exhibit.name] = (
            shared if complete else Setting("stories", shared.seeds[:1])
        )
    if missing == "train":
        for setting in dict.fromkeys(settings.values()):
            own = [exhibit for exhibit in chosen if settings[exhibit.name] == setting]
            _train(
                store,
                setting,
                [job for exhibit in own for job in exhibit.jobs(setting)],
            )
    made = []
    for exhibit in chosen:
        setting = settings[exhibit.name]
        jobs = list(exhibit.jobs(setting))
        results = store.results(setting, jobs)
        line = ""
        if waiting := [job for job in jobs if job.name not in results]:
            names = ", ".join(job.name for job in waiting[:NAMED])
            more = f" and {len(waiting) - NAMED} more" if len(waiting) > NAMED else ""
            line = (
                f"{len(waiting)} of {len(jobs)} runs; python -m papers "
                f"paper={paper} {exhibit.kind}={exhibit.key} missing=train makes them in "
                f"about {duration(sum(job.minutes for job in waiting))} of one processor core"
            )
            log.warning("%s: no results of %s: %s%s", exhibit.name, line, names, more)
        bundled = setting.data == "stories" and bool(jobs)
        content = exhibit.lay_out(results)
        results_used = list(results.by_job.values())
        made.append(Made(exhibit, content, results_used, bundled, line))
    return write_folder(out, paper, made)


def _train(store: Store, setting: Setting, jobs: Sequence[Job]) -> None:
    """Run what is missing, each job once: exhibits share runs."""
    jobs = list({job.name: job for job in jobs}.values())
    waiting = store.missing(setting, jobs)
    if not waiting:
        return
    minutes = sum(job.minutes for job in waiting)
    log.info(
        "%d of %d runs are missing: about %s of one processor core; an interrupted command "
        "continues where it stopped",
        len(waiting),
        len(jobs),
        duration(minutes),
    )
    started = time.monotonic()
    for place, job in enumerate(store.make(setting, jobs), start=1):
        minutes -= job.minutes
        left = (
            f"about {duration(minutes)} left" if place < len(waiting) else "all of them"
        )
        took = duration((time.monotonic() - started) / 60)
        log.info(
            "%d/%d %s done after %s; %s", place, len(waiting), job.name, took, left
        )


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
