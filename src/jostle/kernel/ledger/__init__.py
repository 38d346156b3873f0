"""The durable ledger: what was spent on each data set, written down before any noise is drawn.

A ledger is an SQLite file, or a few tables in a PostgreSQL database that a team shares. SQLAlchemy is loaded with the first
ledger that is opened, not with the events that releases carry.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jostle.kernel.ledger.accounts import AbsentAccount, Account, AccountPurse
    from jostle.kernel.ledger.ledger import Ledger

__all__ = ["AbsentAccount", "Account", "AccountPurse", "Ledger"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'ledger' if name == 'Ledger' else 'accounts'}"), name)
