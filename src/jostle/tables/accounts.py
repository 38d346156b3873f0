"""The ledger and the account of a data set, as whoever opens a table names them.

An account remembers whose rows it protects together: under another unit it is not charged.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jostle.kernel.errors import BadInput
from jostle.tables.payers import legible

if TYPE_CHECKING:
    from jostle.kernel.ledger import Account, Ledger
    from jostle.kernel.neighbours import Neighbours
    from jostle.tables.unit import Unit

LONGEST_PROMISE = 500
"""So much of what an account protects is written down with it."""

_EACH = "protects each "


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
    """Open the account, or make it; another unit than that of the account would not be what was promised."""
    if budget is None and name not in {account.name for account in book.accounts()}:
        raise BadInput(
            "budget", f"is missing, and the ledger has no account {name!r}", "say how much ε may be spent, budget=1"
        )
    whose = "row" if unit is None else "row (column)" if unit.column == "row" else unit.column
    protects = legible(_EACH + whose, LONGEST_PROMISE)
    try:
        account = book.account(name, cap=budget, neighbours=relation, note=protects)
    except BadInput as refused:
        raise _as_called(refused, {"cap": "budget"}) from None
    kept = book.events(name)[0].note
    if kept not in ("", protects):
        raise BadInput("unit", f"the account {name!r} {kept}", "use the same unit as before, or another name for the data")
    return account


def check_of_rows(account: Account) -> None:
    """Raise if an account protects persons: whoever takes each row for a record would not keep what it promises."""
    kept = account.ledger.events(account.name)[0].note
    if kept.startswith(_EACH) and kept != f"{_EACH}row":
        problem = f"that of {account.name!r} {kept}, and each row is taken for a record here"
        raise BadInput("account", problem, "use one that was opened for rows")


def _as_called(refused: BadInput, names: Mapping[str, str]) -> BadInput:
    """The same refusal, by the name that the argument has for whoever opens a table."""
    return BadInput(names.get(refused.argument, refused.argument), refused.problem, refused.remedy)
