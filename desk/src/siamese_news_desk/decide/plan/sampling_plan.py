"""The parts of every kind of plan: scores, model and corpus it rests on, and the drawn posts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from secrets import token_hex
from typing import Any, ClassVar, Self, TypedDict, Unpack

from siamese_news.data.jsonl import plain_value
from siamese_news.data.readers.inputs import input_paths
from siamese_news.data.readers.stream import SUFFIXES
from siamese_news.data.results import column_names, result_meta
from siamese_news.errors import InputError
from siamese_news.utils.checked_json import converted, fitting
from siamese_news.utils.files import file_sha256
from siamese_news.utils.provenance import command
from siamese_news.utils.terminal import counted
from siamese_news_desk.decide.plan import ledger
from siamese_news_desk.decide.plan.plan_fields import PLANS, Charge
from siamese_news_desk.decide.plan.population import Population
from siamese_news_desk.decide.plan.remedies import ANOTHER_FILE, PlanRefused
from siamese_news_desk.decide.plan.sealed_files import (
    SEAL,
    name_for,
    named_by,
    read_sealed,
    refuse_inputs,
    sibling,
    write_sealed,
)
from siamese_news_desk.decide.plan.sketch import Sketch
from siamese_news_desk.decide.plan.texts import Texts
from siamese_news_desk.labels.matching import SampledPosts, VerdictLog

# How the random order is drawn; a plan with another order cannot be resumed.
ORDER = "SipHash-2-4 of the ids, keyed by purpose, seed and scores"

_STUDY = 16  # bytes

# The column of a learned order that has the ranks in the order of the search.
BEFORE = "rank_before"


class PlanOptions(TypedDict, total=False):
    """Options of every kind of plan.

    Attributes:
        posts: files or folders with the texts, if the results have none.
        another_plan: allow a further plan over the same posts.
        withdraw: earlier plans that this one replaces; their sheets are refused from then on.
        criteria: what counts as relevant.
        needs_texts: refuse posts without texts, because somebody is to read them.
    """

    posts: Sequence[Path] | None
    another_plan: bool
    withdraw: Sequence[Path]
    criteria: str
    needs_texts: bool


class SamplingPlan:
    """A plan, with the content of its file, over a population of scored posts."""

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
        seal, copy = ledger.question_of(plan)
        self.sampled = SampledPosts(
            sibling(path, "drawn.jsonl"),
            seal,
            learned_from=learned_from(self.results),
            journal=plan[SEAL],
        )
        self.log = VerdictLog(self.sampled, sibling(path, "verdicts.jsonl"), copy)
        units = plan["population"]["posts"], plan["population"]["pairs"]
        try:
            if units != (len(population), population.pairs):
                raise InputError(
                    "its number of posts is not that of the scores; restore it"
                )
            self._prepare()
        except PlanRefused as refused:
            raise PlanRefused(f"{path}: {refused.cause}", refused.remedy) from refused
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    def _prepare(self) -> None:
        """Read the settings, and compare what follows from them and the scores with the plan.

        Each kind of plan has its own settings.

        Raises:
            InputError: a setting is impossible, or the plan does not match the scores.
        """

    @classmethod
    def _fix(
        cls,
        path: Path,
        population: Population,
        settings: Mapping[str, Any],
        *,
        error: Fraction,
        fields_of_kind: Mapping[str, Any] | None = None,
        **options: Unpack[PlanOptions],
    ) -> Self:
        """Register a plan and write its file: a new one, or one with this very plan.

        `error` is the largest probability that it leads to a wrong statement; `fields_of_kind` are
        the fields of the file that only this kind of plan has.
        """
        results = population.path
        posts = _files(options.get("posts") or [])
        criteria = options.get("criteria", "").strip()
        refuse_inputs(path, [results, *posts])
        plan: dict[str, Any] = {
            "format": "siamese_news plan 1",
            "kind": cls.kind,
            "order": ORDER,
            "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
            "command": command(),
            "settings": dict(settings),
            "population": {
                "file": name_for(path, results),
                "posts": len(population),
                "sha256": file_sha256(results),
                "pairs": population.pairs,
            },
            "sets": [len(population)],
            "cuts": [float(population.scores[-1])],
            "model": model_of(results),
            "corpus": [
                {"file": name_for(path, p), "sha256": file_sha256(p)} for p in posts
            ],
            "error": str(error),
            **asdict(Charge([], [], 0, 0, "")),
            "criteria": criteria if ledger.plain_criteria(criteria) else "",
            **(fields_of_kind or {}),
        }
        plan = plain_value(plan)  # names and arguments that are not UTF-8
        texts = Texts(population, posts)
        sketch = Sketch.of(population, texts)
        if not sketch.tells:
            plan["population"]["study"] = token_hex(_STUDY)
        try:  # a plan that cannot be read again must not enter the lists
            fitting(plan, PLANS[cls.kind])
        except ValueError as misfit:
            raise InputError(
                f"{path}: no plan can have this value ({misfit}); choose another"
            ) from None
        if path.exists():
            old = read_sealed(path, "plan")
            plan["criteria"] = plan["criteria"] or old["criteria"]
            if "study" in plan["population"]:
                plan["population"]["study"] = old["population"].get("study", "")
            if ledger.identity(old) != ledger.identity(plan):
                settings_of = [
                    {**p["settings"], "criteria": p["criteria"]} for p in (old, plan)
                ]
                changed = "; ".join(ledger.changes(*settings_of))
                raise PlanRefused(
                    f"{path}: this file has another plan{changed and f' ({changed})'}; ",
                    ANOTHER_FILE,
                )
        if options.get("needs_texts"):
            texts.expect_any()
        charged = ledger.register(
            population,
            sketch,
            plan,
            path,
            another_plan=options.get("another_plan", False),
            withdraw=options.get("withdraw", ()),
        )
        plan |= asdict(charged)
        if not path.exists():
            write_sealed(path, plan)
        return cls(read_sealed(path, "plan"), path, population, posts)

    @classmethod
    def resume(
        cls,
        path: Path,
        *,
        results: Path | None = None,
        posts: Sequence[Path] | None = None,
    ) -> Self:
        """Continue a plan if nothing that it rests on has changed.

        `results` and `posts` name the scored posts and the files with their texts if they moved.

        Raises:
            InputError: the plan, the scores, the model or the corpus changed, or the plan was
                withdrawn.
        """
        plan = read_sealed(path, "plan")
        if plan.get("kind") != cls.kind:
            raise InputError(
                f"{path}: a plan of kind {plan.get('kind')!r}, expected {cls.kind!r}; use certify "
                "for sheets of sample, and audit for sheets of audit"
            )
        if plan.get("order") != ORDER:
            raise InputError(
                f"{path}: another version of the program made this plan, with another random "
                "order; finish with that version"
            )
        scored = results or named_by(path, plan["population"]["file"])
        listed = [named_by(path, corpus_file["file"]) for corpus_file in plan["corpus"]]
        corpus = _files(posts) if posts else listed
        refuse_inputs(path, [scored, *corpus])
        population = _unchanged(plan, scored, corpus)
        ledger.refuse_withdrawn(path, plan, scored)
        return cls(plan, path, population, corpus)

    @property
    def fixes_criteria(self) -> bool:
        """Whether what counts as relevant is fixed, even where the plan says nothing of it."""
        return True

    def expect_criteria(self, criteria: str) -> None:
        """Refuse other criteria than those that the plan fixes; without any, its own are meant.

        Raises:
            InputError: labels for the new criteria would count for what the plan says.
        """
        planned = self.plan["criteria"]
        new_words, planned_words = map(ledger.plain_criteria, (criteria, planned))
        if self.fixes_criteria and new_words and new_words != planned_words:
            was = f"was {planned!r}" if planned_words else "was left out"
            raise InputError(
                f"{self.path}: criteria {was}, is {criteria!r}. What counts as relevant is fixed with "
                "the plan: leave the new criteria out, or make another plan with them, which pays "
                "for this one if it is over the same posts"
            )

    @property
    def charged(self) -> Charge:
        """What the plan pays for, and what its findings must name."""
        return converted(self.plan, Charge)

    @property
    def earlier_error(self) -> Fraction:
        """The probability that an earlier plan over the same posts led to a wrong statement."""
        return sum(
            (Fraction(plan["error"]) for plan in self.charged.earlier), Fraction(0)
        )


def model_of(results: Path) -> dict[str, str] | None:
    """The model that scored the posts, if the file next to the results names it."""
    try:
        model = result_meta(results)["provenance"]["model"]
        return {"folder": str(model["folder"]), "sha256": str(model["sha256"])}
    except (InputError, KeyError, TypeError):
        return None


def learned_from(results: Path) -> list[str] | None:
    """The posts whose labels made the order, which the file next to the results names.

    None for a learned order without that file: the label of any post may have made it.
    """
    try:
        meta: Any = result_meta(results)
        return list(map(str, meta["feedback"]["learned_from"]))
    except (InputError, KeyError, TypeError):
        return None if BEFORE in column_names(results) else []


def _files(paths: Sequence[Path]) -> list[Path]:
    """The files themselves, also those of folders: each has a hash of its own in the plan."""
    files = [path for path in input_paths(paths, SUFFIXES) if path is not None]
    if len(files) < len(paths):
        raise InputError(
            "--posts names standard input or a file twice; expected different files"
        )
    return files


def _unchanged(
    plan: dict[str, Any], results: Path, corpus: Sequence[Path]
) -> Population:
    """The population of a plan; an error names the scores, model or corpus if they changed."""
    if not results.exists():
        raise InputError(
            f"{results}: no such file; name the scored posts with --results"
        )
    if file_sha256(results) != plan["population"]["sha256"]:
        raise InputError(f"{results}: {_changes(plan, results)}. {_NEW}")
    model = model_of(results)
    if plan["model"] and model and model["sha256"] != plan["model"]["sha256"]:
        raise InputError(
            f"{results}.meta.json: the model was {plan['model']['sha256'][:12]}, is "
            f"{model['sha256'][:12]}. {_NEW}"
        )
    if plan["corpus"] and len(plan["corpus"]) != len(corpus):
        raise InputError(
            f"the plan was made with {counted(len(plan['corpus']), 'file')} of posts, and --posts "
            f"names {len(corpus)}; expected the same files"
        )
    for was, now in zip(plan["corpus"], corpus, strict=False):
        if not now.exists():
            raise InputError(f"{now}: no such file; name the corpus with --posts")
        if file_sha256(now) != was["sha256"]:
            raise InputError(
                f"{now}: the corpus changed after the plan was made. {_NEW}"
            )
    return Population(results)


_NEW = (
    "A certificate is only valid for the scores that were planned for; restore them, or make a new "
    "plan with sample --again"
)


def _changes(plan: dict[str, Any], results: Path) -> str:
    population = Population(results)
    n_planned = plan["population"]["posts"]
    n_posts = len(population)
    if n_planned != n_posts:
        return f"the scores changed after the plan was made: {n_planned:,} posts then, {n_posts:,} now"
    for size, cut in zip(plan["sets"], plan["cuts"], strict=False):
        if size > n_posts:
            break
        score = float(population.scores[size - 1])
        if score != cut:
            return f"the scores changed: that of post {size:,} from the top was {cut}, is {score}"
    return "the file changed after the plan was made (its rows, ids or texts, or its compression)"
