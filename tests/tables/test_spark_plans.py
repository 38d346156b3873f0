"""Frames of Spark: only tables are opened, of types that Spark reads whatever the value; failures are not described."""

from __future__ import annotations

import logging
import struct
import uuid
from datetime import date
from decimal import Decimal

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jostle.kernel.errors import BadInput
from jostle.schema import Boolean, Category, Date, Integer, Real
from jostle.tables.columns import EngineColumns
from jostle.tables.engines.spark_plans import STORED
from jostle.tables.opening import open as open_table
from jostle.tables.run_in_engine import EngineError, run_in_engine
from jostle.tables.unit import Unit

X = {"x": Integer(0, 9)}
QUERY = "^data: the Spark frame is a query, which may fail on a value or show a row more than once"


def opened(data, tmp_path, schema=None, **more):
    keywords = {"name": "t", "budget": 1000} | more
    return open_table(data, schema=schema or X, ledger=tmp_path / "ledger.db", **keywords)


def exact(table, name="x"):
    return EngineColumns.of(table._views, [name]).counts([name])


def parquet(folder, columns, **how):
    path = folder / f"{uuid.uuid4().hex}.parquet"
    pq.write_table(pa.table(columns), path, **how)
    return path


def stored(spark, folder, fields, rows, said=None):
    """A Parquet file by the format's own types, written by Spark's library: with bits that no ordinary writer would write.

    A whole number in a column of 64 bits must need more than 32.
    """
    jvm, path = spark._jvm, folder / f"{uuid.uuid4().hex}.parquet"
    message = " ".join(f"optional {field};" for field in fields)
    schema = jvm.org.apache.parquet.schema.MessageTypeParser.parseMessageType(f"message m {{ {message} }}")
    builder = jvm.org.apache.parquet.hadoop.example.ExampleParquetWriter.builder(jvm.org.apache.hadoop.fs.Path(str(path)))
    writer = builder.withType(schema).withExtraMetaData(said or {}).build()
    groups = jvm.org.apache.parquet.example.data.simple.SimpleGroupFactory(schema)
    for row in rows:
        group = groups.newGroup()
        for place, value in enumerate(row):
            if value is not None:
                binary = jvm.org.apache.parquet.io.api.Binary
                group.add(place, binary.fromConstantByteArray(bytearray(value)) if isinstance(value, bytes) else value)
        writer.write(group)
    writer.close()
    return path


@pytest.fixture
def settings(spark):
    """Set something in the session for the time of a test."""
    before = {}

    def set_(name, value):
        before.setdefault(name, spark.conf.get(name, None))
        spark.conf.set(name, value)

    yield set_
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


# ------------------------------------------------------------------------------------------------------------ plans


@pytest.fixture
def frame(spark, tmp_path):
    return spark.read.parquet(str(parquet(tmp_path, {"x": [3, 3, 7], "w": ["3", "b", None]})))


@pytest.mark.parametrize(
    "planned",
    [
        pytest.param(lambda frame: frame.selectExpr("cast(w AS INT) AS x"), id="cast"),
        pytest.param(lambda frame: frame.selectExpr("explode(array(x, x)) AS x"), id="explode"),
        pytest.param(lambda frame: frame.where("x > 3"), id="filter"),
        pytest.param(lambda frame: frame.union(frame), id="union"),
        pytest.param(lambda frame: frame.join(frame.select("w"), "w"), id="join"),
        pytest.param(lambda frame: frame.limit(2), id="limit"),
        pytest.param(lambda frame: frame.alias("a").where("true"), id="below an alias"),
        pytest.param(lambda frame: frame.selectExpr("cast(w AS INT) AS x").cache(), id="cached"),
        pytest.param(lambda frame: frame.localCheckpoint(eager=False), id="computed later"),
        pytest.param(lambda frame: frame.localCheckpoint().where("x > 3"), id="above what is computed"),
        pytest.param(lambda frame: frame.sparkSession.createDataFrame([(3,)], "x INT"), id="rows of Python"),
        pytest.param(lambda frame: frame.sparkSession.createDataFrame(pa.table({"x": [3]})), id="rows of Arrow"),
        pytest.param(lambda frame: frame.sparkSession.sql("VALUES (3) AS t(x)"), id="values"),
        pytest.param(lambda frame: frame.sparkSession.range(3).withColumnRenamed("id", "x"), id="range"),
        pytest.param(lambda frame: frame.sparkSession.readStream.format("rate").load(), id="stream"),
    ],
)
def test_a_query_in_spark_is_refused(frame, tmp_path, planned):
    """A cast fails on one value, and a frame that explodes has a row twice."""
    with pytest.raises(BadInput, match=f"{QUERY}. Remedy: write it as Parquet and open that, or pass frame.localCheck"):
        opened(planned(frame), tmp_path)


def test_text_files_that_a_frame_reads_with_types_are_refused(spark, tmp_path):
    (tmp_path / "a.csv").write_text("3\nno number\n")
    for frame in (
        spark.read.schema("x INT").option("mode", "FAILFAST").csv(str(tmp_path / "a.csv")),
        spark.read.schema("x INT").json(str(tmp_path / "a.csv")),
        spark.read.schema("x STRING").text(str(tmp_path / "a.csv")),
    ):
        with pytest.raises(BadInput, match=QUERY):
            opened(frame, tmp_path)


def test_a_frame_of_spark_connect_is_refused(tmp_path):
    from pyspark.sql import DataFrame

    connected = type("DataFrame", (), {"__module__": DataFrame.__module__, "createOrReplaceTempView": None})
    with pytest.raises(BadInput, match=r"^data: the frame comes through Spark Connect.*engine='spark'"):
        opened(connected(), tmp_path)


def test_tables_and_computed_rows_are_opened(spark, frame, tmp_path):
    view, saved = (f"t_{uuid.uuid4().hex}" for _ in range(2))
    frame.createTempView(view)
    frame.write.option("path", str(tmp_path / saved)).saveAsTable(saved)
    spark.sparkContext.setCheckpointDir(str(tmp_path / "checkpoints"))
    ways = {
        "files": (frame, {}),
        "alias": (frame.alias("a").alias("b"), {}),
        "computed": (frame.selectExpr("explode(array(x)) AS x").localCheckpoint(), {}),
        "written down": (frame.select("x").checkpoint(), {}),
        "a view's frame": (spark.table(view), {}),
        "a view": (spark, {"table": view}),
        "a saved table": (spark, {"table": saved}),
        "in a schema": (spark, {"table": f"default.{saved}"}),
        "by Ibis": (run_in_engine("opening", lambda: ibis.pyspark.connect(spark).table(saved, database="default")), {}),
    }
    try:
        for way, (data, how) in ways.items():
            assert exact(opened(data, tmp_path, **how))[[3, 7]].tolist() == [2, 1], way
    finally:
        spark.sql(f"DROP TABLE {saved}")


def test_views_of_queries_are_refused_however_they_are_named(spark, frame, tmp_path):
    temporary, kept, saved, memory = (f"t_{uuid.uuid4().hex}" for _ in range(4))
    frame.write.option("path", str(tmp_path / saved)).saveAsTable(saved)
    spark.sql(f"CREATE TEMPORARY VIEW {temporary} AS SELECT explode(array(x, x)) AS x FROM {saved}")
    spark.sql(f"CREATE VIEW {kept} AS SELECT cast(w AS INT) AS x FROM {saved}")
    frame.where("x > 3").createTempView(memory)
    try:
        for name in (temporary, kept, memory):
            by_ibis = run_in_engine("opening", lambda name=name: ibis.pyspark.connect(spark).table(name))
            for data, how in ((spark, {"table": name}), (spark.table(name), {}), (by_ibis, {})):
                with pytest.raises(BadInput, match=QUERY):
                    opened(data, tmp_path, **how)
    finally:
        spark.sql(f"DROP VIEW {kept}")
        spark.sql(f"DROP TABLE {saved}")


def test_a_name_that_is_given_to_a_query_later_leads_to_the_table_that_was_opened(spark, frame, tmp_path):
    name = f"t_{uuid.uuid4().hex}"
    frame.createTempView(name)
    table = opened(spark, tmp_path, table=name)
    frame.selectExpr("explode(array(x, x, x)) AS x").createOrReplaceTempView(name)
    assert exact(table)[[3, 7]].tolist() == [2, 1]


def test_a_table_in_buckets_is_refused(spark, frame, tmp_path):
    name = f"t_{uuid.uuid4().hex}"
    frame.write.bucketBy(2, "x").option("path", str(tmp_path / name)).saveAsTable(name)
    try:
        with pytest.raises(BadInput, match=r"^data: the Spark table is kept in buckets"):
            opened(spark, tmp_path, table=name)
    finally:
        spark.sql(f"DROP TABLE {name}")


# ------------------------------------------------------------------------------------------------------------ types


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("int64 x (TIMESTAMP(MILLIS,true))", "^schema: the column 'x' has times in milliseconds, which may be too far away"),
        ("int64 x (TIMESTAMP(MILLIS,false))", "^schema: the column 'x' has times in milliseconds, which may be too far"),
        ("binary x", "^schema: the column 'x' has the type binary"),
        ("binary x (ENUM)", r"^schema: a file stores the column 'x' as BINARY \(ENUM\)"),
        ("binary x (DECIMAL(9,2))", r"^schema: a file stores the column 'x' as BINARY \(DECIMAL\(9,2\)\), .*at most 18"),
        ("fixed_len_byte_array(16) x (DECIMAL(38,0))", r"^schema: a file stores the column 'x' as FIXED.*localCheckpoint"),
    ],
)
def test_what_spark_may_fail_to_read_is_refused_by_its_stored_type(spark, tmp_path, field, message):
    path = stored(spark, tmp_path, [field, "int32 y"], [])
    for data, how in ((spark.read.parquet(str(path)), {}), (path, {"engine": "spark"})):
        with pytest.raises(BadInput, match=message):
            opened(data, tmp_path, **how)
        opened(data, tmp_path, {"y": Integer(0, 9)}, name="another", **how)
    with pytest.raises(BadInput, match="^unit: " if "TIMESTAMP" in field else message.replace("schema", "unit")):
        opened(path, tmp_path, {"y": Integer(0, 9)}, unit="x:1", engine="spark")


def test_files_that_declare_a_column_differently_are_refused(spark, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    for place, column in enumerate((pa.array([3], "int32"), pa.array([3], "int64"), pa.array(["3"]))):
        pq.write_table(pa.table({"x": column, "y": [3]}), folder / f"{place}.parquet")
    for data, how in ((spark.read.parquet(str(folder)), {}), (folder, {"engine": "spark"})):
        with pytest.raises(BadInput, match=r"^data: a file stores the column 'x' as .*store it as one type in all files"):
            opened(data, tmp_path, **how)
        assert exact(opened(data, tmp_path, {"y": Integer(0, 9)}, **how), "y")[3] == 3


def test_a_schema_that_the_files_do_not_have_is_refused(spark, tmp_path):
    path = str(parquet(tmp_path, {"x": [3]}))
    for kind in ("INT", "DECIMAL(20,0)", "DOUBLE", "STRING", "TIMESTAMP"):
        with pytest.raises(BadInput, match=r"^data: a file stores the column 'x' as INT64, and the frame has it as"):
            opened(spark.read.schema(f"x {kind}").parquet(path), tmp_path)


def test_columns_that_differ_in_capitals_alone_in_a_file_are_refused(spark, tmp_path):
    path = parquet(tmp_path, {"x": [3], "X": [3]})
    with pytest.raises(BadInput, match=r"^data: a file has several columns called 'x'"):
        opened(spark.read.schema("x BIGINT").parquet(str(path)), tmp_path)


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("datetimeRebaseModeInRead", "EXCEPTION", "DATE"),
        ("datetimeRebaseModeInRead", "LEGACY", "DATE"),
        ("int96RebaseModeInRead", "EXCEPTION", "DATE"),
        ("int96TimestampConversion", "true", "DATE"),
        ("enableVectorizedReader", "false", "DECIMAL(9,2)"),
    ],
)
def test_settings_with_which_spark_fails_on_some_values_are_refused(spark, tmp_path, settings, name, value, kind):
    """With EXCEPTION, Spark fails on days before 1582 in files that it did not write itself."""
    path = stored(spark, tmp_path, [f"int32 x ({kind})", "int32 y"], [[-(10**6), 3]])
    schema = {"x": Date(date(2000, 1, 1), date(2000, 2, 1)) if kind == "DATE" else Integer(0, 9)}
    settings(f"spark.sql.parquet.{name}", value)
    with pytest.raises(BadInput, match=f"^data: Spark may fail on some values, because spark.sql.parquet.{name}"):
        opened(spark.read.parquet(str(path)), tmp_path, schema)
    opened(spark.read.parquet(str(path)), tmp_path, {"y": Integer(0, 9)}).count(epsilon=1)
    if "Rebase" in name:  # jostle's own reading does not follow the setting, and a frame's option goes before it
        opened(path, tmp_path, schema, engine="spark").count(epsilon=1)
        settings(f"spark.sql.parquet.{name}", "CORRECTED")
        with pytest.raises(BadInput, match="^data: Spark may fail on some values"):
            opened(spark.read.option(name.removesuffix("InRead"), value).parquet(str(path)), tmp_path, schema)


@pytest.mark.parametrize("said", [{"version": "2.4.8"}, {"version": "3.5.0", "legacyDateTime": ""}, {"legacyINT96": ""}])
def test_days_in_the_old_calendar_are_refused(spark, tmp_path, said):
    days = {"x": Date(date(2000, 1, 1), date(2000, 2, 1))}
    footer = {f"org.apache.spark.{key}": value for key, value in said.items()}
    path = stored(spark, tmp_path, ["int32 x (DATE)", "int32 y"], [[-(10**6), 3]], footer)
    with pytest.raises(BadInput, match=r"^data: a file's days and times are in the old calendar of Spark 2"):
        opened(path, tmp_path, days, engine="spark")
    opened(path, tmp_path, {"y": Integer(0, 9)}, engine="spark").count(epsilon=1)


def test_names_of_folders_are_texts_or_refused(spark, frame, tmp_path, settings):
    frame.withColumn("p", frame.x).write.partitionBy("p").parquet(str(tmp_path / "parts"))
    texts = spark.read.parquet(str(tmp_path / "parts"))
    assert exact(opened(texts, tmp_path, {"p": Integer(0, 9)}), "p")[[3, 7]].tolist() == [2, 1]
    settings("spark.sql.sources.partitionColumnTypeInference.enabled", "true")
    guessed = spark.read.parquet(str(tmp_path / "parts"))
    with pytest.raises(BadInput, match=r"^data: the column 'p' is made of the names of folders, which Spark reads as int"):
        opened(guessed, tmp_path, {"p": Integer(0, 9)})
    assert exact(opened(guessed, tmp_path))[[3, 7]].tolist() == [2, 1]


# ---------------------------------------------------------------------------------------------------------- silence


SECRET = "4711 is private"  # noqa: S105 (a value of a table)


class Kept(logging.Handler):
    """All that is logged, by whichever thread."""

    def __init__(self):
        super().__init__()
        self.said = []

    def emit(self, record):
        self.said.append(f"{record.name} {record.getMessage()} {record.exc_info}")


@pytest.mark.parametrize("by", ["sql", "frame"])
def test_nothing_is_said_of_a_query_that_fails(spark, capfd, by):
    from pyspark.logger import PySparkLogger
    from pyspark.sql import functions as f

    def fails():
        words = spark.sql(f"SELECT '{SECRET}' AS w, rand() AS r")
        return (words.selectExpr("cast(w AS INT)") if by == "sql" else words.select(f.col("w").cast("int"))).collect()

    kept, root = Kept(), logging.getLogger()
    before = root.level
    loggers = [root, *(PySparkLogger.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"))]
    disabled = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.addHandler(kept)
        logger.disabled = False  # whoever configures logging anew disables those that exist
    root.setLevel(logging.DEBUG)
    try:
        with pytest.raises(EngineError) as failure:
            run_in_engine("testing", fails)
        quiet = [one for one in kept.said if SECRET in one], capfd.readouterr()
        loggers[1].error("what somebody else asks of Spark is logged as ever")
    finally:
        root.setLevel(before)
        for logger, was in zip(loggers, disabled, strict=True):
            logger.removeHandler(kept)
            logger.disabled = was
    assert quiet == ([], ("", ""))
    assert SECRET not in str(failure.value)
    assert any("logged as ever" in one for one in kept.said)


# ------------------------------------------------------------------------------------------- beside a table of no rows

I32, I64 = (-(2**31), 2**31 - 1, 0), (-(2**63), 2**63 - 1, 2**40)
TEXTS = (b"\xff\xfe", b"", b"7" * 2**20, b"\xf4\x90\x80\x80", b"\0", b"\xc3", b"0001-01-01", b"9999-12-31", b"NaN")
INT96 = tuple(struct.pack("<qi", nanos, day) for nanos in I64 for day in I32)
WIDE = [b"\x7f" * 30, b"\x80" * 30, bytes(30)]
ODD = {
    "int32 a": I32,
    "int32 b (INTEGER(8,true))": (*I32, 300),
    "int32 c (INTEGER(16,true))": I32,
    "int32 d (INTEGER(32,true))": I32,
    "int32 e (INTEGER(8,false))": (*I32, 300),
    "int32 f (INTEGER(16,false))": I32,
    "int32 g (INTEGER(32,false))": I32,
    "int32 h (DATE)": (*I32, -719162, 2932896),  # the years 1 and 9999
    "int64 i": I64,
    "int64 j (INTEGER(64,true))": I64,
    "int64 k (INTEGER(64,false))": I64,
    "int64 l (TIMESTAMP(MICROS,true))": (*I64, -62135596800000000, 253402300799999999),
    "int64 m (TIMESTAMP(MICROS,false))": (*I64, -62135596800000000, 253402300799999999),
    "int96 n": INT96,
    "binary o (STRING)": TEXTS,
    "int32 p (DECIMAL(5,2))": I32,
    "int64 q (DECIMAL(18,18))": I64,
    "fixed_len_byte_array(30) r (DECIMAL(10,2))": WIDE,
}
FLOATS = [np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.7976931348623157e308]
USUAL = {
    "s": (pa.float32(), [*FLOATS[:4], 1e-45, 3.4e38]),
    "t": (pa.float64(), FLOATS),
    "u": (pa.bool_(), [True, False, None, True, False, None]),
    "v": (pa.decimal128(18, 0), [Decimal(10**18 - 1), Decimal(1 - 10**18), None, None, None, None]),
}
LONG = ("cast(concat(repeat('9', 38)) AS DECIMAL(38,0)) AS w", "cast(concat('-0.', repeat('9', 38)) AS DECIMAL(38,38)) AS z")
DAYS, NUMBER = Date(date(2000, 1, 1), date(2000, 3, 31), every="month"), Real(0, 10, bins=2)
KINDS = {"h": DAYS, "l": DAYS, "m": DAYS, "n": DAYS, "o": Category(["7", "NaN"]), "u": Boolean()}


@pytest.fixture(scope="module")
def extremes(spark, tmp_path_factory):
    """All types on the list with extreme values, and the same columns with no rows; as files, and as computed rows."""
    folder, length = tmp_path_factory.mktemp("extremes"), max(map(len, ODD.values()))
    rows = [[values[place] if place < len(values) else None for values in ODD.values()] for place in range(length)]
    for name, kept, size in (("full", rows, 6), ("none", [], 0)):
        (folder / name).mkdir()
        stored(spark, folder / name, ODD, kept)
        parquet(folder / name, {key: pa.array(values[:size], kind) for key, (kind, values) in USUAL.items()})
    files = [spark.read.option("mergeSchema", "true").parquet(str(folder / name)) for name in ("full", "none")]
    return {"files": files, "computed": [frame.selectExpr("*", *LONG).localCheckpoint() for frame in files]}


def outcome(question):
    try:
        question()
    except Exception as error:  # noqa: BLE001 (whatever it is)
        return type(error), str(error)
    return "answered"


def outcomes(frame, folder, persons):
    """What becomes of many questions. The first reads all columns at once, and some have another column as the person's."""
    schema = {name: KINDS.get(name, NUMBER) for name in frame.columns}
    beside = ["t", "of o, too", *(f"of {name}" for name in persons)]
    table = opened(frame, folder, schema, beside=beside)
    (view,) = table._views
    cells = lambda rows: (ibis.literal(True), {f"c_{name}": rows.cell(name) for name in schema})  # noqa: E731
    found = {"all": outcome(lambda: view.count_query(list(schema), cells).fetch())}
    for name in persons:
        unit = Unit(name, max_rows=2)
        whose = opened(frame, folder, {"o": KINDS["o"]}, unit=unit, name=f"of {name}", beside=beside)
        found["person", name] = outcome(lambda whose=whose: whose.count(epsilon=1))
    for name, one in (
        ("no unit", table),
        ("unit", opened(frame, folder, schema, unit=Unit("o", max_rows=2), name="of o, too", beside=beside)),
    ):
        found[name, "count"] = outcome(lambda one=one: one.count(epsilon=1))
        found[name, "histogram"] = outcome(lambda one=one: one.histogram("n", epsilon=1))
        found[name, "sum"] = outcome(lambda one=one: one.sum("t", epsilon=1))
        found[name, "mean"] = outcome(lambda one=one: one.mean("k", epsilon=1))
    return found


@pytest.mark.parametrize("form", ["files", "computed"])
def test_extreme_values_are_answered_as_no_rows_are(extremes, tmp_path, capfd, caplog, form):
    caplog.set_level(logging.INFO)
    seen = []
    for name, frame in zip(("full", "none"), extremes[form], strict=True):
        (tmp_path / name).mkdir()
        caplog.clear()
        found = outcomes(frame, tmp_path / name, "hkort" if form == "files" else "wz")
        seen.append((found, [record.getMessage() for record in caplog.records], capfd.readouterr()))
    full, none = seen
    assert full == none
    assert set(full[0].values()) == {"answered"}


def test_every_stored_type_on_the_list_is_tried(extremes, spark):
    fields = "".join(f"optional {field};" for field in ODD)
    parsed = spark._jvm.org.apache.parquet.schema.MessageTypeParser.parseMessageType(f"message m {{ {fields} }}").getFields()
    tried = set()
    for field in parsed:
        meaning = field.getLogicalTypeAnnotation()
        tried.add((field.getPrimitiveTypeName().name(), None if meaning is None else meaning.toString()))
    assert set(STORED) <= tried | {("BOOLEAN", None), ("FLOAT", None), ("DOUBLE", None)}
