"""Run queries in an engine: one at a time, and without repeating what the engine says when it fails."""

from __future__ import annotations

import logging
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from jostle.kernel.errors import JostleError


class EngineError(JostleError):
    """The engine failed. Its own message is not repeated, because it may quote values of the table."""

    def __init__(self, step: str) -> None:
        self.step = step
        super().__init__(
            f"The engine failed while {step}. Nothing was released, and its own message is withheld because it may quote "
            "private values. If something was charged, it is in the ledger and stays charged. Check that the data can be "
            "reached and read, that there is memory enough, and try again."
        )


def run_in_engine(step: str, work: Callable[[], Any], backend: Any = None) -> Any:
    """What the engine answers. A failure is raised without its message, and without the exception that has it.

    Warnings are hidden, too, and so is what Spark's clients in Python log: they may quote values, and are not meant for
    whoever wants a release. Only one thread at a time uses a backend: the answers to queries that run at once through one
    connection could be mixed up.
    """
    try:
        with _turn(backend), warnings.catch_warnings(action="ignore") if _PER_THREAD else _QUIET, _SILENT:
            return work()
    except JostleError:
        raise
    except Exception:  # noqa: BLE001  # whatever an engine raises may quote values
        failure = EngineError(step)
    raise failure  # outside of the handler, which would attach the engine's exception to this one


class _Quiet:
    """No warnings while a thread is inside. Filters are the process's: the first thread sets them, the last restores them.

    If each thread did so, the first to leave would show the warnings of those still inside, and the last might restore the
    filters that it found, which are another's, for good.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._before = threading.Lock(), 0, warnings.catch_warnings()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = warnings.catch_warnings()
                self._before.__enter__()
                warnings.simplefilter("ignore")
            self._inside += 1

    def __exit__(self, *what: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._before.__exit__(None, None, None)


_QUIET = _Quiet()

_PER_THREAD = bool(getattr(sys.flags, "context_aware_warnings", False))
"""Some builds of Python from 3.14 on have filters for each thread, which nobody else changes."""


class _Silent(threading.local):
    """Spark's clients in Python log nothing while this thread is inside; other threads log as they like.

    pyspark writes the message of a failed query to standard error by itself, and py4j logs every answer where somebody wants
    to see all messages. Both may quote values. A filter stays with its logger once it is there, and decides by the thread.
    """

    depth = 0

    def __enter__(self) -> None:
        for logger in _spark_loggers():
            logger.addFilter(_admits)  # nothing happens if it is there
        self.depth += 1

    def __exit__(self, *what: object) -> None:
        self.depth -= 1


_SILENT = _Silent()


def _admits(record: logging.LogRecord) -> bool:  # called by the thread that logs
    return _SILENT.depth == 0


def _spark_loggers() -> list[logging.Logger]:
    """The loggers of Spark's clients; none if Spark was never imported, and so never used."""
    pyspark = sys.modules.get("pyspark.logger")
    if pyspark is None:
        return []
    # Made by pyspark's own function: a plain logger under these names would not accept pyspark's records.
    made = [pyspark.PySparkLogger.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]
    return [*made, *(logging.getLogger(f"py4j.{name}") for name in ("clientserver", "java_gateway"))]


@dataclass(eq=False, repr=False)
class Query:
    """A query of one question: written once, planned before the charge, and run after it. It keeps no rows."""

    step: str
    """What the engine does, for the message if it fails."""

    write: Callable[[], Any]
    """Makes the Ibis table that the query stands for."""

    backend: Any
    drawn: bool = False
    """Whether writing it draws the rows of a sample. Such a query is not written before the charge: what the engine may
    refuse was found when the sample was planned."""

    # Not by cached_property: before Python 3.12, all threads would wait while one of them draws a sample.
    _table: Any = field(default=None, init=False)
    _text: str | None = field(default=None, init=False)

    @property
    def table(self) -> Any:
        """The Ibis table; kept until the query is run, because lists that it is joined to go with it."""
        if self._table is None:
            self._table = self.write()
        return self._table

    @property
    def text(self) -> str:
        """The query in SQL, with the lists that it is joined to in place. Only for the thread that uses the backend."""
        if self._text is None:
            self.backend._run_pre_execute_hooks(self.table)
            query = str(self.backend.compile(self.table))
            self._text = _in_a_row(query) if self.backend.name == "sqlite" else query
        return self._text

    def check(self) -> None:
        """Raise if the engine would refuse the query for what it is: it is planned, and not run. No row is looked at."""
        if not self.drawn:
            _ = self.table  # written first: a failure there is ours, and not the engine's
            run_in_engine("planning the query, before it was charged", self._plan, self.backend)

    def _plan(self) -> None:
        if self.backend.name == "pyspark":
            self.backend._session.sql(self.text)
        else:
            with self.backend._safe_raw_sql(f"EXPLAIN {self.text}") as plan:
                plan.fetchall()

    def fetch(self) -> Any:
        """The rows of the answer, as an Arrow table."""
        table = self.table  # which may draw a sample, in steps of its own
        return run_in_engine(self.step, lambda: self._run(table), self.backend)

    def _run(self, table: Any) -> Any:
        if self.backend.name == "sqlite":
            return _fetched_from_sqlite(self.backend, self.text, table)
        if self.backend.name != "duckdb":
            return table.to_pyarrow()
        # As Ibis does it, less a conversion that keeps whole numbers as they are, and that would load pandas first.
        return self.backend.con.sql(self.text).to_arrow_table()


@lru_cache(maxsize=64)
def _in_a_row(query: str) -> str:
    """Queries within queries one after another (WITH …), because SQLite's parser gives up where they are nested deeply.

    >>> _in_a_row("SELECT a FROM (SELECT 1 AS a) AS t")
    'WITH t AS (SELECT 1 AS a) SELECT a FROM t AS t'
    """
    import sqlglot
    from sqlglot.optimizer.eliminate_subqueries import eliminate_subqueries

    return str(eliminate_subqueries(sqlglot.parse_one(query, dialect="sqlite")).sql("sqlite"))


def _fetched_from_sqlite(backend: Any, query: str, table: Any) -> Any:
    import pyarrow as pa

    rows = backend.con.execute(query).fetchall()
    columns = zip(*rows, strict=True) if rows else ((),) * len(table.columns)
    return pa.table(dict(zip(table.columns, map(list, columns), strict=True)), schema=table.schema().to_pyarrow())


_turns: weakref.WeakKeyDictionary[Any, threading.RLock] = weakref.WeakKeyDictionary()
_opening = threading.RLock()


def _turn(backend: Any) -> threading.RLock:
    """The lock of a backend; threads that open something share one."""
    if backend is None:
        return _opening
    with _opening:
        return _turns.setdefault(backend, threading.RLock())
