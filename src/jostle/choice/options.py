"""Options: private programs that answer a query, among which a choice is made, as functions or as classes.

>>> from jostle.kernel.strategies import identity
>>> @option
... def noisy_counts(db, query, budget):
...     return query @ db.measure(identity(db.shape), budget)
>>> class Zeros(Option):
...     "Spends nothing."
...     def answer(self, db, query, budget):
...         return [0.0] * query.shape[0]
...     def predict(self, F):
...         return -F.scale
>>> [one.name for one in as_options([noisy_counts, Zeros])]
['noisy_counts', 'Zeros']

Privacy: an option sees a source and one token. Whatever it does, it does through the source's operators, each of which
charges a part of that token; so it is private by construction, and nothing has to be proven about it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from inspect import isclass, signature
from typing import Any

import numpy as np

from jostle import algorithms
from jostle.choice.spend_only import spend_only
from jostle.kernel.budget import SYMBOLS, Budget, Price
from jostle.kernel.errors import BadInput, BudgetError, JostleError, PlanError, show
from jostle.workloads import Workload

MOST_OPTIONS = 200


class OptionFailed(PlanError):
    """An option gave no answer that can be released. Its whole budget is charged, whatever it did with it."""


class Option(ABC):
    """A program that answers a query on a private database, and perhaps predicts its own performance.

    Subclass it, or decorate a function with `option`. Its name is `name`, or else the name of the class.
    """

    name: str = ""
    """What traces call it."""

    version: int = 1
    """Raise it when its answers change."""

    @abstractmethod
    def answer(self, db: Any, query: Any, budget: Budget) -> Any:
        """The answer, by the operators of the source `db`, paid for with the token `budget` or its parts."""

    predict: Callable[[Any], float] | None = None
    """A method `predict(self, F)`, if given: from metafeatures (F.sparsity, …) to expected performance; more is better."""

    def __init_subclass__(cls) -> None:
        cls.name = cls.__dict__.get("name", "") or cls.__name__

    def check(self, db: Any, query: Any) -> None:
        """Raise, before anything is charged, if it cannot answer the query. It may decide only by public facts."""

    def __repr__(self) -> str:
        return f"<option {self.name}>"


class _FromFunction(Option):
    def __init__(self, function: Callable[..., Any], name: str, predict: Callable[[Any], float] | None) -> None:
        self._function, self.name, self.__doc__ = function, name, function.__doc__
        if predict is not None:
            self.predict = predict

    def answer(self, db: Any, query: Any, budget: Budget) -> Any:
        return self._function(db, query, budget)

    def predicts(self, predict: Callable[[Any], float]) -> Callable[[Any], float]:
        """Decorator for the function that predicts how well this option does."""
        self.predict = predict
        return predict

    def __call__(self, db: Any, query: Any, budget: Budget) -> Any:
        return self._function(db, query, budget)


def option(
    function: Callable[..., Any] | None = None, *, name: str = "", predict: Callable[[Any], float] | None = None
) -> Any:
    """Make a function of a database, a query and a budget an option; as a decorator, with or without arguments.

    >>> @option(name="nothing", predict=lambda F: 0.0)
    ... def f(db, query, budget):
    ...     return 0.0
    >>> f
    <option nothing>
    >>> option(lambda db: 0.0)
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: option: <lambda> must take a database, a query and a budget. Remedy: write it as
    `def f(db, query, budget)`.
    """
    if function is None:
        return lambda decorated: option(decorated, name=name, predict=predict)
    if not callable(function):
        raise BadInput("option", "must be a function or a class with `answer`", "write it as `def f(db, query, budget)`")
    called = name or getattr(function, "__name__", type(function).__name__)
    try:
        signature(function).bind(None, None, None)
    except (TypeError, ValueError):
        problem = f"{called} must take a database, a query and a budget"
        raise BadInput("option", problem, "write it as `def f(db, query, budget)`") from None
    return _FromFunction(function, called, predict)


class AlgorithmOption(Option):
    """A registered algorithm for histograms as an option: its answers to a workload.

    >>> AlgorithmOption("HB").name
    'HB'
    """

    def __init__(self, name: str, **tunables: Any) -> None:
        self._algorithm, self._tunables = algorithms.get(name), tunables
        self.name, self.version = self._algorithm.name, self._algorithm.version

    def check(self, db: Any, query: Any) -> None:
        if not isinstance(query, Workload):
            raise BadInput("query", f"{self.name} answers workloads", "pass for instance jostle.workloads.prefix(100)")
        query.check(db.shape)
        self._algorithm.check(query, self._tunables)

    def answer(self, db: Any, query: Any, budget: Budget) -> Any:
        return query @ self._algorithm.run(db, query, budget, **self._tunables)


def as_options(options: Any) -> tuple[Option, ...]:
    """Options from instances, classes, functions and names of registered algorithms, checked.

    >>> as_options([])
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: options: is empty. Remedy: pass at least two, such as functions decorated
    with @option.
    """
    remedy = "pass at least two, such as functions decorated with @option"
    if isinstance(options, (str, bytes)) or not isinstance(options, (Sequence, set, frozenset)):
        raise BadInput("options", "must be a list of options", remedy)
    found = [_as_option(one) for one in (options if isinstance(options, Sequence) else sorted(options, key=str))]
    if not found:
        raise BadInput("options", "is empty", remedy)
    if len(found) > MOST_OPTIONS:
        raise BadInput("options", f"are more than {MOST_OPTIONS}", "leave out those that never win")
    names = [one.name for one in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise BadInput("options", f"two are called {twice[0]}", "name each once, with @option(name=…)")
    return tuple(found)


def _as_option(one: Any) -> Option:
    if isinstance(one, Option):
        return one
    if isclass(one) and issubclass(one, Option):
        return one()
    if isinstance(one, (str, algorithms.Algorithm)):
        return AlgorithmOption(one if isinstance(one, str) else one.name)
    if isclass(one):
        problem = f"{one.__name__} is a class without the base class Option"
        raise BadInput("options", problem, "write it as `class …(Option)`, with `answer`")
    made = option(one)
    if not isinstance(made, Option):
        raise BadInput("options", "must be options", "decorate each function with @option")
    return made


def answered(one: Option, db: Any, query: Any, budget: Budget) -> Any:
    """The option's answer on a source; if it fails, its budget is charged and nothing is released.

    The message names the option and the type of the error, but not the option's own message, which might be private. In
    training, on public data, `Outcomes.failed` has it.
    """
    before, amount = db.unspent, budget.amount
    try:
        return checked(one.answer(spend_only(db), query, budget), query)
    except UnfitAnswer as wrong:
        problem = str(wrong)
    except Exception as error:  # noqa: BLE001  # whatever the option raised, its budget is charged
        problem = f"it raised {type(error).__name__}"
    left = _forfeit(db, budget, amount - (before - db.unspent), one.name)
    paid = f"{show(amount - left)} of {show(amount)} is spent" if left else f"{show(amount)} is charged"
    paid = f"{SYMBOLS[budget.measure]} = {paid}"
    raise OptionFailed(f"the option {one.name} failed: {problem}. {paid}, and nothing is released") from None


class UnfitAnswer(JostleError):
    """The answer of an option cannot be released."""


def checked(answer: Any, query: Any) -> Any:
    """The answer, if its numbers are finite and, for a workload, there is one per query; other kinds of answers pass."""
    if answer is None:
        raise UnfitAnswer("it returned nothing")
    if isinstance(query, Workload):
        try:
            numbers = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise UnfitAnswer("it returned no numbers") from None
        if numbers.shape != query.shape[:1]:
            raise UnfitAnswer(f"it returned numbers of shape {numbers.shape}, not {query.shape[:1]}")
        answer = numbers
    real = answer.dtype.kind in "fc" if isinstance(answer, (np.ndarray, np.generic)) else isinstance(answer, float)
    if real and not np.isfinite(answer).all():  # texts, objects and whole numbers of any size have nothing to test
        raise UnfitAnswer("it returned numbers that are not finite")
    return answer


def _forfeit(db: Any, budget: Budget, left: Fraction, name: str) -> Fraction:
    """Charge what a failed option had left, else trying again until it works would be free; return what cannot be charged.

    The token itself is charged if it was not used, else another one for the rest. None is granted in a part of a split,
    which was charged as a whole when it was split, nor in a choice within another option, which fails with it.
    """
    for token in (lambda: budget, lambda: db.grant(Price(left, budget.measure))):
        try:
            token().draw(operator="forfeit", note=f"{name} failed")
        except (PlanError, BudgetError):
            if left <= 0:
                break
        else:
            return Fraction(0)
    return max(left, Fraction(0))
