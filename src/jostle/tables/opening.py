"""The front door: open a table, wherever it is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jostle.kernel.errors import BadInput
from jostle.kernel.ledger.events import check_text
from jostle.kernel.neighbours import Neighbours, Relation
from jostle.schema import Column, Integer, Real, Schema
from jostle.schema.written import check_signs
from jostle.tables.budget_source import (
    LONGEST_NAME,
    AccountBudget,
    PlannedAccount,
    account_in,
    account_of,
    check_agreement,
    check_note,
    ledger_if_there,
    protected_unit,
    remembered_unit,
)
from jostle.tables.cells.staged_columns import WHOSE
from jostle.tables.engines.catalogs import STABLE
from jostle.tables.engines.files import is_text, is_workbook
from jostle.tables.engines.sources import ENGINES, OpenedTable, check_columns, connect, identities, listed
from jostle.tables.one_account import ChargedPlaces
from jostle.tables.table import Table
from jostle.tables.unit import Unit
from jostle.tables.view import View, check_names

if TYPE_CHECKING:
    from jostle.kernel.ledger import Account, Ledger


def open(  # the name is the product's, and callers say jostle.open
    data: Any,
    *,
    schema: Schema | Mapping[str, Column] | str | Path,
    ledger: Ledger | str | Path | None = None,
    budget: Any = None,
    unit: Unit | str | None = None,
    neighbours: Relation | None = None,
    name: str | None = None,
    table: str | None = None,
    columns: Sequence[str] | None = None,
    engine: str = "duckdb",
    note: str = "",
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    encoding: str | None = None,
    quoted_line_breaks: bool | None = None,
    sheet: str | None = None,
    view: str | None = None,
    version: str | None = None,
    beside: str | Sequence[str] | None = None,
) -> Table:
    """Open a private table.

    - `data`: a path (CSV, TSV, Parquet, Excel, DuckDB, SQLite) or several, a postgresql:// URL, a frame of pandas or Polars,
      an Arrow table, a Spark session or frame, or an Ibis table on one of these engines. `table` says which table of a
      database it is; `columns` are the names of columns in a text file that has no line for them;
      `engine="spark"` reads files with Spark on this machine.
    - `schema`: the public description of the columns, or the path of a schema file. Other columns do not exist.
    - `ledger` and `budget`: where charges are recorded, and the most ε that may ever be spent on this data set. A budget is
      needed only the first time.
    - `name`: the account that pays. It can be left out for a single file, whose name it is then (`people` for `people.csv`),
      and for a table of a database. All questions about the same rows need the same name: each name has its own budget.
      Rows that another account of the ledger was charged for are refused, as far as that is publicly known.
    - `beside`: the name of such an account, or several, if the budgets of both are meant to be spent: their losses add up.
    - `unit`: whose rows are protected together, such as `Unit("person_id", max_rows=3)`; without it, whom the account
      protects, or each row by itself if the account is new.
    - `neighbours`: what one person may change: `add_remove`, or `replace`, where the number of rows is public; without it,
      as in the account, or `add_remove`.
    - `note`: what the answers are for, in your own words; the ledger keeps it with every charge.
    - `delimiter`, `decimal`, `thousands`, `encoding`, `quoted_line_breaks`: how a text file is written, where its schema
      file does not say so; `sheet`: which sheet of a workbook. With `quoted_line_breaks=True`, a record goes on over line
      breaks between quotation marks: only for files from a program that writes each row as one such record.
    - `view="each row comes from one row"`: declares, word by word, that a row of the tables behind a view of a database
      gives at most one row of it, whatever the other rows are, and that no value makes it fail. Other views are refused.
    - `version`: which state of the data this is, in your own words, such as "2026-10". Then what is released is kept beside
      the ledger's events, and later questions about the same version use it again: the same question is free, and what
      earlier answers say already is not bought twice. It is never read from the data: state another one when they change.

    Only names and types are read, and nothing is charged. A new account is made with its first charge.

    >>> import jostle, pandas, tempfile
    >>> from jostle.schema import Category, Integer
    >>> people = pandas.DataFrame({"age": [31, 45, 20, 38], "sex": ["F", "M", "F", "F"]})
    >>> table = open(
    ...     people,
    ...     schema={"age": Integer(0, 99, bins=10), "sex": Category(["F", "M"])},
    ...     ledger=tempfile.mkdtemp() + "/budget.db",
    ...     budget=1,
    ...     name="people",
    ... )
    >>> table
    <Table 'people' with age, sex; protects each row, add_remove>
    >>> ages = table.where("sex = 'F'").histogram("age", epsilon=0.5)
    >>> len(ages.answers), ages.spent, table.remaining
    (10, Fraction(1, 2), Fraction(1, 2))
    """
    data = listed(data)
    described = _schema(schema)
    said = {"delimiter": delimiter, "encoding": encoding, "quoted_line_breaks": quoted_line_breaks, "sheet": sheet}
    _check_file_settings(data, said)
    form = described.text_format.with_settings(**said)
    described = with_signs(described, decimal, thousands)
    whose = Unit.of(unit)
    if ledger is None:
        raise BadInput("ledger", "is missing, so charges could not be recorded", "pass a path, for instance 'budget.db'")
    check_names(described, whose)
    check_note(note)
    if version is not None:
        check_text(version, "version", LONGEST_NAME)
    _check_different(data)
    if not name:
        _check_single(data)
    how = {"table": table, "columns": columns, "engine": engine, "form": form, "views": _declared_stable(view, name)}
    opened = _opened(data, described, whose, how)
    called = name or opened.name
    if called is None:
        raise BadInput("name", "is missing: a frame has none of its own", "pass what the data set is called, name='people'")
    if neighbours is not None:
        neighbours = Neighbours(neighbours).relation  # which refuses what is neither
    book = ledger_if_there(ledger)
    charged = ChargedPlaces.of(opened.places, beside)
    account: Account | PlannedAccount
    with book.at_one_moment() if book is not None else nullcontext():
        found = account_in(book, called)
        if found is not None:
            check_agreement(found, neighbours, whose)
            neighbours, whose = found.neighbours.relation, whose or remembered_unit(found)
        is_new = charged.check(book, called)
        relation = Neighbours(neighbours or "add_remove", whose.max_rows if whose else 1)
        if found is None:
            account = PlannedAccount(ledger, called, budget, relation, whose)
        else:
            account = account_of(found.ledger, called, budget, relation, whose)
    if whose is not None and unit is None:
        opened = _opened(data, described, whose, how)
    known = WHOSE if whose and WHOSE in opened.table.columns else None
    origin: dict[str, Any] = {"filtered": opened.filtered, "origin": opened.origin, "live": opened.live}
    origin["scanned"] = opened.scanned
    source = "" if version is None else _told_apart(data, opened, how)
    rows = View.of(opened.table, described, whose, whose=known, source=source, **origin)
    return Table(
        [rows],
        AccountBudget(account, protected_unit(whose), note, version=version, charged=charged if is_new else None),
        called,
        whose,
    )


def _told_apart(data: Any, opened: OpenedTable, how: Mapping[str, Any]) -> str:
    """What tells the table from others of the same account: where it is, and how it is read. Never what is in it."""
    from jostle.tables.memory.states import digest

    places = []
    for one in data if isinstance(data, list) else [data]:
        if isinstance(one, str) and "://" in one:
            from sqlalchemy import make_url

            places.append(make_url(one).difference_update_query(["password", "sslpassword"]).render_as_string())
        elif isinstance(one, (str, os.PathLike)):
            places.append(str(Path(one).expanduser().resolve()))
        else:
            places.append(f"{type(one).__module__}.{type(one).__qualname__}")
    read = {name: repr(value) for name, value in sorted(how.items())}
    return digest("table", sorted(places), opened.name, read)


def _opened(data: Any, schema: Schema, whose: Unit | None, how: Mapping[str, Any]) -> OpenedTable:
    """The table, with the columns of the schema and the one that says whose rows they are."""
    check_names(schema, whose)
    wanted = [*schema, *([whose.column] if whose and whose.column not in schema else [])]
    opened = connect(data, wanted=wanted, person=whose.column if whose else None, **how)
    backend = opened.table.get_backend().name
    if backend not in ENGINES:
        raise BadInput("data", f"the engine {backend!r} is not supported", f"use one of {', '.join(ENGINES)}")
    check_columns(list(opened.table.columns), wanted)
    return opened


def _schema(schema: Any) -> Schema:
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, Mapping):
        return Schema(schema)
    if isinstance(schema, (str, os.PathLike)):
        return Schema.load(Path(schema))
    raise BadInput("schema", "must describe the columns", "pass a Schema, or the path of a schema file")


def _check_file_settings(data: Any, said: Mapping[str, Any]) -> None:
    """Refuse settings of text files and of workbooks for other data, where they would mean nothing."""
    paths = [Path(one) for one in _paths(data) if "://" not in str(one)]
    for name, value in said.items():
        fits = is_workbook if name == "sheet" else is_text
        if value is not None and not (paths and all(map(fits, paths))):
            kind = "workbooks" if name == "sheet" else "text files"
            raise BadInput(name, f"is only for {kind}", "leave it out")


def with_signs(schema: Schema, decimal: str | None, thousands: str | None) -> Schema:
    """With these signs for every column of numbers that does not declare its own."""
    if decimal is None and thousands is None:
        return schema
    check_signs("." if decimal is None else decimal, "" if thousands is None else thousands)
    made: dict[str, Column] = {}
    for name, column in schema.items():
        made[name] = column
        if isinstance(column, (Integer, Real)) and (column.decimal, column.thousands) == (".", ""):
            made[name] = replace(column, decimal=decimal or ".", thousands=thousands or "")
    return Schema(made)


def _declared_stable(view: str | None, name: str | None) -> bool:
    """Whether views may be opened; refused unless they were declared to be stable, and their rows have an account."""
    if view is None:
        return False
    if view != STABLE:
        raise BadInput("view", "must say what makes it stable", f'write view="{STABLE}" if that is so')
    if not name:
        problem = "is missing: a view shows the rows of other tables, and all questions about them need one account"
        raise BadInput("name", problem, "pass the name of the account that pays for those tables, name='people'")
    return True


def _check_single(data: Any) -> None:
    """Several files need a name: that of the first would also be its own if it is opened by itself."""
    several = isinstance(data, list) and len(data) > 1
    if several or any(os.path.isdir(one) for one in _paths(data)):  # noqa: PTH112
        what = "several files have" if several else "a folder has"
        problem = f"is missing: {what} no name of its own, and the name decides which budget pays"
        remedy = "use one name for all questions about the same rows, for instance name='people'"
        raise BadInput("name", problem, remedy)


def _paths(data: Any) -> list[Any]:
    """The paths or URLs, if the data are given by these."""
    named = data if isinstance(data, list) else [data]
    return named if all(isinstance(one, (str, os.PathLike)) for one in named) else []


def _check_different(data: Any) -> None:
    """Refuse a file that is named twice, or is in a folder by two names: every row would count twice."""
    named = _paths(data)
    several = len(named) > 1
    files = [known for one in named if several or os.path.isdir(one) for known in identities(Path(one))]  # noqa: PTH112
    if len(set(files)) < len(files):
        problem = "names some file twice, or has it in a folder by two names, and its rows would count twice"
        raise BadInput("data", problem, "name each file once, and take links out of folders")
