"""What has been measured, kept in a folder of Parquet files that a later run goes on with."""

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
    """Its registered version: results of an older one are measured again."""

    cell: str
    digest: str
    """What the input holds, in short: a changed input of the same name is measured again."""

    trials: int
    seed: int
    neighbours: str
    mean: float
    """The mean of the L2 errors."""

    stderr: float
    """The standard error of that mean."""

    seconds: float
    """How much processor time a run took."""

    @property
    def key(self) -> Key:
        """What makes two measurements the same."""
        return (self.algorithm, self.version, self.cell, self.digest, self.trials, self.seed, self.neighbours)


_COLUMNS: Final = tuple(field.name for field in fields(MeasuredError))
_PART: Final = re.compile(r"\d{20}-[0-9a-f]{8}\.parquet")
_UNFINISHED: Final = re.compile(r"\.\d{20}-[0-9a-f]{8}\.unfinished")
_DELAY: Final = 2.0
"""A measurement is in a file after so many seconds at most."""
_STALE: Final = 60.0
"""A file that has been unfinished for so many seconds was left by a process that was killed."""


class Results:
    """A folder of measurements: part files, each written whole under another name first, and merged into one on closing.

    A process that is killed loses what it measured in the last two seconds, and spoils nothing. Several processes may add
    to one folder: none touches a part that it has not read. Without a folder, nothing is kept.
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
        """Keep it: it is on disk two seconds later, also if nothing else is added until then."""
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
        """Write what waits, and merge the parts into one."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self.folder is None:
                return
            self._flush(self.folder)
            self._merge(self.folder)

    def remove(self) -> None:
        """Forget everything, on disk as well: the folder is gone afterwards, unless something else was put into it."""
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
            # What cannot be written now waits on, and closing says why if it still cannot.
            with suppress(OSError):
                self._flush(self.folder)

    def _flush(self, folder: Path | None) -> None:
        if folder is not None and self._waiting:
            self._parts.append(_write(self._waiting, folder))
            self._waiting = []

    def _merge(self, folder: Path) -> None:
        """The merged part is there before the others go: in between, measurements are there twice, which does no harm."""
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
                # Whoever removes a part meanwhile has put a merged one in its place.
                with suppress(FileNotFoundError):
                    self._known.update((measured.key, measured) for measured in _read(part))
                    self._parts.append(part)
        except OSError as refused:
            reason = refused.strerror or "it cannot be read"
            raise BadInput("out", f"{folder} cannot be used: {reason}", "name a folder of results, or a new one") from None


def _parts(folder: Path) -> list[Path]:
    """The part files from old to new; refuses a folder with anything else in it, which was not meant for this."""
    found = []
    for file in sorted(folder.iterdir()):
        if _PART.fullmatch(file.name):
            found.append(file)
        elif not _UNFINISHED.fullmatch(file.name):
            raise BadInput("out", f"{folder} holds something else than measurements: {file.name}", "name another folder")
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
        raise BadInput("out", f"{part} holds something else than measurements", "name another folder")
    columns = [column.to_pylist() for column in table.columns]
    return (MeasuredError(**dict(zip(_COLUMNS, row, strict=True))) for row in zip(*columns, strict=True))


def _write(measured: Sequence[MeasuredError], folder: Path) -> Path:
    """A new part file, which appears under its name only when all of it is on disk."""
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
