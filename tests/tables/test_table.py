"""Tables: opened from everywhere, transformed row by row, measured and charged; the same exact counts in every engine."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import and_

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jostle import algorithms, workloads
from jostle.kernel.errors import BadInput, Overdraft, PlanError
from jostle.kernel.ledger import Ledger
from jostle.kernel.source import ReleaseSource
from jostle.schema import Boolean, Category, Date, Integer, Real, Schema
from jostle.tables.columns import EngineColumns
from jostle.tables.opening import open as open_table
from jostle.tables.unit import Unit

SCHEMA = Schema(
    age=Integer(0, 99, bins=10),
    sex=Category(["F", "M"]),
    income=Real(0, 100, bins=8),
    born=Date("1924-01-01", "2023-12-31", every="year"),
    member=Boolean(),
)
HALF, SMALL, FINE = Fraction(1, 2), Fraction(1, 10**30), Fraction((10**299 - 1) // 3, 10**299)
WIDE = Real(0, 1, bins=2**13)
RNG = np.random.default_rng(7)
N = 500
ROWS = {
    "age": (pa.int64(), [None if a > 105 else int(a) for a in RNG.integers(0, 110, N)]),
    "sex": (pa.string(), RNG.choice(["F", "M", "x", None], N, p=[0.4, 0.4, 0.1, 0.1]).tolist()),
    "income": (pa.float64(), [*(RNG.gamma(2, 15, N - 3)).tolist(), None, float("inf"), -5.0]),
    "born": (pa.date32(), [dt.date(1950 + int(y), 1 + int(y) % 12, 3) for y in RNG.integers(0, 70, N)]),
    "member": (pa.bool_(), RNG.choice([True, False], N).tolist()),
    "person": (pa.int64(), [None if p == 0 else int(p) for p in RNG.integers(0, 100, N)]),
}
FRAME = pd.DataFrame({name: pd.Series(values, dtype=object) for name, (_, values) in ROWS.items()})


def opened(data, tmp_path, *, schema=SCHEMA, budget=10, **keywords):
    given = {"name": "people"} | keywords
    given.setdefault("ledger", tmp_path / f"{given['name']}.db")  # the rows are the same, so each account has its own
    return open_table(data, schema=schema, budget=budget, **given)


def exact(table, *names):
    """The counts before noise: for trusted tests alone."""
    return EngineColumns.of(table._views, names).counts(names)


def in_memory(*names, kept=slice(None)):
    codes = [SCHEMA[name].encode(FRAME[name].to_numpy())[kept] for name in names]
    counting = np.all([code >= 0 for code in codes], axis=0)
    shape = [SCHEMA[name].size for name in names]
    flat = np.ravel_multi_index([code[counting] for code in codes], shape)
    return np.bincount(flat, minlength=int(np.prod(shape)))


def number(frame, name, high):
    return frame[name].astype(float).clip(0, high)


@pytest.fixture
def people(tmp_path):
    return opened(FRAME, tmp_path)


# ------------------------------------------------------------------------------------------------------- engines


def test_every_engine_gives_the_same_exact_counts(load, tmp_path):
    data, keywords = load(ROWS)
    table = opened(data, tmp_path, **keywords)
    income = np.clip(np.nan_to_num(FRAME["income"].astype(float), nan=-1), -1, 100)
    grown = (SCHEMA["sex"].encode(FRAME["sex"].to_numpy()) == 0) & (income >= 20)
    where = table.where("sex = 'F' AND income >= 20")
    assert exact(table, "age", "sex").tolist() == in_memory("age", "sex").tolist()
    assert exact(where, "born").tolist() == in_memory("born", kept=grown).tolist()
    quarters = [exact(table.where(lambda t, q=q: t.born.quarter() == q), "member").sum() for q in (1, 2, 3, 4)]
    assert quarters == [sum(1 for day in ROWS["born"][1] if (day.month + 2) // 3 == q) for q in (1, 2, 3, 4)]
    derived = table.derive("half", lambda t: t.income / 2, Real(0, 50, bins=5))
    assert exact(derived, "half").sum() == in_memory("income").sum()
    bounded = opened(data, tmp_path, name="persons", unit=Unit("person", max_rows=2), **keywords)
    persons = FRAME.assign(kept=SCHEMA["age"].encode(FRAME["age"].to_numpy()) >= 0).query("kept")["person"].dropna()
    assert exact(bounded, "age").sum() == persons.value_counts().clip(upper=2).sum()
    parts = bounded.partition("sex", epsilon=1)
    together = sum(exact(part, "sex").sum() for part in parts.values())
    assert together == FRAME["person"].dropna().value_counts().clip(upper=2).sum()
    assert len(table.histogram("age", epsilon=1).answers) == 10


def test_files_of_all_kinds(tmp_path):
    arrow = pa.table({name: pa.array(values, kind) for name, (kind, values) in ROWS.items()})
    pq.write_table(arrow, tmp_path / "a.parquet")
    FRAME.to_csv(tmp_path / "b.csv", index=False)
    FRAME.to_csv(tmp_path / "c.tsv", index=False, sep="\t")
    FRAME.to_csv(tmp_path / "d.data", index=False, header=False)
    wanted = in_memory("age", "sex").tolist()
    for name, more in (("a.parquet", {}), ("b.csv", {}), ("c.tsv", {}), ("d.data", {"columns": list(ROWS)})):
        assert exact(opened(tmp_path / name, tmp_path, **more), "age", "sex").tolist() == wanted
    pq.write_table(arrow, tmp_path / "e.parquet")
    twice = opened([tmp_path / "a.parquet", tmp_path / "e.parquet"], tmp_path)
    assert exact(twice, "age", "sex").tolist() == (2 * np.array(wanted)).tolist()
    assert exact(opened(arrow, tmp_path), "age", "sex").tolist() == wanted


@pytest.mark.usefixtures("spark")
def test_files_in_spark(tmp_path):
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    table = opened(tmp_path / "people.csv", tmp_path, engine="spark")
    assert exact(table, "age", "sex").tolist() == in_memory("age", "sex").tolist()


def test_databases_with_several_tables(tmp_path):
    import sqlite3

    import duckdb

    for path, connect in ((tmp_path / "a.duckdb", duckdb.connect), (tmp_path / "a.sqlite", sqlite3.connect)):
        connection = connect(str(path))
        connection.execute("CREATE TABLE one (age INTEGER, sex TEXT)")
        connection.execute("INSERT INTO one VALUES (31, 'F'), (NULL, 'M'), (50, NULL)")
        connection.execute("CREATE TABLE two (x INTEGER)")
        connection.commit()
        connection.close()
        schema = {"age": SCHEMA["age"], "sex": SCHEMA["sex"]}
        assert exact(opened(path, tmp_path, schema=schema, table="one", name=None), "sex").tolist() == [1, 1, 0, 1]
        with pytest.raises(BadInput, match="one, two"):
            opened(path, tmp_path, schema=schema)
        with pytest.raises(BadInput, match="no column 'age'"):
            opened(path, tmp_path, schema=schema, table="two")
        with pytest.raises(BadInput, match="no table 'three'.*one, two"):
            opened(path, tmp_path, schema=schema, table="three")


def test_lines_that_cannot_be_read_are_left_out(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_bytes(b'age,sex\n31,F\n"unclosed,M\n20,M,too,many\n7\n\xff\xfe,F\n,\n45,"F"\n')
    table = opened(path, tmp_path, schema={"age": SCHEMA["age"], "sex": SCHEMA["sex"]}, name="odd")
    assert exact(table, "age").sum() >= 1
    assert table.where("age >= 30").count(epsilon=1).answers.shape == (1,)


# ------------------------------------------------------------------------------------------------ transformations


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("sex = 'F'", lambda f: f["sex"] == "F"),
        ("sex IN ('F', 'M') AND NOT member", lambda f: f["sex"].isin(["F", "M"]) & ~f["member"].astype(bool)),
        ("age BETWEEN 20 AND 39 OR age IS NULL", lambda f: f["age"].isna() | f["age"].astype(float).between(20, 39)),
        ("born >= '1990-01-01'", lambda f: f["born"] >= dt.date(1990, 1, 1)),
        ("born < DATE '1990-01-01' AND sex LIKE 'F%'", lambda f: (f["born"] < dt.date(1990, 1, 1)) & (f["sex"] == "F")),
        ("sex NOT LIKE 'F%'", lambda f: f["sex"].isin(["M", "x"])),
        ("NOT sex LIKE 'F%' AND sex NOT IN ('M')", lambda f: f["sex"] == "x"),
        ("age NOT BETWEEN 20 AND 39", lambda f: ~f["age"].astype(float).between(20, 39) & f["age"].notna()),
        ("(age > 30) IS NOT TRUE", lambda f: ~(f["age"].astype(float) > 30)),
        ("(age > 30) IS NOT FALSE AND NOT FALSE", lambda f: f["age"].isna() | (f["age"].astype(float) > 30)),
        ("people.age >= -(-2 * 15)", lambda f: f["age"].astype(float) >= 30),
        ("age BETWEEN SYMMETRIC 45 AND 25", None),
        ("born > DATE('1990-01-01', '+1 month')", None),
        ("born > DATE(1990, 1, 1)", None),
        ("born > CAST(19900101 AS DATE)", None),
        ('born > DATE("1990-01-01")', None),
        ("born > CAST('1990-01-01' AS DATE DEFAULT NULL ON CONVERSION ERROR)", None),
        ("sex LIKE 'F%' ESCAPE '!'", None),
        ("sex LIKE ANY ('F', 'M')", None),
        ("sex ILIKE 'f'", lambda f: f["sex"] == "F"),
        ("age > NOT TRUE", None),
        ("age > -TRUE", None),
        ("age > TRUE + TRUE", None),
        ("age > (1 AND 3)", None),
        ("sex = 'F' * 2", None),
        ("CASE WHEN member THEN TRUE END", lambda f: f["member"].astype(bool)),
        ("-income * 2 + 1 > -39", lambda f: f["income"].astype(float).clip(0, 100) < 20),
        (
            lambda t: (t.age + t.income) / 2 > 50,
            lambda f: (f["age"].astype(float).clip(0, 99) + f["income"].astype(float).clip(0, 100)) > 100,
        ),
        (lambda t: t.born.year() % 2 == 0, None),
        (lambda t: t.income.sum() > 3, None),
        (lambda t: 1 / t.income > 3, None),
        (lambda t: t.sex.cast("int64") > 3, None),
        (
            lambda t: t.income * t.income * t.income * t.income * t.income * t.income * t.income * t.income * t.income > 0,
            None,
        ),
        ("1 / income > 3", None),
        ("income > (SELECT AVG(income) FROM people)", None),
        ("person = 3", None),
        ("born > 'yesterday'", None),
        ("income", None),
        ("sex > 3", None),
        ("member = 1", lambda f: f["member"].astype(bool)),
        ("member = 2", None),
        ("income > '30'", lambda f: f["income"].astype(float).clip(0, 100) > 30),
        ("income = 'x'", None),
        ("sex IN ('F', 3)", None),
        ("sex LIKE 'F\\\\'", None),
        (lambda t: t.sex.cases((3, True), else_=False), None),
        ("sex = 'F'; DROP TABLE data", None),
        (")", None),
        (7, None),
    ],
)
def test_conditions(people, said, kept):
    if kept is None:
        with pytest.raises(BadInput, match="Remedy"):
            people.where(said)
        return
    mask = kept(FRAME).to_numpy(dtype=bool, na_value=False)
    assert exact(people.where(said), "member").tolist() == in_memory("member", kept=mask).tolist()


def test_select_and_bin(people):
    coarse = people.select("age", "sex").bin("age", Integer(0, 99, bins=4))
    assert list(coarse.schema) == ["age", "sex"]
    assert exact(coarse, "age").sum() == exact(people, "age").sum()
    with pytest.raises(BadInput, match="age, sex"):
        coarse.histogram("income", epsilon=1)


@pytest.mark.parametrize(
    ("declared", "values"),
    [
        (Category([1.0, 2.5]), [1.0, 2.5, 2.5, 7.0, None]),
        (Category([True, False]), [True, False, False, None]),
        (Category([1, "b"]), ["1", "b", "b", "c", None]),
    ],
)
def test_a_category_in_its_own_cells_stays_what_it_is(tmp_path, declared, values):
    table = opened(pd.DataFrame({"c": pd.Series(values, dtype=object)}), tmp_path, schema={"c": declared})
    counts = exact(table, "c").tolist()
    assert counts[:2] == [1, 2]
    assert exact(table.bin("c", declared), "c").tolist() == counts
    assert exact(table.derive("d", lambda t: t.c, declared), "d").tolist() == counts
    whole = Category([int(c) if isinstance(c, float) and c == 1 else c for c in declared.categories])
    assert exact(table.bin("c", whole).bin("c", declared), "c").tolist() == counts


def test_a_lookup_in_a_public_table(people):
    joined = people.join({"F": "west", "M": "east"}, on="sex", name="side", column=Category(["west", "east"]))
    sexes = in_memory("sex")
    assert exact(joined, "side").tolist() == [sexes[0], sexes[1], 0, sexes[2] + sexes[3]]
    with pytest.raises(BadInput, match="any number of others"):
        people.join(people, on="sex", name="side", column=Boolean())
    with pytest.raises(BadInput, match="categories"):
        people.join({"X": "west"}, on="sex", name="side", column=Category(["west"]))


def test_a_release_of_a_part_tells_what_it_spent_itself(people):
    """While it runs, another thread asks the same part."""
    part = people.partition("sex", epsilon=1)["F"]
    laplace = algorithms.get("Laplace")

    def slow(x, workload, budget):
        if isinstance(x, ReleaseSource):
            assert part.count(epsilon="1/4").spent == Fraction(1, 4)
        return laplace.plan(x, workload, budget)

    released = part.histogram("age", epsilon="1/2", algorithm=replace(laplace, plan=slow))
    assert (released.spent, released.remaining, part.remaining) == (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))


def test_a_condition_that_is_nested_too_deeply_is_refused(people):
    with pytest.raises(BadInput, match="^where: is nested too deeply"):
        people.where(lambda t: reduce(and_, [t.age >= 3] * 5_000))


@pytest.mark.parametrize(
    "ask",
    [
        lambda t: t.histogram("age", epsilon=HALF, algorithm="HB", branching=1),
        lambda t: t.histogram("age", epsilon=HALF, algorithm="Pythia", selector="nobody's"),
        lambda t: t.histogram("age", epsilon=FINE, algorithm="DAWA"),
        lambda t: t.count(epsilon=SMALL),
        lambda t: t.sum("age", epsilon=SMALL),
        lambda t: t.mean("age", by="sex", epsilon=SMALL),
        lambda t: t.median("age", epsilon=SMALL),
        lambda t: t.marginals("age", "sex", epsilon=SMALL),
        lambda t: t.marginals("age", "sex", epsilon=FINE),
    ],
)
def test_what_is_refused_costs_a_part_nothing(people, ask):
    part = people.partition("sex", epsilon=1)["F"]
    with pytest.raises(BadInput):
        ask(part)
    assert part.remaining == 1
    assert part.histogram("age").spent == 1
    with pytest.raises(Overdraft):
        part.histogram("age")


@pytest.mark.parametrize(
    ("on", "lookup", "column", "counts"),
    [
        ("member", {"false": "no", "true": "yes"}, Category(["no", "yes"]), lambda f, t: [f, t, 0, 0]),
        ("member", {0: "true", 1: "false"}, Boolean(), lambda f, t: [t, f]),
        ("member", {False: 1.0, True: 2}, Category([1, 2]), lambda f, t: [f, t, 0, 0]),
        ("member", {False: "1", True: Fraction(5, 2)}, Integer(0, 3), lambda f, t: [0, f, t, 0]),
        ("member", {False: "2024-01-01", True: dt.date(2025, 1, 1)}, Date("2024-01-01", "2025-12-31", every="year"), None),
        ("member", {False: dt.datetime(2024, 12, 31, 23), True: None}, Date("2024-01-01", "2025-12-31", every="year"), None),  # noqa: DTZ001
    ],
)
def test_a_lookup_reads_keys_and_values_as_columns_do(people, on, lookup, column, counts):
    false, true = in_memory("member")[:2]
    wanted = [false, true if None not in lookup.values() else 0] if counts is None else counts(false, true)
    assert exact(people.join(lookup, on=on, name="new", column=column), "new").tolist() == wanted


@pytest.mark.parametrize(
    ("on", "lookup", "column"),
    [
        ("grade", {"a": 1}, Integer(0, 9)),
        ("grade", {None: 1}, Integer(0, 9)),
        ("grade", {1: 1, "1.0": 2}, Integer(0, 9)),
        ("grade", {1: "many"}, Integer(0, 9)),
        ("grade", {1: float("inf")}, Real(0, 9, bins=2)),
        ("grade", {1: None, 2: None}, Integer(0, 9)),
        ("grade", {1: "maybe"}, Boolean()),
        ("grade", {1: b"x"}, Category(["x"])),
        ("grade", {1: "yesterday"}, Date("2024-01-01", "2025-12-31")),
        ("member", {"maybe": 1}, Integer(0, 9)),
        ("member", {True: 1, "true": 2}, Integer(0, 9)),
        ("member", {(1, 0): 1}, Integer(0, 9)),
    ],
)
def test_lookups_that_make_no_sense_are_refused(people, on, lookup, column):
    graded = people.derive("grade", "age", Integer(0, 99))
    with pytest.raises(BadInput, match="Remedy") as refused:
        graded.join(lookup, on=on, name="new", column=column)
    assert refused.value.argument == "lookup"


def test_a_union_is_of_different_rows(tmp_path):
    FRAME.to_parquet(tmp_path / "all.parquet")
    FRAME.head(100).to_parquet(tmp_path / "some.parquet")
    people, other = (opened(tmp_path / f"{name}.parquet", tmp_path) for name in ("all", "some"))
    both = people.union(other.where("sex = 'F'")).where("age >= 20")
    first, second = people.where("age >= 20"), other.where("sex = 'F' AND age >= 20")
    assert exact(both, "age").tolist() == (exact(first, "age") + exact(second, "age")).tolist()
    assert both.histogram("age", epsilon=1).spent == 1
    with pytest.raises(BadInput, match="count twice"):
        people.union(people.where("sex = 'F'"))
    whose = opened(FRAME.copy(), tmp_path, name="persons", unit="person:2")
    with pytest.raises(BadInput, match="add up"):
        whose.union(whose)
    with pytest.raises(BadInput, match="same name"):
        people.union(opened(FRAME.copy(), tmp_path, name="others"))


def test_parts_share_one_charge(people):
    parts = people.partition("sex", epsilon=1)
    assert list(parts) == ["F", "M", "(other)", "(missing)"]
    assert people.remaining == 9
    women = parts["F"]
    ages = women.where("income > 10").histogram("age", epsilon=0.25)
    assert (ages.spent, women.remaining, people.remaining) == (Fraction(1, 4), Fraction(3, 4), 9)
    assert exact(women, "sex").tolist() == [in_memory("sex")[0], 0, 0, 0]
    nested = women.partition("member", epsilon=0.5)
    assert nested["true"].mean("income").spent == Fraction(1, 2)
    assert women.sum("age").spent == Fraction(1, 4)
    with pytest.raises(Overdraft, match="sex = F"):
        women.count(epsilon=0.1)
    with pytest.raises(Overdraft):
        parts["M"].count(epsilon=1.5)
    assert people.remaining == 9


def test_records_for_classifiers(people):
    for in_memory_ in (False, True):
        records, token = people.records("age", "sex", "member", epsilon=0.5, in_memory=in_memory_)
        source = records.vector("age", "member")
        assert source.shape == (10, 2)
        labelled = records.derive("old", ["age"], np.repeat([0, 1], 5)).vector("old", "sex")
        assert labelled.shape == (2, 4)
        parts = records.split("member", token)
        assert len(parts) == 2
        assert parts[0][0].vector("age").shape == (10,)
    columns = EngineColumns.of(people._views, ["age", "sex", "member"]).complete()
    assert columns.counts(["age", "sex"]).tolist() == columns.in_memory().counts(["age", "sex"]).tolist()
    old = columns.with_table("old", ["age"], np.repeat([0, 1], 5)).where("old", 1)
    assert old.counts(["old"]).tolist() == [0, in_memory("age")[5:].sum()]
    codes, weights = columns.listed(["age", "member"])
    assert weights.sum() == in_memory("age").sum() == columns.rows
    assert sorted(codes) == ["age", "member"]


def test_a_persons_rows_are_drawn_anew_and_bounded_over_all_parts(tmp_path):
    frame = pd.DataFrame({"x": np.arange(1000) % 10, "person": np.repeat(np.arange(10), 100)})
    table = opened(frame, tmp_path, schema={"x": Integer(0, 9)}, unit=Unit("person", max_rows=3))
    draws = [
        exact(table, "x").tolist() for _ in range(4)
    ]  # all alike with probability below (1/100)³, for 30 rows in 10 cells
    assert all(sum(draw) == 30 for draw in draws)
    assert len({tuple(draw) for draw in draws}) > 1, (
        "failure probability below 10⁻⁶: 30 rows fall into 10 cells alike, twice"
    )
    parts = table.partition("x", epsilon=1)
    assert sum(exact(part, "x").sum() for part in parts.values()) == 30
    records, _ = table.records("x", epsilon=1)
    assert records.neighbours.rows == 3


# --------------------------------------------------------------------------------------------------- measurements


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_measurements_are_charged_exactly_and_close_at_a_large_budget(tmp_path, neighbours):
    """At ε = 10⁴ noise above 1 on a count has probability below e^(−2,000)."""
    table = opened(FRAME, tmp_path, budget=10**6, neighbours=neighbours)
    assert table.count(epsilon=10**4).answers == pytest.approx([N])
    assert table.histogram("age", "sex", epsilon=10**4, algorithm="Laplace").answers == pytest.approx(
        in_memory("age", "sex")
    )
    ranged = table.ranges("age", [(0, 19), (20, 99)], epsilon=10**4, algorithm="Laplace")
    ages = in_memory("age")
    assert ranged.answers == pytest.approx([ages[:2].sum(), ages[2:].sum()], abs=0.01)
    assert ranged.to_pandas()[["first", "last"]].values.tolist() == [["0", "19"], ["20", "99"]]
    assert table.ranges("age", workloads.prefix(10), epsilon=1).answers.shape == (10,)
    clipped = FRAME["income"].astype(float).clip(0, 100)
    # Noise of scale 100/ε = 0.01 on a sum of real numbers: above 0.2 with probability e^(−20).
    assert table.sum("income", epsilon=10**4).value == pytest.approx(clipped.sum(), abs=0.2)
    assert table.mean("income", epsilon=10**4).value == pytest.approx(clipped.mean(), abs=0.01)
    assert table.sum("age", epsilon=10**4).value == pytest.approx(FRAME["age"].astype(float).clip(0, 99).sum(), abs=0.1)
    assert table.remaining == 10**6 - 6 * 10**4 - 1


def test_the_noise_follows_the_neighbours(tmp_path, monkeypatch):
    """scale = sensitivity × neighbours / ε, for counts, sums and means, under every relation and unit."""
    drawn = []

    def spy(self, values, scale):
        drawn.append(scale)
        return np.asarray(values)

    monkeypatch.setattr("jostle.kernel.noise.ExactNoise.discrete_laplace", spy)
    frame = FRAME.assign(person=range(N))
    for relation, unit, count, total, mean in (
        ("add_remove", None, 1, 99, 2**30),
        ("replace", None, 2, 99, 2 * 2**30),
        ("add_remove", Unit("person", max_rows=3), 3, 3 * 99, 3 * 2**30),
        ("replace", Unit("person", max_rows=3), 6, 3 * 99, 6 * 2**30),
    ):
        table = opened(frame, tmp_path, name=f"{relation} {unit}", neighbours=relation, unit=unit)
        drawn.clear()
        table.histogram("sex", epsilon="1/2", algorithm="Laplace")
        table.where("sex = 'F'").histogram("sex", epsilon="1/2", algorithm="Laplace")
        table.sum("age", epsilon="1/2")
        table.mean("age", epsilon="1/2")
        assert drawn == [2 * count, 2 * count, 2 * total, 2 * mean]


def test_a_preview_costs_nothing_and_within_keeps_its_word(people):
    question = people.ask("age")
    shown = question.preview(epsilon=0.5)
    assert (shown.epsilon, shown.stand_in) == (Fraction(1, 2), "Laplace")
    assert 4 <= shown.margin <= 8  # 95 % of discrete Laplace noise of scale 2 is within 6
    assert people.remaining == 10
    released = people.histogram("age", within=20)
    assert released.spent < Fraction(1, 2)
    assert question.preview(epsilon=released.spent).margin <= 20
    table = released.to_pandas()
    assert list(table.columns) == ["age", "count", "low", "high"]
    assert released.rows().columns["age"] == SCHEMA["age"].labels
    assert [cell.left for cell in table["age"][:2]] == [0, 10]


# ----------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("ask", "argument"),
    [
        (lambda t: t.histogram("agge", epsilon=1), "column"),
        (lambda t: t.histogram(epsilon=1), "columns"),
        (lambda t: t.histogram("age", "age", epsilon=1), "columns"),
        (lambda t: t.derive("a", "income", WIDE).histogram("a", "born", "age", "sex", epsilon=1), "columns"),
        (lambda t: t.histogram("age"), "epsilon"),
        (lambda t: t.histogram("age", epsilon=0), "epsilon"),
        (lambda t: t.histogram("age", epsilon=1, within=3), "within"),
        (lambda t: t.histogram("age", within=-1), "within"),
        (lambda t: t.histogram("age", epsilon=1, algorithm="Nobody"), "algorithm"),
        (lambda t: t.histogram("age", epsilon=1, algorithm="Laplace", seed=1), "seed"),
        (lambda t: t.sum("sex", epsilon=1), "column"),
        (lambda t: t.ranges("age", [(30, 20)], epsilon=1), "ranges"),
        (lambda t: t.ranges("age", 7, epsilon=1), "ranges"),
        (lambda t: t.ranges("sex", [("F", "Nowhere")], epsilon=1), "ranges"),
        (lambda t: t.ranges("sex", [("F", None)], epsilon=1), "ranges"),
        (lambda t: t.ranges("age", workloads.prefix(3), epsilon=1), "workload"),
        (lambda t: t.select(), "columns"),
        (lambda t: t.derive("x", "income / 2", 7), "schema['x']"),
        (lambda t: t.partition("nobody", epsilon=1), "column"),
        (lambda t: t.derive("r", "income", Real(1e12, 1e12 + 1e-3, bins=64)).partition("r", epsilon=1), "by"),
        (lambda t: t.bin("born", Date("1900-01-01", "2023-12-31")).partition("born", epsilon=1), "by"),
        (
            lambda t: (
                t.derive("a", "income", Real(0, 1, bins=2**13))
                .derive("b", "income", Real(0, 1, bins=2**13))
                .histogram("a", "b", epsilon=1)
            ),
            "columns",
        ),
    ],
)
def test_bad_questions_name_the_argument_and_charge_nothing(people, ask, argument):
    with pytest.raises(BadInput, match="Remedy") as refused:
        ask(people)
    assert refused.value.argument == argument
    assert people.remaining == 10


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"ledger": None}, "ledger"),
        ({"budget": None}, "budget"),
        ({"name": None}, "name"),
        ({"schema": {"nobody": Boolean()}}, "schema"),
        ({"schema": 7}, "schema"),
        ({"schema": {"jostle_x": Boolean()}}, "schema"),
        ({"unit": "person"}, "unit"),
        ({"unit": Unit("nobody", max_rows=1)}, "schema"),
        ({"neighbours": "friends"}, "neighbours"),
        ({"engine": "abacus"}, "engine"),
        ({"data": "nowhere.csv"}, "data"),
        ({"data": "mysql://there/db"}, "data"),
        ({"data": 7}, "data"),
    ],
)
def test_what_cannot_be_opened(tmp_path, changes, argument):
    keywords = {"data": FRAME, "schema": SCHEMA, "ledger": tmp_path / "ledger.db", "budget": 1, "name": "people"} | changes
    with pytest.raises(BadInput, match="Remedy") as refused:
        open_table(keywords.pop("data"), **keywords)
    assert refused.value.argument == argument


def test_an_account_is_kept_for_its_unit(people, tmp_path):
    with pytest.raises(Overdraft):
        people.histogram("age", epsilon=11)
    assert not (tmp_path / "people.db").exists()
    people.count(epsilon=1)
    assert opened(FRAME, tmp_path, budget=None).remaining == 9
    with pytest.raises(BadInput, match="protects single rows; you asked to protect each person"):
        opened(FRAME, tmp_path, unit="person:3")
    with Ledger(tmp_path / "people.db") as book:
        assert [event.kind for event in book.events("people")] == ["open", "charge"]


def test_tables_do_not_leave_the_process(people):
    import copy
    import pickle

    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(PlanError, match="open it in the process"):
            leave(people)
