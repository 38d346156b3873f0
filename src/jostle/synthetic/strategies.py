"""How a synthetic table is made, and which way is chosen for which table: trees grown on public tables.

The choice sees public facts and one noisy histogram that every way begins with, so it costs nothing. The file that comes
with the package says how it was grown, and what each way is expected to lose, leaf by leaf.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from jostle.choice import files as choice_files
from jostle.choice.regret_tree import Step, Tree, walk
from jostle.kernel.budget import PURE, Price
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.schema import Column

FEATURES: Final = ("worth", "cost", "together", "columns")
"""What a choice may depend on, see `facts`."""

ABOUT: Final = MappingProxyType(
    {
        "worth": "the number of records times ε",
        "cost": "the noise that single columns gain where two fifths of the budget go to pairs, in parts of the records,",
        "together": "noise on a typical pair, in parts of the records,",
        "columns": "the number of columns",
    }
)
"""The features in words."""

SHIPPED: Final = "strategies.json"
"""The file under `synthetic/shipped`."""

LEFT: Final = 0.6
"""The share of the budget that single columns have in a typical strategy."""

WIDE: Final = 16
"""Columns with more cells are grouped later, into about this many groups."""


@dataclass(frozen=True)
class Tuning:
    """How the plan divides its budget, what it may measure, and how fine its model is: public."""

    singles: float = 0.35
    """The share of the budget for one histogram per column. With 1, nothing else is measured."""

    parents: int = 0
    """Each round joins one more column to at most this many others: 1 makes a tree, 2 a network; 0 is without bound."""

    rounds: float = 3.0
    """Without bound: the number of rounds per column that the budget is first divided by; it falls as rounds gain little."""

    choice: float = 0.25
    """The share of each round's budget for its choice."""

    penalty: float = 1.0
    """How much of the noise's absolute value is taken off a candidate's gap."""

    fine: float = 1.0
    """Cells of ordered columns are put together until they have fine · √(records × noise) records."""

    rare: float = 3.0
    """Categories with fewer than this many standard deviations of noise are put together."""

    most_groups: int = 64
    """The most groups of an ordered column."""

    cells: int = 2**20
    """The most cells of all cliques together."""


STRATEGIES: Final[Mapping[str, Tuning]] = MappingProxyType(
    {
        "single columns": Tuning(singles=1.0),
        "tree": Tuning(singles=0.5, parents=1, choice=0.2),
        "network": Tuning(singles=0.35, parents=2, choice=0.2),
        "adaptive": Tuning(),
        "adaptive, cheap choices": Tuning(choice=0.1),
        "adaptive, few rounds": Tuning(singles=0.6, rounds=1.0, choice=0.1),
    }
)
"""The ways to choose among: columns by themselves; a tree of pairs, as in MST; each column with up to two before it, as in
PrivBayes; and, as in AIM, whatever the present model explains worst."""

LEAST_SINGLES: Final = min(tuning.singles for tuning in STRATEGIES.values())
"""The least share of the budget for single columns."""


def weights(columns: Mapping[str, Column], measure: str) -> dict[str, float]:
    """Shares of each column in what is spent on single columns, so that the noise on all cells is least in absolute value.

    With shares w it is Σ cells/w under ε, and Σ cells/√w under ρ.
    """
    power = 1 / 2 if measure == PURE else 2 / 3
    found = {name: column.size**power for name, column in columns.items()}
    whole = sum(found.values())
    return {name: one / whole for name, one in found.items()}


def facts(columns: Mapping[str, Column], price: Price, neighbours: Neighbours, total: float) -> dict[str, float]:
    """Facts about a table and a budget: public, except the number of records, which is noisy and was paid for.

    `worth`: records times ε, or its like for ρ; `cost`: the noise that single columns gain where they have LEFT of the
    budget, in parts of the records; `together`: that of a typical pair if as many pairs as columns shared the budget; all as
    powers of ten. And the number of `columns`.

    >>> from jostle.schema import Boolean
    >>> two = {"a": Boolean(), "b": Boolean()}
    >>> found = facts(two, Price.of(1), Neighbours(), 1000.0)
    >>> {name: round(value, 2) for name, value in found.items()}
    {'worth': 3.0, 'cost': -2.57, 'together': -2.1, 'columns': 2.0}
    """
    worth = max(total, 1.0) * price.rate / float(neighbours.sensitivity(1, 2))
    number, sizes = len(columns), np.array([column.size for column in columns.values()], dtype=np.float64)
    power = 1 / 2 if price.measure == PURE else 2 / 3
    alone = float((sizes**power).sum()) ** (1 / power) / number / worth
    some = np.minimum(sizes, WIDE)
    pair = (some.sum() ** 2 - (some**2).sum()) / (number * (number - 1)) if number > 1 else float(some[0])
    together = float(pair) * (number if price.measure == PURE else math.sqrt(number)) / worth
    return {
        "worth": math.log10(worth),
        "cost": math.log10(alone * (1 / (LEFT if price.measure == PURE else math.sqrt(LEFT)) - 1)),
        "together": math.log10(together),
        "columns": float(number),
    }


@dataclass(frozen=True)
class ChosenStrategy:
    """A way to make a synthetic table, and how it was chosen."""

    name: str
    path: tuple[str, ...] = ()
    """The questions on the way to it, with their answers; none where it was named."""

    expected: Mapping[str, float] | None = None
    """By which share errors of each way exceeded those of the best, on public tables like this one; what is beyond those of
    single columns counts twice."""

    @property
    def tuning(self) -> Tuning:
        return STRATEGIES[self.name]

    def words(self) -> str:
        """Which way it is, and why."""
        if not self.path:
            return f"Strategy: {self.name}, as asked."
        found = f"Strategy: {self.name}, because {' and '.join(self.path)}."
        if self.expected is None:
            return found
        ranked = sorted(self.expected.items(), key=lambda one: one[1])
        losses = ", ".join(f"{100 * loss:.0f} % ({name})" for name, loss in ranked)
        return f"{found} Expected losses, from public tables like this one: {losses}."


def named(name: Any) -> ChosenStrategy:
    """The strategy of that name."""
    if not isinstance(name, str) or name not in STRATEGIES:
        raise BadInput("strategy", f"{str(name)[:60]!r} is unknown", f"use one of {', '.join(STRATEGIES)}, or leave it out")
    return ChosenStrategy(name)


@dataclass(frozen=True)
class StrategyChooser:
    """Trees that tell which way to take; several vote with what they expect."""

    options: tuple[str, ...]
    trees: tuple[Tree, ...]
    about: Mapping[str, Any]
    """How they were grown."""

    def pick(self, known: Mapping[str, float], among: Collection[str] | None = None) -> ChosenStrategy:
        """The way that is expected to lose least, of these or of all."""
        walks = [walk(tree, known.__getitem__) for tree in self.trees]
        mean = np.mean([leaf.regrets for leaf, _ in walks], axis=0)
        expected = {
            name: loss for name, loss in zip(self.options, map(float, mean), strict=True) if among is None or name in among
        }
        path = _in_words(walks[0][1])
        return ChosenStrategy(min(expected, key=expected.__getitem__), path or ("no question was needed",), expected)

    def save(self, path: Path) -> None:
        """Write the file."""
        trees = [choice_files.tree_entries(tree, digits=4, threshold_digits=5) for tree in self.trees]
        document = {"about": dict(self.about), "options": list(self.options), "trees": trees}
        path.write_text(choice_files.written(document), encoding="utf-8")


def _in_words(steps: Sequence[Step]) -> tuple[str, ...]:
    """Questions and answers, one for each feature, with numbers as people know them: most features are powers of ten.

    >>> _in_words([Step("columns", 5.0, "≤ 9"), Step("worth", 3.0, "> 2"), Step("columns", 5.0, "> 4")])
    ('the number of columns is 5 (≤ 9, > 4)', 'the number of records times ε is 1,000 (> 100)')
    """
    asked: dict[str, dict[str, str]] = {}
    values = {step.feature: _plain(step.feature, step.value) for step in steps}
    for step in steps:
        sign, at = step.found.split()
        asked.setdefault(step.feature, {})[sign] = f"{sign} {_plain(step.feature, float(at))}"
    return tuple(f"{ABOUT[name]} is {values[name]} ({', '.join(found.values())})" for name, found in asked.items())


def _plain(feature: str, value: float) -> str:
    number = value if feature == "columns" else 10**value
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


@lru_cache(maxsize=1)
def shipped() -> StrategyChooser:
    """The one that comes with the package."""
    entries = choice_files.parse((files("jostle.synthetic") / "shipped" / SHIPPED).read_text("utf-8"), "strategies")
    about, options = entries.plain("about"), entries.texts("options")
    return StrategyChooser(options, choice_files.read_trees(entries, "trees", len(options), FEATURES), about)
