"""Synthetic records from a noisy histogram over a few buckets, and a logistic regression on them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jostle.kernel.arguments import check_one_of, finite
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts
from jostle.kernel.records import ArrayColumns, Records, SimulatedRecords
from jostle.kernel.strategies import identity
from jostle.learn.cells import CellModel, binned, coarse, derive_bins, known_total, width
from jostle.learn.estimator import PrivateEstimator
from jostle.learn.registry import FloatArray, IntArray, learner
from jostle.learn.sparse import PERCENT, choose_attributes
from jostle.learn.task import Task
from jostle.linear.fitting.projections import project_simplex
from jostle.schema import Category, Column, Integer, Numeric
from jostle.schema.files import check_no_database
from jostle.synthetic.synthesizer import synthesize as synthesize_table

if TYPE_CHECKING:
    from pandas import DataFrame

LARGEST: Final = 2**20
"""The most cells of a histogram, classes included."""

MOST_RECORDS: Final = 10**9 - 1
"""The most records that are made: noise may suggest any number, and NumPy draws from no more."""

CROWD: Final = 0.3
"""The most cells per record times ε when buckets are chosen: with more, too little would stand out from the noise.

Found on made-up tables, where from 0.1 to 0.3 makes no difference.
"""

HISTOGRAMS: Final = ("cells", "model")
"""Where records come from: a noisy histogram over the buckets, or a model of all columns."""

LABELLED: Final = 4
"""For a model, pairs with the label count this many times."""

MOST_DRAWN, PLENTY, SEED = 200_000, 1_000, 0
"""Records drawn from a model are public: at most this many, and to choose among attributes by them protects nothing."""

SMALLEST, MOST, FINEST = 64, 2**16, 16
"""The number of cells that is always allowed, the most cells, and the most buckets of a number when buckets are chosen."""

Buckets = Mapping[str, Counts]
"""For each attribute of a histogram the bucket of each of its cells, numbered without gaps."""


# ------------------------------------------------------------------------------------------------ synthetic records


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Records that belong to nobody: public, and about as many as the private ones."""

    task: Task
    """The public description of the columns."""

    buckets: Buckets
    """The columns besides the label, and how their cells are grouped."""

    counts: Counts
    """The records by combination of buckets (rows, the last attribute changing fastest) and class (columns)."""

    def __len__(self) -> int:
        return int(self.counts.sum())

    def cells(self) -> dict[str, Counts]:
        """The bucket of each attribute in each combination."""
        places = np.unravel_index(np.arange(len(self.counts)), tuple(widths(self.buckets).values()))
        return dict(zip(self.buckets, places, strict=True))

    def to_frame(self) -> DataFrame:
        """One row per record, with the buckets' names, in the order of the buckets."""
        import pandas as pd

        cell, label = np.divmod(np.arange(self.counts.size), self.counts.shape[1])
        rows = np.repeat(np.arange(self.counts.size), self.counts.reshape(-1))
        columns: dict[str, Any] = {
            name: np.array(bucket_names(self.task, name, self.buckets[name]), dtype=object)[codes[cell[rows]]]
            for name, codes in self.cells().items()
        }
        return pd.DataFrame(columns | {self.task.label: self.task.classes[label[rows]]})

    def to_csv(self, path: str | Path) -> None:
        """Write the records to a file."""
        self.to_frame().to_csv(path, index=False)


def widths(buckets: Buckets) -> dict[str, int]:
    """The number of buckets of each attribute."""
    return {name: width(table) for name, table in buckets.items()}


def synthesize(records: Records, task: Task, buckets: Buckets, budget: Budget, total: float) -> Synthetic:
    """`total` records with about the counts of these; the total is public, or was paid for.

    Privacy: one Laplace measurement of disjoint cells, buckets × classes, with the whole budget; under `replace` a record
    moves two of them by one. All else is post-processing.
    """
    buckets = checked_buckets(task, buckets)
    noisy = project_hist(records, task, buckets, budget).reshape(-1)
    counts = consistent(noisy, min(max(round(total), 0), MOST_RECORDS))
    return Synthetic(task, buckets, counts.reshape(-1, len(task.classes)))


def project_hist(records: Records, task: Task, buckets: Buckets, budget: Budget) -> FloatArray:
    """The noisy histogram over buckets and classes: steps 2 and 3 of the course's pipeline, under its function's name.

    It has one axis per attribute, in the order of the buckets, and one for the classes. Counts are not rounded, and may be
    negative.

    Privacy: one Laplace measurement of disjoint cells with the whole budget; under `replace` a record moves two of them.

    >>> from jostle.kernel.records import ArrayColumns, SimulatedRecords
    >>> from jostle.schema import Boolean, Integer
    >>> task = Task(("age",), "rich", {"age": Integer(0, 99), "rich": Boolean()})
    >>> people = ArrayColumns({"age": np.arange(200) % 100, "rich": np.arange(200) // 100}, task.sizes)
    >>> source = SimulatedRecords(people, seed=0, neighbours="replace")
    >>> in_forties = {"age": np.array([40 <= age <= 50 for age in range(100)] + [0] * (task.sizes["age"] - 100), dtype=int)}
    >>> project_hist(source, task, in_forties, source.grant(10)).round().tolist()
    [[89.0, 89.0], [11.0, 11.0]]
    """
    buckets = checked_buckets(task, buckets)
    vector = derive_bins(records, buckets).vector(*map(binned, buckets), task.label)
    shape = (*widths(buckets).values(), len(task.classes))
    return np.asarray(vector.measure(identity(vector.shape), budget), dtype=np.float64).reshape(shape)


def consistent(noisy: FloatArray, total: int) -> Counts:
    """The nearest non-negative whole counts that add up to the total.

    Only clipping negative counts would invent records: about a noise scale's worth for every two empty cells.

    >>> consistent(np.array([5.4, -3.0, 2.2, 0.9]), 6).tolist()
    [5, 0, 1, 0]
    """
    return largest_remainder(project_simplex(noisy, float(total)), total)


def largest_remainder(shares: FloatArray, total: int) -> Counts:
    """Whole numbers that add up to the total: shares are rounded down, and those with the largest remainders get one more.

    >>> largest_remainder(np.array([1.5, 0.3, 2.2]), 4).tolist()
    [2, 0, 2]
    """
    whole = np.floor(shares).astype(np.int64)
    missing = int(np.clip(total - whole.sum(), 0, whole.size))
    whole[np.argsort(whole - shares, kind="stable")[:missing]] += 1
    return whole


def bucket_names(task: Task, attribute: str, table: Counts) -> list[str]:
    """The buckets' names: those of their cells; for numbers, of the first and the last."""
    labels = [*task.columns[attribute].labels, *(["(missing)"] if task.columns[attribute].drops else [])]
    inside = [np.flatnonzero(table == bucket) for bucket in range(width(table))]
    if task.is_numeric(attribute):
        return [
            "other"
            if one[-1] - one[0] >= one.size
            else labels[one[0]]
            if one.size == 1
            else f"{labels[one[0]]} … {labels[one[-1]]}"
            for one in inside
        ]
    return [" | ".join(labels[cell] for cell in one) for one in inside]


def checked_buckets(task: Task, buckets: Any) -> Buckets:
    """Buckets as arrays. Raises, before anything is charged, unless every cell has one and the histogram is small enough."""
    if not isinstance(buckets, Mapping) or not buckets:
        raise BadInput("buckets", "are missing", "name at least one attribute, and give each of its cells a bucket")
    checked = {name: _checked_table(task, name, table) for name, table in buckets.items()}
    if prod(widths(checked).values()) * len(task.classes) > LARGEST:
        raise BadInput("buckets", f"have more than {LARGEST:,} combinations", "use fewer or coarser ones")
    return checked


def _checked_table(task: Task, name: Any, table: Any) -> Counts:
    if name not in task.attributes:
        raise BadInput("buckets", f"{name!r} is no attribute", f"use some of {', '.join(task.attributes)}")
    try:
        known = np.asarray(table)
    except (TypeError, ValueError):
        known = np.empty(0)
    if known.shape != (task.sizes[name],) or known.dtype.kind not in "iu":
        raise BadInput("buckets", f"of {name!r} must be {task.sizes[name]} whole numbers", "give one to each cell")
    if set(known.tolist()) != set(range(width(known))):
        raise BadInput("buckets", f"of {name!r} must be numbered without gaps", "number them from 0")
    return known.astype(np.int64)


# ------------------------------------------------------------------------------------------------- declared buckets


def read_buckets(path: str | Path, task: Task) -> Buckets:
    """Buckets from a TOML file: for each attribute `cuts` of a number, `between` two numbers, or `groups` of categories.

    A cut is moved to the next border of the schema's cells. `between = [40, 50]` makes two buckets: 40 to 50, and other.
    Values that are in no group, not in the schema or missing share the last bucket. An empty table keeps the attribute's
    cells.
    """
    check_no_database(Path(path), "buckets")
    try:
        declared = tomllib.loads(Path(path).read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError):  # also for a number with too many digits, and for deep nesting
        raise BadInput(
            "buckets", f"{path} cannot be read", 'write for instance: ["age"] and below it: cuts = [40, 50]'
        ) from None
    return {name: _declared(task, name, how) for name, how in declared.items()}


def _declared(task: Task, name: str, how: Any) -> Counts:
    if name not in task.attributes:
        raise BadInput("buckets", f"{name!r} is no attribute", f"use some of {', '.join(task.attributes)}")
    column, values, size = task.columns[name], task.known(name), task.sizes[name]
    if how == {}:
        return np.arange(size)
    if isinstance(column, Numeric) and _is_list(how, "cuts", lambda cut: finite(cut) is not None):
        table = np.searchsorted(np.sort(np.array(how["cuts"], dtype=np.float64)), column.edges[:-1], side="right")
    elif isinstance(column, Numeric) and _is_list(how, "between", lambda end: finite(end) is not None):
        if len(how["between"]) != 2:
            raise BadInput("buckets", f"of {name!r}: between takes two numbers", "write for instance between = [40, 50]")
        low, high = sorted(how["between"])
        outside = ~((column.edges[:-1] >= low) & (column.edges[:-1] <= high))
        return np.append(outside, np.ones(size - values, dtype=bool)).astype(np.int64)
    elif not isinstance(column, Numeric) and _is_list(how, "groups", _is_group):
        places = _places(name, column, how["groups"])
        table = np.array([places.get(cell, len(how["groups"])) for cell in range(values)])
    else:
        problem = f"of {name!r} need cuts or between, if it is a number, or groups of categories"
        raise BadInput("buckets", problem, "give one of them")
    filled = np.append(table, np.full(size - values, int(table.max()) + isinstance(column, Numeric)))
    return np.unique(filled, return_inverse=True)[1].astype(np.int64)


def _places(name: str, column: Column, groups: list[list[Any]]) -> dict[int, int]:
    """The number of each category's group. A misspelt one would be paid for, and end up among the rest."""
    cells = [(column.encode([value]).item(), number) for number, group in enumerate(groups) for value in group]
    if len(dict(cells)) < len(cells) or not all(0 <= cell < column.values for cell, _ in cells):
        problem = f"of {name!r} name a category that the schema lacks, or one twice"
        raise BadInput("buckets", problem, "use those of the schema, each at most once")
    return dict(cells)


def _is_group(group: Any) -> bool:
    return isinstance(group, list) and not any(isinstance(value, (list, dict)) for value in group)


def _is_list(how: Any, word: str, fits: Callable[[Any], bool]) -> bool:
    """Whether a table of the file has only that list, and all of its items fit."""
    return isinstance(how, dict) and set(how) == {word} and isinstance(how[word], list) and all(map(fits, how[word]))


# ------------------------------------------------------------------------------------------------------- regression


@dataclass(frozen=True)
class SyntheticModel:
    """A classifier learned from synthetic records, and the records."""

    cells: CellModel
    """The classes' probabilities in each combination of buckets."""

    synthetic: Synthetic
    """The records: public."""

    def scores(self, codes: Mapping[str, IntArray]) -> FloatArray:
        return self.cells.scores(codes)

    def describe(self) -> str:
        return self.cells.describe()


@learner(name="Synthetic", cite="mohammed2011differentially")
def synthetic(
    records: Records,
    task: Task,
    budget: Budget,
    *,
    buckets: Mapping[str, Sequence[int]] | None = None,
    total: float | None = None,
    histogram: str = "cells",
) -> SyntheticModel:
    """Logistic regression on synthetic records that are drawn from a noisy histogram.

    `buckets` says for each attribute of the histogram which bucket each of its cells is in. If it is not given, the
    attributes are chosen privately, and numbers are cut as finely as the records allow. With `histogram="model"`, the
    counts are those of a synthetic table of all columns, which is released in place of the histogram.

    Privacy: with "model", the synthetic table spends the budget, whole. Else a noisy number of records (3 % of the budget)
    unless it is public or one that was paid for is given; where no buckets are given, one choice among sets of attributes
    (30 % of what is left); and one Laplace measurement of the buckets × classes with the rest, one after the other. Records
    and regression are made from what was released.
    """
    check_one_of(histogram, "histogram", HISTOGRAMS)
    given = None if buckets is None else checked_buckets(task, buckets)  # before anything is charged
    _first_that_fits(task)
    made = (
        _from_cells(records, task, budget, given, total)
        if histogram == "cells"
        else _from_model(records, task, budget, given)
    )
    cells = CellModel(tuple(made.buckets), tuple(made.buckets.values()), regression(made, made.counts), _words(made.buckets))
    return SyntheticModel(cells, made)


def _from_cells(records: Records, task: Task, budget: Budget, given: Buckets | None, total: float | None) -> Synthetic:
    """Records from a noisy histogram over the buckets. Privacy: see `synthetic`."""
    known, rest = known_total(records, budget, total)
    if given is not None:
        return synthesize(records, task, given, rest, known)
    choice, rest = rest.split(PERCENT, 100 - PERCENT)
    rate = rest.rate / float(records.neighbours.sensitivity(1, 2))
    return synthesize(records, task, _chosen_buckets(records, task, choice, known, rate), rest, known)


def _from_model(records: Records, task: Task, budget: Budget, given: Buckets | None) -> Synthetic:
    """Records of the model behind a synthetic table of all columns.

    Privacy: the synthesizer spends the budget, whole. Buckets are chosen by its records, which are public.
    """
    names = [*task.attributes, task.label]
    label = len(names) - 1
    pairs = [pair for pair in combinations(range(len(names)), 2) for _ in range(LABELLED if label in pair else 1)]
    columns = {name: _of_codes(task, name) for name in names}
    rate = budget.rate / float(records.neighbours.sensitivity(1, 2))
    found = synthesize_table(records, columns, budget, workload=pairs, predicting=True)
    codes = found.draw(min(round(found.total), MOST_DRAWN), np.random.default_rng(SEED))
    public = SimulatedRecords(ArrayColumns(codes, task.sizes), seed=SEED)
    chosen = given if given is not None else _chosen_buckets(public, task, public.grant(PLENTY), found.total, rate)
    shape = (*widths(chosen).values(), len(task.classes))
    place = np.ravel_multi_index([*(table[codes[name]] for name, table in chosen.items()), codes[task.label]], shape)
    counts = np.bincount(place, minlength=prod(shape)).reshape(-1, shape[-1])
    return Synthetic(task, chosen, counts)


def _of_codes(task: Task, name: str) -> Column:
    """A column whose values are an attribute's cells, or the classes."""
    size = task.sizes[name]
    if name != task.label and task.is_numeric(name) and size > 1:
        return Integer(0, size - 1, null="drop")
    return Category(list(range(size)), outside="drop", null="drop")


def _chosen_buckets(records: Records, task: Task, choice: Budget, known: float, rate: float) -> Buckets:
    """Attributes that tell most about the class, cut as finely as the number of records and the rate allow."""
    largest = min(MOST, LARGEST // len(task.classes))
    names = choose_attributes(records, task, choice, known, largest=largest)
    cells = min(max(SMALLEST, CROWD * known * rate), largest)
    return as_fine_as_possible(task, names or (_first_that_fits(task),), int(cells))


def _first_that_fits(task: Task) -> str:
    """The attribute of synthetic records if none stands out from the noise."""
    for name in task.attributes:
        if prod(widths({name: coarse(task, name, 2)}).values()) * len(task.classes) <= LARGEST:
            return name
    raise BadInput("attributes", "each have too many values", "group some of the values")


def as_fine_as_possible(task: Task, names: Sequence[str], cells: int) -> Buckets:
    """Categories as they are, and numbers in as many buckets as `cells` allows: at least two."""
    best = {name: coarse(task, name, 2) for name in names}
    for bins in range(3, FINEST + 1):
        finer = {name: coarse(task, name, bins) for name in names}
        if prod(widths(finer).values()) > cells:
            break
        best = finer
    return best


def regression(made: Synthetic, counts: Counts) -> FloatArray:
    """The classes' probabilities in each combination of buckets, by logistic regression on records with these counts."""
    from sklearn.linear_model import LogisticRegression

    classes = counts.shape[1]
    present = np.flatnonzero(counts.sum(axis=0))
    if present.size < 2:  # nothing to tell apart: one class has all records, or none has any
        shares = (counts.sum(axis=0) + 1e-9) / (counts.sum() + classes * 1e-9)
        return np.tile(shares, (len(counts), 1))
    features = np.hstack([np.eye(size)[made.cells()[name]] for name, size in widths(made.buckets).items()])
    cell, label = np.nonzero(counts)
    model = LogisticRegression(solver="newton-cholesky")  # few features: it converges in a few steps
    model.fit(features[cell], label, sample_weight=counts[cell, label])
    table = np.zeros((len(counts), classes))
    table[:, present] = model.predict_proba(features)
    return table


def accuracy_on_synthetic(made: Synthetic, *, seed: int = 0) -> float:
    """The accuracy on a fifth of the synthetic records of a regression on the others: not the accuracy on real records."""
    flat = made.counts.reshape(-1)
    held_out = np.random.default_rng(seed).multivariate_hypergeometric(flat, len(made) // 5, method="marginals")
    test = held_out.reshape(made.counts.shape)
    predicted = regression(made, made.counts - test).argmax(axis=1)
    return float(test[np.arange(len(test)), predicted].sum() / max(test.sum(), 1))


def _words(chosen: Buckets) -> str:
    listed = ", ".join(f"{name} in {size}" for name, size in widths(chosen).items())
    return f"Logistic regression on synthetic records over {listed} buckets."


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateSynthetic(PrivateEstimator):
    """Logistic regression on synthetic records; they are at `model_.synthetic`, and public.

    `buckets` says which attributes the histogram has, and which bucket each of their cells is in. By default, both are
    chosen privately. With `histogram="model"`, the records are those of a synthetic table of all columns.

    >>> from jostle.schema import Category, Integer, Schema
    >>> schema = Schema({"age": Integer(0, 99), "class": Category(["no", "yes"])})
    >>> ages = list(range(100)) * 5
    >>> model = PrivateSynthetic(epsilon=1, schema=schema, random_state=0)
    >>> model.fit([[age] for age in ages], ["yes" if age >= 50 else "no" for age in ages]).predict([[3], [90]]).tolist()
    ['no', 'yes']
    >>> model.model_.synthetic.to_frame().columns.tolist()
    ['age', 'class']
    """

    learner = "Synthetic"

    buckets: Any = None
    histogram: str = "cells"
