"""Planted privacy bugs in how rows are read: what becomes a row, whose it is, and when an engine is asked."""

from __future__ import annotations

import csv
import re
import sys
from contextlib import nullcontext
from dataclasses import replace
from io import StringIO
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from jostle.kernel import records, source
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import accounts
from jostle.learn import inputs
from jostle.schema import Integer, values
from jostle.tables import bounded_rows, columns, run_in_engine, view
from jostle.tables.engines import frames, lines, parquet, spark, workbooks
from tests.audit import test_rows_of_persons
from tests.audit.mutants_of_tables import IN_DUCKDB
from tests.audit.planted import CAPLOG, FOLDER, PATCH, Fixture, Mutant, attribute, stated, tested, wrapped
from tests.kernel import test_source
from tests.learn import test_cells, test_estimators, test_frames, test_inputs
from tests.tables import (
    engines,
    test_bounded_rows,
    test_check_bounds,
    test_odd_values,
    test_persons,
    test_privacy,
    test_reading_and_paying,
    test_text_files,
)

SPARK = Fixture(lambda patch, folder: next(engines.spark._get_wrapped_function()()))
FOLDERS = Fixture(lambda patch, folder: SimpleNamespace(mktemp=lambda name: _made(folder / name)))
SILENT = Fixture(lambda patch, folder: SimpleNamespace(readouterr=lambda: ("", "")))
any_hash = test_bounded_rows.test_with_any_hash_others_rows_stay_also_where_they_differ_only_in_free_text
a_line_changes_no_other = test_reading_and_paying.test_a_line_is_one_row_and_changes_no_other.hypothesis.inner_test  # type: ignore[attr-defined]
asked_after_the_charge = test_reading_and_paying.test_the_table_is_asked_after_the_charge
derived_later = test_reading_and_paying.test_an_attribute_that_is_derived_later_does_not_change_who_is_in_a_part
different_bytes = test_persons.test_different_bytes_are_different_texts.hypothesis.inner_test  # type: ignore[attr-defined]


def _made(folder: Any) -> Any:
    folder.mkdir()
    return folder


class Talkative(run_in_engine.EngineError):
    """Repeats what the engine said."""

    def __init__(self, step: str) -> None:
        super().__init__(step)
        self.args = (f"{self.args[0]} It said: {sys.exception()}",)


def across_lines(self: Any, block: bytes) -> Any:
    """As any reader of CSV: a value between quotation marks may have line breaks in it."""
    width = len(self.names)
    rows = [row for row in csv.reader(StringIO(block.decode(), newline="")) if 0 < len(row) <= width]
    columns = list(zip(*(row + [""] * (width - len(row)) for row in rows), strict=True)) or [()] * width
    wanted = [columns[self.names.index(name)] for name in self.wanted]
    yield pa.record_batch([pa.array([text or None for text in one], pa.string()) for one in wanted], schema=self._schema)


def as_replacements(original: Any, block: bytes) -> bytes:
    """One sign for all bytes that are no UTF-8."""
    return original(block.decode("utf-8", "replace").encode())


def as_floats(original: Any, value: Any) -> Any:
    """Large numbers lose their last digits."""
    return original(float(value) if isinstance(value, int) else value)


def by_identity(original: Any, value: Any, seen: dict[Any, int]) -> Any:
    return original(value if isinstance(value, (str, int, float, bytes)) else f"object {id(value)}", seen)


def of_one_length(original: Any, X: Any, width: int) -> Any:
    """As NumPy reads rows: one of another length refuses all."""
    if any(len(row) != width for row in X):
        raise BadInput("X", "must be rows of as many values each", "pass a frame")
    return original(X, width)


def counts_at_once(original: Any, self: Any, *names: str) -> Any:
    self._Records__columns.counts(names)
    return original(self, *names)


def parted_anew(original: Any, self: Any, *made: Any) -> Any:
    """Parts know the attribute that they were made by as its name alone."""
    new = original(self, *made)
    return replace(new, among=tuple((new, name, value) for _, name, value in new.among))


def with_the_totals_share(original: Any, self: Any, *weights: Any) -> Any:
    """What pays for the number of records is left for the rest, too."""
    whole, purse = self.epsilon, self._purse
    first, rest = original(self, *weights)
    return (first, Budget(whole, purse)) if weights == (3, 97) else (first, rest)


def by_names_alone(original: Any, self: Any, names: Any) -> Any:
    """What one view has read serves all that ask for columns of these names."""
    found = self.readings.get(tuple(names)) or original(self, names)
    self.readings[tuple(names)] = found
    return found


def unordered(table: Any, names: Any, engine: str) -> list[Any]:
    return []


def to_the_first_fault(rows: Any) -> Any:
    try:
        yield from rows
    except BaseException:  # noqa: BLE001  # a panic is none of the usual kind
        raise ValueError from None


OF_READING = [
    Mutant(
        "text files: a quotation mark that stays open takes further lines along",
        attribute(lines.Lines, "_rows", across_lines),
        tested(test_reading_and_paying.test_an_open_quotation_mark_hides_no_other_line, FOLDER),
    ),
    Mutant(
        "text files: whether a line is too long depends on where a block ends",
        attribute(lines, "_without_long", lambda block: block),
        tested(a_line_changes_no_other, FOLDERS, [b"z" * 22], b"a" * 5, 0, b"\n"),
    ),
    Mutant(
        "text files: persons whose names are no UTF-8 share a sign",
        wrapped(lines, "_as_text", as_replacements),
        tested(test_persons.test_persons_of_a_text_file_are_told_apart_by_their_bytes, FOLDER),
    ),
    Mutant(
        "text files: what stands for such bytes may stand in a text, too",
        attribute(lines, "ESCAPES", lines.ESCAPES[-2:]),
        tested(different_bytes, b"\xfc", "\U0010ecfc".encode()),
    ),
    Mutant(
        "text files: of several marks of the encoding one is taken off, and one more off the first line",
        attribute(lines, "MARKS", re.compile(b"(?m)^\xef\xbb\xbf")),
        tested(a_line_changes_no_other, FOLDERS, [b"\xef\xbb\xbf" * 2 + b"a"], b"zzz", 0, b"\n"),
    ),
    Mutant(
        "frames: those without a name are one person in an Arrow table",
        attribute(frames, "_as_bytes", lambda column: column.cast(pa.large_binary())),
        tested(test_reading_and_paying.test_every_person_of_a_frame_is_one_person, FOLDER),
    ),
    Mutant(
        "classifiers: an account that protects persons pays for rows",
        attribute(accounts, "check_unit", lambda *said: None),
        tested(test_estimators.test_an_account_that_protects_persons_does_not_pay_for_rows, FOLDER),
    ),
    Mutant(
        "files: a name is taken for a pattern",
        attribute(parquet, "_as_pattern", str),
        tested(test_reading_and_paying.test_a_path_is_no_pattern, FOLDER),
    ),
    Mutant(
        "frames: persons beyond 2^53 are compared as floats",
        wrapped(frames, "_written", as_floats),
        tested(test_persons.test_persons_of_a_frame_who_share_a_float_are_told_apart, FOLDER),
    ),
    Mutant(
        "frames: equal objects are different persons",
        wrapped(frames, "_person", by_identity),
        tested(test_rows_of_persons.test_equal_objects_are_one_person, FOLDER),
    ),
    Mutant(
        "tables: rows that are drawn once are drawn again",
        stated(bounded_rows.BoundedSample, "table", lambda self: bounded_rows._kept(replace(self._query))),
        tested(test_rows_of_persons.test_rows_that_are_drawn_once_stay_the_same, FOLDER),
    ),
    Mutant(
        "tables: rows are counted before the charge",
        wrapped(records.Records, "vector", counts_at_once),
        tested(asked_after_the_charge, FOLDER, PATCH, "histogram", None, "add_remove"),
    ),
    Mutant(
        "tables: a public number of rows is added up from the cells, before the charge",
        wrapped(records, "source_over", lambda original, *parts: original(*parts[:-1], None)),
        tested(asked_after_the_charge, FOLDER, PATCH, "the number of rows", None, "replace"),
    ),
    Mutant(
        "tables: parts of a split that are asked at once draw a person's rows twice",
        attribute(source, "Lock", nullcontext),
        tested(test_source.test_parts_of_a_split_that_are_asked_at_once_come_from_one_count),
    ),
    Mutant(
        "tables: who is in a part of the records changes with an attribute that is derived later",
        wrapped(columns.EngineColumns, "with_table", parted_anew),
        tested(derived_later, FOLDER, False),
    ),
    Mutant(
        "Spark: all frames are kept under one name",
        attribute(spark, "uuid", SimpleNamespace(uuid4=lambda: SimpleNamespace(hex="frame"))),
        tested(test_reading_and_paying.test_two_frames_of_spark_are_two_tables, FOLDER, SPARK),
    ),
    Mutant(
        "tables: an engine's words are passed on",
        attribute(run_in_engine, "EngineError", Talkative),
        tested(test_privacy.test_an_engines_words_are_withheld, FOLDER, PATCH, CAPLOG),
    ),
    Mutant(
        "learning: the number of records is not paid for",
        wrapped(Budget, "split", with_the_totals_share),
        tested(test_cells.test_the_number_of_records_is_paid_for_unless_it_is_known),
    ),
    Mutant(
        "learning: one odd value changes how others are read",
        attribute(inputs, "_of_rows", lambda X, width: np.asarray(X)),  # one type for a whole array
        tested(test_inputs.test_one_odd_value_changes_no_other_code, Integer(0, 99), [31, 72], b"x"),
    ),
    Mutant(
        "learning: one row of another length refuses all others",
        wrapped(inputs, "_of_rows", of_one_length),
        tested(test_inputs.test_one_odd_row_refuses_no_other_and_nor_do_none, [5]),
    ),
    Mutant(
        "a frame's texts are decoded by pandas, which fails on one that is no UTF-8",
        attribute(frames, "in_arrow", lambda series: None),
        tested(test_odd_values.test_texts_of_pandas_in_arrow_that_are_no_utf8_do_not_fail, FOLDER, 0),
    ),
    Mutant(
        "a day beyond Python's calendar fails, and is shown",
        attribute(values, "BEYOND", ()),
        tested(test_frames.test_a_far_day_is_a_value_like_others_as_in_a_table, "objects with a zone", FOLDER),
    ),
    Mutant(
        "a learner's error shows a label that is no UTF-8",
        attribute(inputs, "as_array", np.asarray),
        tested(test_inputs.test_texts_of_arrow_that_are_no_utf8_are_labels_and_values_like_others),
    ),
    Mutant(
        "tables: what was read for one declaration of a column serves another",
        wrapped(view.View, "_read", by_names_alone),
        tested(test_check_bounds.test_a_check_and_a_question_read_a_column_each_in_its_own_cells, FOLDER, "check"),
    ),
    Mutant(
        "tables: a person's rows that differ only in free text have no order",
        attribute(bounded_rows, "_in_order", unordered),
        tested(any_hash, IN_DUCKDB, FOLDER, PATCH),
    ),
    Mutant(
        "tables: one cell of a workbook ends the reading of all",
        attribute(workbooks, "_each_row", to_the_first_fault),
        tested(test_text_files.test_no_cell_of_a_workbook_makes_reading_fail_or_says_anything, FOLDER, SILENT, "column"),
    ),
]
"""The bugs."""
