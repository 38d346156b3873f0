"""The account of a data set, which remembers whose rows it protects together: under another unit it is not charged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jostle.kernel.errors import BadInput

if TYPE_CHECKING:
    from jostle.kernel.ledger import Account, Ledger
    from jostle.kernel.neighbours import Neighbours
    from jostle.tables.unit import Unit

LONGEST_PROMISE = 500
"""So much of what an account protects is written down with it."""


def account_of(book: Ledger, name: str, budget: Any, relation: Neighbours, unit: Unit | None) -> Account:
    """Open the account, or make it; another unit than that of the account would not be what was promised."""
    if budget is None and name not in {account.name for account in book.accounts()}:
        raise BadInput(
            "budget", f"is missing, and the ledger has no account {name!r}", "say how much ε may be spent, budget=1"
        )
    protects = "protects each row" if unit is None else f"protects each {unit.column}"
    account = book.account(name, cap=budget, neighbours=relation, note=protects[:LONGEST_PROMISE])
    kept = book.events(name)[0].note
    if kept not in ("", protects[:LONGEST_PROMISE]):
        raise BadInput("unit", f"the account {name!r} {kept}", "use the same unit as before, or another name for the data")
    return account
