// Known tags that look wrong: somebody said one thing, the pictures say another.

import { decide, emptyPage } from "../actions.js";
import { get, thumb } from "../api.js";
import { button, fill, h } from "../dom.js";
import { VirtualGrid } from "../grid.js";
import { aim } from "../keyboard.js";
import { mark, sign } from "../marks.js";
import { address, go } from "../router.js";
import { Growing } from "../sources.js";
import { store } from "../store.js";
import { lookOf, many, percent, shortName, spoken } from "../words.js";

// What the two answers mean depends on what was said before.
const ANSWERS = {
  present: {
    accept: "Keep it",
    reject: "Remove it",
    word: "tagged",
    said: (p) => `tagged, but only ${p} likely`,
  },
  absent: {
    accept: "Add it",
    reject: "Leave it out",
    word: "marked as absent",
    said: (p) => `marked as absent, but ${p} likely`,
  },
};

class DoubtsView {
  constructor(root) {
    this.count = h("span", { class: "count", role: "status" });
    this.notice = h("div");
    this.host = h("div", { role: "list", "aria-label": "Doubtful tags" });
    fill(
      root,
      h(
        "div",
        { class: "toolbar" },
        h("h1", {}, "Doubts"),
        this.count,
        h(
          "p",
          { class: "quiet-text wide" },
          "Tags that somebody gave or denied, and that do not fit the picture. " +
            "Nothing changes unless you say so.",
        ),
      ),
      this.notice,
      this.host,
    );
    this.grid = new VirtualGrid(this.host, {
      least: 390,
      height: () => 152,
      make: (index) => this.card(index),
      paint: (card, index) => this.paint(card, index),
      near: (_, last) => this.source.need(last + 1).catch((error) => this.failed(error)),
    });
    this.heard = (event) => this.hear(event.detail);
    store.addEventListener("entries", this.heard);
    this.ready = this.load();
  }

  async load() {
    this.source = new Growing((offset, limit) => get("/api/doubts", { offset, limit }), {
      keyOf: ({ i, t }) => `${i}:${t}`,
      // The list keeps what is decided in its place.
      isOpen: () => true,
      loaded: (answer) => this.loaded(answer),
      first: 60,
      bite: 120,
    });
    await this.source.need(1).catch((error) => this.failed(error));
  }

  failed(error) {
    fill(
      this.notice,
      emptyPage("", error, () => this.load()),
    );
  }

  loaded(answer) {
    store.takeRows(answer.rows, answer.version);
    fill(this.notice, this.source.rows.length ? null : emptyPage("No known tag looks wrong."));
    this.count.textContent = many(answer.total, "doubtful tag");
    this.grid.setCount(this.source.rows.length);
  }

  card(index) {
    const row = this.source.get(index);
    const { i, t, said, p } = row;
    const words = ANSWERS[said] ?? ANSWERS.present;
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
      { class: "doubt", role: "listitem" },
      h(
        "a",
        { href: address(`picture/${i}`), "data-focus": true, class: "doubt-picture" },
        h("img", { class: "thumb", src: thumb(i, 150), alt: "", decoding: "async" }),
        h("span", { class: "sign" }),
      ),
      h(
        "div",
        { class: "doubt-words" },
        h("span", { class: "tag-name" }, store.tagName(t)),
        h("span", { class: "quiet-text" }, words.said(percent(p))),
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
    const { i, t, state, said } = this.source.get(index);
    const look = store.entries.look(i, t, state);
    mark(card, look);
    const shown = card.querySelector(".sign");
    const isOpen = lookOf(look.state) === "doubtful";
    shown.replaceWith(sign(isOpen ? { state: "open", pending: false } : look));
    const word = look.pending ? "not stored yet" : spoken(look.state);
    card
      .querySelector("a")
      .setAttribute(
        "aria-label",
        [`${store.tagName(t)} on ${shortName(store.imageName(i))}`, ANSWERS[said]?.word, word].join(
          ", ",
        ),
      );
  }

  decide(index, verdict) {
    const { i, t, state } = this.source.get(index);
    decide([{ i, t, state: store.entries.stored(i, t, state) }], verdict);
  }

  key(name) {
    const { grid } = this;
    if (!grid.count) return false;
    const next = aim(name, grid);
    if (next !== null) grid.focus(next);
    else if ((name === "a" || name === "r") && !grid.hasFocus) grid.focus(grid.current);
    else if (name === "a" || name === "r") {
      this.decide(grid.current, name === "a" ? "accept" : "reject");
      if (grid.current + 1 < grid.count) grid.focus(grid.current + 1);
    } else if (name === "Escape") go("#/pictures");
    else return false;
    return true;
  }

  hear(changed) {
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
    store.removeEventListener("entries", this.heard);
  }
}

export const showDoubts = (root) => new DoubtsView(root);
