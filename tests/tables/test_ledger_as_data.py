"""An open ledger that somebody names where data or a schema belong is refused, and stays a ledger that all share."""

from __future__ import annotations

import subprocess
import sys
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


def test_a_file_that_may_not_be_read_is_not_taken_for_a_database(tmp_path, monkeypatch):
    """SQLite cannot open it either, for which there are other reasons; the remedy is another one."""
    (tmp_path / "people.csv").write_text("age\n3\n")
    monkeypatch.setattr("sqlite3.connect", lambda *_, **__: pytest.fail("it was opened"))
    monkeypatch.setattr("os.access", lambda *_, **__: False)
    assert not is_sqlite(tmp_path / "people.csv")
