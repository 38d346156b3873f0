"""What Spark would do to show a frame's rows, looked at before anything is charged.

Privacy: whether a query succeeds must not depend on a value, and a row must be there once. A frame of Spark is a plan, which
may cast, parse or explode, so only two plans are taken: Parquet files as they are, and rows that are computed already
(`frame.localCheckpoint()`). For the files, each column that is used must be stored as a type on the list below, from which
Spark reads every pattern of bits. Proof: docs/proofs/tables.md, "Frames of Spark".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jostle.kernel.errors import BadInput
from jostle.tables.engines.types import bare, check_types

STORED: Mapping[tuple[str, str | None], str] = {
    ("BOOLEAN", None): "boolean",
    ("INT32", None): "int",
    ("INT32", "INTEGER(8,true)"): "tinyint",
    ("INT32", "INTEGER(16,true)"): "smallint",
    ("INT32", "INTEGER(32,true)"): "int",
    ("INT32", "INTEGER(8,false)"): "smallint",
    ("INT32", "INTEGER(16,false)"): "int",
    ("INT32", "INTEGER(32,false)"): "bigint",
    ("INT32", "DATE"): "date",
    ("INT64", None): "bigint",
    ("INT64", "INTEGER(64,true)"): "bigint",
    ("INT64", "INTEGER(64,false)"): "decimal(20,0)",
    ("INT64", "TIMESTAMP(MICROS,true)"): "timestamp",
    ("INT64", "TIMESTAMP(MICROS,false)"): "timestamp_ntz",
    ("INT96", None): "timestamp",
    ("FLOAT", None): "float",
    ("DOUBLE", None): "double",
    ("BINARY", "STRING"): "string",
}
"""How Parquet stores a column (physical and logical type), and the one type of Spark's that it may be read as.

Decimals are on the list, too, if they are short and not of any length: see `read_as`.
"""

WITH_DECIMALS = ("INT32", "INT64", "FIXED_LEN_BYTE_ARRAY")
MOST_DIGITS = 18
"""Decimals up to here are read as whole numbers of 64 bits; on longer ones that exceed their digits, Spark fails."""

REMEDIES = {"DECIMAL": "store it with at most 18 digits, as a double or as a string, or pass frame.localCheckpoint()"}

CALENDAR = frozenset({"date", "timestamp", "timestamp_ntz"})
"""The types that Spark may move between calendars when it reads them."""

FOOTER = "org.apache.spark."
"""How the names of what Spark writes into a file's footer begin."""

RELATION = "org.apache.spark.sql.execution.datasources.LogicalRelation"
FILES = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"
LISTED = "org.apache.spark.sql.execution.datasources.InMemoryFileIndex"
PARQUET = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
COMPUTED = "org.apache.spark.sql.execution.LogicalRDD"
ALIAS = "org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias"
VIEW = "org.apache.spark.sql.catalyst.plans.logical.View"

MATERIALIZE = "write it as Parquet and open that, or pass frame.localCheckpoint()"


def check_plan(frame: Any, wanted: Sequence[str], person: str | None) -> None:
    """Raise unless a frame is a table of types on the list. Columns that it does not have are left to others to refuse."""
    if not hasattr(frame, "_jdf"):
        problem = "the frame comes through Spark Connect, so jostle cannot see whether it is a table or a query"
        raise BadInput("data", problem, "write it as Parquet and open that with engine='spark'")
    leaf = _leaf(frame._jdf.queryExecution().analyzed())
    kinds = dict(frame.dtypes)
    used = [name for name in dict.fromkeys(wanted) if name in kinds]
    check_types(kinds, used, "pyspark", person)
    if _class(leaf) == RELATION:
        _check_files(frame, leaf.relation(), {name: kinds[name] for name in used}, person)


def _leaf(plan: Any) -> Any:
    """Where the rows are, below the names that they were given."""
    while _class(plan) == ALIAS or (_class(plan) == VIEW and plan.isTempViewStoringAnalyzedPlan()):
        plan = plan.child()
    if _class(plan) == RELATION and not plan.isStreaming() and _class(plan.relation()) == FILES:
        if _class(plan.relation().fileFormat()) == PARQUET:
            return plan
    elif _class(plan) == COMPUTED and not plan.isStreaming() and plan.rdd().isCheckpointed():
        return plan
    problem = "the Spark frame is a query, which may fail on a value or show a row more than once"
    raise BadInput("data", problem, MATERIALIZE)


def _check_files(frame: Any, relation: Any, kinds: Mapping[str, str], person: str | None) -> None:
    """Raise unless all files store each column in one way, and as the frame says. `kinds` are the frame's types."""
    if relation.bucketSpec().isDefined():  # Spark would take it on trust that all rows of a person are in one of them
        raise BadInput("data", "the Spark table is kept in buckets", "write it as Parquet without bucketBy() and open that")
    folders = {field.name(): field.dataType().simpleString() for field in relation.partitionSchema().fields()}
    _check_folders(folders, kinds, listed=_class(relation.location()) == LISTED)
    stored = {name: kind for name, kind in kinds.items() if name not in folders}
    for name in stored:
        if "parquet.field.id" in frame.schema[name].metadata:
            raise BadInput("data", f"the Spark frame looks up the column {name!r} by a number in the files", MATERIALIZE)
    _check_reader(frame.sparkSession._jvm, relation, stored)
    seen: set[str] = set()
    for footer in _footers(frame.sparkSession._jvm, relation):
        _check_written_by(footer.getKeyValueMetaData(), stored)
        declared = footer.getSchema().toString()
        if declared not in seen:
            _check_columns(footer.getSchema(), stored, person)
            seen.add(declared)


def _check_folders(folders: Mapping[str, str], used: Iterable[str], *, listed: bool) -> None:
    """Folders' names must be texts: Spark guesses other types from all names, and one more could change all rows.

    A catalog's folders are read again with every query, so there even those count that nobody uses.
    """
    for name, kind in folders.items():
        if kind != "string" and (name in used or not listed):
            problem = f"the column {name!r} is made of the names of folders, which Spark reads as {kind}"
            setting = "spark.sql.sources.partitionColumnTypeInference.enabled"
            raise BadInput("data", problem, f"read the folder as Parquet with {setting}=false, so that the names stay texts")


def _check_reader(jvm: Any, relation: Any, stored: Mapping[str, str]) -> None:
    """Raise where Spark is set to fail on old days, or to read in a way that fails on some decimals or times."""
    settings = relation.sparkSession().sessionState().conf()
    options = jvm.org.apache.spark.sql.execution.datasources.parquet.ParquetOptions(relation.options(), settings)
    kinds = set(map(bare, stored.values()))
    wrong = []
    if kinds & CALENDAR:
        wrong += [("datetimeRebaseModeInRead", "CORRECTED")] * (str(options.datetimeRebaseModeInRead()) != "CORRECTED")
        wrong += [("int96RebaseModeInRead", "CORRECTED")] * (str(options.int96RebaseModeInRead()) != "CORRECTED")
        wrong += [("int96TimestampConversion", "false")] * settings.isParquetINT96TimestampConversion()
    if "decimal" in kinds:
        wrong += [("enableVectorizedReader", "true")] * (not settings.parquetVectorizedReaderEnabled())
    for name, value in wrong:
        problem = f"Spark may fail on some values, because spark.sql.parquet.{name} or an option of the frame says so"
        raise BadInput("data", problem, f"set spark.sql.parquet.{name}={value} and read the files again, without options")


def _footers(jvm: Any, relation: Any) -> Iterator[Any]:
    """What each file says of itself, wherever Spark finds it."""
    hadoop = relation.sparkSession().sessionState().newHadoopConfWithOptions(relation.options())
    for place in relation.location().inputFiles():
        path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(place))
        file = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, hadoop)
        reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(file)
        try:
            yield reader.getFileMetaData()
        finally:
            reader.close()


def _check_written_by(said: Any, stored: Mapping[str, str]) -> None:
    """Raise if an old Spark wrote days by the calendar before 1582: they are moved when they are read, some too far."""
    if not {bare(kind) for kind in stored.values()} & CALENDAR:
        return
    version = said.get(f"{FOOTER}version")
    old = version is not None and str(version) < "3.1.0"  # as Spark itself compares them
    if old or said.containsKey(f"{FOOTER}legacyDateTime") or said.containsKey(f"{FOOTER}legacyINT96"):
        problem = "a file's days and times are in the old calendar of Spark 2, and some may be too far away"
        raise BadInput("data", problem, "read it with Spark and write it anew as Parquet, or pass frame.localCheckpoint()")


def _check_columns(message: Any, stored: Mapping[str, str], person: str | None) -> None:
    """Raise unless a file stores each column as a type from which Spark reads any value; one that it lacks is null."""
    fields = [(field.getName(), field) for field in message.getFields()]
    for name, kind in stored.items():
        found = [field for there, field in fields if there.lower() == name.lower()]
        if len(found) > 1:
            raise BadInput("data", f"a file has several columns called {name!r}", "give each of them a name of its own")
        for field in found:
            _check_column(field, name, kind, "unit" if name == person else "schema")


def _check_column(field: Any, name: str, kind: str, argument: str) -> None:
    plain = field.isPrimitive() and field.getRepetition().name() != "REPEATED"
    physical = field.asPrimitiveType().getPrimitiveTypeName().name() if plain else "GROUP"
    meaning = field.getLogicalTypeAnnotation()
    logical = None if meaning is None else meaning.toString()
    known = read_as(physical, logical)
    if known == kind:
        return
    stored = physical if logical is None else f"{physical} ({logical})"
    if known is not None:
        problem = f"a file stores the column {name!r} as {stored}, and the frame has it as {kind}"
        raise BadInput("data", problem, f"store it as one type in all files, and read it without a schema, as {known}")
    if (logical or "").startswith("TIMESTAMP(MILLIS"):
        problem = f"the column {name!r} has times in milliseconds, which may be too far away for Spark"
        raise BadInput(argument, problem, "store them in microseconds")
    problem = f"a file stores the column {name!r} as {stored}, which may fail on some values"
    raise BadInput(argument, problem, REMEDIES.get(bare(logical or ""), "store it as a string, or as another plain type"))


def read_as(physical: str, logical: str | None) -> str | None:
    """The type of Spark's that a column of a Parquet file is read as, whatever its bits; None if some may fail.

    >>> read_as("INT32", "INTEGER(8,false)"), read_as("INT64", "DECIMAL(12,2)"), read_as("INT64", "TIMESTAMP(MILLIS,true)")
    ('smallint', 'decimal(12,2)', None)
    """
    decimal = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", logical or "")
    if decimal and physical in WITH_DECIMALS and int(decimal[1]) <= MOST_DIGITS:
        return f"decimal({decimal[1]},{decimal[2]})"
    return STORED.get((physical, logical))


def _class(thing: Any) -> str:
    """The name of a Java object's class."""
    return str(thing.getClass().getName())
