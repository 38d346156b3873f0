"""Tables that remember what they release: questions one after the other, which are answered from what is there by then.

Whether a question is free, what is bought for it and how it is put together follow from public numbers. So on neighbours,
with the same draws, every charge, every law of noise and every answer must be the same.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from jostle.audit.replay.run import Case, Subject
from jostle.audit.replay.subjects.tables import TableData, bounded_once, cases
from jostle.audit.replay.tape import TapeAccount
from jostle.kernel.budget import Price

if TYPE_CHECKING:
    from jostle.tables.table import Table


MOST_QUESTIONS = 8
"""Each costs this part of the whole price at most."""


def _of_counts(table: Table, price: Price) -> list[Any]:
    """What follows, other conditions, the same again, and a top-up."""
    more = price.times(Fraction(6, 5))
    return [
        table.histogram("g", "b", epsilon=price, algorithm="Laplace"),
        table.where("b").histogram("g", epsilon=price),
        table.where("g = 'a'").count(epsilon=price),
        table.where("g = 'b' AND v >= 2").count(epsilon=price),
        table.where("NOT (v < 2) AND g = 'b'").count(epsilon=price),
        table.histogram("g", "b", epsilon=more, algorithm="Laplace"),
        table.ask("g").release(epsilon=price, consistent=True),
        table.batch(table.ask("g"), table.where("NOT b").ask_count(), epsilon=price),
    ]


def _of_groups(table: Table, price: Price) -> list[Any]:
    """Means and sums, and what is missing beside them."""
    return [
        table.sql("SELECT g, AVG(v) FROM people GROUP BY g", epsilon=price),
        table.sql("SELECT g, AVG(v), SUM(x), COUNT(*) FROM people GROUP BY g", epsilon=price),
        table.where("b").sum("v", epsilon=price),
        table.where("NOT b").sum("v", epsilon=price),
        table.ask_marginals(("g", "b"), ("g",)).release(epsilon=price),
        table.ask_marginals(("g", "b"), ("g",)).release(epsilon=price),
    ]


QUESTIONS: dict[str, Callable[[Table, Price], list[Any]]] = {"counts": _of_counts, "groups": _of_groups}


def subjects() -> list[Subject]:
    """For rows and for persons."""
    return [_subject(name, by_person) for name in QUESTIONS for by_person in (False, True)]


def _subject(name: str, by_person: bool) -> Subject:
    def run(case: Case, data: TableData, account: TapeAccount) -> Any:
        from jostle.audit.remembering import with_memory

        with bounded_once():
            part = Price.of(case.epsilon).times(Fraction(1, MOST_QUESTIONS))
            return QUESTIONS[name](with_memory(data.opened(account)), part)

    called = f"table: remembered {name}{' by person' if by_person else ''}"
    return Subject(name=called, family="table", run=run, cases=cases("duckdb", by_person), in_rho=True)
