"""Release: a curator's desk for a private table and its ledger. It shows only what was paid for.

The desk opens tables with `jostle.tables`, which reads only names and types; previews, which need only the question and ε;
and releases, after the ledger is charged. A question can be paid for once: a form that is sent twice, by a second click or
by a browser that tries again, does not charge twice. What was paid for stays on the desk until the explorer ends, whatever
became of the page that requested it.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from jostle import algorithms
from jostle.choice.features import FEATURES
from jostle.explorer import schema_form, uploads, why
from jostle.explorer.forms import Form, under_field
from jostle.explorer.jobs import BackgroundJob, PageFragment, Work, in_words
from jostle.explorer.pages import drawn, render
from jostle.explorer.question_form import (
    AUTOMATIC,
    KINDS,
    SETS,
    PricedQuestion,
    numeric_columns,
    preview_figure,
    previewed,
    read_question,
)
from jostle.explorer.released import FIRST_ROWS, HOLDS_ANSWERS, MOST_DRAWN, Released, save
from jostle.explorer.reproduce import Opening, snippets
from jostle.kernel.budget import PURE, SYMBOLS
from jostle.kernel.errors import BadInput, JostleError, show
from jostle.kernel.ledger import limits
from jostle.kernel.measures import Approximate, Concentrated
from jostle.schema.schema import TextFormat
from jostle.tables.budget_source import PlannedAccount, existing_account
from jostle.tables.memory.overview import savings

if TYPE_CHECKING:
    from jostle.kernel.ledger import Ledger
    from jostle.kernel.ledger.events import Balance
    from jostle.tables.table import Table

T = TypeVar("T")

PATIENCE: Final = 5.0
"""Seconds to wait for others who write to the ledger."""

MOST_PREVIEWED: Final = 20
MOST_KEPT: Final = 100
MOST_LISTED: Final = 30
FIELDS: Final = {"max_rows": "unit", "location": "ledger"}
"""The form's fields for arguments of other names."""

MOST_LOOKED: Final = 40
"""A look at a synthetic table lists this many combinations."""

LAST_EVENTS: Final = 8
LAST_RELEASES: Final = 3


@dataclass(frozen=True)
class OpenTable:
    """The table that is open, its ledger, and what it was opened with."""

    key: str
    table: Table
    ledger: Ledger
    opening: Opening


class Desk:
    """The table that is open, the questions that were previewed, and what was released. All of it is in memory.

    Work on the table takes turns, outside the loop that serves pages. The lists have a lock of their own, which nobody holds
    for longer than a moment.
    """

    def __init__(self) -> None:
        self._turn, self._lists = threading.Lock(), threading.Lock()
        self._opened: OpenTable | None = None
        self._questions: dict[str, PricedQuestion] = {}
        self._listed: dict[str, PricedQuestion] = {}
        self._released: dict[str, Released] = {}

    async def current(self, form: Form) -> PageFragment:
        """What is on the desk, for a page that was loaded again."""
        return PageFragment(await run_in_threadpool(self._desk_html))

    # ------------------------------------------------------------------------------------------------- the table

    async def columns(self, form: Form) -> PageFragment:
        """The names and declared types of a table's columns, as a form to fill in."""
        from jostle.tables.guess_schema import kinds_of

        data, table = form.needed("data", "enter the path of a file, or a postgresql:// URL"), form.text("table") or None
        names = schema_form.names_in_line(form, data, to_show=True)
        written = TextFormat(delimiter=schema_form.delimiter(form))

        def read() -> dict[str, str]:
            with self._turn:
                return kinds_of(_expanded(data, "data"), table=table, columns=names, header=names is None, form=written)

        rows = schema_form.draft(await run_in_threadpool(read))
        return PageFragment(render("release_schema.html", rows=rows, kinds=schema_form.KIND_NAMES))

    async def open(self, form: Form) -> PageFragment:
        data = form.needed("data", "enter the path of a file, or a postgresql:// URL")
        file = await form.file("schema_file", uploads.LARGEST_FILE)
        written = form.text("schema") if file is None else uploads.text_of(file[1], "schema_file")
        schema = await run_in_threadpool(uploads.schema_of, written) if written else schema_form.read(form)
        ledger = form.needed("ledger", "enter the path of the ledger's file, for instance budget.db; a new one is created")
        said: dict[str, Any] = {name: form.text(name) or None for name in ("budget", "name", "unit", "table", "version")}
        said["budget"] = _cap(said["budget"])
        said["beside"] = [word.strip() for word in form.text("beside").split(",") if word.strip()] or None
        said |= {"neighbours": form.choice("neighbours", ["add_remove", "replace"]), "schema": schema}
        said["columns"] = schema_form.names_in_line(form, data, to_show=False)
        said["delimiter"] = schema_form.delimiter(form)
        await run_in_threadpool(self._open, _expanded(data, "data"), _expanded(ledger, "ledger"), said)
        return PageFragment(await run_in_threadpool(self._desk_html))

    def _open(self, data: str, ledger: str, said: dict[str, Any]) -> None:
        from jostle.kernel.ledger import Ledger
        from jostle.tables.opening import open as open_table

        with self._turn, under_field(FIELDS):
            book = Ledger(ledger, timeout=PATIENCE)
            try:
                opened = open_table(data, ledger=book, **said)
            except BaseException:
                book.close()
                raise
            self._put_away()
            how = {name: value for name, value in said.items() if name != "schema"}
            said_first = Opening(data=data, ledger=ledger, schema=opened.schema, how=how)
            self._opened = OpenTable(secrets.token_urlsafe(12), opened, book, said_first)

    def close(self) -> None:
        """Let go of the table and its ledger, after what is under way."""
        with self._turn:
            self._put_away()

    def _put_away(self) -> None:
        with self._lists:
            opened, self._opened, self._questions, self._listed = self._opened, None, {}, {}
        if opened is not None:
            opened.ledger.close()

    def _desk_html(self) -> str:
        opened = self._opened
        if opened is None:
            return self._list_html()
        table, names = opened.table, algorithms.names("range-1d") + algorithms.names("range-2d")
        return render(
            "release_question.html",
            key=opened.key,
            table=table,
            unit=table.unit,
            columns={name: column.size for name, column in table.schema.items()},
            numeric=numeric_columns(table.schema),
            algorithms=[AUTOMATIC, *sorted(set(names))],
            kinds=KINDS,
            sets=SETS,
            measure=table._budget.measure,
            listed=self._questions_html(),
            budget=self._budget_html(table),
            released=self._list_html(),
        )

    def _budget_html(self, table: Table) -> str:
        account = _account(table)
        if account is None:
            return ""
        if isinstance(account, PlannedAccount):  # it is made with the first charge
            return render("release_budget.html", **_balance(account.balance), key="", events=(), savings=())
        statement = account.ledger.statement(account.name)
        events = statement.events[::-1][:LAST_EVENTS]
        return render(
            "release_budget.html",
            **_balance(statement.balances[0]),
            key=self._opened.key if self._opened else "",
            events=events,
            savings=[one.in_words for one in savings(account.ledger, account.name)],
        )

    def _list_html(self) -> str:
        with self._lists:
            return render("release_list.html", released=dict(reversed(self._released.items())), shown=LAST_RELEASES)

    # ---------------------------------------------------------------------------------------------- the question

    async def preview(self, form: Form) -> Callable[[BackgroundJob], PageFragment]:
        """Check a question, and work out its expected error. It costs nothing."""
        opened = self._opened
        if opened is None or form.text("table_key") != opened.key:
            raise BadInput("data", "this table is not open any more", "open it again above")

        def read() -> PricedQuestion:
            with self._turn:
                return read_question(form, opened.table, list(self._listed.values()))

        question = await run_in_threadpool(read)
        return lambda job: self._previewed(job, question)

    def _previewed(self, job: BackgroundJob, question: PricedQuestion) -> PageFragment:
        found = previewed(question, job.step)
        left, key = question.table.remaining, secrets.token_urlsafe(12)
        account = _account(question.table)
        pure = account is None or account.balance.measure == PURE
        payable = question.table._budget.pays(found.charged)
        with self._lists:
            self._questions[key] = question
            while len(self._questions) > MOST_PREVIEWED:
                del self._questions[next(iter(self._questions))]
        html = render("release_preview.html", found=found, key=key, priced=question, left=left, payable=payable, pure=pure)
        return PageFragment(html, drawn({"preview": preview_figure(question, found)} if found.lines else {}))

    async def list_question(self, form: Form) -> PageFragment:
        """Put a previewed question on the list of those that are asked together, or take it off."""
        key = form.text("question")
        with self._lists:
            question = self._questions.get(key)
            if form.text("off"):
                self._listed.pop(form.text("off"), None)
            elif question is None:
                raise BadInput("question", "is not known any more", "preview it again")
            elif question.fields["kind"] == "batch":
                raise BadInput("question", "is the list itself", "preview another question")
            elif len(self._listed) >= MOST_LISTED:
                raise BadInput("question", f"would be number {MOST_LISTED + 1} of the list", "release the list first")
            else:
                self._listed[key] = question
        return PageFragment(self._questions_html())

    def _questions_html(self) -> str:
        with self._lists:
            return render("release_questions.html", listed=dict(self._listed))

    async def pay(self, form: Form, start: Callable[[Work], T]) -> T:
        """Release what was previewed, as work that is handed to `start`.

        Nobody is charged twice for two clicks. A question is taken off the desk first, under the lock: of clicks at the same
        time only one gets it, and the others are refused for as long as it is away. It comes back where `start` refuses the
        work, which then never runs (another failure would not tell whether it does); or once the work itself has failed,
        with the message that says what was charged. To click after that is to ask again.
        """
        key = form.text("question")
        with self._lists:
            question = self._questions.pop(key, None)
        if question is None:
            problem = "was paid for already, or is not known any more"
            raise BadInput("question", problem, "look under “Released so far”, or preview it again")
        try:
            return start(lambda job: self._paid(job, key, question))
        except BadInput:
            with self._lists:
                self._questions[key] = question
            raise

    def _paid(self, job: BackgroundJob, key: str, question: PricedQuestion) -> PageFragment:
        job.message = "charging the ledger, counting and adding noise"
        with self._turn:
            before = self._spent(question.table)
            try:
                released = self._release(key, question)
            except Exception as failure:  # noqa: BLE001  # whatever it was, the curator must know what became of the budget
                with self._lists:
                    self._questions[key] = question  # it can be tried again
                job.shown = PageFragment(self._budget_change(question.table))
                raise JostleError(f"{in_words(failure)} {self._charged(before, question.table)}") from None
            # From here on it is paid for: nothing may stop it on its way to the curator.
            budget = self._budget_change(question.table)
        job.message = "simulating how far off it may be"
        try:
            return self._result(key, released, budget)
        except Exception:  # noqa: BLE001  # a page that cannot be drawn must not look like a release that failed
            return PageFragment(render("release_kept.html", released=released, listed=self._list_html()) + budget)

    def _result(self, key: str, released: Released, budget: str) -> PageFragment:
        released.simulate()
        figures = {f"released-{n}": item for n, item in enumerate(released.figures().items())}
        opened = self._opened
        known = opened is not None and opened.table is released.priced.table
        html = render(
            "release_result.html",
            released=released,
            key=key,
            tables={what: (rows.in_text(), len(rows)) for what, rows in released.tables().items()},
            first=FIRST_ROWS,
            tree=None if released.trace is None else why.walked(released.trace),
            features={name: feature.about for name, feature in FEATURES.items()},
            figures={name: words for name, (words, _) in figures.items()},
            listed=self._list_html(),
            snippets=snippets(opened.opening, released.priced) if known and opened is not None else {},
        )
        shown = {name: figure for name, (_, figure) in figures.items()}
        return PageFragment(
            html + budget,
            drawn(shown | ({"trace": released.trace.plot()} if released.trace and released.trace.regrets else {})),
        )

    def _release(self, key: str, question: PricedQuestion) -> Released:
        price: dict[str, Any] = {"epsilon" if question.measure == PURE else "rho": question.amount}
        result = question.question.release(**price)
        if question.about:
            result = replace(result, about=question.about)
        kept = Released(priced=question, result=result)
        with self._lists:
            self._released[key] = kept
            fetched = [one for one, released in self._released.items() if released.fetched]
            for one in fetched[: max(len(self._released) - MOST_KEPT, 0)]:  # what nobody has yet is not lost
                del self._released[one]
        return kept

    def _budget_change(self, table: Table) -> str:
        """The new budget for the page; empty if the ledger cannot be read just now."""
        try:
            return render("release_spent.html", budget=self._budget_html(table))
        except Exception:  # noqa: BLE001  # what was paid for, or why it was not, is worth more than this
            return ""

    def _spent(self, table: Table) -> Any:
        """The total spent from the account, if it can be read; what is left would also change with the cap."""
        account = _account(table)
        try:
            if isinstance(account, PlannedAccount):  # others, or a question that failed, may have made it by now
                account = existing_account(account.ledger, account.name)
                return Fraction(0) if account is None else account.spent
            return None if account is None else account.ledger.balance(account.name).spent
        except JostleError:
            return None

    def _charged(self, before: Any, table: Table) -> str:
        """What a failed release did to the budget."""
        after = self._spent(table)
        if before is None or after is None:
            return "Look at the ledger before you try again: it may have been charged."
        if before == after:
            return "Nothing was charged."
        symbol = SYMBOLS.get(table._budget.measure, SYMBOLS[PURE])
        return f"{symbol} = {show(after - before)} was charged in the meantime, and does not come back."

    # ---------------------------------------------------------------------------------------------- what was released

    async def look(self, form: Form) -> PageFragment:
        """One or two columns of a synthetic table that was released: nothing is asked of the private one."""
        released = self._released.get(form.text("release"))
        made = None if released is None else released.synthetic
        if made is None:
            raise BadInput("one", "belongs to a table that is not kept any more", "look at the files")
        one, other = (form.raw_text(name) for name in ("one", "other"))
        with under_field({}, otherwise="one"):
            found = await run_in_threadpool(made.marginal, *dict.fromkeys(name for name in (one, other) if name))
        figure = {"looked": found.plot()} if found.counts.size <= MOST_DRAWN else {}
        rows, first = found.rows(), range(min(len(found.counts), MOST_LOOKED))
        shown = {"found": found, "columns": rows.at(first).in_text(), "left": len(rows) - len(first), "figure": bool(figure)}
        return PageFragment(render("release_look.html", **shown), drawn(figure))

    def file(self, key: str, kind: str) -> tuple[str | bytes, str, str]:
        """A release as a file: its content, its type and a name for it. `sent` says that somebody has it."""
        released = self._released.get(key)
        if kind == "claim" and (released is not None or self._is_open(key)):
            return self._claim(released.priced.table if released is not None else self._opened.table)  # type: ignore[union-attr]
        found = None if released is None else released.file(kind)
        if released is None or found is None:
            raise HTTPException(404, "There is no such file, or no longer.")
        return found

    def _is_open(self, key: str) -> bool:
        return self._opened is not None and secrets.compare_digest(key, self._opened.key)

    def _claim(self, table: Table) -> tuple[str, str, str]:
        """What the account that paid lets one claim."""
        from jostle.answers.claim import Claim

        account = _account(table)
        if account is None or isinstance(account, PlannedAccount):
            raise HTTPException(404, "There is no ledger to claim anything from.")
        statement = account.ledger.statement(account.name)
        return Claim.of(statement).to_markdown(), "text/markdown; charset=utf-8", "privacy-claim.md"

    def sent(self, key: str, kind: str) -> None:
        """Somebody has got the whole file: if the answers are in it, they need not be saved at the end."""
        released = self._released.get(key)
        if released is not None:
            released.fetched |= kind in HOLDS_ANSWERS

    def rescue(self, folder: Path) -> list[tuple[Released, Path | Exception]]:
        """Save what was paid for and never downloaded, when the explorer ends: where each is, or why it could not be saved.

        Each by itself, so that one that cannot be saved does not take others with it; and once, if it is asked for again.
        """
        with self._lists:
            waiting = [released for released in self._released.values() if not released.fetched]
        saved: list[tuple[Released, Path | Exception]] = []
        for released in waiting:
            try:
                saved.append((released, save(released, folder)))
            except Exception as failure:  # noqa: BLE001
                saved.append((released, failure))
        return saved


def _expanded(path: str, argument: str) -> str:
    try:
        return path if "://" in path else str(Path(path).expanduser())
    except RuntimeError:  # of a user whom nobody knows
        raise BadInput(argument, "begins with ~ and a name that has no folder of its own", "type the whole path") from None


def _cap(said: str | None) -> Any:
    """The total budget as it was typed: 1, or 1, 1e-6 for ε and δ, or rho=0.02."""
    with under_field({}, otherwise="budget"):
        symbol, equals, amount = (said or "").replace(" ", "").partition("=")
        if equals and symbol in ("rho", "ρ"):
            return Concentrated(amount)
        return Approximate(*said.split(",", 1)) if said and "," in said else said


def _balance(has: Balance) -> dict[str, Any]:
    """What the page says of an account."""
    symbol = SYMBOLS[has.measure if has.measure in SYMBOLS else PURE]
    share = float(has.spent / has.cap) if has.cap else 1.0
    return {"has": has, "symbol": symbol, "share": share, "limit": limits.words(has.limit)}


def _account(table: Table) -> Any:
    return getattr(table._budget, "account", None)
