"""What the adapters for questions under (ε, δ) share; it stands beside them, and needs only the standard library and NumPy.

A job's inputs are tables of pairs, a person and a cell, of which a person has at most `touched`: groups, the cells of all
marginals, or the questions that a person is counted in. All runs of an input are made at once by those who read single
records: every run has persons and cells of its own, so that each run has the whole budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

CENTRE, REACH = 50.0, 50.0
"""Values are between 0 and 100. Who does not move them to the middle is given v − 50, which halves the noise."""


def inputs(job: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each input at each ε, with its arrays: person, cell and, for values, value."""
    with np.load(job["data"]) as data:
        for one in job["inputs"]:
            names = [name for name in data.files if name.startswith(f"{one['name']}/")]
            yield one, {name.rpartition("/")[2]: data[name] for name in names}


def told_apart(one: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """The pairs of all runs: persons and cells are numbered on from run to run."""
    trials, person, cell = one["trials"], arrays["person"], arrays["cell"]
    runs = np.repeat(np.arange(trials), person.size)
    found = {
        "person": np.tile(person, trials) + runs * (int(person.max()) + 1),
        "cell": np.tile(cell, trials) + runs * one["cells"],
    }
    return found | ({"value": np.tile(arrays["value"], trials)} if "value" in arrays else {})


def by_run(one: dict[str, Any], cells: Any, values: Any) -> Any:
    """What was released by cell, a row for each run; what was left out is not a number."""
    found = np.full(one["trials"] * one["cells"], np.nan)
    found[np.asarray(cells, dtype=np.int64)] = np.asarray(values, dtype=np.float64)
    return found.reshape(one["trials"], one["cells"])


def answer(one: dict[str, Any], what: str, way: str = "") -> str:
    """By which an answer's array is known."""
    return f"{one['name']}/{one['epsilon']:g}/{what}/{way}"


def three(one: dict[str, Any], counts: Any, centred: Any, way: str = "") -> dict[str, Any]:
    """Counts, sums and means from noisy counts and noisy sums of v − 50, by run and cell."""
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(counts > 0, CENTRE + centred / counts, CENTRE)
    found = {"counts": counts, "sums": centred + CENTRE * counts, "means": means}
    return {answer(one, what, way): values for what, values in found.items()}


def rho(epsilon: float, delta: float) -> float:
    """The ρ that (ε, δ) allows (Canonne, Kamath and Steinke 2020, proposition 12), a little rounded down.

    >>> round(rho(1.0, 1e-6), 4)
    0.0244
    """
    low, high = 0.0, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(middle, epsilon) <= delta else (low, middle)
    return low * (1 - 1e-9)


def _delta(rho: float, epsilon: float) -> float:
    if rho <= 0:
        return 0.0
    orders = 1 + np.geomspace(1e-3, 1e6, 20_000)
    logs = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
    return float(np.exp(logs.min()))


def sigma(epsilon: float, delta: float) -> float:
    """The least standard deviation of Gaussian noise on a number that a person moves by 1 (Balle and Wang 2018).

    >>> round(sigma(1.0, 1e-6), 3)
    4.225
    """
    low, high = 0.0, 100 / epsilon
    for _ in range(60):
        middle = (low + high) / 2
        one, other = 0.5 / middle - epsilon * middle, -0.5 / middle - epsilon * middle
        lost = _below(one) - math.exp(epsilon) * _below(other)
        low, high = (low, middle) if lost <= delta else (middle, high)
    return high


def _below(number: float) -> float:
    return math.erfc(-number / math.sqrt(2)) / 2


def gaussian(one: dict[str, Any], deviation: float) -> bool:
    """Whether Gaussian noise with this deviation per unit of L2 is less than Laplace noise. Public.

    >>> [gaussian({"touched": touched, "epsilon": 1.0}, 4.225) for touched in (5, 10)]
    [False, True]
    """
    return bool(deviation * math.sqrt(one["touched"]) < math.sqrt(2) * one["touched"] / one["epsilon"])
