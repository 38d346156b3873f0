"""Grow the trees that choose how a synthetic table is made, on public tables that others collected and on made-up ones."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jostle.choice.regret_tree import Growth, Tree, grow
from jostle.kernel.budget import CONCENTRATED, PURE, Price
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.schema import Category, Column, Integer, Numeric
from jostle.synthetic.strategies import FEATURES, STRATEGIES, StrategyChooser, Tuning, facts
from jostle.synthetic.synthesizer import synthesize
from jostle_bench.classifiers.collected import names
from jostle_bench.classifiers.experiments import COLLECTED, parts
from jostle_bench.synthetic import Codes, distance_of_codes, made_up

RATES: Final = (0.1, 0.5, 2.0, 10.0)
"""The ε of the runs, and that of ρ with as much noise on a single count."""

MADE_UP: Final = tuple(product((3, 6, 12), (500, 4_000, 30_000)))
"""Columns and records of made-up tables."""

MOST_COLUMNS: Final = 14
"""Collected tables with more are left out: they take long."""

EVERY: Final = 3
"""Every third collected table is learned from; some of the others are there to judge by."""

JUDGED: Final = 3
"""Of these, every third: they take time."""

MOST_TRIPLES: Final = 60
"""Of the sets of three columns, so many are compared."""

TREES: Final = 25
"""So many trees vote, each grown on a sample of the tables."""

HARM: Final = 1.0
"""How much more errors count beyond those of single columns: nobody should be worse off for what else was measured."""

GROWTH: Final = Growth(depth=4, least=6.0)


@dataclass(frozen=True)
class Inputs:
    """A public table at a price, and the errors of every strategy there."""

    table: str
    measure: str
    rate: float
    facts: Mapping[str, float]
    errors: tuple[float, ...]
    """The mean of the errors of histograms of two and of three columns, each in parts of the least one."""


def tables(place: int = 0) -> Iterator[tuple[str, dict[str, Column], Codes]]:
    """The collected tables of one of the parts, and, with the first, the made-up ones."""
    for name in names()[place :: EVERY * (JUDGED if place else 1)]:
        task, train, test = parts(COLLECTED + name, 0)
        if len(task.columns) <= MOST_COLUMNS:
            codes = {one: np.concatenate([train[one], test[one]]).astype(np.int64) for one in task.columns}
            yield name, {one: _fitting(column, codes[one]) for one, column in task.columns.items()}, codes
    for columns, rows in MADE_UP if place == 0 else ():
        made = made_up(columns, rows, seed=columns + rows)
        yield made.name, dict(made.columns), made.train


def _fitting(column: Column, codes: NDArray[np.int64]) -> Column:
    """A column of the same kind, with a cell for each code: also where learners have codes for missing values."""
    size = max(2, int(codes.max()) + 1)
    if isinstance(column, Numeric):
        return Integer(0, size - 1, null="drop")
    return Category(list(range(size)), outside="drop", null="drop")


def measured(
    name: str, columns: Mapping[str, Column], codes: Codes, options: Mapping[str, Tuning], *, seed: int = 0
) -> Iterator[Inputs]:
    """The errors of each option at each price: simulations on public data."""
    sizes = {one: column.size for one, column in columns.items()}
    total = float(len(next(iter(codes.values()))))
    for rate, measure in product(RATES, (PURE, CONCENTRATED)):
        price = Price.of(rate) if measure == PURE else Price.of(None, rate**2 / 4)
        found = []
        for tuning in options.values():
            records = SimulatedRecords(ArrayColumns(codes, sizes), seed=seed)
            made = synthesize(records, columns, records.grant(price), tuning=tuning)
            drawn = made.draw(int(total), np.random.default_rng(seed))
            found.append([distance_of_codes(codes, drawn, sizes, degree, MOST_TRIPLES) for degree in (2, 3)])
        table = np.array(found)
        errors = np.nanmean(table / np.maximum(table.min(axis=0), 1e-6), axis=1)
        yield Inputs(name, measure, rate, facts(columns, price, Neighbours(), total), tuple(map(float, errors)))


def losses(errors: Sequence[float], alone: int) -> NDArray[np.float64]:
    """What each option loses: errors beyond the best, and once more what is beyond single columns, as logarithms."""
    found = np.log(np.asarray(errors))
    return np.asarray(found - found.min() + HARM * np.maximum(found - found[alone], 0))


def train(inputs: Sequence[Inputs], *, seed: int = 0) -> StrategyChooser:
    """Trees that expect the least loss on tables that had no part in growing them."""
    options = tuple(STRATEGIES)
    alone = next(place for place, name in enumerate(options) if STRATEGIES[name].singles >= 1)
    known = {table: number for number, table in enumerate(dict.fromkeys(one.table for one in inputs))}
    x = np.array([[one.facts[name] for name in FEATURES] for one in inputs])
    lost = np.array([losses(one.errors, alone) for one in inputs])
    groups = np.array([known[one.table] for one in inputs])
    draw, trees = np.random.default_rng(seed), list[Tree]()
    for _ in range(TREES):
        drawn = np.bincount(draw.choice(len(known), size=len(known)), minlength=len(known))[groups]
        rows = drawn > 0
        trees.append(grow(FEATURES, x[rows], lost[rows], drawn[rows].astype(float), GROWTH, groups=groups[rows]))
    about = {"tables": len(known), "inputs": len(inputs), "rates": list(RATES), "seed": seed}
    return StrategyChooser(options, tuple(trees), about)


@dataclass(frozen=True)
class Judged:
    """How a chooser does on some inputs, and how every strategy would if it were always taken."""

    chosen: float
    """Errors of its choices beyond those of the best strategy, in the geometric mean."""

    harmed: float
    """The share of inputs with errors more than 5 % beyond those of single columns."""

    always: Mapping[str, float]

    def words(self) -> str:
        always = ", ".join(f"{loss:.1%} ({name})" for name, loss in self.always.items())
        harmed = f"{self.harmed:.1%} of cases more than 5 % beyond single columns"
        return f"On other tables, errors exceed the least by {self.chosen:.1%}, {harmed}. Always the same: {always}."


def judged(chooser: StrategyChooser, inputs: Sequence[Inputs]) -> Judged:
    """The errors beyond the best, on inputs that it was not grown on."""
    errors = np.array([np.asarray(one.errors) / min(one.errors) for one in inputs])
    picked = [chooser.options.index(chooser.pick(one.facts).name) for one in inputs]
    chosen = errors[np.arange(len(inputs)), picked]
    alone = next(place for place, name in enumerate(chooser.options) if STRATEGIES[name].singles >= 1)
    always = {name: _beyond(errors[:, place]) for place, name in enumerate(chooser.options)}
    return Judged(_beyond(chosen), float((chosen > 1.05 * errors[:, alone]).mean()), always)


def _beyond(errors: NDArray[np.float64]) -> float:
    return float(np.exp(np.log(errors).mean()) - 1)


def save(inputs: Sequence[Inputs], path: Path) -> None:
    """Write a table of them, one line each."""
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["table", "measure", "rate", *FEATURES, *STRATEGIES])
        for one in inputs:
            numbers = [*(one.facts[name] for name in FEATURES), *one.errors]
            lines.writerow([one.table, one.measure, one.rate, *(f"{number:.5g}" for number in numbers)])


def load(path: Path) -> list[Inputs]:
    """Read them again."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Inputs(
                row["table"],
                row["measure"],
                float(row["rate"]),
                {name: float(row[name]) for name in FEATURES},
                tuple(float(row[name]) if row[name] else math.nan for name in STRATEGIES),
            )
            for row in csv.DictReader(file)
        ]
