"""What the tests of commands share: a command that is called in this process, and somebody who interrupts it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from jostle.cli.main import main
from jostle.simulate import measure


@pytest.fixture
def jostle(monkeypatch, capsys) -> Callable[..., tuple[object, str, str]]:
    """Call the command; gives its exit status, standard output and standard error."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: object) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["jostle", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    return call


@pytest.fixture
def interrupted_after(monkeypatch) -> Callable[[int], AbstractContextManager[list[str]]]:
    """In such a context, Ctrl-C is pressed after so many measurements; it gives their keys."""

    @contextmanager
    def after(number: int) -> Iterator[list[str]]:
        whole = measure.measure
        done: list[str] = []

        def counted(job):
            if len(done) == number:
                raise KeyboardInterrupt
            done.append(job.key)
            return whole(job)

        with monkeypatch.context() as patch:
            patch.setattr(measure, "measure", counted)
            yield done

    return after
