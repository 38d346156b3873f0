"""Choice makers and choice points as they are deployed: on trees that ask two private questions, so that paths differ.

Both the option that is taken and what is left for it depend on noise; what is looked at is the answer of the option, and at
a choice point also the branch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle.audit.entries import Audited, of_source
from jostle.audit.plans import pairs
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.kernel.strategy import identity, total
from jostle.linear import workloads

CELLS = 8
"""The size of the domain."""

OPTIONS = ("Laplace", "Uniform", "HB")


def entries() -> list[Audited]:
    """One of each."""
    unknown = "the answer of an option tells less than all that was measured on the way to it"
    found = []
    for name, ask in (("ChoiceMaker", _maker()), ("ChoicePoint", _point())):
        runs = of_source(ask, batched=False) | {"pace": "slow"}
        found.append(Audited(name=f"choice: {name}", family="choice", pairs=pairs((CELLS,)), unknown=unknown, **runs))
    return found


def _way(options: tuple[str, ...]) -> Any:
    """Few records lead to a second question, and many do not."""
    from jostle.choice.trees import Leaf, Split
    from jostle.choice.ways import RegretTree

    leaves = [Leaf(choice, (0.0,) * len(options), 1, 1.0) for choice in (0, 1, len(options) - 1)]
    return RegretTree(options, (Split("size", 6.0, 1, 2), Split("spread", 2.0, 3, 4), *leaves))


def _questions() -> list[Any]:
    from jostle.choice.metafeatures import metafeature

    return [
        metafeature("select sum(values) from db", name="size"),
        metafeature("(select count(values) from db where values > 0)", name="spread"),
    ]


def _maker() -> Any:
    from jostle.choice.language import ChoiceMaker

    maker = ChoiceMaker.following(_way(OPTIONS), options=list(OPTIONS), informed_by=_questions(), rho="1/2")
    asked = workloads.prefix(CELLS)

    def ask(source: Source, budget: Budget) -> Vector:
        return np.asarray(maker(source, asked, budget))

    return ask


def _point() -> Any:
    from jostle.choice.inside import ChoicePoint

    point = ChoicePoint("grain", ["cells", "total"], informed_by=_questions(), share="1/2")
    point.way = _way(("cells", "total"))

    def ask(source: Source, budget: Budget) -> Vector:
        """The branch, and what was measured there; a total stands for all cells alike."""
        branch, rest = point(source, budget)
        measured = source.laplace(identity(CELLS) if branch == "cells" else total(CELLS), rest)
        return np.concatenate([[float(branch == "cells")], np.broadcast_to(measured, (CELLS,))])

    return ask
