// Pieces that several views share: chips, bars and icons of entries, the large picture, the frame
// of a list with its toolbar, and the notice in place of an empty one.

import { large, thumb } from "./api.js";
import { button, debounce, fill, h, icon } from "./dom.js";
import { isNo, isYes, lookOf } from "./entries.js";
import { percent, stateText } from "./format.js";
import { store } from "./store.js";

/** Style an element by a state, and as pending while it is not stored. */
export function mark(element, { state, pending }) {
  element.dataset.state = lookOf(state);
  element.classList.toggle("pending", pending);
}

/** A tag as a chip. */
export function chip(i, { t, p, state }) {
  const look = store.entries.look(i, t, state);
  const element = h("span", { class: "chip" }, store.tagName(t));
  mark(element, look);
  const probability = look.state === "suggested" ? `, ${percent(p)}` : "";
  const text = look.pending ? "not saved yet" : stateText(look.state);
  element.title = `${store.tagName(t)}: ${text}${probability}`;
  return element;
}

/** A probability as a bar and a number. */
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

/** The icon of a decision in the corner of a card; empty while it is open. */
export function sign({ state, pending }) {
  const name = isNo(state) ? "no" : isYes(state) ? "yes" : null;
  const place = h("span", { class: "sign" });
  if (name) place.append(icon(name));
  place.classList.toggle("pending", pending);
  return place;
}

/** Show a picture in an image: its thumbnail at once, the large version when it is loaded. */
export function showLarge(image, i) {
  image.src = thumb(i, 320);
  image.alt = store.imageName(i);
  image.dataset.picture = i;
  const full = new Image();
  full.src = large(i);
  const swap = () => {
    // Another picture may be shown by then.
    if (image.dataset.picture === String(i)) image.src = full.src;
  };
  full.decode().then(swap, () => {});
}

/** The frame of a list: title, tools and count, a notice and the place of the cards. */
export function listPage(root, title, tools, intro = null) {
  const count = h("span", { class: "count", role: "status" });
  const notice = h("div");
  const host = h("div", { role: "list", "aria-label": title });
  const toolbar = h("div", { class: "toolbar" }, h("h1", {}, title), ...tools, count, intro);
  fill(root, toolbar, notice, host);
  return { count, notice, host };
}

/** A search box that waits for a pause in typing; Escape returns to the list. */
export function searchBox(label, value, changed) {
  const soon = debounce(changed, 180);
  const box = h("input", {
    type: "search",
    placeholder: label,
    "aria-label": label,
    autocomplete: "off",
    spellcheck: "false",
    on: {
      input: () => soon(box.value.trim()),
      keydown: (event) => {
        if (event.key !== "Escape" && event.key !== "Enter") return;
        event.preventDefault();
        box.blur();
      },
    },
  });
  box.value = value;
  return box;
}

/** A drop-down list with its label. */
export function choice(label, options, value, changed) {
  const list = h(
    "select",
    { "aria-label": label, on: { change: () => changed(list.value) } },
    ...options.map(([name, text]) => h("option", { value: name }, text)),
  );
  list.value = value;
  return h("label", { class: "choice" }, h("span", {}, label), list);
}

/** What to show in place of a list that is empty or could not be loaded. */
export function emptyPage(text, error = null, again = null, actions = []) {
  const parts = [h("p", {}, error ? `This could not be loaded: ${error.message}.` : text)];
  if (error && again) parts.push(button({ text: "Try again", click: again }));
  const offered = actions.filter(Boolean);
  if (offered.length) parts.push(h("div", { class: "walk" }, ...offered));
  return h("div", { class: "empty" }, ...parts);
}
