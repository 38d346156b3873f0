"""From a form to a question about a table that can be previewed and paid for; and its preview."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jostle import plots, workloads
from jostle.answers.previews import Preview
from jostle.explorer.forms import Form, under_field
from jostle.kernel.errors import BadInput
from jostle.schema import Numeric, Schema
from jostle.tables.question import CountsQuestion, Question
from jostle.tables.sums_and_means import SumOrMeanQuestion

if TYPE_CHECKING:
    from jostle.tables.table import Table

AUTOMATIC: Final = "automatic"
KINDS: Final = MappingProxyType(
    {
        "histogram": "how many rows are in each cell",
        "cumulative": "how many rows are up to each cell",
        "count": "how many rows there are",
        "sum": "the sum of a column",
        "mean": "the mean of a column",
        "quantiles": "quantiles of a column",
        "marginals": "counts over sets of columns",
    }
)
"""What can be priced, and how a person would say it."""

SETS: Final = MappingProxyType({"2": "all pairs of them", "1": "each by itself", "3": "all triples of them"})
"""How many columns each histogram of `marginals` has."""

MOST_SETS: Final = 60
POINTS: Final = 9
MOST_PREVIEWED: Final = 2**18
"""A question over more cells than this is previewed at one ε only."""

ROWS: Final = (100, 1_000, 10_000, 100_000)
"""A mean's error depends on the private number of rows: the preview shows it for each of these."""


@dataclass(frozen=True, kw_only=True)
class PricedQuestion:
    """A question with the ε to spend on it."""

    table: Table
    question: Question[Any]
    epsilon: str
    """As it was typed: exact."""

    off: str
    """What the error is measured in: rows, or units of a column."""

    about: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Labels of the answers, if the question has none."""

    @property
    def is_mean(self) -> bool:
        """Whether how far off it is depends on the number of rows."""
        return isinstance(self.question, SumOrMeanQuestion) and self.question.kind == "mean"

    @property
    def is_large(self) -> bool:
        """Whether a preview takes long."""
        return isinstance(self.question, CountsQuestion) and self.question.workload.shape[1] > MOST_PREVIEWED


def read_question(form: Form, table: Table) -> PricedQuestion:
    """The checked question of a form; a refusal names the field."""
    epsilon = form.needed("epsilon", "enter the ε to spend on this, for instance 0.1").replace(",", ".")
    form.number("epsilon", 1e-6, 1e4)
    kind, condition = form.choice("kind", list(KINDS)), form.text("where")
    with under_field({"column": "first", "by": "second", "columns": "among" if kind == "marginals" else "second"}):
        rows = table.where(condition) if condition else table
        question, off = _MAKERS[kind](form, rows)
    about = {f"{_first(form)} up to": table.schema.column(_first(form)).labels} if kind == "cumulative" else {}
    return PricedQuestion(table=table, question=question, epsilon=epsilon, off=off, about=about)


def numeric_columns(schema: Schema) -> list[str]:
    """Those that have sums, means and quantiles."""
    return [name for name, column in schema.items() if isinstance(column, Numeric)]


def _first(form: Form) -> str:
    name = form.raw_text("first")
    if not name:
        raise BadInput("first", "is missing", "choose a column")
    return name


def _second(form: Form) -> str | None:
    return form.raw_text("second") or None


def _algorithm(form: Form) -> str | None:
    named = form.text("algorithm", AUTOMATIC)
    return None if named == AUTOMATIC else named


def _histogram(form: Form, rows: Table) -> tuple[Question[Any], str]:
    columns = [name for name in (_first(form), _second(form)) if name]
    return rows.ask(*columns, algorithm=_algorithm(form)), "rows"


def _cumulative(form: Form, rows: Table) -> tuple[Question[Any], str]:
    name = _first(form)
    return rows.ask_ranges(name, workloads.prefix(rows.schema.column(name).size), algorithm=_algorithm(form)), "rows"


def _count(form: Form, rows: Table) -> tuple[Question[Any], str]:
    return rows.ask_count(), "rows"


def _total(form: Form, rows: Table) -> tuple[Question[Any], str]:
    name = _first(form)
    return rows.ask_total(form.text("kind"), name, _second(form)), f"units of {name}"


def _quantiles(form: Form, rows: Table) -> tuple[Question[Any], str]:
    return rows.ask_quantiles(_first(form), form.numbers("levels", 0.001, 0.999, 99)), "rows in its rank"


def _marginals(form: Form, rows: Table) -> tuple[Question[Any], str]:
    among = form.choices("among", list(rows.schema))
    size = int(form.choice("sets", list(SETS)))
    sets = list(combinations(among, min(size, len(among))))
    if len(sets) > MOST_SETS:
        raise BadInput("among", f"has {len(sets)} sets of columns, and may have {MOST_SETS}", "tick fewer columns")
    return rows.ask_marginals(*sets), "rows"


_MAKERS: Final[Mapping[str, Callable[[Form, Any], tuple[Question[Any], str]]]] = {
    "histogram": _histogram,
    "cumulative": _cumulative,
    "count": _count,
    "sum": _total,
    "mean": _total,
    "quantiles": _quantiles,
    "marginals": _marginals,
}

# ------------------------------------------------------------------------------------------------------------ previews


@dataclass(frozen=True)
class Previewed:
    """What ε buys, for one question."""

    charged: Any
    """The ε that it would be charged, exactly."""

    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    """The expected error against ε, by the name of the line."""

    at: Mapping[str, float]
    """The expected error at the requested ε, by the same names."""

    words: str


def previewed(priced: PricedQuestion, step: Callable[[int, int, str], None]) -> Previewed:
    """The expected error around the requested ε. It depends only on the question and ε, not on the rows."""
    wanted = float(priced.epsilon)
    around = [] if priced.is_large else [float(e) for e in wanted * np.geomspace(0.1, 10, POINTS)]
    points = []
    for number, epsilon in enumerate(around):
        step(number, POINTS + 1, f"at ε = {epsilon:.3g}")
        points.append(_off(priced, epsilon))
    step(len(around), POINTS + 1, f"at ε = {wanted:g}")
    at = _off(priced, priced.epsilon)
    everywhere = [name for name in at if points and all(name in point for point in points)]
    lines = {name: (around, [point[name] for point in points]) for name in everywhere}
    found = _preview(priced, priced.epsilon)
    return Previewed(found.epsilon, lines, at, _words(priced, at, found))


def _preview(priced: PricedQuestion, epsilon: Any, rows: int = ROWS[0]) -> Preview:
    if priced.is_mean and isinstance(priced.question, SumOrMeanQuestion):
        return priced.question.preview(epsilon=epsilon, rows=rows)
    return priced.question.preview(epsilon=epsilon)


def _off(priced: PricedQuestion, epsilon: Any) -> dict[str, float]:
    if priced.is_mean:
        return {f"{rows:,} rows": _preview(priced, epsilon, rows).margin for rows in ROWS}
    found = _preview(priced, epsilon)
    return {"typical answer": found.margin} | ({"hardest answer": found.widest} if found.widest > found.margin else {})


def _words(priced: PricedQuestion, at: Mapping[str, float], found: Preview) -> str:
    """The preview in words; where an algorithm's error depends on the data, a stand-in's error is shown."""
    if priced.is_mean:
        each = ", ".join(f"±{off:.3g} if there are {rows}" for rows, off in at.items())
        return f"Expected error at ε = {priced.epsilon}: {each} (95 % confidence). The number of rows is private."
    most = f", ±{found.widest:.3g} for the hardest answer" if "hardest answer" in at else ""
    by = "" if found.stand_in == found.algorithm else f", expected to be no worse than {found.stand_in}"
    return (
        f"Expected error at ε = {priced.epsilon}: ±{found.margin:.3g} {priced.off}{most} (95 % confidence). "
        f"Algorithm: {found.algorithm}{by}."
    )


def preview_figure(priced: PricedQuestion, found: Previewed) -> Any:
    """The expected error against ε."""
    figure = plots.new("What ε buys", x="ε", y=f"± {priced.off}, at 95 %", log_x=True, log_y=True)
    for place, (name, (along, off)) in enumerate(found.lines.items()):
        colour = plots.PALETTE[place] if priced.is_mean else (plots.ACCENT, plots.MUTED)[place]
        line = {"color": colour, "dash": "solid" if priced.is_mean or not place else "dot"}
        figure.add_scatter(x=along, y=off, mode="lines", name=name, line=line)
    marker = {"size": 12, "color": plots.CONTRAST, "symbol": "diamond"}
    at = list(found.at.values()) if priced.is_mean else list(found.at.values())[:1]
    figure.add_scatter(x=[float(priced.epsilon)] * len(at), y=at, mode="markers", name="your ε", marker=marker)
    return figure.update_layout(height=340)
