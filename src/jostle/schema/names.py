"""Names as columns of tables that have others."""

from __future__ import annotations

from collections.abc import Collection, Iterable


def apart(names: Iterable[str], taken: Collection[str]) -> list[str]:
    """Names as columns of a table that has others: none is among those that are taken, and none is there twice.

    >>> apart(["sex", "low", "low (column)"], ["count", "low", "high"])
    ['sex', 'low (column) (column)', 'low (column)']
    """
    said = list(names)
    found: list[str] = []
    for name in said:
        free = name
        while free in taken or (free != name and free in (*said, *found)):
            free += " (column)"
        found.append(free)
    return found
