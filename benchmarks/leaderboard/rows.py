"""The rows of the table, as rows.yaml lists them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_module
from omegaconf import OmegaConf

import siamese_news
from benchmarks.leaderboard.sweep import known, sweep_models
from siamese_news.errors import InputError
from siamese_news.utils.checksums import SUMS

SHIPPED = ("shipped", "beside", "second_look", "rank")
"""Kinds of rows with the model that ships."""

KINDS = (
    "glove",
    "bm25",
    "tfidf",
    "ngrams",
    "minilm",
    "mpnet",
    "mix",
    "model",
    *SHIPPED,
)
PRETRAINED = Path(siamese_news.__file__).parent / "pretrained"
ROOT = Path(__file__).parents[2]
CONFIG = "config.json"


@dataclass(frozen=True)
class Row:
    """One system of the table.

    Attributes:
        name: short name; also the folder below the models' folder for kind ``model``.
        title: what the table calls it.
        kind: one of `KINDS`.
        options: of the system, fixed beforehand. ``of`` names the two rows of a ``mix``;
            ``encoder`` the sentence encoder of a ``beside`` or a ``second_look``. With
            ``distinct`` the articles tell different stories (``rank --distinct``), with ``rivals``
            a post falls where it fits an unrelated article better. A ``rank`` is the whole ranking,
            with the star's second look, of each article alone or of all ``together``.
        weights: for a ``mix``, the values of ``weight`` from which dev pools choose.
        tests: the tests it is scored on.
        peer: whether a user could have it without us: the strongest of these is what the paired
            tests compare with.
        minutes: minutes of training, if no model card names them.
        sweep: the runs of `papers.ast` that are a ``model`` (`benchmarks.leaderboard.sweep`).
        train: overrides of ``python -m siamese_news.train`` that make a ``model``; it has none of
            ``seed`` and ``hydra.run.dir``.
        seeds: seeds of the trainings.
        folder: the model folder of a ``model`` that is in the repository.
    """

    name: str
    title: str
    kind: str
    tests: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    weights: tuple[float, ...] = ()
    peer: bool = False
    minutes: float | None = None
    sweep: Mapping[str, str] | None = None
    train: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0, 1, 2)
    folder: str | None = None


@dataclass(frozen=True)
class HeldOut:
    """A test whose texts the background and the model that ships hold: there both do without.

    Attributes:
        folder: the folder of data that is left out.
        train: overrides of ``python -m siamese_news.train`` that made the model that ships.
        seeds: seeds of the trainings.
    """

    folder: str
    train: tuple[str, ...]
    seeds: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Board:
    """Rows and tests, with the background and the vectors that all of them use.

    Attributes:
        rows: name -> row, in the order of the table.
        tests: names of the tests.
        background: an option of conf/data, or its plain values; its training texts give the
            background IDF.
        vectors: plain values of an option of conf/vectors.
        models: the folder of trained models.
        sweep: the folder of the runs of the sweep.
        held_out: test -> what is left out for it.
        shipped: the folder of the model that ships, or of trained models that stand for it.
    """

    rows: dict[str, Row]
    tests: tuple[str, ...]
    background: str | dict[str, Any]
    vectors: dict[str, Any]
    models: Path
    sweep: Path
    held_out: Mapping[str, HeldOut] = field(default_factory=dict)
    shipped: Path = PRETRAINED

    def for_test(self, test: str) -> "Board":
        """The board as it is for a test: without what is held out for it."""
        if test not in self.held_out:
            return self
        return replace(
            self,
            background={**option("data", self.background), "train": self._train(test)},
            held_out={},
            shipped=self.models / self.stand_in(test).name,
        )

    def stand_in(self, test: str) -> Row:
        """What is trained in the place of the model that ships, for a test with texts held out."""
        held = self.held_out[test]
        data = f"data.train={_override(self._train(test))}"
        name = f"shipped_without_{held.folder}"
        return Row(
            name, name, "model", (test,), train=(*held.train, data), seeds=held.seeds
        )

    def _train(self, test: str) -> list[dict[str, Any]]:
        """The sources of the background without the folder that is held out."""
        entries = option("data", self.background)["train"]
        return [
            entry for entry in entries if entry["folder"] != self.held_out[test].folder
        ]

    def folders(self, row: Row) -> list[Path]:
        """The model folders of a row, one a seed; none for a peer."""
        if row.sweep is not None:
            return sweep_models(row.sweep, self.sweep)
        if row.kind not in ("model", *SHIPPED):
            return []
        if row.folder is not None:
            return [ROOT / row.folder]
        place = self.models / row.name if row.kind == "model" else self.shipped
        return sorted(checksum.parent for checksum in place.rglob("SHA256SUMS"))

    def described(self, row: Row, choices: Mapping[str, Any]) -> dict[str, Any]:
        """Everything that the row's scores depend on, as plain values."""
        description: dict[str, Any] = {
            "kind": row.kind,
            "options": {**row.options, **choices},
        }
        if row.kind in ("model", *SHIPPED):
            description["models"] = list(map(scores_sha256, self.folders(row)))
        if row.kind == "mix":
            parts = [self.rows[name] for name in row.options["of"]]
            description["parts"] = {
                part.name: self.described(part, {}) for part in parts
            }
        if row.kind in ("glove", "bm25", "tfidf", "mix"):
            description["texts"] = {
                "background": self.background,
                "vectors": self.vectors,
            }
        return description


def scores_sha256(folder: Path) -> str:
    """A hash of everything in a model folder that its scores depend on, and of its card.

    The table of relevance is left out: it translates the scores and changes none.
    """
    sums = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    config.pop("calibration", None)
    files = [line for line in sums if not line.endswith(f" {CONFIG}")]
    text = json.dumps([files, config], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_board(path: Path, models: Path, sweep: Path) -> Board:
    """Read rows.yaml.

    Raises:
        InputError: for an unknown kind, or a mixture of rows that are not there.
    """
    table: Any = OmegaConf.to_container(
        OmegaConf.create(path.read_text(encoding="utf-8"))
    )
    tests = tuple(table["tests"])
    rows = {}
    for name, values in table["rows"].items():
        lists = {
            "tests": tuple(values.get("tests", tests)),
            "weights": values.get("weights", ()),
        }
        lists |= {
            key: tuple(values[key]) for key in ("train", "seeds") if key in values
        }
        row = Row(name=name, **{**values, **lists})
        if row.kind not in KINDS:
            raise InputError(
                f"{path}: row {name} is of kind {row.kind!r}; expected one of {KINDS}"
            )
        kinds = [
            table["rows"].get(part, {}).get("kind")
            for part in row.options.get("of", ())
        ]
        if row.kind == "mix" and (
            len(kinds) != 2 or not set(kinds) <= set(KINDS) - {"mix"}
        ):
            raise InputError(
                f"{path}: row {name} mixes {row.options.get('of')}; expected two other rows that "
                "are no mixtures themselves"
            )
        if row.weights and row.kind != "mix":
            raise InputError(
                f"{path}: row {name} has weights to choose but mixes nothing"
            )
        if row.sweep is not None and not known(row.sweep):
            raise InputError(
                f"{path}: row {name} is run {row.sweep}, which no sweep has"
            )
        rows[name] = row
    vectors = option("vectors", table["vectors"])
    held_out = {
        test: HeldOut(values["folder"], tuple(values["train"]))
        for test, values in table.get("held_out", {}).items()
    }
    return Board(rows, tests, table["background"], vectors, models, sweep, held_out)


def _override(values: Any) -> str:
    """Plain lists and mappings of short names, as Hydra reads them on a command line."""
    if isinstance(values, dict):
        return (
            "{"
            + ",".join(f"{key}:{_override(one)}" for key, one in values.items())
            + "}"
        )
    if isinstance(values, list):
        return "[" + ",".join(map(_override, values)) + "]"
    return str(values)


def option(group: str, value: str | dict[str, Any]) -> dict[str, Any]:
    """An option of conf/ by its name, as plain values; plain values are returned unchanged."""
    if not isinstance(value, str):
        return value
    with initialize_config_module("siamese_news.conf", version_base="1.3"):
        values: Any = OmegaConf.to_container(compose(f"{group}/{value}")[group])
    return dict(values)


def digest(value: Any) -> str:
    """A short hash of plain values."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
