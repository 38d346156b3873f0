"""What all private estimators share: scikit-learn's conventions around a learner of the registry.

Everything is checked before anything is charged, and no error depends on a value in the data: the classes, the cells of
every attribute and what becomes of values that nobody foresaw are in the schema.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from jostle.answers.answer import in_ledger
from jostle.kernel.budget import exact, round_up
from jostle.kernel.columns import ArrayColumns
from jostle.kernel.errors import BadInput, Overdraft
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import ReleaseRecords, SimulatedRecords
from jostle.learn.dry_run import rehearse
from jostle.learn.registry import FloatArray, Learner, Model, registered
from jostle.learn.task import Task
from jostle.schema import Column, Schema
from jostle.schema.arrow import as_array
from jostle.schema.values import unmasked

if TYPE_CHECKING:
    from jostle.kernel.events import Event
    from jostle.kernel.ledger import Account

NO_LIST: Final = (Mapping, str, bytes, bytearray)
"""What can be iterated, and is no list of values all the same."""


@dataclass(frozen=True, kw_only=True)
class Fit:
    """What was done in a fit: public facts alone."""

    learner: str
    """What learned."""

    spent: Fraction
    """The ε that it was charged."""

    neighbours: Neighbours
    """What one person may change without it being noticed."""

    simulated: bool
    """Whether the data were treated as public: then the model must not leave, unless they are."""

    model: str
    """The model in words."""

    charges: tuple[Event, ...] = field(default=(), repr=False)
    """The events of the ledger that paid for it, each with its key; none where nothing remembers it."""

    def __str__(self) -> str:
        kind = "simulation on public data" if self.simulated else "release"
        first = f"{self.learner}, ε = {round_up(self.spent):g} ({self.neighbours} neighbours), {kind}."
        return "\n".join(filter(None, (first, self.model, in_ledger(self.charges))))


class PrivateEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """The base of private classifiers: a subclass names its learner, and takes its tunables as arguments of the same names.

    `epsilon` is spent whole by every `fit`: a second fit is charged again. `schema` describes the attributes and the label
    (a `Schema`, a mapping of columns, or the path of a schema file); arrays have the attributes in the schema's order.
    `neighbours` says what one person may change. With `account`, an account of a ledger, a fit is charged there; it must be
    kept under the same neighbours. Without one, a fit is charged to a ledger that is thrown away: **such a fit is remembered
    nowhere**, and whoever fits twice has to add up by hand. With a whole number as `random_state` the fit is a simulation on
    public data: fast, seeded, and without any protection.

    Each row passed to `fit` counts as one record: do not repeat records (bagging with bootstrap, oversampling), and do not
    put private records through meta-estimators that look at labels or predictions themselves (bagging, voting, stacking,
    calibration).

    `score`, as `predict`, is for records that are public or the caller's own: what it tells of private ones is neither
    protected nor charged. `jostle.learn.held_out` tests on private records within the same ε.

    After a fit: `classes_` (from the schema), `model_`, `spent_`, `charges_` (the events of the ledger), `simulated_`,
    `trace_`, `task_`.
    """

    learner: ClassVar[str]
    """The name of its learner in the registry."""

    poor: ClassVar[bool] = False
    """Whether it tells little even of easy data without any noise, by its nature: scikit-learn's checks want to know."""

    def __init__(
        self,
        epsilon: Any = 1.0,
        schema: Any = None,
        *,
        label: str = "class",
        neighbours: Any = "add_remove",
        account: Account | None = None,
        random_state: int | None = None,
    ) -> None:
        self.epsilon, self.schema, self.label = epsilon, schema, label
        self.neighbours, self.account, self.random_state = neighbours, account, random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from private records, and charge ε. Everything is checked first.

        X is a frame, an array or a list of rows, with the labels beside it or among the frame's columns; or a private table
        of `jostle.open`, which has its own schema, account and neighbours. What a row of a list lacks is missing, what it
        has beyond the schema does not count; a list none of whose rows fits the schema is refused, as a mistake.
        """
        exact(self.epsilon)
        if not isinstance(self.label, str):
            raise BadInput("label", "must be the name of a column", "pass for instance label='class'")
        found, tunables = self._learner(), self._tunables()
        found.check(tunables)
        if _is_private_table(X):
            return self._fit_table(X, y, found, tunables)
        seed, task = self._seed(), self._task()
        if y is None and self.label in _names_of(X):
            _check_names(_names_of(X), [self.label])
            y = X[self.label]
        if y is None:
            raise BadInput("y", "requires y to be passed, but the target y is None", "pass the labels, or a frame with them")
        table = _table(X, task)
        _check_width(table, task)
        labels = _as_labels(y)
        if len(labels) != len(table.columns[0]):
            raise BadInput("y", "must have one label for each row of X", "pass as many labels as rows: inconsistent lengths")
        codes = _encode(task, table)
        codes[task.label] = task.encode_label(labels)
        counted = codes[task.label] >= 0
        columns = ArrayColumns({name: column[counted] for name, column in codes.items()}, task.sizes)
        with ExitStack() as until_fitted:
            records = self._records(columns, seed, found.name, until_fitted)
            budget = records.grant(self.epsilon)
            if seed is None:
                rehearse(found, task, records.neighbours, self.epsilon, tunables)
            model = found.run(records, task, budget, **tunables)
            spent = budget.epsilon - records.unspent
            charges = budget.charges if self.account is not None else ()  # else they were thrown away
        self._keep(table.noted, task, model, spent, charges, simulated=seed is not None)
        self.trace_: Any = self._trace(found, records.neighbours)
        return self

    def _fit_table(self, table: Any, y: Any, found: Learner, tunables: dict[str, Any]) -> Self:
        """From a private table: its engine sorts the rows into cells, and its account is charged."""
        import pandas as pd

        given = {"y": y, "account": self.account, "random_state": self.random_state, "schema": self.schema}
        for name, value in given.items():
            if value is not None:
                raise BadInput(name, "is not used with a private table, which has all of it", "leave it out")
        task = Task.over(table.schema, self.label)
        asked, left = exact(self.epsilon), table.remaining
        if asked > left:  # seen before the rows are fetched
            raise Overdraft(requested=asked, remaining=left, of=f"table {table.name!r}")
        rehearse(found, task, table.neighbours, asked, tunables)
        records, budget = table.labelled(task.sizes, task.label, epsilon=self.epsilon, note=found.name)
        model = found.run(records, task, budget, **tunables)
        named = pd.DataFrame(columns=list(task.attributes))
        self._keep(named, task, model, budget.epsilon, budget.charges, simulated=False)
        self.trace_ = self._trace(found, records.neighbours)
        return self

    def _keep(
        self, noted: Any, task: Task, model: Model, spent: Fraction, charges: tuple[Event, ...], *, simulated: bool
    ) -> None:
        """All at once, when there is a model: a fit that is refused leaves the one before it as it was."""
        validate_data(self, X=noted, reset=True, skip_check_array=True)  # scikit-learn notes the columns
        self.model_, self.spent_, self.charges_ = model, spent, charges
        self.task_, self.classes_, self.simulated_ = task, task.classes, simulated

    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of each class, in the order of `classes_`: a column a class."""
        check_is_fitted(self, "model_")
        table = _table(X, self.task_)
        validate_data(self, X=table.noted, reset=False, skip_check_array=True)
        _check_width(table, self.task_)
        return self.model_.scores(_encode(self.task_, table))

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class."""
        likeliest = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[likeliest])

    def explain(self) -> str:
        """What was fitted, at which price, in words."""
        check_is_fitted(self, "model_")
        return str(self.trace_)

    def _learner(self) -> Learner:
        return registered()[self.learner]

    def _tunables(self) -> dict[str, Any]:
        """The learner's own arguments: those of its tunables that the estimator has as parameters."""
        own = self.get_params(deep=False)
        return {name: own[name] for name in self._learner().tunables if name in own}

    def _trace(self, found: Learner, neighbours: Neighbours) -> Any:
        return Fit(
            learner=found.name,
            spent=self.spent_,
            neighbours=neighbours,
            simulated=self.simulated_,
            model=self.model_.describe(),
            charges=self.charges_,
        )

    def _task(self) -> Task:
        """From the schema alone."""
        return Task.over(_schema(self.schema), self.label)

    def _seed(self) -> int | None:
        """The seed of a simulation, or None for a release."""
        seed = self.random_state
        if seed is None:
            return None
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise BadInput("random_state", "must be a whole number", "leave it out for a release, which cannot be seeded")
        if self.account is not None:
            raise BadInput("random_state", "a release cannot be seeded", "leave out either the account or random_state")
        return int(seed)

    def _records(
        self, columns: ArrayColumns, seed: int | None, note: str, until_fitted: ExitStack
    ) -> ReleaseRecords | SimulatedRecords:
        """Rows without a label of the schema were left out, by a public rule: hence `filtered`."""
        relation = Neighbours.of(self.neighbours)
        if seed is not None:
            return SimulatedRecords(columns, seed=seed, neighbours=relation, filtered=True)
        from jostle.kernel.ledger import AbsentAccount, Ledger

        account = self.account
        if account is None:
            folder = until_fitted.enter_context(tempfile.TemporaryDirectory(prefix="jostle-"))
            ledger = until_fitted.enter_context(Ledger(Path(folder) / "thrown-away.db"))
            account = ledger.account("fit", cap=exact(self.epsilon), neighbours=relation)
        elif isinstance(account, AbsentAccount):
            remedy = "set_params(account=…) to an open one, and fit in the process that opened it (n_jobs=1)"
            raise BadInput("account", f"that of {account.name!r} stayed behind when this was pickled", remedy)
        elif not hasattr(account, "purse"):
            raise BadInput("account", "must be an account of a ledger", "pass for instance ledger.account('people', cap=1)")
        purse = account.purse()  # refused if the account protects persons: each row is taken for a record here
        if (purse.neighbours.relation, purse.neighbours.rows) != (relation.relation, relation.rows):
            raise BadInput("neighbours", f"the account is kept under {account.neighbours}", "pass the same")
        return ReleaseRecords(columns, purse=purse, filtered=True, note=note)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        tags.non_deterministic = self.random_state is None
        tags.classifier_tags.poor_score = self.poor
        return tags


def _is_private_table(X: Any) -> bool:
    """Whether it came from `jostle.open`; if that was never loaded, it did not."""
    module = sys.modules.get("jostle.tables.table")
    return module is not None and isinstance(X, module.Table)


def _names_of(X: Any) -> list[str]:
    """The columns' names of a frame; none for anything else, also for a frame whose columns are only numbered."""
    if not (hasattr(X, "columns") and hasattr(X, "__getitem__")):
        return []
    names = list(X.column_names if hasattr(X, "column_names") else X.columns)  # an Arrow table's columns are the values
    return names if all(isinstance(name, str) for name in names) else []


@dataclass(frozen=True, eq=False)
class _Table:
    """The attributes' columns, each in its own way: one decides nothing about another."""

    columns: Sequence[NDArray[Any]]
    """The values."""

    noted: Any
    """What scikit-learn notes of them: their names, if they have any, and their number."""


def _table(X: Any, task: Task) -> _Table:
    """By their names, where there are some; else in the schema's order."""
    import pandas as pd

    names = _names_of(X)
    if names or hasattr(X, "column_names"):
        _check_names(names, task.attributes)
        return _Table([_column(X[a]) for a in task.attributes], pd.DataFrame(columns=list(task.attributes)))
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        places = range(X.shape[1])
        return _Table([_column(X.iloc[:, place]) for place in places], np.empty((0, len(places))))
    array = _as_array(X, len(task.attributes))
    return _Table([array[:, place] for place in range(array.shape[1])], array)


def _column(values: Any) -> NDArray[Any]:
    """One of a frame as an array; Polars' as Arrow's, as tables have them."""
    return as_array(values.to_arrow() if type(values).__module__.startswith("polars.") else values)


def _check_names(names: Sequence[str], wanted: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in names]
    if missing:
        raise BadInput("X", f"lacks the columns {', '.join(missing)}", f"it has {', '.join(names)}")
    for name in wanted:
        if names.count(name) > 1:
            raise BadInput("X", f"has the column {name!r} more than once", "give each a name of its own")


def _check_width(table: _Table, task: Task) -> None:
    if len(table.columns) != len(task.attributes):
        problem = f"has {len(table.columns)} features, the schema has {len(task.attributes)} beside {task.label!r}"
        raise BadInput("X", problem, "give every column of it, in its order")


def _as_array(X: Any, width: int) -> NDArray[Any]:
    """Two dimensions of values, each as it is.

    One odd value must not change how the others are read, as a common type would; and messages tell nothing of the values,
    which scikit-learn's own would print.
    """
    if hasattr(X, "tocsr"):
        raise BadInput("X", "is sparse, which is not supported", "pass a dense array or a frame")
    if isinstance(X, np.ndarray):
        table = np.asarray(unmasked(X))
    elif hasattr(X, "__array__"):
        table = as_array(X)
    else:
        table = _of_rows(X, width)
    if table.ndim != 2:
        raise BadInput("X", "must have two dimensions", "Reshape your data: one row a record, one column an attribute")
    if table.dtype.kind == "c":
        raise BadInput("X", "Complex data not supported", "pass real numbers, texts or dates")
    return table


def _of_rows(X: Any, width: int) -> NDArray[Any]:
    """Rows of so many values: what one lacks is missing, what it has beyond does not count, and so no row refuses others.

    Only where there are rows, and none of them is one of so many values, is it taken for a mistake.
    """
    listed = _listed(X)
    rows = [_listed(row) or [] for row in listed or ()]
    if listed is None or (rows and all(len(row) != width for row in rows)):
        remedy = f"Reshape your data: pass {width} values a row, or a frame, for instance pd.DataFrame(X)"
        raise BadInput("X", "must have two dimensions: rows of values", remedy)
    table = np.full((len(rows), width), None, dtype=object)
    for place, row in enumerate(rows):
        for column, value in enumerate(row[:width]):
            table[place, column] = value  # one by one, so that a value that is a list stays one value
    return table


def _listed(things: Any) -> list[Any] | None:
    """What it has, one by one; None where it is no list: a text would have letters, and a mapping names."""
    try:
        return None if isinstance(things, NO_LIST) else list(things)
    except TypeError:
        return None


def _as_labels(y: Any) -> Any:
    if isinstance(y, (list, tuple)):  # one label an item: what the others are must not decide how it is read
        labels = np.empty(len(y), dtype=object)
        for place, label in enumerate(y):
            labels[place] = label[0] if isinstance(label, (list, tuple)) and len(label) == 1 else label
        return labels
    y = unmasked(y)
    try:
        return column_or_1d(_column(_only(y)), dtype=object, warn=True)
    except (TypeError, ValueError):
        raise BadInput("y", "must be one label for each row: a 1d array", "pass one column of labels") from None


def _only(y: Any) -> Any:
    """The column of a frame that has one."""
    names = list(getattr(y, "column_names", getattr(y, "columns", ())))
    if len(names) > 1:
        raise TypeError
    return y if not names else y.iloc[:, 0] if hasattr(y, "iloc") else y[names[0]]


def _encode(task: Task, table: _Table) -> dict[str, NDArray[np.int64]]:
    return {a: task.encode(a, column) for a, column in zip(task.attributes, table.columns, strict=True)}


def _schema(given: Any) -> Schema:
    if isinstance(given, Schema):
        return given
    if isinstance(given, (str, Path)):
        return Schema.load(given)
    if isinstance(given, Mapping) and all(isinstance(column, Column) for column in given.values()):
        return Schema(given)
    raise BadInput(
        "schema",
        "must describe the attributes and the label: bounds and values are never read from the data",
        'pass for instance Schema({"age": Integer(0, 99), "class": Category(["no", "yes"])})',
    )
