"""Planted privacy bugs in what works on records, expressions, selectors and tables: the second half of the list."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from jostle.choice import pythia
from jostle.choice.measurements import LazyMeasurements
from jostle.kernel import records
from jostle.kernel.arguments import domain_of
from jostle.kernel.budget import Budget
from jostle.kernel.functions import expressions, objective, statistics
from jostle.kernel.functions.criteria import CappedEntropy
from jostle.kernel.neighbours import Neighbours
from jostle.mechanisms import stability
from jostle.mechanisms.sensitivity import Sensitivity
from jostle.tables.view import View
from tests.audit.planted import (
    ADD,
    FOLDER,
    REPLACE,
    Mutant,
    attribute,
    audited,
    charges,
    stated,
    tested,
    without_charge,
    wrapped,
)
from tests.choice import test_expressions
from tests.kernel import test_criteria, test_objective, test_objective_in_rho, test_records
from tests.mechanisms import test_stability
from tests.tables import test_missing, test_table


def capped_at_the_count(original: Any, self: Any, splits: Any, criterion: Any, token: Any, **how: Any) -> Any:
    """The entropy of as many records as there are, which is a private number."""
    count = max(2, self._Records__columns.rows)
    return original(self, splits, CappedEntropy(cap=count), token, **how)


def one_less(original: Any, of: Any) -> Any:
    term = original(of)
    for name, less in (("low", -1), ("high", 1), ("span", 1)):
        object.__setattr__(term, name, getattr(term, name) - less)
    return term


def cells_from_the_first_axis_on(size: Any) -> Any:
    labels = np.arange(*domain_of(size))
    return expressions.Term(expressions._SEAL, lambda x: x, labels=labels, unit=1, moves=(1, 1, 0))


def kept_share(original: Any, self: Any, feature: Any) -> Any:
    before = self.rest.epsilon
    seen = original(self, feature)
    self.rest = Budget(before, self.rest._purse)
    return seen


def unused_share_again(original: Any, measured: Any, x: Any, workload: Any) -> Any:
    measured.rest = Budget(measured.rest.epsilon + measured._share, measured.rest._purse)
    return original(measured, x, workload)


OF_RECORDS = [
    # ---------------------------------------------------------------------------------------------- records
    Mutant(
        "choices among splits: the factor 2 of `replace` forgotten",
        wrapped(records, "calibrate", lambda f, moves, epsilon: f(moves / 2, epsilon)),
        audited("records: choose_each, Majority", REPLACE, samples=2_000),
    ),
    Mutant(
        "entropy: sensitivity from the true count",
        wrapped(records.Records, "choose_each", capped_at_the_count),
        tested(test_records.test_noise_is_span_times_neighbours_over_epsilon, Neighbours(), CappedEntropy(cap=64)),
    ),
    Mutant(
        "entropy: the line beyond the cap as steep as one bit",
        stated(CappedEntropy, "gain", lambda self: 2**20),
        tested(test_criteria.test_capped_entropys_slopes_never_decrease_and_end_at_the_span, 64),
    ),
    Mutant(
        "the number of filtered records is told",
        stated(Neighbours, "total_is_public", lambda self: self.relation == "replace" and self.rows == 1 and not self.part),
        audited("records: filtered", REPLACE, samples=1_500),
    ),
    Mutant(
        "objective perturbation without the Jacobian",
        wrapped(objective._NewtonSearch, "__init__", lambda f, self, *asked: f(self, *asked[:-1], 64.0)),
        tested(test_objective.test_the_density_of_the_minimiser_changes_by_no_more_than_epsilon, np.eye(2), "1/2", 1.0),
    ),
    Mutant(
        "objective perturbation with half the noise",
        wrapped(objective, "calibration", lambda f, *asked: replace(f(*asked), pull=f(*asked).pull / 2)),
        tested(test_objective.test_the_operator_draws_that_noise_and_no_other, 2),
    ),
    Mutant(
        "objective perturbation: where the search ended is not hidden",
        wrapped(objective, "calibration", lambda f, *asked: replace(f(*asked), hide=Fraction(0))),
        tested(test_objective.test_the_operator_draws_that_noise_and_no_other, 3),
    ),
    Mutant(
        "objective perturbation: rounding is left out of the certificate",
        attribute(objective._NewtonSearch, "_rounding", lambda self, here, pulls, unit=0.0: 0.0),
        tested(test_objective.test_the_certificate_counts_what_rounding_adds),
    ),
    Mutant(
        "objective perturbation: what scores lose to rounding is left out of the certificate",
        wrapped(objective._NewtonSearch, "_rounding", lambda f, self, here, *more: f(self, np.zeros_like(here), *more)),
        tested(test_objective.test_the_certificate_holds_where_features_cancel_out, 1),
    ),
    Mutant(
        "objective perturbation in ρ: σ for σ²",
        wrapped(objective, "gaussian_calibration", lambda f, *asked: replace(f(*asked), square=f(*asked).square / 4)),
        tested(test_objective_in_rho.test_gaussian_noise_is_what_the_lemma_says, "1/50", 4.0),
    ),
    Mutant(
        "objective perturbation in ρ: what bends the loss is not paid for",
        wrapped(objective, "gaussian_calibration", lambda f, *asked: replace(f(*asked), bend=64.0)),
        tested(test_objective_in_rho.test_gaussian_noise_is_what_the_lemma_says, "1/50", 4.0),
    ),
    Mutant(
        "objective perturbation in ρ: where the search ended is not hidden",
        wrapped(objective, "gaussian_calibration", lambda f, *asked: replace(f(*asked), hide=Fraction(0))),
        tested(test_objective_in_rho.test_gaussian_noise_is_what_the_lemma_says, "1/50", 4.0),
    ),
    Mutant(
        "objective perturbation in ρ: the lemma is used for people with several rows",
        attribute(objective, "is_gaussian", lambda classes, neighbours, price: price.measure == "concentrated"),
        tested(
            test_objective_in_rho.test_what_the_lemma_does_not_cover_is_paid_for_in_epsilon,
            2,
            Neighbours("add_remove", rows=3),
        ),
    ),
    # ------------------------------------------------------------------------------------------ expressions
    Mutant(
        "expressions: a bound off by one",
        wrapped(expressions, "variation", one_less),
        audited("statistic: Derived, variation", ADD, epsilon="2"),
    ),
    Mutant(
        "expressions: two entries of a group cannot move apart",
        stated(expressions.Term, "span", lambda self: 0),
        audited("statistic: Derived, weighted sum", REPLACE),
    ),
    Mutant(
        "expressions: a grid's cells have the labels of others",
        attribute(expressions, "cells", cells_from_the_first_axis_on),
        tested(test_expressions.test_cells_of_a_grid_are_labelled_from_0_on),
    ),
    Mutant(
        "expressions: a bound can be overwritten",
        attribute(expressions.Term, "__setattr__", object.__setattr__),
        tested(test_expressions.test_nothing_of_a_term_can_be_changed, "high"),
    ),
    Mutant(
        "expressions: what is measured can be given other bounds",
        attribute(statistics.Derived, "__setattr__", object.__setattr__),
        tested(test_expressions.test_nothing_of_an_expression_can_be_changed, "sensitivities"),
    ),
    Mutant(
        "expressions: a constant can be overwritten in place",
        attribute(expressions, "fixed", lambda array: array),
        tested(test_expressions.test_no_array_of_a_term_can_be_changed),
    ),
    # -------------------------------------------------------------------------------------------- selectors
    Mutant("Pythia: a feature is measured but not charged", without_charge("statistic"), charges("Pythia")),
    Mutant(
        "Pythia: a feature's share goes to the option, too", wrapped(LazyMeasurements, "_ask", kept_share), charges("Pythia")
    ),
    Mutant("Pythia: an unused share is returned twice", wrapped(pythia, "_bound", unused_share_again), charges("Pythia")),
    # ------------------------------------------------------------------------------------- the rest
    Mutant(
        "stable selection: training forgotten",
        attribute(stability, "_together", lambda pair: Sensitivity.of(pair[1])),
        tested(test_stability.test_the_noise_is_for_the_less_stable_of_the_two, (2, 1), (2, 4), Neighbours()),
    ),
    Mutant(
        "tables: a person's further rows are kept",
        attribute(View, "bounded", lambda self, table: table),
        tested(test_table.test_a_persons_rows_are_drawn_anew_and_bounded_over_all_parts, FOLDER),
    ),
    Mutant(
        "tables: all whom a table does not know are one person",
        stated(View, "says_nobody", lambda self: []),
        tested(test_missing.test_nobody_in_a_frame, FOLDER),
    ),
]
"""The bugs."""
