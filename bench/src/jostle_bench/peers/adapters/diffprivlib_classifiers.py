"""diffprivlib's classifiers. Bounds, classes and norms are passed in: a warning that something leaks is a failure."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import classifying  # type: ignore[import-not-found]  # it stands beside this file
import numpy as np

VERSION_OF = "diffprivlib"


def bayes(task: Any, epsilon: float, seed: int) -> Any:
    """Gaussian naive Bayes; a category becomes as many columns of zeros and ones."""
    from diffprivlib.models import GaussianNB  # type: ignore[import-not-found]

    train, test = task.wide
    return _told(_fitted(GaussianNB(epsilon=epsilon, bounds=(0.0, 1.0), random_state=seed), train, task.y_train), test)


def logistic(task: Any, epsilon: float, seed: int) -> Any:
    """Logistic regression by objective perturbation; no record is longer than the root of the number of attributes."""
    from diffprivlib.models import LogisticRegression

    train, test = task.wide
    model = LogisticRegression(epsilon=epsilon, data_norm=float(np.sqrt(len(task.categories))), random_state=seed)
    return _told(_fitted(model, train, task.y_train), test)


def tree(task: Any, epsilon: float, seed: int, *, depth: int) -> Any:
    """One tree with random splits and private leaves; categories are codes."""
    from diffprivlib.models import DecisionTreeClassifier

    model = DecisionTreeClassifier(
        epsilon=epsilon, bounds=task.bounds, classes=task.classes, max_depth=depth, random_state=seed
    )
    return _told(_fitted(model, task.train, task.y_train), task.test)


def forest(task: Any, epsilon: float, seed: int, *, depth: int) -> Any:
    """Ten such trees, each on a part of the records."""
    from diffprivlib.models import RandomForestClassifier

    model = RandomForestClassifier(
        epsilon=epsilon, bounds=task.bounds, classes=task.classes, max_depth=depth, shuffle=True, random_state=seed
    )
    return _told(_fitted(model, task.train, task.y_train), task.test)


def _told(model: Any, records: Any) -> Any:
    """The predicted classes and their probabilities; a model whose probabilities are no numbers has none."""
    with np.errstate(all="ignore"):
        return model.predict(records), np.nan_to_num(model.predict_proba(records)).max(axis=1)


def _fitted(model: Any, records: Any, classes: Any) -> Any:
    from diffprivlib.utils import PrivacyLeakWarning  # type: ignore[import-not-found]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's, about what diffprivlib calls, and that a fit has not converged
        warnings.simplefilter("error", PrivacyLeakWarning)
        return model.fit(records, classes)


MODELS = {
    "GaussianNB": (bayes, "add_remove"),
    "LogisticRegression": (logistic, "replace"),
    "DecisionTree": (partial(tree, depth=5), "add_remove"),
    "DecisionTree, depth 10": (partial(tree, depth=10), "add_remove"),
    "RandomForest": (partial(forest, depth=5), "add_remove"),
    "RandomForest, depth 10": (partial(forest, depth=10), "add_remove"),
}
"""Each with what it protects: one record more or less, or one changed (Chaudhuri, Monteleoni and Sarwate, Definition 1)."""


def classify(job: dict[str, Any]) -> dict[str, Any]:
    """The errors of one model."""
    fit, neighbours = MODELS[job["model"]]
    return {**classifying.errors(job, fit), "delta": 0.0, "neighbours": neighbours}


ANSWERS = {"classify": classify}
