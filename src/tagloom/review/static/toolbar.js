// The row of search, filter and sort above a list.

import { h, later } from "./dom.js";

/** A search box that waits for a pause in typing; Escape gives the keys back to the list. */
export function searchBox(label, value, changed) {
  const soon = later(changed, 180);
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

/** A list of choices with its label before it. */
export function choice(label, options, value, changed) {
  const list = h(
    "select",
    { "aria-label": label, on: { change: () => changed(list.value) } },
    ...options.map(([name, text]) => h("option", { value: name }, text)),
  );
  list.value = value;
  return h("label", { class: "choice" }, h("span", {}, label), list);
}
