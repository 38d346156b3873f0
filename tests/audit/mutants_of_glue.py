"""Planted privacy bugs outside of kernel and plans, or in what only large domains and exact noise reach.

Each of these once survived all tests.
"""

from __future__ import annotations

import copy
import secrets
from contextlib import nullcontext
from fractions import Fraction
from typing import Any

import numpy as np

from jostle.choice import accuracy_first
from jostle.choice.spend_only import SpendOnlyRecords
from jostle.explorer import access
from jostle.kernel import noise
from jostle.kernel.budget import Budget, Price, Purse, RunPurse
from jostle.kernel.functions import expressions, totals
from jostle.kernel.records import ArrayColumns, Records
from jostle.kernel.strategies import cells
from jostle.learn import estimator
from jostle.learn.estimator import PrivateEstimator
from jostle.mechanisms.local import RandomizedResponse
from jostle.mechanisms.sensitivity import Lattice
from jostle.tables.view import View
from tests.audit import test_distance_of_measurements
from tests.audit.planted import (
    CAPLOG,
    FOLDER,
    LEDGER,
    PATCH,
    REPLACE,
    Fixture,
    Mutant,
    attribute,
    audited,
    tested,
    wrapped,
)
from tests.choice import test_accuracy_first, test_options
from tests.explorer import test_access
from tests.kernel import test_expressions, test_noise, test_strategies
from tests.learn import test_estimators, test_exact_losses, test_saved
from tests.mechanisms import test_local, test_repeated, test_sensitivity


class _Silent:
    """In place of pytest's own fixture, which cannot be had here."""

    def readouterr(self) -> tuple[str, str]:
        return "", ""


CAPFD = Fixture(lambda patch, folder: _Silent())


def with_its_lower_bound(original: Any, of: Any) -> Any:
    found = original(of)
    if of.entries > 1:
        object.__setattr__(found, "low", of.low)
    return found


def diameter_is_norm(original: Any, self: Any) -> int:
    return self.norm if self.size > 128 else original.func(self)


def all_in_the_second_part(original: Any, self: Any, by: str, budget: Any) -> Any:
    parts = original(self, by, budget)
    parts[1][0]._Records__columns = self._Records__columns
    return parts


def nobody_left_out(original: Any, name: str, codes: Any, sizes: Any) -> Any:
    columns = original(name, codes, sizes)
    columns._filtered = False
    return columns


def with_the_rows(original: Any, self: Any, table: Any, *more: Any) -> Any:
    fitted = original(self, table, *more)
    from jostle.tables.columns import EngineColumns

    fitted.rows_ = EngineColumns.of(table._views, list(table.schema)).rows
    return fitted


def scale_as_it_is(self: Any, values: Any, sensitivity: Fraction, epsilon: Fraction) -> Any:
    dp = noise._opendp()
    measurement = dp.make_laplace(*dp.reals, scale=noise.round_up(sensitivity / epsilon))
    return np.array(measurement(np.asarray(values, dtype=np.float64).tolist()))


def never_the_last(original: Any, self: Any, value: Any) -> Any:
    last, own = self._answer(self.size - 1), self._cell(value)
    while (answer := original(self, value)) == last and 0 <= own < self.size - 1:
        pass
    return answer


def checked_before_its_turn(self: Any, epsilon: Any = None, *, rho: Any = None, delta: Any = None) -> Any:
    price = Price.of(epsilon, rho, delta)
    token = Budget(price.amount, self, price.measure, price.delta)
    self.check(token.cost)
    with self.lock:
        self.measure = token.measure
        self.granted += token.amount
    return token


ACCOUNT = Fixture(lambda patch, folder: LEDGER(patch, folder).account("people", cap=10))

OF_GLUE = [
    Mutant(
        "choice: an option may hand records to a rule of its own, which sees them",
        attribute(SpendOnlyRecords, "OFFERED", SpendOnlyRecords.OFFERED | {"judged"}),
        tested(test_options.test_an_option_has_no_way_to_look_at_records_or_to_be_granted_more),
    ),
    Mutant(
        "best of several runs: threads of a run that ask at once are all granted what is left",
        attribute(Purse, "grant", checked_before_its_turn),
        tested(test_repeated.test_threads_of_a_run_get_no_more_than_it_may_spend),
    ),
    Mutant(
        "best of several runs: parts of a run's data go on after it",
        attribute(RunPurse, "part", Purse.part),
        tested(test_repeated.test_a_part_that_a_run_leaves_behind_is_worth_nothing, ACCOUNT),
    ),
    Mutant(
        "best of several runs: a copy of a run's purse grants once more what the run may spend",
        lambda patch: patch.delattr(Purse, "__copy__"),
        tested(test_repeated.test_a_copy_of_a_run_grants_nothing_more, copy.copy),
    ),
    Mutant(
        "a saved model says which account paid for it",
        attribute(estimator, "replace", lambda found, **changed: found),
        tested(test_saved.test_a_file_of_a_release_does_not_say_who_paid, FOLDER),
    ),
    Mutant(
        "expressions: the largest entry grows with every record",
        wrapped(expressions, "largest", with_its_lower_bound),
        tested(test_expressions.test_every_reducer_less_every_other_moves_no_further_than_derived, "cells"),
    ),
    Mutant(
        "matrix: over many cells, a replaced record counts once",
        lambda patch: patch.setattr(
            cells.Matrix, "diameter", property(lambda self, original=cells.Matrix.diameter: diameter_is_norm(original, self))
        ),
        tested(test_strategies.test_a_large_strategy_has_the_norm_and_the_diameter_of_its_columns, 129),
    ),
    Mutant(
        "tables: a row moves a sum by its upper bound at most",
        attribute(totals.Sum, "sensitivities", lambda self, cells: (abs(self.high), 2 * abs(self.high))),
        tested(
            test_distance_of_measurements.test_one_person_moves_what_is_measured_by_no_more_than_its_noise_hides,
            "add_remove",
            0,
            FOLDER,
            PATCH,
        ),
    ),
    Mutant(
        "tables: sums and means by group count all rows of a person",
        wrapped(View, "bounded", lambda f, self, table, *groups: table if groups else f(self, table)),
        tested(
            test_distance_of_measurements.test_one_person_moves_what_is_measured_by_no_more_than_its_noise_hides,
            "add_remove",
            test_distance_of_measurements.MOST_ROWS,
            FOLDER,
            PATCH,
        ),
    ),
    Mutant(
        "learning: a test counts the records that were learned from",
        wrapped(Records, "split", all_in_the_second_part),
        tested(test_exact_losses.test_learning_and_testing_lose_no_more_than_one_budget),
    ),
    Mutant(
        "learning: a fit forgets that some records have no class",
        wrapped(ArrayColumns, "having", nobody_left_out),
        tested(test_estimators.test_a_fit_is_among_filtered_records, 0),
    ),
    Mutant(
        "accuracy first: a replaced record moves one count",
        wrapped(accuracy_first, "GradualRelease", lambda f, *given, **named: f(*given, **(named | {"sensitivity": (1, 1)}))),
        tested(test_accuracy_first.test_the_noise_of_every_step_follows_the_neighbours, REPLACE, 2),
    ),
    Mutant(
        "learning: a model that was fitted on a table keeps the number of its rows",
        wrapped(PrivateEstimator, "_fit_table", with_the_rows),
        tested(test_distance_of_measurements.test_a_model_keeps_nothing_that_is_not_noisy, "PrivateMajority", FOLDER, PATCH),
    ),
    Mutant(
        "whole numbers are remainders of as many bytes",
        attribute(
            noise.ExactNoise,
            "below",
            lambda self, bound: int.from_bytes(secrets.token_bytes(-(-bound.bit_length() // 8)), "big") % bound,
        ),
        tested(test_noise.test_exact_whole_numbers_have_no_bias_whatever_they_are_made_of, 8),
    ),
    Mutant(
        "whole numbers are remainders of 64 bits more or less",
        attribute(
            noise.ExactNoise, "below", lambda self, bound: secrets.randbits(-(-bound.bit_length() // 64) * 64) % bound
        ),
        tested(test_noise.test_exact_whole_numbers_have_no_bias_whatever_they_are_made_of, 64),
    ),
    Mutant(
        "explorer: an exception reaches the server, which logs it",
        attribute(access, "suppress", lambda *kinds: nullcontext()),
        tested(test_access.test_no_exception_reaches_the_server_which_would_log_it, CAPLOG, CAPFD),
    ),
    Mutant(
        "OpenDP's privacy map is not asked",
        attribute(noise.ExactNoise, "laplace", scale_as_it_is),
        tested(test_noise.test_no_noise_is_drawn_before_opendps_map_agrees, PATCH),
    ),
    Mutant(
        "numbers are rounded to the nearest point, halves to the even one",
        attribute(Lattice, "floor", lambda self, values: np.rint(np.asarray(values) * 2.0**-self.exponent)),
        tested(test_sensitivity.test_a_number_moves_no_further_on_the_lattice_than_its_sensitivity),
    ),
    Mutant(
        "randomized response: the last answer is never given",
        wrapped(RandomizedResponse, "respond", never_the_last),
        tested(test_local.test_every_answer_of_every_person_has_the_stated_probability, 3),
    ),
    Mutant(
        "randomized response: the last answer is never given, as an audit sees it",
        wrapped(RandomizedResponse, "respond", never_the_last),
        audited("RandomizedResponse", REPLACE, engine="exact", samples=4_000),
    ),
]
"""The bugs."""
