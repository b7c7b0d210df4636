// The header: whether everything is saved, what undo would do, and the alert when something is not.

import { redo, undo } from "./actions.js";
import { button, fill, h, show } from "./dom.js";
import { many, number, stepText } from "./format.js";
import { store } from "./store.js";

const at = (id) => document.getElementById(id);

export function startHeader() {
  at("undo").addEventListener("click", () => undo());
  at("redo").addEventListener("click", () => redo());
  store.writes.addEventListener("change", drawSaved);
  store.addEventListener("history", drawHistory);
  startThemeButton();
  drawSaved();
  drawHistory();
  // The browser asks before a tab with unsaved decisions is closed.
  addEventListener("beforeunload", (event) => {
    if (store.writes.unsaved) event.preventDefault();
  });
}

function startThemeButton() {
  const toggle = at("theme");
  const label = () => {
    const words = { auto: "system", light: "light", dark: "dark" };
    const text = `Theme: ${words[window.tagloomTheme.chosen]}`;
    toggle.setAttribute("aria-label", text);
    toggle.title = text;
  };
  toggle.addEventListener("click", () => {
    window.tagloomTheme.next();
    label();
  });
  label();
}

function savedStatus({ queue, lost, trouble, refusal }) {
  if (lost.length || refusal) return ["bad", "not saved"];
  if (trouble) return ["bad", "server stopped"];
  return queue.length ? ["busy", "saving"] : ["good", "saved"];
}

function drawSaved() {
  const [look, text] = savedStatus(store.writes);
  const place = at("saved");
  place.dataset.look = look;
  // Only on a change, or screen readers would announce it at every click.
  if (place.textContent !== text) place.textContent = text;
  drawAlert();
}

const NEXT_STEP = {
  stopped: "Start it again with `tagloom review`, open its link in this browser, then save here.",
  shut: "It was restarted: open its new link in this browser, then save here.",
};
const IDLE = {
  stopped:
    "The server has stopped. Everything marked as saved is safe; new decisions cannot be saved.",
  shut: "The server was restarted. Open its new link in this browser to continue here.",
};

function lostText(lost, trouble) {
  const count = lost.reduce((sum, job) => sum + job.count, 0);
  const decisions =
    lost.length === 1 ? "your last decision was" : `your last ${lost.length} decisions were`;
  const why = trouble ? "the server has stopped" : "the server had stopped";
  const entries = count > lost.length ? ` (${many(count, "tag")})` : "";
  const next = NEXT_STEP[trouble] ?? "The server is back.";
  return `Not saved: ${why}, ${decisions} not stored${entries}. ${next}`;
}

function drawAlert() {
  const { lost, trouble, refusal } = store.writes;
  const alert = at("alert");
  const refused = refusal ? `Not saved: ${refusal}` : (IDLE[trouble] ?? "");
  const text = lost.length ? lostText(lost, trouble) : refused;
  if (alert.dataset.text === text) return;
  alert.dataset.text = text;
  const actions = [];
  if (lost.length) actions.push(button({ text: "Save now", click: () => store.writes.retry() }));
  if (lost.length || refusal)
    actions.push(button({ text: "Discard", style: "plain", click: () => store.writes.discard() }));
  fill(alert, h("span", {}, text), ...actions);
  show(alert, text !== "");
}

/** The counts so far, shown while there is no step to undo. */
function countsText(counts) {
  const { accepted = 0, rejected = 0 } = counts ?? {};
  if (!accepted && !rejected) return "no decisions yet";
  return `${number(accepted)} accepted, ${number(rejected)} rejected so far`;
}

function drawHistory() {
  const { undo: back, redo: forth } = store.history;
  nameButton(at("undo"), "Undo", "u", back);
  nameButton(at("redo"), "Redo", "Shift+u", forth);
  const line = at("history");
  if (!back) {
    fill(line, countsText(store.collection?.counts));
    return;
  }
  const link = button({ text: "undo", style: "link", click: () => undo() });
  fill(line, h("span", { class: "step" }, stepText(back, store)), link);
}

/** A button that says what it would undo or redo. */
function nameButton(element, word, key, step) {
  const text = step ? `${word}: ${stepText(step, store)}` : `Nothing to ${word.toLowerCase()}`;
  element.disabled = !step;
  element.setAttribute("aria-label", text);
  element.title = `${text} (${key})`;
}
