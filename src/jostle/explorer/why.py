"""Why: a selector as a tree to walk, a map of what it chooses where, and what ε and the scale change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import numpy as np
from starlette.concurrency import run_in_threadpool

from jostle import plots
from jostle.algorithms import TASKS
from jostle.choice import delphi, selectors
from jostle.choice.features import FEATURES
from jostle.choice.regret_tree import Decision, Leaf, Step, Tree
from jostle.choice.selectors import Selector
from jostle.choice.traces import Trace
from jostle.explorer import inputs, uploads
from jostle.explorer.forms import Form, under_field
from jostle.explorer.inputs import PublicInput
from jostle.explorer.jobs import BackgroundJob, PageFragment
from jostle.explorer.pages import drawn, render
from jostle.kernel.errors import BadInput
from jostle.simulate import measure
from jostle.simulate.results import Results

SHIPPED: Final = "shipped: "
STEPS: Final = 28
"""Points along each side of the map."""

DEEPEST: Final = 14
"""Deeper nodes of a tree are left out of the page."""

SMALL: Final[Mapping[str, dict[str, Any]]] = {
    "range-1d": {"options": ("Laplace", "HB", "Uniform", "AHP", "EFPA"), "sides": (128, 1024)},
    "range-2d": {"options": ("Laplace", "HB", "Uniform", "AGrid", "DPCube"), "sides": (16, 32)},
}
"""What a small selector is trained on: enough to look at, too little to rely on. Its trees are grown large, to be walked."""

EXPONENTS: Final = (5, 8, 11, 14, 17, 20)
MOST_SELECTORS: Final = 50
MOST_SHAPES: Final = 6
TRIALS: Final = 3


def found(files: Sequence[Path]) -> dict[str, Selector]:
    """The selectors to begin with: those that come with jostle, and those in files."""
    names = sorted(selectors.shipped_names(), key=lambda name: name not in TASKS)  # jostle's own before the paper's
    shipped = {f"{SHIPPED}{name}": selectors.shipped(name) for name in names}
    return shipped | {file.name: Selector.load(file) for file in files}


def page_facts(known: Mapping[str, Selector]) -> dict[str, Any]:
    """What the page's form offers."""
    return {
        "selectors": {name: _titled(name, selector.about.task) for name, selector in known.items()},
        "sources": list(inputs.sources().values()),
        "workloads": inputs.WORKLOADS,
        "features": {name: feature.about for name, feature in FEATURES.items() if name != "workload"},
        "tasks": list(TASKS),
    }


def _titled(name: str, task: str) -> str:
    """A selector as the form lists it.

    >>> [_titled(name, "range-1d") for name in ("shipped: range-1d", "shipped: as-published-range-1d", "mine.json")]
    ["jostle's own (one dimension)", 'as published (one dimension)', 'mine.json (one dimension)']
    """
    dimensions = "one dimension" if TASKS[task] == 1 else "two dimensions"
    if name.startswith(SHIPPED):
        name = "jostle's own" if name == f"{SHIPPED}{task}" else "as published"
    return f"{name.removesuffix(f' for {task}')} ({dimensions})"


async def upload(form: Form, known: dict[str, Selector]) -> PageFragment:
    """Add a selector's file to those that can be looked at."""
    file = await form.file("selector_file", uploads.LARGEST_FILE)
    if file is None:
        raise BadInput("selector_file", "no file was chosen", "choose a file that `Selector.save` or `jostle train` wrote")
    name, content = file
    if name not in known and len(known) >= MOST_SELECTORS:
        raise BadInput("selector_file", f"there are {len(known)} already", "start the explorer again to look at others")
    with under_field({}, otherwise="selector_file"):
        known[name] = Selector.loads(uploads.text_of(content, "selector_file"))
    return PageFragment(render("why_added.html", name=name))


def training(known: dict[str, Selector]) -> Callable[[Form], Any]:
    """The work of training a small selector on the public data that are there."""

    async def prepare(form: Form) -> Callable[[BackgroundJob], PageFragment]:
        task = form.choice("task", list(SMALL))

        def work(job: BackgroundJob) -> PageFragment:
            name = f"small one for {task}"
            known[name] = small(task, job)
            return PageFragment(render("why_added.html", name=name))

        return work

    return prepare


def small(task: str, job: BackgroundJob) -> Selector:
    """A selector from a few algorithms on a few inputs."""
    how = SMALL[task]
    offered = [source for source in inputs.sources().values() if source.dimensions == TASKS[task]]
    shapes = {source.name: source.load() for source in offered[:MOST_SHAPES]}
    cells = delphi.inputs(task, shapes, sides=how["sides"], exponents=EXPONENTS)
    todo = measure.jobs(cells, how["options"], trials=TRIALS, seed=0)
    with Results(None) as results, closing(measure.run(todo, results, workers=1)) as outcomes:
        for done, outcome in enumerate(outcomes):
            job.step(done, len(todo) + 1, f"measuring {outcome.algorithm}")
        job.step(len(todo), len(todo) + 1, "growing the trees")
        table = delphi.table_of(task, cells, list(how["options"]), todo, results)
    return selectors.train(table.complete(), least=4.0, prune=False)


async def look(form: Form, known: Mapping[str, Selector]) -> PageFragment:
    """The walk of one public input through a selector, and the map around it."""
    if not known:
        raise BadInput("selector", "there is none yet", "train a small one below, or upload one")
    name = form.choice("selector", list(known))
    given = await inputs.read(form)
    selector = known[name]
    if selector.about.task != given.task:
        raise BadInput(
            "dataset", f"is for {given.task}, the selector for {selector.about.task}", "choose another of the two"
        )
    axes = [form.choice(axis, ["", *FEATURES]) for axis in ("across", "along")]
    number = form.whole("tree", 1, 100, default=1) - 1
    return await run_in_threadpool(_looked, selector, given, axes, number)


def _looked(selector: Selector, given: PublicInput, axes: Sequence[str], number: int) -> PageFragment:
    across, along = _axes(selector, axes)
    needed = dict.fromkeys((*selector.needs, across, along))
    values = {name: FEATURES[name].value(given.data, given.workload, given.epsilon) for name in needed}
    decision = selector.decide(values.__getitem__)
    figures = {"regrets": regret_figure(decision), "map": map_figure(selector, values, across, along)}
    trees = selector.trees[selector.about.classes[int(values["workload"])]]
    html = render(
        "why_result.html",
        given=given,
        decision=decision,
        asked=asked(selector, decision, given.epsilon),
        cost=sum(price or 0.0 for _, price in asked(selector, decision, given.epsilon)),
        named=selector.about.classes[int(values["workload"])],
        about={name: FEATURES[name] for name in values},
        features={name: feature.about for name, feature in FEATURES.items()},
        tree=nested(trees[number % len(trees)], values, selector.about.options),
        number=number % len(trees) + 1,
        trees=len(trees),
        notes=[note for name, value in values.items() for note in selector.about.notes(name, value)],
        selector=selector,
    )
    return PageFragment(html, drawn(figures))


def asked(selector: Selector, decision: Decision, epsilon: float) -> list[tuple[Step, float | None]]:
    """Each question of a walk, and what Pythia would pay for it: 0 if it is public, None if it is asked again."""
    private = [name for name in selector.needs if FEATURES[name].private]
    share = float(selector.about.rho) * epsilon / max(len(private), 1)
    found: list[tuple[Step, float | None]] = []
    paid = set[str]()
    for step in decision.path:
        if step.feature == "workload":
            continue
        price = None if step.feature in paid else share if step.feature in private else 0.0
        paid.add(step.feature)
        found.append((step, price))
    return found


def walked(trace: Trace) -> dict[str, Any] | None:
    """The tree of a choice that was made and paid for, with the branches that its noisy answers took; None without one.

    Only the selector for the task that comes with jostle is known here. Of several trees that vote, the first is shown.
    """
    selector = selectors.find(None, trace.task, trace.measure) if trace.task in TASKS else None
    values = {seen.name: seen.value for seen in trace.features}
    if not trace.regrets or selector is None or "workload" not in values:
        return None
    trees = selector.trees[selector.about.classes[int(values["workload"])]]
    return nested(trees[0], values, selector.about.options)


def nested(tree: Tree, values: Mapping[str, float], options: Sequence[str]) -> dict[str, Any]:
    """A tree for the template: questions with their two branches, and the branch that these values take."""

    def node(number: int, depth: int, taken: bool) -> dict[str, Any]:
        here = tree[number]
        if isinstance(here, Leaf):
            facts = {"leaf": options[here.choice], "optimal": here.optimal, "inputs": here.inputs, "taken": taken}
            return facts | {"regret": here.regrets[here.choice]}
        if depth > DEEPEST:
            return {"more": True, "taken": taken}
        low = values.get(here.feature, 0.0) <= here.at  # what was not asked is not on the way
        branches = [node(here.low, depth + 1, taken and low), node(here.high, depth + 1, taken and not low)]
        return {"feature": here.feature, "at": here.at, "branches": branches, "taken": taken}

    return node(0, 0, True)


def regret_figure(decision: Decision) -> Any:
    """What each option is expected to cost on inputs like this one."""
    ranked = sorted(decision.regrets.items(), key=lambda item: item[1])
    figure = plots.new("How far off each option is expected to be", x="error, relative to the best option", log_x=True)
    colours = [plots.ACCENT if name == decision.choice else plots.PALE for name, _ in ranked]
    words = [f"{value:.3g}" for _, value in ranked]
    figure.add_bar(
        x=[value for _, value in ranked],
        y=[n for n, _ in ranked],
        orientation="h",
        marker_color=colours,
        text=words,
        textangle=0,
    )
    figure.update_yaxes(autorange="reversed", type="category")
    return figure.update_layout(height=120 + 26 * len(ranked))


def map_figure(selector: Selector, values: Mapping[str, float], across: str, along: str) -> Any:
    """Which option wins where, over two features; the others stay as they are."""
    ranges = [_span(selector, name, values[name]) for name in (across, along)]
    picked = np.empty((STEPS, STEPS), dtype=np.int64)
    names: list[str] = []

    for row, upward in enumerate(ranges[1]):
        for column, sideways in enumerate(ranges[0]):
            choice = selector.decide({**values, across: float(sideways), along: float(upward)}.__getitem__).choice
            if choice not in names:
                names.append(choice)
            picked[row, column] = names.index(choice)
    return _coloured(picked, names, ranges, values, (across, along))


def _coloured(
    picked: Any, names: list[str], ranges: Sequence[Any], values: Mapping[str, float], axes: tuple[str, str]
) -> Any:
    x, y = (FEATURES[name].about for name in axes)
    figure = plots.new("Which option wins where", x=x, y=y, log_x=True, log_y=True)
    shades = [plots.PALETTE[place % len(plots.PALETTE)] for place in range(len(names))]
    scale = [(edge, shade) for place, shade in enumerate(shades) for edge in (place / len(names), (place + 1) / len(names))]
    figure.add_heatmap(
        z=picked,
        x=ranges[0],
        y=ranges[1],
        zmin=-0.5,
        zmax=len(names) - 0.5,
        colorscale=scale,
        showscale=False,
        opacity=0.75,
        text=np.array(names)[picked],
        hovertemplate="%{text}<extra></extra>",
    )
    for name, shade in zip(names, shades, strict=True):  # a legend: a map of names has none by itself
        figure.add_scatter(
            x=[None], y=[None], mode="markers", marker={"size": 11, "color": shade, "symbol": "square"}, name=name
        )
    star = {"size": 15, "color": "#ffffff", "symbol": "star", "line": {"color": "#000000", "width": 1.5}}
    figure.add_scatter(x=[values[axes[0]]], y=[values[axes[1]]], mode="markers", marker=star, name="this input")
    return figure.update_layout(height=440)


def _axes(selector: Selector, wanted: Sequence[str]) -> tuple[str, str]:
    """Those that were asked for; else what the selector looks at, and scale and domain where that is too little."""
    ranked = dict.fromkeys([*(name for name in wanted if name), *selector.needs, "scale", "domain"])
    across, along = [name for name in ranked if name != "workload"][:2]
    return across, along


def _span(selector: Selector, name: str, value: float) -> Any:
    """From the least to the largest value that training saw, or that makes sense, with room for this one."""
    most = selector.about.scales[1]
    spans = {"scale": selector.about.scales, "domain": selector.about.cells, "nonzeros": (1.0, selector.about.cells[1])}
    low, high = spans.get(name, {"length": (1e-4, 1.0), "queries": (1.0, 1e4)}.get(name, (1.0, most)))
    return np.geomspace(max(min(low, value), 1e-4), max(high, value, 1e-3), STEPS)
