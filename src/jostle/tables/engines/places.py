"""Where the rows of a table are, by what is publicly known: files, tables of databases, names of a frame's columns.

Privacy: no row is read, and nothing here depends on one. Paths and numbers of files come from the operating system, tables
and what a view reads from catalogs. A copy of a file or a frame is another thing to both, and only its values could tell.
"""

from __future__ import annotations

import json
import os
import platform
import uuid
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from jostle.kernel.errors import BadInput
from jostle.tables.engines.sessions import rows_of

FILE, TABLE, FRAME = "file", "table", "frame"


@dataclass(frozen=True)
class RowPlace:
    """One place with rows."""

    kind: str
    """A file or folder, a table of a database, or a frame."""

    host: str = ""
    """The machine on which the path means something; empty for servers."""

    path: str = ""
    """Of a file, also of one that is a database; else which server and database."""

    name: str = ""
    """Of a table in its database; of a frame, those of its columns."""

    mark: str = ""
    """What a file or table keeps when it is renamed."""

    @classmethod
    def of_file(cls, path: str | os.PathLike[str], kind: str = FILE, name: str = "") -> RowPlace:
        """A file or a folder, by its path without links, and by its number and when it was last changed."""
        there = Path(path).expanduser().resolve()
        return cls(kind, platform.node(), str(there), name, _mark(there))

    @classmethod
    def of_frame(cls, names: Iterable[str]) -> RowPlace:
        return cls(FRAME, name=json.dumps(sorted(set(names)), ensure_ascii=False))

    @property
    def words(self) -> str:
        """What it is, for a message."""
        if self.kind == FRAME:
            return "a frame with these columns"
        return f"the table {self.name}" if self.kind == TABLE else Path(self.path).name

    def may_be(self, other: RowPlace) -> bool:
        """Whether it is that place, or shares rows with it; for a frame, whether nobody can tell.

        >>> people, ages = (RowPlace.of_frame(names) for names in (["age", "sex"], ["age"]))
        >>> people.may_be(ages), people.may_be(RowPlace.of_frame(["age", "city"]))
        (True, False)
        """
        if self.kind != other.kind:
            return False
        if self.kind == FRAME:
            mine, others = set(json.loads(self.name)), set(json.loads(other.name))
            return mine <= others or others <= mine
        if self.kind == FILE or self.host:
            return self.name == other.name and self._shares_files(other)
        renamed = bool(self.mark) and self.mark == other.mark
        return self.path == other.path and (self.name == other.name or renamed)

    def _shares_files(self, other: RowPlace) -> bool:
        from jostle.tables.engines.sources import share_files

        if self.host != other.host:
            return False
        if self.path == other.path or (self.mark and self.mark == other.mark):
            return True
        try:
            return share_files(Path(self.path), Path(other.path))
        except (OSError, ValueError, BadInput):  # what cannot be looked into
            return False


def _mark(path: Path) -> str:
    """The number of a file, which it keeps with another name; with its time, because a new file may get an old number."""
    try:
        known = path.stat()
    except (OSError, ValueError):
        return ""
    return f"{known.st_dev}:{known.st_ino}:{known.st_mtime_ns}"


def files_at(paths: Iterable[str | os.PathLike[str]]) -> frozenset[RowPlace]:
    """The places of files and folders."""
    return frozenset(map(RowPlace.of_file, paths))


# --------------------------------------------------------------------------------------------------------- databases

_PROCESS = uuid.uuid4().hex
_IN_MEMORY: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
"""Databases without a file, by their own connections: to Ibis, all of these are one."""


def places_in_database(connection: Any, name: str, place: Sequence[str]) -> frozenset[RowPlace]:
    """A table, and what is read with it: partitions, children, and whatever a view reads, as far as the catalog says."""
    if connection.name == "postgres":
        return _in_postgres(connection, name, place[0])
    find = _duckdb_view if connection.name == "duckdb" else _sqlite_view
    found: dict[tuple[str, ...], RowPlace] = {}
    read: set[RowPlace] = set()
    waiting = [(*place, name)]
    while waiting:
        full = waiting.pop()
        key = tuple(part.lower() for part in full)
        if key in found:
            continue
        found[key] = _in_file(connection, full)
        query = find(connection, full)
        if query is not None:
            tables, paths = _read_by(query, connection.name)
            waiting += [there for one in tables if (there := _looked_up(connection, one, full)) is not None]
            read |= files_at(path for one in paths for path in _matching(one))
    return frozenset(found.values()) | read


def _in_file(connection: Any, full: Sequence[str]) -> RowPlace:
    """A table of an embedded database: by the database's file if it has one."""
    if connection.name == "duckdb":
        known = dict(rows_of(connection, "SELECT database_name, path FROM system.main.duckdb_databases()"))
    else:
        known = {row[1]: row[2] for row in rows_of(connection, "PRAGMA database_list")}
    name = ".".join(full[1:]).lower()
    if known.get(full[0]):
        return RowPlace.of_file(known[full[0]], TABLE, name)
    return RowPlace(TABLE, path=_in_memory(connection.con), name=f"{full[0].lower()}.{name}")


def _in_memory(connection: Any) -> str:
    """A name for a database without a file, the same as long as its connection is there."""
    try:
        return _IN_MEMORY.setdefault(connection, uuid.uuid4().hex)
    except TypeError:  # SQLite's connections cannot be followed
        return f"{_PROCESS} {id(connection)}"


def _duckdb_view(connection: Any, full: Sequence[str]) -> str | None:
    query = "SELECT database_name, schema_name, view_name, sql FROM system.main.duckdb_views() WHERE NOT internal"
    return {tuple(row[:3]): row[3] for row in rows_of(connection, query)}.get(tuple(full))


def _sqlite_view(connection: Any, full: Sequence[str]) -> str | None:
    quoted = '"' + full[0].replace('"', '""') + '"'
    query = f"SELECT name, sql FROM {quoted}.sqlite_master WHERE type = 'view'"  # noqa: S608 (quoted)
    return dict(rows_of(connection, query)).get(full[1])


def _looked_up(connection: Any, named: tuple[str, ...], of: Sequence[str]) -> tuple[str, ...] | None:
    """The full name of a table that a view reads; None if the catalog has none, as for tables of the view's own."""
    from jostle.tables.engines.catalogs import ordinary_table

    near = [named[:-1]] if named[:-1] else [tuple(of[:-1]), ()]
    for place in near:
        try:
            there = ordinary_table(connection, named[-1], place, views=True)
        except BadInput:
            continue
        return (*there.place, there.name)
    return None


def _read_by(query: str, engine: str) -> tuple[list[tuple[str, ...]], list[str]]:
    """The tables and the files that a view reads, by its text; none where it is not understood."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        tree = sqlglot.parse_one(query, dialect=engine)
    except SqlglotError:
        return [], []
    body = tree.expression if isinstance(tree, exp.Create) else tree
    tables, paths = [], []
    for table in body.find_all(exp.Table):
        parts = tuple(part.name for part in table.parts)
        if len(parts) == 1 and isinstance(table.this, exp.Identifier) and Path(parts[0]).suffix:
            paths.append(parts[0])
        if isinstance(table.this, exp.Identifier):
            tables.append(parts)
        else:
            paths += [one.name for one in table.this.find_all(exp.Literal) if one.is_string]
    return tables, paths


def _matching(pattern: str) -> list[str]:
    """The files of a path that may be a pattern; the path itself if there are none."""
    from glob import glob

    return [pattern] if Path(pattern).exists() else glob(pattern, recursive=True)  # noqa: PTH207  # it may be absolute


_READ_WITH = """
    WITH RECURSIVE read AS (
        SELECT pg_catalog.to_regclass(%s)::pg_catalog.oid AS oid
        UNION SELECT next.oid FROM read JOIN (
            SELECT i.inhparent AS from_oid, i.inhrelid AS oid FROM pg_catalog.pg_inherits i
            UNION ALL
            SELECT r.ev_class, d.refobjid FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d
            ON d.objid OPERATOR(pg_catalog.=) r.oid
            AND d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_rewrite'::pg_catalog.regclass::pg_catalog.oid
            AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid
        ) next ON next.from_oid OPERATOR(pg_catalog.=) read.oid
    )
    SELECT DISTINCT c.oid::pg_catalog.text, n.nspname::pg_catalog.text, c.relname::pg_catalog.text
    FROM read JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) read.oid
    JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
"""
"""A table and everything that is read with it: partitions, children, and the tables behind a view."""

_MAY_ASK = "SELECT pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'execute')"
_CLUSTER = "SELECT system_identifier::pg_catalog.text FROM pg_catalog.pg_control_system()"
_ADDRESS = """
    SELECT coalesce(pg_catalog.inet_server_addr()::pg_catalog.text, 'local') OPERATOR(pg_catalog.||) ' '
    OPERATOR(pg_catalog.||) pg_catalog.current_setting('port')
"""
_DATABASE = (
    "SELECT oid::pg_catalog.text FROM pg_catalog.pg_database "
    "WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"
)


def _in_postgres(connection: Any, name: str, schema: str) -> frozenset[RowPlace]:
    """By the server's own number, which is the same by whatever address it is reached, the database's and the table's."""
    may_ask = rows_of(connection, _MAY_ASK)[0][0]
    server = rows_of(connection, _CLUSTER if may_ask else _ADDRESS)[0][0]
    path = f"postgresql {server} {rows_of(connection, _DATABASE)[0][0]}"
    said = ".".join('"' + part.replace('"', '""') + '"' for part in (schema, name))
    rows = rows_of(connection, _READ_WITH, [said])
    return frozenset(RowPlace(TABLE, path=path, name=f"{of}.{called}", mark=oid) for oid, of, called in rows)


# ------------------------------------------------------------------------------------------------------------- Spark


def places_in_spark(frame: Any, saved_as: str = "") -> frozenset[RowPlace]:
    """The files that a frame of Spark reads; without any, the table's name or the frame's columns."""
    found = set()
    for uri in frame.inputFiles():
        where = urlparse(uri)
        local = where.scheme in ("", "file")
        found.add(RowPlace.of_file(unquote(where.path)) if local else RowPlace(FILE, path=uri))
    if found:
        return frozenset(found)
    if saved_as:
        place = frame.sparkSession.conf.get("spark.sql.warehouse.dir")
        return frozenset({RowPlace(TABLE, path=f"spark {platform.node()} {place}", name=saved_as.lower())})
    return frozenset({RowPlace.of_frame(frame.columns)})
