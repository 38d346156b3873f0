"""The exact privacy loss of programs with choices, by replaying what was released on neighbouring counts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from jostle import workloads
from jostle.choice.alternatives import ByValidation
from jostle.choice.choice_maker import ChoiceMaker, pythia_program
from jostle.choice.choice_point import ChoicePoint, learn
from jostle.choice.metafeatures import measured, metafeature
from jostle.choice.selectors import shipped
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Partition
from jostle.kernel.strategies import identity
from tests.algorithms.replay import lost, neighbour

ASKED = workloads.identity(16)
PUBLIC = {f"{n} each": [n] * 16 for n in (0, 1, 30)} | {f"a peak of {n}": [0] * 15 + [n] for n in (5, 90, 900)}
SIZE = metafeature("select sum(values) from db", name="size")
SPREAD = metafeature("stddev(select sum(values) from db group by x/4)", name="spread")


@metafeature
def peak(db):
    """Two measurements and a function of both."""
    return measured((db.values > 2).count(), db.values.clip(0, 9).sum(), then=lambda many, most: most / max(many, 1))


def maker(by):
    return ChoiceMaker(
        options=["Laplace", "Uniform", "DAWA"],
        informed_by=[SIZE, SPREAD, peak],
        trained_on=PUBLIC,
        queries=ASKED,
        rho=0.3,
        by=by,
        trials=2,
        copies=2,
    )


def halves(db, query, budget):
    """Cut in two as long as that is worth it, side by side."""
    branch, rest = WORTH(db, budget, depth=0)
    if branch == "measure" or db.size < 4:
        return db.measure(identity(db.shape), rest)
    parts = db.split(Partition.intervals([0, db.size // 2], db.size), rest)
    return np.concatenate([halves(part, query, token) for part, token in parts])


WORTH = ChoicePoint("worth cutting", ["cut", "measure"], informed_by=[SIZE], facts=["depth"], share=0.3)


def program():
    learn(halves, [WORTH], trained_on=list(PUBLIC.values()), loss=lambda a, x, _: np.abs(a - x).mean(), rounds=2, runs=2)
    return halves


PROGRAMS = {
    "regret tree": lambda: maker("regret tree"),
    "predictions": lambda: maker("predictions"),
    "validation": lambda: ByValidation(["Laplace", "Uniform", "HB"], lambda a, *_: np.clip(a / (np.abs(a).max() + 1), 0, 1)),
    "Pythia": lambda: pythia_program(shipped("range-1d")),
    "a point inside": program,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_choice_is_likelier_than_its_epsilon_allows(name):
    """A feature is paid for, lazily; the rest goes on; and what is chosen follows from what was released."""
    made = PROGRAMS[name]()
    relations = Neighbours("add_remove"), Neighbours("replace"), Neighbours("replace", filtered=True), Neighbours(rows=2)
    for number, relation in enumerate(relations * 4):
        rng = np.random.default_rng(number)
        x = [rng.integers(0, 4, 16), rng.integers(0, 2, 16) * 100, np.full(16, 40)][number % 3] + (np.arange(16) < 2)
        pair, epsilon = (x, neighbour(x, relation, rng)), (Fraction(1), Fraction(1, 5), Fraction(4))[number % 3]
        for one, other in (pair, pair[::-1]):
            loss = lost(lambda db, token: made(db, ASKED, token), one, other, relation, epsilon, number)
            assert loss <= float(epsilon) * (1 + 1e-9), (relation, epsilon)
