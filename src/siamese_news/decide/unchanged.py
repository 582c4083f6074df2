"""Whether scores, model and corpus are still those that a plan was made for."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from siamese_news.decide.population import Population, file_sha256
from siamese_news.errors import InputError


def model_of(results: Path) -> dict[str, str] | None:
    """Which model scored the posts, if that stands beside them."""
    meta = results.with_name(results.name + ".meta.json")
    try:
        content = json.loads(meta.read_text(encoding="utf-8"))
        model = content["provenance"]["model"]
        return {"folder": str(model["folder"]), "sha256": str(model["sha256"])}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def check_unchanged(plan: dict[str, Any], results: Path, corpus: Sequence[Path]) -> Population:
    """The population of a plan, if scores, model and corpus are what they were.

    Raises:
        InputError: says what changed.
    """
    if not results.exists():
        raise InputError(f"{results}: no such file; name the scored posts with --results")
    digest = file_sha256(results)
    if digest != plan["population"]["sha256"]:
        raise InputError(f"{results}: {_changes(plan, results)}. {_NEW}")
    model = model_of(results)
    if plan["model"] and model and model["sha256"] != plan["model"]["sha256"]:
        raise InputError(
            f"{results}.meta.json: the model was {plan['model']['sha256'][:12]}, is "
            f"{model['sha256'][:12]}. {_NEW}"
        )
    for was, now in zip(plan["corpus"], corpus, strict=False):
        if not now.exists():
            raise InputError(f"{now}: no such file; name the corpus with --posts")
        if file_sha256(now) != was["sha256"]:
            raise InputError(f"{now}: the corpus changed since the plan was made. {_NEW}")
    return Population(results)


_NEW = (
    "A certificate holds for the scores it was planned for; go back to them, or plan anew with "
    "sample --again"
)


def _changes(plan: dict[str, Any], results: Path) -> str:
    population = Population(results)
    before, now = plan["population"]["posts"], len(population)
    if before != now:
        return f"the scores changed since the plan was made: {before:,} posts then, {now:,} now"
    for size, cut in zip(plan["sets"], plan["cuts"], strict=True):
        score = float(population.scores[size - 1])
        if score != cut:
            return f"the scores changed: that of post {size:,} from the top was {cut}, is {score}"
    return "the file changed since the plan was made (rows, ids or texts, or how they are packed)"
