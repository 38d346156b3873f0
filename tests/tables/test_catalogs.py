"""Only ordinary tables with columns of known types are opened; everything else is refused before anything is charged."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import duckdb
import ibis
import ibis.expr.operations as ops
import psycopg
import pyarrow as pa
import pytest

from jostle.kernel.errors import BadInput
from jostle.schema import Category, Date, Integer, values
from jostle.schema.values import LONGEST_TEXT
from jostle.tables.cells.readings import octets, stripped
from jostle.tables.columns import EngineColumns
from jostle.tables.engines import databases, sessions
from jostle.tables.engines.catalogs import GENERATED, ordinary_table
from jostle.tables.engines.types import NOT_PERSONS, TYPES, bare
from jostle.tables.opening import open as open_table
from jostle.tables.run_in_engine import run_in_engine
from jostle.tables.unit import Unit

X = {"x": Category(["1", "2"])}
VIEW = r"^table: '{}' is {}, and .* may fail on a value or show a row more than once\. Remedy: store its rows as a table"


def opened(data, tmp_path, schema=None, **more):
    keywords = {"name": "t", "budget": 100} | more
    return open_table(data, schema=schema or X, ledger=tmp_path / "ledger.db", **keywords)


def exact(table, name="x"):
    return EngineColumns.of(table._views, [name]).counts([name]).tolist()


def there(engine, name, **more):
    return run_in_engine("looking for the table", lambda: engine.table(name, **more))


def refused(data, tmp_path, match, schema=None, **more):
    """Refused with these words, and without an account to charge."""
    with pytest.raises(BadInput, match=match):
        opened(data, tmp_path, schema, **more)
    assert not (tmp_path / "ledger.db").exists()


# ------------------------------------------------------------------------------------------------------------ DuckDB


@pytest.fixture
def duck():
    return ibis.duckdb.connect()


VALUES = {
    "BOOLEAN": "true",
    "DATE": "'2024-05-01'",
    "DECIMAL": "1",
    "ENUM": "'1'",
    "UUID": "'00000000-0000-0000-0000-000000000001'",
    "VARCHAR": "'1'",
    **dict.fromkeys((kind for kind in TYPES["duckdb"] if kind.startswith("TIMESTAMP")), "'2024-05-01 12:00:00'"),
}


@pytest.mark.parametrize("kind", sorted(TYPES["duckdb"]))
def test_every_type_on_the_list_opens_and_counts_in_duckdb(tmp_path, duck, kind):
    declared = {"ENUM": "ENUM ('1', '2')", "DECIMAL": "DECIMAL(5, 2)"}.get(kind, kind)
    duck.con.execute(f"CREATE TABLE t (x {declared}, id {declared})")
    duck.con.execute(f"INSERT INTO t VALUES ({VALUES.get(kind, '1')}, {VALUES.get(kind, '1')}), (NULL, NULL)")
    found = ordinary_table(duck, "t").types
    assert {bare(one) for one in found.values()} == {kind}
    day = kind.startswith(("DATE", "TIMESTAMP"))
    schema = {"x": Date("2024-01-01", "2024-12-31", every="year")} if day else X
    counts = exact(opened(there(duck, "t"), tmp_path, schema))
    assert counts == ([1] if day else [0, 0, 1, 1] if kind == "UUID" else [1, 0, 0, 1])
    if kind not in NOT_PERSONS:
        assert sum(exact(opened(there(duck, "t"), tmp_path, schema, unit="id:1", name="u"))) == 1


NESTED = {
    "list": "INTEGER[]",
    "array": "INTEGER[3]",
    "map": "MAP(INTEGER, INTEGER)",
    "struct": "STRUCT(a INTEGER)",
    "row": "STRUCT(a INTEGER)",
    "union": "UNION(a INTEGER, b VARCHAR)",
    "enum": "ENUM('a')",
}


def test_every_other_type_is_refused_in_duckdb(tmp_path, duck):
    kinds = {name for (name,) in duck.con.execute("SELECT DISTINCT lower(type_name) FROM duckdb_types()").fetchall()}
    tried = 0
    for kind in sorted(kinds):
        try:
            duck.con.execute(f"CREATE OR REPLACE TABLE t (x {NESTED.get(kind, kind)}, y INTEGER)")
        except duckdb.Error:  # no table can have it
            continue
        known = bare(ordinary_table(duck, "t").types["x"])
        if known not in TYPES["duckdb"]:
            tried += 1
            refused(there_without(duck, "t", y="int32"), tmp_path, "^schema: the column 'x' has the type ")
            refused(there_without(duck, "t", y="int32"), tmp_path, "^unit: the column 'x'", {"y": Integer(0, 9)}, unit="x:1")
    assert tried >= 15


def there_without(engine, name, **kinds):
    """A table as an Ibis table, though Ibis may not know the types of its columns."""
    return ops.DatabaseTable(name, schema=ibis.schema(kinds), source=engine, namespace=ops.Namespace()).to_expr()


@pytest.mark.parametrize("kind", ["HUGEINT", "UHUGEINT"])
@pytest.mark.parametrize("value", [1, 10**38])
def test_huge_whole_numbers_are_refused_whatever_they_are(tmp_path, duck, kind, value):
    duck.con.execute(f"CREATE TABLE t AS SELECT 1 AS x, {value}::{kind} AS id")
    refused(there(duck, "t"), tmp_path, f"^unit: the column 'id' has the type {kind}", unit="id:1")
    refused(there(duck, "t"), tmp_path, f"^schema: the column 'id' has the type {kind}", {"id": Integer(0, 9)})


def test_what_is_no_table_is_refused_in_duckdb(tmp_path, duck):
    duck.con.execute("CREATE TABLE t AS SELECT 1 AS x")
    duck.con.execute("CREATE VIEW v AS FROM t; CREATE TEMP VIEW w AS FROM t; CREATE MACRO m() AS TABLE FROM t")
    duck.con.register("frame", pa.table({"x": [1]}))
    for name in ("v", "w", "frame"):
        refused(there(duck, name), tmp_path, VIEW.format(name, "a view"))
    for name in ("m", "nothing", "t; DROP TABLE t"):
        refused(there_without(duck, name, x="int64"), tmp_path, "^table: there is no table .* Remedy: use one of t")
    refused(
        ibis.memtable(pa.table({"x": [1]})), tmp_path, "^data: is a frame that Ibis holds .* Remedy: pass the frame itself"
    )


def test_views_of_a_database_file_are_refused(tmp_path):
    with duckdb.connect(tmp_path / "d.duckdb") as stored:
        stored.execute(
            "CREATE TABLE t AS SELECT 1 AS x; CREATE VIEW v AS FROM t; CREATE SCHEMA s; CREATE TABLE s.u AS FROM t"
        )
    refused(tmp_path / "d.duckdb", tmp_path, VIEW.format("v", "a view"), table="v")
    refused(tmp_path / "d.duckdb", tmp_path, "^table: there is no table 'w'", table="w")
    for name in ("t", "T", "main.t", "s.u", "d.s.u", "u"):
        assert exact(opened(tmp_path / "d.duckdb", tmp_path, table=name)) == [1, 0, 0, 0]


def test_attached_databases_of_other_kinds_are_refused(tmp_path, duck, monkeypatch):
    duck.con.execute(f"ATTACH '{tmp_path}/o.duckdb' AS o; CREATE TABLE o.t AS SELECT 2 AS x")
    assert exact(opened(there(duck, "t", database=("o", "main")), tmp_path)) == [0, 1, 0, 0]
    # Extensions for other databases cannot be had without a network, so the catalog is made to say that it is one.
    monkeypatch.setattr(
        "jostle.tables.engines.catalogs._DATABASES", "SELECT database_name, 'sqlite' FROM duckdb_databases()"
    )
    match = VIEW.format("t", "a table of an attached database of type 'sqlite'")
    refused(there(duck, "t", database=("o", "main")), tmp_path, match)


def test_the_table_that_was_checked_is_the_one_that_is_read_in_duckdb(tmp_path, duck):
    duck.con.execute("CREATE TABLE t AS SELECT 1 AS x")
    table = opened(there(duck, "t"), tmp_path)
    duck.con.execute("CREATE TEMP TABLE t AS SELECT 2 AS x")
    assert exact(table) == [1, 0, 0, 0]
    assert exact(opened(there(duck, "t"), tmp_path)) == [0, 1, 0, 0]
    duck.con.execute("CREATE SCHEMA a; CREATE SCHEMA b; CREATE TABLE a.u AS FROM t; CREATE TABLE b.u AS FROM t")
    with pytest.raises(BadInput, match=r"^table: 'u' may be any of memory\.a\.u, memory\.b\.u"):
        ordinary_table(duck, "u")


def test_generated_columns_are_refused_where_they_are_used_in_duckdb(tmp_path, duck):
    duck.con.execute("CREATE TABLE t (x INTEGER, y INTEGER GENERATED ALWAYS AS (1 // x)); INSERT INTO t VALUES (1)")
    refused(there(duck, "t"), tmp_path, "^schema: the column 'y' has the type generated column", {"y": Integer(0, 9)})
    assert exact(opened(there(duck, "t"), tmp_path)) == [1, 0, 0, 0]


def test_names_of_types_are_what_they_stand_for_in_duckdb(duck):
    duck.con.execute("CREATE TYPE mood AS ENUM ('a', 'b'); CREATE TYPE whole AS HUGEINT; CREATE TYPE words AS VARCHAR[]")
    duck.con.execute("CREATE TABLE t (a mood, b whole, c words, d JSON)")
    assert [*ordinary_table(duck, "t").types.values()] == ["ENUM('a', 'b')", "HUGEINT", "VARCHAR[]", "JSON"]


@pytest.mark.parametrize("collation", ["NOCASE", "NFC", "NOACCENT", "NOCASE.NOACCENT"])
def test_a_collation_is_refused_for_persons_only_in_duckdb(tmp_path, duck, collation):
    duck.con.execute(f"CREATE TABLE t (x VARCHAR COLLATE {collation}, id VARCHAR); INSERT INTO t VALUES (' 1', 'A')")
    refused(there(duck, "t"), tmp_path, "^unit: the column 'x' has a collation", unit="x:1")
    assert exact(opened(there(duck, "t"), tmp_path, unit="id:1")) == [1, 0, 0, 0]


@pytest.mark.parametrize(
    "macro", ["hex(a) AS error('no')", "TRIM(a) AS '1'", "count() AS 3", "random() AS 1", '"+"(a, b) AS 3']
)
def test_macros_in_place_of_functions_are_refused(tmp_path, duck, macro):
    duck.con.execute(f"CREATE TABLE t AS SELECT 1 AS x; CREATE MACRO {macro}; CREATE MACRO harmless(a) AS a")
    refused(there(duck, "t"), tmp_path, "^data: the database has a function of its own in place of the engine's ")


def test_the_catalog_cannot_be_replaced_by_macros(tmp_path, duck):
    duck.con.execute("CREATE VIEW v AS SELECT 1 AS x")
    for function in ("duckdb_tables", "duckdb_views", "duckdb_functions", "duckdb_settings"):
        duck.con.execute(f"CREATE MACRO {function}() AS TABLE SELECT 1 AS nothing")
    refused(there(duck, "v"), tmp_path, "^data: the database has a function of its own in place of the engine's 'duckdb_")


@pytest.mark.parametrize("setting", ["default_collation = 'NOCASE'", "max_execution_time = 1000"])
def test_settings_that_may_make_a_query_fail_are_refused_in_duckdb(tmp_path, duck, setting):
    duck.con.execute("CREATE TABLE t AS SELECT 1 AS x")
    duck.con.execute(f"SET {setting}")
    refused(there(duck, "t"), tmp_path, f"^data: the connection's setting {setting.split()[0]} is ")


# -------------------------------------------------------------------------------------------------------- PostgreSQL


@pytest.fixture
def there_is(postgres):
    """A function that runs statements in a schema of its own, and the URL of the schema."""
    url = postgres.new_schema()
    plain, search_path = url.replace("+psycopg", "").split("?options=")

    def run(*statements):
        with psycopg.connect(plain, options=search_path.replace("%3D", "="), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)
        return url

    run.schema = search_path.split("%3D")[1]
    run.connect = lambda **more: ibis.postgres.connect(
        host="127.0.0.1", port=postgres.port, user="jostle", database="postgres", schema=run.schema, **more
    )
    return run


POSTGRES_VALUES = {
    "bool": "true",
    "date": "'2024-05-01'",
    "timestamp": "'2024-05-01 12:00'",
    "timestamptz": "'2024-05-01 12:00+00'",
    "uuid": "'00000000-0000-0000-0000-000000000001'",
}


@pytest.mark.parametrize("kind", sorted(TYPES["postgres"]))
def test_every_type_on_the_list_opens_and_counts_in_postgres(tmp_path, there_is, kind):
    declared, value = ("mood" if kind == "enum" else kind), POSTGRES_VALUES.get(kind, "'1'")
    url = there_is(
        "CREATE TYPE mood AS ENUM ('1', '2')",
        f"CREATE TABLE t (x {declared}, id {declared})",
        f"INSERT INTO t VALUES ({value}, {value}), (NULL, NULL)",
    )
    day = kind in ("date", "timestamp", "timestamptz")
    schema = {"x": Date("2024-01-01", "2024-12-31", every="year")} if day else X
    table = opened(url, tmp_path, schema, table="t")
    assert exact(table) == ([1] if day else [0, 0, 1, 1] if kind == "uuid" else [1, 0, 0, 1])
    assert set(ordinary_table(table._views[0].backend, "t").types.values()) == {kind}
    if kind not in NOT_PERSONS:
        assert sum(exact(opened(url, tmp_path, schema, table="t", unit="id:1", name="u"))) == 1


def test_every_other_type_is_refused_in_postgres(tmp_path, there_is):
    url = there_is(
        "CREATE EXTENSION IF NOT EXISTS citext SCHEMA pg_catalog",
        "CREATE DOMAIN adult AS integer CHECK (value > 17)",
        "CREATE TYPE pair AS (a integer, b integer)",
        "CREATE TYPE mood AS ENUM ('a')",
        "CREATE TABLE every_type (y integer)",
    )
    plain = url.replace("+psycopg", "")
    types = "SELECT typname FROM pg_type WHERE typtype IN ('b', 'r', 'm') AND typnamespace = 'pg_catalog'::regnamespace"
    made = []
    with psycopg.connect(plain, autocommit=True) as connection:
        kinds = [f'"{kind}"' for (kind,) in connection.execute(types) if kind not in TYPES["postgres"]]
        kinds += ["adult", "pair", "pair[]", "mood[]", "adult[]"]
        for place, kind in enumerate(kinds):
            try:
                connection.execute(f"ALTER TABLE every_type ADD COLUMN x{place} {kind}")
                made.append((f"x{place}", kind))
            except psycopg.Error:  # no table can have it
                continue
    assert len(made) > 100
    for name, _ in made[::40]:  # opening is slow; all of them are looked at below
        refused(url, tmp_path, f"^schema: the column '{name}' has the type ", {name: Category(["a"])}, table="every_type")
        refused(url, tmp_path, f"^unit: the column '{name}' has", {"y": Integer(0, 9)}, unit=f"{name}:1", table="every_type")
    connection = there_is.connect()
    found = ordinary_table(connection, "every_type").types
    assert not [name for name, _ in made if bare(found[name]) in TYPES["postgres"]]
    connection.disconnect()


def test_what_is_no_table_is_refused_in_postgres(tmp_path, there_is):
    url = there_is(
        "CREATE TABLE t AS SELECT 1 AS x",
        "CREATE VIEW v AS SELECT * FROM t",
        "CREATE MATERIALIZED VIEW m AS SELECT * FROM t",
        "CREATE SEQUENCE s",
        "CREATE TYPE pair AS (x integer)",
        "CREATE INDEX i ON t (x)",
    )
    kinds = {"v": "a view", "m": "a materialized view", "s": "a sequence", "pair": "a composite type", "i": "an index"}
    for name, kind in kinds.items():
        refused(url, tmp_path, VIEW.format(name, kind), table=name)
    refused(url, tmp_path, "^table: there is no table 'nothing'. Remedy: use one of ", table="nothing")
    connection = there_is.connect()
    refused(there(connection, "v"), tmp_path, VIEW.format("v", "a view"))
    assert exact(opened(there(connection, "t"), tmp_path)) == [1, 0, 0, 0]
    assert connection.con.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    connection.disconnect()


def test_foreign_tables_are_refused_wherever_they_are_under_a_table(tmp_path, there_is):
    (tmp_path / "rows.csv").write_text("1\n")
    foreign = f"SERVER files OPTIONS (filename '{tmp_path}/rows.csv')"
    url = there_is(
        "CREATE EXTENSION IF NOT EXISTS file_fdw SCHEMA pg_catalog",
        "DROP SERVER IF EXISTS files CASCADE",
        "CREATE SERVER files FOREIGN DATA WRAPPER file_fdw",
        f"CREATE FOREIGN TABLE f (x integer) {foreign}",
        "CREATE TABLE parts (x integer) PARTITION BY LIST (x)",
        "CREATE TABLE more PARTITION OF parts FOR VALUES IN (1, 2) PARTITION BY LIST (x)",
        f"CREATE FOREIGN TABLE part PARTITION OF more FOR VALUES IN (1) {foreign}",
        "CREATE TABLE parent (x integer)",
        f"CREATE FOREIGN TABLE child () INHERITS (parent) {foreign}",
    )
    refused(url, tmp_path, VIEW.format("f", "a foreign table"), table="f")
    for name, under in (("parts", "part"), ("more", "part"), ("parent", "child")):
        refused(url, tmp_path, VIEW.format(name, rf"a table with a foreign table \('{under}'\) under it"), table=name)
    there_is("DROP FOREIGN TABLE child", "CREATE TABLE child () INHERITS (parent)", "INSERT INTO child VALUES (2)")
    assert exact(opened(url, tmp_path, table="parent")) == [0, 1, 0, 0]


def test_row_level_security_is_refused_on_tables_and_their_children(tmp_path, there_is):
    url = there_is(
        "CREATE TABLE t (x integer)",
        "CREATE TABLE child () INHERITS (t)",
        "ALTER TABLE child ENABLE ROW LEVEL SECURITY",
    )
    for name in ("t", "child"):
        refused(url, tmp_path, "^table: row-level security is on for 'child'", table=name)


def test_generated_columns_are_refused_where_they_are_used_in_postgres(tmp_path, there_is):
    url = there_is(
        "CREATE TABLE t (x integer, y integer GENERATED ALWAYS AS (x + 1) STORED, z integer)",
        "CREATE TABLE parent (x integer, y integer)",
        "CREATE TABLE child (y integer GENERATED ALWAYS AS (1) STORED, own integer) INHERITS (parent)",
        "INSERT INTO t VALUES (1)",
    )
    for name in ("t", "parent"):
        refused(url, tmp_path, "^schema: the column 'y' has the type generated", {"y": Integer(0, 9)}, table=name)
    assert exact(opened(url, tmp_path, table="t")) == [1, 0, 0, 0]
    connection = there_is.connect()
    assert dict(ordinary_table(connection, "parent").types) == {"x": "int4", "y": GENERATED}
    connection.disconnect()


def test_citext_persons_are_refused(tmp_path, there_is):
    url = there_is("CREATE EXTENSION IF NOT EXISTS citext SCHEMA pg_catalog", "CREATE TABLE t (x integer, id citext)")
    refused(url, tmp_path, "^unit: the column 'id' has the type citext", table="t", unit="id:1")


def test_a_collation_is_refused_for_persons_only_in_postgres(tmp_path, there_is):
    url = there_is(
        "CREATE COLLATION blunt (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        'CREATE TABLE t (x text COLLATE blunt, id text COLLATE "C")',
        "INSERT INTO t VALUES (' 1', 'A'), ('2024-01-01 x', 'B')",
    )
    refused(url, tmp_path, "^unit: the column 'x' has a collation", table="t", unit="x:1")
    assert exact(opened(url, tmp_path, table="t", unit="id:1")) == [1, 0, 1, 0]
    assert exact(opened(url, tmp_path, {"x": Date("2024-01-01", "2024-12-31", every="year")}, table="t", name="u")) == [1]


def test_odd_names_and_later_schemas_are_found_in_postgres(tmp_path, there_is):
    odd = 'the "best"; %s table'
    quoted = '"the ""best""; %%s table"'.replace("%%", "%")
    url = there_is(f"CREATE TABLE {quoted} AS SELECT 1 AS x")
    assert exact(opened(url, tmp_path, table=odd)) == [1, 0, 0, 0]
    later = url.replace(there_is.schema, f"public%2C{there_is.schema}")
    assert exact(opened(later, tmp_path, table=odd)) == [1, 0, 0, 0]


def test_enumerations_of_other_schemas_are_read(tmp_path, there_is):
    url = there_is("CREATE TYPE mood AS ENUM ('1', '2')", "CREATE TABLE t (x mood)", "INSERT INTO t VALUES ('2')")
    elsewhere = url.replace(f"%3D{there_is.schema}", "%3Dpublic")
    assert exact(opened(elsewhere, tmp_path, table=f"{there_is.schema}.t")) == [0, 1, 0, 0]


def test_the_table_that_was_checked_is_the_one_that_is_read_in_postgres(tmp_path, there_is):
    there_is("CREATE TABLE t AS SELECT 1 AS x")
    connection = there_is.connect()
    table = opened(there(connection, "t"), tmp_path)
    connection.raw_sql("CREATE TEMP TABLE t AS SELECT 2 AS x").close()
    assert exact(table) == [1, 0, 0, 0]
    assert exact(opened(there(connection, "t"), tmp_path)) == [0, 1, 0, 0]
    connection.disconnect()


@pytest.mark.parametrize(
    "setting", ["statement_timeout = 1000", "standard_conforming_strings = off", "client_encoding = LATIN1"]
)
def test_settings_that_may_make_a_query_fail_are_refused_or_set_in_postgres(tmp_path, there_is, setting):
    name, _, value = setting.split()
    url = there_is("CREATE TABLE t AS SELECT 1 AS x")
    connection = there_is.connect()
    table = there(connection, "t")
    connection.raw_sql(f"SET {setting}").close()
    refused(table, tmp_path, f"^data: the connection's setting {name} is ")
    connection.disconnect()
    ours = opened(f"{url}%20-c{name}%3D{value}", tmp_path, table="t")
    assert exact(ours) == [1, 0, 0, 0]


@pytest.mark.parametrize(
    "made",
    [
        "FUNCTION btrim(varchar, text) RETURNS text LANGUAGE sql AS 'SELECT ''1'''",
        "FUNCTION encode(bytea, varchar) RETURNS text LANGUAGE sql AS 'SELECT ''31'''",
        "OPERATOR || (LEFTARG = text, RIGHTARG = int, FUNCTION = pg_catalog.repeat)",
    ],
)
def test_functions_in_place_of_postgres_own_are_refused(tmp_path, there_is, made):
    url = there_is("CREATE TABLE t AS SELECT 1 AS x", f"CREATE {made}")
    refused(url, tmp_path, "^data: the database has a function of its own in place of the engine's ", table="t")


def test_functions_of_extensions_are_left_alone(tmp_path, there_is):
    name = f"with_extensions_{there_is.schema[-8:]}"
    url = there_is(f"CREATE DATABASE {name}").replace("/postgres?", f"/{name}?").split("?")[0]
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        for extension in ("citext", "hstore", "pgcrypto", "pg_trgm", "uuid-ossp", "btree_gist", "unaccent", "tablefunc"):
            connection.execute(f'CREATE EXTENSION "{extension}"')
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
    assert exact(opened(url, tmp_path, table="t")) == [1, 0, 0, 0]


# ------------------------------------------------------------------------------------------------------------ SQLite


def sqlite_file(path, *statements):
    with closing(sqlite3.connect(path)) as stored:
        for statement in statements:
            stored.execute(statement)
        stored.commit()
    return path


@pytest.mark.parametrize("kind", ["", "INTEGER", "REAL", "TEXT", "BLOB", "NUMERIC", "VARCHAR(3)", "anything"])
def test_columns_of_any_type_open_and_count_in_sqlite(tmp_path, kind):
    path = sqlite_file(
        tmp_path / "t.sqlite",
        f"CREATE TABLE t (x {kind}, id {kind})",
        "INSERT INTO t VALUES (1, 1), ('2', 'b'), (NULL, NULL)",
    )
    assert exact(opened(path, tmp_path)) == [1, 1, 0, 1]
    assert exact(opened(path, tmp_path, unit="id:1", name="u")) == [1, 1, 0, 0]


def test_what_is_no_table_is_refused_in_sqlite(tmp_path):
    path = sqlite_file(
        tmp_path / "t.sqlite",
        "CREATE TABLE t (x)",
        "CREATE VIEW v AS SELECT * FROM t",
        "CREATE VIRTUAL TABLE f USING fts5 (x)",
    )
    for name, kind in (("v", "a view"), ("f", "a virtual table"), ("f_content", "a shadow table")):
        refused(path, tmp_path, VIEW.format(name, kind), table=name)
    refused(path, tmp_path, "^table: there is no table 'w'. Remedy: use one of t", table="w")
    assert exact(opened(path, tmp_path, table="T")) == [0, 0, 0, 0]


def test_generated_columns_are_refused_where_they_are_used_in_sqlite(tmp_path):
    path = sqlite_file(
        tmp_path / "t.sqlite",
        "CREATE TABLE t (x, y AS (abs(x)), z AS (abs(x)) STORED)",
        "INSERT INTO t VALUES (1)",
    )
    for name in "yz":
        refused(path, tmp_path, f"^schema: the column '{name}' has the type generated", {name: Integer(0, 9)})
    assert exact(opened(path, tmp_path)) == [1, 0, 0, 0]


@pytest.mark.parametrize(
    "declared", ["TEXT COLLATE NOCASE", "INTEGER NOT NULL COLLATE RTRIM", "COLLATE MINE", "UNIQUE COLLATE nocase"]
)
def test_a_collation_is_refused_for_persons_only_in_sqlite(tmp_path, declared):
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as stored:
        stored.create_collation("MINE", lambda one, other: 0)
        stored.execute(f'CREATE TABLE t (x {declared}, "an ""id""" TEXT /* COLLATE NOCASE */ PRIMARY KEY)')
        stored.execute("INSERT INTO t VALUES ('1', 'A'), ('2', 'a')")
        stored.commit()
    refused(tmp_path / "t.sqlite", tmp_path, "^unit: the column 'x' has a collation", unit="x:1")
    table = opened(tmp_path / "t.sqlite", tmp_path, unit=Unit('an "id"', max_rows=1))
    if "MINE" not in declared:  # which nobody defined on our connection
        assert exact(table) == [1, 1, 0, 0]


def test_the_table_that_was_checked_is_the_one_that_is_read_in_sqlite(tmp_path):
    path = sqlite_file(tmp_path / "t.sqlite", "CREATE TABLE t (x)", "INSERT INTO t VALUES (1)")
    other = sqlite_file(tmp_path / "o.sqlite", "CREATE TABLE t (x)", "CREATE TABLE u (x)", "INSERT INTO u VALUES (2)")
    connection = ibis.sqlite.connect(path)
    connection.con.execute(f"ATTACH '{other}' AS o")
    table = opened(there(connection, "t"), tmp_path)
    connection.con.execute("CREATE TEMP TABLE t AS SELECT 2 AS x")
    assert exact(table) == [1, 0, 0, 0]
    assert exact(opened(there(connection, "t"), tmp_path)) == [0, 1, 0, 0]
    assert exact(opened(there(connection, "u", database="o"), tmp_path)) == [0, 1, 0, 0]
    assert ordinary_table(connection, "t").place == ("temp",)
    assert ordinary_table(connection, "u").place == ("o",)
    connection.disconnect()


# -------------------------------------------------------------------------------------------------------- long texts


LONG = LONGEST_TEXT // 2
YEAR = Date("2024-01-01", "2024-12-31", every="year", null="own")


def test_texts_of_any_length_are_read_in_postgres(tmp_path, there_is):
    url = there_is(
        "CREATE TABLE t (x text)",
        "INSERT INTO t VALUES (' 2024-05-01'), ('1')",
        f"INSERT INTO t SELECT '2024-05-01 ' || repeat('x', {LONGEST_TEXT})",
        f"INSERT INTO t SELECT repeat('1', {LONGEST_TEXT} + 1)",
        "INSERT INTO t SELECT repeat('x', 134217728)",
    )
    assert exact(opened(url, tmp_path, table="t")) == [1, 0, 4, 0]
    assert exact(opened(url, tmp_path, {"x": YEAR}, table="t")) == [2, 3]


def test_long_texts_are_the_same_in_every_engine(load, tmp_path):
    words = [
        "é" * LONG,
        " " + "é" * LONG,
        "é" * LONG + "e",
        "2024-05-01 " + "x" * LONGEST_TEXT,
        " 1",
        " " * LONGEST_TEXT + "1",
        None,
    ]
    data, keywords = load({"x": (pa.string(), words), "n": (pa.int64(), range(len(words)))})
    table = opened(data, tmp_path, {"x": YEAR}, **keywords)
    base, engine = table._views[0].base, table._views[0].engine
    expected = [None if word is None else values.stripped(word) for word in words]
    short = stripped(base.x, engine)
    asked_for = base.select("n", size=octets(base.x, engine), length=short.length(), start=short.substr(0, 20)).order_by("n")
    found = run_in_engine("reading", lambda: asked_for.to_pyarrow())
    assert found["size"].to_pylist() == [None if word is None else len(word.encode()) for word in words]
    assert found["length"].to_pylist() == [None if word is None else len(word) for word in expected]
    assert found["start"].to_pylist() == [None if word is None else word[:20] for word in expected]
    for column in (YEAR, X["x"]):
        counts = exact(opened(data, tmp_path, {"x": column}, **keywords))
        assert counts == [(column.encode(words) == cell).sum() for cell in range(column.size)]


def test_a_schema_names_no_longer_texts():
    for made in (lambda text: Category([text]), lambda text: Category(["a"], missing=[text])):
        made("x" * LONGEST_TEXT)
        with pytest.raises(BadInput, match="one of them has more than 1048576 bytes"):
            made("x" * (LONGEST_TEXT + 1))


def test_every_engine_with_a_catalog_has_settings():
    assert set(sessions.SETTINGS) == set(databases.CATALOGUED) <= set(TYPES)


# ------------------------------------------------------------------------------------------------------------- views


def test_a_view_is_opened_if_it_is_declared_stable(tmp_path):
    with sqlite3.connect(tmp_path / "t.sqlite") as stored:
        stored.execute("CREATE TABLE t (x)")
        stored.executemany("INSERT INTO t VALUES (?)", [(1,), (2,), (7,)])
        stored.execute("CREATE VIEW small AS SELECT * FROM t WHERE x < 5")
    stored.close()
    connection = ibis.duckdb.connect(tmp_path / "t.duckdb")
    connection.raw_sql("CREATE TABLE t AS SELECT unnest([1, 2, 7]) AS x; CREATE VIEW small AS FROM t WHERE x < 5")
    connection.disconnect()
    for file in ("t.sqlite", "t.duckdb"):
        how = {"table": "small", "schema": {"x": Integer(0, 9)}, "ledger": tmp_path / "b.db", "budget": 1}
        with pytest.raises(BadInput, match='is a view, and .*, or pass view="each row comes from one row" if that is so'):
            open_table(tmp_path / file, **how)
        with pytest.raises(BadInput, match="^view: must say what makes it stable"):
            open_table(tmp_path / file, view="yes", **how)
        with pytest.raises(BadInput, match="^name: is missing: a view shows the rows of other tables"):
            open_table(tmp_path / file, view="each row comes from one row", **how)
        table = open_table(tmp_path / file, view="each row comes from one row", name="t", **how)
        assert EngineColumns.of(table._views, ["x"]).counts(["x"]).tolist() == [0, 1, 1, 0, 0, 0, 0, 0, 0, 0]
