"""Words of a command line that Typer need not convert: they are what Typer would make of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from jostle.cli.main import COMMANDS, _commands_to_load, app, with_commands
from jostle.cli.options import _NOT_PLAIN, _plain

WORDS = [None, "", "x", "a,b", "ü", "\udcff", "-", "3", "0.5", "text", "TEXT", "json", "true", " x ", "x\0y", "./there.txt"]


def commands(group: Any) -> Iterator[Any]:
    for command in group.commands.values():
        yield from commands(command) if hasattr(command, "commands") else [command]


def test_words_are_what_typer_makes_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there.txt").write_text("", "utf-8")
    whole = get_command(app)
    taken = 0
    for command in [whole, *commands(whole)]:
        for parameter in [one for one in command.params if one.callback is None]:
            several = parameter.multiple or parameter.nargs == -1
            for word in WORDS:
                value = word if not several or word is None else (word, "y")[: len(word)]
                quick = _plain(parameter, parameter.type_descriptor, value)
                if quick is _NOT_PLAIN:
                    continue
                usual = type(parameter).process_value(parameter, None, value)
                assert (quick, type(quick)) == (usual, type(usual)), (command.name, parameter.name, word)
                taken += 1
    assert taken > 500


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["release"], "Missing argument"),
        (["release", "people.csv"], "Missing option '--schema'"),
        (["release", "people.csv", "--schema", "people.toml", "--within", "near"], "--within"),
        (["release", "people.csv", "--schema", "people.toml", "--format", "xml"], "--format"),
        (["release", "--no-such-option"], "No such option"),
        (["relaese"], "No such command"),
    ],
)
def test_what_typer_refuses_is_refused(arguments: list[str], message: str, jostle: Any) -> None:
    status, _, error = jostle(*arguments)
    assert status == 2
    assert message in " ".join(error.split())


def test_each_command_helps_by_itself_as_among_all(jostle: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in COMMANDS:
        status, alone, _ = jostle(name, "--help")
        assert status == 0
        monkeypatch.setattr("jostle.cli.main._commands_to_load", lambda _: COMMANDS)
        assert jostle(name, "--help")[1] == alone
        monkeypatch.undo()
        monkeypatch.setenv("COLUMNS", "200")
    assert all(f" {name} " in jostle("--help")[1] for name in COMMANDS)


def test_all_commands_are_there_where_it_is_not_plain_which_is_meant() -> None:
    for arguments in ([], ["--help"], ["--use", "release", "demo"], ["--version"], ["nothing"], ["--use=x.py", "demo"]):
        assert _commands_to_load(arguments) == COMMANDS
    assert _commands_to_load(["--quiet", "budget", "show"]) == ["budget"]
    assert [*get_command(with_commands("demo")).commands] == ["demo"]  # type: ignore[attr-defined]


def test_modules_have_nothing_but_what_they_have() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        sys.modules["jostle.cli.main"].nothing  # noqa: B018  # that is what is tested


def test_refusals_name_options_and_the_file(jostle: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age,sex\n3,F\n", "utf-8")
    Path("people.toml").write_text('[columns.age]\nkind = "integer"\nlow = 0\nhigh = 9\n', "utf-8")
    release = ["release", "people.csv", "--schema", "people.toml", "--epsilon", "1"]
    for words, message in [
        ([*release, "--ledger", "budget.db"], "jostle: --budget: is missing, and the ledger has no account 'people'"),
        ([*release, "--ledger", "budget.db"], "--budget 1."),
        ([*release, "--ledger", "l.db", "--budget", "1", "--unit", "x:y"], "--unit person_id:3"),
        (["release", "none.csv", "--schema", "people.toml", "--epsilon", "1", "--ledger", "l.db"], "none.csv: "),
        (["--use", "nothing.py", "demo"], "--use: "),
    ]:
        status, _, error = jostle(*words)
        assert status == 2, error
        assert message in " ".join(error.split()), words


def test_a_switch_has_no_type_in_the_help() -> None:
    output = CliRunner().invoke(app, ["budget", "show", "--help"]).output
    assert "--wide" in output
    assert "<bool>" not in output
