"""How long a release takes from a file of many rows, and how much memory: measured in a process of its own."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jostle.kernel.errors import BadInput, InternalError

if TYPE_CHECKING:
    from jostle.tables.table import Table

CELLS = 4096
ROWS_A_PERSON = 3
WARDS, KEYS = 50, 100_000
BYTES_A_ROW = 24
"""The most space that a row takes while its file is written."""

# Cells and keys are skewed as real ones are; persons' rows are all over the file, so that they have to be brought together.
_COLUMNS: Final = {
    "people": f"floor({CELLS} * pow(random(), 2))::INTEGER AS x",
    "visits": f"floor({WARDS} * random())::INTEGER AS ward, floor(1000 * random())::INTEGER AS cost, "
    f"format('D{{:06d}}', floor({KEYS} * pow(random(), 3))::INTEGER) AS code",
}
"""What the files have beside the persons."""


@dataclass(frozen=True)
class TimedQuestion:
    """A question to a file of many rows."""

    name: str
    file: str
    columns: Callable[[], dict[str, Any]]
    ask: Callable[[Table], object]


def _cells() -> dict[str, Any]:
    import jostle

    return {"x": jostle.Integer(0, CELLS - 1)}


def _wards() -> dict[str, Any]:
    import jostle

    return {"ward": jostle.Integer(0, WARDS - 1), "cost": jostle.Integer(0, 999)}


def _codes() -> dict[str, Any]:
    from jostle.schema import Text

    return {"code": Text()}


def _three_numbers(table: Table) -> object:
    from jostle.tables import aggregates

    count, total, mean = aggregates.count(), aggregates.sum("cost"), aggregates.mean("cost")
    return table.group_by("ward").aggregate(n=count, total=total, average=mean, epsilon=1)


def _private_keys(table: Table) -> object:
    from jostle.tables import aggregates

    return table.group_by("code", keys="private").aggregate(n=aggregates.count(), epsilon=1)


_LISTED: Final = (
    TimedQuestion("histogram of 4,096 cells", "people", _cells, lambda table: table.histogram("x", epsilon=1)),
    TimedQuestion("histogram of 50 groups", "visits", _wards, lambda table: table.histogram("ward", epsilon=1)),
    TimedQuestion("count, sum and mean by 50 groups", "visits", _wards, _three_numbers),
    TimedQuestion("private keys among 100,000", "visits", _codes, _private_keys),
)
QUESTIONS: Final[Mapping[str, TimedQuestion]] = {question.name: question for question in _LISTED}
HISTOGRAM: Final = _LISTED[0].name


@dataclass(frozen=True, kw_only=True)
class Run:
    """One release, measured."""

    question: str
    """What was asked, one of QUESTIONS."""

    rows: int
    """How many rows the file has."""

    bounded: bool
    """Whether each person's rows were bounded."""

    first: float
    """Seconds from opening the file to the noisy answers, with all imports, in a program that has just been started."""

    again: float
    """The same a second time in that program: opened anew, but nothing is left to import."""

    megabytes: float
    """The most memory that the process had."""


def make(rows: int, folder: Path, what: str = "people") -> Path:
    """A Parquet file of made-up people or visits, three rows per person on average; kept for the next time."""
    import duckdb

    path = folder / f"{what}-{rows}.parquet"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    room = shutil.disk_usage(folder).free
    if room < BYTES_A_ROW * rows:
        problem = f"{folder} has room for {room / 1e9:.1f} GB, and {rows:,} rows may take {BYTES_A_ROW * rows / 1e9:.1f}"
        raise BadInput("folder", problem, "name another with --folder, or ask for fewer rows")
    unfinished = path.with_suffix(".unfinished")
    persons = f"floor(random() * {max(rows // ROWS_A_PERSON, 1)})"
    query = f"SELECT {_COLUMNS[what]}, {persons}::BIGINT AS person FROM range({rows:d})"  # noqa: S608  # whole numbers
    with duckdb.connect(config={"temp_directory": str(folder)}) as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SELECT setseed(0.5)")
        connection.execute(f"COPY ({query}) TO '{_quoted(unfinished)}' (FORMAT PARQUET)")
    return unfinished.rename(path)


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def measure(path: Path, rows: int, *, bounded: bool, question: str = HISTOGRAM) -> Run:
    """Release an answer from the file in a fresh process."""
    command = [
        sys.executable,
        "-c",
        "from jostle_bench.table_speed import child; child()",
        str(path),
        "bounded" if bounded else "",
        question,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InternalError("the measured process failed: there may be too little memory")
    return Run(question=question, rows=rows, bounded=bounded, **json.loads(done.stdout))


def child() -> None:
    """What is measured: a release in a program that has just been started, and then another in the same program."""
    import jostle

    path, bounded, question = sys.argv[1], sys.argv[2], QUESTIONS[sys.argv[3]]
    unit = jostle.Unit("person", max_rows=ROWS_A_PERSON) if bounded else None
    with tempfile.TemporaryDirectory() as folder:
        for name in ("first", "again"):
            began = time.perf_counter()
            table = jostle.open(
                path,
                schema=question.columns(),
                ledger=f"{folder}/{name}.db",
                budget=jostle.Approximate(1, 1e-6),
                unit=unit,
                name=name,
            )
            question.ask(table)
            again = time.perf_counter() - began
            if name == "first":
                first = again
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    megabytes = peak / (2**20 if sys.platform == "darwin" else 2**10)
    sys.stdout.write(json.dumps({"first": first, "again": again, "megabytes": megabytes}))
