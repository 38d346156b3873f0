"""Record and replay: everything that releases something is told apart on no neighbours, and every planted fault is."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest

import jostle
from jostle import algorithms, learn, mechanisms
from jostle.audit.replay import Case, Subject, add_option, catalogue, replay
from jostle.audit.replay.laws import LAWS
from jostle.audit.replay.subjects import counts, groups, tables
from jostle.audit.replay.subjects.learners import estimators
from jostle.audit.replay.tape import Diverged, Recording, Replay, TapeAccount
from jostle.kernel import records, source
from jostle.kernel.budget import Price
from jostle.kernel.errors import BadInput
from jostle.kernel.key_selection import rule_for
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import calibrate_square
from jostle.kernel.strategies import identity
from jostle.tables.table import Table
from jostle.tables.unit import Unit
from tests.audit import planted_replay
from tests.audit.planted_replay import FAULTS, Planted
from tests.audit.test_catalogue import UNPAID
from tests.cli.test_audit import jostle as command  # noqa: F401 (a fixture)

EVERY = catalogue.every()
SUBJECTS = {name: subject for name, subject in EVERY.items() if not name.endswith(catalogue.IN_RHO)}
PAIRS = {"table": 2, "learner": 4}
"""Few: the command has 200 of each."""


@pytest.mark.parametrize("name", SUBJECTS)
def test_neighbours_are_not_told_apart(name):
    verdict = replay(SUBJECTS[name], pairs=PAIRS.get(SUBJECTS[name].family, 5), seed=1)
    assert verdict.problems == []
    assert verdict.worst <= 1 + 1e-6
    assert not verdict.refused
    assert verdict.draws


IN_RHO = [name for name in EVERY if name.endswith(catalogue.IN_RHO)]
SLOW_IN_RHO = [f"{name}{catalogue.IN_RHO}" for name in ("table: marginals", "table: partition", "OPT", "DAWA")]


@pytest.mark.parametrize("family", ["operator", "mechanism", "choice", "learner"])
def test_neighbours_are_not_told_apart_in_rho(family):
    for name in IN_RHO:
        if EVERY[name].family == family and "over" not in name and "minus" not in name:
            verdict = replay(EVERY[name], pairs=4 if family == "learner" else 8, seed=1)
            assert verdict.problems == [], name
            assert verdict.draws > verdict.refused == 0, name


@pytest.mark.parametrize("name", SLOW_IN_RHO)
def test_neither_are_neighbours_of_what_takes_longer(name):
    verdict = replay(EVERY[name], pairs=2, seed=1)
    assert (verdict.problems, verdict.refused) == ([], 0)
    assert verdict.draws


def test_gaussian_noise_tells_its_rho_and_no_epsilon():
    moved, square = (np.array([3, 0]), np.array([5, 1])), Fraction(10)
    gaussian, chosen = LAWS["discrete Gaussian"], LAWS["exponential mechanism"]
    assert gaussian.rho(square, *moved, None) == pytest.approx((4 + 1) / 20)
    assert gaussian.loss(square, *moved, None) == math.inf
    assert chosen.rho(Fraction(2), *moved, None) == pytest.approx(0.5**2 / 8)  # moves of 2 and 1 are 1 apart


def test_too_little_gaussian_noise_is_noticed(monkeypatch):
    monkeypatch.setattr(source, "calibrate_square", lambda square, rho: calibrate_square(square, 2 * rho))
    found = replay(EVERY["operator: measure, hierarchy, in ρ"], pairs=8)
    assert any("tells ρ = " in problem for problem in found.problems)


def test_keys_that_are_named_too_easily_are_noticed(monkeypatch):
    monkeypatch.setattr(
        records, "rule_for", lambda price, *public: rule_for(Price.of(4 * price.amount, delta=price.delta), *public)
    )
    for name, law in (("private keys by person", "keys"), ("private keys by noisy counts", "counted keys")):
        found = replay(EVERY[f"table: group_by, {name}"], pairs=16)
        assert any(f"a draw by the law '{law}' tells ε = " in problem for problem in found.problems)


def test_a_bound_on_persons_that_the_query_does_not_keep_is_noticed(monkeypatch):
    monkeypatch.setattr(Unit, "contribution", lambda unit, *, grouped: (1, 1, 1))
    for name in ("histogram", "group_by, private keys"):
        found = replay(EVERY[f"table: {name} by person, bounded in groups"], pairs=24)
        assert any("apart, and was paid with" in problem for problem in found.problems), name


def test_some_private_keys_are_named():
    subject, named = EVERY["table: group_by, private keys"], 0
    for number, case in enumerate(subject.cases(48)):
        answer = subject.run(case, case.data, TapeAccount(Recording(seed=number), case.neighbours))[1]
        named += len(answer.labels["t"])
    assert named


@pytest.mark.parametrize("planted", FAULTS, ids=lambda one: one.kind)
def test_a_planted_fault_is_noticed(planted, monkeypatch):
    monkeypatch.setattr(planted_replay, "_kept", {})
    monkeypatch.setattr(planted_replay, "_most", [0])
    verdict = replay(planted.subject(), pairs=6)
    assert verdict.divergences
    assert re.search(planted.noticed, "\n".join(verdict.problems)), verdict.problems


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_nothing_is_noticed_where_nothing_is_wrong(relation):
    subject = Planted("sound", planted_replay.sound, "", Neighbours(relation)).subject()
    assert replay(subject, pairs=6).problems == []


def test_everything_that_releases_something_is_replayed():
    names = set(SUBJECTS)
    assert set(algorithms.names()) <= {name.split(" (")[0].split(",")[0] for name in names}
    assert {f"learner: {name}" for name in learn.names()} <= names
    # What the others are made of has no estimator, and a regressor is no learner of classes.
    assert set(estimators()) - {"Regression"} == set(learn.names()) - {"BinaryTree"}
    assert any(name.startswith("learner: regression, ") for name in names)
    asked = {name for name, found in vars(Table).items() if callable(found) and name[0] != "_"}
    asked -= UNPAID | {name for name in asked if name.startswith("ask")} | {"labelled"}  # learners on a table
    assert asked <= {name.split(",")[0].split(" ")[0] for name in tables.QUESTIONS}
    for name in tables.QUESTIONS:
        assert {f"table: {name}", f"table: {name} by person"} <= names
    for name in groups.QUESTIONS:
        assert {f"table: {name} by person", f"table: {name} by person, bounded in groups"} <= names
    # What these two release is private as a whole, and not draw by draw: they have entries in the statistical audit.
    together = {"large_margin", "best_of"}
    unpaid = together | {
        "RandomizedResponse",
        "accuracy",
        "check_scores",
        "scale_for_accuracy",
        "simulation",
        "utility",
    }
    assert {f"mechanism: {name}" for name in set(mechanisms.__all__) - unpaid} <= names
    chosen = ("ChoiceMaker", "ChoicePoint", "ByValidation", "Pythia", "accuracy_first", "accurate_enough")
    assert {f"choice: {name}" for name in chosen} <= names


@pytest.mark.parametrize("relation", counts.RELATIONS, ids=str)
def test_neighbours_of_counts_are_neighbours(relation):
    rng = np.random.default_rng(0)
    for kind in range(8):
        x = counts.data(kind, (16,), rng)
        x[0] += 1
        moved = counts.neighbour(x, relation, rng) - x
        less, more = int(-moved[moved < 0].sum()), int(moved[moved > 0].sum())
        assert max(less, more) <= relation.rows
        assert not (relation.relation == "add_remove" and less and more)
        assert not (relation.total_is_public and less != more)


@pytest.mark.parametrize("by_person", [False, True])
def test_neighbours_of_rows_are_neighbours(by_person):
    for case in tables.cases("frame", by_person)(60):
        for other in case.others:
            mine, others = list(case.data.rows), list(other.rows)
            for row in list(mine):
                if row in others:
                    others.remove(row)
                    mine.remove(row)
            if by_person:
                assert len({str(row[0]) for row in (*mine, *others)}) <= 1
            else:
                assert max(len(mine), len(others)) <= 1
            if case.neighbours.relation == "add_remove":
                assert not (mine and others)


def test_domains_of_thousands_of_cells_are_among_the_cases():
    sizes = {case.data.size for case in SUBJECTS["HB"].cases(200)}
    assert max(sizes) == 5_000
    assert min(sizes) == 1
    assert {len(case.others[0].rows) for case in SUBJECTS["table: count"].cases(200)} >= {0, 1}


def test_a_replay_ends_at_the_first_difference():
    tape = Recording(seed=0)
    jostle.release([1, 2], epsilon=1, account=TapeAccount(tape, Neighbours()), algorithm="Laplace")
    again = Replay(tape)
    with pytest.raises(Diverged, match="a charge of ε = 2 .* where the recording has a charge of ε = 1"):
        jostle.release([1, 2], epsilon=2, account=TapeAccount(again, Neighbours()), algorithm="Laplace")


def test_an_account_for_persons_does_not_pay_for_rows():
    account = TapeAccount(Recording(seed=0), Neighbours(rows=3), "who")
    with pytest.raises(BadInput, match="protects each who"):
        account.purse()


# ------------------------------------------------------------------------------------------------------- the command


def test_the_command_reports_in_words_and_in_numbers(command, tmp_path):  # noqa: F811
    found = ("--replay", "--only", "Laplace", "--only", "HB", "--only", "choice: ChoicePoint", "--pairs", 10, "--workers", 1)
    status, printed = command(*found, "--out", tmp_path / "report.json")
    assert status == 0
    assert re.search(r"choice: ChoicePoint +10 ", printed)
    assert "3 subjects, 30 neighbouring pairs, 0 divergences" in printed
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert {verdict["name"] for verdict in report["verdicts"]} == {"Laplace", "HB", "choice: ChoicePoint"}
    numbers = json.loads(command(*found, "--json")[1])
    assert numbers["divergences"] == 0
    assert [verdict["pairs"] for verdict in numbers["verdicts"]] == [10, 10, 10]


def test_a_fault_in_an_option_of_ones_own_ends_with_status_1(command, monkeypatch):  # noqa: F811
    monkeypatch.setattr(catalogue, "_added", {})

    def own(source, workload, budget):
        return source.measure(identity(source.shape), budget) + source._Source__x.max()

    add_option(own)
    status, printed = command("--replay", "--only", "own", "--pairs", 20)
    assert status == 1
    assert "DIVERGENCE own: " in printed
    assert "the answer has other values" in printed


def test_what_is_not_there_is_refused(command):  # noqa: F811
    assert command("--replay", "--only", "no such thing")[0] == 2
    assert command("--replay", "--pairs", 0)[0] == 2


def test_a_case_that_is_refused_is_counted(tmp_path):
    def refused(case, data, account):
        raise BadInput("data", "is refused", "pass other data")

    case = Case(name="any", data=1, others=[2])
    verdict = replay(Subject(name="refused", family="planted", run=refused, cases=lambda pairs: [case]), pairs=1)
    assert (verdict.refused, verdict.divergences) == (1, 0)
