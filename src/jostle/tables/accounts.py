"""The ledger and the account of a data set, as whoever opens a table names them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jostle.kernel.errors import BadInput
from jostle.kernel.events import ROWS
from jostle.tables.budget_source import legible

if TYPE_CHECKING:
    from jostle.kernel.ledger import Account, Ledger
    from jostle.kernel.neighbours import Neighbours
    from jostle.tables.unit import Unit

_COLUMN = " (column)"


def whom(unit: Unit | None) -> str:
    """Whom a table with this unit protects, as its account has it: the column of persons, or `row` for single rows.

    Different columns have different texts, and none of them is `row`, whatever a column is called.

    >>> from jostle.tables.unit import Unit
    >>> whom(None), whom(Unit("person_id", 3)), whom(Unit("row", 3)), whom(Unit("row (column)", 3))
    ('row', 'person_id', 'row (column)', 'row (column) (column)')
    """
    if unit is None:
        return ROWS
    reads_like_rows = unit.column.replace(_COLUMN, "") == ROWS
    return legible(unit.column + _COLUMN if reads_like_rows else unit.column, most=None)


def ledger_at(ledger: Any, *, create: bool = True) -> Ledger:
    """The ledger that is meant: one that is open, or the one at a path or a URL, which is made where there is none."""
    from jostle.kernel.ledger import Ledger  # a database toolkit, which takes a while to load

    if isinstance(ledger, Ledger):
        return ledger
    if not isinstance(ledger, (str, os.PathLike)):
        raise BadInput("ledger", "must be a path, a URL or a Ledger", "pass for instance 'budget.db'")
    try:
        return Ledger(ledger, create=create)
    except BadInput as refused:
        raise _as_called(refused, {"location": "ledger"}) from None


def account_of(book: Ledger, name: str, budget: Any, relation: Neighbours, unit: Unit | None) -> Account:
    """Open the account, or make it. It is refused if it protects another unit."""
    if budget is None and name not in {account.name for account in book.accounts()}:
        raise BadInput(
            "budget", f"is missing, and the ledger has no account {name!r}", "say how much ε may be spent, budget=1"
        )
    try:
        return book.account(name, cap=budget, neighbours=relation, unit=whom(unit))
    except BadInput as refused:
        raise _as_called(refused, {"cap": "budget"}) from None


def _as_called(refused: BadInput, names: Mapping[str, str]) -> BadInput:
    """The same refusal, by the name that the argument has for whoever opens a table."""
    return BadInput(names.get(refused.argument, refused.argument), refused.problem, refused.remedy)
