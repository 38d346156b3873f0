"""A private regressor with scikit-learn's conventions."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from jostle.kernel.errors import BadInput
from jostle.learn.estimator import PrivateLearning
from jostle.learn.registry import FloatArray, Learner
from jostle.learn.regression.linear import LinearModel
from jostle.learn.regression.regress import REGRESSION
from jostle.learn.regression.task import RegressionTask

if TYPE_CHECKING:
    import pandas as pd

    from jostle.schema import Schema


@dataclass(eq=False, repr=False)
class PrivateRegressor(RegressorMixin, PrivateLearning):  # type: ignore[misc] # scikit-learn ships no types
    """Predicts a number: by a linear model, or by an additive one of means in bins.

    `label` names the column to predict, which the schema describes as `Real` or `Integer`: its bounds are those of all
    predictions. Everything else is as for a private classifier, see `PrivateEstimator`.

    `model` is "linear", "additive", or "auto", which picks one. A linear model's sums are measured one by one (`method`
    "moments": AdaSSP, Wang 2018) or taken from a synthetic table ("synthetic"). `ridge` is a number of records, by default
    what noise requires. `steps` is how many attributes, or pairs of them, an additive model looks at.

    >>> import numpy as np
    >>> from jostle.schema import Real, Schema
    >>> schema = Schema({"size": Real(0, 1, bins=64), "price": Real(0, 10, bins=200)})
    >>> size = np.linspace(0, 1, 5_000)
    >>> model = PrivateRegressor(1, schema, label="price", model="linear", method="moments", random_state=0)
    >>> model.fit(size[:, None], 2 + 5 * size).predict([[0.2], [0.8]]).round().tolist()
    [3.0, 6.0]
    >>> model.coefficients().coefficient.tolist()[:2]
    ['(constant)', 'size']
    """

    learner = REGRESSION.name

    label: str = "target"
    _: KW_ONLY
    model: str = "auto"
    method: str = "auto"
    ridge: float | None = None
    steps: int | None = None

    def predict(self, X: Any) -> FloatArray:
        """A number for each row, within the label's bounds."""
        return self._scores(X)[:, 0]

    def coefficients(self, *, population: bool = False) -> pd.DataFrame:
        """A linear model's coefficients in the columns' own units, with 95 % intervals.

        The intervals are about least squares without noise on the same records, where a feature that hardly any record has
        is left out. With `population`, they are about what the records are drawn from, if errors are alike everywhere. They
        are infinite where noise leaves a coefficient open. `value` is what the model predicts with: a ridge may have drawn
        it out of its interval.
        """
        check_is_fitted(self, "model_")
        found = getattr(self.model_, "model", None)
        if not isinstance(found, LinearModel):
            raise BadInput("model", "an additive model has no coefficients", 'fit one with model="linear"')
        if not found.exact:
            problem = "the error of sums from a synthetic table is not known"
            raise BadInput("method", problem, 'fit a model with model="linear" and method="moments"')
        return found.to_pandas(population=population)

    def _learner(self) -> Learner:
        return REGRESSION

    def _over(self, columns: Schema, y: Any = None) -> RegressionTask:
        return RegressionTask.over(columns, self.label)
