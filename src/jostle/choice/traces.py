"""Traces: what a choice saw, how it went, what it expected and what it cost, in one object that prints, plots and travels.

A trace holds public facts and noisy values that were paid for, nothing else: it can be published with the release.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from html import escape
from typing import Any, Final

from jostle import plots
from jostle.choice import files
from jostle.choice.files import Entries
from jostle.kernel.budget import PURE, SYMBOLS, exact
from jostle.kernel.errors import BadInput, show

FORMAT: Final = "jostle trace"
SCHEMA: Final = 1

_collecting: ContextVar[list[Trace] | None] = ContextVar("jostle_traces", default=None)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A feature as a choice saw it."""

    name: str
    value: float
    """Its value at ε = 1, by exchange; noisy if it was paid for."""

    epsilon: Fraction = Fraction(0)
    """What was paid for it, in the trace's measure; 0 if it is public."""

    noise: float = 0.0
    """The scale of the noise on the value."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One choice of an algorithm."""

    task: str
    """What the data were used for."""

    selector: str
    """What chose: a kind of selector, or the public rule."""

    choice: str
    """The algorithm that was run."""

    epsilon: Fraction
    """The whole budget, in its measure."""

    remainder: Fraction
    """What of it went to the algorithm."""

    features: tuple[Seen, ...] = ()
    """Every question and its answer, in order."""

    path: tuple[str, ...] = ()
    """The steps of the walk, in words."""

    regrets: dict[str, float] = field(default_factory=dict)
    """The expected regret of each option on inputs like this one."""

    projection: str = ""
    """How the estimate was projected on what the features say; empty if it was not."""

    notes: tuple[str, ...] = ()
    """What to be aware of: values outside of the training range, options that have changed since."""

    measure: str = PURE
    """What all amounts are of: pure ε, or ρ."""

    def dumps(self) -> str:
        """The trace as JSON; amounts are exact fractions, of ε unless it has a measure."""
        shown = asdict(self) | {"epsilon": str(self.epsilon), "remainder": str(self.remainder)}
        if self.measure == PURE:
            del shown["measure"]
        shown["features"] = [asdict(seen) | {"epsilon": str(seen.epsilon)} for seen in self.features]
        return json.dumps({"format": FORMAT, "schema": SCHEMA} | shown, indent=1, ensure_ascii=False, allow_nan=False)

    @staticmethod
    def loads(text: str) -> Trace:
        """Read one back.

        >>> trace = Trace(task="range-1d", selector="rule", choice="HB", epsilon=Fraction(1), remainder=Fraction(1))
        >>> Trace.loads(trace.dumps()) == trace
        True
        """
        entries = files.parse(text, "trace")
        if not entries.is_format(FORMAT) or entries.whole("schema", 0, 10**6) != SCHEMA:
            raise BadInput("trace", f"is not a trace of schema {SCHEMA}", "pass what `Trace.dumps` gave")
        regrets = entries.table("regrets")
        found = Trace(
            task=entries.text("task"),
            selector=entries.text("selector"),
            choice=entries.text("choice"),
            epsilon=_amount(entries, "epsilon"),
            remainder=_amount(entries, "remainder"),
            features=tuple(_seen(one) for one in entries.each("features")),
            path=entries.texts("path"),
            regrets={name: regrets.number(name) for name in regrets.names},
            projection=entries.text("projection"),
            notes=entries.texts("notes"),
            measure=entries.text("measure") if "measure" in entries.names else PURE,
        )
        if found.measure not in SYMBOLS:
            raise BadInput("trace", "is in a measure that this jostle does not know", "upgrade jostle")
        entries.done()
        return found

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table

        walk = Table(
            "question",
            "value",
            "noise",
            SYMBOLS[self.measure],
            title=f"{self.choice}, chosen by {self.selector} for {self.task}",
        )
        for seen in self.features:
            paid = show(seen.epsilon) if seen.epsilon else "public"
            walk.add_row(seen.name, f"{seen.value:.6g}", f"±{seen.noise:.3g}" if seen.noise else "none", paid)
        walk.add_row(f"[bold]{self.choice}[/bold]", "", "", show(self.remainder))
        options = Table("option", "expected regret")
        for name, regret in sorted(self.regrets.items(), key=lambda item: item[1]):
            options.add_row(f"[bold]{name}[/bold]" if name == self.choice else name, f"{regret:.3g}")
        lines = [f"path: {' → '.join(self.path)}"] if self.path else []
        lines += [f"projection: {self.projection}"] if self.projection else []
        return Group(walk, *lines, *self.notes, *([options] if self.regrets else []))

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(seen.name)}</td><td>{seen.value:.6g}</td><td>±{seen.noise:.3g}</td><td>{show(seen.epsilon)}</td></tr>"
            for seen in self.features
        )
        head = f"<tr><th>question</th><th>value</th><th>noise</th><th>{SYMBOLS[self.measure]}</th></tr>"
        chosen = f"<tr><th>{escape(self.choice)}</th><td></td><td></td><td>{show(self.remainder)}</td></tr>"
        said = f"{self.choice}, chosen by {self.selector} for {self.task}. {' → '.join(self.path)}"
        return f"<p>{escape(said)}</p><table>{head}{rows}{chosen}</table>"

    def plot(self) -> Any:
        """A Plotly figure: how far off each option was expected to be, and below the title where the budget went."""
        ranked = sorted(self.regrets.items(), key=lambda item: item[1]) or [(self.choice, 1.0)]
        figure = plots.new(f"Why {self.choice}", x="expected error, relative to the best option", log_x=True)
        figure.add_bar(
            x=[regret for _, regret in ranked],
            y=[name for name, _ in ranked],
            orientation="h",
            marker_color=[plots.ACCENT if name == self.choice else plots.MUTED for name, _ in ranked],
        )
        figure.update_yaxes(autorange="reversed", type="category").update_layout(height=150 + 24 * len(ranked))
        return plots.captioned(figure, self.shares, self.notes)

    @property
    def shares(self) -> str:
        """Where the budget went, in words: to each question that was paid for, and to the algorithm."""
        parts = [(seen.name, seen.epsilon) for seen in self.features if seen.epsilon] + [(self.choice, self.remainder)]
        if len(parts) == 1:
            return f"{SYMBOLS[self.measure]} = {show(self.epsilon)}, all of it on {self.choice}"
        spent = ", ".join(f"{100 * float(part / self.epsilon):.3g} % on {name}" for name, part in parts)
        return f"{SYMBOLS[self.measure]} = {show(self.epsilon)}: {spent}"


@contextmanager
def collect_traces() -> Iterator[list[Trace]]:
    """Every choice that is made inside adds its trace to the list; simulations add one per run.

    Collectors nest: what an inner one has found, an outer one has too, once the inner one is done.

    >>> from jostle import simulate, workloads
    >>> with collect_traces() as traces:
    ...     errors = simulate.errors("Pythia", [3, 0, 4], workloads.identity(3), 1, trials=2, seed=0)
    >>> len(traces)
    2
    """
    found: list[Trace] = []
    outer = _collecting.get()
    token = _collecting.set(found)
    try:
        yield found
    finally:
        _collecting.reset(token)
        if outer is not None:
            outer.extend(found)


def collecting() -> bool:
    """Whether anybody wants traces."""
    return _collecting.get() is not None


def record(trace: Trace) -> None:
    """Give a trace to whoever collects them."""
    found = _collecting.get()
    if found is not None:
        found.append(trace)


def _seen(one: Entries) -> Seen:
    name, value = one.text("name"), one.number("value")
    seen = Seen(name=name, value=value, epsilon=_amount(one, "epsilon"), noise=one.number("noise", 0.0))
    one.done()
    return seen


def _amount(entries: Entries, name: str) -> Fraction:
    return exact(entries.text(name), f"trace.{name}", zero=True)
