"""ε by an economic rule."""

from __future__ import annotations

import math

import numpy as np
import pytest

from jostle.choice.economics import affordable_epsilon
from jostle.kernel.errors import BadInput


def test_money_bounds_epsilon_from_above_and_accuracy_from_below() -> None:
    found = affordable_epsilon(people=1000, money=500, harm=2, within=0.05, confidence=0.99)
    assert (math.exp(found.most) - 1) * 2 * 1000 == pytest.approx(500)  # each is paid what ε may cost
    assert math.exp(-found.least * 1000 * 0.05) == pytest.approx(0.01)  # the tail of the noise
    assert found.feasible
    assert "any ε from" in str(found)
    assert "Ask more people" in str(affordable_epsilon(people=10, money=1, harm=100, within=0.01))


def test_more_people_help_accuracy_and_cost_money() -> None:
    few, many = (affordable_epsilon(people=n, money=100, harm=1, within=0.01) for n in (100, 10_000))
    assert many.least < few.least
    assert many.most < few.most


def test_numbers_of_numpy_do_not_overflow() -> None:
    found = affordable_epsilon(people=np.int8(100), money=10, harm=np.int8(3), within=np.float16(0.5))  # type: ignore[arg-type]
    assert found == affordable_epsilon(people=100, money=10, harm=3, within=0.5)


@pytest.mark.parametrize("wrong", [{"people": 0}, {"money": -1}, {"harm": float("nan")}, {"within": 2}, {"confidence": 1}])
def test_numbers_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(BadInput, match=next(iter(wrong))):
        affordable_epsilon(**({"people": 100, "money": 1, "harm": 1, "within": 0.1} | wrong))  # type: ignore[arg-type]
