"""A release: private counts in, noisy answers with error bars out, and the charge in the ledger before either."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle import algorithms, plots, workloads
from jostle.algorithms import TASKS, Algorithm
from jostle.answers.answer import Answer, IntervalKind, labelled, paid_with, typical_error
from jostle.choice import default_algorithm
from jostle.choice.traces import Trace, collect_traces
from jostle.kernel.arguments import counts
from jostle.kernel.budget import CONCENTRATED, PURE, Budget, Price
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.kernel.source import ReleaseSource
from jostle.schema.rows import Rows, short
from jostle.simulate.margins import Run, exact_margins, simulated_errors, together_95, within_95
from jostle.workloads import Workload

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from jostle.kernel.ledger import Account

LONGEST_NOTE = 500
"""The ledger adds what was measured, and has space for both."""

_KINDS = {"identity": "count", "prefix": "cumulative count", "ranges": "range", "rectangles": "rectangle"}
"""What the answers of a workload are called."""

MOST_ENTRIES = 4_000_000
"""Of queries over three and more axes, written out as a matrix."""

FEW_BARS = 40
"""Up to this many answers are drawn as bars, each under its name; more as a line."""


@dataclass(frozen=True, kw_only=True)
class Release(Answer):
    """What was released, and everything public about it."""

    answers: Vector
    """The workload's noisy answers, one per query; those of a histogram over a grid are in row-major order."""

    estimate: Vector
    """The noisy data vector that the answers come from, in the domain's shape. Not rounded, and possibly negative."""

    workload: Workload
    """The queries."""

    algorithm: Algorithm
    """The algorithm that answered them."""

    reason: str
    """Why it was chosen."""

    tunables: dict[str, Any] = field(default_factory=dict)
    """The algorithm's own arguments, where they were not the default."""

    trace: Trace | None = None
    """How the algorithm was chosen privately, and what that cost, if it was (`Pythia`)."""

    about: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The labels of the answers: per column, a list as long as the answers."""

    noise: str = ""
    """Which noise, and why, where the account would have paid for another, too."""

    @cached_property
    def margins(self) -> Vector:
        """Half the width of a 95 % interval around each answer, worked out when first used. It costs no privacy.

        Where the error does not depend on the data (Laplace, HB, OPT, …), it comes from the noise's law. For others it is
        simulated on the released numbers, and widened as public data require: `interval_kind` says which.
        """
        return within_95(*self._run)

    @property
    def interval_kind(self) -> IntervalKind:
        return "calibrated" if exact_margins(self.workload, *self._run) is None else "exact"

    @cached_property
    def margins_together(self) -> Vector:
        """The same for intervals that all hold at once, with 95 % confidence: each is as much wider as that takes.

        >>> import jostle, tempfile
        >>> people = jostle.Ledger(tempfile.mkdtemp() + "/budget.db").account("people", cap=1)
        >>> cells = release([12, 40, 31, 8], epsilon=1, account=people, algorithm="Laplace")
        >>> cells.margins.tolist(), bool((cells.margins_together > 3).all())
        ([3.0, 3.0, 3.0, 3.0], True)
        """
        return together_95(self.margins, *self._run)

    def simulated_errors(self, workload: Workload) -> Vector:
        """How far answers to any workload would be off, read from this release: one row per simulated run, at no cost."""
        return np.concatenate(list(simulated_errors(workload, *self._run)))

    @property
    def _run(self) -> Run:
        price = Price(self.spent, self.measure)
        return run_of(self.algorithm, self.estimate, self.workload, price, self.neighbours, self.tunables, self.trace)

    def _explained(self) -> str:
        """What was counted, how far off it may be, what answered, and what is left."""
        what, many = self._what_and_many
        typical = f"typically within ±{short(np.median(self.margins))} (95 %)"
        return f"{what}: {many} at {self._at}, {typical}. {self._chosen} {self._left}"

    @property
    def _what_and_many(self) -> tuple[str, str]:
        """What was counted, and how many answers of which kind there are."""
        by = " and ".join(name for name in self.about if name != "figure")
        noun = _KINDS.get(self.workload.kind, f"{self.workload.kind} query")
        many = noun if len(self.answers) == 1 else f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
        return f"Rows by {by}" if by else "Rows", f"{len(self.answers):,} {many}"

    @property
    def _chosen(self) -> str:
        """The algorithm, who chose it, and the noise where there was a choice."""
        chosen = f"Algorithm: {self.algorithm.name}, {self.reason}."
        if self.trace is not None:
            chosen = f"Algorithm: {self.trace.choice}, chosen by {self.algorithm.name}."
        return f"{chosen} {self.noise}" if self.noise else chosen

    @property
    def _title(self) -> str:
        return self._line(*self._what_and_many)

    @property
    def _method(self) -> tuple[str, ...]:
        return typical_error(self.margins), self._chosen, self._left

    def rows(self, *, together: bool = False) -> Rows:
        """One row per answer: its labels, the answer, and the ends of its 95 % interval.

        With `together`, all intervals hold at once with 95 % confidence. They are wider.
        """
        return self.rows_within(self.margins_together if together else self.margins)

    def rows_within(self, margins: Vector) -> Rows:
        """The same with intervals of these widths."""
        low, high = self.answers - margins, self.answers + margins
        return labelled(self.labels, {"count": _without_traces(self.answers), "low": low, "high": high})

    def rows_at_once(self) -> Rows:
        return labelled(self.labels, {"count": _without_traces(self.answers)})

    @property
    def labels(self) -> Mapping[str, Sequence[str]]:
        """The labels of the answers; their numbers where there are none."""
        return self.about or {"query": [str(number) for number in range(len(self.answers))]}

    def _drawn(self) -> go.Figure:
        """Bars, a line, or a map if the queries are all cells of a grid."""
        by = " and ".join(name for name in self.about if name != "figure")
        title = f"Rows by {by}" if by else f"{len(self.answers):,} counts"
        names, words = list(self.about), list(self.about.values())
        if self.workload.kind == "identity" and len(self.workload.domain) == 2:
            sides = [list(dict.fromkeys(column)) for column in words] if len(words) == 2 else None
            down, right = names if len(names) == 2 else ("", "")
            return plots.heat(self.estimate, title=title, x=right, y=down, labels=sides)
        labels = [" – ".join(one) for one in zip(*self.labels.values(), strict=True)]
        draw = plots.bars if len(self.answers) <= FEW_BARS else plots.line
        return draw(self.answers, self.margins, labels=labels, title=title, x=", ".join(names))

    def __repr__(self) -> str:
        return f"<Release of {self.workload!r} by {self.algorithm.name}, at {self._at}>"


def run_of(
    plan: Algorithm,
    estimate: Vector,
    workload: Workload,
    price: Price,
    neighbours: Neighbours,
    tunables: dict[str, Any],
    trace: Trace | None,
) -> Run:
    """What decides how far off a release is: of a choosing algorithm, the one that it chose, with what was left for it.

    The choice saw only noise that the chosen algorithm's estimate has no part in. So given the choice, the error has the law
    that it always has, unless the estimate was then projected on what the choice saw.
    """
    if trace is not None and plan.choosing and not trace.projection:
        plan, price, tunables = algorithms.get(trace.choice), Price(trace.remainder, price.measure), {}
    return plan, estimate, workload, price, neighbours, tunables


def _without_traces(counts: Vector) -> Vector:
    """Counts with 0 in place of what only rounding has left of it, such as 1e-18."""
    return np.where(np.abs(counts) < 1e-9, 0.0, counts)


def release(
    x: Any,
    workload: Workload | None = None,
    *,
    epsilon: Any = None,
    rho: Any = None,
    within: float | None = None,
    confidence: float = 0.95,
    account: Account,
    algorithm: str | Algorithm | None = None,
    note: str = "",
    filtered: bool = False,
    **tunables: Any,
) -> Release:
    """Answer a workload on private counts, and charge ε to an account of a ledger.

    Without a workload, every cell is counted. Without an algorithm, Pythia picks one for cells and ranges, privately and
    within ε, and says why in the release's trace; few or other queries are measured nearly as they are (OPT). Everything is
    checked before anything is charged. The answers are ε-differentially private under the account's neighbours; the noise is
    exact and cannot be seeded.

    Under `replace`, count all records: where a condition or a histogram's range left some out, their number is private. Say
    `filtered=True` then, or use an account under `add_remove`.

    In place of `epsilon`, `rho` pays in zero-concentrated differential privacy, with Gaussian noise. The account must be one
    of (ε, δ) or of ρ: `cap=jostle.Approximate(epsilon=1, delta=1e-6)`.

    In place of `epsilon`, `within` says how far off an answer may be, with `confidence`. jostle then takes the least ε (in
    an account of ρ, the least ρ) that keeps this promise on any data, and an algorithm whose error is the same on all data.
    `epsilon_for` shows it beforehand.

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
    workload = workloads.identity(domain) if workload is None else workload
    workload.check(domain)
    shape, domain, workload = domain, *_as_a_line(domain, workload)
    if "seed" in tunables:
        raise BadInput("seed", "a release cannot be seeded", "leave it out, or simulate on public data with jostle.simulate")
    if not isinstance(filtered, (bool, np.bool_)):
        raise BadInput("filtered", "must be True or False", "pass True where some records were not counted")
    promised = None
    tunables, rho = with_own_rho(tunables, rho, epsilon, within)
    if within is not None:
        if epsilon is not None:
            raise BadInput("within", "says how close answers must be, and epsilon what they cost", "pass one of them")
        from jostle.choice.epsilon import epsilon_for  # few releases say how close, and all mechanisms come with it

        relation = account.neighbours.among_filtered() if filtered else account.neighbours
        measure = CONCENTRATED if account.measure == CONCENTRATED else PURE
        promised = epsilon_for(workload, within, confidence, algorithm, relation, measure=measure)
        epsilon, algorithm = Price(promised.epsilon, promised.measure), promised.algorithm
    plan, why = plan_for(workload, algorithm, tunables)
    if not isinstance(note, str) or len(note) > LONGEST_NOTE:
        raise BadInput("note", f"must be a text of at most {LONGEST_NOTE} characters", "say it in fewer words")
    said = f"{plan.name}: {note}" if note else plan.name
    source = ReleaseSource(vector, purse=account.purse(), shape=domain, note=said, filtered=bool(filtered))
    budget = source.grant(epsilon, rho=rho)
    why = why if promised is None else f"because {promised}"
    found = answered(source, budget, workload, plan, why, remaining=lambda: account.remaining, tunables=tunables)
    return found if shape == domain else replace(found, estimate=found.estimate.reshape(shape))


def _as_a_line(domain: tuple[int, ...], workload: Workload) -> tuple[tuple[int, ...], Workload]:
    """The same cells and queries along one axis, in row-major order, if there are more axes than algorithms know.

    >>> _as_a_line((4, 3, 2), workloads.identity((4, 3, 2)))
    ((24,), <identity: 24 queries over 24>)
    """
    if len(domain) <= max(TASKS.values()):
        return domain, workload
    queries, cells = workload.shape
    if workload.kind == "identity":
        return (cells,), workloads.identity(cells)
    if queries * cells > MOST_ENTRIES:
        problem = f"is over {len(domain)} axes, with {queries:,} queries over {cells:,} cells"
        raise BadInput("workload", problem, f"ask for cells, or for no more than {MOST_ENTRIES // cells:,} queries")
    return (cells,), workloads.matrix((workload @ np.eye(cells)).T)


def with_own_rho(tunables: dict[str, Any], rho: Any, *prices: Any) -> tuple[dict[str, Any], Any]:
    """The tunables and the price in ρ. Beside another price, `rho` is an algorithm's own argument, such as Pythia's.

    >>> with_own_rho({}, 0.1, 0.5, None), with_own_rho({}, 0.1, None, None)
    (({'rho': 0.1}, None), ({}, 0.1))
    """
    if rho is not None and any(price is not None for price in prices):
        return tunables | {"rho": rho}, None
    return tunables, rho


def plan_for(workload: Workload, algorithm: str | Algorithm | None, tunables: dict[str, Any]) -> tuple[Algorithm, str]:
    """The algorithm that answers, checked, and why: the one that was named, Pythia, or one by a public rule."""
    why = "as you asked"
    if algorithm is None:
        algorithm, why = default_algorithm.for_workload(workload)
        if algorithm in default_algorithm.FOR_RANGES:
            algorithm, why = "Pythia", "because no algorithm was named"
    plan = algorithms.get(algorithm)
    plan.check(workload, tunables)
    return plan, why


def answered(
    source: ReleaseSource,
    budget: Budget,
    workload: Workload,
    plan: Algorithm,
    why: str,
    *,
    remaining: Callable[[], Fraction],
    tunables: dict[str, Any],
    about: Mapping[str, Sequence[str]] | None = None,
    of_part: bool = False,
    notes: tuple[str, ...] = (),
    noise: str = "",
) -> Release:
    """Run a plan on a source that is charged for it, and keep everything public about it.

    All questions about a part of a table share its purse, so others may spend from it at the same time.
    """
    before = source.unspent
    with collect_traces() as traces:
        estimate = plan.run(source, workload, budget, **tunables)
    price = paid_with(budget, remaining) | ({} if of_part else {"spent": before - source.unspent})
    return Release(
        answers=workload @ estimate,
        estimate=estimate.reshape(workload.domain),
        workload=workload,
        algorithm=plan,
        reason=why,
        neighbours=source.neighbours,
        tunables=tunables,
        trace=traces[-1] if traces else None,
        about=about or {},
        notes=notes,
        noise=noise,
        **price,
    )
