"""Schema files: a schema as TOML, and drafts of one that their owner has to confirm.

A file has one table per column:

    [columns.age]
    kind = "integer"
    low = 0
    high = 99

A line `missing = ["NA", "?"]` lists codes for missing values: under a column for that column, before all columns for each
column without a list of its own. So do `decimal = ","` and `thousands = "."` for columns of numbers. Other lines before all
columns say how a text file is written: `delimiter = ";"`, `encoding = "latin-1"`, `quoted_line_breaks = true`; and
`sheet = "2024"`, which sheet of a workbook is meant.

A draft says with `to_confirm` which lines are guesses. A file that has such a line is refused: only a person who knows the
subject can say which values are possible, because reading the data for it would reveal them.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tomllib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Any

from jostle.kernel.errors import BadInput
from jostle.schema.columns import Column
from jostle.schema.schema import KINDS, SETTINGS, Schema, TextFormat

TO_CONFIRM = "to_confirm"
"""The key that lists what is a guess."""

MISSING_TEXTS = "missing"
"""The key that lists codes for missing values."""

SIGNS = ("decimal", "thousands")
"""The keys that say how numbers are written."""

DATA_FILES = (".csv", ".tsv", ".data", ".parquet", ".xlsx", ".gz", ".zst")
"""Files with these endings hold records, and no schema."""

_ON_MISSING = f'Codes for missing values get a line before all columns, such as {MISSING_TEXTS} = ["NA", "?"].'

_ON_FORMS = (
    'So do other signs of a text file: delimiter = ";", decimal = ",", thousands = ".", encoding = "latin-1". Dates other\n'
    'than 2024-12-31 get a line such as format = "%d.%m.%Y".'
)
_NO_FILE = "check the path, or draft one: jostle schema people.csv --header"

_GUESSES: Mapping[str, Mapping[str, Any]] = {
    "category": {"categories": ["…"]},
    "integer": {"low": 0, "high": 100},
    "real": {"low": 0.0, "high": 1.0, "bins": 64},
    "date": {"low": date(2000, 1, 1), "high": date(2030, 12, 31), "every": "month"},
    "boolean": {},
    "text": {},
}


def is_sqlite(path: Path) -> bool:
    """Whether a file is an SQLite database.

    SQLite itself says so: it may be an open ledger, and reading it in any other way drops the locks that SQLite holds on it
    for the whole process as soon as the file is closed. A file that may not be read counts as no database.

    It is opened as if the file could not change: then it needs no lock, which some file systems lack, and looks for no
    journal. It still knows the file for the one that others of this process have open, and does not close it while one of
    them holds a lock. How a database begins does not change from when it has a page, so it is no matter who writes to it.
    """
    if not os.access(path, os.R_OK):
        return False
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error as error:  # one that is damaged is a database all the same
        return getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_NOTADB
    return path.stat().st_size >= 512  # a file without content is anything, but no database with a page


def check_no_database(path: Path, argument: str) -> None:
    """Raise if a file that is about to be read as a text is a database: see `is_sqlite`."""
    # Path.is_file raises where a name is too long to be one
    if os.path.isfile(path) and is_sqlite(path):  # noqa: PTH113
        raise BadInput(argument, f"{path.name} is a database, and no text", "check the path")


def read(path: Path) -> Schema:
    """The schema in a file; an error names the column and the line that is wrong."""
    check_no_database(path, "schema")
    if path.suffix.lower() in DATA_FILES:  # it would be quoted in the error
        raise BadInput("schema", f"{path.name} is a file of data by its name", "name the schema, which ends in .toml")
    try:  # some editors begin a file with a mark of its encoding
        said = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError:
        raise BadInput("schema", f"there is no file {str(path)!r} that can be read", _NO_FILE) from None
    except UnicodeDecodeError:  # whose own message would say what is where, if it is the data that was named
        raise BadInput("schema", f"{path.name} is no text in UTF-8", "check the path") from None
    except RecursionError:
        raise BadInput("schema", f"{path.name} is nested too deeply", "write plain lists") from None
    except ValueError as error:  # TOML's own error, invalid characters, and numbers too long to be read
        raise BadInput("schema", f"{path.name} is no TOML: {error}", "repair that line") from None
    columns = said.pop("columns", None)
    for_all = {key: said.pop(key) for key in (MISSING_TEXTS, *SIGNS) if key in said}
    of_file = {key: said.pop(key) for key in SETTINGS if key in said}
    if said or not isinstance(columns, dict) or not columns:
        known = ", ".join((MISSING_TEXTS, *SIGNS, *SETTINGS))
        problem = f"{path.name} must describe columns, and nothing else but {known}"
        raise BadInput("schema", problem, "write a table [columns.NAME] for each")
    unconfirmed = [name for name, about in columns.items() if isinstance(about, dict) and about.get(TO_CONFIRM)]
    if unconfirmed:
        raise BadInput(
            "schema",
            f"{path.name} is a draft: {', '.join(unconfirmed)} are still to be confirmed",
            f"put in what is publicly known of each, never what the data happen to hold, and delete its line {TO_CONFIRM}",
        )
    schema = Schema({name: _column(name, about, for_all) for name, about in columns.items()})
    return schema.written_as(TextFormat(**of_file))


def _column(name: str, about: object, for_all: Mapping[str, Any]) -> Column:
    if not isinstance(about, dict):
        raise BadInput(f"columns.{name}", "must be a table", "write its lines under [columns.NAME]")
    named = about.get("kind")
    kind = KINDS.get(named) if isinstance(named, str) else None
    if kind is None:
        raise BadInput(f"columns.{name}.kind", "is missing or unknown", f"use one of {', '.join(KINDS)}")
    known = [f.name for f in fields(kind)]  # type: ignore[arg-type]  # every kind is a dataclass
    inherited = {key: value for key, value in for_all.items() if key in known}
    settings = inherited | {key: value for key, value in about.items() if key not in ("kind", TO_CONFIRM)}
    for key in settings:
        if key not in known:
            raise BadInput(f"columns.{name}.{key}", "is unknown", f"use some of {', '.join(known)}")
    try:
        return kind(**settings)
    except BadInput as error:
        raise BadInput(f"columns.{name}.{error.argument}", error.problem, error.remedy) from None
    except TypeError:
        raise BadInput(f"columns.{name}", "lacks a line", f"a column of this kind has {', '.join(known)}") from None


def write(schema: Schema, path: Path) -> None:
    """Write a schema, so that `read` gives it back."""
    columns = {name: column.to_dict() for name, column in schema.items()}
    _save(columns, path, "The public description of a table.", schema.text_format.settings)


def write_draft(kinds: Mapping[str, str], path: Path, text_format: TextFormat | None = None) -> None:
    """Write a draft from the columns' names and kinds. No value of the table has a part in it."""
    drafts: dict[str, dict[str, Any]] = {}
    for name, kind in kinds.items():
        if kind not in _GUESSES:
            raise BadInput("kinds", f"{kind!r} is unknown", f"use one of {', '.join(_GUESSES)}")
        guess = _GUESSES[kind]
        drafts[name] = {"kind": kind, **guess, TO_CONFIRM: ["kind", *guess]}
    headline = f"A draft. Put in what is publicly known of each column, then delete its line {TO_CONFIRM}."
    wrong = "Replace a kind that was guessed wrongly by one of these, with its lines:"
    said = {} if text_format is None else text_format.settings
    _save(drafts, path, "\n".join([headline, _ON_MISSING, _ON_FORMS, wrong, *_forms()]), said)


def _forms() -> list[str]:
    """The lines of each kind of column, with made-up bounds. As in a schema, one key per line."""
    return [
        f"{'    ' if key == 'kind' else '        '}{key} = {_toml(value)}"
        for kind, guess in _GUESSES.items()
        for key, value in {"kind": kind, **guess}.items()
    ]


def _save(columns: Mapping[str, Mapping[str, Any]], path: Path, headline: str, of_file: Mapping[str, Any]) -> None:
    tables = (
        "\n".join([f"[columns.{_toml(name)}]", *(f"{key} = {_toml(value)}" for key, value in about.items())])
        for name, about in columns.items()
    )
    comment = "\n".join(f"# {line}" for line in headline.split("\n"))
    settings = ["\n".join(f"{key} = {_toml(value)}" for key, value in of_file.items())] if of_file else []
    path.write_text("\n\n".join([comment, *settings, *tables]) + "\n", "utf-8")


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML strings are JSON's, but for this
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    return value.isoformat() if isinstance(value, date) else repr(value)
