"""What a choice may ask about a database, in one form: metafeatures, features of Pythia, and public facts.

A question is private, and paid for with a token each time it is asked, or public, and free. What stands in `informed_by` is
turned into questions by `as_questions`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from jostle.choice.features import Feature
from jostle.choice.metafeatures import Metafeature
from jostle.choice.spend_only import is_records
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput, JostleError, PlanError
from jostle.kernel.neighbours import Neighbours
from jostle.workloads import Workload


class Question(Protocol):
    """A number about a database and a query."""

    @property
    def name(self) -> str:
        """What traces and `predict` call it."""
        ...

    def known(self, db: Any, query: Any, epsilon: Fraction) -> float | None:
        """Its value where that is public; None if it has to be paid for. `epsilon` is the whole budget of the choice."""
        ...

    def check(self, db: Any, query: Any, epsilon: Fraction, share: Fraction) -> None:
        """Raise, before anything is charged, if it cannot be asked with such a share."""
        ...

    def measure(self, db: Any, query: Any, epsilon: Fraction, token: Budget) -> float:
        """Its noisy value, paid for with the token."""
        ...

    def noise(self, db: Any, query: Any, epsilon: Fraction, share: Fraction) -> float:
        """The scale of the noise on it, where it is one number with additive noise; 0 where that says too little."""
        ...


@dataclass(frozen=True)
class Fact:
    """A public number: of the domain, the query and ε, never of the data.

    >>> Fact("queries", lambda db, query, epsilon: query.shape[0]).name
    'queries'
    """

    name: str
    of: Callable[[Any, Any, float], float]
    """From the database, of which public facts alone may be used, the query and ε."""

    def known(self, db: Any, query: Any, epsilon: Fraction) -> float:
        """Always, and finite: formulas and thresholds could say nothing about the others."""
        found = self.of(db, query, float(epsilon))
        try:
            value = float(found)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
        if not math.isfinite(value):
            remedy = "let it return a finite number for every database and query"
            raise BadInput("informed_by", f"{self.name} is no finite number here", remedy)
        return value

    def check(self, db: Any, query: Any, epsilon: Fraction, share: Fraction) -> None:
        """It is asked now: a mistake in it must not cost anything."""
        self.known(db, query, epsilon)

    def measure(self, db: Any, query: Any, epsilon: Fraction, token: Budget) -> float:
        """Never needed."""
        raise BadInput("informed_by", f"{self.name} is public", "ask for it without a budget")

    def noise(self, db: Any, query: Any, epsilon: Fraction, share: Fraction) -> float:
        """None."""
        return 0.0


EPSILON = Fact("epsilon", lambda db, query, epsilon: epsilon)
"""The budget itself: asked wherever training saw more than one."""

CELLS = Fact("cells", lambda db, query, epsilon: float(db.size))
"""The number of cells of a vector."""

QUERIES = Fact("queries", lambda db, query, epsilon: float(query.shape[0]))
"""The number of queries of a workload."""


@dataclass(frozen=True)
class Of:
    """A metafeature of the records' histogram over some attributes.

    >>> from jostle.choice.metafeatures import metafeature
    >>> Of(metafeature("select sum(values) from db", name="size"), ("age",)).name
    'size'
    """

    feature: Metafeature
    attributes: tuple[str, ...] = ()
    """Which attributes; none for a vector."""

    @property
    def name(self) -> str:
        """The metafeature's."""
        return self.feature.name

    def _source(self, db: Any) -> Any:
        if is_records(db) != bool(self.attributes):
            remedy = f"pass of({self.name}, 'age', …)" if is_records(db) else f"pass {self.name} itself"
            raise BadInput("informed_by", f"{self.name} does not fit the kind of database", remedy)
        return db.vector(*self.attributes) if self.attributes else db

    def known(self, db: Any, query: Any, epsilon: Fraction) -> None:
        """Never: it is of the data."""

    def check(self, db: Any, query: Any, epsilon: Fraction, share: Fraction) -> None:
        """Derive its sensitivity, and the noise."""
        source = self._source(db)
        try:
            self.feature.noise_scale(source.shape, share, source.neighbours)
        except BadInput as refused:
            problem = f"{self.name} cannot be measured, as {refused.argument} {refused.problem}"
            raise BadInput("informed_by", problem, refused.remedy) from None

    def measure(self, db: Any, query: Any, epsilon: Fraction, token: Budget) -> float:
        """Paid for with the token; what is not a number counts as 0, as the noise may lead anywhere."""
        try:
            value = float(self.feature.measure(self._source(db), token))
        except JostleError:
            raise
        except (ArithmeticError, ValueError):  # noisy numbers divide by 0, or have no logarithm
            return 0.0
        except Exception as error:  # noqa: BLE001  # its function saw noisy numbers alone; what it says about them is left out
            raise PlanError(f"the metafeature {self.name} failed: its function raised {type(error).__name__}") from None
        return value if np.isfinite(value) else 0.0

    def noise(self, db: Any, query: Any, epsilon: Fraction, share: Fraction) -> float:
        """Of one expression; several are combined by a function that may do anything."""
        source = self._source(db)
        scales = self.feature.noise_scale(source.shape, share, source.neighbours)
        return scales[0] if len(scales) == 1 else 0.0


@dataclass(frozen=True)
class OfPythia:
    """A feature of Pythia, by exchange."""

    feature: Feature

    @property
    def name(self) -> str:
        """The feature's."""
        return self.feature.name

    def known(self, db: Any, query: Any, epsilon: Fraction) -> float | None:
        """Some are public, and the scale where the neighbours make it so."""
        if not isinstance(query, Workload):
            raise BadInput("informed_by", f"{self.name} is about workloads", "use a metafeature instead")
        return self.feature.known(db, query, _rate(epsilon, db.neighbours))

    def check(self, db: Any, query: Any, epsilon: Fraction, share: Fraction) -> None:
        """Some statistics are exact on domains of moderate size alone."""
        if self.known(db, query, epsilon) is None:
            self.feature.check(db.size, _rate(epsilon, db.neighbours))

    def measure(self, db: Any, query: Any, epsilon: Fraction, token: Budget) -> float:
        """One statistic of the kernel."""
        return self.feature.measure(db, token, _rate(epsilon, db.neighbours))

    def noise(self, db: Any, query: Any, epsilon: Fraction, share: Fraction) -> float:
        """In the units in which it is seen."""
        return self.feature.noise_scale(db.size, float(share), _rate(epsilon, db.neighbours), db.neighbours)


def _rate(epsilon: Fraction, neighbours: Neighbours) -> float:
    return float(epsilon / neighbours.sensitivity(1, 2))


def of(feature: Metafeature, *attributes: str) -> Of:
    """A metafeature of records: of their histogram over these attributes.

    >>> from jostle.choice.metafeatures import metafeature
    >>> of(metafeature("select max(values) from db", name="peak"), "class").attributes
    ('class',)
    """
    if not isinstance(feature, Metafeature) or not attributes:
        raise BadInput("feature", "must be a metafeature, followed by attributes", "pass for instance of(peak, 'class')")
    return Of(feature, attributes)


def fact(function: Callable[[Any, Any, float], float]) -> Fact:
    """A public number that informs a choice, as a decorator: a function of the domain, the query and ε.

    >>> @fact
    ... def cells(db, query, epsilon):
    ...     return db.size
    >>> cells.name
    'cells'
    """
    return Fact(getattr(function, "__name__", "fact"), function)


def as_questions(informed_by: Any) -> tuple[Question, ...]:
    """The questions that are meant, checked.

    >>> [question.name for question in as_questions([EPSILON, CELLS])]
    ['epsilon', 'cells']
    """
    remedy = "pass metafeatures: functions decorated with @metafeature, or metafeature('select …')"
    if isinstance(informed_by, (str, bytes)) or not isinstance(informed_by, (Sequence, set, frozenset)):
        raise BadInput("informed_by", "must be a list of metafeatures", remedy)
    ordered = informed_by if isinstance(informed_by, Sequence) else sorted(informed_by, key=lambda one: str(one))
    found = tuple(_as_question(one, remedy) for one in ordered)
    names = [question.name for question in found]
    for name in names:
        if names.count(name) > 1:
            raise BadInput("informed_by", f"two are called {name}", "name each once")
    return found


def _as_question(one: Any, remedy: str) -> Question:
    if isinstance(one, Metafeature):
        return Of(one)
    if isinstance(one, Feature):
        return OfPythia(one)
    if isinstance(one, (Of, Fact, OfPythia)):
        return one
    raise BadInput("informed_by", f"{type(one).__name__} is no metafeature", remedy)


def private(questions: Sequence[Question], db: Any, query: Any, epsilon: Fraction) -> tuple[str, ...]:
    """Those that have to be paid for on such a database."""
    return tuple(question.name for question in questions if question.known(db, query, epsilon) is None)
