"""The primitives of differential privacy, as a person would call them.

Each takes a budget token, charges it, and only then draws noise. `account.grant(0.5)` of a ledger gives a token for
private data: exact noise, durable charge. `simulation(seed=0).grant(0.5)` gives one for public data. Sensitivities are
stated in one way everywhere: one number, how far one record added or removed moves a value, or the pair `(add_remove,
replace)`.

>>> from jostle import mechanisms
>>> budget = mechanisms.simulation(seed=0).grant(0.5)
>>> mechanisms.discrete_laplace(120, sensitivity=1, budget=budget)
119
>>> mechanisms.utility.discrete_laplace_error(0.5, confidence=0.95)
6
"""

from jostle.kernel.source import simulation
from jostle.mechanisms import utility
from jostle.mechanisms.additive import discrete_laplace, laplace
from jostle.mechanisms.aggregates import clipped_mean, clipped_sum
from jostle.mechanisms.candidates import MedianMechanism
from jostle.mechanisms.gradual import GradualRelease
from jostle.mechanisms.local import RandomizedResponse
from jostle.mechanisms.margin import large_margin
from jostle.mechanisms.propose_test_release import propose_test_release
from jostle.mechanisms.ranks import median, quantiles
from jostle.mechanisms.repeated import best_of
from jostle.mechanisms.selection import exponential, exponential_line, permute_and_flip, report_noisy_max
from jostle.mechanisms.sensitivity import check_scores
from jostle.mechanisms.stability import stable_selection
from jostle.mechanisms.threshold import AboveThreshold
from jostle.mechanisms.utility import accuracy, scale_for_accuracy

__all__ = [
    "AboveThreshold",
    "GradualRelease",
    "MedianMechanism",
    "RandomizedResponse",
    "accuracy",
    "best_of",
    "check_scores",
    "clipped_mean",
    "clipped_sum",
    "discrete_laplace",
    "exponential",
    "exponential_line",
    "laplace",
    "large_margin",
    "median",
    "permute_and_flip",
    "propose_test_release",
    "quantiles",
    "report_noisy_max",
    "scale_for_accuracy",
    "simulation",
    "stable_selection",
    "utility",
]
