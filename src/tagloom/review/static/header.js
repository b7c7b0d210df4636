// The head of the page: whether all is stored, what undo would do, and the alarm if it is not.

import { redo, undo } from "./actions.js";
import { button, fill, h, show } from "./dom.js";
import { store } from "./store.js";
import { many, number, stepText } from "./words.js";

const at = (id) => document.getElementById(id);

export function startHeader() {
  at("undo").addEventListener("click", () => undo());
  at("redo").addEventListener("click", () => redo());
  store.writes.addEventListener("change", drawSaved);
  store.addEventListener("history", drawHistory);
  startTheme();
  drawSaved();
  drawHistory();
  // The browser asks before a tab is closed on clicks that were not stored.
  addEventListener("beforeunload", (event) => {
    if (store.writes.unsaved) event.preventDefault();
  });
}

function startTheme() {
  const knob = at("theme");
  const label = () => {
    const words = { auto: "as the system", light: "light", dark: "dark" };
    const text = `Colours: ${words[window.tagloomTheme.chosen]}`;
    knob.setAttribute("aria-label", text);
    knob.title = text;
  };
  knob.addEventListener("click", () => {
    window.tagloomTheme.next();
    label();
  });
  label();
}

function savedWord({ queue, lost, trouble, refusal }) {
  if (lost.length || refusal) return ["bad", "not saved"];
  if (trouble) return ["bad", "server stopped"];
  return queue.length ? ["busy", "saving"] : ["good", "saved"];
}

function drawSaved() {
  const [look, text] = savedWord(store.writes);
  const place = at("saved");
  place.dataset.look = look;
  // Only when it differs, or screen readers would say it at every click.
  if (place.textContent !== text) place.textContent = text;
  drawAlarm();
}

const HOPE = {
  stopped:
    "Start it again with `tagloom review` and open its link in this browser; then store it here.",
  shut: "It was started anew: open its new link in this browser; then store it here.",
};
const IDLE = {
  stopped:
    "The server has stopped. All that was marked as saved is stored; new clicks will not be.",
  shut: "The server was started anew. Open its new link in this browser, and this page goes on.",
};

function lostText(lost, trouble) {
  const count = lost.reduce((sum, job) => sum + job.count, 0);
  const clicks = lost.length === 1 ? "your last click was" : `your last ${lost.length} clicks were`;
  const why = trouble ? "the server has stopped" : "the server had stopped";
  const entries = count > lost.length ? ` (${many(count, "tag")})` : "";
  const hope = HOPE[trouble] ?? "It answers again.";
  return `Not saved: ${why}, ${clicks} not stored${entries}. ${hope}`;
}

function drawAlarm() {
  const { lost, trouble, refusal } = store.writes;
  const alarm = at("alarm");
  const refused = refusal ? `Not saved: ${refusal}` : (IDLE[trouble] ?? "");
  const text = lost.length ? lostText(lost, trouble) : refused;
  if (alarm.dataset.text === text) return;
  alarm.dataset.text = text;
  const actions = [];
  if (lost.length) actions.push(button({ text: "Store now", click: () => store.writes.retry() }));
  if (lost.length || refusal)
    actions.push(button({ text: "Forget", style: "plain", click: () => store.writes.forget() }));
  fill(alarm, h("span", {}, text), ...actions);
  show(alarm, text !== "");
}

/** What to say where there is no step to undo. */
function soFar(counts) {
  const { accepted = 0, rejected = 0 } = counts ?? {};
  if (!accepted && !rejected) return "no decisions yet";
  return `${number(accepted)} accepted, ${number(rejected)} rejected so far`;
}

function drawHistory() {
  const { undo: back, redo: forth } = store.history;
  at("undo").disabled = !back;
  at("redo").disabled = !forth;
  const name = (t) => store.tagName(t);
  const line = at("history");
  if (!back) {
    fill(line, soFar(store.collection?.counts));
    return;
  }
  const link = button({ text: "undo", style: "link", click: () => undo() });
  fill(line, h("span", { class: "step" }, stepText(back, name)), link);
}
