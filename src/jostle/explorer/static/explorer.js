// What the pages do: send forms, follow work in the background, draw figures, and say what went wrong where one looks.
"use strict";

const secret = localStorage.getItem("jostle"); // kept by entered.js
if (secret === null) location.replace("/enter");
// Plotly would put a button on every figure that uploads it to its makers.
const CONFIG = { responsive: true, showSendToCloud: false, plotlyServerURL: "", displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d"] };
// Not form.dataset: a field of that name would hide it.
const option = (form, name) => form.getAttribute(`data-${name}`);
const HEIGHT = 420; // of a figure that does not say its own
const LARGEST = 6 * 2 ** 20; // bytes of a file
const DARK = JSON.parse(document.querySelector('meta[name="dark-colours"]').content); // each colour, and what it is on a dark ground
const night = matchMedia("(prefers-color-scheme: dark)");
const PAUSE = 250; // milliseconds after the last change of a form, before its preview follows
const running = new Set(); // jobs that this page started and that may be stopped
const drawn = new Map(); // for each place that holds results: the figures in it, by name

async function talk(path, body) {
  let answer;
  try {
    answer = await fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers: { "X-Jostle-Secret": secret, Accept: "application/json" },
      body,
    });
  } catch {
    throw { error: "The explorer does not answer. Is it still running in its terminal? What you typed is still here.", field: "" };
  }
  let told = {};
  try { told = await answer.json(); } catch { told = { error: "The explorer's answer could not be read. Try again." }; }
  if (!answer.ok) throw { error: told.error || "This did not work. Try again.", field: told.field || "" };
  return told;
}

// What a form holds. A file that the explorer would refuse is not sent: it would hang up in the middle.
function filledIn(form) {
  for (const field of form.querySelectorAll('input[type="file"]')) for (const file of field.files) {
    if (file.size > LARGEST) throw { error: `Is larger than ${LARGEST / 2 ** 20} MB. Choose a smaller file.`, field: field.name };
  }
  return new FormData(form);
}

// Plotly is large. It is loaded when the page can be used already, and figures wait for it.
let library = null;
function plotly() {
  library ??= new Promise((ready, fail) => {
    const script = document.createElement("script");
    Object.assign(script, { src: "/static/plotly.js", onload: ready, onerror: () => { library = null; fail(); } });
    document.head.append(script);
  });
  return library;
}

// ------------------------------------------------------------------------------------------------------- messages

function clear(form) {
  for (const place of form.querySelectorAll("[data-wrong]")) { place.hidden = true; place.textContent = ""; }
  for (const field of form.querySelectorAll("[aria-invalid]")) { field.removeAttribute("aria-invalid"); field.removeAttribute("aria-describedby"); }
  const alert = form.querySelector("[data-alert]");
  if (alert) { alert.hidden = true; alert.textContent = ""; }
}

function complain(form, problem, focus) {
  const words = problem.error || String(problem);
  const name = (problem.field || "").replace(/\[.*/, "");
  const place = name && form.querySelector(`[data-wrong="${CSS.escape(name)}"]`);
  const field = name && form.querySelector(`[name="${CSS.escape(name)}"]`);
  const target = place || form.querySelector("[data-alert]");
  target.textContent = !place && name ? `${name}: ${words}` : words;
  target.hidden = false;
  for (let up = target.parentElement; up && up !== form; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
  if (place && field) {
    field.setAttribute("aria-invalid", "true");
    if (place.id) field.setAttribute("aria-describedby", place.id);
    if (focus) field.focus();
  }
  target.scrollIntoView({ block: "nearest" });
}

// -------------------------------------------------------------------------------------------------------- results

function show(place, told, keepView) {
  for (const old of place.querySelectorAll(".js-plotly-plot")) Plotly.purge(old);
  const open = keepView ? place.scrollTop : 0;
  place.innerHTML = told.html;
  drawn.set(place, told.figures || {});
  replace(place);
  for (const figure of place.querySelectorAll("[data-figure]")) draw(place, figure);
  for (const part of place.querySelectorAll("[data-collapse]")) {
    const shut = document.getElementById(part.dataset.collapse);
    if (!keepView || !shut.contains(document.activeElement)) shut.open = false; // not under the hands of who types already
  }
  for (const part of place.querySelectorAll("[data-clear]")) for (const id of part.dataset.clear.split(" ")) document.getElementById(id).innerHTML = "";
  if (place.querySelector("[data-reload]")) setTimeout(() => location.reload(), 700);
  prepare(place);
  if (!keepView) place.scrollIntoView({ block: "nearest" });
  place.scrollTop = open;
}

// Parts of the page that lie elsewhere: what the ledger says, and what was released so far.
function replace(root) {
  for (const change of root.querySelectorAll("template[data-replace]")) {
    const old = document.querySelector(change.dataset.replace);
    if (old) old.innerHTML = change.innerHTML;
  }
}

async function draw(place, element) {
  const text = drawn.get(place)[element.dataset.figure];
  if (!text) return;
  await plotly();
  if (!element.isConnected || drawn.get(place)[element.dataset.figure] !== text) return; // something newer came in the meantime
  const figure = JSON.parse(night.matches ? text.replace(/#[0-9a-f]{6}\b/g, (colour) => DARK[colour] ?? colour) : text);
  if (night.matches) darken(figure.layout);
  const narrow = isNarrow(element);
  element.dataset.narrow = narrow;
  if (narrow) fitNarrow(figure);
  element.style.height = `${figure.layout.height || HEIGHT}px`; // the place has the height, so that the figure can follow its width
  delete figure.layout.height;
  figure.layout.autosize = true;
  Plotly.newPlot(element, figure.data, figure.layout, { ...CONFIG, displayModeBar: narrow ? false : "hover" });
}

// Where it is dark, figures have no ground of their own.
function darken(layout) {
  layout.modebar = { bgcolor: "rgba(0,0,0,0)", color: "#7d8696", activecolor: "#e6e9ef" };
  layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
  for (const [name, axis] of Object.entries(layout)) if (/^[xy]axis\d*$/.test(name)) Object.assign(axis, { gridcolor: "#343b48", zerolinecolor: "#4a5262", linecolor: "#7d8696" });
}

function redraw(when) {
  for (const [place] of drawn) for (const element of place.querySelectorAll(".js-plotly-plot")) if (when(element)) draw(place, element);
}
night.addEventListener("change", () => redraw(() => true));

const isNarrow = (element) => element.clientWidth < 480;

// A phone that is turned, or a window that is made small, gets the figures that fit it.
addEventListener("resize", () => redraw((element) => element.dataset.narrow !== String(isNarrow(element))));

// On a phone, long words are broken into lines, and the legend goes below, where it has room.
function fitNarrow({ data, layout }) {
  const broken = (title, least = 24) => { if (title?.text) title.text = title.text.replace(new RegExp(`(.{${least},}?) `, "g"), "$1<br>"); };
  const lines = (title) => (title?.text ? title.text.split("<br>").length : 0);
  broken(layout.title);
  broken(layout.title?.subtitle, 30);
  broken(layout.xaxis?.title);
  const named = layout.showlegend === false ? 0 : data.filter((trace) => trace.name && trace.showlegend !== false).length;
  const legend = named > 1 ? 22 * Math.ceil(named / 2) : 0;
  layout.font = { ...layout.font, size: 11 };
  if (layout.title) layout.title.font = { size: 13 };
  if (layout.title?.subtitle) layout.title.subtitle.font = { size: 11 };
  layout.margin = { ...layout.margin, l: 48, r: 8, t: 24 + 18 * lines(layout.title) + 15 * lines(layout.title?.subtitle), b: 36 + 18 * lines(layout.xaxis?.title) + legend };
  layout.legend = { ...layout.legend, yref: "container", yanchor: "bottom", y: 0 };
  layout.height = (layout.height || HEIGHT) + legend;
}

// ----------------------------------------------------------------------------------------------------------- work

const turns = new Map(); // for each form, how often it was sent: of several answers, only the last one is shown

// Send a form and follow its work. A quiet one was not asked for by a click: it moves nothing under the reader's eyes.
async function run(form, quiet) {
  const button = form.querySelector('button[type="submit"]'), cancel = form.querySelector("[data-cancel]");
  const place = document.getElementById(option(form, "into"));
  const turn = (turns.get(form) ?? 0) + 1, last = () => turns.get(form) === turn;
  turns.set(form, turn);
  clear(form);
  button.disabled = !quiet;
  let done = false;
  try {
    const started = await talk(option(form, "run"), filledIn(form));
    if (cancel && !quiet) offerToStop(cancel, started.job);
    const told = await follow(form, started.job, quiet);
    running.delete(started.job);
    if (!last()) return;
    if (told.state === "done") { show(place, told, quiet); done = true; }
    else if (told.state === "failed") {
      complain(form, { error: told.message }, false);
      const apart = document.createElement("div");
      apart.innerHTML = told.html || "";
      replace(apart);
    }
    else if (!quiet) { const text = form.querySelector("[data-alert]"); text.textContent = "Stopped. Nothing was kept."; text.hidden = false; }
  } catch (problem) {
    if (last()) complain(form, problem, !quiet);
  } finally {
    if (last()) {
      button.disabled = done && form.hasAttribute("data-once");
      if (cancel) cancel.hidden = true;
      form.querySelector("[data-progress]").hidden = true;
    }
  }
}

// Once there is a preview, it follows the form. Until it does, what it shows cannot be paid for.
function follows(form) {
  const place = document.getElementById(option(form, "into"));
  let timer = 0, seen = "";
  const written = () => JSON.stringify([...filledIn(form)].map(([name, value]) => [name, String(value)]));
  // A field that is left says "change" once more: it must not take the button away that is being clicked.
  const changed = (event) => {
    if (!place.firstElementChild || (event.type !== "renew" && written() === seen)) return;
    seen = written();
    for (const button of place.querySelectorAll("button")) button.disabled = true;
    clearTimeout(timer);
    timer = setTimeout(() => run(form, true), PAUSE);
  };
  for (const kind of ["input", "change", "renew"]) form.addEventListener(kind, changed);
  form.addEventListener("submit", () => { clearTimeout(timer); seen = written(); });
}

function offerToStop(button, job) {
  running.add(job);
  button.hidden = button.disabled = false;
  button.onclick = () => {
    button.disabled = true;
    talk(`/jobs/${job}/cancel`, new FormData()).catch(() => {}); // if nobody answers, nobody works either
  };
}

// Nobody waits for the work of a page that was left. What is being paid for is never stopped.
addEventListener("pagehide", () => {
  for (const job of running) fetch(`/jobs/${job}/cancel`, { method: "POST", keepalive: true, headers: { "X-Jostle-Secret": secret } });
});

async function follow(form, job, quiet) {
  const box = form.querySelector("[data-progress]"), bar = box.querySelector("progress"), text = box.querySelector("[data-progress-text]");
  box.hidden = quiet === true;
  for (let wait = quiet ? 60 : 120; ; wait = Math.min(wait * 1.3, 600)) {
    const told = await talk(`/jobs/${job}`);
    if (told.total) { bar.max = told.total; bar.value = told.done; } else bar.removeAttribute("value");
    text.textContent = told.total ? `${told.done} of ${told.total}: ${told.message}` : told.message || "waiting";
    if (["done", "failed", "cancelled"].includes(told.state)) return told;
    await new Promise((resume) => setTimeout(resume, wait));
  }
}

async function send(form) {
  const button = form.querySelector('button[type="submit"]');
  clear(form);
  button.disabled = true;
  try {
    show(document.getElementById(option(form, "into")), await talk(option(form, "send"), filledIn(form)));
  } catch (problem) {
    complain(form, problem, true);
  } finally {
    button.disabled = false;
  }
}

async function step(button) {
  const form = button.closest("form");
  clear(form);
  button.disabled = true;
  try {
    const filled = filledIn(form), [name, value] = (button.dataset.set ?? "").split("=");
    if (name) filled.set(name, value);
    show(document.getElementById(button.dataset.stepInto), await talk(button.dataset.step, filled));
    form.dispatchEvent(new Event("renew")); // a preview follows
  } catch (problem) {
    complain(form, problem, true);
  } finally {
    button.disabled = false;
  }
}

// A slider is the logarithm of a field, and moves with it.
function slider(range) {
  const field = range.form.querySelector(`[name="${range.dataset.log}"]`), shows = range.form.querySelector(`[data-shows="${range.dataset.log}"]`);
  const slide = () => {
    const value = 10 ** Number(range.value);
    field.value = range.hasAttribute("data-whole") ? Math.round(value) : Number(value.toPrecision(2));
    if (shows) shows.textContent = Number(field.value).toLocaleString("en");
  };
  range.addEventListener("input", slide);
  field.addEventListener("input", () => { if (Number(field.value) > 0) range.value = Math.log10(Number(field.value)); });
  if (field.type === "hidden") slide();
}

// A form that asks again when something changes; while an answer is on its way, only the last position counts.
function live(form) {
  let busy = false, again = false;
  const ask = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const told = await talk(option(form, "live"), filledIn(form));
      clear(form);
      show(document.getElementById(option(form, "into")), told, true);
    } catch (problem) {
      clear(form);
      complain(form, problem, false);
    } finally {
      busy = false;
      if (again) { again = false; ask(); }
    }
  };
  for (const range of form.querySelectorAll("[data-log]")) range.addEventListener("input", ask);
  form.addEventListener("change", (event) => { if (!event.target.matches("[data-log]")) ask(); });
  if (form.querySelector('[name="selector"]')?.value !== "") ask();
}

// ---------------------------------------------------------------------------------------------------------- forms

function dimensions(source) {
  const target = document.getElementById(source.dataset.dimensionsFor);
  const number = source.selectedOptions[0].dataset.dimensions;
  for (const choice of target.options) choice.hidden = choice.disabled = number !== "0" && !["0", number].includes(choice.dataset.dimensions);
  if (target.selectedOptions[0].disabled) target.value = [...target.options].find((choice) => !choice.disabled).value;
  const cells = document.getElementById("cells");
  if (number === "2" && Number(cells.value) > 128) cells.value = 32;
  if (number === "1" && Number(cells.value) <= 32) cells.value = 256;
}

function kinds(row) {
  const kind = row.querySelector("[data-kind]").value;
  for (const field of row.querySelectorAll("[data-for]")) field.hidden = !field.dataset.for.split(" ").includes(kind);
}

// "kind=sum|mean": told now, and whenever the field changes, whether it has one of the values.
function whenever(said, tell) {
  const [name, values] = said.split("="), field = document.getElementById(name);
  const look = () => tell(values.split("|").includes(field.value));
  field.addEventListener("change", look);
  look();
}

function numericAlone(choices, only) {
  for (const choice of choices.options) choice.hidden = choice.disabled = only && !choice.hasAttribute("data-numeric");
  if (choices.selectedOptions[0]?.disabled) choices.value = [...choices.options].find((choice) => !choice.disabled)?.value ?? "";
}

async function load(place) {
  try {
    show(place, await talk(place.dataset.load, new FormData()), true);
  } catch (problem) {
    place.textContent = problem.error;
  }
  place.dataset.loaded = "";
}

async function copy(button) {
  await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

// A field that is as high as its text.
function grow(field) {
  const fit = () => { field.style.height = "auto"; field.style.height = `${field.scrollHeight + 2}px`; };
  field.addEventListener("input", fit);
}

function prepare(root) {
  for (const range of root.querySelectorAll("[data-log]")) slider(range);
  for (const button of root.querySelectorAll("[data-copy]")) button.addEventListener("click", () => copy(button));
  for (const field of root.querySelectorAll("[data-grow]")) grow(field);
  for (const form of root.querySelectorAll("form[data-run], form[data-send], form[data-live]")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (option(form, "run")) run(form); else if (option(form, "send")) send(form);
    });
    if (option(form, "live")) live(form);
    if (form.hasAttribute("data-auto")) follows(form);
  }
  for (const button of root.querySelectorAll("[data-step]")) button.addEventListener("click", () => step(button));
  for (const row of root.querySelectorAll("[data-kind-row]")) {
    kinds(row);
    row.addEventListener("change", (event) => {
      kinds(row);
      if (event.target.value) row.querySelector('input[type="checkbox"]').checked ||= event.target.type !== "checkbox";
    });
  }
  for (const choice of root.querySelectorAll("[data-switch]")) choice.addEventListener("change", () => {
    const place = choice.closest(".results"), element = place.querySelector(`[data-switched="${choice.dataset.switch}"]`);
    element.dataset.figure = choice.value;
    draw(place, element);
  });
  for (const part of root.querySelectorAll("[data-when]")) {
    whenever(part.dataset.when, (is) => { part.hidden = !is; });
  }
  for (const choices of root.querySelectorAll("[data-numeric-when]")) whenever(choices.dataset.numericWhen, (is) => numericAlone(choices, is));
  for (const source of root.querySelectorAll("[data-dimensions-for]")) {
    source.addEventListener("change", () => dimensions(source));
    dimensions(source);
  }
}

prepare(document);
for (const place of document.querySelectorAll("[data-load]")) load(place);
if (document.querySelector("form")) addEventListener("load", () => setTimeout(plotly, 100));
