"""What was released, for a page and as files to download."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jostle.explorer.asking import Asked
from jostle.kernel.errors import show
from jostle.releases import Release, charge_facts, in_ledger
from jostle.tables.marginals import Marginals

if TYPE_CHECKING:
    from pandas import DataFrame

FORMULAS: Final = re.compile(r"[=+@\t\r]|-(?![\d.])")
"""How a text begins that a spreadsheet would take for a formula and work out."""

MOST_DRAWN: Final = 2**18
"""A picture has at most so many cells; what is larger is in the file alone."""

FIRST_ROWS: Final = 12


@dataclass(eq=False, kw_only=True)
class Released:
    """One release of this run, which is paid for and must not be lost."""

    asked: Asked
    """What was asked."""

    result: Any
    """What the library gave: it explains itself, and becomes a table and a picture."""

    at: str = field(default_factory=lambda: f"{datetime.now(UTC):%H:%M:%S}")
    """When, in UTC."""

    fetched: bool = False
    """Whether it was downloaded."""

    @property
    def what(self) -> str:
        """In words."""
        return self.asked.question.what

    @property
    def cost(self) -> str:
        """The ε that was charged, exactly."""
        return show(self.result.spent)

    @property
    def charged(self) -> str:
        """Which account was charged, when, and by which events."""
        return in_ledger(self.result.charges)

    @property
    def trace(self) -> Any:
        """How the algorithm was chosen, if it was."""
        return getattr(self.result, "trace", None)

    @property
    def name(self) -> str:
        """For its files."""
        return re.sub(r"[^a-z0-9]+", "-", self.what.lower()).strip("-")[:60] or "release"

    def rows(self) -> DataFrame:
        """What each answer is about, the answer, and the ends of its interval."""
        return self.result.to_pandas()

    def figures(self) -> dict[str, Any]:
        """Its pictures, by what they show; none where there is one number, or too many."""
        if isinstance(self.result, Marginals):
            shown = {", ".join(axes): figures for axes, figures in self.result.items() if figures.answers.size <= MOST_DRAWN}
            return {name: figures.plot() for name, figures in shown.items()}
        few = len(self.rows()) if not isinstance(self.result, Release) else self.result.estimate.size
        return {} if few == 1 or few > MOST_DRAWN else {self.what: self.result.plot()}

    def file(self, kind: str) -> tuple[str, str, str] | None:
        """The text of a file, its type and its name; None where there is no such file."""
        if kind == "csv":
            return _defused(self.rows()).to_csv(index=False), "text/csv", f"{self.name}.csv"
        if kind == "json":
            return self.to_json(), "application/json", f"{self.name}.json"
        if kind == "txt":
            return f"{self.result.explain()}\n{self.charged}\n", "text/plain", f"{self.name}.txt"
        if kind == "trace" and self.trace is not None:
            return self.trace.dumps(), "application/json", f"{self.name}-trace.json"
        return None

    def to_json(self) -> str:
        """Answers with their intervals, and everything public about them."""
        rows = self.rows().astype(object)
        told = {
            "what": self.what,
            "explanation": self.result.explain(),
            "epsilon": {"spent": self.cost, "remaining": show(self.result.remaining)},
            "neighbours": str(self.result.neighbours),
            "charge": charge_facts(self.result.charges),
            "answers": rows.where(rows.notna(), None).to_dict("records"),
        }
        return json.dumps(told, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def save(released: Released, folder: Path) -> Path:
    """Write a release's CSV to a folder, under a name that is free there."""
    text, _, name = released.file("csv") or ("", "", "")
    stem, number, target = Path(name).stem, 1, folder / name
    while target.exists():
        number += 1
        target = folder / f"{stem}-{number}.csv"
    with target.open("x", encoding="utf-8", newline="") as file:
        file.write(text)
    released.fetched = True
    return target


def _defused(table: DataFrame) -> DataFrame:
    """The same table, without texts that a spreadsheet would take for formulas: names come from whoever made the table."""
    texts = table.select_dtypes(exclude="number")
    return table.assign(**{str(name): texts[name].map(_plain) for name in texts}).rename(columns=_plain)


def _plain(said: Any) -> Any:
    return f"'{said}" if isinstance(said, str) and FORMULAS.match(said) else said
