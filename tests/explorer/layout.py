"""What is wrong with how a page looks: found from the boxes of its elements, which do not depend on pixels or fonts."""

from __future__ import annotations

from typing import Any

SHOWN = """
const shown = (e) => e.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
const own = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
const name = (e) => `${e.tagName.toLowerCase()} ${(e.textContent || e.name || "").trim().slice(0, 40)}`;
"""

FAULTS = (
    SHOWN
    + """
const faults = [], wide = innerWidth;
if (document.documentElement.scrollWidth > wide) faults.push(`the page is ${document.documentElement.scrollWidth} wide`);
const scrolls = (e) => e.closest(".scroll, pre, .tree");
const texts = [...document.querySelectorAll("body *")].filter((e) => own(e) && shown(e) && !e.closest("svg, option, .skip"));
for (const e of texts) {
  const box = e.getBoundingClientRect();
  if (!scrolls(e) && (box.right > wide + 1 || box.left < -1)) faults.push(`outside: ${name(e)}`);
  const cut = e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === "hidden";
  if (!scrolls(e) && cut) faults.push(`cut: ${name(e)}`);
}
// Words of one line may be in several elements; those of two lines must not lie on each other.
const overlap = (list, what) => {
  const boxes = list.flatMap((e) => [...e.getClientRects()].map((box) => [e, box])).filter(([, b]) => b.width && b.height);
  boxes.forEach(([one, a], place) => {
    for (const [other, b] of boxes.slice(place + 1)) {
      if (one.contains(other) || other.contains(one)) continue;
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 3 && down > 3) faults.push(`${what}: ${name(one)} / ${name(other)}`);
    }
  });
};
overlap(texts.filter((e) => !scrolls(e)), "on each other");
for (const plot of document.querySelectorAll(".js-plotly-plot")) {
  const words = ".gtitle, .gtitle-subtitle, .legendtext, .xtitle, .ytitle, .annotation-text";
  overlap([...plot.querySelectorAll(words)], "in a figure");
}
// What is clicked is as large as a finger, or has a label that is.
const size = (e) => { const b = e.getBoundingClientRect(); return Math.min(b.height, Math.max(b.width, 44)); };
const targets = 'button, select, textarea, summary, input:not([type="hidden"]), nav a, .brand, a.button, .plain a, .paths a';
for (const e of document.querySelectorAll(targets)) {
  if (!shown(e) || e.closest(".js-plotly-plot")) continue;
  const place = e.type === "checkbox" ? e.closest("label, td") ?? e : e;
  if (size(place) < 43.5) faults.push(`small (${size(place).toFixed()}): ${name(e)} ${e.name ?? ""}`);
}
return [...new Set(faults)];
"""
)

BOXES = (
    SHOWN
    + """
const round = (b) => [b.left, b.top + scrollY, b.width, b.height].map((n) => Math.round(n));
return [...document.querySelectorAll("body *:not(svg *, script, option, .modebar, .modebar *)")].filter(shown)
  .map((e) => `${e.tagName} ${round(e.getBoundingClientRect())}`);
"""
)


def look(driver: Any, width: int, *, dark: bool = False) -> None:
    """Make the window so wide, by day or by night."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    night = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [night]})


LESS_PICTURE = """
const [picture, across, down] = arguments, done = arguments[3], image = new Image();
image.onload = () => {
  const canvas = Object.assign(document.createElement("canvas"), { width: across, height: down });
  const pen = canvas.getContext("2d");
  pen.imageSmoothingQuality = "high";
  let drawn = image, wide = image.width, high = image.height;
  for (; wide > 2 * across && high > 2 * down; wide = Math.ceil(wide / 2), high = Math.ceil(high / 2)) {
    const half = document.createElement("canvas");
    Object.assign(half, { width: Math.ceil(wide / 2), height: Math.ceil(high / 2) });
    half.getContext("2d").drawImage(drawn, 0, 0, half.width, half.height);
    drawn = half;
  }
  pen.drawImage(drawn, 0, 0, across, down);
  const of = pen.getImageData(0, 0, across, down).data;
  done([...Array(across * down).keys()].map((n) => Math.round((of[4 * n] + of[4 * n + 1] + of[4 * n + 2]) / 3)));
};
image.src = "data:image/png;base64," + picture;
"""

ACROSS, DOWN = 24, 30


def seen_from_afar(driver: Any) -> list[int]:
    """A screenshot, so small that letters become grey: where things are, and how dark. Other fonts change it little."""
    driver.execute_script("window.scrollTo(0, 0); document.activeElement.blur()")
    found: list[int] = driver.execute_async_script(LESS_PICTURE, driver.get_screenshot_as_base64(), ACROSS, DOWN)
    return found


def apart(one: list[int], other: list[int]) -> float:
    """How different two pictures are: the mean difference of their greys, of 255.

    >>> apart([0, 255], [10, 255])
    5.0
    """
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) / len(one)


def as_before(driver: Any) -> None:
    """The window of the other tests."""
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def faults(driver: Any) -> list[str]:
    """What lies outside, on each other, or is too small to hit; nothing for a page that is well."""
    found: list[str] = driver.execute_script(FAULTS)
    return found


def boxes(driver: Any) -> list[str]:
    """Where everything is, to compare a page with itself."""
    found: list[str] = driver.execute_script(BOXES)
    return found
