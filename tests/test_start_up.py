"""What a new process loads on its way to a first answer: what is not used there is not waited for."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from jostle.kernel.ledger import Ledger

ELSEWHERE = {"dask", "distributed", "joblib", "jinja2", "matplotlib", "networkx", "plotly", "psycopg", "pyspark", "sklearn"}
ELSEWHERE |= {"jostle_bench"}
"""What no path below needs: learners, plots, the explorer, clusters, servers and benchmarks."""

ENGINES = {"duckdb", "ibis", "pyarrow", "sqlglot"}
LOOPS = {"numba", "scipy"}
COMMANDS = {"pydantic", "rich", "typer"}
FRAMES = {"pandas", "polars"}
WEB = {"charset_normalizer", "httpx", "requests", "starlette", "urllib3", "yaml"}

ACCOUNT = "import jostle; people = jostle.Ledger('budget.db').account('people', cap=1)\n"
TABLE = """
import jostle
people = jostle.open(DATA, schema={"age": jostle.Integer(0, 99)}, ledger=LEDGER, budget=1, name="people")
"""
COMMAND = """
import shlex, sys
from jostle.cli.main import main
sys.argv = ["jostle", *shlex.split(WORDS)]
try:
    main()
except SystemExit as done:
    if done.code:
        raise
"""


def table(data: str, ledger: str = "budget.db") -> str:
    """Open a table; `data` is an expression."""
    return TABLE.replace("DATA", data).replace("LEDGER", repr(ledger))


def command(words: str) -> str:
    """Run a command, and go on."""
    return COMMAND.replace("WORDS", repr(words))


def release(words: str, file: str = "people.csv") -> str:
    """Release, with a ledger of its own."""
    ledger = f"budget-{zlib.crc32(f'{file} {words}'.encode())}.db"
    return command(f"release {file} --schema people.toml --ledger {ledger} --budget 1 --epsilon 1 {words}")


LAPLACE = "--by age --algorithm Laplace"
"""By an algorithm that needs no compiled loop, whatever the default choice needs."""

OF_A_COUNT = release("") + release(LAPLACE)
OF_ALL_FORMS = release(f"{LAPLACE} --format csv") + release(f"{LAPLACE} --json") + release(f"{LAPLACE} --out answers.csv")
"""Several in one process: what none of them may load is not loaded after all of them."""

OF_SQLITE = table("'people.db'") + "people.histogram('age', epsilon=1, algorithm='Laplace')"

OF_A_RELEASE = FRAMES | WEB | {"pydantic", "plotly"}

PATHS = {
    "counts by a named algorithm": (
        ACCOUNT + "jostle.release([3, 1, 4, 1, 5], epsilon=1, account=people, algorithm='Laplace')",
        ENGINES | LOOPS | COMMANDS | FRAMES,
    ),
    "counts by the default choice": (
        ACCOUNT + "jostle.release([3, 1, 4, 1, 5], epsilon=1, account=people)",
        ENGINES | COMMANDS | FRAMES,
    ),
    "a text file, and a Parquet file": (
        table("'people.csv'")
        + "people.count(epsilon=0.5), people.sum('age', epsilon=0.5)"
        + table("'people.parquet'", "of_parquet.db")
        + "people.histogram('age', epsilon=1, algorithm='Laplace')",
        LOOPS | FRAMES | WEB | {"pydantic", "typer"},
    ),
    "SQLite": (OF_SQLITE, LOOPS | WEB | {"pydantic", "typer"}),
    "a count of a frame's rows": (
        "import pandas" + table("pandas.DataFrame({'age': [31, 45]})") + "people.count(epsilon=1)",
        LOOPS | WEB | {"pydantic", "typer"},
    ),
    "a count of an Arrow table's rows": (  # Arrow itself loads pandas where a table is made of lists
        "import pyarrow" + table("pyarrow.table({'age': [31, 45]})") + "people.count(epsilon=1)",
        LOOPS | WEB | {"pydantic", "typer"},
    ),
    "jostle --version, --help": (
        command("--version") + command("--help"),
        ENGINES | LOOPS | FRAMES | {"numpy", "sqlalchemy"},
    ),
    "jostle budget, claim": (
        command("budget there.db") + command("claim there.db"),
        ENGINES | LOOPS | FRAMES | {"pydantic"},
    ),
    "jostle release --by": (release("--by age"), OF_A_RELEASE - WEB),  # compiled loops load some of those
    "jostle release, --by": (OF_A_COUNT, LOOPS | OF_A_RELEASE),
    "jostle release in all forms": (OF_A_COUNT + OF_ALL_FORMS, LOOPS | OF_A_RELEASE),
    "jostle release of a Parquet file": (release(LAPLACE, "people.parquet"), LOOPS | OF_A_RELEASE),
    "jostle release --sql": (release("--sql 'SELECT AVG(age) FROM people'"), LOOPS | OF_A_RELEASE),
}
"""What is done, and what must not have been loaded when it is."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    (tmp_path / "people.csv").write_text("age\n31\n45\n20\n", "utf-8")
    (tmp_path / "people.toml").write_text('[columns."age"]\nkind = "integer"\nlow = 0\nhigh = 99\n', "utf-8")
    parquet.write_table(pa.table({"age": [31, 45, 20]}), tmp_path / "people.parquet")
    with closing(sqlite3.connect(tmp_path / "people.db")) as database, database:
        database.execute("CREATE TABLE people (age INTEGER)")
        database.executemany("INSERT INTO people VALUES (?)", [(31,), (45,), (20,)])
    with Ledger(tmp_path / "there.db") as ledger:
        ledger.account("others", cap=1)
    return tmp_path


@pytest.mark.parametrize("path", PATHS)
def test_a_first_answer_loads_what_it_uses_alone(path: str, folder: Path) -> None:
    code, not_used = PATHS[path]
    loaded = packages_after(code, folder)
    assert "jostle" in loaded
    assert loaded & (not_used | ELSEWHERE) == set()


@pytest.mark.parametrize("code", [OF_A_COUNT, release(LAPLACE, "people.parquet")], ids=["text", "parquet"])
def test_a_release_loads_the_sql_of_the_engine_that_it_asks(code: str, folder: Path) -> None:
    loaded = modules_after(code, folder)
    assert below("ibis.backends.sql.compilers", loaded) == {"_compat", "base", "duckdb"}
    assert below("sqlglot.dialects", loaded) == {"dialect", "duckdb"}
    assert {name for name in below("ibis.backends", loaded) if name != "sql"} == {"duckdb"}


def test_a_release_from_sqlite_loads_no_compiler_of_another_engine(folder: Path) -> None:
    loaded = modules_after(OF_SQLITE, folder)
    assert below("ibis.backends.sql.compilers", loaded) == {"_compat", "base", "sqlite"}


@pytest.mark.parametrize(
    ("code", "most", "ours"),
    [(command("--version"), 450, 40), (OF_A_COUNT, 1000, 195), (OF_A_COUNT + OF_ALL_FORMS, 1000, 195)],
    ids=["--version", "release", "release in all forms"],
)
def test_a_command_loads_few_modules(code: str, most: int, ours: int, folder: Path) -> None:
    """Their number is a stable measure of the time that a first answer takes: half a millisecond each, and more."""
    loaded = modules_after(code, folder)
    assert len(loaded) <= most
    assert len({name for name in loaded if name.startswith("jostle")}) <= ours


def test_a_library_leaves_the_search_for_garbage_as_it_is(folder: Path) -> None:
    code = "import gc; before = gc.get_threshold(), gc.isenabled(), gc.get_freeze_count()\n" + table("'people.csv'")
    code += "import jostle.cli.main\npeople.count(epsilon=1)\n"
    modules_after(code + "assert before == (gc.get_threshold(), gc.isenabled(), gc.get_freeze_count())", folder)


def test_numba_is_loaded_with_the_first_loop_that_runs(folder: Path) -> None:
    code = "import numpy as np\nfrom jostle.linear.fitting.isotonic import isotonic\n"
    assert "numba" not in packages_after(code, folder)
    assert "numba" in packages_after(code + "assert isotonic(np.array([3.0, 1.0])).tolist() == [2.0, 2.0]", folder)


def packages_after(code: str, folder: Path) -> set[str]:
    """The packages that a new interpreter has loaded once it has run the code in a folder."""
    return {name.split(".")[0] for name in modules_after(code, folder)}


_seen: dict[str, set[str]] = {}


def modules_after(code: str, folder: Path) -> set[str]:
    """The same, of modules. Several tests look at the same process."""
    if code not in _seen:
        _seen[code] = _modules_after(code, folder)
    return _seen[code]


def _modules_after(code: str, folder: Path) -> set[str]:
    code += "\nimport sys\nprint('\\nloaded', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split()[1:])


def below(package: str, modules: set[str]) -> set[str]:
    """What is loaded directly below a package."""
    parts = [name.removeprefix(f"{package}.") for name in modules if name.startswith(f"{package}.")]
    return {part for part in parts if "." not in part}
