"""Hostile texts for everything that reads one: schema files, selectors, choosers and SQL.

A valid text is cut, doubled, and mixed with words of its language and with what parsers choke on: deep nesting, endless
numbers, texts that look like code. Each must be read or refused, and reading must not run anything in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from jostle.choice import programs
from jostle.choice.expressions import sql
from jostle.choice.expressions.private import PrivateNumber
from jostle.choice.selectors import Selector
from jostle.learn.chooser import Chooser
from jostle.schema import files as schema_files

Odd = Callable[[np.random.Generator, Any], Any]

NASTY = (
    "\x00", "\ud800", "\u202e", "é", "\r\n", "9" * 30, "9" * 5_000, "-1", "1e999", "1e-999", "0x1F", "NaN", "Infinity",
    "null", "true", "[" * 5_000, "{" * 2_000, "(" * 5_000, '{"a":' * 2_000, '"' * 3, "'" * 3, "\\", "\\u0000",
    "__import__('os').abort()", "!!python/object/apply:os.abort", "__class__", "../../etc/passwd", ";", "--", "/*", "#",
    "=", ",", "[]", "{}", '""', "x" * 10_000,
)  # fmt: skip
"""Pieces that parsers of any language choke on."""

SCHEMA = """
missing = ["NA", "?"]

[columns.age]
kind = "integer"
low = 0
high = 99
bins = 10
outside = "clip"
null = "own"

[columns.sex]
kind = "category"
categories = ["F", "M", 3, true]

[columns.income]
kind = "real"
low = 0.0
high = 1e5
bins = 64

[columns.born]
kind = "date"
low = 2000-01-01
high = 2030-12-31
every = "month"
"""
"""A schema file with columns of several kinds."""

SCHEMA_WORDS = (
    "[columns.x]", "[[columns]]", "[columns]", "kind = ", "low = ", "high = ", "bins = ", "categories = ", "nan", "inf",
    "-inf", "1979-05-27T07:32:00Z", "07:32:00", "{ a = 1 }", "[1, 2]", '"own"', '"drop"', "to_confirm = true",
    "a.b.c.d = 1", "2000-13-45", '"integer"', '"real"', '"date"', '"boolean"', '"category"', "every = ", '"day"', "1e308",
    "-1e308", "9223372036854775807", "0", "missing = ",
)  # fmt: skip

SQL = (
    "stddev(select sum(values) from db group by x/8, y/8)",
    "(select count(values) from db where values > 0) / domain_size",
    "select sum(values) from db where x between 1 and 3 and y < 2 group by x/2",
    "greatest((select sum(values) from db), 3) - 2 * median_deviation(select sum(values) from db group by x)",
)
"""Expressions that are understood."""

SQL_WORDS = (
    "select", "from", "db", "values", "where", "group by", "groupby", "having", "order by", "join", "union", "with", "as",
    "(", ")", "sum", "count", "stddev", "stddev_samp", "l1", "l2", "linf", "clip", "sqrt", "abs", "least",
    "total_variation", "x", "y", "z", "*", "/", "/ 0", "+", "-", ">", "<", "=", "and", "or", "not", "1", "0.5", "1e400",
    "domain_size", "x_range", "__class___range", "null", "case when 1 then 2 end", "over ()", "in (select 1)", ":p", "?",
    "drop table db", "values > values", "distinct", "x%0", "limit 1",
)  # fmt: skip

PROGRAM = """public = {flat, steep, ... # and others}
def spread(db):
    width = sqrt(db.x_range)
    return {{stddev(select sum(values) from db groupby x/width)}}
def high(db):
    return {{select count(values) from db where values > {{select avg(values) from db}}}} / max(db.size, 1)
class Laplace(Option):
    def answer(db, queries):
    def predict(F):
        return 1-(F.spread)^2
def Uniform(db, queries):
choice = MkChoiceMaker among {Laplace, Uniform} informed by {spread, high} trained on public
def main(db, queries):
    answers = choice(db, queries)
"""
"""A program in the thesis' notation."""

PROGRAM_WORDS = (
    "def", "class", "return", "(", ")", "{", "}", "{{", "}}", "}}}", "=", ":", ",", ".", "...", "#", "^", "**", "/ 0", "\n",
    "    ", "among", "informed by", "trained on", "MkChoiceMaker", "Option", "db", "db.values", "db._domain", "F.high",
    "1e400", "9" * 50, "select", "values", "__class__", "sqrt(", "log(-1)", "max(1)", "'", "\x00", "ε", "answer_1",
)  # fmt: skip

JSON_WORDS = (
    '"feature"', '"at"', '"low"', '"high"', '"choice"', '"regrets"', '"inputs"', '"optimal"', '"scale"', '"nonzeros"',
    '"options"', '"trees"', '"rho"', '"Pythia"', '"Laplace"', '"range-2d"', "0", "1", "-1", "2", "10000000", "0.5", "1e308",
    "[1]", '{"a": 1}', ":",
)  # fmt: skip


def mutated(words: tuple[str, ...]) -> Odd:
    """A function that spoils a text in a language with these words.

    >>> spoil = mutated(("and", "or"))
    >>> spoil(np.random.default_rng(1), "a or b") != "a or b"
    True
    """

    def spoil(generator: np.random.Generator, text: str) -> str:
        for _ in range(int(generator.integers(1, 5))):
            text = _edited(generator, text, words)
        return text

    return spoil


def _edited(generator: np.random.Generator, text: str, words: tuple[str, ...]) -> str:
    """Cut out, double or replace by a word: a line, the value that a line sets, or any slice."""
    if generator.random() < 0.6:
        lines = text.splitlines(keepends=True) or [""]
        start = int(generator.integers(len(lines)))
        name, sets, value = re.split("(?<=[=:])", lines[start], maxsplit=1)[0], "", lines[start]
        if name != value and generator.random() < 0.7:
            sets, value = name, value.removeprefix(name).rstrip(",\n")
        rest = lines[start].removeprefix(sets).removeprefix(value)
        before, piece, after = "".join(lines[:start]) + sets, value, rest + "".join(lines[start + 1 :])
    else:
        start, stop = sorted(int(place) for place in generator.integers(0, len(text) + 1, size=2))
        stop = min(stop, start + int(generator.integers(1, 40)))
        before, piece, after = text[:start], text[start:stop], text[stop:]
    source = words if generator.random() < 0.8 else NASTY
    word = source[int(generator.integers(len(source)))]
    edit = int(generator.integers(5))
    new = ("", piece * int(generator.integers(2, 4)), word, f"{piece}{word}", f"{word} {piece}")[edit]
    return before + new + after


def read_schema(folder: Path) -> Callable[..., Any]:
    """Read a text as a schema file, and give each column something to encode."""

    def call(text: str) -> None:
        for column in schema_files.read(_written(folder / "schema.toml", text)).values():
            column.encode([None, 1, "x"])

    return call


def _written(file: Path, text: str) -> Path:
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    return file


def read_sql(text: str) -> None:
    """Read a text as an expression, and derive its bound for a grid and for a line."""
    found = sql(text)
    for domain in ((4, 4), (8,)):
        if isinstance(found, PrivateNumber):
            found.on(domain)


def read_program(text: str) -> None:
    """Read a text as a program, and derive its metafeatures for a line."""
    program = programs.read(text)
    for name in program.entry.maker.informed_by:
        program.metafeature(name).noise_scale(8, 1)


def read_selector(text: str) -> None:
    """Read a text as a selector, and walk it with answers of every size."""
    found = Selector.loads(text)
    for answer in (-1e300, 0.0, 1.0, 1e300):
        found.decide(lambda feature, answer=answer: 0.0 if feature == "workload" else answer)  # type: ignore[misc]


def read_chooser(folder: Path) -> Callable[..., Any]:
    """Read a text as the file of a chooser among learners."""
    return lambda text: Chooser.load(_written(folder / "chooser.json", text))
