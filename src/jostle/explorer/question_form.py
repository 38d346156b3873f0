"""From a form to a question about a table that can be previewed and paid for; and its preview."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jostle import plots, workloads
from jostle.answers.batches import BatchPreview
from jostle.answers.previews import GroupPreviews, Preview, PreviewWithMemory
from jostle.explorer.forms import Form, under_field
from jostle.kernel.budget import CONCENTRATED, PURE, SYMBOLS, Price, exact
from jostle.kernel.errors import BadInput
from jostle.schema import Numeric, Schema
from jostle.schema.rows import short
from jostle.tables.aggregate_texts import parse_aggregates, split_aggregates
from jostle.tables.private_keys import PRIVATE
from jostle.tables.question import CountsQuestion, Question
from jostle.tables.sums_and_means import SumOrMeanQuestion
from jostle.tables.synthesis import SynthesisQuestion

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
        "groups": "several numbers per group: counts, means, medians …",
        "marginals": "counts over sets of columns",
        "synthetic": "a synthetic table: records that belong to nobody",
        "sql": "a question in SQL",
        "batch": "the questions of my list, together",
    }
)
"""What can be priced, and how a person would say it."""

SETS: Final = MappingProxyType({"2": "all pairs of them", "1": "each by itself", "3": "all triples of them"})
"""How many columns each histogram of `marginals` has."""

MOST_SETS: Final = 60
POINTS: Final = 9
MOST_RECORDS: Final = 1_000_000
"""The most records of a synthetic table, which is made in memory."""

MOST_LINES: Final = 6
"""A preview of more numbers shows the lines of the first ones."""

MOST_PREVIEWED: Final = 2**18
"""A question over more cells than this is previewed at one ε only."""

ROWS: Final = (100, 1_000, 10_000, 100_000)
"""A mean's error depends on the private number of rows: the preview shows it for each of these."""

WITHOUT_ROWS: Final = ("sql", "batch")
"""Questions that say themselves which rows they are about."""


@dataclass(frozen=True, kw_only=True)
class PricedQuestion:
    """A question with what to spend on it."""

    table: Table
    question: Question[Any]
    amount: str
    """The ε, or the ρ, as it was typed: exact."""

    measure: str
    off: str
    """What the error is measured in: rows, or units of a column."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    """What was filled in, from which code for the same question is written."""

    about: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Labels of the answers, if the question has none."""

    listed: tuple[PricedQuestion, ...] = ()
    """The questions of a list that are asked together."""

    rows: int | None = None
    """About how many rows somebody expects; errors of means depend on it."""

    @property
    def price(self) -> Price:
        return Price.of(self.amount) if self.measure == PURE else Price.of(None, self.amount)

    @property
    def symbol(self) -> str:
        return SYMBOLS[self.measure]

    @property
    def is_mean(self) -> bool:
        """Whether how far off it is depends on the number of rows."""
        measured = getattr(self.question, "asked", self.question)  # that of a statement in SQL
        return isinstance(measured, SumOrMeanQuestion) and measured.kind == "mean"

    @property
    def is_large(self) -> bool:
        """Whether a preview takes long."""
        return isinstance(self.question, CountsQuestion) and self.question.workload.shape[1] > MOST_PREVIEWED


def read_question(form: Form, table: Table, listed: Sequence[PricedQuestion] = ()) -> PricedQuestion:
    """The checked question of a form; a refusal names the field. `listed` are the questions that were put on a list."""
    amount = form.needed("epsilon", "enter the ε to spend on this, for instance 0.1").replace(",", ".")
    form.number("epsilon", 1e-6, 1e4)
    kind, condition = form.choice("kind", list(KINDS)), form.text("where")
    measure = form.choice("measure", [PURE, CONCENTRATED])
    expected = form.whole("rows", 1, 10**12) if form.text("rows") else None
    places = {"column": "first", "by": "second", "columns": "among" if kind in ("marginals", "synthetic") else "second"}
    if kind == "groups":
        places = {"aggregate": "aggregates", "columns": "grouped", "keys": "private_keys", "keys_delta": "private_keys"}
    if kind == "synthetic":
        places |= {"label": "second", "rows": "records"}
    with under_field(places, otherwise=_ONE_FIELD.get(kind)):
        rows = table.where(condition) if condition and kind not in WITHOUT_ROWS else table
        question, off = (table.ask_batch(*_listed(listed)), "") if kind == "batch" else _MAKERS[kind](form, rows)
    if measure != PURE and not question.in_rho:
        raise BadInput("measure", "this question can be paid for in ε only", "choose ε")
    about = {f"{_first(form)} up to": table.schema.column(_first(form)).labels} if kind == "cumulative" else {}
    return PricedQuestion(
        table=table,
        question=question,
        amount=amount,
        measure=measure,
        off=off,
        about=about,
        rows=expected,
        listed=tuple(listed) if kind == "batch" else (),
        fields=_fields(form),
    )


def _fields(form: Form) -> dict[str, Any]:
    """What was filled in."""
    found: dict[str, Any] = {name: form.raw_text(name) or "" for name in ("kind", "first", "second", "levels", "sets")}
    found |= {name: form.text(name) for name in ("where", "algorithm", "aggregates", "sql", "private_keys", "records")}
    return found | {name: form.ticked(name) for name in ("among", "grouped")}


def _listed(listed: Sequence[PricedQuestion]) -> list[Question[Any]]:
    if not listed:
        raise BadInput("kind", "the list is empty", "preview a question, and press “Add to my list” below it")
    return [one.question for one in listed]


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


def _groups(form: Form, rows: Table) -> tuple[Question[Any], str]:
    aggregates = parse_aggregates(split_aggregates(form.needed("aggregates", "write for instance count, mean(pay)")))
    names = [name for name in rows.schema if name in form.ticked("grouped")]
    return rows.ask_groups(names, aggregates, keys=PRIVATE if form.text("private_keys") else None), ""


def _synthetic(form: Form, rows: Table) -> tuple[Question[Any], str]:
    among = [name for name in rows.schema if name in form.ticked("among")]
    records = form.whole("records", 1, MOST_RECORDS) if form.text("records") else None
    return rows.ask_synthesis(*among, rows=records, label=_second(form)), "rows"


def _sql(form: Form, rows: Table) -> tuple[Question[Any], str]:
    text = form.needed("sql", "write for instance SELECT sex, COUNT(*) FROM people GROUP BY sex")
    return rows.ask_sql(text, keys=PRIVATE if form.text("private_keys") else None), ""


_ONE_FIELD: Final = MappingProxyType({"sql": "sql", "batch": "kind"})
"""Kinds of which every refusal belongs to one field."""

_MAKERS: Final[Mapping[str, Callable[[Form, Any], tuple[Question[Any], str]]]] = {
    "histogram": _histogram,
    "cumulative": _cumulative,
    "count": _count,
    "sum": _total,
    "mean": _total,
    "quantiles": _quantiles,
    "marginals": _marginals,
    "groups": _groups,
    "synthetic": _synthetic,
    "sql": _sql,
}

# ------------------------------------------------------------------------------------------------------------ previews


@dataclass(frozen=True)
class Previewed:
    """What a price buys, for one question."""

    charged: Price
    """What it would be charged, exactly."""

    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    """The expected error against ε, by the name of the line."""

    at: Mapping[str, float]
    """The expected error at the requested ε, by the same names; NaN where it depends on the number of rows."""

    words: str
    saving: str = ""
    """What is paid for already, in a sentence."""

    free: bool = False
    """Whether it would cost nothing, because of that."""

    each: bool = False
    """Whether the names are those of several answers, each with an error of its own."""


def previewed(priced: PricedQuestion, step: Callable[[int, int, str], None]) -> Previewed:
    """The expected error around the requested ε. It depends only on the question and ε, not on the rows."""
    wanted = float(priced.amount)
    around = [] if priced.is_large else [float(e) for e in wanted * np.geomspace(0.1, 10, POINTS)]
    points = []
    for number, amount in enumerate(around):
        step(number, POINTS + 1, f"at {priced.symbol} = {amount:.3g}")
        points.append(_off(priced, replace(priced.price, amount=exact(amount))))
    step(len(around), POINTS + 1, f"at {priced.symbol} = {wanted:g}")
    at, found = _off(priced, priced.price), _preview(priced, priced.price)
    everywhere = [name for name in at if points and all(math.isfinite(point.get(name, math.nan)) for point in points)]
    lines = {name: (around, [point[name] for point in points]) for name in everywhere[:MOST_LINES]}
    charged, saving, free = Price(found.epsilon, found.measure), "", False
    if isinstance(found, PreviewWithMemory):
        saving, free = found.saving, found.is_free
    elif isinstance(found, GroupPreviews) and found.cost is not None:
        saving, free = found.saving, not found.cost.amount
    return Previewed(charged, lines, at, _words(priced, at, found), saving, free, each=hasattr(found, "margins"))


def _preview(priced: PricedQuestion, price: Price, rows: int = ROWS[0]) -> Preview:
    if priced.is_mean:
        return priced.question.preview(epsilon=price, rows=rows)
    return priced.question.preview(epsilon=price, rows=priced.rows)


def _off(priced: PricedQuestion, price: Price) -> dict[str, float]:
    if priced.is_mean:
        counts = ROWS if priced.rows is None else [priced.rows]
        return {f"{rows:,} rows": _preview(priced, price, rows).margin for rows in counts}
    found = _preview(priced, price)
    if isinstance(found, (GroupPreviews, BatchPreview)):
        return dict(found.margins)
    hardest = found.widest > found.margin and not found.assumed
    return {"typical answer": found.margin} | ({"hardest answer": found.widest} if hardest else {})


def _words(priced: PricedQuestion, at: Mapping[str, float], found: Preview) -> str:
    """The preview in words; where an algorithm's error depends on the data, a stand-in's error is shown."""
    so = f"Expected error at {priced.symbol} = {priced.amount}"
    if priced.is_mean:
        each = ", ".join(f"± {short(off)} if there are {rows}" for rows, off in at.items())
        return f"{so}: {each} (95 % confidence). The number of rows is private."
    if isinstance(found, BatchPreview):
        return f"{so} for {len(at)} questions together (95 % confidence). {found.why}"
    if isinstance(found, GroupPreviews):
        given = f" {found.assumed[:1].upper()}{found.assumed[1:]}." if found.assumed else ""
        shown = found.even_chance
        seen = "" if shown is None else f" A group of {shown:,} has an even chance to be shown."
        return f"{so}, for each of the numbers (95 % confidence).{given}{seen}"
    most = f", ± {short(found.widest)} for the hardest answer" if "hardest answer" in at else ""
    by = "" if found.stand_in == found.algorithm else f", which should do no worse than {found.stand_in}"
    off = f" {priced.off}" if priced.off else ""
    if isinstance(priced.question, SynthesisQuestion):
        each = f"± {short(found.margin)}{off} for each count of one column{most} (95 % confidence)"
        return f"{so}: at most {each}. That of several columns depends on the data: what is released says how sure it is."
    return f"{so}: ± {short(found.margin)}{off}{most} (95 % confidence). Algorithm: {found.algorithm}{by}."


def preview_figure(priced: PricedQuestion, found: Previewed) -> Any:
    """The expected error against ε."""
    unit = f"± {priced.off}" if priced.off else "±"
    figure = plots.new(f"What {priced.symbol} buys", x=priced.symbol, y=f"{unit}, at 95 %", log_x=True, log_y=True)
    many = priced.is_mean or found.each
    for place, (name, (along, off)) in enumerate(found.lines.items()):
        colour = plots.PALETTE[place] if many else (plots.ACCENT, plots.MUTED)[place]
        line = {"color": colour, "dash": "solid" if many or not place else "dot"}
        figure.add_scatter(x=along, y=off, mode="lines", name=name, line=line)
    marker = {"size": 12, "color": plots.CONTRAST, "symbol": "diamond"}
    at = [found.at[name] for name in found.lines]
    at = at if many else at[:1]
    here = [float(priced.amount)] * len(at)
    figure.add_scatter(x=here, y=at, mode="markers", name=f"your {priced.symbol}", marker=marker)
    return figure.update_layout(height=340)
