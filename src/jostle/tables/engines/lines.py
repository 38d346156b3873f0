"""Text files as tables: one line is one row, whatever it holds; or one record, where values may have line breaks.

A reader of CSV takes a line break between quotation marks for a part of a value. So a mark that is never closed takes the
lines after it along, and the next line with a mark in it decides where that ends: what one line holds would change how all
others are read, and no noise hides that. Here a line ends at a line feed, always, and is read without a look at others.

With `quoted_line_breaks`, whoever opens the file declares that it was written by a program which puts values with line
breaks between quotation marks. A row is then a record, as `text_bytes.whole_records` finds them.

Privacy: which row a line becomes, or whether it becomes none, depends only on that line (stability 1). A line is left out
if a quotation mark in it stays open, if it has more fields than there are names, or if it is longer than `LONGEST_LINE`.
Nothing raises because of what a line holds. The same holds of records. Proof: docs/proofs/tables.md, "Lines", "Records".
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv as plain_csv

from jostle.kernel.errors import BadInput
from jostle.tables.engines.text_bytes import MARKS, blocks, ends, first_line, whole_lines, whole_records

_SIGN, _LOW, _HIGH = "\U0010ec40".encode(), b"\xf4\x8e\xb2", b"\xf4\x8e\xb3"
ESCAPES = (
    *((known, _SIGN + known) for known in (_SIGN, _LOW, _HIGH)),
    (b"\xed\xb2", _LOW),
    (b"\xed\xb3", _HIGH),
)
"""How bytes that are no UTF-8, which Python decodes as U+DC80 to U+DCFF, become the private characters U+10EC80 to U+10ECFF.

These characters themselves, if a text has them, stand after a sign: no two texts become the same.
"""

UNUSUAL = (ord('"'), ord("\r"), 0)
"""A line with one of these is read by itself; all others are cut at the separators, many at once."""


@dataclass(frozen=True)
class Lines:
    """The lines of some text files as a table of texts: a stream of Arrow's, which an engine reads as often as it needs."""

    paths: tuple[Path, ...]
    names: tuple[str, ...]
    """The names of the fields of a line, in order."""

    wanted: tuple[str, ...]
    """The columns that are read."""

    separator: str
    header: bool
    """Whether the first line of each file has the names."""

    encoding: str = "utf-8"
    quoted_line_breaks: bool = False
    """Whether a row is a record of a reader that knows quotation marks, and not a line."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.reader().__arrow_c_stream__(requested_schema)

    def reader(self) -> Any:
        """The rows, in batches."""
        return pa.RecordBatchReader.from_batches(self._schema, self._batches())

    @property
    def _schema(self) -> Any:
        return pa.schema([(name, pa.string()) for name in self.wanted])

    def _batches(self) -> Iterator[Any]:
        for path in self.paths:
            stream = blocks(path, self.encoding)
            if not self.quoted_line_breaks:
                for block in whole_lines(stream, skip=self.header):
                    yield from self._rows(_as_text(block))
                continue
            for plain, single in whole_records(stream, self.separator, skip=self.header):
                yield from self._rows(_as_text(plain))
                yield self._one_by_one([_as_text(record).removesuffix(b"\n") for record in single])

    def _rows(self, block: bytes) -> Iterator[Any]:
        """Lines without anything unusual at once, and every other by itself."""
        stops, unusual = _unusual(block)
        if not unusual.size:
            plain, single = block, []
        else:
            starts = np.concatenate(([0], stops[:-1] + 1))
            single = [block[starts[at] : stops[at]] for at in unusual.tolist()]
            plain = b"".join(block[start:end] for start, end in _gaps(starts, stops, unusual.tolist(), len(block)))
        if plain:
            yield from self._cut(plain, single)
        if single:
            yield self._one_by_one(single)

    def _cut(self, plain: bytes, single: list[bytes]) -> Iterator[Any]:
        """Cut at every separator. Lines with more or fewer fields than usual join those that are read by themselves."""

        def put_aside(row: Any) -> str:
            single.append(row.text.encode())
            return "skip"

        table = plain_csv.read_csv(
            pa.BufferReader(plain),
            read_options=plain_csv.ReadOptions(column_names=self.names, block_size=len(plain) + 1, use_threads=False),
            parse_options=plain_csv.ParseOptions(
                delimiter=self.separator, quote_char=False, escape_char=False, invalid_row_handler=put_aside
            ),
            convert_options=plain_csv.ConvertOptions(
                include_columns=list(self.wanted),
                column_types=dict.fromkeys(self.names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
        yield from table.to_batches()

    def _one_by_one(self, lines: Sequence[bytes]) -> Any:
        rows = [row for line in lines if (row := self._fields(line)) is not None]
        places = [self.names.index(name) for name in self.wanted]
        columns = [pa.array([row[place] or None for row in rows], pa.string()) for place in places]
        return pa.record_batch(columns, schema=self._schema)

    def _fields(self, line: bytes) -> list[str] | None:
        """The fields of a line, with empty ones for those that it lacks; None if it is left out."""
        try:
            read = next(csv.reader([line.decode()], delimiter=self.separator, strict=True), [])
        except csv.Error:
            return None
        if not read or len(read) > len(self.names):
            return None
        return read + [""] * (len(self.names) - len(read))


def names_in(path: Path, separator: str, encoding: str = "utf-8", *, records: bool = False) -> list[str]:
    """The names that the first line of a file has, without the blanks around them."""
    first = first_line(blocks(path, encoding), separator, records=records)
    unpadded = re.sub(rf'"[ \t]+(?={re.escape(separator)}|$)', '"', first)  # blanks after a closing quotation mark
    try:
        return next(csv.reader([unpadded], delimiter=separator, strict=True, skipinitialspace=separator != " "), [])
    except csv.Error:
        problem = f"the first line of {path.name} has a quotation mark that stays open"
        raise BadInput("data", problem, "write each name in one line, or pass columns=[…] if it has none") from None


def _as_text(block: bytes) -> bytes:
    """With only line feeds at the ends, and a private character for each byte that is no UTF-8: never a line's end.

    Different bytes stay different, as some of them say whose row it is. A mark of UTF-8 is taken off every line that begins
    with one, not only off the first line: which line comes first depends on the others. So are several, as whoever parses
    the block would take one more off its first line.
    """
    block = block.replace(b"\r\n", b"\n")
    try:
        block.decode()
    except UnicodeDecodeError:
        block = block.decode("utf-8", "surrogateescape").encode("utf-8", "surrogatepass")
    if b"\xf4" in block or b"\xed" in block:  # one byte is found much faster than several, and few texts have it
        for was, becomes in ESCAPES:
            block = block.replace(was, becomes)
    return MARKS.sub(b"", block) if b"\xef" in block else block


def _unusual(block: bytes) -> tuple[Any, Any]:
    """Where lines end, and which of them have something unusual."""
    letters, stops = np.frombuffer(block, dtype=np.uint8), ends(block)
    found = [np.flatnonzero(letters == one) for one in UNUSUAL if bytes([one]) in block]
    return stops, np.unique(np.searchsorted(stops, np.concatenate(found))) if found else stops[:0]


def _gaps(starts: Any, stops: Any, without: Sequence[int], length: int) -> Iterator[tuple[int, int]]:
    """What lies between some lines."""
    begin = 0
    for line in without:
        yield begin, int(starts[line])
        begin = int(stops[line]) + 1
    yield begin, length
