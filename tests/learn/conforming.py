"""For scikit-learn's own checks of estimators: their data come without a schema, so that one is written here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import numpy as np
import pytest

from jostle.kernel.errors import BadInput
from jostle.learn.estimator import PrivateEstimator
from jostle.learn.task import Task
from jostle.schema import Boolean, Category, Column, Real, Schema

LABEL = "class"


class Knowing(PrivateEstimator):
    """A private estimator as somebody would use it who knows the checks' public data: their classes, and fitting bounds.

    Put it before the estimator among a class's bases.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        table = np.asarray(X)
        named = hasattr(X, "columns") and all(isinstance(name, str) for name in X.columns)
        names = list(X.columns) if named else [f"x{i}" for i in range(table.shape[-1] if table.ndim else 1)]
        self._known = Schema({name: Real(-3, 3, bins=10) for name in names} | {LABEL: classes_of(y)})
        return super().fit(X, y)

    def _task(self, y: Any = None) -> Task:
        return Task.over(self._known, LABEL)


def classes_of(y: Any) -> Column:
    values = np.asarray([0, 1] if y is None else y)
    if values.dtype.kind == "b":
        return Boolean()
    known = np.unique(values)
    return Category([0, 1] if values.dtype.kind == "c" else known[: 2 if known.size > 20 else 20].tolist())


EXCEPTIONS = {
    "check_estimators_empty_data_messages": "whether there are any records is private: none give a model, and no error",
    "check_classifiers_regression_target": "the classes are those of the schema; labels are never searched for their kind",
}
"""The checks that privacy does not allow to pass, and why. (One that a schema forbids as well does not fail here.)"""


def run_check(check: Any, estimator: Any, exceptions: Mapping[str, str]) -> None:
    """Run one of scikit-learn's checks. The exceptions must fail.

    They are no `xfail`: pytest would write the traceback of each, and reads all of scikit-learn's source for that.
    """
    plain = check.func if isinstance(check, partial) else check
    if plain.__name__ not in exceptions:
        check(estimator)
        return
    with pytest.raises((AssertionError, BadInput)):
        check(estimator)
