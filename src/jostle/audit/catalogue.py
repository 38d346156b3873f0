"""Everything that is audited, by name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import get_args

from jostle.audit import choosers, learners, mechanisms, operators, plans, records, tables
from jostle.audit.entries import Audited, Family
from jostle.kernel.errors import BadInput

_added: dict[str, Audited] = {}


def every() -> dict[str, Audited]:
    """All entries: mechanisms, operators, algorithms, choices, classifiers, questions to tables, and what was added.

    >>> sorted({entry.family for entry in every().values()})
    ['algorithm', 'choice', 'classifier', 'mechanism', 'operator', 'table']
    """
    modules = (mechanisms, operators, records, plans, choosers, learners, tables)
    found = [entry for module in modules for entry in module.entries()]
    return {entry.name: entry for entry in found} | _added


def add(entry: Audited) -> Audited:
    """Have something else audited, too: an entry of the same name takes the place of an older one."""
    _added[entry.name] = entry
    return entry


def is_added(name: str) -> bool:
    """Whether it was added in this process, so that others do not know it."""
    return name in _added


def get(name: str) -> Audited:
    """The entry of that name."""
    return select([name])[0]


def select(only: Sequence[str] | None) -> list[Audited]:
    """All entries, or those of these names or families, or whose names begin so.

    >>> [entry.name for entry in select(["median", "partition"])]
    ['median', 'partition: noisy-minimum', 'partition: exponential']
    >>> {entry.family for entry in select(["mechanism"])}
    {'mechanism'}
    """
    known = every()
    if not only:
        return list(known.values())
    chosen = {entry.name for one in only for entry in _alike(known, one)}
    return [entry for name, entry in known.items() if name in chosen]


def _alike(known: dict[str, Audited], only: str) -> list[Audited]:
    if only in known:
        return [known[only]]
    if only in get_args(Family):
        return [entry for entry in known.values() if entry.family == only]
    alike = [entry for name, entry in known.items() if name.lower().startswith(only.lower())]
    if not alike:
        near = get_close_matches(only, known, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise BadInput("only", f"nothing of that name is audited: {only!r}", f"{hint}Leave it out to see all names")
    return alike
