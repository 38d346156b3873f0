"""An odometer: sums of ε, levels of ρ, and what is needed when."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from jostle import Approximate, Concentrated
from jostle.kernel.budget import Cost
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.mechanisms.odometer import LEAST, spent_so_far

HOW = {"operator": "test", "neighbours": "add_remove"}


def test_pure_charges_add_up_at_any_time(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=1)
        assert spent_so_far(people) == (0, 0)
        for number in range(1, 4):
            people.charge(Fraction(1, 10), **HOW)
            assert spent_so_far(people) == (Fraction(number, 10), 0)
        assert spent_so_far(people, delta=1e-9).epsilon == Fraction(3, 10)  # the sum is the smaller bound here


def test_gaussian_charges_need_a_delta_and_levels_hold_together(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=Concentrated(2))
        people.charge(Cost.gaussian(Fraction(1, 2)), **HOW)
        with pytest.raises(BadInput, match="delta: is needed"):
            spent_so_far(people)
        bound = spent_so_far(people, delta="1e-6")
        at_a_fixed_time = 0.5 + 2 * math.sqrt(0.5 * math.log(1e6))
        assert at_a_fixed_time < float(bound.epsilon) < 1.45 * at_a_fixed_time
        assert sum(Fraction(1, (j + 1) * (j + 2)) for j in range(10_000)) < 1  # the δ of all levels
        before = bound
        people.charge(Cost.gaussian(LEAST), **HOW)
        assert spent_so_far(people, delta="1e-6") >= before


def test_many_small_charges_are_cheaper_by_levels(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=Approximate(epsilon=3, delta=1e-6))
        for _ in range(60):
            people.charge(Fraction(1, 20), **HOW)
        assert float(spent_so_far(people, delta=1e-6).epsilon) < 3
        assert spent_so_far(people).epsilon == 3
