"""The attack on the last bits of a float, as a feature that events can be made of.

Textbook Laplace noise adds a float to a float. Which last bits the sum can have depends on what was added to: 1 + noise is a
multiple of 2^−53 wherever it is near 0, and 0 + noise is not. So one look at the last bit may tell two inputs apart,
whatever ε is (Mironov: On significance of the least significant bits for differential privacy, CCS 2012).
"""

from __future__ import annotations

import numpy as np

from jostle.kernel.partition import Vector


def lowest_bits(values: Vector) -> Vector:
    """The exponent of the last bit that is set in each number; 0 is given 1,024, which is above all others.

    >>> lowest_bits(np.array([1.0, 6.0, 0.75, 0.0])).tolist()
    [0.0, 1.0, -2.0, 1024.0]
    """
    fractions, exponents = np.frexp(np.asarray(values, dtype=np.float64))
    digits = (np.abs(fractions) * 2.0**53).astype(np.int64)
    lowest = np.log2(np.where(digits > 0, digits & -digits, 1).astype(np.float64))
    return np.where(digits > 0, exponents - 53 + lowest, 1024.0)


def with_lowest_bits(outputs: Vector) -> Vector:
    """Outputs, and beside them where each one's last bit is.

    >>> with_lowest_bits(np.array([[0.5], [3.0]])).tolist()
    [[0.5, -1.0], [3.0, 0.0]]
    """
    return np.concatenate([outputs, lowest_bits(outputs)], axis=1)
