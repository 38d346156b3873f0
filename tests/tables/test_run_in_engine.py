"""Several threads that ask several engines at once."""

from __future__ import annotations

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from jostle.tables.run_in_engine import EngineError, run_in_engine


class Backend:
    pass


def test_no_warning_of_an_engine_is_shown_while_another_is_asked_and_filters_stay():
    """The one who came first leaves first: the other is still inside, and restores the filters."""
    before = list(warnings.filters)
    first_in, second_in, first_out = (threading.Event() for _ in range(3))

    def first():
        first_in.set()
        second_in.wait(10)

    def second():
        second_in.set()
        first_out.wait(10)
        warnings.warn("a private value", stacklevel=1)

    with warnings.catch_warnings(record=True) as shown, ThreadPoolExecutor(2) as pool:
        warnings.simplefilter("always")
        inside = list(warnings.filters)
        one = pool.submit(run_in_engine, "testing", first, Backend())
        first_in.wait(10)
        other = pool.submit(run_in_engine, "testing", second, Backend())
        one.result(10)
        first_out.set()
        other.result(10)
        assert (shown, list(warnings.filters)) == ([], inside)
    assert list(warnings.filters) == before


def test_filters_stay_where_an_engine_fails():
    before = list(warnings.filters)
    with pytest.raises(EngineError):
        run_in_engine("testing", lambda: run_in_engine("testing", lambda: 1 / 0))
    assert list(warnings.filters) == before
