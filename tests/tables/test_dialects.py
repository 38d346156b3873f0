"""Ibis after jostle was used: whatever others ask of it in the same process, it has."""

from __future__ import annotations

import subprocess
import sys

import pytest

USED = "import jostle.tables, ibis\nibis.duckdb.connect()\n"
"""Ibis, loaded on jostle's behalf: it has the compiler of one engine."""

ALONE = "import ibis, sys\nibis.duckdb.connect()\nassert 'jostle' not in sys.modules\n"
"""Ibis by itself: it has all compilers."""

TABLE = "t = ibis.table({'a': 'int', 'b': 'string'}, name='t')\n"


def printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_engine_loads_one_compiler() -> None:
    loaded = printed(USED + "import sys; print(*sys.modules)").split()
    compilers = {name for name in loaded if name.startswith("ibis.backends.sql.compilers.")}
    assert {name.rpartition(".")[2] for name in compilers} == {"_compat", "base", "duckdb"}
    dialects = {name for name in loaded if name.startswith("sqlglot.dialects.")}
    assert {name.rpartition(".")[2] for name in dialects} == {"dialect", "duckdb"}


@pytest.mark.parametrize(
    "code",
    [
        "import ibis.backends.sql.compilers as c; print(c.TrinoCompiler, type(c.trino.compiler), c.base.STAR)",
        "from ibis.backends.sql.compilers import PostgresCompiler; print(PostgresCompiler)",
        "from ibis.backends.sql.compilers import *; print(AthenaCompiler, TrinoCompiler)",
        "from ibis.backends.sql.compilers import bigquery, base; print(type(bigquery.compiler), base.STAR)",
        "import ibis.backends.sql.compilers as c; print(c.__file__, c.__path__, type(c.__loader__), c.__spec__.name)",
        "import ibis.backends.sql.compilers as c; print([name for name in dir(c) if name[0] not in '_ab'])",
        "import ibis.backends.sql.compilers as c; print([hasattr(c, one) for one in ('No', 'nothing', '__wrapped__')])",
        "import ibis.backends.sql.compilers as c, importlib; print(importlib.reload(c).OracleCompiler)",
        "import pickle, ibis.backends.sql.compilers as c; print(pickle.loads(pickle.dumps(c.TrinoCompiler)))",
        "import ibis.backends.sql.compilers as c, inspect; print(inspect.getsource(c))",
        "print(ibis.sqlite.connect().list_tables(), ibis.sqlite.compile(t.a.sum()))",
        "print(ibis.postgres.compile(t.b.upper()), ibis.postgres.has_operation(type(t.a.sum().op())))",
        *(
            f"print(ibis.to_sql(t.group_by('b').agg(s=t.a.sum()), dialect={dialect!r}))"
            for dialect in ("athena", "bigquery", "clickhouse", "mssql", "postgres", "pyspark", "risingwave", "sqlite")
        ),
        *(
            f"print(ibis.duckdb.connect()._transpile_sql('select 1 as x', dialect={dialect!r}))"
            for dialect in ("mssql", "pyspark", "datafusion", "druid", "postgres", "clickhouse")
        ),
        "import sqlglot as sg; print([sg.Dialect.get(d) for d in ('druid', 'mssql', 'clickhouse', 'mysql', 'no dialect')])",
        "import sqlglot as sg; print(sg.transpile('select 1', write='exasol'), sg.Dialect.get('exasol'))",
        "import pickle; print(pickle.loads(pickle.dumps(t.select(c=t.a + 1))).equals(t.select(c=t.a + 1)))",
    ],
)
def test_ibis_does_what_it_does_by_itself(code: str) -> None:
    assert printed(USED + TABLE + code) == printed(ALONE + TABLE + code)


def test_nothing_is_different_where_ibis_was_loaded_before() -> None:
    code = (
        "import ibis, jostle.tables, sys; ibis.duckdb.connect(); print('ibis.backends.sql.compilers.trino' in sys.modules)"
    )
    assert printed(code) == "True\n"


def test_threads_may_ask_at_once() -> None:
    code = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
import ibis.backends.sql.compilers as c
names = [*c.__all__, *c.__all__]
together = Barrier(len(names))
def ask(name):
    together.wait()
    return getattr(c, name)
with ThreadPoolExecutor(len(names)) as pool:
    print(*[one.__name__ for one in pool.map(ask, names)])
"""
    names = printed(USED + code).split()
    assert len(names) >= 40
    assert names == printed(USED + "import ibis.backends.sql.compilers as c; print(*c.__all__, *c.__all__)").split()


@pytest.mark.parametrize(
    "text",
    [
        "from ibis.backends.sql.compilers.duckdb import DuckDBCompiler",  # no __all__
        "__all__ = ['A']\nfrom ibis.backends.sql.compilers.a import A as B",
        "__all__ = ['A']\nfrom elsewhere import A",
        "__all__ = ['A', 'B']\nfrom ibis.backends.sql.compilers.a import A\nB = 1",
        "__all__ = [",
        None,
    ],
)
def test_a_package_of_another_kind_loads_itself(text: str | None) -> None:
    from jostle.tables.engines import dialects

    class Loader:
        def get_source(self, name: str) -> str | None:
            return text

    assert dialects._homes(Loader()) == {}  # type: ignore[arg-type]
    assert dialects._homes(object()) == {}  # type: ignore[arg-type]
