// What people do from more than one view, with the words that follow it.

import { button, h } from "./dom.js";
import { store } from "./store.js";
import { announce, toast } from "./telling.js";
import { spoken, stepText } from "./words.js";

const name = (t) => store.tagName(t);
const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** Decide, and say so once it is stored: quietly for one entry, with an undo in reach for many. */
export async function decide(entries, verdict) {
  if (!entries.length) return null;
  const answers = await store.decide(entries, verdict);
  const stored = answers.filter((answer) => answer !== null);
  // What was not stored is told by the alarm at the head of the page.
  if (!stored.length) return null;
  const rows = stored.flatMap((answer) => answer.applied);
  const tags = new Set(rows.map(({ t }) => t));
  const step = { verdict, n: rows.length, t: tags.size === 1 ? rows[0].t : null };
  if (rows.length > 1) {
    const run = () => undo(stored.length);
    toast(`${capital(stepText(step, name))}.`, { label: "Undo", key: "u", run });
  } else {
    announce(`${name(rows[0].t)}: ${spoken(rows[0].state)}`);
  }
  return rows;
}

/** Take back the last steps; more than one if a bulk action had to be sent in parts. */
export async function undo(times = 1) {
  let step = null;
  for (let k = 0; k < times; k += 1) step = await store.undo();
  if (step) toast(`Undone: ${stepText(step, name)}.`, { label: "Redo", run: () => redo() });
  else if (!store.writes.trouble) toast("Nothing to undo.");
  return true;
}

export async function redo() {
  const step = await store.redo();
  if (step)
    toast(`Done again: ${stepText(step, name)}.`, { label: "Undo", key: "u", run: () => undo() });
  else if (!store.writes.trouble) toast("Nothing to redo.");
  return true;
}

/** The same verdict twice takes it back, so that a slip needs no other key. */
export function toggled(state, verdict) {
  const isThere = verdict === "accept" ? ["accepted", "added"] : ["rejected", "removed"];
  return isThere.includes(state) ? "clear" : verdict;
}

/** What to show where a list is empty, or could not be had. */
export function emptyPage(text, error = null, again = null) {
  const parts = [h("p", {}, error ? `This could not be loaded: ${error.message}.` : text)];
  if (error && again) parts.push(button({ text: "Try again", click: again }));
  return h("div", { class: "empty" }, ...parts);
}
