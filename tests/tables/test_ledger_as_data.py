"""An open ledger that somebody names where data or a schema belong is refused, and stays a ledger that all share."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from fractions import Fraction

import pytest

import jostle
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.schema import Integer, Schema
from jostle.schema.files import is_sqlite

ANOTHER = """
import sys
from jostle.kernel.ledger import Ledger
with Ledger(sys.argv[1]) as ledger:
    account = ledger.account("people", cap=10)
    account.charge(1, operator="laplace", neighbours="add_remove")
    print(account.spent)
"""


def spent_after_another_process(path) -> Fraction:
    """What another process finds spent when it has charged 1."""
    done = subprocess.run([sys.executable, "-c", ANOTHER, path], capture_output=True, text=True, check=True)
    return Fraction(done.stdout)


def as_data(path):
    schema = Schema({"age": Integer(0, 99)})
    jostle.open(path, schema=schema, ledger=path.with_name("other.db"), budget=1)


@pytest.mark.parametrize(
    ("name", "misuse", "argument"),
    [("budget.db", as_data, "table"), ("budget.csv", as_data, "data"), ("budget.db", Schema.load, "schema")],
)
def test_an_open_ledger_that_is_named_as_something_else_keeps_its_locks(tmp_path, name, misuse, argument):
    path = tmp_path / name
    with Ledger(path) as ledger:
        account = ledger.account("people", cap=10)
        account.charge(1, operator="laplace", neighbours="add_remove")
        with pytest.raises(BadInput) as refused:
            misuse(path)
        assert refused.value.argument == argument
        assert spent_after_another_process(path) == 2
        account.charge(5, operator="laplace", neighbours="add_remove")
        assert spent_after_another_process(path) == 8
        assert account.spent == 8


@pytest.mark.parametrize("content", [b"", b"a", b"[columns.age]\n", b"\0" * 5000, b"DUCK" * 5000])
def test_what_is_no_database_of_sqlite_is_told_from_one(tmp_path, content):
    path = tmp_path / "what? it #is.db"
    path.write_bytes(content)
    assert not is_sqlite(path)
    path.unlink()
    Ledger(path).close()
    assert is_sqlite(path)


LOCKING = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_no_lock_and_no_journal_makes_a_text_a_database(tmp_path):
    """Locks may be another program's, or the file system has none."""
    text, database = tmp_path / "people.csv", tmp_path / "people.db"
    text.write_text("age\n3\n" * 1000)
    text.with_name("people.csv-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\0" * 600)
    text.with_name("people.csv-wal").write_bytes(b"a" * 100)
    assert not is_sqlite(text)
    Ledger(database).close()
    for path, expected in ((text, False), (database, True)):
        with subprocess.Popen([sys.executable, "-c", LOCKING, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout.readline() == b"locked\n"
            assert is_sqlite(path) is expected
            other.communicate()


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_asking_drops_no_lock_that_this_process_holds(tmp_path, mode):
    path = tmp_path / "some.db"
    attempt = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE t(x)")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t VALUES (1)")
        assert is_sqlite(path)
        done = subprocess.run([sys.executable, "-c", attempt, path], capture_output=True, text=True, check=False)
        assert "database is locked" in done.stderr
        connection.execute("COMMIT")
    assert is_sqlite(path)


def test_a_file_that_may_not_be_read_is_not_taken_for_a_database(tmp_path, monkeypatch):
    """SQLite cannot open it either, for which there are other reasons; the remedy is another one."""
    (tmp_path / "people.csv").write_text("age\n3\n")
    monkeypatch.setattr("sqlite3.connect", lambda *_, **__: pytest.fail("it was opened"))
    monkeypatch.setattr("os.access", lambda *_, **__: False)
    assert not is_sqlite(tmp_path / "people.csv")
