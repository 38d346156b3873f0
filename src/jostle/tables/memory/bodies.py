"""What is remembered, as bytes: a header in JSON, and numbers as differences of few bytes each."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.noise import gaussian_variance
from jostle.kernel.partition import Counts, Vector
from jostle.linear.laws import NoiseLaw
from jostle.tables.memory.frames import Frame

FORM: Final = 1
"""The form of what is written here. What has another form, from a later jostle, is ignored."""


class UnknownForm(ValueError):
    """Something remembered that this jostle cannot read."""


@dataclass(frozen=True)
class Remembered:
    """An unbiased measurement: noisy numbers over the cells of a frame, each with independent noise of one known law."""

    rows: str
    """Which rows: the table, its version, the unit and the neighbours, by a digest."""

    frame: Frame
    numbers: Counts
    """Exactly as they were released, in units."""

    unit: int
    """What one row counts as."""

    noise: str
    """"laplace" or "gaussian"."""

    amount: Fraction
    """The scale of Laplace noise, or σ² of Gaussian noise, in units."""

    draw: str = ""
    """Where a person's rows were drawn: which draw. Numbers of different draws are not about the same rows."""

    what: str = ""
    """The question in words."""

    price: str = ""
    """What was paid."""

    @property
    def law(self) -> NoiseLaw:
        """Of the noise, in rows."""
        if self.unit != 1:
            scale = float(self.amount) / (self.unit if self.noise == "laplace" else self.unit**2)
            if self.noise == "laplace":
                return NoiseLaw(2 * scale**2, 12 * scale**4, 240 * scale**6)  # in steps that do not matter
            return NoiseLaw.gaussian(scale)
        if self.noise == "laplace":
            return NoiseLaw.discrete_laplace(self.amount)
        return NoiseLaw.gaussian(gaussian_variance(self.amount))

    @property
    def values(self) -> Vector:
        """The numbers, in rows."""
        return self.numbers / self.unit

    def to_bytes(self) -> bytes:
        said = {"rows": self.rows, "size": self.frame.size, "unit": self.unit, "noise": self.noise}
        said |= {"amount": str(self.amount), "draw": self.draw, "what": self.what, "price": self.price}
        arrays = {"numbers": self.numbers} | {f"offsets {root}": one for root, one in self.frame.offsets.items()}
        return packed(said, arrays)

    @classmethod
    def of_bytes(cls, body: bytes) -> Remembered:
        said, arrays = unpacked(body)
        begins = "offsets "
        offsets = {name.removeprefix(begins): one for name, one in arrays.items() if name.startswith(begins)}
        known = {name: said[name] for name in ("rows", "unit", "noise", "draw", "what", "price")}
        frame = Frame(offsets, said["size"])
        return cls(frame=frame, numbers=arrays["numbers"], amount=Fraction(said["amount"]), **known)


def packed(said: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """A header and some arrays of whole numbers or floats.

    >>> said, arrays = unpacked(packed({"what": "ages"}, {"numbers": np.array([3, -1, 70000])}))
    >>> said["what"], arrays["numbers"].tolist()
    ('ages', [3, -1, 70000])
    """
    parts, listed = [], []
    for name, array in arrays.items():
        whole = array.dtype.kind in "iu"
        part = _varints(array.astype(np.int64)) if whole else np.ascontiguousarray(array, dtype="<f8").tobytes()
        listed.append([name, "whole" if whole else "float", array.size, len(part)])
        parts.append(part)
    header = json.dumps({**said, "arrays": listed}, ensure_ascii=False, separators=(",", ":")).encode()
    return bytes([FORM]) + zlib.compress(struct.pack("<I", len(header)) + header + b"".join(parts), 9)


def unpacked(body: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays. Raises UnknownForm if it cannot be read."""
    if not body or body[0] != FORM:
        raise UnknownForm
    try:
        text = zlib.decompress(body[1:])
        (length,) = struct.unpack_from("<I", text)
        said, at, arrays = json.loads(text[4 : 4 + length]), 4 + length, {}
        for name, kind, size, bytes_ in said.pop("arrays"):
            part, at = text[at : at + bytes_], at + bytes_
            arrays[name] = _whole(part, size) if kind == "whole" else np.frombuffer(part, dtype="<f8").astype(np.float64)
            if arrays[name].size != size:
                raise ValueError
    except (zlib.error, struct.error, ValueError, KeyError, TypeError):
        raise UnknownForm from None
    return said, arrays


def _varints(values: Counts) -> bytes:
    """Differences between neighbours if these are smaller, in bytes of seven bits each, the lowest first."""
    differences = np.diff(values, prepend=0)
    by_difference = bool(np.abs(differences).sum(dtype=np.float64) < np.abs(values).sum(dtype=np.float64))
    chosen = differences if by_difference else values
    folded = ((chosen << 1) ^ (chosen >> 63)).view(np.uint64)
    groups = np.stack([(folded >> np.uint64(7 * place)) & np.uint64(127) for place in range(10)], axis=1).astype(np.uint8)
    length = np.maximum(10 - (groups[:, ::-1] != 0).argmax(axis=1), 1)
    length = np.where((groups != 0).any(axis=1), length, 1)
    place = np.arange(10)
    groups |= np.where(place < (length - 1)[:, np.newaxis], 128, 0).astype(np.uint8)
    return bytes([by_difference]) + groups[place < length[:, np.newaxis]].tobytes()


def _whole(part: bytes, size: int) -> Counts:
    octets = np.frombuffer(part[1:], dtype=np.uint8)
    last = np.flatnonzero(octets < 128)
    if last.size != size or (size and last[-1] != octets.size - 1) or (not size and octets.size):
        raise ValueError
    first = np.concatenate([[0], last[:-1] + 1]) if size else last
    owner = np.repeat(np.arange(size), last - first + 1)
    shift = (np.arange(octets.size) - first[owner]) * 7 if size else octets
    folded = np.zeros(size, dtype=np.uint64)
    np.bitwise_or.at(folded, owner, (octets & 127).astype(np.uint64) << shift.astype(np.uint64))
    values = (folded >> np.uint64(1)).view(np.int64) ^ -(folded & np.uint64(1)).view(np.int64)
    return np.cumsum(values) if part[0] else values
