"""Accounts beyond pure ε: what they pay for, what their rows say, and what an older jostle makes of them."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import jostle
from jostle import mechanisms
from jostle.kernel.budget import Cost
from jostle.kernel.errors import BadInput, LedgerError, Overdraft
from jostle.kernel.ledger import Ledger, limits
from jostle.kernel.measures import Approximate, Concentrated, Pure, Spending, largest_rho

CAP = Approximate(epsilon=1, delta=1e-6)
HERE: dict[str, Any] = {"operator": "laplace", "neighbours": "add_remove"}


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with Ledger(tmp_path / "budget.db") as book:
        yield book


def columns(path: Path, table: str) -> list[dict[str, Any]]:
    with sqlite3.connect(path) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY id")]


costs = st.one_of(
    st.integers(1, 60).map(lambda k: Cost.pure(Fraction(k, 100))),
    st.integers(1, 80).map(lambda k: Cost.gaussian(Fraction(k, 10_000))),
    st.integers(1, 60).map(lambda k: Cost.key_selection(Fraction(k, 1_000), Fraction(1, 10**7))),
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([CAP, Approximate(1, 1e-6, for_keys=0), Concentrated("1/40")]), st.lists(costs, max_size=12))
def test_an_account_takes_what_the_rule_allows_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, cap: Any, charges: list[Cost]
) -> None:
    with Ledger(tmp_path_factory.mktemp("ledger") / "budget.db") as book:
        account, spending = book.account("people", cap=cap), Spending()
        for cost in charges:
            after = spending.after(cost)
            if cost.delta and isinstance(cap, Concentrated):
                with pytest.raises(BadInput, match=r"^delta: "):
                    account.charge(cost, **HERE)
            elif after.allowed(cap):
                event = account.charge(cost, **HERE)
                assert (event.cost, event.amount) == (cost, cost.amount)
                spending = after
            else:
                with pytest.raises(Overdraft):
                    account.charge(cost, **HERE)
        has = book.balance("people")
        assert limits.same(cap, has.spending, spending)
        assert has.left == spending.left(cap)
        book.verify()


def test_many_small_questions_cost_less_than_their_sum(ledger: Any) -> None:
    """100 releases of ε = 0.02 each: 2 in all, and within (1, 10⁻⁶) by their ρ, of 1/50 in all."""
    account = ledger.account("people", cap=CAP)
    for _ in range(100):
        account.charge(Fraction(1, 50), **HERE)
    has = ledger.balance("people")
    assert (has.spending.epsilon, has.spending.rho) == (2, Fraction(1, 50))
    assert has.spent < 1
    assert has.remaining**2 / 2 <= largest_rho(1, Fraction(1, 2 * 10**6)) - Fraction(1, 50)
    with pytest.raises(Overdraft, match=r"requested ε = 0.5, remaining 0\.07"):
        account.charge(Fraction(1, 2), **HERE)


def test_a_pure_account_writes_what_it_always_wrote(ledger: Any, tmp_path: Path) -> None:
    ledger.account("people", cap=Pure(1)).charge(Fraction(1, 10), **HERE)
    (row,) = columns(tmp_path / "budget.db", "jostle_accounts")
    assert (row["measure"], row["cap"], row["spent"]) == ("pure", "1/1", "1/10")
    assert [(event["measure"], event["amount"]) for event in columns(tmp_path / "budget.db", "jostle_events")] == [
        ("pure", "1/1"),
        ("pure", "1/10"),
    ]
    assert ledger.account("people", cap=1).cap == 1
    assert ledger.account("people").left.rho == 0


def test_other_accounts_are_refused_by_an_older_jostle(ledger: Any, tmp_path: Path) -> None:
    """It reads cap, spent and amount as fractions, and then refuses every measure but "pure"."""
    for name, cap in (("a", CAP), ("b", Concentrated("1/50"))):
        account = ledger.account(name, cap=cap)
        account.charge(Cost.gaussian("1/500"), **HERE)
        account.charge(Cost.pure("1/100"), **HERE)
    for row in columns(tmp_path / "budget.db", "jostle_accounts"):
        assert row["measure"] != "pure"
        assert Fraction(row["cap"]) > 0
        assert Fraction(row["spent"]) == Fraction(1, 500) + Fraction(1, 20_000)
    events = columns(tmp_path / "budget.db", "jostle_events")
    assert all(Fraction(event["amount"]) > 0 for event in events)
    assert [event["measure"] == "pure" for event in events] == [False, False, True] * 2


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("spent", "'1/1000'"),
        ("measure", "'approximate; delta=1/1000000; for_keys=1/2000000; epsilon=0/1; keys=0/1'"),
        ("measure", "'approximate; delta=1/10; for_keys=1/2000000; epsilon=none; keys=0/1'"),
        ("cap", "'2/1'"),
    ],
)
def test_totals_that_were_changed_are_found_out(ledger: Any, tmp_path: Path, column: str, value: str) -> None:
    ledger.account("people", cap=CAP).charge(Cost.gaussian("1/500"), **HERE)
    ledger.verify()
    with sqlite3.connect(tmp_path / "budget.db") as connection:
        connection.execute(f"UPDATE jostle_accounts SET {column} = {value}")
    with pytest.raises(LedgerError, match="does not add up"):
        ledger.verify()


@pytest.mark.parametrize(
    "measure", ["renyi", "approximate", "approximate; delta=1/10; for_keys=1/20; more=1", "keys; delta=1/2", ""]
)
def test_a_measure_that_is_not_known_is_refused(ledger: Any, tmp_path: Path, measure: str) -> None:
    account = ledger.account("people", cap=1)
    with sqlite3.connect(tmp_path / "budget.db") as connection:
        connection.execute("UPDATE jostle_accounts SET measure = ?", [measure])
    with pytest.raises(LedgerError, match="newer jostle"):
        account.charge(Fraction(1, 10), **HERE)


BAD: dict[str, tuple[Any, str]] = {
    "no delta": (
        lambda book: Approximate(1, 0),
        r"^delta: must be above 0, got 0. Remedy: pass a small number such as 1e-6",
    ),
    "negative": (lambda book: Approximate(1, -1), r"^delta: must be above 0"),
    "all of it": (lambda book: Approximate(1, 1), r"^delta: must be below 1, got 1"),
    "delta alone": (lambda book: Approximate(delta=1e-6), r"^epsilon: is missing: .* Approximate\(epsilon=1, delta=1e-6\)"),
    "epsilon alone": (lambda book: Approximate(1), r"^delta: is missing"),
    "a pair": (lambda book: book.account("new", cap=(1, 1e-6)), r"^cap: .*jostle.Approximate"),
    "a class": (lambda book: book.account("new", cap=Pure), r"^cap: "),
    "another measure": (lambda book: book.account("pure", cap=CAP), r"^cap: account 'pure' is in another measure"),
    "another delta": (lambda book: book.account("both", cap=Approximate(1, 1e-5)), r"^cap: .*δ = 1e-06, not .*δ = 1e-05"),
    "a number": (lambda book: book.account("both", cap=1), r"^cap: .* pass jostle.Approximate\(epsilon=…, delta=…\)"),
    "rho in pure": (
        lambda book: jostle.release([1, 2], rho=0.1, account=book.account("pure")),
        r"^rho: the account 'pure' is of pure ε.*Approximate\(epsilon=1, delta=1e-6\)",
    ),
    "set to a number": (lambda book: book.set_cap("both", 2), r"^cap: .* stays in its measure"),
    "set below": (lambda book: book.set_cap("both", Approximate("1/1000", 1e-9)), r"^cap: ε = .* is spent already"),
    "set as it was not": (lambda book: book.set_cap("both", Approximate(2, 1e-6), was=1), r"^was: the cap .* by now"),
    "rho and within": (lambda book: jostle.release([1], rho=0.1, within=3, account=book.account("both")), r"^rho: "),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_before_a_charge(ledger: Any, name: str) -> None:
    ledger.account("pure", cap=1)
    ledger.account("both", cap=CAP).charge(Cost.gaussian("1/500"), **HERE)
    call, message = BAD[name]
    with pytest.raises(BadInput, match=message):
        call(ledger)
    assert len([event for event in ledger.events() if event.kind == "charge"]) == 1


def test_a_pure_question_is_answered_from_rho_where_no_epsilon_is_left(ledger: Any) -> None:
    """Gaussian noise has ended the sum of ε; a pure question costs ε²/2 of ρ then, as long as there is some."""
    account = ledger.account("people", cap=Approximate(1, 1e-6, for_keys=0))
    jostle.release([30, 0, 12], rho="1/100", account=account, algorithm="Laplace")
    assert account.left.pure**2 / 2 <= account.left.rho
    answered = jostle.release([30, 0, 12], epsilon="1/10", account=account, algorithm="Laplace")
    assert (answered.measure, answered.spent) == ("pure", Fraction(1, 10))
    with pytest.raises(Overdraft):
        jostle.release([30, 0, 12], epsilon="1/2", account=account, algorithm="Laplace")


def test_what_is_missing_is_named_as_epsilon_or_as_delta(ledger: Any) -> None:
    account = ledger.account("people", cap=CAP)
    with pytest.raises(Overdraft, match=r"requested δ = 0\.001, remaining 5e-07\.") as refused:
        account.grant("1/100", delta="1/1000")
    assert refused.value.remaining == CAP.for_keys
    with pytest.raises(Overdraft, match="requested ε = 5, remaining 1"):
        account.grant(5, delta="1/10000000")
    with pytest.raises(BadInput, match=r"^delta: is no part of the price .*Approximate\(epsilon=1, delta=1e-6\)"):
        jostle.release([1, 2], epsilon="1/10", delta=1e-7, account=account)
    assert account.spent == 0


def test_a_cap_changes_within_its_measure(ledger: Any) -> None:
    account = ledger.account("people", cap=CAP)
    account.charge(Cost.gaussian("1/500"), **HERE)
    event = account.set_cap(Approximate(2, 1e-6), was=CAP, note="agreed")
    assert (event.amount, event.limit) == (2, Approximate(2, 1e-6))
    assert account.limit == Approximate(2, 1e-6)
    assert ledger.balance("people").spending == Spending(None, Fraction(1, 500))
    ledger.verify()


def test_a_release_in_rho_is_charged_in_rho(ledger: Any) -> None:
    account = ledger.account("people", cap=CAP)
    released = jostle.release([30, 0, 12], rho="1/500", account=account, algorithm="Laplace")
    assert (released.spent, released.measure, released.left_in) == (Fraction(1, 500), "concentrated", "pure")
    assert "at ρ = 0.002" in released.explain()
    assert released.margins == pytest.approx(1.96 * np.sqrt(250), rel=0.35)
    (event,) = released.charges
    assert (event.operator, event.measure, event.amount) == ("gaussian", "concentrated", Fraction(1, 500))
    pure = jostle.release([30, 0, 12], epsilon="1/100", account=account, algorithm="Laplace")
    assert (pure.measure, pure.charges[0].measure) == ("pure", "pure")


def test_a_gradual_release_is_paid_at_once_where_rho_counts(ledger: Any) -> None:
    """Step by step it may lose more than the difference: ε adds up on every path, and ρ does not."""
    for name, cap, charges in (("pure", 1, 3), ("both", CAP, 1)):
        release = mechanisms.GradualRelease(
            100, sensitivity=1, epsilons=("1/100", "1/50", "1/10"), budget=ledger.account(name, cap=cap).grant("1/10")
        )
        release.next()
        assert release.spent == (Fraction(1, 100) if charges == 3 else Fraction(1, 10))
        assert len(list(release)) == 2
        paid = [event.amount for event in ledger.events(name) if event.kind == "charge"]
        assert (len(paid), sum(paid)) == (charges, Fraction(1, 10))
    token = ledger.account("both").grant(rho="1/200")
    steps = mechanisms.GradualRelease(100, sensitivity=1, epsilons=("1/100", "1/10"), budget=token)
    assert [type(one) for one in steps] == [int, int]
    assert steps.spent == Fraction(1, 200)


def test_sums_are_rounded_up_to_a_bounded_size() -> None:
    fine = Cost.gaussian(Fraction(1, 10**299 + 1))
    spending = Spending()
    for step in range(5):
        spending = limits.after(CAP, spending, Cost.gaussian(Fraction(1, 10**299 + 2 * step + 1)))
    assert spending.rho.denominator <= limits.FINEST
    assert 5 * fine.rho * (1 - Fraction(1, 10**250)) < spending.rho < 5 * fine.rho * (1 + Fraction(1, 10**250))
