"""How an engine is asked: in turn, and so that nothing of what it says when it fails is repeated."""

from __future__ import annotations

import logging
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from jostle.kernel.errors import JostleError


class EngineError(JostleError):
    """The engine did not do what it was asked. What it said is not repeated, because it may quote values of the table."""

    def __init__(self, step: str) -> None:
        self.step = step
        super().__init__(
            f"The engine failed while {step}. Nothing was released, and its own message is withheld because it may quote "
            "private values. If something was charged, it is in the ledger and stays charged. Check that the data can be "
            "reached and read, that there is memory enough, and try again."
        )


def asked(step: str, question: Callable[[], Any], backend: Any = None) -> Any:
    """What the engine answers; a failure is told without its words, and without the exception that has them.

    Its warnings are not shown either, nor what Spark's clients in Python log: they, too, may quote values, and they are not
    for whoever asks for a release. Whoever asks the same backend waits: the answers to questions that run at once through
    one connection could be mixed up.
    """
    try:
        with _turn(backend), warnings.catch_warnings(action="ignore") if _PER_THREAD else _QUIET, _SILENT:
            return question()
    except JostleError:
        raise
    except Exception:  # noqa: BLE001  # whatever an engine raises may quote values
        failure = EngineError(step)
    raise failure  # outside of the handler, which would attach the engine's exception to this one


class _Quiet:
    """No warnings while somebody is inside: filters are the process's, so the first sets them and the last restores them.

    If each who comes did so, the first to leave would show the warnings of those who are still inside, and the last might
    restore the filters that it found, which are another's, for good.
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
    """Nothing is logged by Spark's clients in Python while this thread is inside; other threads log as they like.

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
    """Where Spark's clients log what they were told; none where Spark was never imported, and so was never asked."""
    pyspark = sys.modules.get("pyspark.logger")
    if pyspark is None:
        return []
    # Made by pyspark's own function: a plain logger under these names would not take what pyspark tells it.
    made = [pyspark.PySparkLogger.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]
    return [*made, *(logging.getLogger(f"py4j.{name}") for name in ("clientserver", "java_gateway"))]


def query_of(table: Any, backend: Any) -> str:
    """The query that an Ibis table stands for, with the lists that it is joined to in place."""
    backend._run_pre_execute_hooks(table)
    query = str(backend.compile(table))
    return _in_a_row(query) if backend.name == "sqlite" else query


def _in_a_row(query: str) -> str:
    """Queries within queries one after another (WITH …), because SQLite's parser gives up where they are nested deeply.

    >>> _in_a_row("SELECT a FROM (SELECT 1 AS a) AS t")
    'WITH t AS (SELECT 1 AS a) SELECT a FROM t AS t'
    """
    import sqlglot
    from sqlglot.optimizer.eliminate_subqueries import eliminate_subqueries

    return str(eliminate_subqueries(sqlglot.parse_one(query, dialect="sqlite")).sql("sqlite"))


def fetched(step: str, table: Any, backend: Any) -> Any:
    """The rows of an Ibis table, as an Arrow table."""

    def run() -> Any:
        if backend.name == "sqlite":
            return _fetched_from_sqlite(table, backend)
        if backend.name != "duckdb":
            return table.to_pyarrow()
        # As Ibis does it, less a conversion that keeps whole numbers as they are, and that would load pandas first.
        return backend.con.sql(query_of(table, backend)).to_arrow_table()

    return asked(step, run, backend)


def _fetched_from_sqlite(table: Any, backend: Any) -> Any:
    import pyarrow as pa

    rows = backend.con.execute(query_of(table, backend)).fetchall()
    columns = zip(*rows, strict=True) if rows else ((),) * len(table.columns)
    return pa.table(dict(zip(table.columns, map(list, columns), strict=True)), schema=table.schema().to_pyarrow())


def check(table: Any, backend: Any) -> None:
    """Raise if the engine would refuse a query for what it is: it is planned, and not run. No row is looked at."""

    def planned() -> None:
        query = query_of(table, backend)
        if backend.name == "pyspark":
            backend._session.sql(query)
        else:
            with backend._safe_raw_sql(f"EXPLAIN {query}") as told:
                told.fetchall()

    asked("planning the query, before it was charged", planned, backend)


_turns: weakref.WeakKeyDictionary[Any, threading.RLock] = weakref.WeakKeyDictionary()
_opening = threading.RLock()


def _turn(backend: Any) -> threading.RLock:
    """Whose turn it is at a backend; those who open something share one."""
    if backend is None:
        return _opening
    with _opening:
        return _turns.setdefault(backend, threading.RLock())
