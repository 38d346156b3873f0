"""Every algorithm's exact privacy loss, from a person to nobody and back, by replaying what was released."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from jostle import algorithms, workloads
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.strategies import identity
from tests.algorithms.replay import lost, neighbour

RELATIONS = (
    Neighbours("add_remove"),
    Neighbours("replace"),
    Neighbours("replace", filtered=True),
    Neighbours("add_remove", rows=2),
    Neighbours("replace", rows=2),
)
ASKED = {
    "range-1d": [workloads.identity(16), workloads.prefix(16), workloads.all_ranges(16)],
    "range-2d": [workloads.identity((6, 6)), workloads.rectangles((6, 6), [[0, 0], [1, 2]], [[3, 3], [6, 6]])],
}
OPERATORS = ("noisy-minimum", "exponential", "counts", "blocks")
CASES = [
    (name, task, {"partition": operator} if operator else {})
    for task in ASKED
    for name in algorithms.names(task)
    for operator in (OPERATORS if name == "DAWA" else ("",))
]


@pytest.mark.parametrize(("name", "task", "tunables"), CASES, ids=["-".join([n, t, *u.values()]) for n, t, u in CASES])
def test_no_release_is_likelier_than_its_epsilon_allows(name, task, tunables):
    """Sparse, steep and even counts; small, usual and large ε; and what a plan does follows from what it is told."""
    run = algorithms.get(name).run
    for number, (relation, asked) in enumerate((relation, asked) for relation in RELATIONS for asked in ASKED[task]):
        rng = np.random.default_rng(number)
        size = asked.shape[1]
        x = [rng.integers(0, 4, size), rng.integers(0, 2, size) * rng.integers(0, 300, size), np.full(size, 50)][number % 3]
        x = (x + (np.arange(size) < relation.rows)).reshape(asked.domain)
        one, other = (x, neighbour(x, relation, rng))[:: 1 if number % 2 else -1]
        epsilon = (Fraction(1), Fraction(1, 10), Fraction(5))[(number + number // 3) % 3]
        loss = lost(lambda db, token, w=asked: run(db, w, token, **tunables), one, other, relation, epsilon, number)
        assert loss <= float(epsilon) * (1 + 1e-9), (relation, asked, epsilon)


@pytest.mark.parametrize(
    ("leak", "noticed"),
    [
        (lambda db, token: db.measure(identity(4), token) + held(db).max(), "the answer has other values"),
        (lambda db, token: db.measure(identity(4), token) if held(db)[0] > 2 else np.zeros(4), "the neighbour ends where"),
    ],
)
def test_a_plan_that_looks_at_the_counts_is_noticed(leak, noticed):
    with pytest.raises(AssertionError, match=noticed):
        lost(leak, np.array([3, 0, 2, 0]), np.array([2, 0, 2, 0]), Neighbours(), Fraction(1), 0)


def held(db):
    return db._Source__x
