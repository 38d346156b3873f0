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
    from jostle.learn.joint import PrivateJoint
    from jostle.learn.logistic import PrivateLogistic
    from jostle.learn.majority import PrivateMajority
    from jostle.learn.naive_bayes import PrivateGaussianBayes, PrivateMultinomialBayes
    from jostle.learn.pipeline import PrivateSynthetic
    from jostle.learn.single_attribute import PrivateSingle
    from jostle.learn.sparse import PrivateSparse
    from jostle.learn.stacked import PrivateStacked
    from jostle.learn.trees.adaptive import PrivateTree
    from jostle.learn.trees.estimators import FletcherIslam, FriedmanSchuster, Jagannathan, Mohammed, PatilSingh, SulqTree
    from jostle.learn.trees.learned import LearnedTree

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
    "PrivateSynthetic": "jostle.learn.pipeline",
    "PrivateSparse": "jostle.learn.sparse",
    "PrivateStacked": "jostle.learn.stacked",
    "LearnedTree": "jostle.learn.trees.learned",
    "PrivateMultinomialBayes": "jostle.learn.naive_bayes",
    "PrivateGaussianBayes": "jostle.learn.naive_bayes",
    "FletcherIslam": "jostle.learn.trees.estimators",
    "PatilSingh": "jostle.learn.trees.estimators",
    "Jagannathan": "jostle.learn.trees.estimators",
    "SulqTree": "jostle.learn.trees.estimators",
    "Mohammed": "jostle.learn.trees.estimators",
    "FriedmanSchuster": "jostle.learn.trees.estimators",
    "PrivateTree": "jostle.learn.trees.adaptive",
    "PrivateClassifier": "jostle.learn.classifier",
    "PrivateEstimator": "jostle.learn.estimator",
    "PrivateGrid": "jostle.learn.grids",
    "PrivateJoint": "jostle.learn.joint",
    "PrivateLogistic": "jostle.learn.logistic",
    "PrivateMajority": "jostle.learn.majority",
    "PrivateSingle": "jostle.learn.single_attribute",
}
"""Where each estimator lives: scikit-learn is imported with the first of them."""


def __getattr__(name: str) -> object:
    """Load an estimator when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'jostle.learn' has no attribute {name!r}; it has {', '.join(__all__)}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)


@cache
def _load() -> None:
    """Import every file of this folder and of those in it: each registers what it defines."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        import_module(module.name)


def every() -> dict[str, Learner]:
    """All learners by name, the caller's own included."""
    _load()
    return dict(sorted(registered().items()))


def names() -> list[str]:
    """The names of all learners."""
    return list(every())


def get(name: str | Learner) -> Learner:
    """The learner of that name."""
    return name if isinstance(name, Learner) else named(every(), name, "learner")
