"""Choice makers and choice points as they are deployed, and the other ways to choose that may see private data.

The first two walk trees that ask two private questions. Their paths differ, so both the option and the budget that is left
for it depend on noise. The audit sees the option's answer, and at a choice point also the branch. Validation runs all
options and takes the one that fits. Accuracy first stops when a test says so, and spends at most its budget.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle import workloads
from jostle.audit.entries import Ask, Audited, of_budget, of_source
from jostle.audit.entries.algorithms import pairs
from jostle.choice.accuracy_first import accuracy_first
from jostle.choice.alternatives import ByValidation
from jostle.choice.choice_maker import ChoiceMaker
from jostle.choice.choice_point import ChoicePoint
from jostle.choice.decision_rules import RegretTree
from jostle.choice.metafeatures import metafeature
from jostle.choice.regret_tree import InnerNode, Leaf
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import identity, total

CELLS = 8
"""The size of the domain."""

OPTIONS = ("Laplace", "Uniform", "HB")


def entries() -> list[Audited]:
    """One entry per kind."""
    unknown = "the answer of an option tells less than all that was measured on the way to it"
    runs = {
        "ChoiceMaker": of_source(_choice_maker(), batched=False),
        "ChoicePoint": of_source(_choice_point(), batched=False),
        "ByValidation": of_source(_validation(), batched=False),
        "accuracy_first": of_budget(_accuracy_first(), batched=False),
    }
    return [
        Audited(name=f"choice: {name}", family="choice", pairs=pairs((CELLS,)), unknown=unknown, **run | {"pace": "slow"})
        for name, run in runs.items()
    ]


def _rule(options: tuple[str, ...]) -> Any:
    """Few records lead to a second question, and many do not."""
    leaves = [Leaf(choice, (0.0,) * len(options), 1, 1.0) for choice in (0, 1, len(options) - 1)]
    return RegretTree(options, (InnerNode("size", 6.0, 1, 2), InnerNode("spread", 2.0, 3, 4), *leaves))


def _questions() -> list[Any]:
    return [
        metafeature("select sum(values) from db", name="size"),
        metafeature("(select count(values) from db where values > 0)", name="spread"),
    ]


def _choice_maker() -> Ask:
    maker = ChoiceMaker.following(_rule(OPTIONS), options=list(OPTIONS), informed_by=_questions(), rho="1/2")
    workload = workloads.prefix(CELLS)
    return lambda source, budget: np.asarray(maker(source, workload, budget))


def _choice_point() -> Ask:
    point = ChoicePoint("grain", ["cells", "total"], informed_by=_questions(), share="1/2")
    point.rule = _rule(("cells", "total"))

    def ask(source: Source, budget: Budget) -> Vector:
        """The branch, and what was measured there; a total is repeated for every cell."""
        branch, rest = point(source, budget)
        measured = source.measure(identity(CELLS) if branch == "cells" else total(CELLS), rest)
        return np.concatenate([[float(branch == "cells")], np.broadcast_to(measured, (CELLS,))])

    return ask


def _validation() -> Ask:
    """The answer shows which option was taken: one option is near all cells, the other makes them all equal."""

    def weights(answer: Any, cells: Any, query: Any) -> Vector:
        return np.asarray(answer > np.mean(answer), dtype=np.float64)

    chosen, workload = ByValidation(["Laplace", "Uniform"], weights, share="1/2"), workloads.identity(CELLS)
    return lambda source, budget: np.asarray(chosen(source, workload, budget))


def _accuracy_first() -> Ask:
    """How many steps were taken, whether that was enough, and what was released last."""
    workload = workloads.prefix(CELLS)

    def ask(x: Any, budget: Budget) -> Vector:
        found = accuracy_first(x, workload, within=4, budget=budget, steps=3, test="1/2")
        return np.concatenate([[found.steps, found.enough], found.estimate])

    return ask
