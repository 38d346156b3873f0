"""Everything that is audited, by name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import get_args

from jostle.audit.entries import (
    Audited,
    Family,
    algorithms,
    choices,
    classifiers,
    in_rho,
    mechanisms,
    operators,
    records,
    tables,
)
from jostle.kernel.errors import BadInput

_added: dict[str, Audited] = {}


def every() -> dict[str, Audited]:
    """All entries: mechanisms, operators, algorithms, choices, classifiers, questions to tables, and what was added.

    What can be paid for in ρ is there twice.

    >>> sorted({entry.family for entry in every().values()})
    ['algorithm', 'choice', 'classifier', 'mechanism', 'operator', 'table']
    """
    modules = (mechanisms, operators, records, algorithms, choices, classifiers, tables)
    pure = [entry for module in modules for entry in module.entries()]
    return {entry.name: entry for entry in [*pure, *(in_rho(entry) for entry in pure if entry.in_rho)]} | _added


def add(entry: Audited) -> Audited:
    """Add an entry to the audit. It replaces an older one of the same name."""
    _added[entry.name] = entry
    return entry


def is_added(name: str) -> bool:
    """Whether the entry was added in this process, so that other processes do not know it."""
    return name in _added


def get(name: str) -> Audited:
    """The entry of that name."""
    return select([name])[0]


def select(only: Sequence[str] | None) -> list[Audited]:
    """All entries, or those of these names or families, or whose names begin with these texts.

    >>> [entry.name for entry in select(["median", "partition"])]
    ['median', 'partition: noisy-minimum', 'partition: exponential', 'partition: noisy-minimum, in ρ',
    'partition: exponential, in ρ']
    >>> {entry.family for entry in select(["mechanism"])}
    {'mechanism'}
    """
    known = every()
    if not only:
        return list(known.values())
    chosen = {name for one in only for name in _matching(known, one)}
    return [entry for name, entry in known.items() if name in chosen]


def _matching(known: dict[str, Audited], only: str) -> list[str]:
    if only in known:
        return [only]
    if only in get_args(Family):
        return [name for name, entry in known.items() if entry.family == only]
    found = [name for name in known if name.lower().startswith(only.lower())]
    if not found:
        near = get_close_matches(only, known, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise BadInput("only", f"nothing of that name is audited: {only!r}", f"{hint}Leave it out to see all names")
    return found
