"""The base of all private estimators: scikit-learn's conventions around a learner of the registry.

Everything is checked before anything is charged, and no error depends on a value in the data: the schema says which classes
there are, which cells every attribute has, and what happens to unexpected values.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from jostle.answers.answer import in_ledger
from jostle.answers.prices import cap_for, price_of
from jostle.kernel.arguments import whole
from jostle.kernel.budget import PURE, Price, exact
from jostle.kernel.errors import BadInput, show
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import ArrayColumns, ReleaseRecords, SimulatedRecords
from jostle.learn.importances import importances
from jostle.learn.inputs import (
    check_names,
    is_private_table,
    label_of,
    names_of,
    read_attributes,
    read_labels,
    read_schema,
)
from jostle.learn.registry import FloatArray, Learner, Model, registered
from jostle.learn.task import Task

if TYPE_CHECKING:
    from jostle.kernel.ledger import Account
    from jostle.kernel.ledger.events import Event
    from jostle.schema import Schema
    from jostle.tables.table import Table


@dataclass(frozen=True, kw_only=True)
class FitSummary:
    """What a fit did: only public facts."""

    learner: str

    spent: Fraction
    """The ε that it was charged; or the ρ."""

    measure: str = PURE
    """What was charged: pure ε, or ρ."""

    allowed: tuple[Fraction, Fraction] | None = None
    """The ε and the δ that were asked for, which allow what was charged; None if none were."""

    neighbours: Neighbours
    """What one person may change without being noticed."""

    simulated: bool
    """Whether the data were treated as public: then the model must not be published unless they are."""

    model: str
    """The model in words."""

    charges: tuple[Event, ...] = field(default=(), repr=False)
    """The events of the ledger that paid for it, each with its key; empty where no ledger was kept."""

    def __str__(self) -> str:
        kind = "simulation on public data" if self.simulated else "release"
        price = str(Price(self.spent, self.measure))
        if self.allowed is not None:
            epsilon, delta = self.allowed
            allowed = f"ε = {show(epsilon)} and δ = {show(delta)}"
            pure = f"{allowed}, of which only ε was charged: a δ would have bought louder noise"
            price = pure if self.measure == PURE else f"{allowed}, which allow {price}"
        first = f"{self.learner}, {price} ({self.neighbours} neighbours), {kind}."
        return "\n".join(filter(None, (first, self.model, in_ledger(self.charges))))


Fit = FitSummary
"""Its name in models that version 0.1 pickled."""


_FITTED: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
"""How often each account has paid for a fit of a search in this process."""


def _warn_of_searches(account: Any, price: Price) -> None:
    """Say what a search or a cross-validation by scikit-learn spends, as soon as an account pays for its second fit.

    One of several runs (`best_of`) pays like an account, and has no name.
    """
    frame: Any = sys._getframe(1)
    while frame is not None and not str(frame.f_globals.get("__name__")).startswith("sklearn.model_selection"):
        frame = frame.f_back
    if frame is None:
        return
    _FITTED[account] = _FITTED.get(account, 0) + 1
    if _FITTED[account] == 2:
        payer = f"The account {account.name!r}" if hasattr(account, "name") else "One of several runs"
        text = (
            f"{payer} now pays for the second fit of a search, and each one costs {price}. A search "
            "over m settings with k folds fits m × k + 1 times. Search on public records, and fit once on private ones."
        )
        warnings.warn(text, SecondFitWarning, stacklevel=4)


class SecondFitWarning(UserWarning):
    """An account pays for a further fit, as in a search over settings."""


@dataclass(eq=False, repr=False)
class PrivateLearning(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """What private classifiers and regressors share: parameters, the charge, `fit`. `PrivateEstimator` describes them."""

    learner: ClassVar[str]
    """The name of its learner in the registry."""

    epsilon: Any = None
    schema: Any = None
    _: KW_ONLY
    delta: Any = None
    rho: Any = None
    label: str | None = None
    neighbours: Any = "add_remove"
    account: Account | None = None
    random_state: int | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from private records, and charge for it. Everything is checked first.

        X is a frame, an array or a list of rows, with the labels in y or among the frame's columns. Or X is a private table
        of `jostle.open`, which has its own schema, account and neighbours. If a row of a list is too short, its other values
        are missing; if it is too long, the rest is ignored. A list without a single row of the right length is refused.
        """
        price = self._price()
        if not (self.label is None or isinstance(self.label, str)):
            raise BadInput("label", "must be the name of a column", "pass for instance label='class'")
        found, tunables = self._learner(), self._tunables()
        found.check(tunables)
        if is_private_table(X):
            return self._fit_table(X, y, found, tunables, price)
        seed, task = self._seed(), self._task(y)
        price = self._measured(price, task)
        if y is None and task.label in names_of(X):
            check_names(names_of(X), [task.label])
            y = X[task.label]
        if y is None:
            raise BadInput("y", "requires y to be passed, but the target y is None", "pass the labels, or a frame with them")
        attributes, labels = read_attributes(X, task), read_labels(y)
        codes = attributes.encode(task)
        if len(labels) != len(attributes.columns[0]):
            raise BadInput("y", "must have one label for each row of X", "pass as many labels as rows: inconsistent lengths")
        codes[task.label] = task.encode_label(labels)
        columns = ArrayColumns.having(task.label, codes, task.sizes)
        with ExitStack() as until_fitted:
            records = self._records(columns, seed, found.name, price, until_fitted)
            budget = records.grant(price)
            if seed is None:
                found.dry_run(task, records.neighbours, price, tunables)
            model = found.run(records, task, budget, **tunables)
            spent = Price(budget.amount - records.unspent, price.measure)
            charges = budget.charges if self.account is not None else ()  # those of a temporary ledger are gone
        return self._keep(attributes.noted, task, model, spent, charges, records.neighbours, simulated=seed is not None)

    def _fit_table(self, table: Table, y: Any, found: Learner, tunables: dict[str, Any], price: Price) -> Self:
        """The table's engine sorts the rows into cells, and the table's account is charged."""
        import pandas as pd

        given = {"y": y, "account": self.account, "random_state": self.random_state, "schema": self.schema}
        for name, value in given.items():
            if value is not None:
                raise BadInput(name, "cannot be used with a private table, which has its own", "leave it out")
        task = self._over(table.schema)
        table.check_pays(price)  # before the rows are fetched
        found.dry_run(task, table.neighbours, price, tunables)
        records, budget = table.labelled(task.sizes, task.label, epsilon=price, note=found.name)
        model = found.run(records, task, budget, **tunables)
        named = pd.DataFrame(columns=list(task.attributes))
        return self._keep(named, task, model, price, budget.charges, records.neighbours, simulated=False)

    def _keep(
        self,
        noted: Any,
        task: Task,
        model: Model,
        spent: Price,
        charges: tuple[Event, ...],
        neighbours: Neighbours,
        *,
        simulated: bool,
    ) -> Self:
        """All at once, when there is a model: a fit that is refused leaves the one before it unchanged."""
        validate_data(self, X=noted, reset=True, skip_check_array=True)  # scikit-learn notes the columns
        self.model_, self.spent_, self.measure_, self.charges_ = model, spent.amount, spent.measure, charges
        self.task_, self.simulated_ = task, simulated
        self.trace_: Any = self._trace(neighbours)
        return self

    def _scores(self, X: Any) -> FloatArray:
        """What the model says of each row."""
        check_is_fitted(self, "model_")
        attributes = read_attributes(X, self.task_)
        validate_data(self, X=attributes.noted, reset=False, skip_check_array=True)
        return self.model_.scores(attributes.encode(self.task_))

    def explain(self) -> str:
        """What was fitted, and at which price, in words."""
        check_is_fitted(self, "model_")
        return str(self.trace_)

    def _learner(self) -> Learner:
        return registered()[self.learner]

    def _tunables(self) -> dict[str, Any]:
        """The learner's tunables that the estimator has as parameters."""
        own = self.get_params(deep=False)
        return {name: own[name] for name in self._learner().tunables if name in own}

    def _trace(self, neighbours: Neighbours) -> Any:
        return FitSummary(
            learner=self.learner,
            spent=self.spent_,
            measure=self.measure_,
            allowed=None if self.delta is None else (exact(self.epsilon), exact(self.delta, "delta")),
            neighbours=neighbours,
            simulated=self.simulated_,
            model=self.model_.describe(),
            charges=self.charges_,
        )

    def _task(self, y: Any = None) -> Task:
        return self._over(read_schema(self.schema), y)

    def _over(self, columns: Schema, y: Any = None) -> Task:
        """What is learned from these columns."""
        return Task.over(columns, label_of(columns, self.label, y))

    def _price(self) -> Price:
        """What a fit costs: ε, which is 1 if nothing was said; ρ; or, with a δ, the ρ that both allow."""
        nothing = self.epsilon is None and self.delta is None and self.rho is None
        return Price.of(price_of(1 if nothing else self.epsilon, self.delta, self.rho))

    def _measured(self, price: Price, task: Task) -> Price:
        """The price in the measure that a fit on records is paid in."""
        return price

    def _seed(self) -> int | None:
        """The seed of a simulation, or None for a release."""
        if self.random_state is None:
            return None
        seed = whole(self.random_state)
        if seed is None or seed < 0:
            raise BadInput("random_state", "must be a whole number", "leave it out for a release, which cannot be seeded")
        if self.account is not None:
            raise BadInput("random_state", "a release cannot be seeded", "leave out either the account or random_state")
        return seed

    def _records(
        self, columns: ArrayColumns, seed: int | None, note: str, price: Price, until_fitted: ExitStack
    ) -> ReleaseRecords | SimulatedRecords:
        relation = Neighbours.of(self.neighbours)
        if seed is not None:
            return SimulatedRecords(columns, seed=seed, neighbours=relation)
        from jostle.kernel.ledger import AbsentAccount, Ledger

        account = self.account
        if account is None:
            folder = until_fitted.enter_context(tempfile.TemporaryDirectory(prefix="jostle-"))
            ledger = until_fitted.enter_context(Ledger(Path(folder) / "thrown-away.db"))
            account = ledger.account("fit", cap=cap_for(price), neighbours=relation)
        elif isinstance(account, AbsentAccount):
            remedy = "call set_params(account=…) with an open one, and fit in the process that opened it (n_jobs=1)"
            raise BadInput("account", f"{account.name!r} stayed behind when this estimator was pickled", remedy)
        elif not hasattr(account, "purse"):
            raise BadInput("account", "must be an account of a ledger", "pass for instance ledger.account('people', cap=1)")
        purse = account.purse()  # refused if the account protects persons: here each row is one record
        _warn_of_searches(account, price)
        if (purse.neighbours.relation, purse.neighbours.rows) != (relation.relation, relation.rows):
            raise BadInput("neighbours", f"the account is kept under {account.neighbours}", "pass the same")
        return ReleaseRecords(columns, purse=purse, note=note)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        tags.non_deterministic = self.random_state is None
        return tags


class PrivateEstimator(ClassifierMixin, PrivateLearning):  # type: ignore[misc] # scikit-learn ships no types
    """The base of private classifiers. A subclass names its learner, and has that learner's tunables as fields.

    Pay with `epsilon` in pure differential privacy, by default 1; with `rho`, for Gaussian noise; or with `epsilon` and
    `delta`, in the ρ that these allow. Every `fit` spends all of it: a second fit is charged again.

    `schema` describes the attributes and the label (a `Schema`, a mapping of columns, or the path of a schema file); arrays
    have the attributes in the schema's order. `neighbours` says what one person may change. With `account`, an account of a
    ledger, a fit is charged there; it must be kept under the same neighbours. Without one, a fit is charged to a temporary
    ledger: **no record of it is kept**, and if you fit twice, you have to add up the ε yourself. With a whole number as
    `random_state` the fit is a simulation on public data: fast, seeded, and without any protection.

    Each row passed to `fit` counts as one record. Do not repeat records (bagging with bootstrap, oversampling), and do not
    put private records through meta-estimators that look at labels or predictions themselves (bagging, voting, stacking,
    calibration).

    Use `score` and `predict` only on public records or your own: what they reveal about private ones is neither protected
    nor charged. `jostle.learn.held_out` tests on private records within the same ε.

    After a fit: `model_`, `spent_` (of `measure_`, pure ε or ρ), `charges_` (the events of the ledger), `simulated_`,
    `trace_`, `task_`, and `classes_` (from the schema).
    """

    poor: ClassVar[bool] = False
    """Whether it predicts poorly by its nature, even on easy data without noise: scikit-learn's checks need to know."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.poor
        return tags

    def _keep(self, noted: Any, task: Task, *more: Any, simulated: bool) -> Self:
        super()._keep(noted, task, *more, simulated=simulated)
        self.classes_ = task.classes
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of each class: one column per class, in the order of `classes_`."""
        return self._scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely class of each row."""
        likeliest = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[likeliest])

    def importances(self) -> dict[str, float]:
        """How much each attribute moves the predicted probabilities, the largest first: from the released model alone.

        For made-up records, whose values are drawn evenly from the schema: the mean distance (total variation) between the
        predictions before and after one attribute's value is drawn anew. No record is looked at, so it costs nothing.
        """
        check_is_fitted(self, "model_")
        return importances(self.model_, self.task_)

    def save(self, path: str | Path) -> None:
        """Write the model to a file of JSON, which `jostle.learn.saved.load` and `jostle predict` read.

        The file runs nothing when it is read, and holds only what was paid for. It is as public as a release.
        """
        from jostle.learn.saved import SavedModel

        check_is_fitted(self, "model_")
        said = str(replace(self.trace_, charges=()))  # which account paid, and when, is nobody's business but the owner's
        SavedModel(self.model_, self.task_, {"learner": self.learner, "explain": said}).save(path)
