"""How an engine reads a column: as a text, a number or a day, by the same rules as `jostle.schema.values` in memory.

No expression here can fail, whatever stands in the table: a query that fails on some values would tell that they are there.
Casts are behind conditions that admit only what can be cast, in all engines.

- DuckDB and Spark have TRY_CAST besides; PostgreSQL has not, and evaluates CASE in order.
- Numbers in SQL are written as texts and cast: DuckDB reads 0.1 as a decimal, whose conversion may be off by one bit.
- SQLite's columns hold values of any type, so there each value says what it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

import ibis

from jostle.schema.values import DAY, INFINITY, LARGEST_DECIMAL, LONGEST_TEXT, NUMBER
from jostle.schema.written import ALIKE, MONTHS, DateForm, month_number, number_pattern
from jostle.tables.cells.staged_columns import Expression, Stages


@dataclass(frozen=True)
class Raw:
    """A column as it is in the engine: a value is a text, a number or a day, or neither. What no value can be is None."""

    engine: str
    """Which engine it is in."""

    present: Expression
    """Where there is a value: neither null nor NaN."""

    text: Expression | None = None
    """Values that are texts, without the blanks around them."""

    number: Expression | None = None
    """Values that are numbers. Infinities are; truth values count as 0 and 1."""

    day: Expression | None = None
    """Values that are days, or times, whose day it is."""

    plain: bool = False
    """Whether it is made of plain values, where a category is its name."""


def raw(column: Expression, engine: str, numbers: Expression | None = None, days: Expression | None = None) -> Stages[Raw]:
    """A column by its type. `numbers` and `days` are columns with those of its values that are numbers, and days."""
    kind = column.type()
    if engine == "sqlite":
        made = yield {"stored": column.typeof()}
        words = ibis.ifelse(made["stored"] == "text", column.cast("string"), ibis.null("string"))
        number = ibis.ifelse(made["stored"].isin(["integer", "real"]), column.cast("float64"), ibis.null("float64"))
        made = yield {"text": words, "number": number}
        made |= yield {"text": stripped(made["text"], engine)}
        return Raw(engine, column.notnull(), made["text"], made["number"])
    if kind.is_string() or (kind.is_unknown() and engine != "postgres"):  # whose unknown types are ranges and the like
        made = yield {"text": typed_text(column, engine)}
        made = yield {"text": stripped(made["text"], engine)}
        if engine == "postgres":  # through bytes, which have no collation: with some collations, patterns are refused
            made = yield {"text": _decode(_to_bytes(made["text"], "UTF8"), "UTF8")}
        present = column.notnull() if numbers is None else column.notnull() | numbers.notnull()
        return Raw(engine, present, made["text"], numbers, days)
    if kind.is_boolean():
        truth = ibis.cases((column, literal(1.0)), (~column, literal(0.0)), else_=ibis.null("float64"))
        made = yield {"number": truth}
        return Raw(engine, column.notnull(), number=made["number"])
    if kind.is_date() or kind.is_timestamp():
        made = yield {"day": column if kind.is_date() else _day(column, engine)}
        return Raw(engine, column.notnull(), day=made["day"])
    if not kind.is_numeric():
        return Raw(engine, column.notnull())
    made = yield {"number": _as_float(column, kind, engine)}
    return Raw(engine, made["number"].notnull(), number=made["number"])


def octets(text: Expression, engine: str) -> Expression:
    """How many bytes a text has."""
    if engine == "sqlite":
        return _length(text.cast("binary"))
    return _strlen(text) if engine == "duckdb" else _octet_length(text)


def stripped(text: Expression, engine: str) -> Expression:
    """A text without the blanks around it. In place of one that is too long stands a text that no schema names.

    PostgreSQL fails to take the blanks off a text of 2²⁷ bytes, and SQLite to write one of 5·10⁸ bytes in digits.
    """
    return ibis.ifelse(octets(text, engine) > LONGEST_TEXT, text.substr(0, 11) + " ", text.strip())


def number_of(value: Raw, decimal: str = ".", thousands: str = "") -> Stages[Expression | None]:
    """The number that a value is, or that its text stands for in this form; null if it is no number."""
    if value.text is None:
        return value.number
    written, pattern = value.text, NUMBER if (decimal, thousands) == (".", "") else number_pattern(decimal, thousands)
    if marks := ALIKE.get(thousands, ""):
        made = yield {"written": reduce(lambda text, mark: text.replace(mark, thousands), marks, written)}
        written = made["written"]
    made = yield {
        "plain": matches(written, pattern, value.engine),
        "infinite": matches(value.text, INFINITY, value.engine),
    }
    number = ibis.ifelse(made["plain"], written, ibis.null("string"))
    number = number.replace(thousands, "") if thousands else number
    number = number.replace(decimal, ".") if decimal != "." else number
    safe = _cast(number, "float64", value.engine)
    beyond = ibis.ifelse(value.text.startswith("-"), literal(float("-inf")), literal(float("inf")))
    otherwise = ibis.null("float64") if value.number is None else value.number
    made = yield {"number": ibis.cases((made["plain"], safe), (made["infinite"], beyond), else_=otherwise)}
    return made["number"]


def day_of(value: Raw, form: DateForm | None = None) -> Stages[Expression | None]:
    """The day that a value is, or that its text begins with in this form, if the calendar has such a day; else null."""
    if value.text is None:
        return value.day
    stored, text = value.day, value.text
    if form is not None:
        text = yield from _iso_text(value, form)
    made = yield {"shaped": matches(text, f"{DAY}([ T]|{END[value.engine]})", value.engine, whole=False)}
    shaped = made["shaped"]
    made = yield {"safe": ibis.ifelse(shaped, text.substr(0, 10), ibis.literal("0000-00-00"))}
    safe = made["safe"]
    made = yield {
        key: safe.substr(*part).cast("int64") for key, part in (("year", (0, 4)), ("month", (5, 2)), ("day", (8, 2)))
    }
    year, month, day = made["year"], made["month"], made["day"]
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    longest = ibis.cases((month == 2, ibis.ifelse(leap, 29, 28)), (month.isin([4, 6, 9, 11]), 30), else_=31)
    made = yield {"exists": (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= longest)}
    guarded = ibis.ifelse(made["exists"], safe, ibis.null("string"))
    made = yield {"day": ibis.ifelse(made["exists"], _cast(guarded, "date", value.engine), ibis.null("date"))}
    return made["day"] if stored is None else ibis.coalesce(stored, made["day"])


def _iso_text(value: Raw, form: DateForm) -> Stages[Expression]:
    """A text in some form as 2024-12-31, whether or not the calendar has that day; null if it is not of that form."""
    made = yield {"shaped": matches(value.text, f"{form.pattern}([ T]|{END[value.engine]})", value.engine, whole=False)}
    shaped = made["shaped"]
    made = yield {"safe": ibis.ifelse(shaped, value.text, ibis.literal(form.sample))}  # of that form, whatever it was
    safe, pattern = made["safe"], f"^{form.pattern}"
    made = yield {code: safe.re_extract(pattern, group) for code, group in form.groups.items()}
    two = {code: ibis.ifelse(made[code].length() == 1, ibis.literal("0") + made[code], made[code]) for code in made}
    named = next((made[code] for code in ("b", "B") if code in made), None)
    month = two["m"] if named is None else _month(named)
    year = made["Y"] if "Y" in made else ibis.ifelse(made["y"] >= "69", "19", "20") + made["y"]
    made = yield {"iso": year + "-" + month + "-" + two["d"]}
    return ibis.ifelse(shaped, made["iso"], ibis.null("string"))


def _month(name: Expression) -> Expression:
    """The number of a month by its name, in two digits; null if it is not one."""
    words = [(name.lower() == word, month_number(word)) for month in MONTHS for word in dict.fromkeys((month, month[:3]))]
    return ibis.cases(*words, else_=ibis.null("string"))


LEAST_DECIMAL = "1e-300"
"""Decimals nearer to 0 count as 0."""


def builtin(name: str, takes: tuple[str | None, ...], gives: str) -> Callable[..., Expression]:
    """A function that an engine has and Ibis has not."""

    @cache
    def made() -> Callable[..., Expression]:  # when it is first used: few queries use any
        stands_for = (lambda one: None) if len(takes) == 1 else (lambda one, other: None)
        function: Callable[..., Expression] = ibis.udf.scalar.builtin(stands_for, name=name, signature=(takes, gives))
        return function

    return lambda *values: made()(*values)


_to_bytes = builtin("convert_to", ("string", "string"), "binary")
_decode = builtin("convert_from", ("binary", "string"), "string")
_encode = builtin("encode", ("binary", "string"), "string")
"""A text's bytes, the text of bytes, and bytes in digits, in PostgreSQL."""

_octet_length = builtin("octet_length", ("string",), "int64")
_strlen = builtin("strlen", ("string",), "int64")
_length = builtin("length", ("binary",), "int64")
"""How many bytes there are: in PostgreSQL and Spark, in DuckDB, and in SQLite."""

_hex = builtin("hex", ("string",), "string")
"""A text's bytes in digits, as DuckDB, Spark and SQLite call it."""


def typed_text(column: Expression, engine: str) -> Expression:
    """A column of texts as one of the engine's own type of text, such as an enumeration of PostgreSQL's."""
    return ibis.literal("") + column if engine == "postgres" else column.cast("string")


def in_digits(text: Expression, engine: str) -> Expression:
    """The bytes of a text in an engine, in hexadecimal digits: by a collation's rules, different texts may be the same."""
    return _encode(_to_bytes(text, "UTF8"), "hex").upper() if engine == "postgres" else _hex(text)


_encoded = builtin("encode", ("string",), "binary")
_encoded_in = builtin("encode", ("string", "string"), "binary")
"""A text's bytes, in DuckDB and in Spark."""


def octets_of(text: Expression, engine: str) -> Expression:
    """The bytes of a text: what no collation takes for those of another, and what is fetched whatever they are."""
    if engine == "sqlite":
        return text.cast("binary")
    if engine == "postgres":
        return _to_bytes(text, "UTF8")
    return _encoded(text) if engine == "duckdb" else _encoded_in(text, "UTF-8")


def digits(key: str) -> str:
    """The same, of a public text."""
    return key.encode().hex().upper()


_like_shell = builtin("glob", ("string", "string"), "boolean")
"""Whether a text is of a form, as SQLite knows it without decoding the text."""

_instr = builtin("instr", ("string", "string"), "int64")
_char = builtin("char", ("int64",), "string")
"""Where a text is in another, and a character by its number, in SQLite."""


END = {"duckdb": r"\z", "postgres": r"\Z", "pyspark": r"\z", "sqlite": r"\Z"}
"""How a pattern says that nothing follows, not even the end of a line."""


def matches(text: Expression, pattern: str, engine: str, *, whole: bool = True) -> Expression:
    """Whether a text is of that form, or begins with it."""
    if engine == "sqlite":  # hands texts to a function of Python's, which fails on invalid bytes; patterns are ASCII
        ends_early = _instr(text, _char(0)) > 0  # a form is looked for only before the first null byte
        text = ibis.ifelse(_like_shell("*[^ -~]*", text) | ends_early, ibis.null("string"), text)
    return text.re_search(f"^({pattern}){END[engine]}" if whole else f"^{pattern}").fill_null(False)


def literal(value: float) -> Expression:
    """A number as every engine reads it exactly."""
    number = float(value)
    return ibis.literal(repr(number)).cast("float64") if math.isfinite(number) else ibis.literal(number)


def clipped(value: Expression, low: Expression, high: Expression) -> Expression:
    """The value, or the nearest bound. Null stays null."""
    return ibis.cases((value < low, low), (value > high, high), else_=value)


def day_number(day: Expression) -> Stages[Expression]:
    """Days since 1 March of the year 0: by the calendar, because engines count days differently.

    The year begins in March, so that the leap day is its last, and five months from March on have 153 days.
    """
    made = yield {"year": day.year().cast("int64"), "month": day.month().cast("int64"), "day": day.day().cast("int64")}
    year, month, number, early = made["year"], made["month"], made["day"], made["month"] <= 2
    made = yield {"year": ibis.ifelse(early, year - 1, year), "month": ibis.ifelse(early, month + 9, month - 3)}
    year, month = made["year"], made["month"]
    before = 365 * year + year // 4 - year // 100 + year // 400
    return before + (153 * month + 2) // 5 + number - 1


def _day(time: Expression, engine: str) -> Expression:
    """The day of a time. DuckDB's times go further than its days: those that do are null."""
    return time.try_cast("date") if engine == "duckdb" else time.date()


def _as_float(column: Expression, kind: Any, engine: str) -> Expression:
    """As a float, null where it is NaN."""
    if kind.is_integer():
        return column.cast("float64")
    if kind.is_floating():
        value = column.cast("float64")
        return ibis.ifelse(value.isnan(), ibis.null("float64"), value)
    if engine != "postgres":  # a decimal of 38 digits is no trouble for a float; the limit may be for the decimal's type
        value = column.cast("float64")
        return clipped_to_infinity(value, value)
    # PostgreSQL's may be too large or too small for a float, which raises, or NaN, which is above all numbers.
    inside = (column <= LARGEST_DECIMAL) & (column >= -LARGEST_DECIMAL)
    least = ibis.literal(LEAST_DECIMAL).cast("decimal")
    tiny = (column < least) & (column > -least)
    kept = ibis.ifelse(inside & ~tiny, column, ibis.null(kind)).cast("float64")
    number = clipped_to_infinity(column, ibis.ifelse(tiny, literal(0.0), kept))
    return ibis.ifelse(column.cast("string") == "NaN", ibis.null("float64"), number)


def clipped_to_infinity(decimal: Expression, otherwise: Expression) -> Expression:
    """Infinite beyond the limit for exact decimals."""
    far = [(decimal > LARGEST_DECIMAL, literal(float("inf"))), (decimal < -LARGEST_DECIMAL, literal(float("-inf")))]
    return ibis.cases(*far, else_=otherwise)


def _cast(guarded: Expression, to: str, engine: str) -> Expression:
    return guarded.cast(to) if engine == "sqlite" else guarded.try_cast(to)
