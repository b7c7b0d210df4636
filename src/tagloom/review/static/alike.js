// Near-identical pictures beside one: shown as a group, and decided together if that is chosen.

import { thumb } from "./api.js";
import { fill, h, show } from "./dom.js";
import { isDecided, isOpen } from "./entries.js";
import { many, number, shortName } from "./format.js";
import { address } from "./router.js";
import { store } from "./store.js";

export class Alike {
  constructor() {
    this.rows = [];
    this.box = h("input", { type: "checkbox" });
    this.words = h("span", {});
    this.title = h("h2", {});
    this.pictures = h("div", { class: "alike-pictures" });
    this.element = h(
      "section",
      { class: "alike", "aria-label": "Near-identical pictures", hidden: true },
      this.title,
      this.pictures,
      h("label", { class: "tick-box" }, this.box, this.words, h("kbd", { "aria-hidden": "true" }, "s")),
    );
  }

  /** Show the near-identical pictures that the server found; they are decided apart at first. */
  show(rows, version) {
    this.rows = rows;
    this.box.checked = false;
    show(this.element, rows.length > 0);
    for (const { i, tags } of rows)
      store.updateRows(
        tags.map((tag) => ({ ...tag, i })),
        version,
      );
    this.title.textContent = many(rows.length, "near-identical picture");
    this.words.textContent = `Decide for all ${number(rows.length + 1)} together`;
    fill(this.pictures, ...rows.map(({ i }) => this.picture(i)));
  }

  picture(i) {
    const name = store.imageName(i);
    return h(
      "a",
      { href: address(`picture/${i}`), title: name, "aria-label": shortName(name) },
      h("img", { src: thumb(i, 92), alt: "", loading: "lazy", decoding: "async" }),
    );
  }

  toggle() {
    if (!this.rows.length) return false;
    this.box.checked = !this.box.checked;
    return true;
  }

  get isTogether() {
    return this.rows.length > 0 && this.box.checked;
  }

  /**
   * The entries of the other pictures that a verdict is for, if they are decided together: those
   * that nobody has decided, or to clear, those that were decided here. Nobody's word is changed.
   */
  others({ t, tag }, verdict) {
    if (!this.isTogether) return [];
    return this.rows
      .map(({ i }) => ({ i, t, tag, state: t === undefined ? "open" : store.entries.stored(i, t) }))
      .filter(({ state }) => (verdict === "clear" ? isDecided(state) : isOpen(state)));
  }
}
