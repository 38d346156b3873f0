"""Release: a curator's desk over one's own table and ledger. Nothing is shown that was not paid for.

The desk opens tables with `jostle.tables`, which reads names and types alone; asks for previews, which know the question
and ε alone; and releases, which the ledger charges first. A question can be paid for once: a form that is sent twice, by a
second click or by a browser that tries again, does not charge twice.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from jostle import algorithms, plots
from jostle.explorer import schema_form, uploads
from jostle.explorer.forms import Form
from jostle.explorer.jobs import Job, Shown
from jostle.explorer.pages import render
from jostle.kernel.budget import round_down
from jostle.kernel.errors import BadInput
from jostle.linear import workloads

if TYPE_CHECKING:
    from jostle.kernel.ledger import Ledger
    from jostle.releases import Release
    from jostle.tables.questions import Question
    from jostle.tables.table import Table

PATIENCE: Final = 5.0
"""Seconds to wait for others who write to the ledger."""

POINTS: Final = 9
MOST_PREVIEWED: Final = 2**18
"""A question over more cells than this is previewed at one ε alone."""

MOST_KEPT: Final = 20
LAST_EVENTS: Final = 8
AUTOMATIC: Final = "automatic"
KINDS: Final = {"histogram": "how many in each cell", "cumulative": "how many up to each cell"}


@dataclass(frozen=True)
class Asked:
    """A question that was previewed and can be paid for."""

    table: Table
    question: Question
    epsilon: str
    about: dict[str, list[str]]
    """What each answer is about, where the question does not say it in words."""


class Desk:
    """The tables that are open, the questions that were previewed, and what was released. All of it is in memory."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._tables: dict[str, Table] = {}
        self._questions: dict[str, Asked] = {}
        self._released: dict[str, Release] = {}
        self._ledger: Ledger | None = None

    def page_facts(self) -> dict[str, Any]:
        """What the page shows at first; a table that is open stays so when the page is loaded again."""
        key = next(reversed(self._tables), None)
        return {"opened": None if key is None else self._table_html(key), "kinds": schema_form.KIND_NAMES}

    # ------------------------------------------------------------------------------------------------- the table

    async def columns(self, form: Form) -> Shown:
        """The names and declared types of a table's columns, as a form to fill in."""
        from jostle.tables.engines import connect

        data, table = form.needed("data", "type the path of a file, or a postgresql:// URL"), form.text("table") or None

        def read() -> dict[str, str]:
            with self._turn:
                opened = connect(_expanded(data), table=table, wanted=[], columns=None, engine="duckdb").table
                return {str(name): str(kind) for name, kind in opened.schema().items()}

        rows = schema_form.draft(await run_in_threadpool(read))
        return Shown(render("release_schema.html", rows=rows, kinds=schema_form.KIND_NAMES))

    async def open(self, form: Form) -> Shown:
        """Open a table with its schema and its account."""
        data = form.needed("data", "type the path of a file, or a postgresql:// URL")
        file = await form.file("schema_file", uploads.LARGEST_FILE)
        written = form.text("schema") if file is None else uploads.text_of(file[1], "schema_file")
        schema = uploads.schema_of(written) if written else schema_form.read(form)
        ledger = form.needed("ledger", "type the path of the ledger's file, for instance budget.db; it is made if it is new")
        relation: Any = form.choice("neighbours", ["add_remove", "replace"])
        rest = {"budget": form.text("budget") or None, "name": form.text("name") or None, "unit": form.text("unit") or None}
        table = form.text("table") or None
        key = await run_in_threadpool(self._open, _expanded(data), schema, ledger, relation, table, rest)
        return Shown(self._table_html(key))

    def _open(self, data: Any, schema: Any, ledger: str, relation: Any, table: str | None, rest: dict[str, Any]) -> str:
        from jostle.kernel.ledger import Ledger
        from jostle.tables.opening import open as open_table

        with self._turn:
            try:
                book = Ledger(_expanded(ledger), timeout=PATIENCE)
            except BadInput as refused:
                raise BadInput("ledger", refused.problem, refused.remedy) from None
            try:
                opened = open_table(data, schema=schema, ledger=book, neighbours=relation, table=table, **rest)
            except BaseException as refused:
                book.close()
                if isinstance(refused, BadInput) and refused.argument == "cap":  # the ledger's word for it
                    raise BadInput("budget", refused.problem, refused.remedy) from None
                raise
            self._put_away()
            key = secrets.token_urlsafe(12)
            self._tables, self._ledger = {key: opened}, book
            return key

    def close(self) -> None:
        """Let go of the table and its ledger, after what is under way."""
        with self._turn:
            self._put_away()

    def _put_away(self) -> None:
        if self._ledger is not None:
            self._ledger.close()
        self._tables, self._questions, self._ledger = {}, {}, None

    def _table(self, form: Form) -> tuple[str, Table]:
        key = form.text("table_key")
        if key not in self._tables:
            raise BadInput("data", "no table is open", "open one first")
        return key, self._tables[key]

    def _table_html(self, key: str) -> str:
        table = self._tables[key]
        names = algorithms.names("range-1d") + algorithms.names("range-2d")
        return render(
            "release_question.html",
            key=key,
            table=table,
            unit=table.unit,
            columns={name: column.size for name, column in table.schema.items()},
            algorithms=[AUTOMATIC, *sorted(set(names))],
            kinds=KINDS,
            budget=self._budget_html(table),
        )

    def _budget_html(self, table: Table) -> str:
        account = _account(table)
        if account is None:
            return ""
        statement = account.ledger.statement(account.name)
        has = statement.balances[0]
        share = float(has.spent / has.cap) if has.cap else 1.0
        return render(
            "release_budget.html",
            has=has,
            share=share,
            remaining=round_down(has.remaining),
            events=statement.events[::-1][:LAST_EVENTS],
        )

    # ---------------------------------------------------------------------------------------------- the question

    async def preview(self, form: Form) -> Callable[[Job], Shown]:
        """Check a question, and reckon what it would be off by. It costs nothing."""
        _, table = self._table(form)
        epsilon = form.needed("epsilon", "type how much may be spent on this, for instance 0.1")
        form.number("epsilon", 1e-6, 1e4)
        asked = await run_in_threadpool(self._asked, form, table, epsilon.replace(",", "."))
        return lambda job: self._previewed(job, asked)

    def _asked(self, form: Form, table: Table, epsilon: str) -> Asked:
        names = [form.needed("first", "choose a column"), form.text("second")]
        picked = [name for name in names if name]
        kind, algorithm = form.choice("kind", list(KINDS)), form.text("algorithm", AUTOMATIC)
        chosen = None if algorithm == AUTOMATIC else algorithm
        with self._turn:
            condition = form.text("where")
            rows = table.where(condition) if condition else table
            if kind == "histogram":
                return Asked(table, rows.ask(*picked, algorithm=chosen), epsilon, {})
            if len(picked) > 1:
                raise BadInput("kind", "cumulative counts are of one column", "leave the second column out")
            labels = table.schema.column(picked[0]).labels
            question = rows.ask_ranges(picked[0], workloads.prefix(len(labels)), algorithm=chosen)
            return Asked(table, question, epsilon, {f"{picked[0]} up to": labels})

    def _previewed(self, job: Job, asked: Asked) -> Shown:
        remaining, wanted = asked.table.remaining, float(asked.epsilon)
        few = asked.question.workload.shape[1] > MOST_PREVIEWED
        around = np.array([]) if few else wanted * np.geomspace(0.1, 10, POINTS)
        points = []
        for number, epsilon in enumerate(around):
            job.step(number, POINTS + 1, f"at ε = {epsilon:.3g}")
            points.append((float(epsilon), asked.question.preview(epsilon=float(epsilon))))
        job.step(len(points), POINTS + 1, f"at ε = {wanted:g}")
        found = asked.question.preview(epsilon=asked.epsilon)
        key = secrets.token_urlsafe(12)
        with self._turn:
            self._questions[key] = asked
            while len(self._questions) > MOST_KEPT:
                del self._questions[next(iter(self._questions))]
        html = render(
            "release_preview.html",
            found=found,
            key=key,
            asked=asked,
            short=found.epsilon > remaining,
            remaining=round_down(remaining),
            after=round_down(max(remaining - found.epsilon, remaining * 0)),
            curve=bool(points),
        )
        return Shown(html, {"preview": preview_figure(points, wanted, found.margin).to_json()} if points else {})

    async def pay(self, form: Form) -> Callable[[Job], Shown]:
        """Release what was previewed. Each question is taken off the desk before it is paid for."""
        key = form.text("question")
        with self._turn:
            asked = self._questions.pop(key, None)
        if asked is None:
            raise BadInput("question", "was paid for already, or is not known any more", "preview it again")
        return lambda job: self._paid(job, key, asked)

    def _paid(self, job: Job, key: str, asked: Asked) -> Shown:
        job.message = "charging the ledger, counting and adding noise"
        try:
            with self._turn:
                released = asked.question.release(epsilon=asked.epsilon)
                released = replace(released, about=asked.about or released.about)
        except BaseException:
            self._questions[key] = asked  # it can be tried again, and the ledger says whether it was charged
            raise
        # From here on it is paid for: nothing may stop it on its way to the curator.
        self._released[key] = released
        while len(self._released) > MOST_KEPT:
            del self._released[next(iter(self._released))]
        job.message = "simulating how far off it may be"
        html = render(
            "release_result.html",
            released=released,
            key=key,
            asked=asked,
            rows=released.to_pandas().head(12).to_dict("split"),
            more=max(len(released.answers) - 12, 0),
            budget=self._budget_html(asked.table),
        )
        figures = {"released": released.plot()}
        if released.trace is not None:
            figures["trace"] = released.trace.plot()
        return Shown(html, {name: figure.to_json() for name, figure in figures.items()})

    def file(self, key: str, kind: str) -> tuple[str, str, str]:
        """A release as a file: its text, its type and a name for it."""
        released = self._released.get(key)
        if released is None:
            raise HTTPException(404, "This release is not known any more.")
        if kind == "csv":
            return released.to_pandas().to_csv(index=False), "text/csv", "release.csv"
        if kind == "txt":
            return released.explain() + "\n", "text/plain", "release.txt"
        if kind == "json" and released.trace is not None:
            return released.trace.dumps(), "application/json", "trace.json"
        raise HTTPException(404, "There is no such file.")


def preview_figure(points: Any, wanted: float, margin: float) -> Any:
    """How far off a typical answer is expected to be, against ε."""
    figure = plots.new("What ε buys", x="ε", y="± at 95 %", log_x=True, log_y=True)
    figure.add_scatter(
        x=[e for e, _ in points],
        y=[p.margin for _, p in points],
        mode="lines",
        name="typical answer",
        line_color=plots.ACCENT,
    )
    dashed = {"color": plots.MUTED, "dash": "dot"}
    figure.add_scatter(x=[e for e, _ in points], y=[p.widest for _, p in points], mode="lines", name="hardest", line=dashed)
    marker = {"size": 12, "color": plots.CONTRAST, "symbol": "diamond"}
    figure.add_scatter(x=[wanted], y=[margin], mode="markers", name="what you ask", marker=marker)
    return figure.update_layout(height=340)


def _expanded(path: str) -> str:
    return path if "://" in path else str(Path(path).expanduser())


def _account(table: Table) -> Any:
    return getattr(table._payer, "account", None)
