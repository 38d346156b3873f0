"""A release: private counts in, noisy answers with error bars out, and the charge in the ledger before either."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle import algorithms, plots, workloads
from jostle.algorithms import TASKS, Algorithm
from jostle.choice import default_algorithm
from jostle.choice.traces import Trace, collect_traces
from jostle.kernel.budget import Budget, round_down, round_up
from jostle.kernel.domain import counts
from jostle.kernel.errors import BadInput, JostleError, show
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.kernel.source import ReleaseSource
from jostle.schema.names import apart
from jostle.schema.rows import Rows
from jostle.simulate.margins import Run, simulated_errors, within_95
from jostle.workloads import Workload

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from pandas import DataFrame

    from jostle.kernel.events import Event
    from jostle.kernel.ledger import Account

LONGEST_NOTE = 500
"""The ledger adds what was measured, within the space that it has for both."""

FEW_BARS = 40
"""So many answers are drawn as bars, each under its name; more as a line."""

_KEYS_SHOWN = 4
"""So many events are named in a text; all of them are in the charges themselves."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """What was released, and everything public about it."""

    answers: Vector
    """The workload's noisy answers, one a query; those of a histogram over a grid are in row-major order."""

    estimate: Vector
    """The noisy data vector that the answers come from, in the domain's shape. Not rounded, and possibly negative."""

    workload: Workload
    """What was asked."""

    algorithm: Algorithm
    """What answered."""

    reason: str
    """Why it was taken."""

    neighbours: Neighbours
    """What one person may change without it being noticed."""

    spent: Fraction
    """The ε that this release was charged."""

    remaining: Fraction
    """The ε that the account has left after it."""

    tunables: dict[str, Any] = field(default_factory=dict)
    """The algorithm's own arguments, where they were not the default."""

    trace: Trace | None = None
    """How the algorithm was chosen privately, and what that cost, if it was (`Pythia`)."""

    about: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What each answer is about, in words: a list for each column that was asked about, as long as the answers."""

    charges: tuple[Event, ...] = ()
    """The events of the ledger that paid for it, each with its key; for a part of a table, that of the partition."""

    @cached_property
    def margins(self) -> Vector:
        """Half the width of a 95 % interval around each answer, simulated on the released numbers when first asked for.

        Right where the error does not depend on the data (Laplace, HB, OPT, …). For other algorithms it is an estimate, and
        may be somewhat too small where ε is small; it takes some seconds on thousands of cells. It costs no privacy. There
        are up to 200 runs; 50 of over 131,072 answers, or of an algorithm that cannot do many at once. For single cells that
        Bayes answers, errors of cells with similar estimates are pooled, so that as few as 20 runs are enough.
        """
        return within_95(*self._run)

    def simulated_errors(self, asked: Workload) -> Vector:
        """How far answers to any workload would be off, read from this release: a row a simulated run. Costs no privacy."""
        return np.concatenate(list(simulated_errors(asked, *self._run)))

    @property
    def _run(self) -> Run:
        return self.algorithm, self.estimate, self.workload, self.spent, self.neighbours, self.tunables

    def explain(self) -> str:
        """The release in words: what answered, why, how far off it may be, and what is left."""
        queries, cells = self.workload.shape
        plural = "query" if queries == 1 else "queries"
        name = self.algorithm.name
        by = name if self.trace is None else f"{self.trace.choice}, which {name} chose ({'; '.join(self.trace.path)})"
        return (
            f"{queries} {self.workload.kind} {plural} over {cells} cell{'' if cells == 1 else 's'} "
            f"by {by}, at ε = {round_up(self.spent):g} "
            f"({self.neighbours} neighbours), {self.reason}. "
            f"Typically off by ±{np.median(self.margins):.3g} at 95 %. ε = {round_down(self.remaining) + 0.0:g} is left."
        )

    def rows(self) -> Rows:
        """What each answer is about, the answer, and the ends of its 95 % interval, one row per answer."""
        low, high = self.answers - self.margins, self.answers + self.margins
        return labelled(self.labels, {"count": self.answers, "low": low, "high": high})

    def to_pandas(self) -> DataFrame:
        """The rows as a frame of pandas."""
        return self.rows().to_pandas()

    @property
    def labels(self) -> Mapping[str, Sequence[str]]:
        """What each answer is about; its number where nothing is said."""
        return self.about or {"query": [str(number) for number in range(len(self.answers))]}

    def to_csv(self, path: str | Path) -> None:
        """Write what `to_pandas` gives to a file."""
        self.to_pandas().to_csv(path, index=False)

    def plot(self) -> go.Figure:
        """The answers with their 95 % intervals: bars, a line, or a map where every cell of a grid was asked for."""
        title = f"{self.algorithm.name} at ε = {round_up(self.spent):g}"
        names, words = list(self.about), list(self.about.values())
        if self.workload.kind == "identity" and len(self.workload.domain) == 2:
            sides = [list(dict.fromkeys(column)) for column in words] if len(words) == 2 else None
            down, right = names if len(names) == 2 else ("", "")
            return plots.heat(self.estimate, title=title, x=right, y=down, labels=sides)
        labels = [" – ".join(one) for one in zip(*words, strict=True)] if words else list(map(str, range(len(self.answers))))
        draw = plots.bars if len(self.answers) <= FEW_BARS else plots.line
        return draw(self.answers, self.margins, labels=labels, title=title, x=", ".join(names))

    def _repr_html_(self) -> str:
        """For notebooks: what it is in words, and the first answers."""
        return plots.in_words(f"{self.explain()}\n{in_ledger(self.charges)}", self.to_pandas())

    def __repr__(self) -> str:
        return f"<Release of {self.workload!r} by {self.algorithm.name}, at ε = {round_up(self.spent):g}>"


def release(
    x: Any,
    workload: Workload | None = None,
    *,
    epsilon: Any = None,
    within: float | None = None,
    confidence: float = 0.95,
    account: Account,
    algorithm: str | Algorithm | None = None,
    note: str = "",
    filtered: bool = False,
    **tunables: Any,
) -> Release:
    """Answer a workload on private counts, and charge ε to an account of a ledger.

    Without a workload, every cell is asked for. Without an algorithm, Pythia picks one for cells and ranges, privately and
    within ε, and says why in the release's trace; few or other queries are measured nearly as they are (OPT). Everything is
    checked before anything is charged. The answers are ε-differentially private under the account's neighbours; the noise is
    exact and cannot be seeded.

    Under `replace`, count all records: where a condition or a histogram's range left some out, their number is private. Say
    `filtered=True` then, or use an account under `add_remove`.

    In place of `epsilon`, `within` says how far off an answer may be, with `confidence`: the least ε that keeps this promise
    on any data is then taken, and an algorithm whose error is the same on all of them. `epsilon_for` shows it beforehand.

    >>> import jostle, tempfile
    >>> ledger = jostle.Ledger(tempfile.mkdtemp() + "/budget.db")
    >>> people = ledger.account("people", cap=1)
    >>> ages = release([12, 40, 31, 8], epsilon=0.5, account=people, algorithm="Laplace")
    >>> len(ages.answers), ages.spent, people.remaining
    (4, Fraction(1, 2), Fraction(1, 2))
    """
    vector, domain = counts(x)
    if not hasattr(account, "purse"):
        raise BadInput("account", "must be an account of a ledger", "pass for instance ledger.account('people', cap=1)")
    if workload is not None and not isinstance(workload, Workload):
        raise BadInput("workload", "must be a workload", "pass for instance jostle.workloads.prefix(100)")
    asked = workloads.identity(domain) if workload is None else workload
    asked.check(domain)
    if len(domain) > max(TASKS.values()):
        raise BadInput(
            "x", f"has {len(domain)} dimensions", f"releases are of at most {max(TASKS.values())}: add some axes up"
        )
    if "seed" in tunables:
        raise BadInput("seed", "a release cannot be seeded", "leave it out, or simulate on public data with jostle.simulate")
    if not isinstance(filtered, (bool, np.bool_)):
        raise BadInput("filtered", "must be True or False", "pass True where some records were not counted")
    promised = None
    if within is not None:
        if epsilon is not None:
            raise BadInput("within", "says how close answers must be, and epsilon what they cost", "pass one of them")
        from jostle.choice.epsilon import epsilon_for  # few releases say how close, and all mechanisms come with it

        relation = account.neighbours.among_filtered() if filtered else account.neighbours
        promised = epsilon_for(asked, within, confidence, algorithm, relation)
        epsilon, algorithm = promised.epsilon, promised.algorithm
    plan, why = planned(asked, algorithm, tunables)
    if not isinstance(note, str) or len(note) > LONGEST_NOTE:
        raise BadInput("note", f"must be a text of at most {LONGEST_NOTE} characters", "say it in fewer words")
    said = f"{plan.name}: {note}" if note else plan.name
    source = ReleaseSource(vector, purse=account.purse(), shape=domain, note=said, filtered=bool(filtered))
    budget = source.grant(epsilon)
    why = why if promised is None else f"because {promised}"
    return answered(source, budget, asked, plan, why, remaining=lambda: account.remaining, tunables=tunables)


def planned(asked: Workload, algorithm: str | Algorithm | None, tunables: dict[str, Any]) -> tuple[Algorithm, str]:
    """Which algorithm answers, and why: the one that was named, Pythia, or one by a public rule; checked."""
    usual, why = default_algorithm.for_workload(asked)
    if usual in default_algorithm.FOR_RANGES:
        usual, why = "Pythia", "because the choice was left to it"
    plan = algorithms.get(usual if algorithm is None else algorithm)
    plan.check(asked, tunables)
    return plan, why if algorithm is None else "as you asked"


def answered(
    source: ReleaseSource,
    budget: Budget,
    asked: Workload,
    plan: Algorithm,
    why: str,
    *,
    remaining: Callable[[], Fraction],
    tunables: dict[str, Any],
    about: Mapping[str, Sequence[str]] | None = None,
    of_part: bool = False,
) -> Release:
    """Run a plan on a source that is charged for it, and keep everything public about it.

    All questions to a part of a table share its purse, so what is spent of that meanwhile may be another's.
    """
    left, before = what_is_left(remaining), source.unspent
    with collect_traces() as traces:
        estimate = plan.run(source, asked, budget, **tunables)
    spent = budget.epsilon if of_part else before - source.unspent
    return Release(
        answers=asked @ estimate,
        estimate=estimate.reshape(asked.domain),
        workload=asked,
        algorithm=plan,
        reason=why,
        neighbours=source.neighbours,
        spent=spent,
        remaining=left(spent),
        tunables=tunables,
        trace=traces[-1] if traces else None,
        about=about or {},
        charges=budget.charges,
    )


def labelled(about: Mapping[str, Sequence[str]], numbers: Mapping[str, Any]) -> Rows:
    """What numbers are about, and the numbers; a column that has the name of one of them is called `… (column)`.

    >>> list(labelled({"low": ["yes", "no"]}, {"count": [3.0, 4.0], "low": [1.0, 2.0], "high": [5.0, 6.0]}).columns)
    ['low (column)', 'count', 'low', 'high']
    """
    return Rows({**dict(zip(apart(about, numbers), about.values(), strict=True)), **numbers})


def what_is_left(remaining: Callable[[], Fraction]) -> Callable[[Fraction], Fraction]:
    """What tells how much is left after some ε is spent; made before that, so that what was paid for is never lost.

    A ledger that cannot be read any more once the noise is drawn has told by then what it had.

    >>> from jostle.kernel.errors import LedgerError
    >>> told = iter([Fraction(1)])
    >>> def remaining():
    ...     for amount in told:
    ...         return amount
    ...     raise LedgerError("the disk is gone")
    >>> what_is_left(remaining)(Fraction(1, 4))
    Fraction(3, 4)
    """
    before = remaining()

    def after(spent: Fraction) -> Fraction:
        try:
            return remaining()
        except JostleError:
            return max(before - spent, Fraction(0))

    return after


def in_ledger(charges: Sequence[Event]) -> str:
    """Which account was charged, how much, when and by which events, in words; empty where nothing was.

    Privacy: the time is that of the first event, before any row was looked at. How long a release took may tell of the data,
    so the times of later events stay in the ledger.

    >>> from jostle.kernel.events import Event
    >>> at = {"at": "2024-02-29T12:00:00.000000+00:00", "dataset": "people", "neighbours": "add_remove"}
    >>> in_ledger([Event(key="1b9d", kind="charge", operator="laplace", amount=Fraction(1, 2), **at)])
    "Charged to account 'people': ε = 0.5 at 2024-02-29 12:00:00 UTC, event 1b9d."
    """
    if not charges:
        return ""
    keys = ", ".join(event.key for event in charges[:_KEYS_SHOWN])
    more = f" and {len(charges) - _KEYS_SHOWN:,} more" if len(charges) > _KEYS_SHOWN else ""
    events = "event" if len(charges) == 1 else f"{len(charges):,} events"
    at = charges[0].at.replace("T", " ")[:19]
    return f"Charged to account {charges[0].dataset!r}: ε = {show(_paid(charges))} at {at} UTC, {events} {keys}{more}."


def charge_facts(charges: Sequence[Event]) -> dict[str, Any] | None:
    """The same for a script: exact amounts as texts, with a float that errs on the side of more; None where nothing was."""
    if not charges:
        return None
    return {
        "account": charges[0].dataset,
        "at": f"{charges[0].at[:19]}+00:00",
        "amount": str(_paid(charges)),
        "amount_float": round_up(_paid(charges)),
        "events": [{"key": event.key, "operator": event.operator, "amount": str(event.amount)} for event in charges],
    }


def _paid(charges: Sequence[Event]) -> Fraction:
    return sum((event.amount for event in charges), Fraction(0))
