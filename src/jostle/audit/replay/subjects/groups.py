"""Questions about groups, and persons who are bounded in groups: whoever counts in fewer groups gets less noise.

What is measured is bounded in the query, and noise follows from what the columns state. A replay compares the two: each true
number may move only as far as its noise hides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import count, islice
from typing import TYPE_CHECKING, Any, Final

from jostle.audit.replay.run import Case, Subject
from jostle.audit.replay.subjects import tables
from jostle.audit.replay.subjects.table_rows import Form
from jostle.audit.replay.tape import TapeAccount
from jostle.kernel.budget import Price
from jostle.tables import aggregates as of
from jostle.tables.unit import Unit

if TYPE_CHECKING:
    from jostle.tables.table import Table

BOUNDS: Final = ({"max_groups": 1, "max_rows_per_group": 2}, {"max_groups": 2}, {"max_rows_per_group": 1})
"""How persons are bounded in groups, besides their rows."""


def _persons(table: Table, epsilon: Any) -> Any:
    return table.group_by("g").aggregate(people=of.count_distinct_units(), n=of.count(), epsilon=epsilon)


def _listed(table: Table, epsilon: Any) -> Any:
    share = of.ratio(of.sum("v"), of.count())
    what: dict[str, Any] = {"spread": of.variance("v"), "per": share, "known": of.count("x")}
    return table.group_by("g", "b", keys=[("a", True), ("c", False)]).aggregate(**what, epsilon=epsilon)


def _ranked(table: Table, epsilon: Any) -> Any:
    what: dict[str, Any] = {"middle": of.quantiles("v", 0.5), "most": of.max("v"), "n": of.count()}
    return table.group_by("g").aggregate(**what, epsilon=epsilon)


def _parts(table: Table, epsilon: Any) -> Any:
    """Several questions to each part, each at a share of what the part has."""
    first, second = table.partition("b", epsilon=epsilon).values()
    half = Price.of(epsilon).times(Fraction(1, 2))
    asked = [first.marginals(("g", "v"), "d", epsilon=half), _persons_or_rows(first, half)]
    return [*asked, second.synthesize("g", "v", epsilon=half).synthesis.steps, second.quantiles("v", [0.5], epsilon=half)]


def _persons_or_rows(table: Table, epsilon: Any) -> Any:
    what: dict[str, Any] = {"n": of.count(), "average": of.mean("v")}
    if table.unit is not None:
        what["people"] = of.count_distinct_units()
    return table.group_by("g").aggregate(**what, epsilon=epsilon)


QUESTIONS: dict[str, tables.Ask] = {
    "parts": _parts,
    "persons by group": _persons,
    "listed groups": _listed,
    "quantiles by group": _ranked,
    "top by group": lambda table, epsilon: table.group_by("b").top("g", k=2, epsilon=epsilon),
    "sql, persons": lambda table, epsilon: table.sql(
        "SELECT g, COUNT(DISTINCT who), STDDEV(v) FROM people GROUP BY g HAVING COUNT(*) > 2 ORDER BY 2 LIMIT 2",
        epsilon=epsilon,
    ),
}
"""Those that are about groups and in no other list."""

OF_PERSONS: Final = ("persons by group", "sql, persons")
"""What only a table with persons answers."""

BOUNDED: Final = (
    *("count", "histogram", "histogram of two", "sum", "sum by group", "group_by", "partition", "records", "check_bounds"),
    *tables.WITH_KEYS,
)
"""Questions to tables that are also asked where persons are bounded in groups."""


def subjects() -> list[Subject]:
    """Groups for rows and for persons; and what persons may be asked who are bounded in groups."""
    plain = [(name, by_person) for name in QUESTIONS for by_person in (False, True) if by_person or name not in OF_PERSONS]
    return [
        *(_subject(name, ask=QUESTIONS[name], by_person=by_person) for name, by_person in plain),
        *(_subject(name, ask=ask, bounded=True) for name, ask in QUESTIONS.items()),
        *(_subject(name, ask=tables.QUESTIONS[name], bounded=True) for name in BOUNDED),
        _subject("group_by, private keys (arrow)", ask=tables.QUESTIONS["group_by, private keys"], form="arrow"),
    ]


def _subject(name: str, *, ask: tables.Ask, by_person: bool = True, bounded: bool = False, form: Form = "duckdb") -> Subject:
    keyed = "private keys" in name

    def run(case: Case, data: tables.TableData, account: TapeAccount) -> Any:
        with tables.bounded_once():
            return ask(data.opened(account.finding_keys if keyed else account), case.epsilon)

    cases = tables.cases(form, by_person, crowded=keyed)
    whom = " by person, bounded in groups" if bounded else " by person" if by_person else ""
    how: dict[str, Any] = {"cases": _bounded(cases) if bounded else cases, "in_rho": not keyed and name != "check_bounds"}
    return Subject(name=f"table: {name}{whom}", family="table", run=run, **how)


def _bounded(cases: Callable[[int], Iterator[Case]]) -> Callable[[int], Iterator[Case]]:
    """The same cases with persons who are bounded in groups, by turns in each of the ways."""

    def with_bounds(data: tables.TableData, number: int) -> tables.TableData:
        rows = 1 if data.unit is None else data.unit.max_rows
        return replace(data, unit=Unit("who", rows, **BOUNDS[number % len(BOUNDS)]))

    def found(pairs: int) -> Iterator[Case]:
        for number, case in zip(count(), cases(pairs), strict=False):
            others = [with_bounds(one, number) for one in case.others]
            yield replace(case, data=with_bounds(case.data, number), others=others)

    return lambda pairs: islice(found(pairs), pairs)
