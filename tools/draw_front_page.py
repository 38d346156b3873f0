"""Draw docs/images/front-page.svg: the same questions, answered by eight algorithms at the same ε, on public data.

The questions: how many people earn at most $10, $20, … $5,120 a week? A bar holds 95 % of the errors of all 512 answers over
many simulated runs. The dot is the answer of one run to one of the questions. One of the eight is what jostle chooses, with
the price of the choice included. The seed is fixed, so the picture changes only when an algorithm does.

Run `python tools/draw_front_page.py`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from jostle import simulate, workloads
from jostle.choice.traces import collect_traces
from jostle.datasets import weekly_income

TARGET = Path(__file__).resolve().parent.parent / "docs" / "images" / "front-page.svg"
OTHERS = ("HB", "DAWA", "GreedyH", "Laplace", "Privelet", "H", "AHP")
EPSILON, TRIALS, SEED, SHOWN = 0.1, 200, 0, 74  # the dot: up to $750 a week

WIDTH, LEFT, RIGHT, TOP, ROW = 720, 170, 90, 100, 30
STYLE = """
text { font: 15px system-ui, sans-serif; fill: #1f2430 } .small { font-size: 13px }
.title { font-size: 18px; font-weight: 600 }
.other { stroke: #8a93a3; fill: #8a93a3 } .jostle { stroke: #0072b2; fill: #0072b2 } .truth { stroke: #d55e00 }
.jostle-name { fill: #0072b2; font-weight: 600 } text.truth { stroke: none; fill: #d55e00 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e9ef } .jostle, .jostle-name { fill: #56b4e9 } .jostle { stroke: #56b4e9 }
  line.truth { stroke: #e69f00 } text.truth { fill: #e69f00 }
}"""


def errors(name: str) -> tuple[np.ndarray, list[str]]:
    """How far off each answer is, with one row per simulated run; and what was chosen in each run, if there was a choice."""
    income, totals = weekly_income(cells=512), workloads.prefix(512)
    with collect_traces() as traces:
        runs = np.concatenate(list(simulate.estimates(name, income, totals, EPSILON, trials=TRIALS, seed=SEED)))
    return totals @ runs - totals @ income, [str(trace.choice) for trace in traces]


def row(label: str, off: np.ndarray, reach: float, y: float) -> list[str]:
    """A label, a bar, a dot and a number."""
    kind = "jostle" if label.startswith("jostle") else "other"
    low, high = np.quantile(off, [0.025, 0.975])
    left, right, dot = (LEFT + (WIDTH - LEFT - RIGHT) * (x + reach) / (2 * reach) for x in (low, high, off[0, SHOWN]))
    thick, radius = (7, 8) if kind == "jostle" else (3, 5)
    across = f'x1="{left:.1f}" x2="{right:.1f}" y1="{y}" y2="{y}"'
    return [
        f'<text class="{kind}-name" text-anchor="end" x="{LEFT - 14}" y="{y + 5}">{label}</text>',
        f'<line class="{kind}" stroke-width="{thick}" stroke-linecap="round" {across}/>',
        f'<circle class="{kind}" r="{radius}" cx="{dot:.1f}" cy="{y}"/>',
        f'<text class="small" x="{WIDTH - RIGHT + 14}" y="{y + 5}">± {(high - low) / 2:,.0f}</text>',
    ]


def drawn(rows: list[tuple[str, np.ndarray]]) -> str:
    """The picture: one row per algorithm, the most accurate first, and the truth as a dashed line."""
    rows = sorted(rows, key=lambda one: float(np.subtract(*np.quantile(one[1], [0.975, 0.025]))))
    reach = 1.05 * max(float(np.abs(np.quantile(off, [0.025, 0.975])).max()) for _, off in rows)
    bottom, middle = TOP + ROW * len(rows), LEFT + (WIDTH - LEFT - RIGHT) / 2
    bars = [part for number, (label, off) in enumerate(rows) for part in row(label, off, reach, TOP + ROW * (number + 0.5))]
    subtitle = f"{len(rows)} algorithms, the same privacy (ε = {EPSILON:g}). Bars hold 95 % of the errors, in people."
    down = f'x1="{middle}" x2="{middle}" y1="{TOP - 12}" y2="{bottom}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 16}" role="img">',
            f"<title>Errors of {len(rows)} algorithms on the same questions; jostle chose one of them</title>",
            f"<style>{STYLE}</style>",
            '<text class="title" x="16" y="28">How many people earn at most $10, $20, … $5,120 a week?</text>',
            f'<text class="small" x="16" y="50">{subtitle}</text>',
            f'<line class="truth" stroke-dasharray="5 4" stroke-width="2" {down}/>',
            f'<text class="small truth" text-anchor="middle" x="{middle}" y="{TOP - 18}">true number</text>',
            *bars,
            "</svg>\n",
        ]
    )


def main() -> None:
    """Simulate and draw."""
    own, choices = errors("Pythia")
    chosen = max(set(choices), key=choices.count)
    TARGET.write_text(drawn([(f"jostle: {chosen}", own), *((name, errors(name)[0]) for name in OTHERS)]), "utf-8")


if __name__ == "__main__":
    main()
