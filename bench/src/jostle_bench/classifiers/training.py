"""Grow the chooser of `PrivateClassifier` on made-up and collected tables; teach the tree program's choice points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from jostle.choice.choice_point import learn
from jostle.choice.public_databases import Public
from jostle.choice.regret_tree import Growth, Tree, grow
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.records import ArrayColumns
from jostle.learn.chooser import FEATURES, KINDS, OPTIONS, Chooser, features, fits_facts, kind_of
from jostle.learn.registry import FloatArray, IntArray, Model
from jostle.learn.task import Task
from jostle.learn.trees.learned import Points, chosen_trees, points
from jostle.simulate.results import Results
from jostle_bench.classifiers.collected import names
from jostle_bench.classifiers.experiments import COLLECTED, Trial, found, parts

EPSILONS = (0.1, 0.5, 2.0)
"""What the options are tried with: with the tables' numbers of records, from a handful to some ten thousand records · ε."""

TREES = 40
"""So many trees vote, each grown on a sample of the tables: with 15, choices hang more on the draw of these samples."""

HARM = 1.0
"""How much more mistakes count that the prevailing class would not have made: as much again.

Nobody should pay ε for less than that class. On made-up tables that are left out in turn, 1 does no worse than 0, on either.
"""

GROWTH = Growth(depth=5, least=12.0)
"""How: shallow, with no leaf for only a few tables."""


def tables(made_up: int, *, others: bool = True) -> list[str]:
    """So many made-up tables, and those that others collected.

    >>> tables(2)[:3], tables(1, others=False)
    (['artificial-0', 'artificial-1', 'collected-AER:BankWages'], ['artificial-0'])
    """
    return [f"artificial-{number}" for number in range(made_up)] + [COLLECTED + name for name in names() if others]


def trials(tables: Sequence[str], *, draws: int = 1, options: Sequence[str] = OPTIONS) -> list[Trial]:
    """Every option on these tables, table by table."""
    return [
        Trial(learner=option, table=table, split=0, epsilon=epsilon, draws=draws)
        for table in tables
        for epsilon in EPSILONS
        for option in options
    ]


def train(
    results: Results, tables: Sequence[str], *, draws: int = 1, options: Sequence[str] = OPTIONS, seed: int = 0
) -> Chooser:
    """Trees that expect the least loss on tables that had no part in growing them.

    An option that does not fit a table counts as wrong on all records. Each tree is grown on tables drawn with repetition,
    and cut back where its branches do not pay on the others.
    """
    measured = found(trials(tables, draws=draws, options=options), results)
    known = {(trial.table, trial.epsilon, trial.learner): one.mean for trial, one in measured}
    inputs: dict[str, list[tuple[list[float], FloatArray, int]]] = {kind: [] for kind in KINDS}
    for (number, table), epsilon in product(enumerate(tables), EPSILONS):
        facts = _facts(table, epsilon)
        errors = np.array([known.get((table, epsilon, option), math.nan) for option in options])
        if np.isnan(errors[[fits_facts(option, facts) for option in options]]).any():
            raise BadInput("results", f"lack some on table {table}", "measure every option there first")
        losses = _losses(np.nan_to_num(errors, nan=1.0), options)
        inputs[kind_of(facts)].append(([facts[name] for name in FEATURES], losses - losses.min(), number))
    if not all(inputs.values()):
        raise BadInput("tables", "are too few: some kind of task is not among them", "make up more")
    trees = {kind: _forest(rows, seed) for kind, rows in inputs.items()}
    about = {"tables": len(tables), "inputs": sum(map(len, inputs.values())), "draws": draws, "seed": seed}
    return Chooser(tuple(options), trees, about)


def _losses(errors: FloatArray, options: Sequence[str]) -> FloatArray:
    if "Majority" not in options:
        return errors
    return np.asarray(errors + HARM * np.maximum(errors - errors[options.index("Majority")], 0))


def _forest(inputs: list[tuple[list[float], FloatArray, int]], seed: int) -> tuple[Tree, ...]:
    """Each tree on tables drawn with repetition."""
    x, regrets, groups = (np.array(column) for column in zip(*inputs, strict=True))
    draw, tables = np.random.default_rng(seed), np.unique(groups)
    trees = []
    for _ in range(TREES):
        drawn = np.bincount(draw.choice(tables, size=tables.size), minlength=tables.max() + 1)[groups]
        rows = drawn > 0
        trees.append(grow(FEATURES, x[rows], regrets[rows], drawn[rows].astype(float), GROWTH, groups=groups[rows]))
    return tuple(trees)


def _facts(table: str, epsilon: float) -> dict[str, float]:
    """With true counts: their noise is small against what the trees ask."""
    task, codes, _ = parts(table, 0)
    counts = np.bincount(codes[task.label], minlength=len(task.classes))
    return features(task, [float(count) for count in counts], epsilon)


# ----------------------------------------------------------------------------------------------- the tree's choices

TREE_EPSILONS = (Fraction(1, 10), Fraction(1, 2), Fraction(2))
"""What the tree program is taught with."""


def teach_trees(tables: int, *, runs: int = 2, rounds: int = 3, seed: int = 0, gain: bool = False) -> Points:
    """The tree program's choice points, taught by whole runs on that many made-up tables.

    First the levels, with splits into all values; then, with their rules, how categories are split and how many trees vote.

    With `gain`, the gain of the best split is asked and paid for in every run, and rules may depend on it.
    A lesson costs what the whole run's mistakes are: the share of a table's held-out records that the model gets wrong.
    """
    made = points()

    def program(db: Any, query: Any, budget: Budget) -> Any:
        return chosen_trees(db, query, budget, made, ask_gain=gain)

    databases = [_public(number) for number in range(tables)]
    how: dict[str, Any] = {"trained_on": databases, "loss": _mistakes, "epsilon": TREE_EPSILONS, "runs": runs, "seed": seed}
    learn(program, [made.trees, made.stopping, made.splitting], rounds=rounds, **how)
    learn(program, [made.values, made.trees], rounds=2, **how)
    return made


def _public(number: int) -> Public:
    task, train, test = parts(f"artificial-{number}", 0)
    return Public(data=ArrayColumns(train, task.sizes), query=task, name=f"artificial-{number}", truth=test)


def _mistakes(model: Model, test: Mapping[str, IntArray], task: Task) -> float:
    return float((model.scores(test).argmax(axis=1) != test[task.label]).mean())
