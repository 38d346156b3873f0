"""Everything that is audited, by name."""

from __future__ import annotations

from difflib import get_close_matches

from jostle.audit import choosers, learners, mechanisms, operators, plans, records, tables
from jostle.audit.entries import Audited
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
    return select(name)[0]


def select(only: str | None) -> list[Audited]:
    """All entries, or the one of that name, or those whose names begin with it.

    >>> [entry.name for entry in select("partition")]
    ['partition: noisy-minimum', 'partition: exponential']
    """
    known = every()
    if only is None:
        return list(known.values())
    if only in known:
        return [known[only]]
    alike = [entry for name, entry in known.items() if name.lower().startswith(only.lower())]
    if not alike:
        near = get_close_matches(only, known, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise BadInput("only", f"nothing of that name is audited: {only!r}", f"{hint}Leave it out to see all names")
    return alike
