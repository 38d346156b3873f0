"""Metafeatures that nobody wrote: composed of tables, filters, groups, norms, counts and ratios, in one stage or two.

Each is a text in the notation of `metafeature`: its sensitivity is derived, and it can be written down and used again.

>>> one_stage, *_, above_mean_and_spread, above_half = (one for one in atoms(1) if "group by" not in one.text)
>>> one_stage.text
'{{select sum(values) from db}}'
>>> above_half.text
'{{select count(values) from db where values > {{select max(values) from db}} / 2}}'
>>> above_mean_and_spread.feature().value([1, 1, 1, 9]), above_mean_and_spread.stages
(1.0, 3)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from jostle.choice.metafeatures import Metafeature, metafeature
from jostle.choice.questions import MetafeatureQuestion
from jostle.kernel.records import ArrayColumns

# ruff: noqa: S608  # these texts are read by jostle's own strict reader, and never reach a database

# ruff: noqa: S608  # these texts are read by jostle's own strict reader, and never reach a database

THRESHOLDS: Final = (0, 1, 3, 10, 30, 100)
AXES: Final = ("x", "y", "z")


@dataclass(frozen=True)
class Composition:
    """A composed metafeature: a text, and for records the attributes whose histogram it is about."""

    text: str
    attributes: tuple[str, ...] = ()

    @property
    def stages(self) -> int:
        """How many private answers share its budget."""
        return self.text.count("{{")

    @property
    def name(self) -> str:
        return f"{self.text} of {', '.join(self.attributes)}" if self.attributes else self.text

    def feature(self) -> Metafeature:
        return metafeature(self.text, name=self.name)

    def question(self) -> MetafeatureQuestion:
        return MetafeatureQuestion(self.feature(), self.attributes)

    def over(self, other: Composition) -> Composition:
        """The ratio of two, each with half of the budget; what is below the line counts as 1 at least."""
        return Composition(f"{self.text} / max({other.text}, 1)", self.attributes)


def atoms(
    dimensions: int, *, thresholds: Sequence[int] = THRESHOLDS, attributes: tuple[str, ...] = ()
) -> Iterator[Composition]:
    """Sums, norms and counts of cells and of blocks of cells; counts above a public limit, and above a private one."""
    for table in _tables(dimensions):
        for function in ("sum", "max", "stddev", "l2", "total_variation", "median_deviation"):
            text = f"select {function}(values) from {table}"
            if table == "db" or function != "sum":  # blocks have the same sum as cells
                yield Composition(f"{{{{{text}}}}}", attributes)
        for limit in thresholds:
            yield Composition(f"{{{{select count(values) from {table} where values > {limit}}}}}", attributes)
            if table == "db":
                yield Composition(f"{{{{select sum(values) from db where values > {limit}}}}}", attributes)
        for private in _limits(table):
            yield Composition(f"{{{{select count(values) from {table} where values > {private}}}}}", attributes)


def _tables(dimensions: int) -> list[str]:
    """The cells, and blocks of the square root of each axis."""
    blocks = ", ".join(f"{axis}/sqrt({axis}_range)" for axis in AXES[:dimensions])
    return ["db", f"(select sum(values) from db group by {blocks})"]


def _limits(table: str) -> list[str]:
    """Limits that are private answers themselves, so that counting above them takes two stages."""
    mean, spread = (f"{{{{select {function}(values) from {table}}}}}" for function in ("avg", "stddev"))
    return [mean, f"{mean} + {spread}", f"{{{{select max(values) from {table}}}}} / 2"]


def ratios(found: Sequence[Composition]) -> Iterator[Composition]:
    """Each over the number of records, and each over each other one."""
    for one in found:
        yield one.over(Composition("{{select sum(values) from db}}"))
    for one, other in combinations([each for each in found if each.stages == 1], 2):
        if one.attributes == other.attributes:
            yield one.over(other)
            yield other.over(one)


def for_records(tables: Sequence[ArrayColumns], label: str | None = None) -> Iterator[Composition]:
    """Atoms about the attributes that all tables have: each alone, and with the label, if there is one."""
    shared = [name for name in tables[0].sizes if all(name in table.sizes for table in tables)]
    for name in shared:
        yield from atoms(1, thresholds=(0, 3, 30), attributes=(name,))
        if label in shared and name != label:
            yield from atoms(2, thresholds=(0, 3, 30), attributes=(name, str(label)))
