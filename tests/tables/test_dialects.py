"""Ibis after jostle was used: whatever others ask of it in the same process, it has."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache

import pytest

USED = "import jostle.tables, ibis, ibis.backends.duckdb\n"
"""Ibis, loaded on jostle's behalf: it has the compiler of one engine."""

ALONE = "import ibis, sys, ibis.backends.duckdb\nassert 'jostle' not in sys.modules\n"
"""Ibis by itself: it has all compilers."""

CONNECTED = "ibis.duckdb.connect()\n"
TABLE = "t = ibis.table({'a': 'int', 'b': 'string'}, name='t')\n"

EACH = """
import json, os, sys, tempfile
def printed(code):
    with tempfile.TemporaryFile("w+") as output:
        child = os.fork()
        if not child:
            os.dup2(output.fileno(), 1)
            status = 1
            try:
                exec(code, {"__name__": "__main__", "ibis": ibis})
                sys.stdout.flush()
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        output.seek(0)
        return output.read() if status == 0 else f"ends with {status}"
print(json.dumps([printed(code) for code in json.load(sys.stdin)]))
"""
"""Runs each of several programs in a copy of one process, so that Ibis is loaded once for all of them."""


def printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def all_printed(before: str) -> dict[str, str]:
    """What every program prints in a process that began with this."""
    codes = json.dumps([CONNECTED + TABLE + code for code in CODES])
    done = subprocess.run([sys.executable, "-c", before + EACH], input=codes, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(zip(CODES, json.loads(done.stdout), strict=True))


def test_one_engine_loads_one_compiler() -> None:
    loaded = printed(USED + CONNECTED + "import sys; print(*sys.modules)").split()
    compilers = {name for name in loaded if name.startswith("ibis.backends.sql.compilers.")}
    assert {name.rpartition(".")[2] for name in compilers} == {"_compat", "base", "duckdb"}
    dialects = {name for name in loaded if name.startswith("sqlglot.dialects.")}
    assert {name.rpartition(".")[2] for name in dialects} == {"dialect", "duckdb"}


CODES = [
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
]


@pytest.mark.parametrize("code", CODES)
def test_ibis_does_what_it_does_by_itself(code: str) -> None:
    found = all_printed(USED)[code]
    assert found
    assert not found.startswith("ends with")
    assert found == all_printed(ALONE)[code]


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
    names = printed(USED + CONNECTED + code).split()
    assert len(names) >= 40
    assert (
        names == printed(USED + CONNECTED + "import ibis.backends.sql.compilers as c; print(*c.__all__, *c.__all__)").split()
    )


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
