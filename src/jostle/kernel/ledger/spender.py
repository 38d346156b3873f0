"""Who spends: the name that a ledger's events have, and the column for it, which the first ledgers lack.

An older jostle neither reads that column nor writes it, and is none the worse for it. So the version of the tables is the
same with and without, and ledgers are shared by both. A ledger without it stays so: a charge is no time to change tables.
"""

from __future__ import annotations

import os
from typing import Final

import sqlalchemy as sa

from jostle.kernel.errors import BadInput
from jostle.kernel.ledger.events import printable
from jostle.kernel.ledger.store import EVENTS

LONGEST: Final = 200
VARIABLE: Final = "JOSTLE_WHO"
"""The environment variable that says it in place of the operating system."""


def name_of(who: str | None = None) -> str:
    """Who spends: as was said, or else as the environment says, or the operating system.

    >>> name_of("the statistics office")
    'the statistics office'
    """
    argument, said = ("who", who) if who is not None else (VARIABLE, os.environ.get(VARIABLE))
    if said is None:
        return _user()
    if not isinstance(said, str) or len(said) > LONGEST or not printable(said):
        problem = f"must be a text of at most {LONGEST} printable characters"
        raise BadInput(argument, problem, "shorten it, or leave it empty to keep nobody's name")
    return said


def _user() -> str:
    try:
        import pwd

        name = pwd.getpwuid(os.geteuid()).pw_name
    except (ImportError, KeyError):  # there are systems without such a list, and users who are not on it
        return ""
    return name if printable(name) else ""


def has_column(connection: sa.Connection) -> bool:
    """Whether the events of a ledger can say it."""
    of_none = connection.execute(sa.select(sa.text("*")).select_from(EVENTS).limit(0))
    return EVENTS.c.who.name in set(of_none.keys())
