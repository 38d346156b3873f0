"""The criteria of splits: each score moves in one direction and within its span, in exact integers."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.kernel.errors import BadInput
from jostle.kernel.functions.criteria import GRAIN, CappedEntropy, ClearMajority, Criterion, Gini, Majority, _slopes
from tests.kernel.helpers import one_changed, one_more, small_vectors

CRITERIA: list[Criterion] = [
    Majority(),
    ClearMajority(price=0),
    ClearMajority(price=1.3),
    Gini(),
    CappedEntropy(cap=2),
    CappedEntropy(cap=3),
    CappedEntropy(cap=1024),
]
UPWARDS = {"Majority": True, "ClearMajority": True, "Gini": False, "CappedEntropy": False}


def score(criterion: Criterion, counts: np.ndarray) -> int:
    return int(criterion.scores(counts))


def moves_of_an_added_record(criterion: Criterion, counts: np.ndarray) -> list[int]:
    before = score(criterion, counts)
    return [score(criterion, more.reshape(counts.shape)) - before for more in one_more(counts.reshape(-1))]


def within(criterion: Criterion, moves: list[int]) -> bool:
    """In one direction, and no further than the span."""
    low, high = (0, criterion.gain) if UPWARDS[criterion.name] else (-criterion.gain, 0)
    return all(low <= move <= high for move in moves)


# ------------------------------------------------------------------------------------------------------ the lemma


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
@pytest.mark.parametrize("shape", [(1, 2), (2, 2), (1, 3)])
def test_an_added_record_moves_every_small_table_within_the_span_in_one_direction(
    criterion: Criterion, shape: tuple[int, int]
) -> None:
    for flat in small_vectors(math.prod(shape), 3):
        assert within(criterion, moves_of_an_added_record(criterion, flat.reshape(shape)))


@given(
    counts=st.lists(st.integers(0, 2**40 // 12), min_size=6, max_size=6),
    cap=st.integers(2, 5000),
    cell=st.integers(0, 5),
)
def test_an_added_record_moves_large_tables_within_the_span_in_one_direction(counts: list[int], cap: int, cell: int) -> None:
    table = np.array(counts, dtype=np.int64)
    more = table.copy()
    more[cell] += 1
    for criterion in (Majority(), ClearMajority(price=cap / 16), Gini(), CappedEntropy(cap=cap)):
        assert within(criterion, [score(criterion, more.reshape(2, 3)) - score(criterion, table.reshape(2, 3))])


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
def test_two_splits_of_the_same_records_move_apart_by_at_most_the_span(criterion: Criterion) -> None:
    """Data sets of a few records with two attributes and a class; the splits are by the one and by the other."""

    def apart(x: np.ndarray) -> int:
        cube = x.reshape(2, 2, 2)  # (first attribute, second attribute, class)
        return score(criterion, cube.sum(axis=1)) - score(criterion, cube.sum(axis=0))

    for x in itertools.islice(small_vectors(8, 1), 0, None, 3):
        assert all(abs(apart(y) - apart(x)) <= criterion.gain for y in one_more(x))
        assert all(abs(apart(y) - apart(x)) <= 2 * criterion.gain for y in one_changed(x))


def test_the_spans_are_attained_or_approached() -> None:
    assert max(moves_of_an_added_record(Majority(), np.array([[3, 0]]))) == Majority().gain
    clear = ClearMajority(price=1)
    assert max(moves_of_an_added_record(clear, np.array([[3, 0]]))) == clear.gain
    assert -min(moves_of_an_added_record(Gini(), np.array([[10**6, 0]]))) >= Gini().gain - 1
    capped = CappedEntropy(cap=64)
    assert -min(moves_of_an_added_record(capped, np.array([[64, 0]]))) == capped.gain


def test_a_replaced_record_moves_two_splits_apart_by_nearly_twice_the_span() -> None:
    """One record is impure in the first split and then in the second: so the noise under `replace` could not be less."""
    n = 10**6
    before = np.array([[n, 1], [0, n]]), np.array([[0, n + 1], [n, 0]])
    after = np.array([[n, 0], [0, n + 1]]), np.array([[0, n], [n, 1]])
    apart = [score(Gini(), first) - score(Gini(), second) for first, second in (before, after)]
    assert apart[1] - apart[0] >= 2 * Gini().gain - 8


# ---------------------------------------------------------------------------------------------------- what they are


@given(st.lists(st.integers(0, 10**6), min_size=12, max_size=12))
def test_gini_and_majority_are_the_formulas(counts: list[int]) -> None:
    table = np.array(counts, dtype=np.int64).reshape(4, 3)
    sizes = table.sum(axis=1)
    impurity = sum(n - sum(int(c) ** 2 for c in row) / n for n, row in zip(sizes.tolist(), table, strict=True) if n)
    assert score(Gini(), table) / GRAIN == pytest.approx(-impurity, abs=5 / GRAIN, rel=1e-12)
    assert score(Gini(), table) / GRAIN <= -impurity + 1e-6 * (1 + impurity)
    assert score(Majority(), table) == sum(max(row) for row in table.tolist())


@given(st.lists(st.integers(0, 300), min_size=6, max_size=6))
def test_capped_entropy_is_the_entropy_below_the_cap(counts: list[int]) -> None:
    table = np.array(counts, dtype=np.int64).reshape(2, 3)
    entropy = sum(
        -c * math.log2(c / sum(row)) for row in table.tolist() for c in row if c
    )  # bits times the number of records
    rounding = 0.5 / GRAIN * 2 * table.sum()  # every slope is rounded to half a unit
    assert score(CappedEntropy(cap=1024), table) / GRAIN == pytest.approx(-entropy, abs=rounding + 1e-9)


@pytest.mark.parametrize("cap", [2, 3, 17, 1024, 65536])
def test_capped_entropys_slopes_never_decrease_and_end_at_the_span(cap: int) -> None:
    slopes = _slopes(cap)
    assert slopes.size == cap + 1
    assert slopes[0] == 0
    assert (np.diff(slopes) >= 0).all()
    assert CappedEntropy(cap=cap).gain == slopes[-1] == round((math.log2(cap) + 1 / math.log(2)) * GRAIN)


def test_scores_of_many_tables_are_those_of_each() -> None:
    many = np.random.default_rng(0).integers(0, 2**27, size=(3, 4, 2, 3))
    for criterion in CRITERIA:
        together = criterion.scores(many)
        assert together.dtype == np.int64
        for place in itertools.product(range(3), range(4)):
            assert together[place] == score(criterion, many[place])


def test_the_largest_data_stay_within_64_bits() -> None:
    full = np.array([[2**39, 2**39]])
    assert score(Gini(), full) == -(2**39) * GRAIN
    for cap in (2, 2**22):
        assert score(CappedEntropy(cap=cap), full) < 0


@given(st.lists(st.integers(0, 50), min_size=6, max_size=6), st.floats(0, 20))
def test_clear_majority_is_the_formula_to_a_sixteenth(counts: list[int], price: float) -> None:
    table = np.array(counts, dtype=np.int64).reshape(2, 3)
    asked = round(price * 16) / 16
    by_hand = sum(max(sorted(row)[-2], max(row) - asked) for row in table.tolist())
    assert score(ClearMajority(price=price), table) / 16 == pytest.approx(by_hand)


@pytest.mark.parametrize("bad", [-1, 2**31, math.nan, math.inf, True, "1", None])
def test_a_bad_price_is_refused(bad: Any) -> None:
    with pytest.raises(BadInput, match=r"^price: "):
        ClearMajority(price=bad)


@pytest.mark.parametrize("bad", [1, 0, -5, 2**23, 10.0, True, "100", None])
def test_a_bad_cap_is_refused(bad: Any) -> None:
    with pytest.raises(BadInput, match=r"^cap: "):
        CappedEntropy(cap=bad)
