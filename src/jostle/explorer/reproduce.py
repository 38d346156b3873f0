"""The code that asks a question of the page again: in Python, on the command line and in SQL."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from jostle.explorer.question_form import AUTOMATIC, PricedQuestion
from jostle.kernel.budget import PURE
from jostle.schema import Schema
from jostle.tables.aggregate_texts import split_aggregates

SCHEMA_FILE: Final = "schema.toml"
"""What the described columns are called as a file."""


@dataclass(frozen=True, kw_only=True)
class Opening:
    """What a table was opened with."""

    data: str
    ledger: str
    schema: Schema
    how: Mapping[str, Any]
    """The other arguments of `jostle.open`, as they were filled in; empty ones are left out."""


def snippets(opening: Opening, priced: PricedQuestion) -> dict[str, str]:
    """Code by its title: whatever can be said so, and the file that describes the columns."""
    found = {"Python": in_python(opening, priced), "Command line": in_shell(opening, priced), "SQL": in_sql(priced)}
    found |= {SCHEMA_FILE: _as_file(opening.schema)}
    return {title: code for title, code in found.items() if code}


def _as_file(schema: Schema) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / SCHEMA_FILE
        schema.save(file)
        return file.read_text("utf-8")


def _without_password(address: str) -> str:
    """A URL as it may stand on a page; a path as it is."""
    password = urlsplit(address).password if "://" in address else None
    return address.replace(f":{password}@", ":…@") if password else address


# ---------------------------------------------------------------------------------------------------------- Python


def in_python(opening: Opening, priced: PricedQuestion) -> str:
    """A program that opens the table, previews the question and releases it."""
    said = {"schema": SCHEMA_FILE, "ledger": _without_password(opening.ledger)} | _given(opening)
    table = re.sub(r"\W|^(?=\d)", "_", priced.table.name)
    table = table if table.isidentifier() else "table"
    imports = ["import jostle"]
    if any(one.fields["kind"] == "groups" for one in [priced, *priced.listed]):
        imports.append("from jostle.tables.aggregate_texts import parse_aggregates")
    if priced.fields["kind"] == "batch":
        asked = "".join(f"\n    {_asked(table, one)}," for one in priced.listed)
        question = f"{table}.ask_batch({asked}\n)"
    else:
        question = _asked(table, priced)
    amount = f"{'epsilon' if priced.measure == PURE else 'rho'}={priced.amount}"
    first = f"    {_without_password(opening.data)!r},"
    lines = [
        *imports,
        "",
        f"{table} = jostle.open(",
        first,
        *(f"    {name}={value!r}," for name, value in said.items()),
        ")",
    ]
    lines += [f"question = {question}"]
    expected = f", rows={priced.rows or 1000}" if priced.is_mean else ""
    lines += [f"print(question.preview({amount}{expected}))  # free"] if priced.measure == PURE else []
    return "\n".join([*lines, f"answer = question.release({amount})  # charged again", "print(answer)"])


def _given(opening: Opening) -> dict[str, Any]:
    return {name: value for name, value in opening.how.items() if value and (name, value) != ("neighbours", "add_remove")}


def _asked(table: str, priced: PricedQuestion) -> str:
    """The expression of one question."""
    fields = priced.fields
    rows = f"{table}.where({fields['where']!r})" if fields["where"] and fields["kind"] not in ("sql", "batch") else table
    return f"{rows}.{_PYTHON[fields['kind']](priced)}"


def _call(name: str, *arguments: Any, **named: Any) -> str:
    words = [repr(one) for one in arguments] + [f"{key}={value!r}" for key, value in named.items() if value]
    return f"{name}({', '.join(words)})"


def _algorithm(fields: Mapping[str, Any]) -> str | None:
    return None if fields["algorithm"] in ("", AUTOMATIC) else str(fields["algorithm"])


def _histogram(priced: PricedQuestion) -> str:
    fields = priced.fields
    return _call("ask", *_columns(fields), algorithm=_algorithm(fields))


def _cumulative(priced: PricedQuestion) -> str:
    fields, named = priced.fields, _algorithm(priced.fields)
    size = priced.table.schema.column(fields["first"]).size
    more = f", algorithm={named!r}" if named else ""
    return f"ask_ranges({fields['first']!r}, jostle.workloads.prefix({size}){more})"


def _total(kind: str, priced: PricedQuestion) -> str:
    return _call("ask_total", kind, priced.fields["first"], by=priced.fields["second"])


def _quantiles(priced: PricedQuestion) -> str:
    return _call("ask_quantiles", priced.fields["first"], _levels(priced.fields))


def _marginals(priced: PricedQuestion) -> str:
    fields = priced.fields
    among = fields["among"] or list(priced.table.schema)
    return _call("ask_marginals", *combinations(among, min(int(fields["sets"] or 2), len(among))))


def _groups(priced: PricedQuestion) -> str:
    fields = priced.fields
    keys = ', keys="private"' if fields["private_keys"] else ""
    grouped = [name for name in priced.table.schema if name in fields["grouped"]]
    return f"ask_groups({grouped!r}, parse_aggregates({split_aggregates(fields['aggregates'])!r}){keys})"


def _statement(priced: PricedQuestion) -> str:
    return _call("ask_sql", priced.fields["sql"], keys="private" if priced.fields["private_keys"] else None)


def _synthetic(priced: PricedQuestion) -> str:
    fields = priced.fields
    among = [name for name in priced.table.schema if name in fields["among"]]
    return _call("ask_synthesis", *among, rows=int(float(fields["records"] or 0)), label=fields["second"])


_PYTHON: Final[Mapping[str, Callable[[PricedQuestion], str]]] = {
    "histogram": _histogram,
    "cumulative": _cumulative,
    "count": lambda priced: "ask_count()",
    "sum": partial(_total, "sum"),
    "mean": partial(_total, "mean"),
    "quantiles": _quantiles,
    "marginals": _marginals,
    "groups": _groups,
    "synthetic": _synthetic,
    "sql": _statement,
}


def _columns(fields: Mapping[str, Any]) -> list[str]:
    return [name for name in (fields["first"], fields["second"]) if name]


def _levels(fields: Mapping[str, Any]) -> list[float]:
    return [float(word.strip(",").replace(",", ".")) for word in fields["levels"].replace(";", " ").split()]


# ---------------------------------------------------------------------------------------------------- command line

_OPTIONS: Final = ("budget", "unit", "neighbours", "name", "beside", "table", "columns", "delimiter", "version")
_NAMED: Final = {"version": "data-version"}
"""Arguments whose options have other names."""


def in_shell(opening: Opening, priced: PricedQuestion) -> str:
    """The command; empty for questions that the command line does not have."""
    asked = list(_shell_question(priced))
    if asked == [None]:
        return ""
    said = _given(opening)
    command = "jostle synthesize" if priced.fields["kind"] == "synthetic" else "jostle release"
    words = [command, shlex.quote(_without_password(opening.data)), f"--schema {SCHEMA_FILE}"]
    words.append(f"--ledger {shlex.quote(_without_password(opening.ledger))}")
    for name in _OPTIONS:
        if name in said:
            value = ",".join(said[name]) if isinstance(said[name], list) else _as_option(said[name])
            words.append(f"--{_NAMED.get(name, name)} {shlex.quote(value)}")
    amount = f"--{'epsilon' if priced.measure == PURE else 'rho'} {priced.amount}"
    return " \\\n  ".join([*words, *(str(one) for one in asked), amount])


def _as_option(value: Any) -> str:
    """A budget in another measure is one text."""
    if hasattr(value, "delta"):
        return f"{float(value.epsilon):g},{float(value.delta):g}"
    return f"rho={float(value.rho):g}" if hasattr(value, "rho") else str(value)


def _shell_question(priced: PricedQuestion) -> Iterator[str | None]:
    fields = priced.fields
    kind = fields["kind"]
    if kind in ("cumulative", "marginals", "batch"):
        yield None
        return
    if kind == "synthetic":
        yield from _shell_synthesis(fields)
    elif kind == "sql":
        yield f"--sql {shlex.quote(' '.join(fields['sql'].split()))}"
    else:
        by, aggregates = _grouping(fields)
        yield from (f"--by {shlex.quote(name)}" for name in by)
        yield from (f"--aggregate {shlex.quote(one)}" for one in aggregates)
        if fields["where"]:
            yield f"--where {shlex.quote(fields['where'])}"
        if kind == "histogram" and (named := _algorithm(fields)):
            yield f"--algorithm {named}"
    if fields["private_keys"] and kind in ("sql", "groups"):
        yield "--keys private"


def _shell_synthesis(fields: Mapping[str, Any]) -> Iterator[str]:
    if fields["among"]:
        yield f"--only {shlex.quote(','.join(fields['among']))}"
    if fields["records"]:
        yield f"--rows {int(float(fields['records']))}"
    if fields["second"]:
        yield f"--label {shlex.quote(fields['second'])}"
    if fields["where"]:
        yield f"--where {shlex.quote(fields['where'])}"
    yield "--out synthetic.csv"


def _grouping(fields: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The columns of groups, and what is computed of each, as `--aggregate` takes it."""
    kind, first = fields["kind"], fields["first"]
    if kind == "histogram":
        return _columns(fields), []
    if kind in ("sum", "mean"):
        return [name for name in (fields["second"],) if name], [f"{kind}({first})"]
    if kind == "quantiles":
        return [], [f"p{100 * level:g}=quantile({first}, {level:g})" for level in _levels(fields)]
    if kind == "groups":
        return list(fields["grouped"]), split_aggregates(fields["aggregates"])
    return [], []


# -------------------------------------------------------------------------------------------------------------- SQL


def in_sql(priced: PricedQuestion) -> str:
    """The statement; empty for a question that SQL does not have."""
    fields = priced.fields
    kind = fields["kind"]
    if kind == "sql":
        return str(fields["sql"])
    wanted = list(_wanted(fields))
    if kind in ("cumulative", "marginals", "synthetic", "batch") or None in wanted:
        return ""
    by = [_name(name) for name in _grouping(fields)[0]]
    lines = [f"SELECT {', '.join([*by, *map(str, wanted)])}", f"FROM {_name(priced.table.name)}"]
    lines += [f"WHERE {fields['where']}"] if fields["where"] else []
    return "\n".join([*lines, *([f"GROUP BY {', '.join(by)}"] if by else [])])


_AGGREGATE: Final = re.compile(r"(?:(?P<alias>\w+)=)?(?P<kind>\w+)(?:\((?P<column>[^(),]*)(?:,\s*(?P<level>[\d.]+))?\))?")
_FUNCTIONS: Final = {"mean": "AVG", "avg": "AVG", "sum": "SUM", "min": "MIN", "max": "MAX", "median": "MEDIAN"}


def _wanted(fields: Mapping[str, Any]) -> Iterator[str | None]:
    """The aggregates as SQL has them; None for one that it does not."""
    for one in _grouping(fields)[1] or ["count"]:
        found = _AGGREGATE.fullmatch(one)
        if found is None:
            yield None
            continue
        column = _name(found["column"].strip()) if found["column"] else ""
        alias = f" AS {_name(found['alias'])}" if found["alias"] else ""
        if found["kind"] == "count":
            yield f"COUNT({column or '*'}){alias}"
        elif found["kind"] in ("quantile", "quantiles") and column and found["level"]:
            yield f"PERCENTILE_CONT({found['level']}) WITHIN GROUP (ORDER BY {column}){alias}"
        elif found["kind"] in _FUNCTIONS and column:
            yield f"{_FUNCTIONS[found['kind']]}({column}){alias}"
        else:
            yield None


def _name(name: str) -> str:
    """A name as SQL writes it."""
    quoted = name.replace('"', '""')
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else f'"{quoted}"'
