"""Everything that is replayed, by name, and many of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from jostle.audit.replay.run import Case, ReplayVerdict, Subject, replay
from jostle.audit.replay.tape import TapeAccount
from jostle.kernel.budget import CONCENTRATED, Price
from jostle.kernel.errors import BadInput
from jostle.kernel.source import ReleaseSource
from jostle.simulate.parallel import in_parallel

_added: dict[str, Subject] = {}

IN_RHO = ", in ρ"
"""The end of the name of what is paid for in ρ."""

SLOW = ("table", "learner")
"""Families that take longest, and come first."""


def every() -> dict[str, Subject]:
    """All subjects: algorithms, choices, mechanisms, operators, learners, questions to tables, and what was added.

    >>> {"algorithm", "choice", "learner", "mechanism", "operator", "table"} <= {one.family for one in every().values()}
    True
    """
    from jostle.audit.replay.subjects import counts, groups, learners, mechanisms, operators, remembered, tables

    modules = (tables, groups, remembered, learners, counts, mechanisms, operators)
    pure = {subject.name: subject for module in modules for subject in module.subjects()}
    return pure | {f"{name}{IN_RHO}": in_rho(subject) for name, subject in pure.items() if subject.in_rho} | _added


def in_rho(subject: Subject) -> Subject:
    """The same, paid for in ρ = ε²/2: Gaussian noise, the exponential mechanism, and pure mechanisms at ε."""

    def cases(pairs: int) -> Iterator[Case]:
        for case in (subject.cases_in_rho or subject.cases)(pairs):
            yield replace(case, epsilon=Price(Price.of(case.epsilon).cost.rho, CONCENTRATED))

    return replace(subject, name=f"{subject.name}{IN_RHO}", cases=cases)


def add(subject: Subject) -> Subject:
    """Add a subject of your own. It replaces an older one of the same name."""
    _added[subject.name] = subject
    return subject


def add_option(option: Callable[..., Any], *, name: str | None = None, dimensions: int = 1) -> Subject:
    """Add an option of your own, a function of a source, a workload and a budget. Registered algorithms need no adding.

    It is replayed on counts over lines of cells, or over grids if `dimensions` is 2.

    >>> from jostle.audit.replay import replay
    >>> from jostle.kernel.strategies import identity
    >>> def cells(source, workload, budget):
    ...     return source.measure(identity(source.shape), budget)
    >>> replay(add_option(cells, name="my cells"), pairs=10).divergences
    0
    """
    from jostle.audit.replay.subjects import counts

    def run(case: Case, x: Any, account: TapeAccount) -> Any:
        workload, filtered = case.setting
        source = ReleaseSource(x, purse=account.purse(), filtered=filtered)
        return option(source, workload, source.grant(case.epsilon))

    called = name or str(getattr(option, "__name__", type(option).__name__))
    cases = counts.cases(counts.workloads_over, dimensions)
    return add(Subject(name=called, family="option", run=run, cases=cases))


def select(only: Sequence[str] | None) -> list[Subject]:
    """All subjects, or those of these names or families, or whose names begin with these texts.

    >>> [subject.name for subject in select(["choice: ChoiceM", "learner: Grid"])]
    ['learner: Grid', 'choice: ChoiceMaker', 'choice: ChoiceMaker, in ρ']
    """
    known = every()
    if not only:
        return list(known.values())
    chosen = {name for one in only for name in _matching(known, one)}
    return [subject for name, subject in known.items() if name in chosen]


def _matching(known: dict[str, Subject], only: str) -> list[str]:
    if only in known:
        return [only]
    found = [name for name, subject in known.items() if subject.family == only]
    found = found or [name for name in known if name.lower().startswith(only.lower())]
    if not found:
        near = get_close_matches(only, known, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise BadInput("only", f"nothing of that name is replayed: {only!r}", f"{hint}Leave it out to see all names")
    return found


@dataclass(frozen=True)
class ReplayJob:
    """One subject to be replayed."""

    name: str
    pairs: int
    seed: int


def run(subjects: Sequence[Subject], *, pairs: int, seed: int, workers: int) -> Iterator[ReplayVerdict]:
    """Verdicts as they come in. What was added in this process is replayed here, as other processes do not know it."""
    ordered = sorted(subjects, key=lambda subject: subject.family not in SLOW)
    jobs = [ReplayJob(subject.name, pairs, seed) for subject in ordered]
    elsewhere = [job for job in jobs if job.name not in _added]
    yield from in_parallel(do, elsewhere, workers=workers)
    yield from map(do, (job for job in jobs if job.name in _added))


def do(job: ReplayJob) -> ReplayVerdict:
    """Run one job in this process."""
    return replay(every()[job.name], pairs=job.pairs, seed=job.seed)
