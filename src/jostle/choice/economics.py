"""ε by an economic rule: no more than people can be compensated for, no less than the study needs (Hsu and others 2014)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from jostle.kernel.arguments import check_finite


@dataclass(frozen=True)
class AffordableEpsilon:
    """The range of ε that a study can pay for and work with."""

    least: float
    """What the accuracy needs."""

    most: float
    """What the money allows."""

    @property
    def feasible(self) -> bool:
        """Whether some ε does both."""
        return self.least <= self.most

    def __str__(self) -> str:
        if self.feasible:
            return f"any ε from {self.least:.3g} to {self.most:.3g}"
        bounds = f"the accuracy needs {self.least:.3g}, the money allows {self.most:.3g}"
        return f"no ε: {bounds}. Ask more people, or accept more error"


def affordable_epsilon(
    *, people: int, money: float, harm: float, within: float | None = None, confidence: float = 0.95
) -> AffordableEpsilon:
    """The ε that a study with this many people can afford.

    - `money`: what there is to compensate all people together.
    - `harm`: what a person expects to lose anyway, without taking part: the cost of a bad event × its probability.
    - `within`: how far off the share of people with some property may be because of noise, with `confidence`.

    A person's expected cost grows by the factor e^ε at most (for costs that are not negative), so each has to be paid
    (e^ε − 1)·harm: ε ≤ ln(1 + money/(people·harm)). The noise on a share is Laplace of scale 1/(people·ε), so ε ≥
    ln(1/(1 − confidence))/(people·within).

    Hsu, Gaboardi, Haeberlen, Khanna, Narayan, Pierce, Roth: Differential privacy: an economic method for choosing epsilon,
    CSF 2014, Sections 4 and 5.

    >>> print(affordable_epsilon(people=10_000, money=5_000, harm=10, within=0.01))
    any ε from 0.03 to 0.0488
    >>> affordable_epsilon(people=100, money=5_000, harm=500, within=0.01).feasible
    False
    """
    # What comes back are Python's numbers: products of NumPy's smallest ones would overflow.
    many, paid, lost = (
        check_finite(one, name, "pass for instance 1000", least=1e-9, most=1e12)
        for one, name in ((people, "people"), (money, "money"), (harm, "harm"))
    )
    if within is not None:
        within = check_finite(within, "within", "pass a share, for instance 0.01", least=1e-9, most=1)
    confidence = check_finite(confidence, "confidence", "pass for instance 0.95", least=0.01, most=0.999999)
    least = 0.0 if within is None else math.log(1 / (1 - confidence)) / (many * within)
    return AffordableEpsilon(least, math.log1p(paid / (many * lost)))
