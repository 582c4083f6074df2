"""Which posts were drawn: written down before anybody sees them."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from siamese_news.decide.journal import Journal
from siamese_news.decide.population import Unit


@dataclass(frozen=True, slots=True)
class Drawn:
    """One drawn unit.

    Attributes:
        key: what stands in a sheet for it; no spreadsheet takes it for a number.
        name: what the population knows it by.
        part: what it was drawn for, where a plan has several samples; else empty.
    """

    key: str
    name: str
    part: str = ""

    @property
    def post(self) -> str:
        """The post's id."""
        return self.name.rpartition("\t")[2]

    @property
    def article(self) -> str:
        """The article's id; empty where units are posts."""
        return self.name.rpartition("\t")[0]


class DrawnFile:
    """The drawn units of a plan, in the order in which they were drawn; only ever longer.

    Args:
        path: JSON lines; need not be there yet.
        plan: the seal of the plan that it belongs to.

    Raises:
        InputError: for a damaged file.
    """

    def __init__(self, path: Path, plan: str) -> None:
        self.path = path
        self._plan = plan
        self.by_key: dict[str, Drawn] = {}
        self.by_name: dict[str, Drawn] = {}
        self._journal = Journal(path)
        for number, row in self._journal.rows:
            try:
                parts = (row["key"], row["name"], row.get("part", ""))
                if not all(isinstance(part, str) for part in parts):
                    raise TypeError("key, name and part are no texts")
            except (KeyError, TypeError) as error:
                raise self._journal.damaged(number, error) from error
            self._take(Drawn(*parts))

    def __len__(self) -> int:
        return len(self.by_key)

    def draw(self, units: Iterable[Unit], part: str = "") -> list[Drawn]:
        """Write units down that are not yet there; returns all of them."""
        found, new = [], []
        for unit in units:
            drawn = self.by_name.get(unit.name)
            if drawn is None:
                drawn = Drawn(self._key(unit.name), unit.name, part)
                self._take(drawn)
                new.append(drawn)
            found.append(drawn)
        if new:
            self._journal.append(
                {"key": one.key, "name": one.name} | ({"part": one.part} if one.part else {})
                for one in new
            )
        return found

    def of_part(self, part: str) -> Sequence[Drawn]:
        """The units that were drawn for one sample."""
        return [drawn for drawn in self.by_key.values() if drawn.part == part]

    def _take(self, drawn: Drawn) -> None:
        self.by_key[drawn.key] = drawn
        self.by_name[drawn.name] = drawn

    def _key(self, name: str) -> str:
        for length in range(8, 33):
            # A letter first, so that nobody reads 12e45678 as a number.
            key = "k" + hashlib.blake2b(f"{self._plan}\t{name}".encode()).hexdigest()[:length]
            if key not in self.by_key:
                return key
        raise AssertionError("two posts have one key")
