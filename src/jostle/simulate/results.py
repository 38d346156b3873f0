"""Measurements in a folder of Parquet files, with which a later run continues."""

from __future__ import annotations

import os
import re
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from jostle.kernel.errors import BadInput

if TYPE_CHECKING:
    import pyarrow as pa

Key = tuple[str, int, str, str, int, int, str]


@dataclass(frozen=True, kw_only=True)
class MeasuredError:
    """The error of an algorithm on one input."""

    algorithm: str
    version: int
    """The algorithm's; results of an older version are measured again."""

    cell: str
    digest: str
    """Of the input: a changed input of the same name is measured again."""

    trials: int
    seed: int
    neighbours: str
    mean: float
    """The mean of the L2 errors."""

    stderr: float
    """The standard error of that mean."""

    seconds: float
    """Processor time per run."""

    @property
    def key(self) -> Key:
        """Two measurements with the same key are the same."""
        return (self.algorithm, self.version, self.cell, self.digest, self.trials, self.seed, self.neighbours)


_COLUMNS: Final = tuple(field.name for field in fields(MeasuredError))
_PART: Final = re.compile(r"\d{20}-[0-9a-f]{8}\.parquet")
_UNFINISHED: Final = re.compile(r"\.\d{20}-[0-9a-f]{8}\.unfinished")
_DELAY: Final = 2.0
"""Seconds after which a measurement is in a file, at most."""
_STALE: Final = 60.0
"""Seconds after which an unfinished file must come from a process that was killed."""


class Results:
    """A folder of measurements: part files, each first written under another name, and merged into one on closing.

    A process that is killed loses the measurements of its last two seconds, and damages nothing. Several processes may add
    to one folder: none touches a part that it has not read. Without a folder, nothing is stored.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._known: dict[Key, MeasuredError] = {}
        self._waiting: list[MeasuredError] = []
        self._parts: list[Path] = []
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        if folder is not None:
            self._open(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[MeasuredError]:
        return iter(self._known.values())

    def get(self, key: Key) -> MeasuredError | None:
        return self._known.get(key)

    def add(self, measured: MeasuredError) -> None:
        """Store it: within two seconds it is on disk, even if nothing else is added."""
        with self._lock:
            self._known[measured.key] = measured
            if self.folder is None:
                return
            self._waiting.append(measured)
            if self._timer is None:
                self._timer = threading.Timer(_DELAY, self._flush_in_time)
                self._timer.daemon = True
                self._timer.start()

    def close(self) -> None:
        """Write what is waiting, and merge the parts into one."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self.folder is None:
                return
            self._flush(self.folder)
            self._merge(self.folder)

    def remove(self) -> None:
        """Remove all measurements, also from disk; and the folder, unless it holds something else."""
        self.close()
        self._known.clear()
        if self.folder is not None:
            for part in self._parts:
                part.unlink(missing_ok=True)
            self._parts = []
            with suppress(OSError):
                self.folder.rmdir()

    def _flush_in_time(self) -> None:
        with self._lock:
            self._timer = None
            # What cannot be written now keeps waiting; closing raises if it still cannot.
            with suppress(OSError):
                self._flush(self.folder)

    def _flush(self, folder: Path | None) -> None:
        if folder is not None and self._waiting:
            self._parts.append(_write(self._waiting, folder))
            self._waiting = []

    def _merge(self, folder: Path) -> None:
        """Write the merged part before removing the others: in between, measurements exist twice, which does no harm."""
        if len(self._parts) < 2:
            return
        merged = _write(list(self._known.values()), folder)
        for part in self._parts:
            part.unlink(missing_ok=True)  # another process may have merged it, too
        self._parts = [merged]

    def _open(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for part in _parts(folder):
                # A process that removes a part meanwhile has put a merged one in its place.
                with suppress(FileNotFoundError):
                    self._known.update((measured.key, measured) for measured in _read(part))
                    self._parts.append(part)
        except OSError as refused:
            reason = refused.strerror or "it cannot be read"
            raise BadInput("out", f"{folder} cannot be used: {reason}", "name a folder of results, or a new one") from None


def _parts(folder: Path) -> list[Path]:
    """The part files from old to new. Refuses a folder with anything else in it."""
    found = []
    for file in sorted(folder.iterdir()):
        if _PART.fullmatch(file.name):
            found.append(file)
        elif not _UNFINISHED.fullmatch(file.name):
            raise BadInput("out", f"{folder} holds something other than measurements: {file.name}", "name another folder")
        else:
            with suppress(FileNotFoundError):
                if time.time() - file.stat().st_mtime > _STALE:
                    file.unlink()
    return found


def _read(part: Path) -> Iterator[MeasuredError]:
    arrow, parquet = _libraries()
    try:
        with parquet.ParquetFile(part) as file:
            table = file.read()
    except arrow.ArrowInvalid:
        raise BadInput("out", f"{part} is damaged", "remove that file: what it held is measured again") from None
    if table.schema.names != list(_COLUMNS) or table.schema.types != _schema().types:
        raise BadInput("out", f"{part} holds something other than measurements", "name another folder")
    columns = [column.to_pylist() for column in table.columns]
    return (MeasuredError(**dict(zip(_COLUMNS, row, strict=True))) for row in zip(*columns, strict=True))


def _write(measured: Sequence[MeasuredError], folder: Path) -> Path:
    """Write a new part file; it gets its name only when all of it is on disk."""
    arrow, parquet = _libraries()
    table = arrow.table([[getattr(one, name) for one in measured] for name in _COLUMNS], schema=_schema())
    name = f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}"
    unfinished, part = folder / f".{name}.unfinished", folder / f"{name}.parquet"
    with unfinished.open("wb") as out:
        parquet.write_table(table, out, compression="zstd")
        out.flush()
        os.fsync(out.fileno())
    return unfinished.replace(part)


def _schema() -> pa.Schema:
    arrow, _ = _libraries()
    types = {"str": arrow.string(), "int": arrow.int64(), "float": arrow.float64()}
    return arrow.schema([(field.name, types[str(field.type)]) for field in fields(MeasuredError)])


def _libraries() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise BadInput("out", "the package `pyarrow` is not installed", "pip install 'jostle[train]'") from None
    return pyarrow, pyarrow.parquet
