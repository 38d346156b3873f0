"""scikit-learn's own checks of every estimator that there is."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from jostle import learn
from jostle.learn.estimator import PrivateEstimator
from tests.learn.conforming import EXCEPTIONS, Knowing, run_check

SETTINGS: dict[str, dict[str, Any]] = {
    "FletcherIslam": {"trees": 2},
    "Jagannathan": {"trees": 2},
    "PatilSingh": {"trees": 2, "depth": 2},
    "PrivateGaussianBayes": {"histograms": "Laplace"},
    "PrivateMultinomialBayes": {"histograms": "Laplace"},
}
"""What makes them quick."""

MORE = dict.fromkeys(
    [
        "check_dtype_object",
        "check_estimators_dtypes",
        "check_fit2d_1sample",
        "check_n_features_in_after_fitting",
        "check_positive_only_tag_during_fit",
    ],
    "a grid is for at most three numbers, and this check's data have more",
)


def estimators() -> dict[str, type[PrivateEstimator]]:
    """All public ones: a new one is checked without a word about it here."""
    found = {name: getattr(learn, name) for name in learn.__all__ if name != "PrivateEstimator"}
    return {name: one for name, one in found.items() if isinstance(one, type) and issubclass(one, PrivateEstimator)}


def knowing(name: str, estimator: type[PrivateEstimator]) -> PrivateEstimator:
    made: type[PrivateEstimator] = type(f"Knowing{name}", (Knowing, estimator), {"__module__": __name__})
    globals()[made.__name__] = made  # where pickle looks for it
    return made(epsilon=100.0, random_state=0, **SETTINGS.get(name, {}))


@parametrize_with_checks([knowing(*one) for one in estimators().items()])
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    run_check(check, estimator, EXCEPTIONS | (MORE if isinstance(estimator, learn.PrivateGrid) else {}))


def test_every_learner_of_the_package_has_an_estimator() -> None:
    with_one = {one.learner for one in estimators().values()}
    assert {name for name, found in learn.every().items() if found.plan.__module__.startswith("jostle.")} - with_one == {
        "BinaryTree"  # PrivateTree(ways="one")
    }
