"""Real engines for the tests of tables: the same columns of values in DuckDB, PostgreSQL, Spark and SQLite."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jostle.tables.engines.sources import local_spark
from jostle.tables.run_in_engine import run_in_engine

ENGINES = ("duckdb", "postgres", "pyspark", "sqlite")
Load = Callable[..., Any]
"""From columns, each with its Arrow type and its values, to what `jostle.open` takes, and the keywords for it."""

Columns = Mapping[str, tuple[pa.DataType, Sequence[Any]]]

POSTGRES_TYPES = {
    pa.string(): "text",
    pa.float64(): "double precision",
    pa.float32(): "real",
    pa.int64(): "bigint",
    pa.int32(): "integer",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
}


def arrow(columns: Columns) -> pa.Table:
    return pa.table({name: pa.array(values, kind) for name, (kind, values) in columns.items()})


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Spark in local mode; skipped where there is none, unless JOSTLE_REQUIRE_ALL=1 asks for every test to run."""
    missing = [
        what
        for what, there in (("Java", shutil.which("java")), ("pyspark", importlib.util.find_spec("pyspark")))
        if not there
    ]
    if missing:
        reason = f"{' and '.join(missing)} not installed"
        if os.environ.get("JOSTLE_REQUIRE_ALL") == "1":
            pytest.fail(f"JOSTLE_REQUIRE_ALL=1, but {reason}")
        pytest.skip(reason)
    session = run_in_engine("starting Spark", local_spark)
    yield session
    session.stop()


@pytest.fixture(params=ENGINES)
def load(request: pytest.FixtureRequest, tmp_path: Path) -> Load:
    """A function that puts columns into the engine."""
    makers = {"duckdb": into_parquet, "postgres": into_postgres, "pyspark": _into_spark, "sqlite": _into_sqlite}
    needed = {"postgres": "postgres", "pyspark": "spark"}.get(request.param)
    server = request.getfixturevalue(needed) if needed else None
    made: Load = lambda columns: makers[request.param](columns, tmp_path, server)  # noqa: E731
    made.engine = request.param
    return made


def into_parquet(columns: Columns, folder: Path, _: Any) -> tuple[Any, dict[str, Any]]:
    path = folder / f"people_{uuid.uuid4().hex}.parquet"
    pq.write_table(arrow(columns), path)
    return path, {}


def into_postgres(columns: Columns, _: Path, server: Any) -> tuple[Any, dict[str, Any]]:
    url = server.new_schema()
    plain, search_path = url.replace("+psycopg", "").split("?options=")
    with psycopg.connect(plain, options=search_path.replace("%3D", "=")) as connection:
        names = ", ".join(f'"{name}" {POSTGRES_TYPES[kind]}' for name, (kind, _) in columns.items())
        connection.execute(f"CREATE TABLE people ({names})")
        rows = zip(*(values for _, values in columns.values()), strict=True)
        with connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO people VALUES ({', '.join(['%s'] * len(columns))})", list(rows))
    return url, {"table": "people"}


def _into_spark(columns: Columns, folder: Path, session: Any) -> tuple[Any, dict[str, Any]]:
    path, _ = into_parquet(columns, folder, None)
    return session.read.parquet(str(path)), {"table": f"people_{uuid.uuid4().hex}"}


def _into_sqlite(columns: Columns, folder: Path, _: Any) -> tuple[Any, dict[str, Any]]:
    path = folder / f"{uuid.uuid4().hex}.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE people ({', '.join(chr(34) + name + chr(34) for name in columns)})")
        values = [[_stored(v) for v in values] for _, values in columns.values()]
        connection.executemany(f"INSERT INTO people VALUES ({', '.join('?' * len(columns))})", zip(*values, strict=True))
    connection.close()
    return path, {"table": "people"}


def _stored(value: Any) -> Any:
    """SQLite has neither days nor truth values, and keeps no NaN."""
    if hasattr(value, "isoformat"):
        return value.isoformat(*([" "] if hasattr(value, "hour") else []))
    return int(value) if isinstance(value, bool) else value
