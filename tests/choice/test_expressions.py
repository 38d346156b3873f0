"""Every rule of the calculus on random neighbours, data and expressions; exact values; what is refused."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from jostle.choice.expressions import (
    Cells,
    Database,
    Domain,
    PrivateNumber,
    db,
    largest,
    mean,
    median_deviation,
    norm,
    smallest,
    sql,
    sqrt,
    stddev,
    total_variation,
)
from jostle.choice.expressions.public import fraction
from jostle.kernel.arguments import LARGEST_TOTAL
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.functions import expressions as rules
from jostle.kernel.functions.expressions import LATTICE
from jostle.kernel.functions.statistics import (
    Derived,
    LargestCell,
    NonZeroCells,
    Scale,
    Statistic,
    TotalVariation,
)
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Partition
from tests.kernel.helpers import RELATIONS, furthest, group_deviation, one_changed, one_more, recorded, small_vectors

# ------------------------------------------------------------------------------------- expressions drawn from the grammar

NUMBERS = st.sampled_from([Fraction(1, 3), 0.5, 1, 2, -1, -0.25, 3, 0])
LIMITS = st.sampled_from([-1, 0, 1, 2, 0.5, 2.5, Fraction(4, 3)])
WIDTHS = st.sampled_from([1, 2, 1.5, 3])
MASKS = st.sampled_from([db.x < 1, db.x >= 1, (db.x < 1) | (db.y > 0), db.y != 0, (db.x < 2) & (db.y < 1)])
REDUCTIONS = [
    Cells.sum,
    stddev,
    lambda cells: stddev(cells, ddof=1),
    mean,
    norm,
    lambda cells: norm(cells, 1),
    lambda cells: norm(cells, math.inf),
    largest,
    smallest,
    total_variation,
    median_deviation,
]


@st.composite
def of_cells(draw: Any, inner: Any) -> Cells:
    """One operation on cells, whose result is cells."""
    cells = draw(inner)
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return cells.where(draw(MASKS))
    if kind == 1:
        return cells.groupby(x=draw(WIDTHS), y=draw(WIDTHS)).sum()
    if kind == 2:
        low = draw(LIMITS)
        return cells.clip(low, low + draw(st.sampled_from([0, 1, 2.5])))
    if kind == 3:
        return cells * draw(NUMBERS)
    if kind == 4:
        return draw(st.sampled_from([operator.abs, operator.neg]))(cells)
    if kind == 5:
        return draw(COMPARE)(cells, draw(LIMITS))
    if kind == 6:
        return cells + draw(NUMBERS)
    if kind == 7:  # aligned: both come from the same cells
        return draw(st.sampled_from([operator.add, operator.sub, largest, smallest]))(
            cells, draw(COMPARE)(cells, draw(LIMITS))
        )
    if kind == 8:
        return cells.where(draw(COMPARE)(cells, draw(LIMITS))).groupby(x=draw(WIDTHS)).sum()
    return cells.where(draw(COMPARE)(cells, draw(LIMITS))).groupby(x=1, y=draw(WIDTHS)).count()


COMPARE = st.sampled_from([operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne])
LEAVES = st.sampled_from([db.values, db.values.weighted([1, -2, 0, 1.5])])
CELLS = st.recursive(LEAVES, of_cells, max_leaves=6)


@st.composite
def of_numbers(draw: Any, inner: Any) -> PrivateNumber:
    """One operation on numbers."""
    one, kind = draw(inner), draw(st.integers(0, 4))
    if kind == 0:
        return one * draw(NUMBERS) + draw(NUMBERS)
    if kind == 1:
        return draw(st.sampled_from([operator.add, operator.sub, largest, smallest]))(one, draw(inner))
    if kind == 2:
        return abs(one)
    if kind == 3:
        return one.clip(-1, draw(LIMITS))
    return largest(one, draw(NUMBERS))


REDUCED = st.builds(lambda reduce, cells: reduce(cells), st.sampled_from(REDUCTIONS), CELLS)
EXPRESSIONS = st.recursive(REDUCED, of_numbers, max_leaves=3)


def derived(expression: PrivateNumber, shape: tuple[int, ...]) -> Derived:
    """The statistic; expressions that keep no cell, or divide by nothing, are refused and not what is tested here."""
    try:
        return expression.on(shape)
    except BadInput:
        assume(False)
        raise


def moves(statistic: Statistic, x: np.ndarray, others: Iterable[np.ndarray]) -> int:
    here = statistic.value(x)
    return max((abs(statistic.value(other) - here) for other in others), default=0)


def test_no_neighbour_of_a_small_vector_moves_a_random_expression_further_than_derived() -> None:
    tried = []

    @settings(max_examples=120)
    @given(EXPRESSIONS)
    def all_neighbours(expression: PrivateNumber) -> None:
        statistic = derived(expression, (2, 2))
        once, replaced = statistic.sensitivities(4)
        value = {tuple(x): statistic.value(x) for x in small_vectors(4, 2)}
        for x in small_vectors(4, 1):
            here = value[tuple(x)]
            assert all(abs(value[tuple(other)] - here) <= once for other in one_more(x)), expression
            assert all(abs(value[tuple(other)] - here) <= replaced for other in one_changed(x)), expression
        tried.append(once)

    all_neighbours()
    assert sum(once > 0 for once in tried) > 60  # few are refused or constant


@settings(max_examples=150)
@given(EXPRESSIONS, st.lists(st.sampled_from([0, 1, 2, 3, 7, 1000, 2**30]), min_size=4, max_size=4))
def test_no_neighbour_of_a_random_vector_moves_a_random_expression_further_than_derived(
    expression: PrivateNumber, counts: list[int]
) -> None:
    x = np.array(counts)
    statistic = derived(expression, (2, 2))
    once, replaced = statistic.sensitivities(4)
    assert moves(statistic, x, one_more(x)) <= once, expression
    assert moves(statistic, x, one_changed(x)) <= replaced, expression


@settings(max_examples=100)
@given(EXPRESSIONS)
def test_every_value_and_bound_of_a_random_expression_fits_in_64_bits_on_the_largest_data(expression: PrivateNumber) -> None:
    statistic = derived(expression, (2, 2))
    for x in ([LARGEST_TOTAL, 0, 0, 0], [0, 0, 0, LARGEST_TOTAL], [LARGEST_TOTAL // 4] * 4):
        assert abs(statistic.value(np.array(x))) < 2**62
    assert max(statistic.sensitivities(4)) <= 2**31


# ------------------------------------------------------------------------------------------------------- closed forms

LINE = 4


def root(square: float) -> float:
    return math.sqrt(square)


CLOSED_FORMS: list[tuple[PrivateNumber, float, float]] = [
    (db.values.sum(), 1, 0),
    (db.where(db.x < 2).sum(), 1, 1),
    (db.where(db.x == 1).sum(), 1, 1),
    (db.values.weighted([3, 1, -2, 0]).sum(), 3, 5),
    (db.values.weighted([3, 2, 2, 2]).sum(), 3, 1),
    (db.values.clip(0, 2).sum(), 1, 1),
    (db.groupby(x=2).sum().clip(0, 3).sum(), 1, 1),
    ((db.values > 0).count(), 1, 1),
    ((db.values == 0).count(), 1, 1),
    ((db.values == 1).count(), 1, 2),
    ((db.values > 1).count(), 1, 1),
    (((db.values > 0) & (db.values < 2)).count(), 1, 2),
    (db.where(db.values > 2).sum(), 3, 3),
    (db.where(db.values <= 1).sum(), 1, 2),
    (mean(db.values), 1 / 4, 0),
    (mean(db.groupby(x=2).sum()), 1 / 2, 0),
    (largest(db.values), 1, 1),
    (smallest(db.values), 1, 1),
    (largest(db.groupby(x=2).sum()), 1, 1),
    (norm(db.values, 1), 1, 0),
    (norm(db.values - 2, 1), 1, 2),
    (norm(db.values - 2, 2), 1, root(2)),
    (norm(db.values - 1, math.inf), 1, 1),
    (stddev(db.values), root(3) / 4, root(2 / 4)),
    (stddev(db.values, ddof=1), 1 / 2, root(2 / 3)),
    (stddev(db.groupby(x=2).sum()), 1 / 2, 1),
    (total_variation(db.values), 3 / 4, 1),
    (total_variation(db.groupby(x=2).sum()), 1 / 2, 1),
    (median_deviation(db.values), 1, 2),
    (3 * db.values.sum() - 7, 3, 0),
    (largest(db.where(db.x < 2).sum(), db.where(db.x >= 2).sum()), 1, 1),
    (abs(db.where(db.x < 2).sum() - 1), 1, 1),
    (db.where(db.x < 2).sum() - db.where(db.x >= 2).sum(), 1, 2),
    (db.values.sum().clip(0, 0.5), 0.5, 0),
]


def check_attained(expression: PrivateNumber, cells: int, most: int, once: float, replaced: float) -> None:
    statistic = expression.on(cells)
    unit, bounds, far = statistic.unit(cells), statistic.sensitivities(cells), furthest(statistic, cells, most)
    assert far[0] / unit == pytest.approx(once, abs=3 / LATTICE)
    assert far[1] / unit == pytest.approx(replaced, abs=3 / LATTICE)
    assert far[0] <= bounds[0] <= far[0] + 3
    assert far[1] <= bounds[1] <= far[1] + 3


@pytest.mark.parametrize(("expression", "once", "replaced"), CLOSED_FORMS, ids=lambda part: getattr(part, "text", ""))
def test_the_derived_sensitivity_is_that_of_a_closed_form_and_is_attained(
    expression: PrivateNumber, once: float, replaced: float
) -> None:
    check_attained(expression, LINE, 3, once, replaced)


SIGNED = db.values.weighted([1, -1] * 3).groupby(x=2).sum()
"""Three groups, each of which one record that stays in it can move by two."""


@pytest.mark.parametrize(
    ("expression", "once", "replaced"),
    [
        (largest(SIGNED), 1, 2),
        (stddev(SIGNED), root(2) / 3, root(8 / 9)),
        (norm(SIGNED), 1, 2),
        (norm(SIGNED, 1), 1, 2),
        (total_variation(SIGNED), 2 / 3, 4 / 3),
        (total_variation(abs(db.values - 1)), 5 / 6, 4 / 3),
        (median_deviation(SIGNED), 1, 2),
        (largest(SIGNED, 0).sum(), 1, 2),
    ],
    ids=lambda part: getattr(part, "text", ""),
)
def test_a_replaced_record_may_move_what_is_not_monotone_up_to_twice_as_far(
    expression: PrivateNumber, once: float, replaced: float
) -> None:
    check_attained(expression, 6, 2, once, replaced)


@pytest.mark.parametrize(
    ("expression", "statistic"),
    [
        (db.values.sum(), Scale()),
        ((db.values > 0).count(), NonZeroCells()),
        (largest(db.values), LargestCell()),
        (total_variation(db.values), TotalVariation()),
        (stddev(db.groupby(x=2).sum()), group_deviation(Partition.of(np.arange(10) // 2))),
        (stddev(db.groupby(x=3).sum(), ddof=1), group_deviation(Partition.of(np.arange(10) // 3), ddof=1)),
    ],
    ids=lambda part: part.name if isinstance(part, Statistic) else "",
)
def test_the_calculus_finds_the_values_and_the_lemmas_of_the_kernels_own_statistics(
    expression: PrivateNumber, statistic: Statistic
) -> None:
    mine = expression.on(10)
    rng = np.random.default_rng(1)
    assert mine.unit(10) == statistic.unit(10)
    assert mine.sensitivities(10) == statistic.sensitivities(10)
    for _ in range(20):
        x = rng.integers(0, 50, 10)
        assert mine.value(x) == statistic.value(x)


@settings(max_examples=40)
@given(st.lists(st.integers(0, 10**4), min_size=12, max_size=12))
def test_values_are_those_of_a_plain_computation(counts: list[int]) -> None:
    x = np.array(counts).reshape(3, 4)
    flat, groups = x.ravel().astype(float), np.add.reduceat(np.add.reduceat(x, [0, 2], axis=0), [0, 3], axis=1).ravel()
    expected: list[tuple[PrivateNumber, float]] = [
        (stddev(db.groupby(x=2, y=3).sum()), groups.std()),
        (stddev(db.where(db.y < 2), ddof=1), x[:, :2].std(ddof=1)),
        (mean(db.where((db.x < 1) | (db.y > 2))), np.mean([*x[0], x[1, 3], x[2, 3]])),
        (norm(db.values - 5), np.linalg.norm(flat - 5)),
        (norm(db.values - 5, 1), np.abs(flat - 5).sum()),
        (norm(db.groupby(y=2).sum(), math.inf), x.reshape(3, 2, 2).sum(axis=(0, 2)).max()),
        (largest(-db.values * 0.5), -x.min() / 2),
        (smallest(db.groupby(x=1).sum()), x.sum(axis=1).min()),
        (total_variation(db.values), np.abs(flat - flat.mean()).sum() / 2),
        (median_deviation(db.values), np.abs(flat - np.median(flat)).sum()),
        ((db.values > 10).count(), (x > 10).sum()),
        ((db.values > 10).where(db.y != 1).count(), (x[:, [0, 2, 3]] > 10).sum()),
        ((db.values != 0).count(), np.count_nonzero(x)),
        ((~(db.values > 10) | (db.values > 1000)).count(), ((x <= 10) | (x > 1000)).sum()),
        (db.where(db.values < 1000).sum(), x[x < 1000].sum()),
        (db.where(db.values == x[0, 0]).sum(), x[x == x[0, 0]].sum()),
        (largest(db.where(db.values >= 5).groupby(x=2).count()), max((x[:2] >= 5).sum(), (x[2:] >= 5).sum())),
        (db.values.weighted(np.arange(12)).sum() / 4, (flat * np.arange(12)).sum() / 4),
        (db.values.clip(1.5, 7).sum(), np.clip(flat, 1.5, 7).sum()),
    ]
    for expression, value in expected:
        assert expression.value(x) == pytest.approx(value, rel=1e-6, abs=1e-4), expression


def test_weights_and_groups_may_be_real_numbers_of_the_domain() -> None:
    halves = db.groupby(x=sqrt(db.x_range)).sum()
    assert largest(halves).value(np.arange(9)) == 6 + 7 + 8
    assert (largest(db.groupby(x=2.5).sum())).value([1] * 5) == 3  # 0, 1, 2 | 3, 4
    assert (db.values.sum() / (2 * db.size - 1)).sensitivity((2, 2)) == Fraction(1, 7)


# ------------------------------------------------------------------------------------------------------------ measuring


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
@pytest.mark.parametrize("expression", [stddev(db.groupby(x=2).sum()), (db.values > 0).count() / db.size], ids=str)
def test_the_noise_is_sensitivity_times_neighbours_over_epsilon(neighbours: Neighbours, expression: PrivateNumber) -> None:
    source, recorder = recorded(np.arange(8), neighbours)
    statistic = expression.on(8)
    measured = expression.measure(source, source.grant(0.1))
    assert recorder.scales == [neighbours.sensitivity(*statistic.sensitivities(8)) * 10]
    assert float(measured) == expression.value(np.arange(8))
    assert expression.noise_scale(8, 0.1, neighbours) == pytest.approx(float(recorder.scales[0] / statistic.unit(8)))
    assert source.unspent == 0


def test_an_expression_for_another_domain_is_refused_before_it_is_charged() -> None:
    source, recorder = recorded(np.arange(8))
    with pytest.raises(BadInput, match="is over 4 cells, not 8"):
        source.statistic(db.values.sum().on(4), source.grant(1))
    assert recorder.asked == []
    assert source.unspent == 1


class Forged:
    """Looks like a term that no record moves."""

    labels, zero, unit, mass, depth, entries = np.arange(2), np.zeros(2, dtype=np.int64), 1, 0, 1, 2
    low = high = span = reach = 0


def test_nobody_can_state_the_bounds_of_a_term() -> None:
    with pytest.raises(PlanError, match="derived, not stated"):
        rules.Term(None, lambda x: x, labels=None, unit=1, moves=(0, 0, 0))
    with pytest.raises(PlanError, match="derived, not stated"):
        rules.taken(Forged(), np.array([0]))  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="must be one number"):
        Derived(rules.cells(3), "cells")
    with pytest.raises(BadInput, match="must be one number"):
        Derived("3", "no term")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", rules.Term.__slots__)
def test_nothing_of_a_term_can_be_changed(name: str) -> None:
    term = rules.cells(3)
    with pytest.raises(PlanError, match=f"{name} is derived, and cannot be changed"):
        setattr(term, name, 0)
    assert (term.low, term.high, term.span, term.unit) == (1, 1, 0, 1)


@pytest.mark.parametrize("name", ["term", "text", "name", "_unit", "unit", "sensitivities", "value", "check"])
def test_nothing_of_an_expression_can_be_changed(name: str) -> None:
    statistic = Derived(rules.length(rules.cells(3)), "length")
    with pytest.raises(PlanError, match=f"{name} is derived, and cannot be changed"):
        setattr(statistic, name, lambda *_: (0, 0))
    assert statistic.sensitivities(3) == (LATTICE + 1, math.isqrt(2 * LATTICE**2) + 1)


def test_no_array_of_a_term_can_be_changed() -> None:
    cells, constant = rules.cells(2), rules.public([3, 4])
    terms = [
        cells,
        constant,
        rules.public([2**63, 4]),
        rules.weighted(cells, [2]),
        rules.grouped(cells, Partition.of([0, 0])),
        rules.taken(cells, np.array([1])),
        rules.clipped(cells, 0, 1),
        rules.added(cells, constant),
        rules.larger(cells, constant),
        rules.largest(cells),
        rules.length(cells),
        rules.variation(cells),
        rules.deviation(cells),
    ]
    # a constant that is handed out would change what is added to it, under bounds that were derived before
    handed = [constant.values(np.zeros(2, dtype=np.int64)), *(array for term in terms for array in (term.zero, term.labels))]
    for array in handed:
        if array is not None:
            with pytest.raises(ValueError, match="read-only"):
                array[:] = 0


@pytest.mark.parametrize("centred", [4, 1, -1, np.True_, "yes", None])
def test_a_length_is_centred_or_not_and_by_no_number(centred: Any) -> None:
    cells = rules.weighted(rules.cells(4), [4096])
    with pytest.raises(BadInput, match="centred: must be True or False"):
        rules.length(cells, centred=centred)
    # √(3/4)·4096 and √2·4096 on the lattice, and less than one unit more
    bounds = math.isqrt(3 * (4096 * LATTICE) ** 2 // 4) + 1, math.isqrt(2 * (4096 * LATTICE) ** 2) + 1
    exact = rules.length(cells, centred=True)
    assert (-exact.low, exact.high, exact.span) == (bounds[0], *bounds)
    assert not hasattr(db.values, "joined")  # a rule is chosen by what is written, never handed in


def test_labels_tell_which_entry_a_cell_touches() -> None:
    odd = rules.taken(rules.cells(4), np.array([1, 3]))
    first = rules.grouped(rules.taken(odd, np.array([0])), Partition.of([0]))
    both = rules.added(first, rules.grouped(rules.cells(4), Partition.of([0, 0, 0, 0])))
    assert [term.labels.tolist() for term in (odd, first, both)] == [[-1, 0, -1, 1], [-1, 0, -1, -1], [0, 0, 0, 0]]
    assert rules.public([1]).labels is None


def test_cells_of_a_grid_are_labelled_from_0_on() -> None:
    shapes: list[tuple[int | tuple[int, ...], int]] = [((1, 4), 4), ((2, 3), 6), ((2, 5, 2), 20), (3, 3)]
    for shape, size in shapes:
        assert rules.cells(shape).labels.tolist() == list(range(size))
    # read as (start, stop), it would have labelled cells 0 and 1 as what they are not, and alike
    apart = rules.taken(rules.cells((1, 4)), np.array([1, 2])), rules.taken(rules.cells(3), np.array([0, 1]))
    with pytest.raises(BadInput, match="different groups"):
        rules.larger(*apart)
    total = rules.grouped(rules.larger(apart[0], rules.weighted(apart[0], [2])), Partition.of([0, 0]))
    assert (total.low, total.high, total.span) == (0, 2, 2)  # one record counts in one cell, once or twice


@pytest.mark.parametrize(
    "rule",
    [
        lambda: rules.public([0.5]),  # type: ignore[list-item]
        lambda: rules.public([]),
        lambda: rules.weighted(rules.cells(2), [1.5]),  # type: ignore[list-item]
        lambda: rules.weighted(rules.cells(2), [1], 0),
        lambda: rules.weighted(rules.cells(2), [True, 2]),
        lambda: rules.clipped(rules.cells(2), 0, 1.5),  # type: ignore[arg-type]
    ],
)
def test_the_kernel_takes_whole_numbers_alone(rule: Callable[[], rules.Term]) -> None:
    with pytest.raises(BadInput, match="must be whole"):
        rule()


def test_large_public_numbers_make_the_lattice_coarser_and_the_bounds_stay_sound() -> None:
    for factor in (10**4, 123456.125, Fraction(1, 10**15)):
        statistic = (stddev(db.values) * factor + db.values.sum() * 7).on(3)
        x, y = np.array([5, 1, 0]), np.array([5, 1, 1])
        assert abs(statistic.value(x) - statistic.value(y)) <= statistic.sensitivities(3)[0]
        assert statistic.value(np.array([LARGEST_TOTAL, 0, 0])) < 2**62
        assert statistic.sensitivities(3)[0] / statistic.unit(3) == pytest.approx(float(root(2) / 3 * factor + 7), rel=1e-5)
    with pytest.raises(BadInput, match="too large for 64 bits"):
        (db.values.sum() * 10**12 * 10**12).on(3)


def test_what_is_used_twice_is_derived_and_evaluated_once() -> None:
    doubled = db.values.sum()
    for _ in range(40):
        doubled = doubled + doubled
    statistic = (doubled / 2**40).on(2)
    assert statistic.value(np.array([3, 4])) / statistic.unit(2) == 7
    assert len(doubled.text) <= 160


# ------------------------------------------------------------------------------------------------------------- refusals

TOTAL, CELLS_ = db.values.sum(), db.values
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: TOTAL * TOTAL,
        r"`\(db.values.sum\(\) \* db.values.sum\(\)\)`: is a product of private numbers. .* measure both, then multiply",
    ),
    (lambda: TOTAL / largest(CELLS_), "divides by a private number. Remedy: measure both, then divide"),
    (lambda: 1 / TOTAL, "divides by a private number"),
    (lambda: TOTAL**2, "is a product of private numbers"),
    (lambda: CELLS_ > TOTAL, r"`\(db.values > db.values.sum\(\)\)`: compares with a private number"),
    (lambda: TOTAL > 3, "measure it, then compare"),
    (lambda: TOTAL == 3, "measure it, then compare"),
    (lambda: (CELLS_ > 0) & (db.x < 3), "select the region first"),
    (lambda: (db.x < 3) | (CELLS_ > 0), "select the region first"),
    (lambda: bool(TOTAL), "a program may not decide by it"),
    (lambda: float(TOTAL), "is private. Remedy: measure it"),
    (lambda: max(CELLS_), "cannot be looped over"),
    (lambda: sqrt(TOTAL), "measure it, then take the root"),
    (lambda: CELLS_.count(), "their number is public"),
    (lambda: db.groupby(x=2).count(), "their number is public"),
    (lambda: TOTAL + CELLS_, "combines a number with cells"),
    (lambda: stddev(TOTAL), "is of cells, not of one number"),
    (lambda: stddev(db.where(CELLS_ > 0)), "how many cells satisfy a condition, which is private"),
    (lambda: db.where((CELLS_ > 0) & (CELLS_ < 5)).sum(), "under more than one comparison"),
    (lambda: db.where(db.x < 2).where(CELLS_ > 0), "is a condition on other cells than those it selects"),
    (lambda: db.where((CELLS_ > 0) & ((2 * CELLS_) < 5)), "is a condition on other cells than those it selects"),
    (lambda: norm(CELLS_, 3), "must be 1, 2 or infinity"),
    (lambda: TOTAL * math.nan, "must be finite"),
    (lambda: TOTAL * "2", "must be a public number, got str"),
    (lambda: TOTAL * 10**40, "must be between"),
    (lambda: db.where(3), "must be on coordinates or on values"),
    (lambda: db.groupby().sum(), "names no axis"),
]
REFUSED_OVER_A_DOMAIN: list[tuple[PrivateNumber, str]] = [
    (TOTAL / 0, "divides by zero"),
    (TOTAL / (db.size - 4), "divides by zero"),
    (db.groupby(z=2).sum().sum(), "there is no axis 'z'. Remedy: use one of x"),
    (db.groupby(x=0.5).sum().sum(), "must be a width of at least 1"),
    (db.where(db.x > 9).sum(), r"`db.values.where\(\(db.x > 9\)\)`: keeps no entry"),
    ((db.groupby(x=2).sum() + CELLS_).sum(), "combines vectors over different groups"),
    ((db.groupby(x=2).sum() + db.where(db.x < 2)).sum(), r"combines vectors over different groups"),
    (stddev(db.where(db.x < 1), ddof=1), "divides a sum of squares by nothing"),
    (CELLS_.weighted([1, 2, 3]).sum(), "one for each of 4 entries"),
    (TOTAL.clip(3, 1), "lower bound above the upper one"),
]


@pytest.mark.parametrize(("build", "message"), REFUSED, ids=lambda part: part if isinstance(part, str) else "")
def test_what_cannot_be_derived_is_refused_with_the_part_and_the_reason(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        build()


@pytest.mark.parametrize(("expression", "message"), REFUSED_OVER_A_DOMAIN, ids=str)
def test_what_does_not_fit_a_domain_is_refused_with_the_part_and_the_reason(expression: PrivateNumber, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        expression.on(4)


def test_an_expression_that_is_nested_too_deeply_is_refused() -> None:
    nested = TOTAL
    for _ in range(58):
        nested = -nested
    assert nested.on(2).sensitivities(2) == (1, 0)
    with pytest.raises(BadInput, match="is nested more than 60 deep"):
        _ = -nested


def test_axes_have_the_names_of_the_domain() -> None:
    domain = Domain.of((2, 3), ("age", "income"))
    people = Database(domain)
    assert (people.size, people.age_range, people.income_range) == (6, 2, 3)
    assert largest(people.groupby(income=2).sum()).value(np.ones((2, 3), int), axes=("age", "income")) == 4
    with pytest.raises(BadInput, match="there is no axis 'height'. Remedy: use one of age, income"):
        _ = people.height
    with pytest.raises(BadInput, match="must be 2 different names"):
        Domain.of((2, 3), ("age", "age"))


@pytest.mark.parametrize("axes", [(1, 2), (None, "x"), ("x", "y", "y"), 7, (["x"], "y")])
def test_axes_that_are_no_names_are_refused(axes: Any) -> None:
    with pytest.raises(BadInput, match="axes: must be 2 different names"):
        Domain.of((2, 3), axes)


@pytest.mark.parametrize("number", [10**400, Fraction(10**400), Fraction(1, 10**400), -(10**400)], ids=range(4))
def test_numbers_that_no_float_holds_are_refused_by_name(number: Any) -> None:
    with pytest.raises(BadInput, match=r"must be between 10\^-20 and 10\^20"):
        db.values * number
    with pytest.raises(BadInput, match=r"t: must be between 10\^-20 and 10\^20"):
        sql("select sum(values) * t from db", t=number)


def test_whole_numbers_of_numpy_are_taken_as_they_are() -> None:
    assert fraction(np.int64(2**53 + 1), "scale") == 2**53 + 1
    assert stddev(db.values, ddof=np.int64(1)).value([1, 3]) == stddev(db.values, ddof=1).value([1, 3])  # type: ignore[arg-type]


@pytest.mark.parametrize("ddof", [1.0, 2, -1, None])
def test_a_wrong_ddof_is_refused_by_name(ddof: Any) -> None:
    with pytest.raises(BadInput, match="ddof: must be 0 or 1"):
        stddev(db.values, ddof=ddof)
