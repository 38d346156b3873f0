"""What has been measured, kept in a file that a later run goes on with."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from jostle.kernel.errors import BadInput

Key = tuple[str, int, str, str, int, int, str]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The error of an algorithm on one input."""

    algorithm: str
    """Its registered name."""

    version: int
    """Its registered version: results of an older one are measured again."""

    cell: str
    """The input's name."""

    digest: str
    """What the input holds, in short: a changed input of the same name is measured again."""

    trials: int
    """How many runs there were."""

    seed: int
    """What the runs were seeded with."""

    neighbours: str
    """Under which neighbours."""

    mean: float
    """The mean of the L2 errors."""

    stderr: float
    """The standard error of that mean."""

    seconds: float
    """How long a run took."""

    @property
    def key(self) -> Key:
        """What makes two measurements the same."""
        return (self.algorithm, self.version, self.cell, self.digest, self.trials, self.seed, self.neighbours)


_COLUMNS = [field.name for field in fields(Measured)]
_TYPES = {"int": int, "float": float, "str": str}
_READERS = [_TYPES[str(field.type)] for field in fields(Measured)]


class Results:
    """A file of measurements, one line each, appended to as they come in.

    A line that a killed process left unfinished is cut off; everything before it counts. Without a file, nothing is kept.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self._known: dict[Key, Measured] = {}
        self._out: io.TextIOBase | None = None
        if file is not None:
            self._out = self._open(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        if self._out is not None:
            self._out.close()

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Measured]:
        return iter(self._known.values())

    def get(self, key: Key) -> Measured | None:
        """The measurement, if it has been made."""
        return self._known.get(key)

    def add(self, measured: Measured) -> None:
        """Keep it: the line is handed to the operating system before this returns."""
        self._known[measured.key] = measured
        if self._out is not None:
            self._out.write(_line(astuple(measured)))
            self._out.flush()

    def _open(self, file: Path) -> io.TextIOBase:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._read(file)
            out = file.open("a", encoding="utf-8", newline="")
        except (OSError, UnicodeDecodeError) as refused:
            reason = getattr(refused, "strerror", None) or "it is not text"
            raise BadInput("out", f"{file} cannot be used: {reason}", "name a file that can be read and written") from None
        if out.tell() == 0:
            out.write(_line(_COLUMNS))
            out.flush()
        return out

    def _read(self, file: Path) -> None:
        raw = file.read_bytes() if file.exists() else b""
        whole = raw[: raw.rfind(b"\n") + 1]
        lines = csv.reader(io.StringIO(whole.decode("utf-8")))
        header = next(lines, None)
        if header != _COLUMNS and not (header is None and _line(_COLUMNS).encode().startswith(raw)):
            raise BadInput("out", f"{file} holds something else than measurements", "name another file")
        for number, line in enumerate(lines, start=2):
            measured = _measured(line)
            if measured is None:
                raise BadInput("out", f"line {number} of {file} is not a measurement", "name another file")
            self._known[measured.key] = measured
        if raw != whole:
            with file.open("r+b") as damaged:
                damaged.truncate(len(whole))


def _line(values: Any) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(values)
    return buffer.getvalue()


def _measured(line: list[str]) -> Measured | None:
    try:
        values = [read(text) for read, text in zip(_READERS, line, strict=True)]
    except ValueError:
        return None
    return Measured(**dict(zip(_COLUMNS, values, strict=True)))
