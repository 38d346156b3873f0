"""Every strategy against its dense matrix: products, norms, and the columns' distances."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from jostle.kernel.arguments import LARGEST_TOTAL, domain_of
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.partition import Partition
from jostle.kernel.source import SimulatedSource
from jostle.kernel.strategies import (
    LARGEST_ENTRY,
    Blocks,
    Boxes,
    Hierarchy,
    Identity,
    Matrix,
    Prefix,
    Residual,
    Stack,
    Strategy,
    Total,
    Wavelet,
    blocks,
    boxes,
    grid,
    hierarchy,
    identity,
    lattice,
    matrix,
    prefix,
    residual,
    stack,
    total,
    wavelet,
)
from jostle.kernel.strategies.base import RESOLUTION
from tests.kernel.helpers import all_strategies

shapes = st.one_of(
    st.tuples(st.integers(1, 17)),
    st.tuples(st.integers(1, 7), st.integers(1, 7)),
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4)),
)
weights = st.one_of(st.integers(1, 1000), st.floats(min_value=0.01, max_value=100))


@st.composite
def partitions(draw: st.DrawFn, size: int) -> Partition:
    groups = draw(st.integers(1, size))
    labels = draw(st.permutations([*range(groups), *(i * i % groups for i in range(size - groups))]))
    return Partition.of(labels)


@st.composite
def box_sets(draw: st.DrawFn, shape: tuple[int, ...]) -> Boxes:
    rows = draw(st.integers(1, 6))
    corners = [[sorted((draw(st.integers(0, n)), draw(st.integers(0, n)))) for n in shape] for _ in range(rows)]
    pairs = [[(low, high) if low < high else (0, n) for (low, high), n in zip(row, shape, strict=True)] for row in corners]
    return boxes(shape, *np.moveaxis(np.array(pairs), -1, 0))


@st.composite
def matrices(draw: st.DrawFn, shape: tuple[int, ...]) -> Matrix:
    rows, columns = draw(st.integers(1, 5)), int(np.prod(shape))
    entry = draw(st.sampled_from([st.integers(-9, 9), st.floats(-50, 50, allow_subnormal=False)]))
    entries = np.array(draw(st.lists(entry, min_size=rows * columns, max_size=rows * columns)), dtype=float)
    largest = np.abs(entries).max()
    return matrix(entries.reshape(rows, columns) if largest == 0 or largest > 1e-5 else np.ones((rows, columns)), shape)


@st.composite
def hierarchies(draw: st.DrawFn, shape: tuple[int, ...]) -> Hierarchy:
    branching, root = draw(st.integers(2, 6)), draw(st.booleans())
    plain = hierarchy(shape, branching, root=root)
    if draw(st.booleans()):
        return plain
    return hierarchy(shape, branching, root=root, weights=[draw(weights) for _ in plain.levels])


@st.composite
def single_strategies(draw: st.DrawFn, shape: tuple[int, ...]) -> Strategy:
    kinds = ["identity", "total", "prefix", "blocks", "grid", "boxes", "matrix", "hierarchy", "wavelet", "residual"]
    kind = draw(st.sampled_from(kinds))
    if kind == "residual":
        kept = draw(st.lists(st.sampled_from(range(len(shape))), unique=True))
        return residual(shape, kept, draw(st.lists(st.sampled_from(kept), unique=True)) if kept else [])
    if kind == "prefix" and len(shape) == 1:
        return prefix(shape[0])
    if kind == "blocks":
        return blocks(draw(partitions(int(np.prod(shape)))), shape)
    if kind == "grid":
        return grid(shape, tuple(draw(st.integers(1, n)) for n in shape))
    builders = {"total": total, "wavelet": wavelet}
    drawn = {"boxes": box_sets, "matrix": matrices, "hierarchy": hierarchies}
    return draw(drawn[kind](shape)) if kind in drawn else builders.get(kind, identity)(shape)


@st.composite
def strategies(draw: st.DrawFn) -> Strategy:
    shape = draw(shapes)
    if draw(st.integers(0, 3)):
        return draw(single_strategies(shape))
    parts = [draw(single_strategies(shape)) for _ in range(draw(st.integers(1, 3)))]
    return stack(*parts, weights=draw(st.one_of(st.none(), st.tuples(*[weights] * len(parts)))))


def whole_matrix(strategy: Strategy) -> np.ndarray:
    """The integer matrix, from what the strategy does to unit vectors, one at a time, in Python's integers."""
    columns = [strategy.apply(unit) for unit in np.eye(strategy.size, dtype=np.int64)]
    return np.stack(columns, axis=1).astype(object)


def distances(columns: np.ndarray) -> int:
    """The largest L1 distance between two columns."""
    return max(int(np.abs(a - b).sum()) for a, b in itertools.product(columns.T, repeat=2))


EXACT_DIAMETERS = (Identity, Total, Prefix, Blocks, Hierarchy, Matrix)


@settings(max_examples=300)
@given(strategies(), st.randoms(use_true_random=False))
def test_a_strategy_is_its_dense_matrix(strategy: Strategy, random: Any) -> None:
    entries = whole_matrix(strategy)
    assert entries.shape == (strategy.rows, strategy.size)
    assert (strategy.dense() == entries / strategy.unit).all()

    columns = np.abs(entries).sum(axis=0)
    assert (strategy.column_norms == columns).all()
    assert strategy.norm == columns.max()
    widest = distances(entries)
    assert strategy.diameter >= widest
    if isinstance(strategy, EXACT_DIAMETERS) or (isinstance(strategy, Wavelet) and len(strategy.shape) == 1):
        assert strategy.diameter == widest
    assert {type(strategy.norm), type(strategy.diameter), type(strategy.unit), *map(type, strategy.bounds)} == {int}

    squares = (entries**2).sum(axis=0)
    assert (strategy.column_squares == squares).all()
    added, replaced = strategy.squared_sensitivities()
    apart = max(int(((a - b) ** 2).sum()) for a, b in itertools.product(entries.T, repeat=2))
    assert added == squares.max()
    assert replaced >= apart
    if isinstance(strategy, (*EXACT_DIAMETERS, Wavelet, Residual)):
        assert replaced == apart
    assert {type(added), type(replaced)} == {int}

    low, high = strategy.bounds
    assert low <= min(entries.min(), 0)
    assert high >= max(entries.max(), 0)
    if isinstance(strategy, Matrix):
        assert (low, high) == (min(entries.min(), 0), max(entries.max(), 0))

    assume(max(-strategy.bounds[0], strategy.bounds[1]) <= LARGEST_ENTRY)  # a source measures no others: 64 bits end
    x = np.array([random.randrange(1000) for _ in range(strategy.size)])
    y = np.array([random.randrange(-1000, 1000) for _ in range(strategy.rows)])
    assert (strategy.apply(x) == entries @ x).all()
    assert (strategy.adjoint(y) == y @ entries).all()
    assert np.allclose(strategy @ x, strategy.dense() @ x)
    assert np.allclose(strategy.adjoint(y * 0.5), (y @ entries).astype(float) * 0.5)


@settings(max_examples=100)
@given(strategies(), st.integers(1, 3), st.integers(0, 2))
def test_leading_axes_are_trials(strategy: Strategy, trials: int, inner: int) -> None:
    lead = (trials, *[2] * inner)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, size=(*lead, strategy.size))
    y = rng.normal(size=(*lead, strategy.rows))
    for at in np.ndindex(*lead):
        assert (strategy.apply(x)[at] == strategy.apply(x[at])).all()
        assert np.allclose(strategy.adjoint(y)[at], strategy.adjoint(y[at]))
        assert np.allclose((strategy @ x)[at], strategy @ x[at])


@settings(max_examples=100)
@given(strategies(), st.randoms(use_true_random=False))
def test_answers_on_the_largest_counts_are_exact(strategy: Strategy, random: Any) -> None:
    x = np.zeros(strategy.size, dtype=np.int64)
    for _ in range(4):
        x[random.randrange(strategy.size)] += LARGEST_TOTAL // 4 - random.randrange(1000)
    expected = whole_matrix(strategy) @ x.astype(object)
    if max(-strategy.bounds[0], strategy.bounds[1]) <= LARGEST_ENTRY:
        answers = strategy.apply(x)
        assert answers.dtype == np.int64
        assert (answers == expected).all()


@given(strategies(), st.data())
def test_one_record_moves_the_answers_by_the_norm_at_most(strategy: Strategy, data: st.DataObject) -> None:
    cell, other = (data.draw(st.integers(0, strategy.size - 1)) for _ in range(2))
    x = np.full(strategy.size, 3, dtype=np.int64)
    more, moved = x.copy(), x.copy()
    more[cell] += 1
    moved[cell] += 1
    moved[other] -= 1
    assert np.abs(strategy.apply(more) - strategy.apply(x)).sum() <= strategy.norm
    assert np.abs(strategy.apply(moved) - strategy.apply(x)).sum() <= strategy.diameter


@given(hierarchies((13,)) | hierarchies((5, 7)))
def test_levels_of_a_tree_are_nested_partitions_from_coarse_to_fine(tree: Hierarchy) -> None:
    assert tree.grids[-1] == tree.shape
    ones = tree.by_level(np.ones(tree.rows))
    for level, weight in enumerate(tree.weights):
        sums = tree.by_level(tree.apply(np.ones(tree.size, dtype=np.int64)))[level]
        assert sums.sum() == weight * tree.size
        assert np.ptp(sums) <= weight * tree.size  # no empty block
        assert sums.min() >= weight
        if level + 1 < len(tree.levels):
            assert (tree.repeat(ones[level], level) == 1).all()
            assert tree.merge(ones[level + 1], level).sum() == np.prod(tree.grids[level + 1])


@pytest.mark.parametrize(("n", "branching"), [(1, 2), (2, 2), (7, 3), (16, 16), (17, 16), (100, 2)])
def test_blocks_of_one_parent_are_nearly_equal(n: int, branching: int) -> None:
    tree = hierarchy(n, branching)
    for up, down in itertools.pairwise(tree.levels):
        lengths = np.diff(down[0], append=n)
        children = np.searchsorted(down[0], [*up[0], n])
        for first, last in itertools.pairwise(children):
            assert np.ptp(lengths[first:last]) <= 1
            assert last - first <= branching


# ----------------------------------------------------------------------------------------------------- real weights


@given(st.lists(st.floats(-1e6, 1e6).filter(lambda w: abs(w) > 1e-3), min_size=1, max_size=6))
def test_real_weights_are_kept_to_a_millionth_of_the_largest(values: list[float]) -> None:
    whole, unit = lattice(values)
    assert whole.dtype == np.int64
    assert np.abs(whole / unit - values).max() <= np.abs(values).max() / RESOLUTION
    assert np.abs(whole).max() <= max(LARGEST_ENTRY, np.abs(values).max())


@given(st.lists(st.integers(-RESOLUTION + 1, RESOLUTION - 1).filter(bool), min_size=1, max_size=6))
def test_whole_weights_are_exact(values: list[int]) -> None:
    assert lattice(values)[0].tolist() == values
    assert lattice(values)[1] == 1


def test_the_norm_is_that_of_the_rounded_entries() -> None:
    third = matrix([[1 / 3, 1.0]])
    assert third.unit == RESOLUTION
    assert third.norm == RESOLUTION
    assert third.column_norms.tolist() == [round(RESOLUTION / 3), RESOLUTION]


@pytest.mark.parametrize("bad", [[np.nan], [np.inf], [1e13], [1e-7], [0.0]])
def test_weights_out_of_range_are_refused(bad: list[float]) -> None:
    with pytest.raises(BadInput, match=r"^weights: "):
        lattice(bad)


def test_weights_that_would_measure_nothing_are_refused() -> None:
    with pytest.raises(BadInput, match="differ by more than a factor"):
        stack(identity(4), total(4), weights=[1e-9, 1.0])
    with pytest.raises(BadInput, match="differ by more than a factor"):
        hierarchy(4, 4, weights=[1e-9, 1.0])


# ------------------------------------------------------------------------------------------------ what is refused


class Cheater(Strategy):
    """A strategy from outside, which says that its norm is smaller than it is."""

    def __init__(self, n: int) -> None:
        self.shape, self.rows = (n,), n

    def apply(self, x: Any) -> Any:
        return 100 * x

    def adjoint(self, y: Any) -> Any:
        return 100 * y

    @property
    def norm(self) -> int:
        return 1


def test_a_strategy_from_outside_the_kernel_is_refused_before_any_charge() -> None:
    source = SimulatedSource([3, 0, 4], seed=0)
    token = source.grant(1)
    with pytest.raises(PlanError, match=r"^Cheater is no strategy of the kernel: its norm is not proven"):
        source.measure(Cheater(3), token)
    with pytest.raises(PlanError, match="no strategy of the kernel"):
        source.noise_variance(Cheater(3), token)
    assert source.unspent == 1
    source.measure(identity(3), token)


def test_a_strategy_from_outside_does_not_get_in_as_a_part_of_a_stack() -> None:
    with pytest.raises(PlanError, match="Cheater is no strategy of the kernel"):
        stack(identity(3), Cheater(3))


def test_a_class_that_builds_on_the_kernels_is_from_outside_too() -> None:
    class Sneaky(Identity):  # type: ignore[misc]  # final, on purpose
        def apply(self, x: Any) -> Any:
            return 100 * x

    source = SimulatedSource([3, 0, 4], seed=0)
    with pytest.raises(PlanError, match="Sneaky is no strategy of the kernel"):
        source.measure(Sneaky((3,)), source.grant(1))


@pytest.mark.parametrize("entry", [LARGEST_ENTRY + 1, -LARGEST_ENTRY - 1])
def test_entries_that_could_overflow_are_refused(entry: int) -> None:
    source = SimulatedSource([3, 0, 4], seed=0)
    with pytest.raises(PlanError, match="too large or too fine"):
        source.measure(matrix([[entry, 0, 0]]), source.grant(1))
    assert source.unspent == 1


def test_a_strategy_that_does_not_fit_the_domain_is_refused() -> None:
    source = SimulatedSource([3, 0, 4], seed=0)
    with pytest.raises(BadInput, match=r"^strategy: is over \(4,\), the data are over \(3,\)"):
        source.measure(identity(4), source.grant(1))
    with pytest.raises(BadInput, match=r"^x: has shape"):
        _ = identity(4) @ np.zeros(3)
    assert source.unspent == 1


def test_fractions_given_to_the_constructor_are_cut_off_before_the_norm_is_taken() -> None:
    half = Matrix(sparse.csr_array([[1.5, 0.5]]), (2,), 1)
    assert half.dense().tolist() == [[1.0, 0.0]]
    assert half.norm == 1


def test_a_matrix_does_not_change_with_the_callers() -> None:
    mine = sparse.csr_array([[1.0, 0.0], [0.0, 1.0]])
    strategy = matrix(mine)
    mine.indices[:] = 0
    mine.data[:] = 7
    assert strategy.dense().tolist() == [[1, 0], [0, 1]]
    assert strategy.norm == 1


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, np.asarray, list])
def test_a_matrix_may_come_in_any_form(make: Any) -> None:
    assert matrix(make([[1, 0, -2], [0, 3, 0]])).dense().tolist() == [[1, 0, -2], [0, 3, 0]]


def test_entries_that_are_listed_twice_are_added_up() -> None:
    twice = sparse.csr_array((np.array([1.0, 1.0, 2.0]), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 2))
    strategy = matrix(twice)
    assert (whole_matrix(strategy) == [[2, 2]]).all()
    assert strategy.norm == 2
    assert strategy.bounds == (0, 2)


def test_an_empty_matrix_measures_nothing() -> None:
    nothing = matrix(np.zeros((2, 3)))
    assert (nothing.norm, nothing.diameter, nothing.bounds) == (0, 0, (0, 0))


@pytest.mark.parametrize("bad", [np.zeros((0, 3)), [1, 2, 3], [[np.nan]], [[np.inf, 1]]])
def test_a_bad_matrix_is_refused(bad: Any) -> None:
    with pytest.raises(BadInput):
        matrix(bad)


def test_a_matrix_over_another_number_of_cells_is_refused() -> None:
    with pytest.raises(BadInput, match=r"^shape: "):
        matrix([[1, 0, 1]], shape=(2, 2))


@pytest.mark.parametrize("bad", [0, -1, (), (2, 0), 1.5, (2, 1.5), "4", True, (True,)])
def test_a_bad_domain_is_refused(bad: Any) -> None:
    with pytest.raises(BadInput, match=r"^shape: "):
        domain_of(bad)


@pytest.mark.parametrize(
    ("lows", "highs"),
    [([[0]], [[5]]), ([[-1]], [[2]]), ([[2]], [[2]]), ([[3]], [[1]]), ([[0]], [[1], [2]]), ([[0.5]], [[1.5]]), ([], [])],
)
def test_bad_boxes_are_refused(lows: Any, highs: Any) -> None:
    with pytest.raises(BadInput, match=r"^lows, highs: "):
        boxes(4, lows, highs)


def test_reversed_boxes_are_refused_by_the_class_itself() -> None:
    with pytest.raises(BadInput, match="half-open"):
        Boxes((4,), np.array([[3]]), np.array([[1]]))


@pytest.mark.parametrize("bad", [[1], [1, 2, 3], [1, 0], [1, -1]])
def test_bad_weights_of_a_stack_are_refused(bad: list[int]) -> None:
    with pytest.raises(BadInput, match=r"^weights: "):
        stack(identity(3), total(3), weights=bad)


def test_a_stack_is_over_one_domain() -> None:
    with pytest.raises(BadInput, match=r"^parts: "):
        stack(identity(3), identity(4))
    with pytest.raises(BadInput, match=r"^parts: "):
        stack()


def test_a_stack_from_its_constructor_takes_no_negative_weights() -> None:
    with pytest.raises(BadInput, match=r"^weights: "):
        Stack([identity(3), total(3)], [1, -1], 1)


@pytest.mark.parametrize("bad", [1, 0, -3])
def test_a_tree_branches_at_least_in_two(bad: int) -> None:
    with pytest.raises(BadInput, match=r"^branching: "):
        hierarchy(8, bad)


def test_a_tree_has_one_weight_a_level() -> None:
    with pytest.raises(BadInput, match=r"^weights: .* pass 4 of them"):
        hierarchy(8, 2, weights=[1, 2])


@pytest.mark.parametrize("name", all_strategies())
def test_names_tell_public_facts_alone(name: str) -> None:
    strategy = all_strategies()[name]
    kind = type(strategy).__name__.lower()
    assert strategy.name == f"{kind} of {strategy.rows} over {'2×4' if kind == 'residual' else '8'}"
    assert repr(strategy) == f"<{strategy.name}>"


@pytest.mark.parametrize(
    "levels",
    [
        [],
        [(np.array([0, 2]),)],  # the cells are missing
        [(np.array([0, 2, 1]),), (np.arange(4),)],  # not rising: a record would be in two blocks
        [(np.array([1, 2]),), (np.arange(4),)],  # does not begin at 0
        [(np.array([0, 2]),), (np.array([0, 1, 3]),), (np.arange(4),)],  # not nested
        [(np.array([0, 5]),), (np.arange(4),)],  # beyond the domain
        [(np.array([0]), np.array([0])), (np.arange(4), np.array([0]))],  # another number of axes
    ],
)
def test_a_hierarchy_of_levels_that_are_not_nested_is_refused(levels):
    with pytest.raises(BadInput, match="nested"):
        Hierarchy((4,), levels, [1] * max(len(levels), 1), 1)


def test_squares_of_the_largest_entries_are_exact() -> None:
    column = matrix(np.full((2**12, 2), LARGEST_ENTRY - 1, dtype=np.int64) * np.array([1, -1]))
    assert column.unit * (LARGEST_ENTRY - 1) == column.bounds[1] * 1
    square = 2**12 * column.bounds[1] ** 2
    assert column.squared_sensitivities() == (square, 4 * square)
    assert stack(column, column, weights=[3, 1]).squared_sensitivities()[0] == 10 * square


def large_strategies(cells: int) -> dict[str, Strategy]:
    """Of every kind, over more cells than are looked at pair by pair."""
    rng = np.random.default_rng(cells)
    apart = np.zeros((2, cells))
    apart[0, 0] = apart[1, -1] = 3  # two columns that share no row
    starts = np.sort(rng.choice(cells - 1, (4, 1), replace=False), axis=0)
    parts = {
        "identity": identity(cells),
        "total": total(cells),
        "prefix": prefix(cells),
        "blocks": blocks(Partition.of([*range(7), *rng.integers(0, 7, cells - 7)])),
        "boxes": boxes(cells, starts, starts + 1),
        "matrix": matrix(apart),
        "signed matrix": matrix(rng.integers(-3, 4, (5, cells))),
        "real matrix": matrix(rng.normal(size=(3, cells))),
        "hierarchy": hierarchy(cells, 3),
        "weighted hierarchy": hierarchy(cells, 2, weights=rng.uniform(1, 3, len(hierarchy(cells, 2).levels))),
        "wavelet": wavelet(cells),
    }
    return parts | {"stack": stack(parts["identity"], parts["matrix"], parts["hierarchy"], weights=[1, 2.5, 3])}


@pytest.mark.parametrize("cells", [129, 700, 5_000])
def test_a_large_strategy_has_the_norm_and_the_diameter_of_its_columns(cells: int) -> None:
    """Columns from what it does to single records: the first, the last, and some between, each beside each other."""
    some = np.unique([0, 1, cells // 2, cells - 2, cells - 1, *np.random.default_rng(1).integers(0, cells, 12)])
    units = np.zeros((some.size, cells), dtype=np.int64)
    units[np.arange(some.size), some] = 1
    for name, strategy in large_strategies(cells).items():
        columns = np.asarray(strategy.apply(units), dtype=np.int64)
        assert np.abs(columns).sum(axis=1).max() <= strategy.norm, name
        assert max(np.abs(columns - column).sum(axis=1).max() for column in columns) <= strategy.diameter, name
        assert strategy.bounds[0] <= columns.min() <= columns.max() <= strategy.bounds[1], name
