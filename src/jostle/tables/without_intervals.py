"""Released answers at once: without their intervals, where to have those would mean to simulate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jostle.answers.release import Release, labelled
from jostle.schema.names import apart
from jostle.tables.quantiles_and_top import Quantiles, Top
from jostle.tables.several_aggregates import Answers

if TYPE_CHECKING:
    from jostle.schema.rows import Rows


def plain(answer: Any) -> Rows:
    """An answer's rows, without the ends of intervals that are not known yet.

    >>> import jostle, tempfile
    >>> people = jostle.Ledger(tempfile.mkdtemp() + "/budget.db").account("people", cap=1)
    >>> list(plain(jostle.release([12, 40], epsilon=1, account=people, algorithm="Laplace")).columns)
    ['query', 'count']
    """
    if isinstance(answer, Answers):
        return answer.joined([plain(part) for part in answer.each])
    if isinstance(answer, Quantiles):
        [name] = apart([answer.column], ["quantile"])
        return labelled({}, {"quantile": answer.levels, name: answer.values})
    if isinstance(answer, Top):
        return plain(answer.release).at(answer.places)
    if isinstance(answer, Release):
        return labelled(answer.labels, {"count": answer.answers})
    found: Rows = answer.rows()
    return found
