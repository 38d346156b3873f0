// What the pages do: send forms, follow work in the background, draw figures, and say what went wrong where one looks.
"use strict";

const csrf = document.querySelector('meta[name="csrf"]').content;
const CONFIG = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d"] };
// Not form.dataset: a field of that name would hide it.
const option = (form, name) => form.getAttribute(`data-${name}`);
const running = new Set(); // jobs that this page started and that may be stopped
const drawn = new Map(); // for each place that holds results: the figures in it, by name

async function talk(path, body) {
  let answer;
  try {
    answer = await fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers: { "X-Jostle-Csrf": csrf, Accept: "application/json" },
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
  for (const old of place.querySelectorAll("[data-figure]")) Plotly.purge(old);
  const open = keepView ? place.scrollTop : 0;
  place.innerHTML = told.html;
  drawn.set(place, told.figures || {});
  for (const change of place.querySelectorAll("template[data-replace]")) {
    const old = document.querySelector(change.dataset.replace);
    if (old) old.innerHTML = change.innerHTML;
  }
  for (const figure of place.querySelectorAll("[data-figure]")) draw(place, figure);
  for (const shut of place.querySelectorAll("[data-collapse]")) document.getElementById(shut.dataset.collapse).open = false;
  for (const part of place.querySelectorAll("[data-clear]")) for (const id of part.dataset.clear.split(" ")) document.getElementById(id).innerHTML = "";
  if (place.querySelector("[data-reload]")) setTimeout(() => location.reload(), 700);
  prepare(place);
  if (!keepView) place.scrollIntoView({ block: "nearest" });
  place.scrollTop = open;
}

function draw(place, element) {
  const text = drawn.get(place)[element.dataset.figure];
  if (!text) return;
  const figure = JSON.parse(text);
  const narrow = element.clientWidth < 480;
  element.style.height = `${figure.layout.height || 420}px`; // the place has the height, so that the figure can follow its width
  delete figure.layout.height;
  figure.layout.autosize = true;
  if (narrow) fitNarrow(figure.layout);
  Plotly.newPlot(element, figure.data, figure.layout, { ...CONFIG, displayModeBar: narrow ? false : "hover" });
}

// On a phone, long words are broken into lines, and the legend goes below, where it has room.
function fitNarrow(layout) {
  const broken = (text) => (text || "").replace(/(.{24,}?) /g, "$1<br>");
  layout.font = { ...layout.font, size: 11 };
  const lines = layout.title?.text ? broken(layout.title.text).split("<br>").length : 0;
  if (lines) layout.title = { ...layout.title, text: broken(layout.title.text), font: { size: 13 } };
  layout.margin = { ...layout.margin, l: 48, r: 8, t: 24 + 18 * lines };
  layout.legend = { ...layout.legend, yanchor: "top", y: -0.22 };
  if (layout.xaxis?.title?.text) layout.xaxis.title.text = broken(layout.xaxis.title.text);
}

// ----------------------------------------------------------------------------------------------------------- work

async function run(form) {
  const button = form.querySelector('button[type="submit"]'), cancel = form.querySelector("[data-cancel]");
  const place = document.getElementById(option(form, "into"));
  clear(form);
  button.disabled = true;
  let done = false;
  try {
    const started = await talk(option(form, "run"), new FormData(form));
    if (cancel) offerToStop(cancel, started.job);
    const told = await follow(form, started.job);
    running.delete(started.job);
    if (told.state === "done") { show(place, told); done = true; }
    else if (told.state === "failed") complain(form, { error: told.message }, false);
    else { const text = form.querySelector("[data-alert]"); text.textContent = "Stopped. Nothing was kept."; text.hidden = false; }
  } catch (problem) {
    complain(form, problem, true);
  } finally {
    button.disabled = done && form.hasAttribute("data-once");
    if (cancel) cancel.hidden = true;
    form.querySelector("[data-progress]").hidden = true;
  }
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
  for (const job of running) fetch(`/jobs/${job}/cancel`, { method: "POST", keepalive: true, headers: { "X-Jostle-Csrf": csrf } });
});

async function follow(form, job) {
  const box = form.querySelector("[data-progress]"), bar = box.querySelector("progress"), text = box.querySelector("[data-progress-text]");
  box.hidden = false;
  for (let wait = 120; ; wait = Math.min(wait * 1.3, 600)) {
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
    show(document.getElementById(option(form, "into")), await talk(option(form, "send"), new FormData(form)));
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
    show(document.getElementById(button.dataset.stepInto), await talk(button.dataset.step, new FormData(form)));
  } catch (problem) {
    complain(form, problem, true);
  } finally {
    button.disabled = false;
  }
}

// A slider asks again when it moves; while an answer is on its way, only the last position counts.
function live(form) {
  let busy = false, again = false;
  const ask = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const told = await talk(option(form, "live"), new FormData(form));
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
  const slide = (range) => {
    const value = 10 ** Number(range.value);
    const shown = range.hasAttribute("data-whole") ? Math.round(value) : Number(value.toPrecision(2));
    form.querySelector(`[name="${range.dataset.log}"]`).value = shown;
    form.querySelector(`[data-shows="${range.dataset.log}"]`).textContent = shown.toLocaleString("en");
  };
  for (const range of form.querySelectorAll("[data-log]")) {
    slide(range);
    range.addEventListener("input", () => { slide(range); ask(); });
  }
  form.addEventListener("change", (event) => { if (!event.target.matches("[data-log]")) ask(); });
  if (form.querySelector('[name="selector"]').value) ask();
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

function prepare(root) {
  for (const form of root.querySelectorAll("form[data-run], form[data-send], form[data-live]")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (option(form, "run")) run(form); else if (option(form, "send")) send(form);
    });
    if (option(form, "live")) live(form);
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
    const [name, value] = part.dataset.when.split("=");
    const field = document.getElementById(name), toggle = () => { part.hidden = field.value !== value; };
    field.addEventListener("change", toggle);
    toggle();
  }
  for (const source of root.querySelectorAll("[data-dimensions-for]")) {
    source.addEventListener("change", () => dimensions(source));
    dimensions(source);
  }
}

prepare(document);
