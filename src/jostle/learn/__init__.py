"""Private classifiers with scikit-learn's conventions. Estimators are loaded when they are first used.

>>> from jostle import learn
>>> "Logistic" in learn.names()
True
>>> learn.PrivateLogistic(epsilon=0.5).epsilon
0.5
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from jostle.algorithms._registration import named
from jostle.learn.registry import Learner, Model, learner, registered
from jostle.learn.task import Task

if TYPE_CHECKING:
    from jostle.learn.classifier import PrivateClassifier
    from jostle.learn.estimator import PrivateEstimator
    from jostle.learn.grids import PrivateGrid
    from jostle.learn.histograms import PrivateJoint, PrivateMajority, PrivateSingle
    from jostle.learn.logistic import PrivateLogistic
    from jostle.learn.naive_bayes import PrivateGaussianBayes, PrivateMultinomialBayes
    from jostle.learn.regression.regressor import PrivateRegressor
    from jostle.learn.sparse import PrivateSparse
    from jostle.learn.stacked import PrivateStacked
    from jostle.learn.synthetic import PrivateSynthetic
    from jostle.learn.trees.adaptive import PrivateTree
    from jostle.learn.trees.learned import LearnedTree
    from jostle.learn.trees.literature import FletcherIslam, FriedmanSchuster, Jagannathan, Mohammed, PatilSingh, SulqTree

__all__ = [
    "FletcherIslam",
    "FriedmanSchuster",
    "Jagannathan",
    "LearnedTree",
    "Learner",
    "Model",
    "Mohammed",
    "PatilSingh",
    "PrivateClassifier",
    "PrivateEstimator",
    "PrivateGaussianBayes",
    "PrivateGrid",
    "PrivateJoint",
    "PrivateLogistic",
    "PrivateMajority",
    "PrivateMultinomialBayes",
    "PrivateRegressor",
    "PrivateSingle",
    "PrivateSparse",
    "PrivateStacked",
    "PrivateSynthetic",
    "PrivateTree",
    "SulqTree",
    "Task",
    "every",
    "get",
    "learner",
    "names",
]

_HOMES = {
    "classifier": ("PrivateClassifier",),
    "estimator": ("PrivateEstimator",),
    "grids": ("PrivateGrid",),
    "histograms": ("PrivateJoint", "PrivateMajority", "PrivateSingle"),
    "logistic": ("PrivateLogistic",),
    "naive_bayes": ("PrivateGaussianBayes", "PrivateMultinomialBayes"),
    "regression.regressor": ("PrivateRegressor",),
    "sparse": ("PrivateSparse",),
    "stacked": ("PrivateStacked",),
    "synthetic": ("PrivateSynthetic",),
    "trees.adaptive": ("PrivateTree",),
    "trees.learned": ("LearnedTree",),
    "trees.literature": ("FletcherIslam", "FriedmanSchuster", "Jagannathan", "Mohammed", "PatilSingh", "SulqTree"),
}
"""The module of each estimator: scikit-learn is imported with the first of them."""

_LEARNERS = (
    *("BinaryTree", "Chosen", "FletcherIslam", "FriedmanSchuster", "GaussianBayes", "Grid", "Jagannathan", "Joint"),
    *("LearnedTree", "Logistic", "Majority", "Mohammed", "MultinomialBayes", "PatilSingh", "Single", "Sparse", "Stacked"),
    *("SuLQ-ID3", "Synthetic", "Tree"),
)
"""The learners of this package, to name them without importing it all."""


def __getattr__(name: str) -> object:
    """Load an estimator when it is first used."""
    for home, estimators in _HOMES.items():
        if name in estimators:
            value: object = getattr(import_module(f"jostle.learn.{home}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'jostle.learn' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return list(__all__)


@cache
def _load() -> None:
    """Import every module of this package: each registers the learners that it defines."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        import_module(module.name)


def every() -> dict[str, Learner]:
    """All learners by name, including the caller's own."""
    _load()
    return dict(sorted(registered().items()))


def names() -> list[str]:
    """The names of all learners. It imports none of them, and not scikit-learn, which takes seconds."""
    return sorted({*_LEARNERS, *registered()})


def get(name: str | Learner) -> Learner:
    """The learner of that name."""
    return name if isinstance(name, Learner) else named(every(), name, "learner")
