"""Public tables as they are named after `--lookup`: `regions=regions.csv`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jostle.kernel.errors import BadInput


def lookups_of(texts: Sequence[str] | None, data: str) -> dict[str, Any]:
    """The tables to join, by name. The private file is refused: nobody may read its values.

    >>> lookups_of(None, "people.csv")
    {}
    """
    found: dict[str, Any] = {}
    for said in texts or []:
        name, sign, named = said.partition("=")
        path = Path(named.strip())
        if not sign or not name.strip() or path.suffix.lower() not in (".csv", ".parquet"):
            raise BadInput("lookup", f"{said!r} is not a name and a file", "write --lookup regions=regions.csv")
        if path.resolve() == Path(data).resolve():
            raise BadInput("lookup", f"{path} is the private table", "name a table that everybody may read")
        found[name.strip()] = _read(path)
    return found


def _read(path: Path) -> Any:
    import pandas as pd

    try:
        return pd.read_csv(path) if path.suffix.lower() == ".csv" else pd.read_parquet(path)
    except (OSError, ValueError) as failure:
        raise BadInput("lookup", f"{path} cannot be read: {failure}", "name a public table, .csv or .parquet") from None
