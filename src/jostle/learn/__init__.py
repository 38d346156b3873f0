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

from jostle.algorithms._claims import named
from jostle.learn.registry import Learner, Model, learner, registered
from jostle.learn.task import Task

if TYPE_CHECKING:
    from jostle.learn.adaptive_tree import PrivateTree
    from jostle.learn.base import PrivateEstimator
    from jostle.learn.classifier import PrivateClassifier
    from jostle.learn.grids import PrivateGrid
    from jostle.learn.joint import PrivateJoint
    from jostle.learn.learned_tree import LearnedTree
    from jostle.learn.logistic import PrivateLogistic
    from jostle.learn.majority import PrivateMajority
    from jostle.learn.naive_bayes import PrivateGaussianBayes, PrivateMultinomialBayes
    from jostle.learn.pipeline import PrivateSynthetic
    from jostle.learn.single import PrivateSingle
    from jostle.learn.sparse import PrivateSparse
    from jostle.learn.stacked import PrivateStacked
    from jostle.learn.tree_estimators import FletcherIslam, FriedmanSchuster, Jagannathan, Mohammed, PatilSingh, SulqTree

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
    "LearnedTree": "jostle.learn.learned_tree",
    "PrivateMultinomialBayes": "jostle.learn.naive_bayes",
    "PrivateGaussianBayes": "jostle.learn.naive_bayes",
    "FletcherIslam": "jostle.learn.tree_estimators",
    "PatilSingh": "jostle.learn.tree_estimators",
    "Jagannathan": "jostle.learn.tree_estimators",
    "SulqTree": "jostle.learn.tree_estimators",
    "Mohammed": "jostle.learn.tree_estimators",
    "FriedmanSchuster": "jostle.learn.tree_estimators",
    "PrivateTree": "jostle.learn.adaptive_tree",
    "PrivateClassifier": "jostle.learn.classifier",
    "PrivateEstimator": "jostle.learn.base",
    "PrivateGrid": "jostle.learn.grids",
    "PrivateJoint": "jostle.learn.joint",
    "PrivateLogistic": "jostle.learn.logistic",
    "PrivateMajority": "jostle.learn.majority",
    "PrivateSingle": "jostle.learn.single",
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
    """Import every file of this folder: each registers what it defines."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")


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
