"""Planted privacy bugs in measures beyond pure ε: Gaussian noise, its calibration, conversions, and accounts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from jostle.kernel import budget, noise, source
from jostle.kernel.decimals import root_down
from jostle.kernel.functions.scores import QueryScore
from jostle.kernel.ledger import limits
from jostle.kernel.measures import Approximate, largest_rho
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.strategies import Strategy, identity
from tests.audit.planted import FOLDER, LEDGER, Mutant, attribute, half_scale, stated, tested, wrapped
from tests.kernel import test_budget, test_limits, test_neighbours, test_noise, test_source

costs_no_more = test_budget.test_the_epsilon_of_a_token_of_rho_costs_no_more_than_it.hypothesis.inner_test  # type: ignore[attr-defined]
squared = test_neighbours.test_the_squared_sensitivity_is_what_the_proof_says.hypothesis.inner_test  # type: ignore[attr-defined]
proven_variance = test_source.test_under_rho_noise_is_gaussian_of_the_proven_variance


def quarter(original: Any, self: Any, values: Any, square: Any) -> Any:
    return original(self, values, square / 4)


def without_moves_to_other_parts(self: Any, add_remove: int, replace: int) -> Fraction:
    return Fraction((add_remove if self.relation == "add_remove" else max(replace, add_remove)) * self.rows**2)


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
]
