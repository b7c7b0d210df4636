// One tag: a wall of its likeliest pictures, to be accepted or rejected in bulk. What is decided
// stays in its place until the wall is opened anew: nothing jumps under the hand.

import { decide, emptyPage } from "../actions.js";
import { get } from "../api.js";
import { fill, h, later, show } from "../dom.js";
import { VirtualGrid } from "../grid.js";
import { aim } from "../keyboard.js";
import { lastSeen, remember } from "../order.js";
import { address, go, note } from "../router.js";
import { choosing, Selection } from "../selection.js";
import { Growing } from "../sources.js";
import { store } from "../store.js";
import { announce } from "../telling.js";
import { atLeast, binOf, BINS, Threshold } from "../threshold.js";
import { choice } from "../toolbar.js";
import { isOpen, many, number } from "../words.js";
import { WallBar } from "./wall_bar.js";
import { paintWallCard, wallCard } from "./wall_card.js";

const SHOWN = [
  ["open", "undecided"],
  ["all", "all"],
];

class WallView {
  constructor(root, { number: t, query }) {
    this.t = t;
    this.state = query.get("state") === "all" ? "all" : "open";
    const least = Number.parseFloat(query.get("least") ?? store.collection.thresholds?.[t] ?? 0.5);
    this.threshold = new Threshold(binOf(Number.isNaN(least) ? 0.5 : least + 1e-9), (bin) =>
      this.moved(bin),
    );
    this.noteSoon = later(() => note(this.address()), 250);
    this.selection = new Selection(() => this.chose());
    this.build(root);
    this.grid = new VirtualGrid(this.host, {
      least: 128,
      gap: 8,
      height: (width) => width,
      make: (index) =>
        wallCard(this.source.get(index), this.grid?.width ?? 160, this.t, () => this.remember()),
      paint: (card, index) =>
        paintWallCard(card, this.source.get(index), this.t, this.selection.has(index)),
      near: (_, last) => this.source.need(last).catch((error) => this.failed(error)),
    });
    choosing(this.grid, this.selection);
    this.host.addEventListener("dblclick", (event) => this.open(this.grid.indexAt(event.target)));
    this.heard = (event) => this.hear(event.detail);
    store.addEventListener("entries", this.heard);
    this.ready = this.load();
  }

  build(root) {
    this.facts = h("span", { class: "count", role: "status" });
    this.notice = h("div");
    this.host = h("div", {
      role: "listbox",
      "aria-multiselectable": "true",
      class: "wall",
      "aria-label": `Pictures for ${store.tagName(this.t)}`,
    });
    this.bar = new WallBar({
      decide: (verdict) => this.decide(verdict),
      all: () => this.chooseAll(),
      none: () => this.selection.clear(),
    });
    const back = h("a", { class: "back", href: "#/tags", "aria-label": "All tags" }, "Tags");
    fill(
      root,
      h(
        "div",
        { class: "toolbar wall-head" },
        h("div", { class: "wall-title" }, back, h("h1", {}, store.tagName(this.t)), this.facts),
        this.threshold.element,
        choice("Show", SHOWN, this.state, (state) => this.change(state)),
      ),
      this.notice,
      this.host,
      this.bar.element,
    );
    show(this.threshold.element, this.state === "open");
  }

  address() {
    const least = this.state === "open" ? (this.threshold.bin / BINS).toFixed(2) : "";
    return address(`tag/${this.t}`, { least, state: this.state === "all" ? "all" : "" });
  }

  change(state) {
    this.state = state;
    note(this.address());
    show(this.threshold.element, state === "open");
    this.selection.clear();
    this.load();
  }

  async load() {
    this.first = null;
    const source = new Growing(
      (offset, limit) => get(`/api/tags/${this.t}`, { offset, limit, least: 0, state: this.state }),
      {
        keyOf: (row) => row.i,
        isOpen: (row) => this.isLeft(row),
        loaded: (answer) => source === this.source && this.loaded(answer),
      },
    );
    this.source = source;
    this.grid.setCount(0);
    try {
      await source.need(1);
    } catch (error) {
      this.failed(error);
    }
  }

  /** Whether the server still counts the row among those it would list. */
  isLeft(row) {
    return this.state === "all" || isOpen(store.entries.stored(row.i, this.t, row.state));
  }

  failed(error) {
    fill(
      this.notice,
      emptyPage("", error, () => this.load()),
    );
  }

  loaded(answer) {
    store.takeRows(
      answer.rows.map((row) => ({ ...row, t: this.t })),
      answer.version,
    );
    this.first ??= this.opened(answer);
    fill(this.notice, this.first.total ? null : emptyPage("Nothing is open for this tag."));
    this.recount();
    this.grid.rebuild(
      [...this.grid.cards.keys()].filter((index) => this.grid.cards.get(index).dataset.bare),
    );
  }

  /** What there was when the wall was opened. */
  opened({ histogram, total }) {
    const learned = atLeast(histogram, 0);
    // Nothing was learned of this tag: a threshold would hide every picture.
    if (!learned) this.threshold.set(0);
    return { histogram, total, besides: this.state === "open" ? total - learned : 0 };
  }

  /** How long the wall is: what was open when it was opened, down to the threshold. */
  get length() {
    if (!this.first) return 0;
    const { histogram, total } = this.first;
    const { bin } = this.threshold;
    const wanted = this.state === "all" || !bin ? total : atLeast(histogram, bin);
    return this.source.complete ? Math.min(wanted, this.source.rows.length) : wanted;
  }

  recount() {
    const left = [...this.first.histogram];
    let { besides } = this.first;
    let decided = 0;
    for (const row of this.source.rows) {
      if (isOpen(store.entries.stored(row.i, this.t, row.state)) || !isOpen(row.state)) continue;
      if (row.p === null) besides -= 1;
      else left[binOf(row.p)] -= 1;
      decided += 1;
    }
    this.threshold.show(
      left.map((n) => Math.max(0, n)),
      Math.max(0, besides),
    );
    const here = decided ? `, ${number(decided)} decided here` : "";
    this.facts.textContent = `${many(atLeast(left, 0) + besides, "picture")} undecided${here}`;
    if (this.grid.count !== this.length) this.grid.setCount(this.length);
    this.drawBar();
  }

  moved() {
    for (const index of [...this.selection.chosen])
      if (index >= this.length) this.selection.chosen.delete(index);
    this.grid.setCount(this.length);
    this.drawBar();
    this.noteSoon();
  }

  chose() {
    this.grid.repaint();
    this.drawBar();
  }

  drawBar() {
    this.bar.show(this.selection.size, this.state === "all" ? 0 : this.threshold.open);
  }

  async chooseAll() {
    await this.source.need(this.length);
    this.selection.chosen = new Set();
    for (let index = 0; index < this.length; index += 1) {
      const row = this.source.get(index);
      if (row && isOpen(store.entries.look(row.i, this.t, row.state).state))
        this.selection.chosen.add(index);
    }
    this.selection.changed();
    announce(`${this.selection.size} chosen`);
  }

  async decide(verdict) {
    const isMany = this.selection.size > 0;
    // Nothing is decided on a card that nobody can tell is meant.
    if (!isMany && !this.grid.hasFocus) {
      this.grid.focus(this.grid.current);
      return;
    }
    const chosen = isMany ? [...this.selection.chosen].sort((a, b) => a - b) : [this.grid.current];
    await this.source.need(chosen.at(-1) + 1);
    const rows = chosen.map((index) => this.source.get(index)).filter(Boolean);
    this.selection.clear();
    // The button that was pressed is gone with the choice: the keyboard goes on among the cards.
    this.grid.cards.get(this.grid.current)?.focus({ preventScroll: true });
    decide(
      rows.map(({ i, state }) => ({ i, t: this.t, state })),
      verdict,
    );
    // Card by card the next one is at hand at once.
    if (!isMany && this.grid.current + 1 < this.grid.count) this.grid.focus(this.grid.current + 1);
  }

  key(name, event) {
    const { grid, selection } = this;
    if (name === "all") {
      this.chooseAll();
      return true;
    }
    const next = aim(name, grid, event.shiftKey);
    if (next !== null) return this.step(next, event.shiftKey);
    if (name === "a" || name === "r") {
      this.decide(name === "a" ? "accept" : "reject");
      return true;
    }
    const isOnCard = grid.host.contains(event.target);
    if (name === " " && isOnCard) selection.toggle(grid.current);
    else if (name === "Enter" && isOnCard) this.open(grid.current);
    else if (name === "Escape" && selection.size) selection.clear();
    else if (name === "Escape") go("#/tags");
    else return false;
    return true;
  }

  step(next, isRange) {
    const { grid, selection } = this;
    if (isRange) {
      if (!selection.size) selection.anchor = grid.current;
      selection.extend(next);
    }
    grid.focus(next);
    return true;
  }

  open(index) {
    const row = index === null ? null : this.source.get(index);
    if (!row) return;
    this.remember();
    go(address(`picture/${row.i}`, { wall: this.t }));
  }

  /** "Next picture" then walks along this wall. */
  remember() {
    const rows = this.source.rows.slice(0, this.length);
    remember({ wall: this.t }, rows, rows.length, this.address());
  }

  /** Back from a picture: the keyboard goes on where it was. */
  arrived() {
    const at = this.source.rows.findIndex((row) => row.i === lastSeen());
    if (at >= 0 && at < this.length) this.grid.focus(at);
  }

  hear(changed) {
    if (!this.first || !changed.some(({ t }) => t === this.t)) return;
    this.recount();
    this.grid.repaint();
  }

  destroy() {
    this.noteSoon.cancel();
    this.grid.destroy();
    store.removeEventListener("entries", this.heard);
  }
}

export const showWall = (root, place) => new WallView(root, place);
