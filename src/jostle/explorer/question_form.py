"""What a curator may ask of a table, from a form to a question that can be previewed and paid for; and its preview."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from jostle import plots, workloads
from jostle.answers.previews import Preview
from jostle.explorer.forms import Form
from jostle.kernel.errors import BadInput
from jostle.schema import Numeric, Schema
from jostle.tables.question import Question
from jostle.tables.totals import Total

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
"""What can be asked, and how a person would say it."""

SETS: Final = MappingProxyType({"2": "all pairs of them", "1": "each by itself", "3": "all triples of them"})
"""How many columns each histogram of `marginals` has."""

MOST_SETS: Final = 60
POINTS: Final = 9
MOST_PREVIEWED: Final = 2**18
"""A question over more cells than this is previewed at one ε alone."""

ROWS: Final = (100, 1_000, 10_000, 100_000)
"""A mean's error depends on how many rows there are, which is private: it is told for each of these."""


class Answerable(Protocol):
    """A question of any kind."""

    @property
    def what(self) -> str: ...

    def preview(self, *, epsilon: Any) -> Preview: ...

    def release(self, *, epsilon: Any) -> Any: ...


@dataclass(frozen=True, kw_only=True)
class PricedQuestion:
    """A question of a curator, with what it may cost."""

    table: Table
    question: Answerable
    epsilon: str
    """What it may cost, as it was typed: exact."""

    off: str
    """What answers are off by: rows, or units of a column."""

    about: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What each answer is about, where the question does not say it in words."""

    @property
    def is_mean(self) -> bool:
        """Whether how far off it is depends on the number of rows."""
        return isinstance(self.question, Total) and self.question.kind == "mean"

    @property
    def is_large(self) -> bool:
        """Whether a preview takes long."""
        return isinstance(self.question, Question) and self.question.workload.shape[1] > MOST_PREVIEWED


def asked(form: Form, table: Table) -> PricedQuestion:
    """The question that a form describes, checked; an error names the field."""
    epsilon = form.needed("epsilon", "type how much may be spent on this, for instance 0.1").replace(",", ".")
    form.number("epsilon", 1e-6, 1e4)
    kind, condition = form.choice("kind", list(KINDS)), form.text("where")
    try:
        rows = table.where(condition) if condition else table
        question, off = _MAKERS[kind](form, rows)
    except BadInput as refused:
        field = {"column": "first", "by": "second", "columns": "second" if kind != "marginals" else "among"}
        raise BadInput(field.get(refused.argument, refused.argument), refused.problem, refused.remedy) from None
    about = {f"{_first(form)} up to": table.schema.column(_first(form)).labels} if kind == "cumulative" else {}
    return PricedQuestion(table=table, question=question, epsilon=epsilon, off=off, about=about)


def numeric_columns(schema: Schema) -> list[str]:
    """Those that have sums, means and quantiles."""
    return [name for name, column in schema.items() if isinstance(column, Numeric)]


def _first(form: Form) -> str:
    name = form.as_it_stands("first")
    if not name:
        raise BadInput("first", "is missing", "choose a column")
    return name


def _second(form: Form) -> str | None:
    return form.as_it_stands("second") or None


def _algorithm(form: Form) -> str | None:
    named = form.text("algorithm", AUTOMATIC)
    return None if named == AUTOMATIC else named


def _histogram(form: Form, rows: Table) -> tuple[Answerable, str]:
    columns = [name for name in (_first(form), _second(form)) if name]
    return rows.ask(*columns, algorithm=_algorithm(form)), "rows"


def _cumulative(form: Form, rows: Table) -> tuple[Answerable, str]:
    name = _first(form)
    return rows.ask_ranges(name, workloads.prefix(rows.schema.column(name).size), algorithm=_algorithm(form)), "rows"


def _count(form: Form, rows: Table) -> tuple[Answerable, str]:
    return rows.ask_count(), "rows"


def _total(form: Form, rows: Table) -> tuple[Answerable, str]:
    name = _first(form)
    return rows.ask_total(form.text("kind"), name, _second(form)), f"units of {name}"


def _quantiles(form: Form, rows: Table) -> tuple[Answerable, str]:
    return rows.ask_quantiles(_first(form), form.numbers("levels", 0.001, 0.999, 99)), "rows in its rank"


def _marginals(form: Form, rows: Table) -> tuple[Answerable, str]:
    among = form.choices("among", list(rows.schema))
    size = int(form.choice("sets", list(SETS)))
    sets = list(combinations(among, min(size, len(among))))
    if len(sets) > MOST_SETS:
        raise BadInput("among", f"has {len(sets)} sets of columns, and may have {MOST_SETS}", "tick fewer columns")
    return rows.ask_marginals(*sets), "rows"


_MAKERS: Final[Mapping[str, Callable[[Form, Any], tuple[Answerable, str]]]] = {
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
    """How far off answers are against ε, by what the line is about."""

    at: Mapping[str, float]
    """How far off they are at the ε that was asked for, by the same names."""

    words: str


def previewed(asked: PricedQuestion, step: Callable[[int, int, str], None]) -> Previewed:
    """Reckon what a question would be off by, around the ε that was asked for. It knows the question and ε alone."""
    wanted = float(asked.epsilon)
    around = [] if asked.is_large else [float(e) for e in wanted * np.geomspace(0.1, 10, POINTS)]
    points = []
    for number, epsilon in enumerate(around):
        step(number, POINTS + 1, f"at ε = {epsilon:.3g}")
        points.append(_off(asked, epsilon))
    step(len(around), POINTS + 1, f"at ε = {wanted:g}")
    at = _off(asked, asked.epsilon)
    lines = {name: (around, [point[name] for point in points]) for name in at} if points else {}
    found = _preview(asked, asked.epsilon)
    return Previewed(found.epsilon, lines, at, _words(asked, at, found))


def _preview(asked: PricedQuestion, epsilon: Any, rows: int = ROWS[0]) -> Preview:
    if asked.is_mean and isinstance(asked.question, Total):
        return asked.question.preview(epsilon=epsilon, rows=rows)
    return asked.question.preview(epsilon=epsilon)


def _off(asked: PricedQuestion, epsilon: Any) -> dict[str, float]:
    if asked.is_mean:
        return {f"{rows:,} rows": _preview(asked, epsilon, rows).margin for rows in ROWS}
    found = _preview(asked, epsilon)
    return {"typical answer": found.margin} | ({"hardest answer": found.widest} if found.widest > found.margin else {})


def _words(asked: PricedQuestion, at: Mapping[str, float], found: Preview) -> str:
    """What to expect; a stand-in is what the error was reckoned by, where the algorithm's own depends on the data."""
    if asked.is_mean:
        each = ", ".join(f"±{off:.3g} if there are {rows}" for rows, off in at.items())
        return f"At ε = {asked.epsilon}, off by up to {each}, at 95 %. How many there are is private, so choose a line."
    most = f", the hardest by up to ±{found.widest:.3g}" if "hardest answer" in at else ""
    by = f"by {found.algorithm}" + (
        "" if found.stand_in == found.algorithm else f", expected to be no worse than {found.stand_in}"
    )
    return f"At ε = {asked.epsilon}, a typical answer is off by up to ±{found.margin:.3g} {asked.off} at 95 %{most}; {by}."


def preview_figure(asked: PricedQuestion, found: Previewed) -> Any:
    """How far off answers are expected to be, against ε."""
    figure = plots.new("What ε buys", x="ε", y=f"± {asked.off}, at 95 %", log_x=True, log_y=True)
    for place, (name, (along, off)) in enumerate(found.lines.items()):
        colour = plots.PALETTE[place] if asked.is_mean else (plots.ACCENT, plots.MUTED)[place]
        line = {"color": colour, "dash": "solid" if asked.is_mean or not place else "dot"}
        figure.add_scatter(x=along, y=off, mode="lines", name=name, line=line)
    marker = {"size": 12, "color": plots.CONTRAST, "symbol": "diamond"}
    at = list(found.at.values()) if asked.is_mean else list(found.at.values())[:1]
    figure.add_scatter(x=[float(asked.epsilon)] * len(at), y=at, mode="markers", name="what you ask", marker=marker)
    return figure.update_layout(height=340)
