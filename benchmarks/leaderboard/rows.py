"""The rows of the table, as rows.yaml lists them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

import siamese_news
from benchmarks.leaderboard.sweep import known, sweep_models
from siamese_news.errors import InputError
from siamese_news.model.folder import folder_sha256

KINDS = ("glove", "bm25", "tfidf", "minilm", "mix", "model", "shipped", "beside")


@dataclass(frozen=True)
class Row:
    """One system of the table.

    Attributes:
        name: short name; also the folder below the models' folder for kind ``model``.
        title: what the table calls it.
        kind: one of `KINDS`.
        options: of the system, fixed beforehand. ``of`` names the two rows of a ``mix``.
        weights: for a ``mix``, the values of ``weight`` from which dev pools choose.
        tests: the tests it is scored on.
        peer: whether a user could have it without us: the strongest of these is what the paired
            tests compare with.
        minutes: minutes of training, if no model card names them.
        sweep: ``encoder`` and ``split`` of the runs of `siamese_news.reproduction.ast.sweep` that
            are a ``model``.
        train: overrides of ``python -m siamese_news.train`` that make a ``model``; it has none of
            ``seed`` and ``hydra.run.dir``.
        seeds: seeds of the trainings.
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


@dataclass(frozen=True)
class Board:
    """Rows and tests, with the background and the vectors that all of them use.

    Attributes:
        rows: name -> row, in the order of the table.
        tests: names of the tests.
        background: an option of conf/data; its training texts give the background IDF.
        vectors: plain values of an option of conf/vectors.
        models: the folder of trained models.
        sweep: the folder of the runs of the sweep.
    """

    rows: dict[str, Row]
    tests: tuple[str, ...]
    background: str
    vectors: dict[str, Any]
    models: Path
    sweep: Path

    def folders(self, row: Row) -> list[Path]:
        """The model folders of a row, one a seed; none for a peer."""
        if row.kind in ("shipped", "beside"):
            folder = Path(siamese_news.__file__).parent / "pretrained"
            return [folder] if folder.is_dir() else []
        if row.kind != "model":
            return []
        if row.sweep is not None:
            return sweep_models(row.sweep, self.sweep)
        return sorted(checksum.parent for checksum in (self.models / row.name).rglob("SHA256SUMS"))

    def described(self, row: Row, choices: Mapping[str, Any]) -> dict[str, Any]:
        """Everything that the row's scores depend on, as plain values."""
        description: dict[str, Any] = {"kind": row.kind, "options": {**row.options, **choices}}
        if row.kind in ("model", "shipped", "beside"):
            description["models"] = [folder_sha256(folder) for folder in self.folders(row)]
        if row.kind == "mix":
            parts = [self.rows[name] for name in row.options["of"]]
            description["parts"] = {part.name: self.described(part, {}) for part in parts}
        if row.kind in ("glove", "bm25", "tfidf", "mix"):
            description["texts"] = {"background": self.background, "vectors": self.vectors}
        return description


def read_board(path: Path, models: Path, sweep: Path) -> Board:
    """Read rows.yaml.

    Raises:
        InputError: for an unknown kind, or a mixture of rows that are not there.
    """
    table = _plain(path.read_text(encoding="utf-8"))
    tests = tuple(table["tests"])
    rows = {}
    for name, values in table["rows"].items():
        lists = {"tests": tuple(values.get("tests", tests)), "weights": values.get("weights", ())}
        lists |= {key: tuple(values[key]) for key in ("train", "seeds") if key in values}
        row = Row(name=name, **{**values, **lists})
        if row.kind not in KINDS:
            raise InputError(f"{path}: row {name} is of kind {row.kind!r}; expected one of {KINDS}")
        kinds = [table["rows"].get(part, {}).get("kind") for part in row.options.get("of", ())]
        if row.kind == "mix" and (len(kinds) != 2 or not set(kinds) <= set(KINDS) - {"mix"}):
            raise InputError(
                f"{path}: row {name} mixes {row.options.get('of')}; expected two other rows that "
                "are no mixtures themselves"
            )
        if row.weights and row.kind != "mix":
            raise InputError(f"{path}: row {name} has weights to choose but mixes nothing")
        if row.sweep is not None and not known(row.sweep):
            raise InputError(f"{path}: row {name} is run {row.sweep}, which the sweep has not")
        rows[name] = row
    vectors = option("vectors", table["vectors"])
    return Board(rows, tests, table["background"], vectors, models, sweep)


def option(group: str, value: str | dict[str, Any]) -> dict[str, Any]:
    """An option of conf/ by its name, as plain values; plain values are returned unchanged."""
    if not isinstance(value, str):
        return value
    file = resources.files("siamese_news.conf") / group / f"{value}.yaml"
    return _plain(file.read_text(encoding="utf-8"))


def _plain(text: str) -> dict[str, Any]:
    values: Any = OmegaConf.to_container(OmegaConf.create(text))
    return dict(values)


def digest(value: Any) -> str:
    """A short hash of plain values."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
