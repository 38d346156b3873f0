"""Text files in every form that can be declared: no byte makes reading fail, and one record less is one row less."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections import Counter
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jostle.kernel.errors import BadInput
from jostle.schema.schema import ENCODINGS, UNIT_OF_TWO, TextFormat
from jostle.tables.engines import lines
from jostle.tables.engines.files import column_names, kind_of, stem_of
from jostle.tables.engines.lines import Lines


def rows_of(path, *, names=("a", "b"), separator=",", header=True, **more):
    read = Lines((path,), names, names, separator, header=header, **more).reader().read_all()
    return list(zip(*(read[name].to_pylist() for name in names), strict=True))


# --------------------------------------------------------------------------------------------------------- encodings


@pytest.mark.parametrize("encoding", [one for one in ENCODINGS if one not in UNIT_OF_TWO])
def test_no_byte_is_lost_or_reaches_beyond_its_line(tmp_path, encoding):
    """All bytes, or all pairs: a line feed after any byte is a line feed, and none is read as another's characters."""
    longest = 2 if _decoded(b"\x81\x40", encoding) and len(b"\x81\x40".decode(encoding)) == 1 else 1
    pairs = [bytes(pair) for pair in product(range(1, 256), repeat=longest) if not {10, 13} & set(pair)]
    (tmp_path / "t.txt").write_bytes(b"\n".join(pairs))
    text = b"".join(lines.blocks(tmp_path / "t.txt", encoding))
    found = text.split(b"\n")
    assert len(found) == len(pairs)
    assert text.count(b"\r") == 0
    known = [(pair, line) for pair, line in zip(pairs, found, strict=True) if _decoded(pair, encoding) is not None]
    assert all(line == _decoded(pair, encoding) for pair, line in known)
    unknown = [line for pair, line in zip(pairs, found, strict=True) if _decoded(pair, encoding) is None]
    assert len(set(unknown)) == len(unknown)
    assert set(unknown).isdisjoint(line for _, line in known)


def _decoded(pair, encoding):
    try:
        return pair.decode(encoding).encode()
    except UnicodeDecodeError:
        return None


@pytest.mark.parametrize("encoding", UNIT_OF_TWO)
def test_every_unit_of_two_bytes_is_read(tmp_path, encoding):
    order = "big" if encoding == "utf-16-be" else "little"
    mark = b"\xff\xfe" if encoding == "utf-16" else b""
    units = [unit for unit in range(1, 2**16) if unit not in (10, 13, 0xFEFF)]
    written = b"\n\0".join(unit.to_bytes(2, "little") for unit in units)
    swapped = (
        written if order == "little" else bytes(b for pair in zip(written[1::2], written[::2], strict=True) for b in pair)
    )
    (tmp_path / "t.txt").write_bytes(mark + swapped + b"\0")  # and half a unit at the end
    found = b"".join(lines.blocks(tmp_path / "t.txt", encoding)).split(b"\n")
    assert len(found) == len(units) == len(set(found))


PIECES = st.lists(st.integers(0, 255), max_size=6).map(bytes)


@settings(max_examples=60)
@given(
    others=st.lists(PIECES, max_size=6),
    one=PIECES,
    place=st.integers(0, 6),
    encoding=st.sampled_from(["latin-1", "cp1252", "shift_jis", "gb18030", "euc_jp", "big5hkscs", "johab"]),
)
def test_a_line_of_any_bytes_is_one_row_in_every_encoding(tmp_path_factory, others, one, place, encoding):
    path = tmp_path_factory.mktemp("lines") / "t.csv"
    others, one = [line.replace(b"\n", b"") for line in others], one.replace(b"\n", b"")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lines, "BLOCK", 5)
        found = []
        for kept in (others, [*others[:place], one, *others[place:]]):
            path.write_bytes(b"\n".join([b"a,b", *kept, b""]))
            found.append(Counter(rows_of(path, encoding=TextFormat(encoding=encoding).encoding)))
    assert not found[0] - found[1]
    assert sum((found[1] - found[0]).values()) <= 1


def test_letters_are_those_of_the_encoding(tmp_path):
    for encoding in ("latin-1", "cp1252", "utf-16", "utf-16-be", "mac-roman", "utf-8-sig"):
        (tmp_path / "t.csv").write_bytes("ä,b\nMüller,ß\n".encode(encoding))
        form = TextFormat(encoding=encoding)
        assert column_names(tmp_path / "t.csv", ["ä"], None, form) == ["ä", "b"]
        assert rows_of(tmp_path / "t.csv", encoding=form.encoding) == [("Müller", "ß")]


def test_other_encodings_are_refused():
    for encoding in ("utf-7", "iso2022_jp", "hz", "cp037", "unicode_escape", "utf-32", "rot13", "idna", "nonsense", 7, "\0"):
        with pytest.raises(BadInput, match="^encoding: is unknown"):
            TextFormat(encoding=encoding)
    for delimiter in ("", ";;", '"', "\n", "a", "1", "§", 7):
        with pytest.raises(BadInput, match="^delimiter: must be one sign"):
            TextFormat(delimiter=delimiter)


# ------------------------------------------------------------------------------------------------------ compression


def test_compressed_files_are_those_inside(tmp_path):
    text = b"a,b\n" + b"".join(b"%d,x\n" % number for number in range(5000))
    for ending, pack in ((".gz", gzip.compress), (".zst", lambda one: pa.compress(one, "zstd", asbytes=True))):
        path = tmp_path / f"people.csv{ending}"
        path.write_bytes(pack(text) + pack(b"more,y\n"))  # some programs write several archives one after another
        rows = rows_of(path)
        assert (len(rows), rows[-1]) == (5001, ("more", "y"))
        assert (kind_of([path]), stem_of(path)) == ("text", "people")
    with pytest.raises(BadInput, match="only text files may be compressed"):
        kind_of([tmp_path / "people.parquet.gz"])


# ---------------------------------------------------------------------------------------------------------- records


FIELDS = st.text(st.sampled_from('ab",\n é'), max_size=8)
RECORDS = st.lists(st.tuples(FIELDS, FIELDS), max_size=8)


def written(records, newline):
    text = io.StringIO()
    csv.writer(text, lineterminator=newline).writerows(records)
    return text.getvalue()


@settings(max_examples=120)
@given(records=RECORDS, newline=st.sampled_from(["\n", "\r\n"]), block=st.sampled_from([1, 2, 3, 7, 2**20]))
def test_what_a_program_wrote_is_read_as_it_was(tmp_path_factory, records, newline, block):
    path = tmp_path_factory.mktemp("records") / "t.csv"
    path.write_bytes(("a,b" + newline + written(records, newline)).encode())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lines, "BLOCK", block)
        found = rows_of(path, quoted_line_breaks=True)
    assert Counter(found) == Counter(tuple(field or None for field in record) for record in records)


ANY_BYTES = st.lists(st.sampled_from([b"a", b",", b'"', b'""', b"\n", b"\r\n", b"\xef", b"\xbb", b"\xbf\xef\xbb", b"\0"]))


FIELD = rb'(?:"(?:[^"]|"")*+(?:"|\Z)[^,\n]*+|[^,\n]*+)'
RECORD = re.compile(rb"(?:\xef\xbb\xbf)*+" + FIELD + rb"(?:," + FIELD + rb")*+(?:\n|\Z)")


@settings(max_examples=200)
@example(data=[b"\xef\xbb\xbf", b'"', b"\n", b'"', b"\n", b"a"], block=1, longest=4)
@given(data=ANY_BYTES, block=st.sampled_from([1, 2, 3, 5, 2**20]), longest=st.sampled_from([4, 9, 2**20]))
def test_one_record_less_is_one_row_less_whatever_the_bytes_are(tmp_path_factory, data, block, longest):
    """The records of any bytes: each can be taken out, and all others are read as before."""
    path, data = tmp_path_factory.mktemp("records") / "t.csv", b"".join(data)
    records = [found for found in RECORD.findall(data) if found]
    assert b"".join(records) == data

    def read(some):
        path.write_bytes(b"".join(some))
        return Counter(rows_of(path, header=False, quoted_line_breaks=True))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lines, "BLOCK", block)
        patched.setattr(lines, "LONGEST_LINE", longest)
        whole = read(records)
        assert whole == sum((read([record]) for record in records), Counter())
        for place in range(len(records)):
            without = read([*records[:place], *records[place + 1 :]])
            assert not without - whole
            assert sum((whole - without).values()) <= 1


def test_a_long_record_is_left_out_and_hides_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 16)
    monkeypatch.setattr(lines, "LONGEST_LINE", 20)
    long = b'1,"' + b"x\n" * 30 + b'"\n'
    (tmp_path / "t.csv").write_bytes(b'a,b\n0,"y\nz"\n' + long + b"2,y\n" + b"3," + b"z" * 40 + b'\n4,"z"\n')
    assert sorted(rows_of(tmp_path / "t.csv", quoted_line_breaks=True)) == [("0", "y\nz"), ("2", "y"), ("4", "z")]
    (tmp_path / "open.csv").write_bytes(b'a,b\n1,x\n2,"open\n3,y\n4,z\n')
    assert rows_of(tmp_path / "open.csv", quoted_line_breaks=True) == [("1", "x")]
