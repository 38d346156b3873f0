"""Who spends: the name that a ledger's events record.

The first ledgers have no column for it. An older jostle neither reads that column nor writes it, so the version of the
tables is the same with and without, and both share ledgers. A ledger without the column stays so: a charge is no time to
change tables.
"""

from __future__ import annotations

import os
from typing import Final

from jostle.kernel.ledger.events import check_text, printable

LONGEST: Final = 200
VARIABLE: Final = "JOSTLE_WHO"
"""The environment variable that takes precedence over the operating system's name of the user."""


def name_of(who: str | None = None) -> str:
    """The name given, or else that of the environment variable, or that of the operating system.

    >>> name_of("the statistics office")
    'the statistics office'
    """
    argument, name = ("who", who) if who is not None else (VARIABLE, os.environ.get(VARIABLE))
    if name is None:
        return _user()
    check_text(name, argument, LONGEST, empty=True)
    return name


def _user() -> str:
    try:
        import pwd

        name = pwd.getpwuid(os.geteuid()).pw_name
    except (ImportError, KeyError):  # some systems have no such list, and some users are not on it
        return ""
    return name if printable(name) else ""
