// Known tags that are suspected to be wrong, with the choice to keep or to correct each of them.

import { decide } from "../actions.js";
import { get, thumb } from "../api.js";
import { emptyPage, listPage, mark, sign } from "../components.js";
import { button, fill, h } from "../dom.js";
import { lookOf } from "../entries.js";
import { many, percent, shortName, stateText } from "../format.js";
import { VirtualGrid } from "../grid.js";
import { moveTarget } from "../keyboard.js";
import { GrowingList } from "../lists.js";
import { address, go } from "../router.js";
import { store } from "../store.js";

// What accept and reject mean depends on the annotation.
const ANNOTATIONS = {
  present: {
    accept: "Keep",
    reject: "Remove",
    text: "tagged",
    reason: (p) => `tagged, but confidence only ${p}`,
  },
  absent: {
    accept: "Add",
    reject: "Keep absent",
    text: "marked as absent",
    reason: (p) => `marked as absent, but confidence ${p}`,
  },
};

class SuspectedErrorsView {
  constructor(root) {
    const intro = "Known tags and absences that may be wrong. Nothing changes unless you decide.";
    const introLine = h("p", { class: "quiet-text wide" }, intro);
    Object.assign(this, listPage(root, "Suspected label errors", [], introLine));
    this.grid = new VirtualGrid(this.host, {
      least: 390,
      height: () => 152,
      make: (index) => this.card(index),
      paint: (card, index) => this.paint(card, index),
      near: (_, last) => this.source.need(last + 1).catch((error) => this.failed(error)),
    });
    this.onEntries = (event) => this.entriesChanged(event.detail);
    store.addEventListener("entries", this.onEntries);
    this.ready = this.load();
  }

  async load() {
    this.source = new GrowingList(
      (offset, limit) => get("/api/suspected-errors", { offset, limit }),
      {
        keyOf: ({ i, t }) => `${i}:${t}`,
        // Decided rows stay in this list.
        isOpen: () => true,
        loaded: (answer) => this.loaded(answer),
        first: 60,
        chunk: 120,
      },
    );
    await this.source.need(1).catch((error) => this.failed(error));
  }

  failed(error) {
    fill(
      this.notice,
      emptyPage("", error, () => this.load()),
    );
  }

  loaded(answer) {
    store.updateRows(answer.rows, answer.version);
    fill(
      this.notice,
      this.source.rows.length ? null : emptyPage("No label errors are suspected."),
    );
    this.count.textContent = many(answer.total, "suspected error");
    this.grid.setCount(this.source.rows.length);
  }

  card(index) {
    const row = this.source.get(index);
    const { i, t, annotation, p, error_probability: errorP } = row;
    const words = ANNOTATIONS[annotation] ?? ANNOTATIONS.present;
    const answer = (verdict, picture, style) =>
      button({
        text: words[verdict],
        label: `${words[verdict]}: ${store.tagName(t)}`,
        picture,
        style,
        click: () => this.decide(index, verdict),
      });
    return h(
      "div",
      { class: "suspect", role: "listitem" },
      h(
        "a",
        { href: address(`picture/${i}`), "data-focus": true, class: "suspect-picture" },
        h("img", { class: "thumb", src: thumb(i, 150), alt: "", decoding: "async" }),
        h("span", { class: "sign" }),
      ),
      h(
        "div",
        { class: "suspect-text" },
        h("span", { class: "tag-name" }, store.tagName(t)),
        h("span", { class: "quiet-text" }, `wrong with a probability of ${percent(errorP)}`),
        h("span", { class: "quiet-text" }, words.reason(percent(p))),
        h("span", { class: "name", title: store.imageName(i) }, shortName(store.imageName(i))),
        h(
          "div",
          { class: "answers" },
          answer("reject", "no", "no"),
          answer("accept", "yes", "yes"),
        ),
      ),
    );
  }

  paint(card, index) {
    const { i, t, state, annotation } = this.source.get(index);
    const look = store.entries.look(i, t, state);
    mark(card, look);
    const shown = card.querySelector(".sign");
    const isOpen = lookOf(look.state) === "suspected";
    shown.replaceWith(sign(isOpen ? { state: "open", pending: false } : look));
    const status = look.pending ? "not saved yet" : stateText(look.state);
    const name = `${store.tagName(t)} on ${shortName(store.imageName(i))}`;
    const label = [name, ANNOTATIONS[annotation]?.text, status].join(", ");
    card.querySelector("a").setAttribute("aria-label", label);
  }

  decide(index, verdict) {
    const { i, t, state } = this.source.get(index);
    decide([{ i, t, state: store.entries.stored(i, t, state) }], verdict);
  }

  key(name) {
    const { grid } = this;
    if (!grid.count) return false;
    const next = moveTarget(name, grid);
    if (next !== null) grid.focus(next);
    else if ((name === "a" || name === "r") && !grid.hasFocus) grid.focus(grid.current);
    else if (name === "a" || name === "r") {
      this.decide(grid.current, name === "a" ? "accept" : "reject");
      if (grid.current + 1 < grid.count) grid.focus(grid.current + 1);
    } else if (name === "Escape") go("#/pictures");
    else return false;
    return true;
  }

  entriesChanged(changed) {
    const keys = new Set(changed.map(({ i, t }) => `${i}:${t}`));
    this.grid.repaint(
      [...this.grid.cards.keys()].filter((index) => {
        const { i, t } = this.source.get(index);
        return keys.has(`${i}:${t}`);
      }),
    );
  }

  destroy() {
    this.grid.destroy();
    store.removeEventListener("entries", this.onEntries);
  }
}

export const showSuspectedErrors = (root) => new SuspectedErrorsView(root);
