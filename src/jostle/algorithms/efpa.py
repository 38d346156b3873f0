"""EFPA: low frequencies, as many as the data call for (Ács, Castelluccia, Chen 2012)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from jostle.algorithms._parameter_rules import SHARE
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import Strategy, identity, matrix, total
from jostle.workloads import Workload

LARGEST = 2**20
"""No more entries than this in the matrix of the frequencies that are measured."""


@algorithm(name="EFPA", tasks=("range-1d",), cite="acs2012differentially", data_dependent=True, takes={"to_cells": SHARE})
def efpa(x: Source, workload: Workload, budget: Budget, *, to_cells: float = 0.7) -> Vector:
    """Noisy cells tell how many low frequencies matter, and those are measured once more (Section IV-A, repaired).

    The paper chooses the number k of coefficients by a score whose sensitivity is √n times what it says, and adds noise to
    the size of each coefficient, while its phase is released as it is. Here k follows from noisy cells, of which the
    coefficients are post-processing, and both parts of each of the k coefficients get noise. The estimate averages both
    measurements by precision; higher frequencies are shrunk octave by octave, down to nothing where noise explains them. The
    paper's halves became 0.7 and 0.3 on public histograms, DPBench's.

    Privacy: one Laplace measurement of the cells (`to_cells` of the budget), then one of the real and imaginary parts of the
    first k coefficients, where k depends only on the first. The rest is post-processing. Faults of the original:
    docs/proofs/efpa.md.
    """
    first, second = budget.split(to_cells, 1 - to_cells)
    noise = max(x.noise_variance(identity(x.shape), first), 1e-9)
    spectrum = np.fft.rfft(x.measure(identity(x.shape), first)) * _scales(x.size)
    k = _worth_measuring(spectrum, x.size, noise, x.noise_variance(identity(x.shape), second))
    measured = frequencies(x.size, k)
    # Weights are kept to the strategy's unit; next to very large counts that is more than noise.
    rounded = float((np.abs(spectrum) ** 2).sum()) / 12 / measured.unit**2 if measured.unit > 1 else 0.0
    low, doubt = x.measure(measured, second), (x.noise_variance(measured, second) + rounded) * _scales(x.size)[:k] ** 2
    spectrum[:k] += (_coefficients(low) * _scales(x.size)[:k] - spectrum[:k]) * noise / (noise + doubt)
    squares, freedom = np.abs(spectrum) ** 2, x.size * _scales(x.size) ** 2
    for begin, end in _octaves(k, spectrum.size):
        energy = float(squares[begin:end].sum())
        spectrum[begin:end] *= max(1 - noise * float(freedom[begin:end].sum()) / max(energy, 1e-300), 0.0)
    return np.fft.irfft(spectrum / _scales(x.size), x.size)


@lru_cache(maxsize=16)
def frequencies(n: int, k: int) -> Strategy:
    """The real and imaginary parts of the first k Fourier coefficients, up to the sign.

    >>> np.round(frequencies(4, 2).dense(), 3).tolist()
    [[1.0, 1.0, 1.0, 1.0], [1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, -1.0]]
    """
    if k == 1:
        return total(n)
    angles = 2 * np.pi / n * (np.outer(np.arange(1, k), np.arange(n)) % n)
    waves = np.stack([np.cos(angles), np.sin(angles)], axis=1).reshape(-1, n)
    return matrix(np.vstack([np.ones((1, n)), waves]))


def _coefficients(parts: Vector) -> Any:
    return np.concatenate([parts[:1], parts[1::2] - 1j * parts[2::2]])


@lru_cache(maxsize=16)
def _scales(n: int) -> Vector:
    """What makes the transform orthonormal: all but the first and, for even n, the last coefficient stand for two."""
    scales = np.full(n // 2 + 1, np.sqrt(2 / n))
    scales[0] = scales[n // 2 if n % 2 == 0 else 0] = np.sqrt(1 / n)
    return scales


@lru_cache(maxsize=16)
def _norms(n: int) -> Vector:
    """What one record adds up to in the first 1, 2, … coefficients, about: the norms of `frequencies`."""
    most = max(1, min((n + 1) // 2, (LARGEST // n + 1) // 2))
    cells = np.arange(n)
    sums, norms = np.ones(n), [1.0]
    for j in range(1, most):
        angles = 2 * np.pi / n * (j * cells % n)
        sums += np.abs(np.cos(angles)) + np.abs(np.sin(angles))
        norms.append(float(sums.max()))
    return np.array(norms)


def _worth_measuring(spectrum: Any, n: int, noise: float, again: float) -> int:
    """The number of coefficients whose measurement makes the expected squared error least."""
    norms = _norms(n)
    energy = np.concatenate([[0.0], np.cumsum(np.abs(spectrum) ** 2)]).tolist()
    expected = np.concatenate([[0.0], np.cumsum(n * _scales(n) ** 2 * noise)]).tolist()
    candidates = _geometric(norms.size)
    risks = []
    for k in candidates:
        alone, paired = (again * norms[k - 1] ** 2 * weight / n for weight in (1, 2))
        risk = noise * alone / (noise + alone) + 2 * (k - 1) * noise * paired / (noise + paired)
        for begin, end in _octaves(k, spectrum.size):
            of_noise = expected[end] - expected[begin]
            signal = max(energy[end] - energy[begin] - of_noise, 0.0)
            risk += signal * of_noise / (signal + of_noise)
        risks.append(risk)
    return candidates[int(np.argmin(risks))]


def _geometric(most: int) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, … up to the most."""
    return [k for j in range(most.bit_length()) for k in sorted({2**j, 3 * 2**j // 2}) if k <= most]


def _octaves(first: int, end: int) -> list[tuple[int, int]]:
    """From `first` on, intervals that double in length."""
    begins = [first * 2**j for j in range((end // first).bit_length()) if first * 2**j < end]
    return [(begin, min(2 * begin, end)) for begin in begins]
