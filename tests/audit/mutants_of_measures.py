"""Planted privacy bugs in measures beyond pure ε: Gaussian noise, its calibration, conversions, and accounts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from numpy.random import default_rng

from jostle.audit.replay import catalogue, replay
from jostle.kernel import budget, measures, noise, records, source
from jostle.kernel.decimals import root_down
from jostle.kernel.functions.scores import QueryScore
from jostle.kernel.ledger import limits
from jostle.kernel.measures import Approximate, largest_rho
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.strategies import Strategy, cells, identity
from jostle.learn import estimator
from jostle.mechanisms import repeated, stability
from jostle.tables import batches
from tests.audit.planted import (
    FOLDER,
    LEDGER,
    Caught,
    Detector,
    Mutant,
    attribute,
    half_scale,
    stated,
    tested,
    wrapped,
)
from tests.kernel import (
    test_budget,
    test_limits,
    test_measures,
    test_neighbours,
    test_noise,
    test_records,
    test_source,
)
from tests.learn import test_estimators
from tests.mechanisms import test_margin, test_repeated, test_stability
from tests.tables import test_batches

costs_no_more = test_budget.test_the_epsilon_of_a_token_of_rho_costs_no_more_than_it.hypothesis.inner_test  # type: ignore[attr-defined]
squared = test_neighbours.test_the_squared_sensitivity_is_what_the_proof_says.hypothesis.inner_test  # type: ignore[attr-defined]
adaptive = test_measures.test_no_adaptive_analyst_gets_more_than_epsilon_and_delta
MOSTLY_KEYS = (
    Approximate(1, "1/5", for_keys="9/50"),
    [test_measures.NOISE, test_measures.leaky_key("21/20", Fraction(9, 50))],
)
MOVING_FAR = next(one for one in test_source.MOVES if one[1] > 1)
proven_variance = test_source.test_under_rho_noise_is_gaussian_of_the_proven_variance


def quarter(original: Any, self: Any, values: Any, square: Any) -> Any:
    return original(self, values, square / 4)


def without_moves_to_other_parts(self: Any, add_remove: int, replace: int) -> Fraction:
    return Fraction((add_remove if self.relation == "add_remove" else max(replace, add_remove)) * self.rows**2)


def twice_as_much(original: Any, self: Any, token: Any, what: str) -> Any:
    paid, whole = original(self, token, what)
    whole._purse.granted *= 2
    whole._amount *= 2
    return paid, whole


def whole_delta_for_both(original: Any, self: Any, cap: Any) -> bool:
    """ρ is converted at all of δ, while keys may have their part of it, too."""
    if not isinstance(cap, Approximate):
        return bool(original(self, cap))
    pure = self.epsilon is not None and self.epsilon <= cap.epsilon
    return (pure or self.rho <= largest_rho(cap.epsilon, cap.delta)) and self.delta <= cap.for_keys


def replayed(name: str) -> Detector:
    """A replay on neighbours."""

    def look(patch: Any, folder: Any) -> None:
        found = replay(catalogue.every()[name], pairs=20)
        if found.divergences:
            raise Caught(found.problems[0])

    return Detector(f"replay of `{name}`", look, look)


def roots_of_rows(original: Any, self: Any, add_remove: int, replace: int) -> Fraction:
    return Fraction(original(self, add_remove, replace)) / self.rows


OF_MEASURES = [
    Mutant(
        "Gaussian noise by the L1 norm",
        attribute(Strategy, "squared_sensitivities", lambda self: self.sensitivities()),
        tested(proven_variance, "weighted hierarchy", Neighbours()),
    ),
    Mutant(
        "σ in place of σ²",
        wrapped(source, "calibrate_square", lambda f, square, rho: Fraction(noise.root_up(f(square, rho)))),
        tested(proven_variance, "identity", Neighbours()),
    ),
    Mutant(
        "ρ in place of 2ρ: too little noise",
        wrapped(source, "calibrate_square", lambda f, square, rho: f(square, 2 * rho)),
        tested(proven_variance, "hierarchy", Neighbours("replace")),
    ),
    Mutant(
        "a person with r rows moves an L2 norm by √r",
        wrapped(Neighbours, "squared_sensitivity", roots_of_rows),
        tested(squared, 1, 2, 3),
    ),
    Mutant(
        "a part of a split has the whole ρ for a record that moves to another",
        attribute(Neighbours, "squared_sensitivity", without_moves_to_other_parts),
        tested(test_neighbours.test_parts_together_lose_no_more_rho_than_their_budget, "replace", 2),
    ),
    Mutant(
        "permute and flip at the price of the exponential mechanism",
        attribute(source.Custody, "maximum", lambda self, scores, scale, token: self.noise.noisy_max(scores, scale)),
        tested(
            test_source.test_under_rho_a_choice_is_the_exponential_mechanisms, QueryScore(identity(8)), 1, 2, Neighbours()
        ),
    ),
    Mutant(
        "a pure mechanism at the price of the exponential mechanism",
        stated(budget.Price, "pure", lambda self: self.exponential),
        tested(costs_no_more, Fraction(1, 50)),
    ),
    Mutant(
        "roots rounded up",
        attribute(budget, "root_down", lambda value: root_down(value) * (1 + Fraction(1, 10**14))),
        tested(costs_no_more, Fraction(1, 3)),
    ),
    Mutant(
        "half the Gaussian noise in the exact engine",
        wrapped(noise.ExactNoise, "discrete_gaussian", quarter),
        tested(test_noise.test_discrete_gaussian_noise_is_that_of_the_formula_in_both_engines, Fraction(20)),
    ),
    Mutant(
        "half the Gaussian noise in the simulated engine",
        wrapped(noise.SimulatedNoise, "discrete_gaussian", quarter),
        tested(test_noise.test_discrete_gaussian_noise_is_that_of_the_formula_in_both_engines, Fraction(20)),
    ),
    Mutant(
        "half the Gumbel noise in the exact engine",
        wrapped(noise.ExactNoise, "gumbel_max", half_scale),
        tested(test_noise.test_the_gumbel_maximum_is_the_exponential_mechanism_in_both_engines, [0, 1], Fraction(2)),
    ),
    Mutant(
        "a gradual release pays for the difference where ρ counts",
        stated(budget.Budget, "by_path", lambda self: True),
        tested(test_limits.test_a_gradual_release_is_paid_at_once_where_rho_counts, LEDGER),
    ),
    Mutant(
        "ρ converted at the whole δ, that for keys included",
        stated(Approximate, "rho", lambda self: largest_rho(self.epsilon, self.delta)),
        tested(test_limits.test_many_small_questions_cost_less_than_their_sum, LEDGER),
    ),
    Mutant(
        "no cap on ρ",
        attribute(limits, "allowed", lambda limit, spending: True),
        tested(test_limits.test_many_small_questions_cost_less_than_their_sum, LEDGER),
    ),
    Mutant(
        "a pure account pays for Gaussian noise, with nothing",
        attribute(limits, "check_payable", lambda limit, cost, name: None),
        tested(test_limits.test_bad_input_is_refused_before_a_charge, LEDGER, "rho in pure"),
    ),
    Mutant(
        "half of ρ in the account's sum",
        wrapped(
            limits, "after", lambda f, limit, spending, cost: f(limit, spending, budget.Cost(cost.epsilon, cost.rho / 2))
        ),
        tested(test_limits.test_other_accounts_are_refused_by_an_older_jostle, LEDGER, FOLDER),
    ),
    Mutant(
        "a residual's columns half as long",
        attribute(cells.Residual, "squared_sensitivities", lambda self: (self._squares[0] // 4, self._squares[1])),
        tested(proven_variance, "residual", Neighbours()),
    ),
    Mutant(
        "replaced records as far apart in a residual as in counts",
        attribute(cells.Residual, "squared_sensitivities", lambda self: (self._squares[0], 2 * self._squares[0])),
        replayed("operator: measure, residual, in ρ"),
    ),
    Mutant(
        "a plan that is paid for at once may spend twice as much",
        wrapped(records.Records, "paid", twice_as_much),
        tested(test_records.test_a_plan_that_is_paid_for_at_once_spends_what_was_charged_and_no_more, Neighbours()),
    ),
    Mutant(
        "a plan that is paid for at once gets a second token",
        attribute(budget.PartPurse, "check", lambda self, cost: None),
        tested(test_records.test_a_plan_that_is_paid_for_at_once_spends_what_was_charged_and_no_more, Neighbours()),
    ),
    Mutant(
        "Gaussian noise with a pure ε of 0",
        attribute(budget.Cost, "gaussian", classmethod(lambda cls, rho: cls(Fraction(0), budget.exact(rho)))),
        tested(test_measures.test_the_rule_ends_one_way_and_not_the_other_way_round),
    ),
    Mutant(
        "ρ = ε²/8 for every pure mechanism",
        attribute(budget.Cost, "pure", classmethod(lambda cls, epsilon: cls.exponential(epsilon))),
        tested(test_measures.test_a_hundred_releases_of_a_tenth),
    ),
    Mutant(
        "the δ of selections of keys not added",
        wrapped(measures.Spending, "after", lambda f, self, cost: replace(f(self, cost), delta=self.delta)),
        tested(adaptive, test_measures.CAP, test_measures.MENU),
    ),
    Mutant(
        "δ spent twice: for keys, and for the conversion of ρ",
        wrapped(measures.Spending, "allowed", whole_delta_for_both),
        tested(adaptive, *MOSTLY_KEYS),
    ),
    Mutant(
        "a statistic's noise by its sensitivity, not by the square",
        wrapped(source.Custody, "added", lambda f, self, moves, squared, token: f(self, moves, moves, token)),
        tested(test_source.test_under_rho_a_statistic_has_gaussian_noise, *MOVING_FAR, Neighbours()),
    ),
    Mutant(
        "a batch pays for pure ε as for the exponential mechanism",
        attribute(batches, "root_down", lambda value: root_down(4 * value)),
        tested(test_batches.test_questions_that_have_no_gaussian_noise_are_paid_for_in_epsilon, FOLDER),
    ),
    Mutant(
        "a batch converts ρ at twice the δ",
        attribute(batches, "largest_rho", lambda epsilon, delta: largest_rho(epsilon, 2 * delta)),
        tested(test_batches.test_one_hundred_and_one_equal_queries_have_the_errors_of_the_closed_forms, FOLDER),
    ),
    Mutant(
        "every question of a batch has the whole price",
        attribute(batches, "_shares", lambda parts: [Fraction(1)] * len(parts)),
        tested(test_batches.test_shares_follow_weights_and_add_up, FOLDER),
    ),
    Mutant(
        "each of several runs has the whole ε",
        attribute(repeated, "_PRICES", {"geometric": 1, "logarithmic": 1}),
        tested(test_repeated.test_a_release_is_charged_once_and_each_run_gets_its_share, "geometric", 3, FOLDER),
    ),
    Mutant(
        "a fixed number of runs",
        attribute(repeated, "numbers_of_runs", lambda law, mean: (*[0] * (round(mean) - 1), 1)),
        tested(test_repeated.test_the_number_of_runs_has_its_law_and_its_mean, "logarithmic"),
    ),
    Mutant(
        "tokens of a run are worth something after its end",
        attribute(budget.RunPurse, "end", lambda self: None),
        tested(test_repeated.test_a_release_is_charged_once_and_each_run_gets_its_share, "geometric", 3, FOLDER),
    ),
    Mutant(
        "a run spends what it likes",
        attribute(budget.RunPurse, "check", lambda self, cost: None),
        tested(test_repeated.test_a_release_is_charged_once_and_each_run_gets_its_share, "geometric", 3, FOLDER),
    ),
    Mutant(
        "a token with a δ pays for noise",
        wrapped(budget, "check_token", lambda f, token, of_keys=False: None),
        tested(test_margin.test_a_release_is_charged_to_the_delta_for_selections, FOLDER),
    ),
    Mutant(
        "stable selection with a δ under generators that everybody knows beforehand",
        attribute(stability, "np", SimpleNamespace(random=SimpleNamespace(default_rng=lambda seed: default_rng(0)))),
        tested(test_stability.test_with_a_delta_the_generators_are_seeded_anew_and_the_noise_is_the_same, FOLDER),
    ),
    Mutant(
        "classifiers pay ρ as if it were ε",
        attribute(estimator, "price_of", lambda epsilon, delta, rho: epsilon if rho is None else rho),
        tested(test_estimators.test_under_rho_the_noise_is_gaussian_and_as_large_as_the_price_says, 0),
    ),
]
