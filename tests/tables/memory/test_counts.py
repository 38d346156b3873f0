"""Never pay twice: what was released answers the same question again, and pays for others as far as it says something."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

import jostle
from jostle import Approximate, Category, Integer, Ledger, Unit, algorithms
from jostle.kernel.budget import PURE, Price
from jostle.kernel.errors import LedgerError
from jostle.linear.laws import whole_margins
from jostle.tables.memory import counts, overview
from jostle.tables.memory.bodies import Remembered, UnknownForm, packed, unpacked
from jostle.tables.memory.buying import place_of, planned, wide_question
from jostle.tables.memory.store import MEMORY, Keepsake, MemoryFault, MemoryStore

RNG = np.random.default_rng(7)
ROWS = 5_000
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(0, 100, ROWS),
        "sex": RNG.choice(["F", "M"], ROWS),
        "ward": RNG.choice(list("ABCDE"), ROWS),
        "person": RNG.integers(0, 2_000, ROWS),
    }
)
SCHEMA = {
    "age": Integer(0, 99, bins=10, null="own"),
    "sex": Category(["F", "M"]),
    "ward": Category(list("ABCDE")),
}
CLOSE = 1000
"""An ε at which answers are exact."""


def opened(folder, data=None, **changed):
    keywords = {"schema": SCHEMA, "ledger": folder / "b.db", "budget": 10**6, "name": "people", "version": "1"}
    return jostle.open(FRAME if data is None else data, **keywords | changed)


def spent(table):
    return 10**6 - table.remaining


# ---------------------------------------------------------------------------------------------------- repeats are free


@pytest.mark.parametrize("algorithm", [None, "HB"])
def test_the_same_question_costs_nothing_and_has_the_same_numbers(algorithm, tmp_path):
    first = opened(tmp_path).histogram("age", epsilon=0.5, algorithm=algorithm)
    table = opened(tmp_path)  # as in another process
    again = table.histogram("age", epsilon=0.5, algorithm=algorithm)
    assert (again.answers == first.answers).all()
    assert again.spent == 0
    assert not again.charges
    assert spent(table) == Fraction(1, 2)
    assert "costs nothing again" in again.explain()
    assert "ε = 0.5 was saved" in str(again)
    np.testing.assert_allclose(again.margins, first.margins)
    assert again.interval_kind == first.interval_kind
    assert again.margins_together.shape == first.margins_together.shape
    cheaper = table.histogram("age", epsilon=0.1, algorithm=algorithm)
    assert (cheaper.answers == first.answers).all()
    assert cheaper.spent == 0


def test_statements_and_quantiles_are_repeated_too(tmp_path):
    table = opened(tmp_path)
    text = "SELECT ward, COUNT(*) AS n FROM people WHERE age >= 50 GROUP BY ward ORDER BY n DESC"
    first, again = (table.sql(text, epsilon=0.5) for _ in range(2))
    assert first.rows().columns == again.rows().columns
    assert again.spent == 0
    one, other = (table.quantiles("age", [0.25, 0.5], epsilon=0.5) for _ in range(2))
    assert (one.values == other.values).all()
    assert other.spent == 0
    assert spent(table) == 1
    assert table.quantiles("age", [0.9], epsilon=0.5).spent == 0, "all levels are read from one distribution"


def test_other_words_for_the_same_rows_are_the_same_question(tmp_path):
    table = opened(tmp_path)
    first = table.where("age >= 50 AND sex = 'F'").count(epsilon=1)
    again = table.where("sex IN ('F')").where("NOT (age < 50) AND age IS NOT NULL").count(epsilon=1)
    assert again.spent == 0
    assert (again.answers == first.answers).all()


def test_whoever_asks_anew_pays_anew(tmp_path):
    table = opened(tmp_path)
    table.count(epsilon=1)
    assert table.fresh().count(epsilon=1).spent == 1
    assert table.ask_count().release(epsilon=1, fresh=True).spent == 1
    assert opened(tmp_path, version=None).count(epsilon=1).spent == 1
    assert spent(table) == 4


# ------------------------------------------------------------------------------------------- what follows is free


def test_a_marginal_follows_from_a_joint_histogram(tmp_path):
    table = opened(tmp_path)
    joint = table.histogram("age", "sex", epsilon=1, algorithm="Laplace")
    ages = table.histogram("age", epsilon=0.4)
    assert ages.spent == 0
    assert ages.interval_kind == "exact"
    assert (ages.answers == joint.answers.reshape(-1, 4).sum(axis=1)).all()
    assert (ages.margins == whole_margins(np.array([4.0]), 1)[0]).all()
    women = table.where("sex = 'F'").histogram("age", epsilon=1)
    assert women.spent == 0
    assert (women.answers == joint.answers.reshape(-1, 4)[:, 0]).all()
    old = table.where("age >= 80 AND sex <> 'F'").count(epsilon=0.4)
    assert old.spent == 0
    assert old.answers[0] == joint.answers.reshape(-1, 4)[8:10, 1:3].sum()
    assert "1 earlier release, which is paid for" in old.explain()


def test_ranges_follow_from_cells(tmp_path):
    table = opened(tmp_path)
    cells = table.histogram("age", epsilon=1, algorithm="Laplace")
    ranges = table.ranges("age", [(0, 29), (30, 99)], epsilon=0.1)
    assert ranges.spent == 0
    assert ranges.answers.tolist() == [cells.answers[:3].sum(), cells.answers[3:10].sum()]


def test_a_condition_is_paid_for_with_all_others_of_its_column(tmp_path):
    """The noise is that of one cell, and the next condition is free."""
    table = opened(tmp_path)
    question = table.where("ward = 'A'").ask("sex")
    wide = wide_question(question, place_of(question))
    assert wide is not None
    assert wide.frame.size == 7 * 4
    first = question.release(epsilon=1)
    assert first.spent == 1
    assert first.algorithm.name == "Bayes"
    for ward in "BCDE":
        other = table.where(f"ward = '{ward}'").histogram("sex", epsilon=1)
        assert other.spent == 0
        np.testing.assert_array_equal(other.margins, whole_margins(np.ones(1), 1)[0])
    assert spent(table) == 1
    above = table.where("age >= 65").count(epsilon=1)
    assert above.spent == 1
    assert above.margins[0] == whole_margins(np.ones(1), 1)[0]
    assert table.where("age < 65").ask_count().preview(epsilon=1).paid_for is not None


def test_of_nearly_empty_cells_the_next_condition_gets_as_close_answers_as_the_first(tmp_path):
    """Plain noise is ±30 at ε = 0.1; there are five rows in 44 cells, so what the cells say of each other is far closer."""
    table = opened(tmp_path, FRAME.assign(ward=np.where(np.arange(len(FRAME)) < 5, "B", "A")))
    assert table.where("ward = 'A'").histogram("age", "sex", epsilon=0.1).spent == Fraction(1, 10)
    few = table.where("ward = 'B'")
    plain = few.ask("age", "sex").release(epsilon="0.1", consistent=True)
    assert plain.spent == 0
    assert np.median(plain.margins) == whole_margins(np.ones(1), 10)[0]
    found = few.histogram("age", "sex", epsilon=0.1)
    assert found.spent == 0
    assert found.reused.saved == Fraction(1, 10)
    np.testing.assert_array_equal(found.answers, algorithms.get("Bayes").finish(plain.answers, 10.0, found.workload))
    assert np.median(found.margins) < 15
    again = few.histogram("age", "sex", epsilon=0.1)
    np.testing.assert_array_equal(again.answers, found.answers)
    assert np.median(again.margins) < 15


def test_no_more_cells_are_measured_where_they_have_more_noise(tmp_path):
    """Under `replace`, a count of all rows has no noise, and one of some rows less than a histogram's cells."""
    table = opened(tmp_path, neighbours="replace")
    question = table.where("ward = 'A'").ask_count()
    promised = question._anew(epsilon=1).margin
    found = question.release(epsilon=1)
    assert found.spent == 1
    assert found.margins[0] == promised
    noise = [one for one in overview.remembered(table._budget.account.ledger, "people") if one["kind"] == "measurement"]
    assert [one["scale or variance"] for one in noise] == [str(question_scale(question))]


def question_scale(question):
    return planned(question, place_of(question), Price.of(1)).amount


def test_wide_measurements_count_what_was_asked_for(tmp_path):
    table = opened(tmp_path)
    for condition, expected in (
        ("ward = 'B' AND age >= 33", (FRAME.ward == "B") & (FRAME.age >= 33)),
        ("ward IN ('C', 'D') AND age BETWEEN 10 AND 14", FRAME.ward.isin(["C", "D"]) & FRAME.age.between(10, 14)),
        ("sex = 'M' AND (ward = 'A' OR age = 3)", (FRAME.sex == "M") & ((FRAME.ward == "A") | (FRAME.age == 3))),
    ):
        found = table.where(condition).histogram("sex", epsilon=CLOSE, algorithm="Laplace")
        assert found.answers.tolist() == [int((expected & (FRAME.sex == sex)).sum()) for sex in ("F", "M")] + [0, 0]


# ------------------------------------------------------------------------------------------------------------ top-ups


def test_only_missing_precision_is_bought(tmp_path):
    table = opened(tmp_path)
    table.histogram("ward", epsilon=0.1, algorithm="Laplace")
    more = table.histogram("ward", epsilon=0.125, algorithm="Laplace")
    assert 0 < more.spent < Fraction(9, 100)
    assert "1 earlier release and one new measurement" in more.explain()
    assert (more.margins <= whole_margins(np.ones(1), 8)[0]).all()
    assert more.reused.saved == Fraction(1, 8) - more.spent
    assert table.histogram("ward", epsilon=0.125, algorithm="Laplace").spent == 0
    saved = overview.savings(table._budget.account.ledger)
    assert [(one.questions, one.free) for one in saved] == [(2, 1)]
    assert saved[0].amount > Fraction(1, 8)


def test_no_question_costs_more_than_without_memory(tmp_path):
    table, rng = opened(tmp_path), np.random.default_rng(3)
    conditions = ["TRUE", "sex = 'F'", "ward = 'A'", "age >= 65", "age < 30 AND sex = 'M'", "ward <> 'C'"]
    for _ in range(12):
        where, by = rng.choice(conditions), rng.choice(["", "age", "sex", "ward"])
        epsilon = Fraction(int(rng.integers(1, 20)), 10)
        rows = table if where == "TRUE" else table.where(str(where))
        question = rows.ask(str(by), algorithm=rng.choice(["Laplace", None])) if by else rows.ask_count()
        promised = question._anew(epsilon=epsilon)
        found = question.release(epsilon=epsilon)
        assert found.spent <= epsilon
        if found.combined is not None if hasattr(found, "combined") else False:
            assert found.margins.max() <= promised.widest * (1 + 1e-9)


def test_gaussian_measurements_are_completed_too(tmp_path):
    table = opened(tmp_path, budget=Approximate(1000, "1e-6"))
    table.histogram("ward", rho=0.001, algorithm="Laplace")
    more = table.histogram("ward", rho=0.0015, algorithm="Laplace")
    assert more.measure == "concentrated"
    assert more.spent < Fraction(6, 10_000)
    assert table.histogram("ward", rho=0.0015, algorithm="Laplace").spent == 0


def test_answers_agree_with_each_other_if_they_are_asked_to(tmp_path):
    table = opened(tmp_path)
    first = table.histogram("ward", epsilon=0.5, algorithm="Laplace")
    table.histogram("ward", "sex", epsilon=2, algorithm="Laplace")
    assert (table.histogram("ward", epsilon=0.5, algorithm="Laplace").answers == first.answers).all()
    wards = table.ask("ward").release(epsilon=0.5, consistent=True)
    sexes = table.ask("sex").release(epsilon=0.5, consistent=True)
    assert wards.spent == sexes.spent == 0
    assert (wards.answers != first.answers).any()
    assert wards.answers.sum() == pytest.approx(sexes.answers.sum())
    assert wards.margins.max() < first.margins.max()


def test_previews_say_what_is_paid_for(tmp_path):
    table = opened(tmp_path)
    assert table.ask("age").preview(epsilon=1).paid_for is None
    table.histogram("age", epsilon=1, algorithm="Laplace")
    shown = str(table.ask("age").preview(epsilon=0.5))
    assert "±3 is already paid for. It would cost nothing." in shown
    assert "±3 is already paid for." in str(table.ask("age").preview(epsilon=5))
    assert spent(table) == 1


# ----------------------------------------------------------------------------------- what a remembered answer is not


def test_other_data_versions_units_and_neighbours_share_nothing(tmp_path):
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    FRAME.to_csv(paths[0], index=False)
    FRAME.head(100).to_csv(paths[1], index=False)
    assert opened(tmp_path, paths[0]).count(epsilon=1).spent == 1
    assert opened(tmp_path, paths[0]).count(epsilon=1).spent == 0
    assert opened(tmp_path, paths[1]).count(epsilon=1).spent == 1, "another file under the same name"
    assert opened(tmp_path, paths[0], version="2").count(epsilon=1).spent == 1
    assert opened(tmp_path, paths[0], delimiter=";", columns=["age", "sex", "ward"]).count(epsilon=1).spent == 1
    assert opened(tmp_path, paths[0], name="others", beside="people").count(epsilon=1).spent == 1
    for keywords in ({"unit": Unit("person", 1)}, {"unit": Unit("person", 2)}, {"neighbours": "replace"}):
        ledger = tmp_path / f"{len(list(tmp_path.iterdir()))}.db"
        assert opened(tmp_path, paths[0], ledger=ledger, **keywords).count(epsilon=1).spent == 1
        assert opened(tmp_path, paths[0], ledger=ledger, **keywords).count(epsilon=1).spent == 0
    united = opened(tmp_path, paths[0]).union(opened(tmp_path, paths[1]))
    assert united.count(epsilon=1).spent == 1 == united.count(epsilon=1).spent


def test_other_texts_for_nobody_are_other_rows(tmp_path):
    """Rows whose person stands for nobody are left out, so how persons are read decides about rows."""
    for number, missing in enumerate((["7"], ["7"], ["8"], [])):
        schema = SCHEMA | {"person": Integer(0, 1_999, missing=missing)}
        table = opened(tmp_path, schema=schema, unit=Unit("person", 2))
        assert table.count(epsilon=1).spent == (number != 1), missing


def test_savings_that_cannot_be_added_up_cost_no_answer(tmp_path):
    """Such as those that a later jostle wrote in another form."""
    table = opened(tmp_path)
    table.histogram("ward", epsilon=0.1, algorithm="Laplace")
    table._budget.memory.store.add([Keepsake("people", f"saved:{PURE}", 0.0, b"in another form")])
    with pytest.warns(MemoryFault, match="could not be added up"):
        found = table.histogram("ward", epsilon=0.125, algorithm="Laplace")
    assert spent(table) == Fraction(1, 10) + found.spent


def test_other_conditions_and_other_columns_share_nothing_that_does_not_follow(tmp_path):
    table = opened(tmp_path)
    table.where("age >= 60 AND age < 70").count(epsilon=1)
    for condition in ("age >= 65 AND age < 70", "age >= 60 AND age < 69", "age < 65"):
        assert table.where(condition).ask_count().preview(epsilon=1).paid_for is None, condition
    dropping = opened(
        tmp_path, schema=SCHEMA | {"ward": Category(list("ABCDE"), null="drop")}, name="dropping", beside="people"
    )
    dropping.histogram("ward", "sex", epsilon=1, algorithm="Laplace")
    assert dropping.ask("sex").preview(epsilon=1).paid_for is None, "rows without a ward are not there"
    assert dropping.ask("ward").preview(epsilon=1).paid_for is not None


def test_of_persons_only_one_draw_of_the_same_rows_is_used(tmp_path):
    table = opened(tmp_path, unit=Unit("person", 2))
    joint = table.histogram("ward", "sex", epsilon=4, algorithm="Laplace")
    wards = table.histogram("ward", epsilon=1)
    assert wards.spent == 0
    assert (wards.answers == joint.answers.reshape(7, 4).sum(axis=1)).all()
    assert table.where("sex = 'F'").histogram("ward", epsilon=1).spent == 1, "their rows are drawn from fewer"
    assert table.histogram("ward", epsilon=8, algorithm="Laplace").spent == 8, "another draw is of other rows"
    question = table.where("sex = 'F'").ask("ward")
    assert wide_question(question, place_of(question)) is None


def test_adaptive_answers_are_kept_as_such_only(tmp_path):
    table = opened(tmp_path)
    table.histogram("age", "ward", epsilon=1, algorithm="DAWA")
    assert table.ask("age").preview(epsilon=0.01).paid_for is None
    kinds = [one["kind"] for one in overview.remembered(table._budget.account.ledger, "people")]
    assert kinds == ["answer"]


def test_parts_of_a_partition_remember_nothing(tmp_path):
    part = opened(tmp_path).partition("sex", epsilon=1)["F"]
    part.count(epsilon=0.25)
    part.count(epsilon=0.25)
    assert part.remaining == Fraction(1, 2)


# ------------------------------------------------------------------------------------------- crashes and two processes


def rows_of(folder):
    with Ledger(folder / "b.db")._store.transaction() as connection:
        return connection.execute(sa.select(MEMORY)).all()


def test_something_that_was_changed_is_ignored(tmp_path):
    table = opened(tmp_path)
    table.count(epsilon=1)
    with Ledger(tmp_path / "b.db")._store.transaction(write=True) as connection:
        connection.execute(MEMORY.update().values(body=packed({"amount": "9"}, {"estimate": np.array([5])})))
    with pytest.warns(MemoryFault, match="was changed since"):
        assert table.count(epsilon=1).spent == 1
    with pytest.raises(UnknownForm):
        unpacked(b"\x02what a later version writes")
    Ledger(tmp_path / "b.db").verify()


def test_what_cannot_be_kept_is_answered_and_charged_once(tmp_path, monkeypatch):
    table = opened(tmp_path)

    def fails(self, rows):
        raise LedgerError("the disk is full")

    monkeypatch.setattr(MemoryStore, "add", fails)
    with pytest.warns(MemoryFault, match="could not be kept"):
        assert table.count(epsilon=1).spent == 1
    assert spent(table) == 1


def test_a_fault_after_a_purchase_loses_nothing_and_charges_nothing_more(tmp_path, monkeypatch):
    table = opened(tmp_path)
    table.histogram("ward", epsilon=0.1, algorithm="Laplace")
    original, bought = counts.together, []

    def fails_after_the_charge(frame, measured, *rest, **named):
        if any(one.numbers.any() and one not in before for one in measured):
            bought.append(1)
            raise ValueError("of some kind")
        return original(frame, measured, *rest, **named)

    before = table._budget.memory.measurements(*(getattr(place_of(table.ask("ward")), name) for name in ("rows", "frame")))
    monkeypatch.setattr(Remembered, "__eq__", lambda self, other: (self.numbers == other.numbers).all())
    monkeypatch.setattr(counts, "together", fails_after_the_charge)
    with pytest.warns(MemoryFault, match="could not be used"):
        found = table.histogram("ward", epsilon=0.125, algorithm="Laplace")
    assert bought
    assert found.spent < Fraction(1, 8)
    assert spent(table) == Fraction(1, 10) + found.spent
    assert found.answers.shape == (7,)
    assert found.margins.shape == (7,)


def test_an_old_ledger_is_opened_unchanged_and_has_no_memory_until_something_is_kept(tmp_path):
    table = opened(tmp_path, version=None)
    table.count(epsilon=1)
    with Ledger(tmp_path / "b.db")._store.transaction() as connection:
        assert not sa.inspect(connection).has_table(MEMORY.name)
    other = opened(tmp_path)
    assert other.ask_count().preview(epsilon=1).paid_for is None
    with Ledger(tmp_path / "b.db")._store.transaction() as connection:
        assert not sa.inspect(connection).has_table(MEMORY.name)
    other.count(epsilon=1)
    assert len(rows_of(tmp_path)) == 2


ASKS = """
import sys, pandas, jostle
from jostle import Category, Integer
schema = {"age": Integer(0, 99, bins=10, null="own"), "sex": Category(["F", "M"]), "ward": Category(list("ABCDE"))}
keywords = {"schema": schema, "ledger": sys.argv[2], "budget": 10**6, "name": "people", "version": "1"}
print(jostle.open(sys.argv[1], **keywords).histogram("ward", epsilon=1).answers.tolist())
"""


def test_two_processes_share_what_is_remembered(tmp_path):
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    table = opened(tmp_path, tmp_path / "people.csv")
    command = [sys.executable, "-c", ASKS, str(tmp_path / "people.csv"), str(tmp_path / "b.db")]
    first = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    mine = table.histogram("ward", epsilon=1)
    assert mine.spent == 0
    assert str(mine.answers.tolist()) == first.strip()
    assert spent(table) == 1


# --------------------------------------------------------------------------------------------------- size and upkeep


def test_a_released_number_takes_few_bytes(tmp_path):
    """The numbers themselves, of about 10 bits each, are in it."""
    table = opened(tmp_path, schema=SCHEMA | {"age": Integer(0, 99, null="own")})
    table.histogram("age", "ward", "sex", epsilon=0.01, algorithm="Laplace")
    listed = overview.remembered(table._budget.account.ledger, "people")
    assert {one["kind"] for one in listed} == {"measurement", "answer"}
    for one in listed:
        assert one["bytes"] < 10 / 8 * one["numbers"] + 1.5 * one["numbers"], one


def test_it_can_be_exported_and_forgotten(tmp_path):
    table = opened(tmp_path)
    first = table.histogram("sex", epsilon=1, algorithm="Laplace")
    ledger = table._budget.account.ledger
    measured = overview.remembered(ledger, "people", numbers=True)[0]
    assert measured["values"] == first.answers.tolist()
    assert measured["noise"] == "laplace"
    assert overview.forget(ledger, "people", before="2000-01-01") == 0
    assert overview.forget(ledger, "people") == 2
    assert overview.remembered(ledger, "people") == []
    assert table.histogram("sex", epsilon=1, algorithm="Laplace").spent == 1


def test_a_thing_is_found_beside_ten_thousand_others(tmp_path):
    """How fast is measured by `jostle bench memory`; here, that the right ones are found, the most precise first."""
    table = opened(tmp_path)
    table.histogram("ward", epsilon=1, algorithm="Laplace")
    store, [row] = table._budget.memory.store, [one for one in rows_of(tmp_path) if one.topic.startswith("m:")]
    noise = Remembered.of_bytes(row.body)
    store.add([Keepsake("people", f"m:{noise.rows}:{number:012d}", 1.0, b"") for number in range(10_000)])
    found = table._budget.memory.measurements(noise.rows, noise.frame)
    assert [one.numbers.tolist() for one in found] == [noise.numbers.tolist()]


def test_versions_are_texts(tmp_path):
    with pytest.raises(jostle.BadInput, match="version"):
        opened(tmp_path, version="")


def test_memory_that_fails_after_the_charge_costs_no_answer(tmp_path, monkeypatch):
    def fails(*_):
        raise LedgerError("the ledger cannot be reached")

    table = opened(tmp_path)
    monkeypatch.setattr("jostle.tables.memory.memory._topic", fails)
    with pytest.warns(MemoryFault, match="could not be kept"):
        found = table.where("ward = 'A'").histogram("sex", epsilon=1, algorithm="Laplace")
    assert (found.spent, len(found.answers)) == (1, 4)


def test_counts_of_persons_held_to_some_groups_are_of_rows_of_their_own(tmp_path):
    table = opened(tmp_path, unit=Unit("person", max_rows=3, max_groups=1))
    table.histogram("ward", "sex", epsilon=1, algorithm="Laplace")
    assert table.histogram("ward", "sex", epsilon=1, algorithm="Laplace").spent == 0
    assert table.histogram("ward", epsilon=1, algorithm="Laplace").spent == 1
