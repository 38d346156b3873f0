"""Releases, for a page and as files to download."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jostle.answers.answer import Answer, charge_facts, in_ledger
from jostle.answers.batches import BatchAnswer
from jostle.answers.grouped import GroupedAnswers
from jostle.answers.quantiles_and_top import ReadFromCounts
from jostle.answers.release import Release
from jostle.answers.released_numbers import Marginals
from jostle.answers.synthetic_table import FEW_RECORDS, SyntheticTable
from jostle.explorer.question_form import PricedQuestion
from jostle.kernel.budget import CONCENTRATED, PURE, Price
from jostle.kernel.errors import show

if TYPE_CHECKING:
    from pandas import DataFrame

    from jostle.schema.rows import Rows

FORMULAS: Final = re.compile(r"[=+@\t\r]|-(?!(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?(–-?[\d.]+)?\Z)")
"""The beginning of a text that a spreadsheet would evaluate as a formula."""

MOST_DRAWN: Final = 2**18
"""Larger releases have no picture, only files."""

FIRST_ROWS: Final = 12

_AMOUNTS: Final = {PURE: "epsilon", CONCENTRATED: "rho"}

HOLDS_ANSWERS: Final = ("csv", "json", "parquet")
"""The files that hold everything that was paid for; the others explain it."""


@dataclass(eq=False, kw_only=True)
class Released:
    """One release of this run, which is paid for and must not be lost."""

    priced: PricedQuestion
    result: Answer
    """The library's answer: it explains itself, and becomes a table and a picture."""

    at: str = field(default_factory=lambda: f"{datetime.now(UTC):%H:%M:%S}")
    """When, in UTC."""

    fetched: bool = False
    """Whether somebody has the answers: they were downloaded, or saved."""

    simulated: bool | None = None
    """Whether it is known how far off the answers may be; None where nobody has tried to simulate it yet."""

    @property
    def what(self) -> str:
        return self.priced.question.what

    @property
    def cost(self) -> str:
        """What was charged, exactly."""
        return str(Price(self.result.spent, self.result.measure))

    @property
    def charged(self) -> str:
        return in_ledger(self.result.charges)

    @property
    def trace(self) -> Any:
        return getattr(self.result, "trace", None)

    @property
    def name(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.what.lower()).strip("-")[:60] or "release"

    def simulate(self) -> bool:
        """Whether how far off the answers may be is known: simulated now, if it must be and nobody has tried yet.

        That may take minutes, or more memory than there is. A failure is remembered: to fail again would keep whoever
        downloads the answers waiting as long again.
        """
        if self.simulated is None:
            try:
                self.result.explain()
                self.result.rows()
            except Exception:  # noqa: BLE001  # whatever it was, the answers are paid for and there
                self.simulated = False
            else:
                self.simulated = True
        return self.simulated

    @property
    def synthetic(self) -> SyntheticTable | None:
        """The synthetic table, if it is one: a page looks at its histograms."""
        return self.result if isinstance(self.result, SyntheticTable) else None

    @property
    def lacking(self) -> bool:
        """Whether answers come without intervals: sums, means and marginals have theirs without a simulation."""
        return not self.simulated and isinstance(self.result, Release | ReadFromCounts)

    def rows(self) -> DataFrame:
        """What each answer is about, the answer, and the ends of its interval where that was simulated."""
        rows = self.result.rows_at_once() if self.lacking else self.result.rows()
        return rows.to_pandas()

    def tables(self) -> dict[str, Rows]:
        """The answers as tables, by what is in them; a list of questions has one for each."""
        if isinstance(self.result, BatchAnswer):
            each = zip(self.result.asked, self.result, strict=True)
            return {f"{place}. {what}": one.rows() for place, (what, one) in enumerate(each, start=1)}
        if self.synthetic:
            return {"The first synthetic records": self.synthetic.first(FEW_RECORDS)}
        if self.lacking:
            return {"Noisy answers, without intervals": self.result.rows_at_once()}
        return {"Noisy answers, with their 95 % intervals": self.result.rows()}

    @property
    def title(self) -> str:
        """What was released, in few words."""
        return f"{len(self.result)} questions together" if isinstance(self.result, BatchAnswer) else self.what

    def explain(self) -> str:
        """The answers in words, and what they leave out."""
        return " ".join([self.finding, *self.result.notes])

    @property
    def finding(self) -> str:
        """The answers in words."""
        if not self.lacking:
            return self.result._explained()
        left = Price(self.result.remaining, self.result.left_in)
        return (
            f"{self.what}, at {self.cost}. How far off the answers may be could not be simulated, so they "
            f"come without intervals. {left} is left."
        )

    def figures(self) -> dict[str, Any]:
        """Its pictures, by what they show; none where there is one number, too many, or no intervals to draw."""
        if self.lacking:
            return {}
        if isinstance(self.result, Marginals):
            shown = {", ".join(axes): figures for axes, figures in self.result.items() if figures.answers.size <= MOST_DRAWN}
            return {name: figures.plot() for name, figures in shown.items()}
        if isinstance(self.result, BatchAnswer):
            asked = zip(self.result.asked, self.result, strict=True)
            return {what: one.plot() for what, one in asked if 1 < len(one.rows()) <= MOST_DRAWN}
        if isinstance(self.result, GroupedAnswers) and 1 < len(self.result) <= MOST_DRAWN:
            return {self.result.what[name]: self.result.plot(name) for name in self.result.values}
        if self.synthetic:
            pairs = any(len(step.names) > 1 for step in self.synthetic.synthesis.steps)
            return {"how sure the model is of pairs": self.synthetic.plot()} if pairs else {}
        few = len(self.rows()) if not isinstance(self.result, Release) else self.result.estimate.size
        return {} if few == 1 or few > MOST_DRAWN else {self.what: self.result.plot()}

    def file(self, kind: str) -> tuple[str | bytes, str, str] | None:
        """The content of a file, its type and its name; None where there is no such file."""
        self.simulate()
        if kind == "csv":
            return self.to_csv(), "text/csv", self.csv_name
        if kind == "json":
            return self.to_json(), "application/json", f"{self.name}.json"
        if kind == "txt":
            report = f"\n{self.synthetic.report()}\n" if self.synthetic else ""
            return f"{self.explain()}\n{self.charged}\n{report}", "text/plain", f"{self.name}.txt"
        if kind == "parquet" and self.synthetic:
            return self.synthetic.records.to_parquet(), "application/vnd.apache.parquet", f"{self.name}.parquet"
        if kind == "trace" and self.trace is not None:
            return self.trace.dumps(), "application/json", f"{self.name}-trace.json"
        return None

    @property
    def csv_name(self) -> str:
        """A table of answers has no other place than its name to say that it lacks something."""
        return f"{self.name}{'-without-intervals' if self.lacking else ''}.csv"

    def to_csv(self) -> str:
        """Answers, without texts that a spreadsheet would take for formulas: names come from whoever made the table."""
        rows = self.rows()
        for name in rows.select_dtypes(exclude="number"):
            rows[name] = rows[name].map(_defused)
        return str(rows.rename(columns=_defused).to_csv(index=False))

    def to_json(self) -> str:
        rows = self.rows().astype(object)
        facts = {
            "what": self.what,
            "explanation": self.explain(),
            _AMOUNTS[self.result.measure]: {"spent": show(self.result.spent), "remaining": show(self.result.remaining)},
            "neighbours": str(self.result.neighbours),
            "notes": list(self.result.notes),
            "interval_kind": None if self.lacking else self.result.interval_kind,
            "charge": charge_facts(self.result.charges),
            "answers": rows.where(rows.notna(), None).to_dict("records"),
        }
        return json.dumps(facts, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def save(released: Released, folder: Path) -> Path:
    """Write a release's CSV to a folder, or else to a new one for temporary files, and say where it is.

    Nothing is simulated for it: whoever ends the explorer may be about to end it by force.
    """
    name, text = released.csv_name, released.to_csv()
    try:
        saved = _written(text, folder, name)
    except OSError:
        saved = _written(text, Path(tempfile.mkdtemp(prefix="jostle-")), name)
    released.fetched = True
    return saved


def _written(text: str, folder: Path, name: str) -> Path:
    """A new file, under a name that is free in the folder; nothing is left of what could not be written whole."""
    stem, number, target = Path(name).stem, 1, folder / name
    while target.exists():
        number += 1
        target = folder / f"{stem}-{number}.csv"
    with target.open("x", encoding="utf-8", newline="") as file:
        try:
            file.write(text)
            file.flush()
        except OSError:
            target.unlink()
            raise
    return target


def _defused(text: Any) -> Any:
    return f"'{text}" if isinstance(text, str) and FORMULAS.match(text) else text
