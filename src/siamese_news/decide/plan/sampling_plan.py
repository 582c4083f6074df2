"""What every plan has in common: scores, model and corpus it rests on, and what it drew."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Self

from siamese_news.decide.plan import ledger
from siamese_news.decide.plan.files import SEAL, beside, read_sealed, write_sealed
from siamese_news.decide.plan.population import Population
from siamese_news.decide.plan.texts import Texts
from siamese_news.errors import InputError
from siamese_news.labels.matching import SampledPosts, VerdictLog
from siamese_news.labels.results import Unit, result_meta
from siamese_news.utils.files import file_sha256
from siamese_news.utils.provenance import command

ORDER = "SipHash-2-4 of the ids, keyed by purpose, seed and scores"
"""How posts get their places in the random order; a plan of another order cannot go on."""


class SamplingPlan:
    """A plan over a population.

    Args:
        plan: the content of its file.
        path: of that file.
        population: the scored posts.
        posts: files with the texts, where the results have none.
    """

    kind: ClassVar[str]

    def __init__(
        self,
        plan: dict[str, Any],
        path: Path,
        population: Population,
        posts: Sequence[Path] | None = None,
    ) -> None:
        self.plan = plan
        self.path = path
        self.population = population
        self.results = population.path
        self.texts = Texts(population, posts)
        self.sampled = SampledPosts(beside(path, "drawn.jsonl"), plan[SEAL])
        self.log = VerdictLog(beside(path, "verdicts.jsonl"))

    @classmethod
    def _fix(
        cls,
        path: Path,
        population: Population,
        settings: Mapping[str, Any],
        *,
        error: Fraction,
        own: Mapping[str, Any],
        posts: Sequence[Path] | None,
        again: bool,
        criteria: str,
        withdraw: Sequence[Path] = (),
    ) -> Self:
        """Register a plan and write its file.

        Args:
            path: of the plan: a new file, or one with the very same plan.
            population: the scored posts.
            settings: what the user chose.
            error: the chance that it says something wrong, at most.
            own: what only this kind of plan fixes.
            posts: files with the texts.
            again: whether this may be a further plan over the same scores.
            criteria: what counts as relevant.
            withdraw: earlier plans that this one replaces; their sheets are refused from now on.

        Raises:
            InputError: for a plan that may not be.
        """
        results = population.path
        scores = file_sha256(results)
        entry = ledger.entry_of(cls.kind, scores, settings)
        if path.exists():
            old = read_sealed(path, "plan")
            if old["settings"] != entry["settings"] or old["population"]["sha256"] != scores:
                raise InputError(f"{path}: another plan stands there; name another --out")
        earlier = ledger.register(
            population,
            entry,
            error=error,
            plan=path,
            criteria=criteria,
            again=again,
            withdraw=withdraw,
        )
        plan = {
            "format": "siamese_news plan 1",
            "kind": cls.kind,
            "order": ORDER,
            "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
            "command": command(),
            "settings": dict(settings),
            "population": {
                "file": results.name,
                "posts": len(population),
                "sha256": scores,
                "pairs": population.pairs,
            },
            "sets": [len(population)],
            "cuts": [float(population.scores[-1])],
            "model": model_of(results),
            "corpus": [{"file": str(p), "sha256": file_sha256(p)} for p in posts or []],
            "earlier": earlier,
            "criteria": criteria,
            **own,
        }
        if not path.exists():
            write_sealed(path, plan)
        return cls(read_sealed(path, "plan"), path, population, posts)

    @classmethod
    def resume(
        cls, path: Path, *, results: Path | None = None, posts: Sequence[Path] | None = None
    ) -> Self:
        """Take a plan up again, if nothing it rests on has changed.

        Args:
            path: of the plan.
            results: the scored posts, where they do not lie beside the plan.
            posts: files with the texts, where they have moved.

        Raises:
            InputError: where the plan, the scores, the model or the corpus changed: says what.
        """
        plan = read_sealed(path, "plan")
        if plan.get("kind") != cls.kind:
            raise InputError(
                f"{path}: a plan of kind {plan.get('kind')!r}, expected {cls.kind!r}; sheets of "
                "sample are for certify, those of audit for audit"
            )
        if plan.get("order") != ORDER:
            raise InputError(
                f"{path}: another version of the program made this plan, with another random "
                "order; finish with the version that made it"
            )
        given = results or path.with_name(plan["population"]["file"])
        corpus = list(posts) if posts else [Path(f["file"]) for f in plan["corpus"]]
        population = check_unchanged(plan, given, corpus)
        ledger.refuse_withdrawn(path, plan, given)
        return cls(plan, path, population, corpus)

    def units(self, ranks: Sequence[int]) -> list[Unit]:
        """The posts at these ranks, with texts."""
        return self.texts.units(ranks)

    @property
    def earlier_error(self) -> Fraction:
        """The chance that one of the earlier plans over the same scores says something wrong."""
        return sum((Fraction(plan["error"]) for plan in self.plan["earlier"]), Fraction(0))


def model_of(results: Path) -> dict[str, str] | None:
    """Which model scored the posts, if that stands beside them."""
    try:
        model = result_meta(results)["provenance"]["model"]
        return {"folder": str(model["folder"]), "sha256": str(model["sha256"])}
    except (InputError, KeyError, TypeError):
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
