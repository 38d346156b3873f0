"""Choice makers and choice points as they are deployed, and the other ways to choose that may see private data.

The first two walk trees that ask two private questions, so that paths differ: both the option that is taken and what is left
for it depend on noise. What is looked at is the answer of the option, and at a choice point also the branch. Validation runs
all options and takes the one that fits; accuracy first stops where a test says so, and loses its budget at most.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle import workloads
from jostle.audit.entries import Audited, of_budget, of_source
from jostle.audit.plans import pairs
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.kernel.strategy import identity, total

CELLS = 8
"""The size of the domain."""

OPTIONS = ("Laplace", "Uniform", "HB")


def entries() -> list[Audited]:
    """One of each."""
    unknown = "the answer of an option tells less than all that was measured on the way to it"
    asked = {"ChoiceMaker": _maker(), "ChoicePoint": _point(), "ByValidation": _validation()}
    runs = {name: of_source(ask, batched=False) for name, ask in asked.items()}
    runs |= {"accuracy_first": of_budget(_accuracy_first(), batched=False)}
    return [
        Audited(name=f"choice: {name}", family="choice", pairs=pairs((CELLS,)), unknown=unknown, **run | {"pace": "slow"})
        for name, run in runs.items()
    ]


def _rule(options: tuple[str, ...]) -> Any:
    """Few records lead to a second question, and many do not."""
    from jostle.choice.decision_rules import RegretTree
    from jostle.choice.regret_tree import InnerNode, Leaf

    leaves = [Leaf(choice, (0.0,) * len(options), 1, 1.0) for choice in (0, 1, len(options) - 1)]
    return RegretTree(options, (InnerNode("size", 6.0, 1, 2), InnerNode("spread", 2.0, 3, 4), *leaves))


def _questions() -> list[Any]:
    from jostle.choice.metafeatures import metafeature

    return [
        metafeature("select sum(values) from db", name="size"),
        metafeature("(select count(values) from db where values > 0)", name="spread"),
    ]


def _maker() -> Any:
    from jostle.choice.choice_maker import ChoiceMaker

    maker = ChoiceMaker.following(_rule(OPTIONS), options=list(OPTIONS), informed_by=_questions(), rho="1/2")
    asked = workloads.prefix(CELLS)

    def ask(source: Source, budget: Budget) -> Vector:
        return np.asarray(maker(source, asked, budget))

    return ask


def _point() -> Any:
    from jostle.choice.choice_point import ChoicePoint

    point = ChoicePoint("grain", ["cells", "total"], informed_by=_questions(), share="1/2")
    point.rule = _rule(("cells", "total"))

    def ask(source: Source, budget: Budget) -> Vector:
        """The branch, and what was measured there; a total stands for all cells alike."""
        branch, rest = point(source, budget)
        measured = source.laplace(identity(CELLS) if branch == "cells" else total(CELLS), rest)
        return np.concatenate([[float(branch == "cells")], np.broadcast_to(measured, (CELLS,))])

    return ask


def _validation() -> Any:
    """Which answer was taken shows in it: one is near all cells, the other has them all alike."""
    from jostle.choice.alternatives import ByValidation

    def weights(answer: Any, cells: Any, query: Any) -> Vector:
        return np.asarray(answer > np.mean(answer), dtype=np.float64)

    chosen, asked = ByValidation(["Laplace", "Uniform"], weights, share="1/2"), workloads.identity(CELLS)

    def ask(source: Source, budget: Budget) -> Vector:
        return np.asarray(chosen(source, asked, budget))

    return ask


def _accuracy_first() -> Any:
    """How many steps were taken, whether that was enough, and what was released last."""
    from jostle.choice.accuracy_first import accuracy_first

    asked = workloads.prefix(CELLS)

    def ask(x: Any, budget: Budget) -> Vector:
        found = accuracy_first(x, asked, within=4, budget=budget, steps=3, test="1/2")
        return np.concatenate([[found.steps, found.enough], found.estimate])

    return ask
