"""Public databases to train on, of any kind that has a loss, and what every option costs on each of them.

Privacy: nothing here is private. Training takes plain numbers and records in memory, never a source, a table or a release.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from jostle.choice.options import Option, Wrong, checked
from jostle.choice.questions import Question, private
from jostle.choice.spend_only import handed
from jostle.kernel.budget import exact
from jostle.kernel.columns import ArrayColumns
from jostle.kernel.domain import counts
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.kernel.records import SimulatedRecords
from jostle.kernel.source import SimulatedSource
from jostle.workloads import Workload

Loss = Callable[[Any, Any, Any], float]
"""From an answer, the public data (or `Public.truth`) and the query to a number of at least 0: the less the better."""

_REMEDY = "pass public counts, as arrays, or records as ArrayColumns; wrap them as Public(data=…, query=…) for more"


@dataclass(frozen=True, kw_only=True, eq=False)
class Public:
    """A public database, what is asked of it, and with how much ε."""

    data: Any
    """Counts over a domain, or records as `ArrayColumns`."""

    query: Any = None
    """What is asked; None if the options need nothing to be asked."""

    name: str = ""
    """What it is called."""

    group: str = ""
    """Databases of one group are alike (one data set at several scales): they are held out together. Itself, if empty."""

    truth: Any = None
    """What the loss compares with, if that is not the data: records to test with, for one."""

    epsilon: Fraction = Fraction(1)
    """The budget that it stands for."""

    def source(self, seed: Any, neighbours: Neighbours) -> Any:
        """A simulation over it."""
        if isinstance(self.data, ArrayColumns):
            return SimulatedRecords(self.data, seed=seed, neighbours=neighbours)
        return SimulatedSource(self.data, seed=seed, neighbours=neighbours)


def public_databases(trained_on: Any, queries: Any, epsilons: Sequence[Any]) -> list[Public]:
    """The databases that are meant, one for each ε; refused if some may be private or they are not of one kind.

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


def _public(name: str, one: Any, queries: Any) -> Public:
    public = one if isinstance(one, Public) else Public(data=one)
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
    """The usual loss of a workload: how far its answers are off, as the root of the mean square.

    >>> from jostle import workloads
    >>> root_mean_square([3.0, 5.0], [3, 4], workloads.identity(2)) ** 2
    0.5...
    """
    if not isinstance(query, Workload):
        raise BadInput("loss", "is needed where no workload is asked", "pass loss=lambda answer, data, query: …")
    return float(np.sqrt(np.mean((np.asarray(answer) - query @ np.asarray(data)) ** 2)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcomes:
    """What every option cost on every public database."""

    databases: list[Public]
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

    @property
    def regrets(self) -> Vector:
        """Each loss over the least of the same database."""
        tiny = 1e-9 * max(float(self.losses.max(initial=0.0)), 1e-300)
        return np.asarray((self.losses + tiny) / (self.losses.min(axis=1, keepdims=True) + tiny))

    @property
    def groups(self) -> list[str]:
        """Of each database."""
        return [one.group for one in self.databases]

    def where(self, chosen: Any) -> Outcomes:
        """Those of some databases: a truth value for each."""
        rows = np.asarray(chosen, dtype=bool)
        kept = [one for one, keep in zip(self.databases, rows, strict=True) if keep]
        return replace(self, databases=kept, losses=self.losses[rows], features=self.features[:, rows])

    def to_pandas(self) -> Any:
        """One row a database: its name, group and ε, the loss of every option, and the mean of every feature."""
        import pandas as pd

        from jostle.schema.rows import distinct_names

        about: dict[str, Any] = {"database": [d.name for d in self.databases], "group": self.groups}
        about["epsilon"] = [float(d.epsilon) for d in self.databases]
        losses = {f"loss of {name}": self.losses[:, at] for at, name in enumerate(self.options)}
        columns = distinct_names(self.questions, ["database", "group", *losses])  # ε may be asked for: it is the same number
        features = {name: self.features[..., at].mean(axis=0) for at, name in enumerate(columns)}
        return pd.DataFrame(about | losses | features)


def outcomes(
    databases: Sequence[Public],
    options: Sequence[Option],
    questions: Sequence[Question],
    loss: Loss,
    *,
    rho: Fraction,
    trials: int,
    copies: int,
    seed: int,
    neighbours: Neighbours,
) -> Outcomes:
    """Run every option on every database, and ask every question with the noise that it will have."""
    features, paid = asked_of(databases, questions, rho=rho, copies=copies, seed=seed, neighbours=neighbours)
    losses, failed = np.full((len(databases), len(options)), np.nan), dict[str, str]()
    for column, option in enumerate(options):
        try:
            for row, one in enumerate(databases):
                losses[row, column] = _cost(option, one, loss, trials, [seed, row], neighbours)
        except Exception as error:  # noqa: BLE001  # an option may raise anything; the data are public, so the message is
            told = str(error) if isinstance(error, Wrong) else f"it raised {type(error).__name__}: {error}"
            failed[option.name] = f"on {one.name} {told}"
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


def asked_of(
    databases: Sequence[Public],
    questions: Sequence[Question],
    *,
    rho: Fraction,
    copies: int,
    seed: int,
    neighbours: Neighbours,
) -> tuple[Vector, tuple[bool, ...]]:
    """What the questions give on public databases, with the noise that they will have, and which have to be paid for."""
    first = databases[0]
    paid = private(questions, first.source(0, neighbours), first.query, first.epsilon)
    share = rho / max(len(paid), 1)
    for one in databases:
        _check(one, questions, neighbours, share)
    seen = [_asked(one, questions, paid, share, copies, [seed, at], neighbours) for at, one in enumerate(databases)]
    features = np.reshape(seen, (len(databases), copies, len(questions))).transpose(1, 0, 2)
    return np.asarray(features, dtype=np.float64), tuple(question.name in paid for question in questions)


def _check(one: Public, questions: Sequence[Question], neighbours: Neighbours, share: Fraction) -> None:
    source = handed(one.source(0, neighbours))
    for question in questions:
        question.check(source, one.query, one.epsilon, one.epsilon * share)


def _asked(
    one: Public,
    questions: Sequence[Question],
    paid: Sequence[str],
    share: Fraction,
    copies: int,
    seed: list[int],
    neighbours: Neighbours,
) -> list[list[float]]:
    source = one.source(np.random.SeedSequence([*seed, 1]), neighbours)
    return [[_value(question, source, one, paid, share) for question in questions] for _ in range(copies)]


def _value(question: Question, source: Any, one: Public, paid: Sequence[str], share: Fraction) -> float:
    if question.name not in paid:
        known = question.known(source, one.query, one.epsilon)
        return 0.0 if known is None else known
    return question.measure(source, one.query, one.epsilon, source.grant(one.epsilon * share))


def _cost(option: Option, one: Public, loss: Loss, trials: int, seed: list[int], neighbours: Neighbours) -> float:
    """The mean loss of an option on a database, with the whole budget."""
    costs = []
    for trial in range(trials):
        entropy = np.random.SeedSequence([*seed, zlib.crc32(option.name.encode()), trial])
        source = one.source(entropy, neighbours)
        option.check(source, one.query)
        answer = checked(option.answer(handed(source), one.query, source.grant(one.epsilon)), one.query)
        cost = float(loss(answer, one.data if one.truth is None else one.truth, one.query))
        if not np.isfinite(cost) or cost < 0:
            raise BadInput("loss", f"gave {cost} for {option.name}", "let it give a number of at least 0")
        costs.append(cost)
    return float(np.mean(costs))
