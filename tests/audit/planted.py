"""How privacy bugs are planted, and what may notice them: an entry of the audit, the audit of charges, or a test."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jostle.audit import catalogue, examine
from jostle.audit.charges import audit_charges, audit_tables
from jostle.kernel import budget, ledger, source
from jostle.kernel.functions import intervals, statistics
from jostle.kernel.neighbours import Neighbours
from jostle.mechanisms.sensitivity import Sensitivity
from tests.kernel import (
    test_source,
)

Patch = pytest.MonkeyPatch
ADD, REPLACE = "add_remove", "replace"


class Caught(Exception):
    """A detector noticed something."""


@dataclass(frozen=True)
class Detector:
    """What may notice a bug: it raises if it does."""

    name: str
    look: Callable[[Patch, Path], None]
    calm: Callable[[Patch, Path], None]
    """The same, to be run where there is no bug: with fewer samples, where what always cries would cry as well."""


def audited(name: str, neighbours: str, *, epsilon: str = "1", samples: int = 40_000, engine: Any = "simulated") -> Detector:
    """An entry of the audit, with about as many samples as the quick audit has.

    Exact noise is not seeded: without a bug it is taken for one once in 10⁶ runs, and the samples are so many that the bound
    with a bug, over repeated runs, is more than ten of its standard deviations above the claim.
    """

    def look(patch: Patch, folder: Path, number: int = samples) -> None:
        found = examine(
            catalogue.get(name),
            epsilon=epsilon,
            neighbours=neighbours,
            samples=number,
            seed=0,
            engine=engine,
            confidence=1 - 1e-6,
        )
        if found.finding:
            raise Caught(f"ε is at least {found.bound:.2f}, on {found.pair}, by {found.event}")

    words = f"audit of `{name}` under `{neighbours}`{' with exact noise' if engine == 'exact' else ''}"
    return Detector(words, look, partial(look, number=max(samples // 5, 200)))


def charges(name: str) -> Detector:
    """The audit of what an algorithm is charged."""

    def look(patch: Patch, folder: Path) -> None:
        if not all(found.agrees for found in audit_charges([name])):
            raise Caught("the ledger and the operators disagree")

    return Detector(f"audit of the charges of {name}", look, look)


def charged_tables() -> Detector:
    """The audit of what questions to a table are charged."""

    def look(patch: Patch, folder: Path) -> None:
        if not all(found.agrees for found in audit_tables(["count", "sum"])):
            raise Caught("the ledger and the tables disagree")

    return Detector("audit of the charges of tables", look, look)


def tested(test: Callable[..., Any], *arguments: Any) -> Detector:
    """A test that is there anyway."""

    def look(patch: Patch, folder: Path) -> None:
        given = [make(patch, folder) if isinstance(make, Fixture) else make for make in arguments]
        try:
            test(*given)
        finally:
            for one in given:
                if isinstance(one, ledger.Ledger):
                    one.close()

    def runs_anyway(patch: Patch, folder: Path) -> None:
        """pytest runs it, with the same arguments."""

    module = test.__module__.removeprefix("tests.").replace(".", "/")
    made_here = any(isinstance(one, Fixture) for one in arguments)
    return Detector(f"`{module}.py`: `{test.__name__}`", look, look if made_here else runs_anyway)


@dataclass(frozen=True)
class Fixture:
    """An argument that is made when the test is run."""

    make: Callable[[Patch, Path], Any]

    def __call__(self, patch: Patch, folder: Path) -> Any:
        return self.make(patch, folder)


WATCHED = Fixture(lambda patch, folder: test_source.watched._get_wrapped_function()(patch))
LEDGER = Fixture(lambda patch, folder: ledger.Ledger(folder / "budget.db"))
PATCH = Fixture(lambda patch, folder: patch)
FOLDER = Fixture(lambda patch, folder: folder)


class _Caught:
    """In place of pytest's own fixture, which cannot be had here: catches nothing, and tells nothing."""

    text = ""

    def at_level(self, level: int) -> Any:
        return nullcontext()


CAPLOG = Fixture(lambda patch, folder: _Caught())


@dataclass(frozen=True)
class Mutant:
    """A planted bug."""

    name: str
    """What is wrong, in words."""

    plant: Callable[[Patch], None]
    """Switch it on."""

    detector: Detector
    """Who has to notice."""


def attribute(owner: Any, name: str, value: Any) -> Callable[[Patch], None]:
    """Replace something."""
    return lambda patch: patch.setattr(owner, name, value)


def stated(kind: type, name: str, value: Callable[[Any], Any]) -> Callable[[Patch], None]:
    """Replace a property."""
    return lambda patch: patch.setattr(kind, name, property(value))


def wrapped(owner: Any, name: str, change: Callable[..., Any]) -> Callable[[Patch], None]:
    """Replace a function by one that is handed the original first."""
    return lambda patch: patch.setattr(owner, name, _handed(getattr(owner, name), change))


def _handed(original: Any, change: Callable[..., Any]) -> Any:
    return lambda *arguments, **named: change(original, *arguments, **named)


def without_charge(*operators: str) -> Callable[[Patch], None]:
    def spend(original: Any, self: Any, token: Any, operator: str, what: str) -> None:
        if operator in operators:
            token._use("spent")
        else:
            original(self, token, operator, what)

    return wrapped(source.Custody, "spend", spend)


def draws_first(self: Any, asked: Any, token: Any) -> Any:
    noise = self._Source__noise_of(asked, token)
    noisy = noise.on(asked.apply(self._Source__x), self._Source__custody.noise)
    self._Source__custody.spend(token, "laplace", asked.name)
    return noisy / asked.unit


def single_cells_bare(self: Any, token: Any) -> Any:
    scale = self._Source__custody.scale((2 * statistics.PRICE_UNIT, 4 * statistics.PRICE_UNIT), token.epsilon)

    def draw(costs: np.ndarray) -> np.ndarray:
        for k in range(1, costs.shape[0]):
            costs[k] -= self._Source__custody.noise.geometric(self.size, scale)
        return intervals.cheapest_cut(costs)[1]

    return draw


def from_the_mean(x: np.ndarray) -> np.ndarray:
    out = np.full((int(x.size).bit_length(), x.size), -1, dtype=np.int64)
    for level in range(out.shape[0]):
        for start in range(x.size - 2**level + 1):
            cells = x[start : start + 2**level]
            out[level, start] = round(float(np.abs(cells - cells.mean()).sum()))
    return out


def independent(size: int, scales: Any, engine: Any) -> list[np.ndarray]:
    return [np.asarray(engine.discrete_laplace(np.zeros(size, dtype=np.int64), scale)).astype(np.int64) for scale in scales]


def one_noise_for_all(original: Any, self: Any, values: Any, scale: Any) -> Any:
    return values + original(self, np.zeros(1, dtype=np.int64), scale)


def free_total(x: Any, token: Any, share: float) -> Any:
    return float(getattr(x, "_source", x)._Source__x.sum()), 0.0, token


def pays_half(original: Any, self: Any, purse: Any, **what: Any) -> Any:
    half = budget.Budget(self.epsilon / 2, purse)
    self._use("spent")
    return 2 * original(half, purse, **what)


def doubled_split(original: Any, self: Any, *weights: Any) -> Any:
    return tuple(budget.Budget(2 * part.epsilon, part._purse) for part in original(self, *weights))


def told(x: object, shape: Any = None) -> Any:
    array = np.asarray(x)
    if (array < 0).any():
        raise source.BadInput("x", f"holds {array.min()}", "pass counts")
    return _counts(x, shape)


_counts = source.counts


class Anywhere:
    """A home that does not mind in which process it is."""

    def check(self) -> None:
        """Raise never."""


class HalfSensitivity:
    """States half of what a record moves."""

    @staticmethod
    def of(value: Any) -> Sensitivity:
        whole = Sensitivity.of(value)
        return Sensitivity(whole.add_remove / 2, whole.replace / 2)


def sensitivity(rule: Callable[[Neighbours, Any, Any], Any]) -> Callable[[Patch], None]:
    return attribute(Neighbours, "sensitivity", lambda self, once, changed: Fraction(rule(self, once, changed)))


def numpy_laplace(self: Any, values: Any, sensitivity: Fraction, epsilon: Fraction) -> Any:
    return values + np.random.default_rng().laplace(scale=float(sensitivity / epsilon), size=values.shape)


def seeded(self: Any, values: Any, scale: Fraction) -> Any:
    return values + np.round(np.random.default_rng(42).laplace(scale=float(scale), size=values.shape)).astype(np.int64)


def half_scale(original: Any, self: Any, values: Any, scale: Fraction) -> Any:
    """Draw half the noise."""
    return original(self, values, scale / 2)
