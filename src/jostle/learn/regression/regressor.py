"""A private regressor with scikit-learn's conventions."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from jostle.kernel.errors import BadInput
from jostle.learn.estimator import PrivateLearning
from jostle.learn.registry import FloatArray, Learner
from jostle.learn.regression.linear import CoefficientModel
from jostle.learn.regression.regress import REGRESSION
from jostle.learn.regression.task import RegressionTask
from jostle.schema import Numeric

if TYPE_CHECKING:
    import pandas as pd

    from jostle.schema import Schema


@dataclass(eq=False, repr=False)
class PrivateRegressor(RegressorMixin, PrivateLearning):  # type: ignore[misc] # scikit-learn ships no types
    """Predicts a number: by a linear, an additive, a logistic or a Poisson model.

    `label` names the column to predict, which the schema describes as `Real` or `Integer`: its bounds are those of all
    predictions. Of a `Boolean`, or a category of two values, the probability of the second is predicted. Everything else is
    as for a private classifier, see `PrivateEstimator`.

    `model` is "linear", "additive", "logistic", "poisson", or "auto", which picks one of the first two. `method` says where
    the sums come from that all but additive models need: "moments" measures them (AdaSSP, Wang 2018; for logistic and
    Poisson models in every combination of attributes' values), "synthetic" takes them from a synthetic table. `ridge` is a
    number of records, by default what noise requires. `steps` is how many attributes, or pairs of them, an additive model
    looks at.

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
        """Coefficients in the columns' own units, with 95 % intervals; those of a logistic model are of log odds.

        The intervals are about least squares, or maximum likelihood, without noise on the same records in the same bins,
        where a feature that hardly any record has is left out. With `population`, they are about what the records are drawn
        from, if errors are alike everywhere, or the model is true. They are infinite where noise leaves a coefficient open.
        `value` is what the model predicts with: a ridge may have drawn it out of its interval.
        """
        check_is_fitted(self, "model_")
        found = getattr(self.model_, "model", None)
        if not isinstance(found, CoefficientModel):
            raise BadInput("model", "an additive model has no coefficients", 'fit one with model="linear" or "logistic"')
        if not found.exact:
            problem = "the error of sums from a synthetic table is not known"
            raise BadInput("method", problem, 'fit a model with method="moments"')
        return found.to_pandas(population=population)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² on public records; two values that are no numbers are taken for 0 and 1."""
        check_is_fitted(self, "model_")
        if not isinstance(self.task_.columns[self.label], Numeric):
            codes = self.task_.encode_label(np.asarray(y, dtype=object))
            if (codes < 0).any():
                raise BadInput("y", f"has values that {self.label!r} does not", "leave these rows out")
            y = codes.astype(np.float64)
        return float(super().score(X, y, sample_weight))

    def _learner(self) -> Learner:
        return REGRESSION

    def _over(self, columns: Schema, y: Any = None) -> RegressionTask:
        return RegressionTask.over(columns, self.label)
