"""jostle: real releases from a table in an (ε, δ) account, each run in a new account that it spends whole.

Where groups are known, no δ is kept for selecting keys (`for_keys=0`). Private keys run twice: with the δ that is taken if
nobody says otherwise, a twentieth of the account's, and with all that the account lets keys have, which is half of it.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

import asking  # type: ignore[import-not-found]  # it stands beside this file
import numpy as np

VERSION_OF = "jostle"


def counts(job: dict[str, Any]) -> dict[str, Any]:
    """`group_by`, `marginals` or `batch`."""
    ways = {"groups": _grouped, "marginals": _marginals, "batch": _batch}
    return _of_runs(job, lambda one: ways[one["form"]], "group_by(…).aggregate(n=count()), marginals(…), batch(…)")


def three(job: dict[str, Any]) -> dict[str, Any]:
    """Count, sum and mean by group, at one price."""
    return _of_runs(job, lambda _: _grouped, "group_by(…).aggregate(n=count(), total=sum(…), average=mean(…))")


def keys(job: dict[str, Any]) -> dict[str, Any]:
    """Counts by groups that are selected privately."""
    return _of_runs(job, lambda _: _selected, 'group_by(…, keys="private").aggregate(n=count())')


Asked = Callable[[dict[str, Any], dict[str, Any], dict[str, Any]], dict[str, Any]]
"""From the job, an input and its arrays to one run's answers, by their names."""


def _of_runs(job: dict[str, Any], way: Callable[[dict[str, Any]], Asked], method: str) -> dict[str, Any]:
    values: dict[str, list[Any]] = {}
    for one, arrays in asking.inputs(job):
        for _ in range(one["trials"]):
            for name, found in way(one)(job, one, arrays).items():
                values.setdefault(name, []).append(found)
    stacked = {name: np.array(runs) for name, runs in values.items()}
    return {"values": stacked, "delta": job["delta"], "neighbours": "add_remove", "method": method}


def _opened(job: Any, one: Any, columns: Any, schema: Any, *, for_keys: Any = 0, by_person: bool = True) -> Any:
    import pandas as pd

    import jostle

    folder, touched = tempfile.mkdtemp(dir=_scratch()), one["touched"]
    return jostle.open(
        pd.DataFrame(columns),
        schema=schema,
        ledger=f"{folder}/budget.db",
        budget=jostle.Approximate(one["epsilon"], job["delta"], for_keys=for_keys),
        unit=jostle.Unit("person", touched, max_groups=touched, max_rows_per_group=1) if by_person else None,
        name="pairs",
    )


def _grouped(job: Any, one: Any, arrays: Any) -> dict[str, Any]:
    from jostle import Integer
    from jostle.tables import aggregates

    columns = {name: arrays[name] for name in ("person", "cell", "value")}
    schema = {"cell": Integer(0, one["cells"] - 1, null="drop"), "value": Integer(0, 100, null="drop")}
    groups = _opened(job, one, columns, schema).group_by("cell")
    if not one["values"]:
        told = groups.aggregate(counts=aggregates.count(), epsilon=one["epsilon"])
    else:
        total, mean = aggregates.sum("value"), aggregates.mean("value")
        told = groups.aggregate(counts=aggregates.count(), sums=total, means=mean, epsilon=one["epsilon"])
    return {asking.answer(one, what): np.asarray(found)[: one["cells"]] for what, found in told.values.items()}


def _marginals(job: Any, one: Any, arrays: Any) -> dict[str, Any]:
    found = _coded(job, one, arrays).marginals(*map(tuple, one["pairs"]), epsilon=one["epsilon"])
    ways = {"": found, "refined": found.refined()}
    return {
        asking.answer(one, "counts", way): np.concatenate([tables[tuple(pair)].answers for pair in one["pairs"]])
        for way, tables in ways.items()
    }


def _batch(job: Any, one: Any, arrays: Any) -> dict[str, Any]:
    rows = _coded(job, one, arrays)
    asked = [rows.where(f'"{name}" BETWEEN {low} AND {high}').ask_count() for name, low, high in one["questions"]]
    found = rows.batch(*asked, epsilon=one["epsilon"])
    return {asking.answer(one, "counts"): np.array([float(answer.answers[0]) for answer in found])}


def _coded(job: Any, one: Any, arrays: Any) -> Any:
    """A table of codes, a row for each person."""
    from jostle import Integer

    columns = dict(zip(one["sizes"], arrays["codes"].T, strict=True))
    schema = {name: Integer(0, size - 1, null="drop") for name, size in one["sizes"].items()}
    return _opened(job, one, columns, schema, by_person=False)


def _selected(job: Any, one: Any, arrays: Any) -> dict[str, Any]:
    from jostle import Text
    from jostle.tables import aggregates

    columns = {"person": arrays["person"], "cell": [f"key {cell}" for cell in arrays["cell"].tolist()]}
    found = {}
    for way, delta in (("", job["delta"] / 2), ("with the default's δ", None)):
        pairs = _opened(job, one, columns, {"cell": Text()}, for_keys=job["delta"] / 2)
        groups = pairs.group_by("cell", keys="private", keys_delta=delta)
        told = groups.aggregate(n=aggregates.count(), epsilon=one["epsilon"])
        cells = [int(label.removeprefix("key ")) for label in told.labels["cell"]]
        found[asking.answer(one, "counts", way)] = asking.by_run(one | {"trials": 1}, cells, told.values["n"])[0]
    return found


@functools.cache
def _scratch() -> str:
    """A folder for ledgers; it is removed when the process ends."""
    folder = tempfile.mkdtemp(prefix="jostle-peers-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


ANSWERS = {"counts": counts, "three": three, "keys": keys}
