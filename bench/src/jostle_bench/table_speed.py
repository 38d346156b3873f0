"""How long a release takes from a file of many rows, and how much memory: measured in a process of its own."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from jostle.kernel.errors import BadInput, InternalError

CELLS = 4096
ROWS_A_PERSON = 3
BYTES_A_ROW = 24
"""So much room a row may take while its file is written."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One release, measured."""

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


def make(rows: int, folder: Path) -> Path:
    """A Parquet file of made-up people in 4,096 cells, three rows per person on average; kept for the next time."""
    import duckdb

    path = folder / f"people-{rows}.parquet"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    room = shutil.disk_usage(folder).free
    if room < BYTES_A_ROW * rows:
        problem = f"{folder} has room for {room / 1e9:.1f} GB, and {rows:,} rows may take {BYTES_A_ROW * rows / 1e9:.1f}"
        raise BadInput("folder", problem, "name another with --folder, or ask for fewer rows")
    unfinished = path.with_suffix(".unfinished")
    # Cells are skewed as real ones are; persons' rows are all over the file, so that they have to be brought together.
    cells, persons = f"floor({CELLS} * pow(random(), 2))", f"floor(random() * {max(rows // ROWS_A_PERSON, 1)})"
    query = f"SELECT {cells}::INTEGER AS x, {persons}::BIGINT AS person FROM range({rows:d})"  # noqa: S608  # whole numbers
    with duckdb.connect(config={"temp_directory": str(folder)}) as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SELECT setseed(0.5)")
        connection.execute(f"COPY ({query}) TO '{_quoted(unfinished)}' (FORMAT PARQUET)")
    return unfinished.rename(path)


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def measure(path: Path, rows: int, *, bounded: bool) -> Run:
    """Release a histogram of the file in a fresh process."""
    command = [
        sys.executable,
        "-c",
        "from jostle_bench.table_speed import child; child()",
        str(path),
        "bounded" if bounded else "",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InternalError("the measured process failed: there may be too little memory")
    return Run(rows=rows, bounded=bounded, **json.loads(done.stdout))


def child() -> None:
    """What is measured: a release in a program that has just been started, and then another in the same program."""
    import jostle

    path, bounded = sys.argv[1:3]
    unit = jostle.Unit("person", max_rows=ROWS_A_PERSON) if bounded else None
    with tempfile.TemporaryDirectory() as folder:
        for name in ("first", "again"):
            began = time.perf_counter()
            table = jostle.open(
                path,
                schema={"x": jostle.Integer(0, CELLS - 1)},
                ledger=f"{folder}/{name}.db",
                budget=1,
                unit=unit,
                name=name,
            )
            table.histogram("x", epsilon=1)
            again = time.perf_counter() - began
            if name == "first":
                first = again
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    megabytes = peak / (2**20 if sys.platform == "darwin" else 2**10)
    sys.stdout.write(json.dumps({"first": first, "again": again, "megabytes": megabytes}))
