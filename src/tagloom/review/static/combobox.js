// The box to type a tag in: it completes existing tags, and marks a tag that would be new.

import { fill, h } from "./dom.js";
import { store } from "./store.js";

const MAX_OPTIONS = 8;
let boxes = 0;

const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/** Matching tags: those that begin with the text come first, shorter ones before longer ones. */
export function completions(typed, tags) {
  const wanted = plain(typed);
  const begins = [];
  const holds = [];
  tags.forEach((name, t) => {
    const at = plain(name).indexOf(wanted);
    if (at === 0) begins.push({ name, t });
    else if (at > 0) holds.push({ name, t });
  });
  const short = (a, b) => a.name.length - b.name.length || (a.name < b.name ? -1 : 1);
  return [...begins.sort(short), ...holds.sort(short)].slice(0, MAX_OPTIONS);
}

export class Combobox {
  /** `selected({tag, t})` is called with a name and, unless the tag is new, its number. */
  constructor(selected) {
    const id = `tags-${(boxes += 1)}`;
    this.selected = selected;
    this.options = [];
    this.active = 0;
    this.list = h("ul", {
      role: "listbox",
      id,
      class: "options",
      "aria-label": "Matching tags",
      hidden: true,
    });
    this.input = h("input", {
      type: "text",
      role: "combobox",
      placeholder: "Add a tag",
      "aria-label": "Add a tag",
      "aria-controls": id,
      "aria-expanded": "false",
      "aria-autocomplete": "list",
      autocomplete: "off",
      spellcheck: "false",
      maxlength: 200,
      on: {
        input: () => this.update(),
        keydown: (event) => this.keydown(event),
        blur: () => this.close(),
      },
    });
    this.element = h("div", { class: "combobox" }, this.input, this.list);
  }

  update() {
    const typed = this.input.value.trim().replace(/\s+/g, " ");
    this.active = 0;
    if (!typed) {
      this.close();
      return;
    }
    this.options = completions(typed, store.collection.tags);
    const exists = this.options.some(({ name }) => name.toLowerCase() === typed.toLowerCase());
    if (!exists) this.options.push({ name: typed, isNew: true });
    this.draw();
  }

  draw() {
    const { id } = this.list;
    fill(
      this.list,
      ...this.options.map(({ name, isNew }, k) =>
        h(
          "li",
          {
            role: "option",
            id: `${id}-${k}`,
            "aria-selected": String(k === this.active),
            class: isNew ? "new" : "",
            // Not on click: by then the input has lost the focus and the list is closed.
            on: {
              pointerdown: (event) => {
                event.preventDefault();
                this.take(k);
              },
            },
          },
          h("span", {}, name),
          isNew ? h("span", { class: "badge" }, "new tag") : null,
        ),
      ),
    );
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.input.setAttribute("aria-activedescendant", `${id}-${this.active}`);
  }

  close() {
    this.options = [];
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  keydown(event) {
    const { length } = this.options;
    if (event.key === "Escape") {
      if (!length) this.input.blur();
      this.close();
    } else if (event.key === "Enter" && length) this.take(this.active);
    else if (event.key === "ArrowDown" && length) this.step(1);
    else if (event.key === "ArrowUp" && length) this.step(-1);
    else return;
    event.preventDefault();
  }

  step(step) {
    this.active = (this.active + step + this.options.length) % this.options.length;
    this.draw();
  }

  take(k) {
    const { name, t } = this.options[k];
    this.input.value = "";
    this.close();
    this.selected({ tag: name, t });
  }
}
