"""Tables in Spark: its frames, its tables, and files that it reads on this machine."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jostle.kernel.errors import BadInput
from jostle.schema.schema import TextFormat
from jostle.tables.cells.staged_columns import RESERVED
from jostle.tables.engines.files import column_names, separator_of
from jostle.tables.engines.lines import COMPRESSED, LONGEST_LINE, MARKS
from jostle.tables.engines.spark_plans import check_plan
from jostle.tables.run_in_engine import run_in_engine

AS_WRITTEN = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}
"""Days are read as they stand in a file. Otherwise a setting of Spark's could make it fail on those before 1582."""


def spark_table(frame: Any, wanted: Sequence[str], person: str | None) -> Any:
    """A frame of Spark, if it is a table of types that cannot fail."""
    run_in_engine("looking at the Spark frame", lambda: check_plan(frame, wanted, person))
    return _named(frame)


def saved_table(session: Any, parts: Sequence[str], wanted: Sequence[str], person: str | None) -> Any:
    """A table of a session by its name, which may have the names of a catalog and a schema before it.

    The frame that is checked is the one that is read later: its name may be given to another table in between.
    """
    name = ".".join(f"`{part.replace('`', '``')}`" for part in parts)
    return spark_table(run_in_engine(f"looking for the table {parts[-1]!r}", lambda: session.table(name)), wanted, person)


def ibis_table(table: Any, wanted: Sequence[str], person: str | None) -> Any:
    """An Ibis table that is in Spark."""
    operation = table.op()
    if not hasattr(operation, "namespace") or not hasattr(operation, "source"):
        problem = "is a table in memory that Spark would have to convert, which may fail on a value"
        raise BadInput("data", problem, "pass the frame itself, or write it as Parquet and open that")
    place = (operation.namespace.catalog, operation.namespace.database, operation.name)
    return saved_table(table.get_backend()._session, [part for part in place if part], wanted, person)


def _named(frame: Any) -> Any:
    """A frame of Spark, under a name of its own: a name that is used again would put other rows in this table's place."""
    import ibis

    name = f"{RESERVED}{uuid.uuid4().hex}"
    run_in_engine("opening the Spark frame", lambda: frame.createOrReplaceTempView(name))
    return run_in_engine("opening the Spark frame", lambda: ibis.pyspark.connect(frame.sparkSession).table(name))


def spark_files(
    paths: Sequence[Path],
    wanted: Sequence[str],
    columns: Sequence[str] | None,
    person: str | None,
    form: TextFormat,
    *,
    parquet: bool,
) -> Any:
    """Files as a table of Spark on this machine."""
    import importlib.util

    if importlib.util.find_spec("pyspark") is None:
        raise BadInput("engine", "pyspark is not installed", "pip install 'jostle[spark]', which also needs Java 17")
    odd = form.encoding != "utf-8" or form.quoted_line_breaks or any(path.suffix.lower() in COMPRESSED for path in paths)
    if odd and not parquet:
        problem = "reads only text files in UTF-8 that are not compressed, one row per line"
        raise BadInput("engine", problem, "leave it out, or save the table as Parquet")
    names = None if parquet else column_names(paths[0], wanted, columns, form)
    session = run_in_engine("starting Spark", local_spark)
    places = [_as_pattern(path.resolve()) for path in paths]
    if names is None:
        frame = run_in_engine("opening the file", lambda: session.read.parquet(*places, **AS_WRITTEN))
        return spark_table(frame, wanted, person)
    firsts = [] if columns is not None else [_first_line(path) for path in paths]
    separator = separator_of(paths[0], form)
    return _named(run_in_engine("opening the file", lambda: _lines(session, places, names, separator, firsts)))


def _lines(session: Any, places: Sequence[str], names: Sequence[str], separator: str, firsts: Sequence[str]) -> Any:
    """The lines of text files, one row each, as `jostle.tables.engines.lines` reads them.

    Spark's reader of whole files fails on a line with very many separators, and takes the end of a line from the file. So
    each line is parsed by itself, and too long ones are left out before, with those whose quotation marks do not pair up.
    Those that are the same as the line of names are that line. Bytes that are no UTF-8 would all be read alike, and two
    persons be taken for one: lines that have some are left out, too. Marks of the encoding are taken off every line: Spark
    takes one off the first, and which line that is depends on the others.
    """
    from pyspark.sql import functions as f

    line = f.regexp_replace("value", "\r$", "")
    unmarked = f.regexp_replace("value", "^\ufeff+", "").alias("value")
    pairs = f.length(f.regexp_replace("value", '[^"]', "")) % 2 == 0
    lines = session.read.text(list(places), lineSep="\n").where(f.is_valid_utf8("value")).select(unmarked)
    lines = lines.where(f.length("value") <= LONGEST_LINE).where(pairs)
    kept = lines.select(line.alias("value")).where(f.col("value") != "")
    kept = kept.where(~f.col("value").isin(list(firsts))) if firsts else kept
    kinds = ", ".join(f"`{name.replace('`', '``')}` STRING" for name in names)
    how = {"sep": separator, "escape": '"', "mode": "PERMISSIVE", "maxColumns": str(LONGEST_LINE + 2)}
    return kept.select(f.from_csv("value", kinds, how).alias("fields")).select("fields.*")


def _first_line(path: Path) -> str:
    with path.open("rb") as file:
        return MARKS.sub(b"", file.readline(LONGEST_LINE)).decode("utf-8", "replace").rstrip("\r\n")


def _as_pattern(path: Path) -> str:
    """A path, for a reader that takes paths for patterns."""
    return re.sub(r"([*?\[\]{}\\^])", r"\\\1", str(path))


def local_spark() -> Any:
    """Spark on this machine, quiet: its log would quote values."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[*]").appName("jostle")
    for key, value in (
        ("spark.ui.enabled", "false"),
        ("spark.sql.warehouse.dir", f"{tempfile.gettempdir()}/jostle-spark"),  # it would be made in the caller's folder
        ("spark.ui.showConsoleProgress", "false"),
        ("spark.sql.session.timeZone", "UTC"),
        ("spark.driver.bindAddress", "127.0.0.1"),
        ("spark.sql.shuffle.partitions", "8"),
        # Folders' names are texts: a type would be guessed from all of them, and one more could make it another.
        ("spark.sql.sources.partitionColumnTypeInference.enabled", "false"),
    ):
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
