"""Cuts of a line of cells into intervals: their costs, the cheapest one, and one drawn by the exponential mechanism.

The cost of an interval is how far its counts are from being equal, plus a public price. Deviation is taken from the
*median*: one record more or less moves it by at most 1, where deviation from the mean, which DAWA's authors use, moves by
up to 2 − 2/length. Intervals have power-of-two lengths and begin anywhere, as in DAWA (Li, Hay, Miklau, Wang: A data- and
workload-aware algorithm for range queries under differential privacy, PVLDB 7(5), 2014, Section 3).

Proof, and what is wrong with the partition as it was published: docs/proofs/partition.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from jostle.kernel.compiled import compiled
from jostle.kernel.partition import Counts

LN2 = Fraction(6931471805599453095, 10**19)
"""The natural logarithm of 2, rounded up."""

NUMERATOR = 2**11
"""Rates of the exponential mechanism are so much over a whole number; costs are below 2^51, and so much times that fits."""

ROUNDING = 2**40
"""This fraction of ε (one part in 2⁴⁰), for each cell, is kept back for the rounding errors of the exponential mechanism."""


def deviations(x: Counts) -> Counts:
    """Row k: the sum of distances from the median in the 2^k cells that begin at each cell; private numbers.

    >>> deviations(np.array([1, 5, 5, 2]))[:, :2].tolist()
    [[0, 0], [4, 0], [7, -1]]
    """
    return np.asarray(_deviations(np.ascontiguousarray(x, dtype=np.int64)))


def lengths(size: int) -> Counts:
    """The lengths of intervals that are considered: 1, 2, 4, … up to the whole domain."""
    return 2 ** np.arange(size.bit_length(), dtype=np.int64)


def cheapest_cut(costs: Counts) -> tuple[int, Counts]:
    """The least total cost of a partition into the given intervals, and where its intervals begin.

    >>> cost, starts = cheapest_cut(deviations(np.array([1, 1, 5, 5])) + 3)
    >>> cost, starts.tolist()
    (6, [0, 2])
    """
    best, last = _cheapest(costs)
    starts = []
    end = costs.shape[1]
    while end > 0:
        end -= 1 << int(last[end])
        starts.append(end)
    return int(best[-1]), np.array(starts[::-1], dtype=np.int64)


def drawn_cut(costs: Counts, rate: tuple[int, int], words: Callable[[int], Counts]) -> Counts:
    """Where the intervals of a cut begin that is drawn with probability in proportion to 2^(−cost · rate).

    `rate` is a numerator of at most 2^11 and a denominator; `words` gives whole numbers from 0 to 2^53 − 1, each as likely.

    >>> drawn_cut(np.array([[0, 0], [10**9, -1]]), (1, 1), lambda size: np.arange(size)).tolist()
    [0, 1]
    """
    size = costs.shape[1]
    sums = _sums(costs, *rate)
    starts = np.zeros(size, dtype=np.bool_)
    state = np.array([size, -1, -1], dtype=np.int64)
    while state[0] > 0:
        _draw(costs, *rate, *sums, words(2 * size + 64), starts, state)
    return np.flatnonzero(starts)


@compiled
def _deviations(x: np.ndarray) -> np.ndarray:
    """For each length, blocks of it are sorted by merging halves, and a window slides from each block into the next."""
    n = x.size
    levels = 0
    while (1 << levels) <= n:
        levels += 1
    out = np.full((levels, n), -1, dtype=np.int64)
    out[0] = 0
    order, spare = np.arange(n), np.arange(n)
    rank, after, before = np.empty(n + 2, np.int64), np.empty(n + 2, np.int64), np.empty(n + 2, np.int64)
    for level in range(1, levels):
        length = 1 << level
        for begin in range(0, n, length):
            _merge(x, order, spare, begin, min(begin + length // 2, n), min(begin + length, n))
        order, spare = spare, order
        _slide(x, order, rank, after, before, length, out[level])
    return out


@compiled
def _merge(x: np.ndarray, order: np.ndarray, merged: np.ndarray, begin: int, middle: int, end: int) -> None:
    left, right = begin, middle
    for at in range(begin, end):
        if left < middle and (right >= end or x[order[left]] <= x[order[right]]):
            merged[at] = order[left]
            left += 1
        else:
            merged[at] = order[right]
            right += 1


@compiled
def _link(
    order: np.ndarray, rank: np.ndarray, after: np.ndarray, before: np.ndarray, begin: int, end: int, tail: int
) -> None:
    """Chain the cells of a block in the order of their counts, from its tail round to its tail."""
    last = tail
    for at in range(begin, end):
        cell = order[at]
        rank[cell], before[cell], after[last] = at - begin, last, cell
        last = cell
    rank[tail], before[tail], after[last] = end - begin, last, tail


@compiled
def _slide(
    x: np.ndarray, order: np.ndarray, rank: np.ndarray, after: np.ndarray, before: np.ndarray, length: int, out: np.ndarray
) -> None:
    """The deviation of every window: the sum of its larger half minus that of its smaller half.

    A window has the last cells of one block and the first of the next. Each block is a chain from which cells are taken out,
    and to which they come back in the opposite order, in a few steps each; its pivot is its first cell that is not in the
    smaller half (Suomela: Median filtering is equivalent to sorting, 2014).
    """
    n, half = x.size, length // 2
    old_tail, new_tail = n, n + 1
    _link(order, rank, after, before, 0, length, old_tail)
    whole, smaller = 0, 0
    for at in range(length):
        whole += x[order[at]]
        smaller += x[order[at]] if at < half else 0
    old_pivot, old_count = order[half], half
    out[0] = whole - 2 * smaller
    for begin in range(length, n, length):
        end = min(begin + length, n)
        _link(order, rank, after, before, begin, end, new_tail)
        for cell in range(end - 1, begin - 1, -1):
            after[before[cell]], before[after[cell]] = after[cell], before[cell]
        new_pivot, new_count = new_tail, 0
        for new in range(begin, end):
            old = new - length
            whole += x[new] - x[old]
            after[before[old]], before[after[old]] = after[old], before[old]
            if rank[old] < rank[old_pivot]:
                old_count -= 1
                smaller -= x[old]
            else:
                if old == old_pivot:
                    old_pivot = after[old]
                if old_count > 0:
                    old_pivot = before[old_pivot]
                    old_count -= 1
                    smaller -= x[old_pivot]
            after[before[new]], before[after[new]] = new, new
            if rank[new] < rank[new_pivot]:
                new_pivot = before[new_pivot]
                smaller += x[new] - x[new_pivot]
            while old_count + new_count < half:
                if new_pivot == new_tail or (old_pivot != old_tail and x[old_pivot] <= x[new_pivot]):
                    smaller += x[old_pivot]
                    old_pivot = after[old_pivot]
                    old_count += 1
                else:
                    smaller += x[new_pivot]
                    new_pivot = after[new_pivot]
                    new_count += 1
            out[new - length + 1] = whole - 2 * smaller
        old_tail, new_tail = new_tail, old_tail
        old_pivot, old_count = new_pivot, new_count


@compiled
def _cheapest(costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    levels, n = costs.shape
    best = np.zeros(n + 1, dtype=np.int64)
    last = np.zeros(n + 1, dtype=np.int64)
    for end in range(1, n + 1):
        best[end] = best[end - 1] + costs[0, end - 1]
        for level in range(1, levels):
            start = end - (1 << level)
            if start < 0:
                break
            price = best[start] + costs[level, start]
            if price < best[end]:
                best[end] = price
                last[end] = level
    return best, last


@compiled
def _term(
    costs: np.ndarray, numerator: int, denominator: int, fractions: np.ndarray, exponents: np.ndarray, level: int, start: int
) -> tuple[float, int]:
    """The sum over all cuts before an interval, times its weight 2^(−cost · rate): a fraction of ½ to 1 and an exponent.

    Costs are divided in whole numbers, so that the weight is as exact for a large cost as for a small one.
    """
    cost = costs[level, start] * numerator
    whole = cost // denominator
    fraction, shift = math.frexp(fractions[start] * 2.0 ** (-(cost - whole * denominator) / denominator))
    return fraction, exponents[start] - whole + shift


@compiled
def _plus(fraction: float, exponent: int, other: float, its_exponent: int) -> tuple[float, int]:
    """The sum of two positive numbers, each a fraction of ½ to 1 and an exponent, or 0."""
    if other == 0.0 or (fraction > 0.0 and its_exponent < exponent - 64):
        return fraction, exponent
    if fraction == 0.0 or its_exponent > exponent + 64:
        return other, its_exponent
    top = max(exponent, its_exponent)
    total = math.ldexp(fraction, int(exponent - top)) + math.ldexp(other, int(its_exponent - top))
    return (total / 2, top + 1) if total >= 1.0 else (total, top)


@compiled
def _sums(costs: np.ndarray, numerator: int, denominator: int) -> tuple[np.ndarray, np.ndarray]:
    """For each cell, the sum of the weights of all cuts of the cells before it."""
    levels, n = costs.shape
    fractions, exponents = np.zeros(n + 1), np.zeros(n + 1, dtype=np.int64)
    fractions[0], exponents[0] = 0.5, 1
    for end in range(1, n + 1):
        for level in range(levels):
            start = end - (1 << level)
            if start < 0:
                break
            term = _term(costs, numerator, denominator, fractions, exponents, level, start)
            fractions[end], exponents[end] = _plus(fractions[end], exponents[end], *term)
    return fractions, exponents


@compiled
def _draw(
    costs: np.ndarray,
    numerator: int,
    denominator: int,
    fractions: np.ndarray,
    exponents: np.ndarray,
    words: np.ndarray,
    starts: np.ndarray,
    state: np.ndarray,
) -> None:
    """Draw intervals from the right until the line is cut or the random words are used up; `state` is where to go on.

    To find the last interval, ask from the longest one on: is it this one, or a shorter one?
    """
    levels = costs.shape[0]
    terms, sums = np.zeros(levels), np.zeros(levels)
    term_exponents, sum_exponents = np.zeros(levels, dtype=np.int64), np.zeros(levels, dtype=np.int64)
    used = 0
    while state[0] > 0:
        end = state[0]
        top = 0
        while top < levels and (1 << top) <= end:
            term = _term(costs, numerator, denominator, fractions, exponents, top, end - (1 << top))
            terms[top], term_exponents[top] = term
            shorter = max(top - 1, 0)
            before = (sums[shorter], sum_exponents[shorter]) if top > 0 else (0.0, 0)
            sums[top], sum_exponents[top] = _plus(*before, *term)
            top += 1
        level = state[1] if state[1] >= 0 else top - 1
        while level > 0:
            state[1] = level
            rare = (term_exponents[level], terms[level]) <= (sum_exponents[level - 1], sums[level - 1])
            small, small_exponent = terms[level], term_exponents[level]
            if not rare:
                small, small_exponent = sums[level - 1], sum_exponents[level - 1]
            chance, shift = math.frexp(small / sums[level])
            if state[2] < 0:
                state[2] = max(sum_exponents[level] - small_exponent - shift, 0)
            used, hit = _happens(chance, words, used, state)
            if hit < 0:
                return
            if (hit == 1) == rare:
                break
            level -= 1
        state[0] = end - (1 << level)
        state[1] = -1
        starts[state[0]] = True


@compiled
def _happens(chance: float, words: np.ndarray, used: int, state: np.ndarray) -> tuple[int, int]:
    """Whether something of probability chance · 2^(−bits) happens, exactly: 1 or 0, or −1 if it takes more words to tell."""
    while state[2] > 0:
        if used == words.size:
            return used, -1
        bits = min(state[2], 53)
        if words[used] >> (53 - bits) != 0:
            state[2] = -1
            return used + 1, 0
        state[2] -= bits
        used += 1
    if used == words.size:
        return used, -1
    state[2] = -1
    return used + 1, 1 if words[used] < chance * 2.0**53 else 0
