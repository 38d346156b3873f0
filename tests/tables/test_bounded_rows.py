"""Which rows of a person are kept depends on that person's rows and the key alone, in every engine."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from dataclasses import replace

import ibis
import numpy as np
import psycopg
import pyarrow as pa
import pytest

from jostle.kernel.errors import BadInput
from jostle.schema import Category, Integer, Real, Text
from jostle.tables import bounded_rows
from jostle.tables.columns import EngineColumns
from jostle.tables.lattices import NumberLattice
from jostle.tables.opening import open as open_table
from jostle.tables.run_in_engine import EngineError, Query
from jostle.tables.unit import Unit

SCHEMA = {"x": Integer(0, 9), "y": Real(-1, 1, bins=4), "z": Category(["a", "b", "c"])}
MOST = 3


def exact(table, *names):
    """The counts before noise: for trusted tests alone."""
    return EngineColumns.of(table._views, names).counts(names)


def opened(load, rows, tmp_path, most=MOST, bounds=None, **keywords):
    """A table of (person, x, y, z)."""
    kinds = (pa.string(), pa.int64(), pa.float64(), pa.string())
    columns = zip("pxyz", kinds, zip(*rows, strict=True), strict=True)
    data, about = load({name: (kind, list(values)) for name, kind, values in columns})
    about = about | {"name": "t", "ledger": tmp_path / "b.db", "budget": 100} | keywords
    return open_table(data, schema=SCHEMA, unit=Unit("p", max_rows=most, **(bounds or {})), **about)


def people(seed):
    """Persons with up to 12 rows each, many of them equal; among the numbers are both zeros."""
    rng = np.random.default_rng(seed)
    return {
        f"person {number}": [
            (f"person {number}", int(x), float(y), str(z))
            for x, y, z in zip(
                rng.integers(0, 3, size), rng.choice([0.0, -0.0, 0.5], size), rng.choice(["a", "b", "?"], size), strict=True
            )
        ]
        for number, size in enumerate(rng.integers(1, 12, 40))
    }


def in_some_order(rows, seed):
    return [rows[place] for place in np.random.default_rng(seed).permutation(len(rows))]


@pytest.mark.parametrize("how", ["each question", "once"])
def test_others_rows_stay_when_a_person_leaves(load, tmp_path, monkeypatch, how):
    """With the key held fixed, the kept rows of all are those of one person and those of all others, in any order."""
    monkeypatch.setattr(bounded_rows.secrets, "randbits", lambda bits: 1234567)
    everybody = people(3)
    leaves = next(name for name, rows in everybody.items() if len(rows) > 2 * MOST)
    groups = {
        "all": [row for rows in everybody.values() for row in rows],
        "others": [row for name, rows in everybody.items() if name != leaves for row in rows],
        "one": everybody[leaves],
    }
    kept = {}
    for place, (group, rows) in enumerate(groups.items()):
        table = opened(load, in_some_order(rows, place), tmp_path)
        if how == "each question":
            kept[group] = exact(table, "x", "y", "z")
        else:
            columns = EngineColumns.of(table._views, ["x", "y", "z"]).complete()
            kept[group] = np.concatenate([columns.counts(["x", "y", "z"]), columns.counts(["x"])])
    assert kept["one"].sum() == (MOST if how == "each question" else 2 * MOST)
    assert np.array_equal(kept["all"], kept["others"] + kept["one"])
    sizes = Counter(min(MOST, len(rows)) for rows in everybody.values())
    assert exact(table, "x").sum() <= MOST
    assert kept["all"][:60].sum() == sum(size * many for size, many in sizes.items())


def test_with_any_hash_others_rows_stay_also_where_they_differ_only_in_free_text(load, tmp_path, monkeypatch):
    """Free texts have one cell, so that only the texts tell such rows apart; here the hash says nothing at all."""
    monkeypatch.setattr(bounded_rows, "_hash", lambda engine, *values: ibis.literal(0).cast("int64"))
    rows = [(f"p{person}", 1, 0.5, f"text {copy}") for copy in (2, 0, 1) for person in range(60)]

    def kept(rows):
        data, about = load({name: (pa.string(), [row[at] for row in rows]) for name, at in (("p", 0), ("z", 3))})
        about |= {"name": "t", "ledger": tmp_path / "b.db", "budget": 100}
        table = open_table(data, schema={"z": Text()}, unit=Unit("p", max_rows=1), **about)
        view = table._views[0].sampled_once()
        sample = Query("sampling", lambda: view.rows(["z"]).table, view.backend).fetch().to_pylist()
        return {(one[bounded_rows.PERSON], one["z"]) for one in sample}

    everybody, without = kept(rows), kept([row for row in rows[::-1] if row[0] != "p7"])
    assert {one for one in everybody if not one[0].endswith("p7")} == without
    assert len(everybody) == len(without) + 1


def test_the_key_decides(load, tmp_path):
    """40 persons with 10 different rows each keep the same ones twice with probability 10⁻⁴⁰."""
    rows = [(f"p{person}", x, 0.5, "a") for person in range(40) for x in range(10)]
    table = opened(load, rows, tmp_path, most=1)
    assert not np.array_equal(exact(table, "x"), exact(table, "x"))


def test_every_row_of_a_person_is_as_likely_to_be_kept(load, tmp_path):
    """Equal rows are rows as well. Of 400 persons with 3 rows in one cell and 1 in another, 100 ± 8.7 keep the latter.

    Further away than 5.5 standard deviations with probability below 10⁻⁷.
    """
    rows = [(f"p{person}", int(copy == 3), 0.5, "a") for person in range(400) for copy in range(4)]
    table = opened(load, rows, tmp_path, most=1)
    assert abs(int(exact(table, "x")[1]) - 100) < 48


def test_persons_choose_independently(load, tmp_path):
    """All have the same two rows. If they all kept the same one, the count would be 0 or 400; it is 200 ± 10."""
    rows = [(f"p{person}", x, 0.5, "a") for person in range(400) for x in (0, 1)]
    assert abs(int(exact(opened(load, rows, tmp_path, most=1), "x")[1]) - 200) < 60


def test_numbers_of_sqlite_that_are_equal_are_one_person(tmp_path):
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (p, x)")
        persons = [
            1,
            1.0,
            "1",
            b"1",
            0.0,
            -0.0,
            0,
            2**53 + 1,
            float(2**53),
            0.1,
            0.1 + 2**-56,
            float("inf"),
            "",
            None,
            1e300,
        ]
        connection.executemany("INSERT INTO t VALUES (?, 1)", [(one,) for one in persons])
    connection.close()
    table = open_table(path, schema={"x": Integer(0, 9)}, unit="p:1", ledger=tmp_path / "b.db", budget=1)
    # 1, '1', the bytes of '1', 0, 2⁵³ + 1, 2⁵³, two near 0.1, infinity, 10³⁰⁰
    assert exact(table, "x")[1] == 10


def test_a_row_that_moves_between_parts_is_in_one(tmp_path, postgres):
    """A table that others write to is copied when the first part is asked, also where each row is protected by itself."""
    url = postgres.new_schema()
    plain, search_path = url.replace("+psycopg", "").split("?options=")
    with psycopg.connect(plain, options=search_path.replace("%3D", "="), autocommit=True) as connection:
        connection.execute("CREATE TABLE t (x int)")
        connection.execute("INSERT INTO t SELECT 1 FROM generate_series(1, 100)")
        table = open_table(url, table="t", schema={"x": Integer(0, 2)}, ledger=tmp_path / "b.db", budget=10)
        parts = table.partition("x", epsilon=1)
        assert exact(parts["1"], "x").sum() == 100
        connection.execute("UPDATE t SET x = 2")
        assert [int(exact(part, "x").sum()) for part in parts.values()] == [0, 100, 0]


def test_what_a_sample_needs_is_refused_before_the_charge(tmp_path, postgres):
    """A role without temporary tables; and rows that may be too wide for one, which depends on what they hold."""
    url = postgres.new_schema()
    plain, search_path = url.replace("+psycopg", "").split("?options=")
    wide = {f"c{number}": Integer(0, 9) for number in range(210)}
    with psycopg.connect(plain, options=search_path.replace("%3D", "="), autocommit=True) as connection:
        connection.execute(f"CREATE TABLE t (p int, {', '.join(f'{name} int' for name in wide)})")
        table = open_table(url, table="t", schema=wide, unit="p:1", ledger=tmp_path / "b.db", budget=10)
        with pytest.raises(BadInput, match="too wide"):
            table.partition("c0", epsilon=1)
        table = table.select("c0", "c1")
        (database,) = connection.execute("SELECT current_database()").fetchone()
        (user,) = connection.execute("SELECT current_user").fetchone()
        connection.execute("CREATE ROLE jostle_reader LOGIN")
        try:
            connection.execute(f'REVOKE TEMPORARY ON DATABASE "{database}" FROM PUBLIC')
            connection.execute("GRANT USAGE ON SCHEMA " + search_path.split("%3D")[1] + " TO jostle_reader")
            connection.execute("GRANT SELECT ON t TO jostle_reader")
            reader = open_table(
                url.replace(f"//{user}", "//jostle_reader"), table="t", schema={"c0": Integer(0, 9)}, unit="p:1",
                ledger=tmp_path / "b.db", name="again", budget=10,
            )  # fmt: skip
            with pytest.raises(EngineError, match="before it was charged"):
                reader.partition("c0", epsilon=1)
            assert reader.remaining == 10
        finally:
            connection.execute(f'GRANT TEMPORARY ON DATABASE "{database}" TO PUBLIC')
            connection.execute("DROP OWNED BY jostle_reader")
            connection.execute("DROP ROLE jostle_reader")
    assert table.remaining == 10


# ------------------------------------------------------------------------------------------------ groups, and sums of them


def summed(table, *by):
    """Exact sums of y per group, before noise: for trusted tests alone."""
    lattice = NumberLattice.between_bounds("y", SCHEMA["y"])
    columns = replace(EngineColumns.of(table._views, by), numbers={"y": lattice})
    found = columns.cell_sums(by, {"y": lattice.points}, squares=True, persons=True)
    return [found.records, found.persons, *(getattr(found.numbers["y"], name) for name in ("counted", "sums", "squares"))]


GROUPS, PER_GROUP = 2, 2


def test_groups_and_rows_per_group_of_a_person_are_bounded_by_the_persons_own_rows(load, tmp_path, monkeypatch):
    """With the key held fixed, the sums of all are those of one person and those of all others, in any order."""
    monkeypatch.setattr(bounded_rows.secrets, "randbits", lambda bits: 1234567)
    everybody = people(3)
    leaves = next(name for name, rows in everybody.items() if len({row[1] for row in rows}) > GROUPS and len(rows) > 8)
    parts = {
        "all": [row for rows in everybody.values() for row in rows],
        "others": [row for name, rows in everybody.items() if name != leaves for row in rows],
        "one": everybody[leaves],
    }
    bounds = {"max_groups": GROUPS, "max_rows_per_group": PER_GROUP}
    kept = {
        part: summed(opened(load, in_some_order(rows, place), tmp_path, bounds=bounds), "x")
        for place, (part, rows) in enumerate(parts.items())
    }
    assert all((mine == others + one).all() for mine, others, one in zip(*kept.values(), strict=True))
    records, persons, *_ = kept["one"]
    assert records.sum() == MOST  # of two groups with two rows each
    assert 1 < max(records) <= PER_GROUP
    assert persons.sum() == GROUPS


def test_sums_and_squares_are_exact_in_every_engine(load, tmp_path):
    rng = np.random.default_rng(8)
    values = [-1.0, 1.0, 0.0, 0.3, 5.0, None, *rng.uniform(-1, 1, 60).tolist()]
    rows = [(f"p{number % 7}", int(number % 3), value, "a") for number, value in enumerate(values)]
    records, persons, counted, sums, squares = summed(opened(load, rows, tmp_path, most=100), "x")
    points = [None if value is None else math.floor((min(max(value, -1), 1) + 1) * 2**29) for value in values]
    for group in range(3):
        mine = [point for point in points[group::3] if point is not None]
        assert (records[group], counted[group]) == (len(points[group::3]), len(mine))
        assert (sums[group], squares[group]) == (sum(mine), sum(point**2 for point in mine))
        assert persons[group] == 7
    assert records[3:].sum() == 0


def test_a_person_keeps_any_of_the_groups(load, tmp_path):
    """Each of three groups is kept by 100 of 300 persons on average. By Hoeffding, 40 is missed with probability e^(−24)."""
    rows = [(f"p{person}", x, 0.5, "a") for person in range(300) for x in range(3)]
    records = summed(opened(load, rows, tmp_path, bounds={"max_groups": 1}), "x")[0]
    assert records.sum() == 300
    assert all(40 < many < 160 for many in records[:3])


def test_counts_by_groups_bound_a_persons_groups(load, tmp_path, monkeypatch):
    """A histogram counts each person in two groups, with one row of each, and has the noise of two rows."""
    rows = [(f"person {person}", x, 0.5, "a") for person in range(20) for x in range(10) for _ in range(3)]
    bounds = {"max_groups": 2, "max_rows_per_group": 1}
    table = opened(load, rows, tmp_path, most=30, bounds=bounds)
    drawn = []

    def spy(self, values, scale):
        drawn.append((values.sum(), scale))
        return values

    monkeypatch.setattr("jostle.kernel.noise.ExactNoise.discrete_laplace", spy)
    table.histogram("x", epsilon=1, algorithm="Laplace")
    assert drawn[-1] == (40, 2)
    table.count(epsilon=1)
    assert drawn[-1] == (20, 1)
    released = table.sql("SELECT x, z, COUNT(*) FROM t GROUP BY x, z", epsilon=1).measured
    assert (drawn[-1][0], released.neighbours.rows) == (40, 2)
    assert "2 groups per p and 1 rows per group" in " ".join(released.notes)
    assert table.ask("x", algorithm="Laplace").preview(epsilon=1).margin < 10
