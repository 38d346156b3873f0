"""Text files and workbooks as people have them: every setting, in a schema file and as an argument, on real files."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from jostle.kernel.errors import BadInput
from jostle.schema import Boolean, Category, Date, Integer, Real, Schema
from jostle.schema.schema import TextFormat
from jostle.tables.columns import EngineColumns
from jostle.tables.guess_schema import kinds_of
from jostle.tables.opening import open as open_table
from jostle.tables.unit import Unit

WARDS = Category(["Herz", "Kopf", "Müll\ner"], outside="own", null="own")
SCHEMA = {
    "cost": Real(0, 2000, bins=2, null="own"),
    "day": Date("2024-01-01", "2024-12-31", every="month", null="own", format="%d.%m.%Y"),
    "ward": WARDS,
}
SETTINGS = {"delimiter": ";", "decimal": ",", "thousands": ".", "encoding": "latin-1", "quoted_line_breaks": True}
TEXT = 'ward ; "cost" ;day\nHerz;1.234,5;31.12.2024\n"Müll\ner";"0,5";1.2.2024\nKopf;1.5;2024-12-31\n\n;;\n'


def opened(data, tmp_path, schema=None, **more):
    return open_table(data, schema=schema or SCHEMA, ledger=tmp_path / "ledger.db", name="t", budget=1, **more)


def exact(table, name):
    return EngineColumns.of(table._views, [name]).counts([name]).tolist()


def check(table):
    assert exact(table, "cost") == [1, 1, 2]
    assert exact(table, "ward") == [1, 1, 1, 0, 1]
    assert np.flatnonzero(exact(table, "day")).tolist() == [1, 11, 12]


@pytest.mark.parametrize("ending", ["csv", "txt"])
def test_a_file_from_a_german_office(tmp_path, ending):
    path = tmp_path / f"leute.{ending}"
    path.write_bytes(TEXT.encode("latin-1"))
    check(opened(path, tmp_path, **SETTINGS))
    lines = [f"{name} = {str(value).lower() if value is True else repr(value)}" for name, value in SETTINGS.items()]
    columns = Schema(SCHEMA)
    columns.save(tmp_path / "columns.toml")
    (tmp_path / "leute.toml").write_text("\n".join([*lines, (tmp_path / "columns.toml").read_text("utf-8")]), "utf-8")
    loaded = Schema.load(tmp_path / "leute.toml")
    check(opened(path, tmp_path, tmp_path / "leute.toml"))
    loaded.save(tmp_path / "again.toml")
    again = Schema.load(tmp_path / "again.toml")
    assert (dict(again), again.text_format) == (dict(loaded), loaded.text_format)
    assert again.text_format == TextFormat(delimiter=";", encoding="iso8859-1", quoted_line_breaks=True)


def test_an_argument_says_more_than_the_schema_file_and_a_column_more_than_both(tmp_path):
    (tmp_path / "t.csv").write_text("a|b\n1,5|1.5\n", "utf-8")
    (tmp_path / "t.toml").write_text(
        'delimiter = ";"\ndecimal = ","\n[columns.a]\nkind = "real"\nlow = 1\nhigh = 2\nbins = 2\nnull = "own"\n'
        '[columns.b]\nkind = "real"\nlow = 1\nhigh = 2\nbins = 2\nnull = "own"\ndecimal = "."\n'
    )
    table = opened(tmp_path / "t.csv", tmp_path, tmp_path / "t.toml", delimiter="|")
    assert exact(table, "a") == exact(table, "b") == [0, 1, 0]


def test_a_wrong_delimiter_is_named_only_if_the_line_has_all_names(tmp_path):
    path = tmp_path / "people.csv"
    for sign, shown in ((";", '";"'), ("\t", r'"\t"'), ("|", '"|"')):
        path.write_text(sign.join(["ward", '"cost"', "day", "more"]) + "\n")
        with pytest.raises(BadInput) as refused:
            opened(path, tmp_path)
        assert refused.value.problem == (
            f'no column "cost". Its first line has one name, "{sign.join(["ward", "cost", "day", "more"])}": '
            f"is the delimiter {shown}?"
        )
        assert refused.value.remedy == f"pass delimiter={shown}"
    messages = set()
    for line in ("s3cr3t;cost;ward", "s3cr3t", "ward,day", "s3;cr;3t;cost", "ward;cost;days"):
        path.write_text(line + "\n")
        with pytest.raises(BadInput) as refused:
            opened(path, tmp_path, {"cost": SCHEMA["cost"], "day": SCHEMA["day"]})
        messages.add(str(refused.value))
    remedy = 'check that the first line has the names and the delimiter is right (delimiter=";"), or pass columns=[…]'
    assert messages == {f'data: no column "cost". Remedy: {remedy}.'}


def test_settings_of_text_files_are_refused_for_other_data(tmp_path):
    frame = pd.DataFrame({"x": [1]})
    frame.to_parquet(tmp_path / "t.parquet")
    for name, value in {"delimiter": ";", "encoding": "latin-1", "quoted_line_breaks": True, "sheet": "a"}.items():
        for data in (frame, tmp_path / "t.parquet"):
            with pytest.raises(BadInput, match=f"^{name}: is only for"):
                opened(data, tmp_path, {"x": Integer(0, 9)}, **{name: value})
    with pytest.raises(BadInput, match="^decimal: must be a point or a comma"):
        opened(frame, tmp_path, {"x": Integer(0, 9)}, decimal=";")


@pytest.mark.parametrize("form", ["", "%d.%m", "%d.%m.%Y.%y", "%Q", "%d.%m.%Y%", "%bT%d%Y", "§%d.%m.%Y", 7])
def test_forms_of_dates_that_are_none(form):
    if form == "":
        assert Date("2024-01-01", "2024-12-31", format=form).form is None
        return
    with pytest.raises(BadInput, match="^format: "):
        Date("2024-01-01", "2024-12-31", format=form)


HOSTILE = [
    *(b'"', b'""', b'"a"b"', b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"1e999", b"1.2.3,4", b"99.99.9999", b"31.12.10000"),
    *(b"\xc3", b"\xe2\x80", b";" * 50, b"-", b"+", b",", b".", b"1.1.1", b"\x81\x8d", b"0" * 50_000, b"\x85", b"\x1a"),
]


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "utf-16", "shift_jis"])
@pytest.mark.parametrize("breaks", [True, False])
def test_no_value_makes_reading_fail_or_says_anything(tmp_path, capfd, caplog, encoding, breaks):
    """With hostile records and without any, nothing is printed or logged, and a release looks alike."""
    seen = []
    for records in ([], HOSTILE):
        path = tmp_path / "t.csv"
        head = "id;ward;cost;day\n".encode(encoding)
        path.write_bytes(head + b"".join(b'1;"%b";%b;%b\n%b;' % (one, one, one, one) for one in records))
        table = opened(path, tmp_path, **SETTINGS | {"encoding": encoding, "quoted_line_breaks": breaks})
        answer = table.histogram("ward", epsilon="0.1")
        persons = open_table(
            path,
            schema=SCHEMA,
            ledger=tmp_path / "persons.db",
            name="t",
            budget=1,
            unit=Unit("id", max_rows=2),
            **SETTINGS | {"encoding": encoding, "quoted_line_breaks": breaks},
        )
        other = persons.where("cost >= 1 OR day > DATE '2024-03-01'").histogram("day", epsilon="0.1", algorithm="Laplace")
        seen.append((len(answer.answers), len(other.answers), capfd.readouterr(), list(caplog.records)))
    assert seen[0] == seen[1]


# -------------------------------------------------------------------------------------------------------- workbooks


def test_a_workbook(tmp_path):
    pytest.importorskip("python_calamine")
    import xlsxwriter

    path = tmp_path / "people.xlsx"
    with xlsxwriter.Workbook(path, {"default_date_format": "dd/mm/yyyy"}) as book:
        sheet = book.add_worksheet("2024")
        rows = [
            [" cost ", "day", "ward", "ok", "id"],
            [1234.5, dt.date(2024, 12, 31), "Herz", True, 7],
            ["0,5", "1.2.2024", "Kopf", "false", "7"],
            [],
            [None, None, None, None, 8],
            ["x" * 30_000, dt.date(1900, 1, 1), 5, "#N/A", None],
        ]
        for number, row in enumerate(rows):
            sheet.write_row(number, 0, row)
        sheet.write_formula(5, 3, "=1/0", None, "#DIV/0!")
    schema = {**SCHEMA, "ok": Boolean(outside="own", null="own")}
    table = opened(path, tmp_path, schema, decimal=",")
    assert table.name == "t"
    assert exact(table, "cost") == [1, 1, 2]
    assert exact(table, "ward") == [1, 1, 0, 1, 1]
    assert exact(table, "ok") == [1, 1, 0, 2]  # a formula that failed has no value
    assert np.flatnonzero(exact(table, "day")).tolist() == [0, 1, 11, 12]
    by_person = open_table(path, schema=schema, ledger=tmp_path / "p.db", budget=1, unit=Unit("id", max_rows=1))
    assert by_person.name == "people"
    assert sum(exact(by_person, "ward")) == 2
    assert kinds_of(path, header=True) == dict(
        zip(["cost", "day", "ward", "ok", "id"], ["real", "date", *["category"] * 3], strict=True)
    )
    with pytest.raises(BadInput, match="^header: the first line of people.xlsx may hold"):
        kinds_of(path)
    with pytest.raises(BadInput, match="^sheet: people.xlsx has none called '2023'"):
        opened(path, tmp_path, sheet="2023")
    with pytest.raises(BadInput, match='^data: no column "more"'):
        opened(path, tmp_path, {"more": Integer(0, 9)})


FAR = [
    (-1e18, "yyyy-mm-dd"),
    (1e300, "yyyy-mm-dd"),
    (1e12, "[h]:mm:ss"),
    (-5e18, "[h]:mm:ss"),
    (0.25, "hh:mm"),
    (-1, "yyyy"),
]


@pytest.mark.parametrize("whose", ["column", "persons", "unused"])
def test_no_cell_of_a_workbook_makes_reading_fail_or_says_anything(tmp_path, capfd, whose):
    """Times beyond all times made the library panic, with a message, also in a column that nobody asked for."""
    pytest.importorskip("python_calamine")
    import xlsxwriter

    seen, rows = [], {"filled": 1, "empty": 0}
    for name, filled in rows.items():
        path = tmp_path / f"{name}.xlsx"
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet()
            sheet.write_row(2, 1, ["x", "g"])
            for number, (value, form) in enumerate(FAR * filled):
                sheet.write(number + 3, 1, value, book.add_format({"num_format": form}))
                sheet.write(number + 3, 2, number)
                sheet.write(number + 20, 1, ["#N/A", "1e999", "\u2028", "x" * 32_767, "=1/0", True][number])
        schema = {"g": Integer(0, 9)} | ({"x": Date("2000-01-01", "2020-12-31", every="year")} if whose == "column" else {})
        about = {"columns": ["x", "g"], "unit": "x:2" if whose == "persons" else None, "name": name}
        table = open_table(path, schema=schema, ledger=tmp_path / "b.db", budget=1, **about)
        answer = table.histogram("g", epsilon="0.1", algorithm="Laplace")
        seen.append((len(answer.answers), table.remaining, capfd.readouterr()))
    assert seen[0] == seen[1]
    assert seen[0][2] == ("", "")
