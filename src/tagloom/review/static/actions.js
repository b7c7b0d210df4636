// Decide, undo and redo from any view, and how the page confirms it: a toast for the eyes, a live
// region for screen readers.

import { button, fill, h } from "./dom.js";
import { stateText, stepText } from "./format.js";
import { store } from "./store.js";

const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** Decide, and confirm once it is stored: announced for one entry, a toast with undo for many. */
export async function decide(entries, verdict) {
  if (!entries.length) return null;
  const answers = await store.decide(entries, verdict);
  const stored = answers.filter((answer) => answer !== null);
  // What was not stored is shown by the alert at the top of the page.
  if (!stored.length) return null;
  const rows = stored.flatMap((answer) => answer.applied);
  const tags = new Set(rows.map(({ t }) => t));
  const images = new Set(rows.map(({ i }) => i));
  const only = (some, value) => (some.size === 1 ? value : null);
  const step = { verdict, n: rows.length, t: only(tags, rows[0].t), i: only(images, rows[0].i) };
  if (rows.length > 1) {
    const run = () => undo(stored.length);
    toast(`${capital(stepText(step, store))}.`, { label: "Undo", key: "u", run });
  } else {
    announce(`${store.tagName(rows[0].t)}: ${stateText(rows[0].state)}`);
  }
  return rows;
}

/** Undo the last steps; several if a bulk action had to be sent in parts. */
export async function undo(times = 1) {
  let step = null;
  for (let k = 0; k < times; k += 1) step = await store.undo();
  if (step) toast(`Undone: ${stepText(step, store)}.`, { label: "Redo", run: () => redo() });
  else if (!store.writes.trouble) toast("Nothing to undo.");
  return true;
}

export async function redo() {
  const step = await store.redo();
  if (step)
    toast(`Redone: ${stepText(step, store)}.`, { label: "Undo", key: "u", run: () => undo() });
  else if (!store.writes.trouble) toast("Nothing to redo.");
  return true;
}

/** The same verdict twice clears it, so that a mistake needs no other key. */
export function toggled(state, verdict) {
  const decided = verdict === "accept" ? ["accepted", "added"] : ["rejected", "removed"];
  return decided.includes(state) ? "clear" : verdict;
}

let timer = 0;

/** Speak without showing; a no-break space makes screen readers repeat the same text. */
export function announce(text) {
  const region = document.getElementById("announcements");
  region.textContent = region.textContent === text ? `${text}\u00a0` : text;
}

/** Show for a while; `action` has a label and what its button runs. */
export function toast(text, action = null) {
  const place = document.getElementById("toast");
  clearTimeout(timer);
  const act =
    action &&
    button({
      text: action.label,
      key: action.key,
      style: "plain",
      click: () => {
        hideToast();
        action.run();
      },
    });
  fill(place, h("span", {}, text), act);
  place.hidden = false;
  timer = setTimeout(hideToast, 8000);
  announce(text);
}

function hideToast() {
  clearTimeout(timer);
  document.getElementById("toast").hidden = true;
}
