"""Propose, test, release: noise for how far one record moves *these* data, once a private test says that it may."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from jostle.kernel.budget import Budget, round_down
from jostle.kernel.errors import BadInput
from jostle.kernel.noise import calibrate
from jostle.mechanisms.additive import laplace_noise
from jostle.mechanisms.arguments import check_budget, numbers, whole_numbers
from jostle.mechanisms.sensitivity import Sensitivity


def propose_test_release(value: float, *, sensitivity: Any, distance: int, budget: Budget, note: str = "") -> Any:
    """A number with little noise, or None if the data are not clearly of the tame kind: (ε, δ)-differentially private.

    For a function that one record hardly ever moves far, such as a median, but might. You **propose** a `sensitivity`, which
    need not hold everywhere. jostle **tests** privately whether the data are far from all where it fails, and if they are,
    **releases** the value with noise for it. None says that the test failed, as it does on tame data, too, if they are few.

    `distance` is yours to compute and to prove: the number of records that would have to be added or removed (under
    `replace`: replaced) to reach data on which one more could move the value further than `sensitivity`; 0 if these data are
    such. A smaller number is safe as long as one record moves it by at most 1. It is private, so no number is refused: it is
    rounded down, and infinity, for data that no records lead away from, counts as very far.

    The token has a δ, as for `large_margin`. Half of ε pays for the test and half for the release, even if there is none.

    Privacy: let r be the number of records by which one person's neighbours differ. Noise of scale r/(ε/2) makes the test
    ε/2-private. If the distance is at least r for one of two neighbours, go from it to the other in r steps: each begins at
    data where the sensitivity holds, so the value moves by at most r times it, and the release is ε/2-private. Else both
    distances are at most r − 1, from which noise passes the test with probability δ at most, and None is ε/2-private.

    Dwork, Lei: Differential privacy and robust statistics, STOC 2009, Section 4; with whole noise on the distance.

    See `utility.propose_test_release_distance` for the distance from which an answer may be expected.

    >>> from jostle import mechanisms
    >>> ages = sorted([35] * 100 + [36] * 300 + [37] * 100)  # public; 36 stays the median for a long way
    >>> budget = mechanisms.simulation(seed=0).grant(2, delta=1e-6)  # public data; else account.grant(2, delta=1e-6)
    >>> round(propose_test_release(36, sensitivity="1/100", distance=100, budget=budget), 2)
    35.97
    """
    proposed, number = Sensitivity.of(sensitivity), numbers(value, "value")
    if number.ndim:
        raise BadInput("value", "must be one number", "release several one after the other, each with a budget of its own")
    if numbers(distance, "distance").ndim:
        raise BadInput("distance", "must be one number", "pass a number of records")
    far = whole_numbers([distance], "distance")  # as an item of a list, whose type says nothing
    if not check_budget(budget).delta:
        remedy = "pass account.grant(1, delta=1e-6) of an (ε, δ) account; for a sensitivity that always holds use `laplace`"
        raise BadInput("budget", "has no δ, and propose-test-release is private only up to one", remedy)
    half, apart, chance = budget.pure / 2, budget.neighbours.sensitivity(1, 1), round_down(budget.delta)
    add_noise = laplace_noise(number, proposed.size(budget.neighbours), half)
    scale = calibrate(apart, half)
    noise = budget.draw(operator="propose_test_release", note=note, with_delta=True)
    noisy = noise.discrete_laplace(np.maximum(np.asarray(far).reshape(1), 0), scale)[..., 0]
    passed, answer = noisy >= needed_distance(apart, scale, chance), add_noise(noise)  # both in either case
    if np.ndim(noisy):
        return np.where(passed, answer, np.nan)
    return answer if passed else None


def needed_distance(apart: Fraction, scale: Fraction, delta: float) -> int:
    """The least noisy distance that passes: from a true one of `apart` − 1, noise gets there with probability δ at most.

    Noise k or above has the probability a^k/(1 + a), where a = exp(−1/scale). One more than that says covers its rounding.

    >>> needed_distance(Fraction(1), Fraction(2), 1e-6)
    28
    """
    rise = float(scale) * -math.log(delta * (1 + math.exp(-1 / float(scale))))
    return math.ceil(apart) - 1 + max(math.ceil(rise), 0) + 1
