"""What one person may change, and what follows for the noise."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from tests.kernel.helpers import small_vectors

moves = st.fractions(min_value=0, max_value=100, max_denominator=1000)


@given(moves, moves, st.integers(1, 50))
def test_the_sensitivity_is_what_the_proof_says(once: Fraction, changed: Fraction, rows: int) -> None:
    assert Neighbours("add_remove", rows).sensitivity(once, changed) == rows * once
    assert Neighbours("add_remove", rows).in_part().sensitivity(once, changed) == rows * once
    assert Neighbours("replace").sensitivity(once, changed) == changed
    if rows > 1:
        assert Neighbours("replace", rows).sensitivity(once, changed) == rows * max(once, changed)
    assert Neighbours("replace", rows).in_part().sensitivity(once, changed) == rows * max(2 * once, changed)


@given(moves, moves)
def test_a_part_of_a_part_is_a_part(once: Fraction, changed: Fraction) -> None:
    for relation in ("add_remove", "replace"):
        inside = Neighbours(relation).in_part()
        assert inside.in_part() == inside
        assert inside.sensitivity(once, changed) >= Neighbours(relation).sensitivity(once, changed)


@given(moves, moves, st.integers(1, 50))
def test_among_filtered_records_one_may_come_or_go(once: Fraction, changed: Fraction, rows: int) -> None:
    assert Neighbours("add_remove", rows).among_filtered().sensitivity(once, changed) == rows * once
    filtered = Neighbours("replace", rows).among_filtered()
    assert filtered.sensitivity(once, changed) == rows * max(once, changed)
    assert filtered.in_part().sensitivity(once, changed) == rows * max(2 * once, changed)
    assert Neighbours("replace", rows).in_part().among_filtered().sensitivity(once, changed) == rows * max(2 * once, changed)


def test_the_total_is_public_only_if_nobody_can_change_it() -> None:
    assert Neighbours("replace").total_is_public
    assert not Neighbours("add_remove").total_is_public
    assert not Neighbours("replace", rows=2).total_is_public
    assert not Neighbours("replace").in_part().total_is_public
    assert not Neighbours("replace").among_filtered().total_is_public


@pytest.mark.parametrize("bad", ["bounded", "", None, 1, ["replace"]])
def test_an_unknown_relation_is_refused(bad: object) -> None:
    with pytest.raises(BadInput, match=r"^neighbours: .* is unknown. Remedy: use 'add_remove' or 'replace'\.$"):
        Neighbours.of(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, None, "2", math.inf])
def test_a_bad_number_of_rows_is_refused(bad: object) -> None:
    with pytest.raises(BadInput, match=r"^rows: "):
        Neighbours("add_remove", rows=bad)  # type: ignore[arg-type]


# ---------------------------------------------------------------------- several rows a person: every person, one by one


def histograms_of_a_person(cells: int, rows: int) -> list[np.ndarray]:
    """All that one person may have: at most so many records."""
    return [person for person in small_vectors(cells, rows) if person.sum() <= rows]


def steps(first: np.ndarray, second: np.ndarray) -> tuple[int, int]:
    """The fewest steps from one person's records to another's: replacements, and additions or removals."""
    added, removed = np.maximum(second - first, 0).sum(), np.maximum(first - second, 0).sum()
    return int(min(added, removed)), int(abs(added - removed))


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_person_with_several_rows_never_moves_a_function_further(rows: int) -> None:
    """The chain of single steps that the proof walks, for every person with up to so many records in three cells."""
    for once, changed in itertools.product(
        (Fraction(0), Fraction(1), Fraction(3, 2)), (Fraction(0), Fraction(1), Fraction(2))
    ):
        removal = Neighbours("add_remove", rows).sensitivity(once, changed)
        replacement = Neighbours("replace", rows).sensitivity(once, changed)
        for first in histograms_of_a_person(3, rows):
            assert once * int(first.sum()) <= removal
            for second in histograms_of_a_person(3, rows):
                if rows == 1 and first.sum() != second.sum():
                    continue  # with one row a person, replaced means that it is there before and after
                replaced, lone = steps(first, second)
                assert changed * replaced + once * lone <= replacement


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_parts_together_lose_no_more_than_their_budget(relation: str, rows: int) -> None:
    """Every person with up to so many records in two parts of two cells each: what all parts lose adds up to at most ε."""
    parts = (slice(0, 2), slice(2, 4))
    persons = histograms_of_a_person(4, rows)
    absent = [np.zeros(4, dtype=np.int64)]
    for once, changed in itertools.product(
        (Fraction(1), Fraction(3, 2)), (Fraction(0), Fraction(1), Fraction(2), Fraction(3))
    ):
        if changed > 2 * once:
            continue  # a replacement is a removal and an addition, so no function is like that
        whole = Neighbours(relation, rows).in_part().sensitivity(once, changed)
        worst = Fraction(0)
        for first, second in itertools.product(persons, absent if relation == "add_remove" else persons):
            if relation == "replace" and rows == 1 and first.sum() != second.sum():
                continue
            pairs = [steps(first[part], second[part]) for part in parts]
            worst = max(worst, sum((changed * replaced + once * lone) / whole for replaced, lone in pairs))
        assert worst == 1  # in units of ε: attained, so no smaller noise would do


@given(st.integers(0, 100), st.integers(0, 100), st.integers(1, 50))
def test_the_squared_sensitivity_is_what_the_proof_says(once: int, changed: int, rows: int) -> None:
    assert Neighbours("add_remove", rows).squared_sensitivity(once, changed) == rows**2 * once
    assert Neighbours("add_remove", rows).in_part().squared_sensitivity(once, changed) == rows**2 * once
    assert Neighbours("replace").squared_sensitivity(once, changed) == changed
    if rows > 1:
        assert Neighbours("replace", rows).squared_sensitivity(once, changed) == rows**2 * max(once, changed)
    assert Neighbours("replace").among_filtered().squared_sensitivity(once, changed) == max(once, changed)
    assert Neighbours("replace", rows).in_part().squared_sensitivity(once, changed) == rows**2 * max(2 * once, changed)


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_parts_together_lose_no_more_rho_than_their_budget(relation: str, rows: int) -> None:
    """As above, with squares of L2 distances. Within a part of a part, too: any parts that are disjoint."""
    persons = histograms_of_a_person(4, rows)
    absent = [np.zeros(4, dtype=np.int64)]
    for once, changed in ((1, 0), (1, 1), (1, 2), (1, 4), (4, 8), (9, 18)):  # squares: at most twice the distance
        a, r = math.sqrt(once), math.sqrt(changed)
        whole = float(Neighbours(relation, rows).in_part().squared_sensitivity(once, changed))
        for parts in ((slice(0, 2), slice(2, 4)), (slice(0, 1), slice(1, 2), slice(2, 4)), (slice(0, 4),)):
            worst = 0.0
            for first, second in itertools.product(persons, absent if relation == "add_remove" else persons):
                if relation == "replace" and rows == 1 and first.sum() != second.sum():
                    continue
                pairs = [steps(first[part], second[part]) for part in parts]
                worst = max(worst, sum((r * replaced + a * lone) ** 2 / whole for replaced, lone in pairs))
            assert worst <= 1 + 1e-12
            if len(parts) > 1:
                assert worst == pytest.approx(1)  # attained, so no smaller noise would do


def geometric_pmf(value: int, scale: float, support: np.ndarray) -> np.ndarray:
    """Discrete Laplace noise around a value."""
    alpha = math.exp(-1 / scale)
    return (1 - alpha) / (1 + alpha) * alpha ** np.abs(support - value)


def test_parallel_composition_under_replace_needs_the_sensitivity_of_a_part() -> None:
    """Non-empty cells of two parts: at the plain sensitivity of 1 a moved record loses 2ε, at that of a part ε."""
    epsilon, support = 1.0, np.arange(-30, 31)
    before, after = (1, 0), (0, 1)  # one record, which moves from the only cell of one part to that of the other

    def worst_loss(sensitivity: Fraction) -> float:
        scale = float(sensitivity) / epsilon
        joint = [np.outer(*(geometric_pmf(count, scale, support) for count in counts)) for counts in (before, after)]
        return float(np.abs(np.log(joint[0] / joint[1])).max())

    plain, part = Neighbours("replace"), Neighbours("replace").in_part()
    assert worst_loss(plain.sensitivity(1, 1)) == pytest.approx(2 * epsilon)
    assert worst_loss(part.sensitivity(1, 1)) == pytest.approx(epsilon)
