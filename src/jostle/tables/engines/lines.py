"""Text files as tables: one line is one row, whatever it holds; or one record, where values may have line breaks.

A reader of CSV takes a line break between quotation marks for a part of a value. So a mark that is never closed takes the
lines after it along, and the next line with a mark in it decides where that ends: what one line holds would change how all
others are read, and no noise hides that. Here a line ends at a line feed, always, and is read without a look at others.

With `quoted_line_breaks`, whoever opens the file declares that it was written by a program which puts values with line
breaks between quotation marks. A row is then a record: it ends at a line feed outside of quotation marks. Where one ends,
the reader begins anew, so the bytes of one record can be taken out of a file, and all others are read as before.

Other encodings than UTF-8 turn a line feed into a line feed wherever it stands, and nothing else into one, and know no state
that lasts beyond it. Bytes that stand for no character stay different from each other, and from all texts. A damaged archive
fails as a whole: that is a fact about the file, not about one of its records.

Privacy: which row a line becomes, or whether it becomes none, depends only on that line (stability 1). A line is left out
if a quotation mark in it stays open, if it has more fields than there are names, or if it is longer than `LONGEST_LINE`.
Nothing raises because of what a line holds. The same holds of records. Proof: docs/proofs/tables.md, "Lines", "Records".
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import csv as plain_csv

from jostle.kernel.errors import BadInput
from jostle.schema.schema import UNIT_OF_TWO

LONGEST_LINE = 2**20
"""A line, or a record, of more bytes is left out."""

BLOCK = 2**24
"""This many bytes are read at once."""

COMPRESSED: Final = {".gz": "gzip", ".zst": "zstd"}

MARKS: Final = re.compile(b"(?m)^(?:\xef\xbb\xbf)+")
"""What some programs write before the first line of a text in UTF-8, wherever a line begins with it."""

_MARK: Final = b"\xef\xbb\xbf"
_ONE_BY_ONE: Final = "jostle: one byte"
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


# ------------------------------------------------------------------------------------------------------------ bytes


def _first_byte(error: UnicodeError) -> tuple[str, int]:
    """Only the first of the bytes that stand for no character, as half of a surrogate pair: the next may be a line feed."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return chr(0xDC00 + error.object[error.start]), error.start + 1


codecs.register_error(_ONE_BY_ONE, _first_byte)


def blocks(path: Path, encoding: str = "utf-8") -> Iterator[bytes]:
    """The text in blocks, in UTF-8. Bytes that stand for no character become bytes that are no UTF-8."""
    made: Any = None
    if encoding != "utf-8":
        of_two = encoding in UNIT_OF_TWO
        made = codecs.getincrementaldecoder(encoding)("surrogatepass" if of_two else _ONE_BY_ONE)
    with _opened(path) as file:
        while block := file.read(BLOCK):
            yield bytes(block) if made is None else _in_utf8(made.decode(block))
    if made is not None and encoding not in UNIT_OF_TWO:  # half a unit at the end is no character, and left out
        yield _in_utf8(made.decode(b"", final=True))


def _in_utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _opened(path: Path) -> Any:
    kind = COMPRESSED.get(path.suffix.lower())
    if kind is None:
        return path.open("rb")
    import pyarrow as pa

    return pa.input_stream(str(path), compression=kind)


# ------------------------------------------------------------------------------------------------------------ lines


def whole_lines(stream: Iterable[bytes], *, skip: bool = False) -> Iterator[bytes]:
    """The lines in blocks, each with its line feed at the end; without those that are too long, or the first."""
    rest, too_long = b"", False
    for block in _without_first_line(stream) if skip else stream:
        if too_long:
            at = block.find(b"\n") + 1
            block, too_long = block[at:] if at else b"", not at
        whole, rest = _cut_at_the_last_end(rest + block)
        if whole:
            yield _without_long(whole)
        if len(rest) > LONGEST_LINE:
            rest, too_long = b"", True
    if rest:
        yield rest + b"\n"


def first_line(stream: Iterable[bytes], delimiter: str, *, records: bool = False) -> str:
    """The first line, or the first record, without its line feed and marks of the encoding; cut off if it is too long."""
    text, scanner = b"", RecordScanner(delimiter)
    for block in stream:
        text += block
        end = scanner.end(text) if records else text.find(b"\n") + 1
        if end > 0 or len(text) > LONGEST_LINE:
            text = text[:end] if end > 0 else text[:LONGEST_LINE]
            break
    return MARKS.sub(b"", text).decode("utf-8", "replace").rstrip("\r\n")


def ends(block: bytes) -> Any:
    """Where its lines end."""
    return np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n"))


def _without_first_line(stream: Iterable[bytes]) -> Iterator[bytes]:
    rest = iter(stream)
    for block in rest:
        if at := block.find(b"\n") + 1:
            yield block[at:]
            break
    yield from rest


def _cut_at_the_last_end(data: bytes) -> tuple[bytes, bytes]:
    at = data.rfind(b"\n") + 1
    return data[:at], data[at:]


def _without_long(block: bytes) -> bytes:
    if len(block) <= LONGEST_LINE or np.diff(ends(block), prepend=-1).max() <= LONGEST_LINE + 1:
        return block
    return b"".join(line + b"\n" for line in block.split(b"\n")[:-1] if len(line) <= LONGEST_LINE)


# ---------------------------------------------------------------------------------------------------------- records

NEW, FIELD, PLAIN, QUOTED, CLOSED = range(5)
"""Where the reader is: before a record or a field, in a field without or with quotation marks, or after the closing one."""


@dataclass
class RecordScanner:
    """Finds where a record ends: at a line feed, but for those in a field that begins with a quotation mark and is open.

    Two marks in such a field stand for one. Whatever follows the closing mark belongs to the field, up to the delimiter.
    """

    delimiter: str
    state: int = NEW
    scanned: int = 0
    """How many bytes of the record have been looked at."""

    def __post_init__(self) -> None:
        self._sign = self.delimiter.encode()
        self._ends = re.compile(b"[" + re.escape(self._sign) + b"\n]")

    def end(self, data: bytes, begin: int = 0) -> int:
        """The place after the end of the record that begins here; -1 if it goes on in the next block."""
        at, state = begin + self.scanned, self.state
        while at < len(data):
            if state == NEW:
                if data.startswith(_MARK, at):
                    at += len(_MARK)
                elif _MARK.startswith(data[at : at + len(_MARK)]):  # a mark may be cut in two by a block's end
                    break
                else:
                    state = FIELD
            elif state == FIELD:
                state, at = (QUOTED, at + 1) if data[at] == ord('"') else (PLAIN, at)
            elif state == QUOTED:
                at = data.find(b'"', at) + 1
                if not at:
                    at = len(data)
                    break
                state = CLOSED
            elif state == CLOSED:
                state, at = (QUOTED, at + 1) if data[at] == ord('"') else (PLAIN, at)
            else:
                found = self._ends.search(data, at)
                if found is None:
                    at = len(data)
                    break
                at, state = found.end(), FIELD
                if found[0] == b"\n":
                    self.state, self.scanned = NEW, 0
                    return at
        self.state, self.scanned = state, at - begin
        return -1


def whole_records(stream: Iterable[bytes], delimiter: str, *, skip: bool = False) -> Iterator[tuple[bytes, list[bytes]]]:
    """Lines without quotation marks, which are records, as a block; and records with some, one by one, with their ends.

    Without records that are too long, which are looked through to their end all the same, or the first.
    """
    scanner, rest, too_long = RecordScanner(delimiter), b"", False
    for block in stream:
        data, begin, plain, single = rest + block, 0, [], []
        while begin < len(data):
            if scanner.scanned == 0 and scanner.state == NEW and not skip and not too_long:
                quote = data.find(b'"', begin)
                last = data.rfind(b"\n", begin, len(data) if quote < 0 else quote) + 1
                if last > begin:
                    plain.append(_without_long(data[begin:last]))
                    begin = last
                    continue
            end = scanner.end(data, begin)
            if end < 0:
                break
            if not skip and not too_long and end - begin <= LONGEST_LINE + 1:
                single.append(data[begin:end])
            begin, skip, too_long = end, False, False
        rest = data[begin:]
        if len(rest) > LONGEST_LINE or too_long:
            rest, too_long, scanner.scanned = rest[scanner.scanned :], True, 0
        yield b"".join(plain), single
    if rest and not skip:
        yield b"", [rest + b"\n"]
