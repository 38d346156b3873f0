"""Intervals of counts that select their groups: exact coverage on condition that a group is shown."""

from __future__ import annotations

import numpy as np
import pytest

from jostle.answers.counts_of_shown_groups import NoiseOfRule
from jostle.kernel.key_selection import counted_selection


@pytest.mark.parametrize(("epsilon", "delta", "groups"), [(1, 1e-6, 1), ("1/10", 1e-6, 1), (1, 1e-7, 10), (3, "1/10", 1)])
@pytest.mark.parametrize("missed", [0.05, 0.001])
def test_given_that_a_group_is_shown_its_interval_has_its_count(epsilon, delta, groups, missed):
    """Whatever the number of people is; and where all are shown, nearly no interval is wider than it has to be."""
    rule = counted_selection(epsilon, delta, groups)
    noise, chances = NoiseOfRule.of(rule), np.diff(rule.table.astype(object)) / float(rule.table[-1])
    end = noise.end
    numbers = np.arange(end + 1, 5 * end + 2)
    low, high = noise.ends(numbers, missed)
    assert ((low >= 1) & (low <= numbers) & (numbers <= high)).all()
    for people in range(1, 4 * end + 1):
        shown = numbers[(numbers >= people - end) & (numbers <= people + end)]
        law = chances[shown - people + end]
        places = shown - end - 1
        held = law[(low[places] <= people) & (people <= high[places])].sum() / law.sum()
        assert held >= 1 - missed - 1e-12
    assert high[-1] - numbers[-1] == noise.margin(missed)


def test_ends_are_those_of_all_candidates():
    """Against the definition, candidate by candidate."""
    noise = NoiseOfRule.of(counted_selection("1/2", 1e-4))
    at_least = lambda least: noise.at_least[np.clip(least + noise.end, 0, 2 * noise.end + 1)]  # noqa: E731
    for shown in range(noise.end + 1, 4 * noise.end):
        people = np.arange(1, shown + noise.end + 1)
        seen = at_least(noise.end + 1 - people)
        with np.errstate(invalid="ignore"):
            above, below = at_least(shown - people) / seen, 1 - at_least(shown + 1 - people) / seen
        fits = people[(above >= 0.025) & (below >= 0.025)]
        low, high = (int(one[0]) for one in noise.ends(np.array([shown])))
        assert (low, high) == (min(fits[0], shown), max(fits[-1], shown))


def test_the_variance_is_that_of_the_table():
    rule = counted_selection(1, 1e-2, 3)
    weights = np.diff(rule.table.astype(object)) / float(rule.table[-1])
    noise = NoiseOfRule.of(rule)
    assert noise.variance == pytest.approx((np.arange(-noise.end, noise.end + 1) ** 2 * weights).sum())
