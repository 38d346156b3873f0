"""What was paid for reaches whoever paid for it, whatever fails on the way: files, standard output, simulations."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
import pytest

from jostle.cli.delivery import to_json
from jostle.cli.terminal import exit_code
from jostle.kernel.errors import BadInput, InternalError, LedgerError, PlanError
from jostle.kernel.ledger import Ledger
from jostle.schema.rows import Rows
from jostle.tables.run_in_engine import EngineError
from tests.cli.test_release import ASKED, write


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spent(folder: Path) -> Fraction:
    with Ledger(folder / "budget.db") as ledger:
        return ledger.balance("people").spent


# ----------------------------------------------------------------------------------------------- numbers as they are


def test_text_has_the_decimals_that_the_narrowest_interval_needs():
    def numbers(values, off):
        return Rows({"sex": ["F", "M"], "value": values, "low": np.subtract(values, off), "high": np.add(values, off)})

    def line(rows):
        return rows.to_text().splitlines()[1].replace("–", "").split()

    assert numbers([12345.0, -3.0], 2.75).to_text().splitlines() == [
        "sex     value  95 % interval",
        "F    12,345.0  12,342.2 – 12,347.8",
        "M        -3.0      -5.8 – -0.2",
    ]
    assert line(numbers([12345.0, -3.0], 27.5)) == ["F", "12,345", "12,318", "12,372"]
    assert line(numbers([0.0123, 2.5], 0.0004)) == ["F", "0.012300", "0.011900", "0.012700"]
    assert line(numbers([1.23e-12, 4e-12], 2e-14)) == ["F", "1.23e-12", "1.21e-12", "1.25e-12"]
    assert line(numbers([0.0123, 0.5], 0)) == ["F", "0.0123", "0.0123", "0.0123"]
    assert line(numbers([0.0, 0.0], 0)) == ["F", "0", "0", "0"]
    assert line(numbers([1e-18, 31.0], 0)) == ["F", "0", "0", "0"]
    assert line(numbers([-0.2, 31.0], 12.0)) == ["F", "0", "-12", "12"]
    more = {f"mean: {name}": values for name, values in numbers([0.0123, 0.5], 0.0011).columns.items() if name != "sex"}
    beside = Rows({**numbers([300.0, 2.0], 5).columns, **more})
    assert line(beside) == ["F", "300", "295", "305", "0.01230", "0.01120", "0.01340"]
    levels = Rows({"quantile": [0.025, 0.5], "age": [3.0, 40.0], "low": [1.0, 35.0], "high": [9.0, 44.0]})
    assert line(levels) == ["0.025", "3", "1", "9"]
    long = Rows({"age": [*map(str, range(100))], "count": [*map(float, range(100))]}).to_text(most=6).splitlines()
    assert [one.split()[0] for one in long] == ["age", "0", "1", "2", "…", "97", "98", "99", "(100"]


def test_a_mean_that_is_small_is_not_printed_as_zero(folder, jostle):
    (folder / "people.toml").write_text('[columns.age]\nkind = "real"\nlow = 0\nhigh = 1e-6\nbins = 4\n', "utf-8")
    _, output, _ = jostle(*ASKED, "--budget", 500, "--epsilon", 400, "--sql", "SELECT AVG(age) FROM people")
    value = float(output.splitlines()[3].split()[0])  # after the words, an empty line and the names
    assert 0 < value <= 1.1e-6  # all ages are beyond the bounds, and clipped to the upper one


class _Answer:
    spent, remaining, charges = Fraction(1, 2), Fraction(0), ()
    notes, interval_kind = (), "exact"
    measure = left_in = "pure"


def test_json_has_every_digit_and_no_number_that_json_lacks():
    rows = Rows({"sex": ["F", "M"], "mean": [1.23e-12, 0.1 + 0.2], "low": [-np.inf, np.nan], "high": [1e300, 2.0]})
    told = json.loads(json.dumps(to_json(_Answer(), rows, "in words"), allow_nan=False))
    assert told["answers"] == [
        {"sex": "F", "mean": 1.23e-12, "low": None, "high": 1e300},
        {"sex": "M", "mean": 0.1 + 0.2, "low": None, "high": 2.0},
    ]
    assert told["explanation"] == "in words"


# ------------------------------------------------------------------------------------------- files, standard output


@pytest.mark.parametrize(("form", "out"), [("text", "a.csv"), ("json", "a.json")])
def test_a_pipe_that_nobody_reads_does_not_keep_the_answers_from_their_file(folder, form, out):
    """In a process of its own: at its end, Python would try to print once more, and end with status 120."""
    reader, writer = os.pipe()
    os.close(reader)
    asked = (
        *ASKED,
        "--budget",
        "1",
        "--epsilon",
        "0.5",
        "--by",
        "sex",
        "--algorithm",
        "Laplace",
        "--format",
        form,
        "--out",
        out,
    )
    command = [sys.executable, "-c", "from jostle.cli.main import main; main()", *asked]
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, timeout=300)
    os.close(writer)
    assert ended.returncode == 5, ended.stderr
    assert f"The answers were charged, and are in {out}: keep them." in ended.stderr
    assert "high" in (folder / out).read_text("utf-8")


@pytest.mark.parametrize("out", [(), ("--out", "a.csv")])
def test_answers_are_not_lost_where_standard_output_is_closed_from_the_start(folder, jostle, monkeypatch, out):
    """Whatever is printed then goes nowhere, without a failure."""
    monkeypatch.setattr(sys, "stdout", None)
    status, _, errors = jostle(*ASKED, "--budget", 1, "--epsilon", 0.5, "--by", "sex", *out)
    assert status == 5
    assert "jostle: standard output is closed" in errors
    held = (folder / "a.csv").read_text("utf-8") if out else errors
    assert "sex,count,low,high\n" in held
    assert f"are {'in a.csv' if out else 'on standard error'}: keep them" in errors


def test_what_neither_file_nor_standard_output_takes_is_on_standard_error(folder, jostle, monkeypatch):
    _break(monkeypatch, "write_text")
    echo = __import__("typer").echo

    def broken(text, *, err=False, **keywords):
        if not err:
            raise BrokenPipeError(32, "Broken pipe")
        echo(text, err=err, **keywords)

    monkeypatch.setattr("typer.echo", broken)
    status, output, errors = jostle(*ASKED, "--budget", 1, "--epsilon", 0.5, "--by", "sex", "--out", "a.csv")
    assert (status, output) == (5, "")
    assert errors.splitlines()[2] == "sex,count,low,high"
    assert "are on standard error: keep them" in errors


@pytest.mark.parametrize("form", ["text", "csv"])
def test_a_file_that_cannot_be_written_after_all_does_not_lose_the_answers(folder, jostle, monkeypatch, form):
    _break(monkeypatch, "write_text")
    status, output, errors = jostle(*ASKED, "--budget", 1, "--epsilon", 0.5, "--out", "count.csv", "--format", form)
    assert status == 5
    assert output.count("figure,count,low,high") == 1
    assert "No space left" in errors
    assert "on standard output: keep them" in errors


def _break(monkeypatch, method):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, method, full)


def test_a_picture_that_cannot_be_drawn_is_told_after_the_answers(folder, jostle, monkeypatch):
    def no_browser(*_, **__):
        raise RuntimeError("no browser")

    monkeypatch.setattr("plotly.graph_objects.Figure.to_image", no_browser)
    monkeypatch.setattr("jostle.plots.find_spec", lambda _: object())
    (folder / "count.png").write_bytes(b"an older one")
    status, output, errors = jostle(*ASKED, "--budget", 1, "--epsilon", 0.5, "--plot", "count.png")
    assert status == 5
    assert "figure count" in " ".join(output.split())
    assert "a PNG needs a Chrome or Chromium" in errors
    assert "keep them" in errors
    assert (folder / "count.png").read_bytes() == b"an older one"


# ---------------------------------------------------------------------------------------------------------- stopped


BY_SEX = (("--by", "sex"), ["sex,count", "F,", "M,", "(other),", "(missing),"])


@pytest.mark.parametrize(
    ("failure", "asked", "printed"),
    [
        *((failure, *BY_SEX) for failure in (KeyboardInterrupt, SystemError, MemoryError, PlanError)),
        (KeyboardInterrupt, ("--sql", "SELECT MEDIAN(age) FROM people"), ["MEDIAN(age)", ""]),
    ],
)
def test_whoever_does_not_get_the_errors_gets_the_answers(folder, jostle, monkeypatch, asked, printed, failure):
    """Between steps, in a compiled loop, for want of memory, and by a plan of one's own that breaks a rule."""

    def fail(*_):
        raise failure

    monkeypatch.setattr("jostle.answers.release.within_95", fail)
    monkeypatch.setattr("jostle.answers.release.simulated_errors", fail)
    status, output, errors = jostle(*ASKED, "--budget", 1, "--epsilon", 0.5, *asked)
    assert status == 5
    lines = output.splitlines()
    assert len(lines) == len(printed)
    assert all(line.startswith(start) for line, start in zip(lines, printed, strict=True))
    assert "The answers were charged, and are on standard output, without their errors: keep them." in errors
    assert spent(folder) == Fraction(1, 2)
    status, output, errors = jostle(*ASKED, "--epsilon", 0.25, *asked, "--out", "a.json")
    assert (status, output) == (5, "")
    assert "are in a.json, without their errors" in errors
    told = json.loads((folder / "a.json").read_text("utf-8"))
    assert len(told["answers"]) == len(printed) - 1
    assert told["charge"]["amount"] == "1/4"


@pytest.mark.usefixtures("signals_are_heeded")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_whoever_ends_the_command_or_closes_the_terminal_stops_it_as_ctrl_c_does(folder, jostle, monkeypatch, name):
    before = signal.getsignal(getattr(signal, name))
    monkeypatch.setattr("jostle.answers.release.within_95", lambda *_: signal.raise_signal(getattr(signal, name)))
    status, _, errors = jostle(*ASKED, "--budget", 1, "--epsilon", 0.5, "--by", "sex", "--out", "a.csv")
    assert status == 5
    assert errors.startswith("Stopped.\n")
    assert (folder / "a.csv").read_text("utf-8").startswith("sex,count\n")
    assert signal.getsignal(getattr(signal, name)) is before


@pytest.mark.parametrize(
    "where",
    ["jostle.answers.release.Release.rows_at_once", "jostle.cli.delivery._write", "jostle.cli.delivery._print_answers"],
)
def test_stopped_on_the_way_answers_are_handed_over_all_the_same(folder, jostle, monkeypatch, where):
    whole, stops = resolve_name(where), iter([KeyboardInterrupt])

    def stopped(*told, **named):
        for stop in stops:
            raise stop
        return whole(*told, **named)

    monkeypatch.setattr(where, stopped)
    status, _, errors = jostle(*ASKED, "--budget", 1, "--epsilon", 0.5, "--by", "sex", "--out", "a.csv")
    assert status == 5
    assert "The answers were charged, and are in a.csv, without their errors: keep them." in errors
    assert (folder / "a.csv").read_text("utf-8").startswith("sex,count\n")


def test_stopped_before_there_is_an_answer_it_says_where_the_charge_is(folder, jostle, monkeypatch):
    def ctrl_c(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("jostle.kernel.noise.ExactNoise.discrete_laplace", ctrl_c)
    status, output, errors = jostle(*ASKED, "--budget", 1, "--epsilon", 0.5, "--by", "sex", "--algorithm", "Laplace")
    assert (status, output) == (130, "")
    assert errors == "Stopped. What was charged, if anything, is in the ledger: jostle budget budget.db\n"
    assert spent(folder) == Fraction(1, 2)


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (InternalError("ours"), 1),
        (PlanError("of a plan"), 1),
        (BadInput("x", "is", "was"), 2),
        (LedgerError("gone"), 4),
        (EngineError("gone"), 4),
    ],
)
def test_a_fault_in_a_program_is_not_something_that_was_asked_wrongly(failure, code):
    assert exit_code(failure) == code
