"""The bytes of a text file: decompressed, in UTF-8, and cut into lines or into records.

Privacy: whatever a file holds, it can be read, and what becomes of a line (or of a record) follows only from that line.

- A damaged archive fails as a whole. That is a fact about the file, not about one of its records.
- An encoding of the list `ENCODINGS` turns a line feed into a line feed wherever it stands, and nothing else into one, and
  knows no state that lasts beyond it. Bytes that stand for no character stay different from each other, and from all texts.
- Records end at a line feed outside of quotation marks. Where one ends, the reader begins anew: so the bytes of one record
  can be taken out of a file, and all others are read as before.

Proof: docs/proofs/tables.md, "Lines" and "Records".
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from jostle.schema.text_format import UNIT_OF_TWO

LONGEST_LINE = 2**20
"""A line, or a record, of more bytes is left out."""

BLOCK = 2**24
"""This many bytes are read at once."""

COMPRESSED: Final = {".gz": "gzip", ".zst": "zstd"}

MARKS: Final = re.compile(b"(?m)^(?:\xef\xbb\xbf)+")
"""What some programs write before the first line of a text in UTF-8, wherever a line begins with it."""

_MARK: Final = b"\xef\xbb\xbf"
_ONE_BY_ONE: Final = "jostle: one byte"


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
