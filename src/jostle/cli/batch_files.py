"""Files of questions that are asked together: `jostle release … --batch questions.toml`.

A file has one table `[[question]]` per question, with the keys `by`, `where`, `aggregate`, `algorithm`, `quantiles`,
`marginals`, `sql` and `weight`; a question without any of them counts all rows.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jostle.kernel.errors import BadInput
from jostle.tables.aggregate_texts import parse_aggregates

if TYPE_CHECKING:
    from jostle.tables.batches import BatchQuestion
    from jostle.tables.question import Question
    from jostle.tables.table import Table

KEYS = ("by", "where", "aggregate", "algorithm", "quantiles", "marginals", "sql", "weight")
_SHAPE = '[[question]] with by = ["age"], say'


def read_batch(path: Path, table: Table) -> BatchQuestion:
    """The questions of a file, about a table."""
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except OSError as reason:
        raise BadInput("batch", f"{path} cannot be read: {reason.strerror}", "name a file of questions") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as reason:
        raise BadInput("batch", f"{path} is no TOML: {reason}", f"write one {_SHAPE} per question") from None
    tables = found.get("question")
    if set(found) != {"question"} or not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise BadInput("batch", f"{path} has something else than questions", f"write one {_SHAPE} per question")
    questions = [_question(table, one, number) for number, one in enumerate(tables, start=1)]
    weights = [one.get("weight", 1) for one in tables]
    return table.ask_batch(*questions, weights=weights if any("weight" in one for one in tables) else None)


def _question(table: Table, asked: Mapping[str, Any], number: int) -> Question[Any]:
    unknown = [key for key in asked if key not in KEYS]
    if unknown:
        raise BadInput("batch", f"question {number} has the key {unknown[0]!r}", f"use {', '.join(KEYS)}")
    kinds = [key for key in ("aggregate", "quantiles", "marginals", "sql") if key in asked]
    if len(kinds) > 1 or ("by" in asked and kinds not in ([], ["aggregate"])) or ("sql" in asked and "where" in asked):
        raise BadInput("batch", f"question {number} asks two things", "write a [[question]] for each")
    rows = table.where(_text(asked, "where", number)) if "where" in asked else table
    by = asked.get("by", [])
    groups: list[Any] = [by] if isinstance(by, str) else list(by) if isinstance(by, list) else [None]
    if not all(isinstance(name, str) for name in groups):
        raise BadInput("batch", f"question {number}: by must be names of columns", 'write by = ["age", "sex"]')
    if "sql" in asked:
        return table.ask_sql(_text(asked, "sql", number))
    if "aggregate" in asked:
        texts = asked["aggregate"] if isinstance(asked["aggregate"], list) else [asked["aggregate"]]
        if not all(isinstance(text, str) for text in texts):
            raise BadInput(
                "batch", f"question {number}: aggregate must be texts", 'write aggregate = ["n=count", "mean(cost)"]'
            )
        return rows.ask_groups(groups, parse_aggregates(texts))
    if "marginals" in asked:
        sets = asked["marginals"]
        return rows.ask_marginals(*(sets if isinstance(sets, list) else [sets]))
    if "quantiles" in asked:
        wanted = asked["quantiles"]
        if not isinstance(wanted, dict) or set(wanted) != {"column", "levels"}:
            remedy = 'write quantiles = {column = "age", levels = [0.25, 0.5, 0.75]}'
            raise BadInput("batch", f"question {number}: quantiles must have a column and levels", remedy)
        return rows.ask_quantiles(wanted["column"], wanted["levels"])
    algorithm = _text(asked, "algorithm", number) if "algorithm" in asked else None
    if groups:
        return rows.ask(*groups, algorithm=algorithm)
    if algorithm is not None:
        raise BadInput("batch", f"question {number}: an algorithm is for histograms", "name a column in by, or leave it out")
    return rows.ask_count()


def _text(asked: Mapping[str, Any], key: str, number: int) -> str:
    if not isinstance(asked[key], str):
        raise BadInput("batch", f"question {number}: {key} must be a text", f'write {key} = "…"')
    text: str = asked[key]
    return text
