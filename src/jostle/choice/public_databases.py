"""PublicDatabase databases to train on, of any kind that has a loss, and what every option costs on each of them.

Privacy: nothing here is private. Training takes plain numbers and records in memory, never a source, a table or a release.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.choice.measurements import ChoiceQuestion, LazyMeasurements
from jostle.choice.options import Option, UnfitAnswer, checked
from jostle.choice.questions import trainable
from jostle.choice.spend_only import spend_only
from jostle.kernel.arguments import counts
from jostle.kernel.budget import exact
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.kernel.source import SimulatedSource
from jostle.workloads import Workload

if TYPE_CHECKING:
    from jostle.choice.decision_rules import DecisionRule

Loss = Callable[[Any, Any, Any], float]
"""From an answer, the public data (or `PublicDatabase.truth`) and the query to a number of at least 0; less is better."""

_REMEDY = "pass public counts, as arrays, or records as ArrayColumns; wrap them as Public(data=…, query=…) for more"


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicDatabase:
    """A public database, a query on it, and the ε to answer it with."""

    data: Any
    """Counts over a domain, or records as `ArrayColumns`."""

    query: Any = None
    """None if the options need no query."""

    name: str = ""
    group: str = ""
    """Databases of one group, such as one data set at several scales, are held out together. Its own name, if empty."""

    truth: Any = None
    """What the loss compares with, if that is not the data, such as records to test with."""

    epsilon: Fraction = Fraction(1)
    """The budget that it stands for."""

    def source(self, seed: Any, neighbours: Neighbours) -> Any:
        if isinstance(self.data, ArrayColumns):
            return SimulatedRecords(self.data, seed=seed, neighbours=neighbours)
        return SimulatedSource(self.data, seed=seed, neighbours=neighbours)

    def cost(self, answer: Any, loss: Loss) -> float:
        """The loss of an answer."""
        return float(loss(answer, self.data if self.truth is None else self.truth, self.query))


Public = PublicDatabase
"""Its short name, for programs."""


def public_databases(trained_on: Any, queries: Any, epsilons: Sequence[Any]) -> list[PublicDatabase]:
    """Public databases, one for each ε; refused if some may be private, or if they are not of one kind.

    >>> [one.name for one in public_databases({"flat": [3, 3], "steep": [0, 9]}, None, [1])]
    ['flat', 'steep']
    >>> public_databases([SimulatedSource([1, 2], seed=0)], None, [1])
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: trained_on: number 0 is of type SimulatedSource, which may be private. Remedy: pass public
    counts, as arrays, or records as ArrayColumns; wrap them as Public(data=…, query=…) for more.
    """
    if isinstance(trained_on, (str, bytes)) or not isinstance(trained_on, (Mapping, Sequence)) or not len(trained_on):
        raise BadInput("trained_on", "must be public databases, one at least", _REMEDY)
    named = trained_on.items() if isinstance(trained_on, Mapping) else ((f"number {i}", d) for i, d in enumerate(trained_on))
    found = [_public(str(name), one, queries) for name, one in named]
    kinds = {"records" if isinstance(one.data, ArrayColumns) else f"{np.ndim(one.data)}-dimensional counts" for one in found}
    if len(kinds) > 1:
        raise BadInput("trained_on", f"mixes {' and '.join(sorted(kinds))}", "make a choice maker for each kind of database")
    amounts = [exact(epsilon, "epsilon") for epsilon in epsilons]
    if not amounts or len(set(amounts)) < len(amounts):
        raise BadInput("epsilon", "must be one number, or different ones", "pass for instance epsilon=(0.1, 1)")
    return [replace(one, epsilon=amount) for amount in amounts for one in found]


def _public(name: str, one: Any, queries: Any) -> PublicDatabase:
    public = one if isinstance(one, PublicDatabase) else PublicDatabase(data=one)
    data = public.data
    # By what it is, not by what it can be turned into: many a private table would let itself be turned into an array.
    if type(data) not in (np.ndarray, list, tuple, ArrayColumns):
        raise BadInput("trained_on", f"{name} is of type {type(data).__name__}, which may be private", _REMEDY)
    if type(data) is not ArrayColumns:
        vector, shape = counts(data)
        data = vector.reshape(shape)
    query = public.query
    if query is None and queries is not None:
        sizes = tuple(data.sizes.values()) if isinstance(data, ArrayColumns) else data.shape
        query = queries if isinstance(queries, Workload) or not callable(queries) else queries(_domain(sizes))
    called = public.name or name
    return replace(public, data=data, query=query, name=called, group=public.group or called)


def _domain(shape: tuple[int, ...]) -> Any:
    return shape[0] if len(shape) == 1 else shape


def root_mean_square(answer: Any, data: Any, query: Any) -> float:
    """The default loss of a workload: the root mean square error of its answers.

    >>> from jostle import workloads
    >>> root_mean_square([3.0, 5.0], [3, 4], workloads.identity(2)) ** 2
    0.5...
    """
    if not isinstance(query, Workload):
        raise BadInput("loss", "is needed where the query is no workload", "pass loss=lambda answer, data, query: …")
    return float(np.sqrt(np.mean((np.asarray(answer) - query @ np.asarray(data)) ** 2)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcomes:
    """What every option costs on every public database."""

    databases: list[PublicDatabase]
    options: tuple[str, ...]
    """Those that answered everywhere."""

    questions: tuple[str, ...]
    losses: Vector
    """Mean losses: databases × options."""

    features: Vector
    """As a choice would see them, each copy with fresh noise: copies × databases × questions."""

    paid: tuple[bool, ...]
    """Whether each question has to be paid for."""

    failed: dict[str, str] = field(default_factory=dict)
    """Options that were left out, and why."""

    @cached_property
    def regrets(self) -> Vector:
        """Each loss over the least of the same database."""
        tiny = 1e-9 * max(float(self.losses.max(initial=0.0)), 1e-300)
        return np.asarray((self.losses + tiny) / (self.losses.min(axis=1, keepdims=True) + tiny))

    def regret_of(self, rule: DecisionRule, row: int, answers: Vector) -> float:
        """The regret of a rule's choice on a database, given the answers to all questions."""
        seen = dict(zip(self.questions, map(float, answers), strict=True))
        return float(self.regrets[row, self.options.index(rule.decide(seen.__getitem__).choice)])

    @property
    def groups(self) -> list[str]:
        return [one.group for one in self.databases]

    def where(self, chosen: Any) -> Outcomes:
        """The outcomes on some databases: a truth value for each."""
        rows = np.asarray(chosen, dtype=bool)
        kept = [one for one, keep in zip(self.databases, rows, strict=True) if keep]
        return replace(self, databases=kept, losses=self.losses[rows], features=self.features[:, rows])

    def to_pandas(self) -> Any:
        """One row per database: its name, group and ε, the loss of every option, and the mean of every feature."""
        import pandas as pd

        from jostle.schema.rows import distinct_names

        about: dict[str, Any] = {"database": [d.name for d in self.databases], "group": self.groups}
        about["epsilon"] = [float(d.epsilon) for d in self.databases]
        losses = {f"loss of {name}": self.losses[:, at] for at, name in enumerate(self.options)}
        columns = distinct_names(self.questions, ["database", "group", *losses])  # ε may be a question
        features = {name: self.features[..., at].mean(axis=0) for at, name in enumerate(columns)}
        return pd.DataFrame(about | losses | features)


def outcomes(
    databases: Sequence[PublicDatabase],
    options: Sequence[Option],
    questions: Sequence[ChoiceQuestion],
    loss: Loss,
    *,
    rho: Fraction,
    trials: int,
    copies: int,
    seed: int,
    neighbours: Neighbours,
) -> Outcomes:
    """Run every option on every database, and ask every question with the noise that it will have."""
    features, paid = noisy_answers(databases, questions, rho=rho, copies=copies, seed=seed, neighbours=neighbours)
    losses, failed = np.full((len(databases), len(options)), np.nan), dict[str, str]()
    for column, option in enumerate(options):
        try:
            for row, one in enumerate(databases):
                losses[row, column] = _cost(option, one, loss, trials, [seed, row], neighbours)
        except Exception as error:  # noqa: BLE001  # an option may raise anything; the data are public, and so is the message
            reason = str(error) if isinstance(error, UnfitAnswer) else f"it raised {type(error).__name__}: {error}"
            failed[option.name] = f"on {one.name} {reason}"
    kept = [column for column, option in enumerate(options) if option.name not in failed]
    if not kept:
        stories = "; ".join(f"{name}: {story}" for name, story in failed.items())
        raise BadInput("options", f"all failed on public data ({stories})", "repair at least one")
    return Outcomes(
        databases=list(databases),
        options=tuple(options[column].name for column in kept),
        questions=tuple(question.name for question in questions),
        losses=losses[:, kept],
        features=features,
        paid=paid,
        failed=failed,
    )


def noisy_answers(
    databases: Sequence[PublicDatabase],
    questions: Sequence[ChoiceQuestion],
    *,
    rho: Fraction,
    copies: int,
    seed: int,
    neighbours: Neighbours,
) -> tuple[Vector, tuple[bool, ...]]:
    """The answers to questions on public databases, as noisy as they will be, and which have to be paid for."""
    features, questions = np.empty((copies, len(databases), len(questions))), [trainable(one) for one in questions]
    for row, one in enumerate(databases):
        source = one.source(np.random.SeedSequence([seed, row, 1]), neighbours)
        for copy in range(copies):
            ask = LazyMeasurements(questions, spend_only(source), one.query, source.grant(one.epsilon), rho)
            features[copy, row] = [ask(question.name) for question in questions]
    return features, tuple(ask.seen[question.name].epsilon > 0 for question in questions)


def _cost(option: Option, one: PublicDatabase, loss: Loss, trials: int, seed: list[int], neighbours: Neighbours) -> float:
    """The mean loss of an option on a database, with the whole budget."""
    costs = []
    for trial in range(trials):
        entropy = np.random.SeedSequence([*seed, zlib.crc32(option.name.encode()), trial])
        source = one.source(entropy, neighbours)
        option.check(source, one.query)
        answer = checked(option.answer(spend_only(source), one.query, source.grant(one.epsilon)), one.query)
        cost = one.cost(answer, loss)
        if not np.isfinite(cost) or cost < 0:
            raise BadInput("loss", f"gave {cost} for {option.name}", "let it give a number of at least 0")
        costs.append(cost)
    return float(np.mean(costs))
