"""The pipeline from records to a classifier by way of a synthetic table: histogram, noise, records, logistic regression."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts
from jostle.kernel.records import Records
from jostle.learn._cells import CellModel, coarse, foreseen, known_total
from jostle.learn.estimator import PrivateEstimator
from jostle.learn.registry import FloatArray, IntArray, learner
from jostle.learn.sparse import PERCENT, choose_attributes
from jostle.learn.synthetic import LARGEST, Buckets, Synthetic, checked_buckets, synthesize, widths
from jostle.learn.task import Task
from jostle.schema import Column, Numeric
from jostle.schema.arguments import finite
from jostle.schema.files import check_no_database

if TYPE_CHECKING:
    from jostle.kernel.ledger import Account

CROWD: Final = 0.3
"""For every record times ε there are so many cells: in more, too little would stand out from the noise.

Found on made-up tables, where from 0.1 to 0.3 makes no difference.
"""

SMALLEST, MOST, FINEST = 64, 2**16, 16
"""So many cells there may be in any case, and at most, and so many buckets a number has at most."""


@dataclass(frozen=True)
class SyntheticModel:
    """A classifier of synthetic records, and these."""

    cells: CellModel
    """The classes' probabilities in each combination of buckets."""

    synthetic: Synthetic
    """The records: public."""

    def scores(self, codes: Mapping[str, IntArray]) -> FloatArray:
        """By looking up."""
        return self.cells.scores(codes)

    def describe(self) -> str:
        """The buckets."""
        return self.cells.describe()


@learner(name="Synthetic", cite="mohammed2011differentially")
def synthetic(
    records: Records,
    task: Task,
    budget: Budget,
    *,
    buckets: Mapping[str, Sequence[int]] | None = None,
    total: float | None = None,
) -> SyntheticModel:
    """Logistic regression on synthetic records that are drawn from a noisy histogram.

    `buckets` says for each attribute of the histogram which bucket each of its cells is in. Where they are left open, the
    attributes are chosen privately, and numbers are cut as finely as the records allow.

    Privacy: a noisy number of records (3 % of the budget) unless it is public or one that was paid for is given; where no
    buckets are given, one choice among sets of attributes (30 % of what is left); and one Laplace measurement of the
    buckets × classes with the rest, one after the other. Records and regression are made from what was released.
    """
    given = None if buckets is None else checked_buckets(task, buckets)  # before anything is charged
    fallback, room = _first_that_fits(task), min(MOST, LARGEST // len(task.classes))
    known, rest = known_total(records, budget, total)
    chosen: Buckets
    if given is None:
        choice, rest = rest.split(PERCENT, 100 - PERCENT)
        names = choose_attributes(records, task, choice, known, largest=room)
        epsilon = float(rest.epsilon / records.neighbours.sensitivity(1, 2))
        cells = min(max(SMALLEST, CROWD * known * epsilon), room)
        chosen = as_fine_as_possible(task, names or (fallback,), int(cells))
    else:
        chosen = given
    made = synthesize(records, task, chosen, rest, known)
    return SyntheticModel(
        CellModel(tuple(chosen), tuple(chosen.values()), regression(made, made.counts), _words(chosen)), made
    )


def _first_that_fits(task: Task) -> str:
    """What synthetic records have beside the class if no attribute is worth its noise."""
    for name in task.attributes:
        if prod(widths({name: coarse(task, name, 2)}).values()) * len(task.classes) <= LARGEST:
            return name
    raise BadInput("attributes", "have too many values, each of them", "put some of the values together")


def as_fine_as_possible(task: Task, names: Sequence[str], cells: int) -> Buckets:
    """Categories as they are, and numbers in as many buckets as the number of cells leaves room for: two at least."""
    best = {name: coarse(task, name, 2) for name in names}
    for bins in range(3, FINEST + 1):
        finer = {name: coarse(task, name, bins) for name in names}
        if prod(widths(finer).values()) > cells:
            break
        best = finer
    return best


def regression(made: Synthetic, counts: Counts) -> FloatArray:
    """The classes' probabilities in each combination of buckets, by logistic regression on so many records of each."""
    from sklearn.linear_model import LogisticRegression

    classes = counts.shape[1]
    present = np.flatnonzero(counts.sum(axis=0))
    if present.size < 2:  # nothing to tell apart: the only class, or all alike
        shares = (counts.sum(axis=0) + 1e-9) / (counts.sum() + classes * 1e-9)
        return np.tile(shares, (len(counts), 1))
    features = np.hstack([np.eye(size)[made.cells()[name]] for name, size in widths(made.buckets).items()])
    cell, label = np.nonzero(counts)
    model = LogisticRegression(solver="newton-cholesky")  # few features: it settles in a few steps
    model.fit(features[cell], label, sample_weight=counts[cell, label])
    table = np.zeros((len(counts), classes))
    table[:, present] = model.predict_proba(features)
    return table


def accuracy_on_synthetic(made: Synthetic, *, seed: int = 0) -> float:
    """The accuracy on a fifth of the synthetic records of a regression on the others: not that on anybody's real ones."""
    flat = made.counts.reshape(-1)
    held_out = np.random.default_rng(seed).multivariate_hypergeometric(flat, len(made) // 5, method="marginals")
    test = held_out.reshape(made.counts.shape)
    predicted = regression(made, made.counts - test).argmax(axis=1)
    return float(test[np.arange(len(test)), predicted].sum() / max(test.sum(), 1))


def read_buckets(path: str | Path, task: Task) -> Buckets:
    """Buckets that a person declared in a file: for each attribute `cuts` of a number, or `groups` of categories.

    A cut is moved to the next border of the schema's cells. What is in no group, is not foreseen or is missing shares the
    last bucket. An empty table takes the attribute's cells as they are.
    """
    check_no_database(Path(path), "buckets")
    try:
        declared = tomllib.loads(Path(path).read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError):  # also of a number with more digits than are read, and of deep nesting
        raise BadInput(
            "buckets", f"{path} cannot be read", 'write for instance: ["age"] and below it: cuts = [40, 50]'
        ) from None
    return {name: _declared(task, name, how) for name, how in declared.items()}


def _declared(task: Task, name: str, how: Any) -> Counts:
    if name not in task.attributes:
        raise BadInput("buckets", f"{name!r} is no attribute", f"use some of {', '.join(task.attributes)}")
    column, values, size = task.columns[name], foreseen(task, name), task.sizes[name]
    if how == {}:
        return np.arange(size)
    if isinstance(column, Numeric) and _is_list(how, "cuts", lambda cut: finite(cut) is not None):
        table = np.searchsorted(np.sort(np.array(how["cuts"], dtype=np.float64)), column.edges[:-1], side="right")
    elif not isinstance(column, Numeric) and _is_list(how, "groups", _is_group):
        places = _places(name, column, how["groups"])
        table = np.array([places.get(cell, len(how["groups"])) for cell in range(values)])
    else:
        raise BadInput("buckets", f"of {name!r} need cuts, if it is a number, or groups of categories", "give one of both")
    filled = np.append(table, np.full(size - values, int(table.max()) + isinstance(column, Numeric)))
    return np.unique(filled, return_inverse=True)[1].astype(np.int64)


def _places(name: str, column: Column, groups: list[list[Any]]) -> dict[int, int]:
    """The number of each category's group. A slip of the pen would put what it meant among the rest, and be paid for."""
    cells = [(column.encode([value]).item(), number) for number, group in enumerate(groups) for value in group]
    if len(dict(cells)) < len(cells) or not all(0 <= cell < column.values for cell, _ in cells):
        problem = f"of {name!r} name a category that the schema lacks, or one twice"
        raise BadInput("buckets", problem, "use those of the schema, each at most once")
    return dict(cells)


def _is_group(group: Any) -> bool:
    return isinstance(group, list) and not any(isinstance(value, (list, dict)) for value in group)


def _is_list(how: Any, word: str, fits: Callable[[Any], bool]) -> bool:
    """Whether a table of the file has just that list, of such things."""
    return isinstance(how, dict) and set(how) == {word} and isinstance(how[word], list) and all(map(fits, how[word]))


def _words(chosen: Buckets) -> str:
    listed = ", ".join(f"{name} in {size}" for name, size in widths(chosen).items())
    return f"Logistic regression on synthetic records over {listed} buckets."


class PrivateSynthetic(PrivateEstimator):
    """Logistic regression on synthetic records; these are at `model_.synthetic`, and can be given to anybody.

    `buckets` says which attributes the histogram has, and which bucket each of their cells is in; else both are chosen.

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

    def __init__(
        self,
        epsilon: Any = 1.0,
        schema: Any = None,
        *,
        label: str = "class",
        neighbours: Any = "add_remove",
        account: Account | None = None,
        random_state: int | None = None,
        buckets: Any = None,
    ) -> None:
        super().__init__(epsilon, schema, label=label, neighbours=neighbours, account=account, random_state=random_state)
        self.buckets = buckets
