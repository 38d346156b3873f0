"""Free text that is read once per distinct text gives what reading each row gives, and bounds persons by their own rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jostle
from jostle.schema import Integer, Text
from jostle.tables import aggregates as agg
from jostle.tables import bounded_rows
from jostle.tables.unit import Unit

TEXTS = ["flu", " flu ", "Flu", "", " ", None, "(missing)", "NA", "x" * 500, "x" * 501, "ä", "a\u0308", "a;b", "\tflu", "10"]
SCHEMA = {"code": Text(missing=["NA"], null="own"), "cost": Integer(0, 9)}


def opened(folder, texts, persons, **more):
    place = folder / f"{len(list(folder.iterdir()))}.parquet"
    pq.write_table(pa.table({"code": texts, "who": persons, "cost": [n % 10 for n in range(len(texts))]}), place)
    given = {"schema": SCHEMA, "ledger": folder / "b.db", "budget": jostle.Approximate(9, 1e-6), "name": "t"} | more
    return jostle.open(place, **given)


def by_key(table):
    """The exact sums per key: for trusted tests alone."""
    question = table.ask_groups(["code"], {"n": agg.count(), "s": agg.sum("cost")}, keys="private")
    found, sums = question._columns.keyed_sums(["code"], {"cost": 1}, squares=False)
    numbers = zip(sums.records, sums.persons, next(iter(sums.numbers.values())).sums, strict=True)
    return {key[0]: tuple(map(int, one)) for key, one in zip(found, numbers, strict=True)}


def once_and_per_row(table):
    views = [replace(view, scanned=False, readings={}) for view in table._views]
    return table, table._with(views)


@pytest.mark.parametrize("unit", [None, "who:100"])
def test_once_per_text_is_as_once_per_row(tmp_path, unit):
    texts = TEXTS * 3
    table = opened(tmp_path, texts, list(range(len(texts))), unit=unit)
    assert table._views[0].scanned
    for condition in (None, "cost > 2"):
        kept = table if condition is None else table.where(condition)
        once, each = once_and_per_row(kept)
        assert by_key(once) == by_key(each), condition
    assert by_key(table)["flu"][:2] == (9, 9)
    assert set(by_key(table)) == {"flu", "Flu", "", "x" * 500, "ä", "a\u0308", "a;b", "10"}


@pytest.mark.parametrize("bounds", [{"max_rows": 2}, {"max_rows": 6, "max_groups": 2, "max_rows_per_group": 1}])
def test_others_rows_stay_when_a_person_leaves_whose_texts_come_first(tmp_path, monkeypatch, bounds):
    """The places of all other texts change with the one who leaves; which rows are kept must not."""
    monkeypatch.setattr(bounded_rows.secrets, "randbits", lambda bits: 1234567)
    rng = np.random.default_rng(5)
    others = [(f"t{rng.integers(30):02d}", person) for person in range(60) for _ in range(8)]
    one = [(f"a{place}", 999) for place in range(40)]
    kept = [
        by_key(opened(tmp_path, *map(list, zip(*rows, strict=True)), unit=Unit("who", **bounds)))
        for rows in (others + one, others, one)
    ]
    whole, rest, alone = ({key: one[:2] for key, one in sums.items()} for sums in kept)
    assert whole == rest | alone
    assert sum(one[0] for one in alone.values()) == 2
