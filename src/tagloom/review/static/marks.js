// How an entry looks: the same chip, bar and row wherever it is shown.

import { h, icon } from "./dom.js";
import { store } from "./store.js";
import { isNo, isYes, lookOf, percent, spoken } from "./words.js";

/** Mark an element with a state, and with waiting while it is not stored. */
export function mark(element, { state, pending }) {
  element.dataset.state = lookOf(state);
  element.classList.toggle("pending", pending);
}

/** A tag as a small word. */
export function chip(i, { t, p, state }) {
  const look = store.entries.look(i, t, state);
  const word = h("span", { class: "chip" }, store.tagName(t));
  mark(word, look);
  const sure = look.state === "suggested" ? `, ${percent(p)}` : "";
  const said = look.pending ? "not stored yet" : spoken(look.state);
  word.title = `${store.tagName(t)}: ${said}${sure}`;
  return word;
}

/** A probability as a quiet bar and a number. */
export function likelihood(p) {
  if (p === null || p === undefined) return h("span", { class: "likelihood" });
  const inner = h("span", { class: "bar-inner" });
  inner.style.width = `${100 * p}%`;
  return h(
    "span",
    { class: "likelihood" },
    h("span", { class: "bar-outer", "aria-hidden": "true" }, inner),
    h("span", { class: "percent" }, percent(p)),
  );
}

/** The sign of a decision at the corner of a card; empty while it is open. */
export function sign({ state, pending }) {
  const name = isNo(state) ? "no" : isYes(state) ? "yes" : null;
  const place = h("span", { class: "sign" });
  if (name) place.append(icon(name));
  place.classList.toggle("pending", pending);
  return place;
}
