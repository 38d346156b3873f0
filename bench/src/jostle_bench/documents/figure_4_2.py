"""Figure 4.2 of the thesis: five trees on three tables, with splits as the thesis has them and as jostle has them.

The thesis splits every attribute into all of its values at once; its mean numbers of branches (20, 3.375 and 4.88) say how
many those are. jostle cuts numbers in two, and has one more branch for values that the schema does not name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np

from jostle.learn import get
from jostle.learn.public_tables import Parts, error, parts
from jostle.learn.task import Task
from jostle.schema import Category
from jostle_bench.documents.thesis import TABLES

FIVE: Final = ("FriedmanSchuster", "Mohammed", "Jagannathan", "PatilSingh", "FletcherIslam")
"""A1 to A5, in the order of the thesis."""

AS_PUBLISHED: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = tuple((name, {}) for name in FIVE)
"""Without settings of ours."""

YEARS: Final = 5
"""Ages in spans of five years: with 15 numbers of children, that gives the thesis' mean of 4.88 branches."""

VARIANTS: Final[Mapping[str, tuple[tuple[str, Mapping[str, Any]], ...]]] = {
    "nursery": tuple(("Mohammed", {"depth": depth}) for depth in (1, 2, 3, 4, 6))
    + tuple(("FriedmanSchuster", {"prune": prune}) for prune in (True, False)),
    "contraceptive": tuple(("Jagannathan", {"trees": trees}) for trees in (1, 3, 10, 30))
    + tuple(("FriedmanSchuster", {"prune": prune}) for prune in (True, False)),
}
"""What the thesis leaves open where curves do not come out: A2's depth, A3's trees, and A1's pruning."""


class MultiwayTask(Task):
    """A task whose attributes have a branch for each of their values, and none besides."""

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        return {name: self.columns[name].values for name in self.attributes} | {self.label: self.label_cells}


@lru_cache(maxsize=2)
def multiway(table: str, seed: int) -> Parts:
    """A split table with categories alone.

    Numbers of children are categories of their own, and ages are in spans of five years.
    """
    task, *both = parts(table, seed)
    columns, codes = dict(task.columns), [dict(part) for part in both]
    for name in task.attributes:
        values = np.concatenate([part[name] for part in both])
        if task.is_numeric(name):
            if name.endswith("age"):
                codes = [part | {name: part[name] // YEARS} for part in codes]
            else:
                found = np.unique(values)
                codes = [part | {name: np.searchsorted(found, part[name])} for part in codes]
            columns[name] = Category(list(range(1 + max(int(part[name].max()) for part in codes))))
    return MultiwayTask(task.attributes, task.label, columns), codes[0], codes[1]


def branches(table: str) -> float:
    """The mean number of branches, which the thesis states."""
    task = multiway(table, 0)[0]
    return float(np.mean([task.sizes[name] for name in task.attributes]))


@dataclass(frozen=True)
class Curve:
    """Misclassified records of one algorithm on one table, in the mean over splits, for each ε."""

    table: str
    learner: str
    settings: str
    errors: tuple[float, ...]


def curves(
    table: str,
    epsilons: Sequence[float],
    splits: int,
    *,
    as_printed: bool,
    ways: Sequence[tuple[str, Mapping[str, Any]]] = AS_PUBLISHED,
) -> list[Curve]:
    """The algorithms on a table, with multiway splits or with ours."""
    found = []
    for name, settings in ways:
        errors = np.empty((len(epsilons), splits))
        for split in range(splits):
            task, train, test = (multiway if as_printed else parts)(table, split)
            for at, epsilon in enumerate(epsilons):
                seed = 1_000 * split + round(100 * epsilon)
                errors[at, split] = error(
                    get(name), task, train, test, epsilon, seed=seed, neighbours="add_remove", **settings
                )
        said = ", ".join(f"{key} = {value}" for key, value in settings.items())
        found.append(Curve(table, name, said, tuple(float(value) for value in errors.mean(axis=1))))
    return found


def as_markdown(epsilons: Sequence[float], splits: int) -> str:
    """The figure as a table, and what becomes of A2 and A3 under other readings."""
    head = " | ".join(f"ε = {epsilon:g}" for epsilon in epsilons)
    rule = f"| --- | --- | --- |{' ---: |' * len(epsilons)}"
    lines = ["## figure 4.2", "", f"| table | splits | algorithm | {head} |", rule]
    for table in TABLES:
        for as_printed in (True, False):
            how = f"multiway ({branches(table):.3g} branches)" if as_printed else "ours"
            lines += [_line(one, how, one.learner) for one in curves(table, epsilons, splits, as_printed=as_printed)]
    lines += ["", "## other readings", "", f"| table | algorithm | settings | {head} |", rule]
    for table, ways in VARIANTS.items():
        lines += [
            _line(one, one.learner, one.settings) for one in curves(table, epsilons, splits, as_printed=True, ways=ways)
        ]
    return "\n".join(lines) + "\n"


def _line(one: Curve, *cells: str) -> str:
    return f"| {one.table} | {' | '.join(cells)} | {' | '.join(f'{error:.3f}' for error in one.errors)} |"
