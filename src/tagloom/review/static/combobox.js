// Typing a tag: completion from the tags there are, and a clear word where it would be a new one.

import { fill, h } from "./dom.js";
import { store } from "./store.js";

const MOST = 8;
let made = 0;

const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/** Tags that fit: those that begin with what was typed come first. */
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
  return [...begins.sort(short), ...holds.sort(short)].slice(0, MOST);
}

export class Combobox {
  /** `chosen({tag, t})` is called with a name and, if the tag is not new, its number. */
  constructor(chosen) {
    const id = `tags-${(made += 1)}`;
    this.chosen = chosen;
    this.options = [];
    this.active = 0;
    this.list = h("ul", {
      role: "listbox",
      id,
      class: "options",
      "aria-label": "Tags that fit",
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
    const isThere = this.options.some(({ name }) => name.toLowerCase() === typed.toLowerCase());
    if (!isThere) this.options.push({ name: typed, isNew: true });
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
            // Before the input loses the focus, which would close the list under the pointer.
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
    else if (event.key === "ArrowDown" && length) this.turn(1);
    else if (event.key === "ArrowUp" && length) this.turn(-1);
    else return;
    event.preventDefault();
  }

  turn(step) {
    this.active = (this.active + step + this.options.length) % this.options.length;
    this.draw();
  }

  take(k) {
    const { name, t } = this.options[k];
    this.input.value = "";
    this.close();
    this.chosen({ tag: name, t });
  }
}
