"""What a new process loads on its way to a first answer: what is not used there is not waited for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jostle.kernel.ledger import Ledger

ELSEWHERE = {"dask", "distributed", "joblib", "jinja2", "matplotlib", "networkx", "plotly", "psycopg", "pyspark", "sklearn"}
"""What no path below needs: learners, plots, the explorer, clusters and servers."""

ENGINES = {"duckdb", "ibis", "pyarrow", "sqlglot"}
LOOPS = {"numba", "scipy"}
COMMANDS = {"pydantic", "rich", "typer"}
FRAMES = {"pandas"}

ACCOUNT = "import jostle; people = jostle.Ledger('budget.db').account('people', cap=1)\n"
TABLE = """
import jostle
people = jostle.open(DATA, schema={"age": jostle.Integer(0, 99)}, ledger="budget.db", budget=1, name="people")
"""
COMMAND = """
import sys
from jostle.cli.main import main
sys.argv = ["jostle", *WORDS.split()]
try:
    main()
except SystemExit as done:
    if done.code:
        raise
"""


def table(data: str) -> str:
    """Open a table; `data` is an expression."""
    return TABLE.replace("DATA", data)


def command(words: str) -> str:
    """Run a command, and go on."""
    return COMMAND.replace("WORDS", repr(words))


RELEASE = "release people.csv --schema people.toml --ledger budget.db --budget 1 --epsilon 1"

PATHS = {
    "counts by a named algorithm": (
        ACCOUNT + "jostle.release([3, 1, 4, 1, 5], epsilon=1, account=people, algorithm='Laplace')",
        ENGINES | LOOPS | COMMANDS | FRAMES,
    ),
    "counts by the default choice": (
        ACCOUNT + "jostle.release([3, 1, 4, 1, 5], epsilon=1, account=people)",
        ENGINES | COMMANDS | FRAMES,
    ),
    "figures from a text file": (
        table("'people.csv'") + "people.count(epsilon=0.5), people.sum('age', epsilon=0.5)",
        LOOPS | FRAMES | {"pydantic", "typer"},
    ),
    "a histogram of a Parquet file": (
        table("'people.parquet'") + "people.histogram('age', epsilon=1)",
        FRAMES | {"pydantic", "typer"},
    ),
    "a count of a frame's rows": (
        "import pandas" + table("pandas.DataFrame({'age': [31, 45]})") + "people.count(epsilon=1)",
        LOOPS | {"pydantic", "typer"},
    ),
    "jostle --version": (command("--version"), ENGINES | LOOPS | FRAMES | {"numpy", "sqlalchemy"}),
    "jostle --help": (command("--help"), ENGINES | LOOPS | FRAMES | {"numpy", "sqlalchemy"}),
    "jostle budget": (command("budget there.db"), ENGINES | LOOPS | FRAMES),
    "jostle release": (command(RELEASE), LOOPS),
}
"""What is done, and what must not have been loaded when it is."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    (tmp_path / "people.csv").write_text("age\n31\n45\n20\n", "utf-8")
    (tmp_path / "people.toml").write_text('[columns."age"]\nkind = "integer"\nlow = 0\nhigh = 99\n', "utf-8")
    parquet.write_table(pa.table({"age": [31, 45, 20]}), tmp_path / "people.parquet")
    with Ledger(tmp_path / "there.db") as ledger:
        ledger.account("others", cap=1)
    return tmp_path


@pytest.mark.parametrize("path", PATHS)
def test_a_first_answer_loads_what_it_uses_alone(path: str, folder: Path) -> None:
    code, not_used = PATHS[path]
    loaded = packages_after(code, folder)
    assert "jostle" in loaded
    assert loaded & (not_used | ELSEWHERE) == set()


def test_numba_is_loaded_with_the_first_loop_that_runs(folder: Path) -> None:
    code = "import numpy as np\nfrom jostle.linear.isotonic import isotonic\n"
    assert "numba" not in packages_after(code, folder)
    assert "numba" in packages_after(code + "assert isotonic(np.array([3.0, 1.0])).tolist() == [2.0, 2.0]", folder)


def packages_after(code: str, folder: Path) -> set[str]:
    """The packages that a new interpreter has loaded once it has run the code in a folder."""
    code += "\nimport sys\nprint('\\nloaded', *{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split()[1:])
