"""Questions that a choice may ask about a database: metafeatures, features of Pythia, and public facts.

A private question is paid for with a token; a public one is free. `as_questions` checks what stands in `informed_by`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from jostle.choice.features import Feature
from jostle.choice.measurements import ChoiceQuestion
from jostle.choice.metafeatures import Metafeature
from jostle.choice.spend_only import is_records
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput, JostleError, PlanError


@dataclass(frozen=True)
class Fact:
    """A public number: of the domain, the query and ε, never of the data.

    >>> Fact("queries", lambda db, query, epsilon: query.shape[0]).name
    'queries'
    """

    name: str
    of: Callable[[Any, Any, float], float]
    """From the database, the query and ε; it may use only public facts of the database."""

    def known(self, db: Any, query: Any, epsilon: Fraction) -> float:
        """It has to be finite: formulas and thresholds could say nothing about other values."""
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
        """Compute it now: a mistake in it must not cost anything."""
        self.known(db, query, epsilon)

    def measure(self, db: Any, query: Any, epsilon: Fraction, token: Budget) -> float:
        raise BadInput("informed_by", f"{self.name} is public", "ask for it without a budget")

    def noise(self, db: Any, query: Any, epsilon: Fraction, share: Fraction) -> float:
        return 0.0


EPSILON = Fact("epsilon", lambda db, query, epsilon: epsilon)
"""The budget itself: a question wherever training saw more than one."""

CELLS = Fact("cells", lambda db, query, epsilon: float(db.size))
"""The number of cells of a vector."""

QUERIES = Fact("queries", lambda db, query, epsilon: float(query.shape[0]))
"""The number of queries of a workload."""


@dataclass(frozen=True)
class MetafeatureQuestion:
    """A metafeature of the records' histogram over some attributes.

    >>> from jostle.choice.metafeatures import metafeature
    >>> MetafeatureQuestion(metafeature("select sum(values) from db", name="size"), ("age",)).name
    'size'
    """

    feature: Metafeature
    attributes: tuple[str, ...] = ()
    """Which attributes; none for a vector."""

    in_training: bool = False
    """Whether the data are public: a failure is then shown, where a release counts it as 0."""

    @property
    def name(self) -> str:
        return self.feature.name

    def _source(self, db: Any) -> Any:
        if is_records(db) != bool(self.attributes):
            remedy = f"pass of({self.name}, 'age', …)" if is_records(db) else f"pass {self.name} itself"
            raise BadInput("informed_by", f"{self.name} does not fit the kind of database", remedy)
        return db.vector(*self.attributes) if self.attributes else db

    def known(self, db: Any, query: Any, epsilon: Fraction) -> None:
        """It depends on the data: it has to be paid for."""

    def check(self, db: Any, query: Any, epsilon: Fraction, share: Fraction) -> None:
        source = self._source(db)
        try:
            self.feature.noise_scale(source.shape, share, source.neighbours)
        except BadInput as refused:
            problem = f"{self.name} cannot be measured, as {refused.argument} {refused.problem}"
            raise BadInput("informed_by", problem, refused.remedy) from None

    def measure(self, db: Any, query: Any, epsilon: Fraction, token: Budget) -> float:
        """Where the noise leads to no number, a release counts it as 0: it is paid for. Training refuses it."""
        try:
            value = float(self.feature.measure(self._source(db), token))
        except JostleError:
            raise
        except Exception as error:  # its function saw only noisy numbers; its message is left out
            if self.in_training:
                raise _failing(self.name, f"raised {type(error).__name__}: {error}") from error
            if isinstance(error, (ArithmeticError, ValueError)):  # noisy numbers divide by 0, or have no logarithm
                return 0.0
            raise PlanError(f"the metafeature {self.name} failed: its function raised {type(error).__name__}") from None
        if self.in_training and not np.isfinite(value):
            raise _failing(self.name, f"gave {value}")
        return value if np.isfinite(value) else 0.0

    def noise(self, db: Any, query: Any, epsilon: Fraction, share: Fraction) -> float:
        """Known for one expression that is taken as it is; a function of what was measured may do anything."""
        source = self._source(db)
        scales = self.feature.noise_scale(source.shape, share, source.neighbours)
        return scales[0] if len(scales) == 1 and self.feature.is_plain(source.shape) else 0.0


def _failing(name: str, what: str) -> BadInput:
    remedy = "let it return a finite number for any noisy answers, for instance with max(…, 1) below a fraction line"
    return BadInput("informed_by", f"the metafeature {name} {what}, in training", remedy)


def trainable(question: ChoiceQuestion) -> ChoiceQuestion:
    """The same question, to be asked of public data only: a metafeature that fails says so."""
    return replace(question, in_training=True) if isinstance(question, MetafeatureQuestion) else question


def of(feature: Metafeature, *attributes: str) -> MetafeatureQuestion:
    """A metafeature of records: of their histogram over these attributes.

    >>> from jostle.choice.metafeatures import metafeature
    >>> of(metafeature("select max(values) from db", name="peak"), "class").attributes
    ('class',)
    """
    if not isinstance(feature, Metafeature) or not attributes:
        raise BadInput("feature", "must be a metafeature, followed by attributes", "pass for instance of(peak, 'class')")
    return MetafeatureQuestion(feature, attributes)


def fact(function: Callable[[Any, Any, float], float]) -> Fact:
    """A public number that informs a choice, as a decorator: a function of the domain, the query and ε.

    >>> @fact
    ... def cells(db, query, epsilon):
    ...     return db.size
    >>> cells.name
    'cells'
    """
    return Fact(getattr(function, "__name__", "fact"), function)


def as_questions(informed_by: Any) -> tuple[ChoiceQuestion, ...]:
    """The entries of `informed_by` as questions, checked.

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


def _as_question(one: Any, remedy: str) -> ChoiceQuestion:
    if isinstance(one, Metafeature):
        return MetafeatureQuestion(one)
    if isinstance(one, (MetafeatureQuestion, Fact, Feature)):
        return one
    raise BadInput("informed_by", f"{type(one).__name__} is no metafeature", remedy)
