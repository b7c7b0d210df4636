// The wall of a tag: its likeliest pictures, to be accepted or rejected in bulk. Decided pictures
// stay in their places until the wall is opened again.

import { announce, decide } from "../actions.js";
import { get, thumb } from "../api.js";
import { choice, emptyPage, mark, sign } from "../components.js";
import { button, fill, h, icon, debounce, show } from "../dom.js";
import { isOpen } from "../entries.js";
import { many, number, percent, shortName, stateText } from "../format.js";
import { VirtualGrid } from "../grid.js";
import { moveTarget } from "../keyboard.js";
import { GrowingList, lastViewed, rememberList } from "../lists.js";
import { address, go, replaceAddress } from "../router.js";
import { selectByPointer, Selection } from "../selection.js";
import { store } from "../store.js";
import { atLeast, binOf, BINS, Threshold } from "../threshold.js";

const SHOWN = [
  ["open", "undecided"],
  ["all", "all"],
];

const NOT_LEARNED =
  "This tag is on too few pictures to be learned: there is no confidence to sort them by.";
const ALL_DECIDED = "Every picture has been annotated or decided for this tag.";

class WallView {
  constructor(root, { number: t, query }) {
    this.t = t;
    this.state = query.get("state") === "all" ? "all" : "open";
    const least = Number.parseFloat(query.get("least") ?? store.collection.thresholds?.[t] ?? 0.5);
    this.threshold = new Threshold(binOf(Number.isNaN(least) ? 0.5 : least + 1e-9), (bin) =>
      this.thresholdChanged(bin),
    );
    this.replaceAddressSoon = debounce(() => replaceAddress(this.address()), 250);
    this.selection = new Selection(() => this.selectionChanged());
    this.build(root);
    this.grid = new VirtualGrid(this.host, {
      least: 128,
      gap: 8,
      height: (width) => width,
      make: (index) =>
        wallCard(this.source.get(index), this.grid?.width ?? 160, () => this.open(index)),
      paint: (card, index) =>
        paintWallCard(card, this.source.get(index), this.t, this.selection.has(index)),
      near: (_, last) => this.source.need(last).catch((error) => this.failed(error)),
    });
    selectByPointer(this.grid, this.selection);
    this.host.addEventListener("dblclick", (event) => this.open(this.grid.indexAt(event.target)));
    this.onEntries = (event) => this.entriesChanged(event.detail);
    store.addEventListener("entries", this.onEntries);
    this.ready = this.load();
  }

  build(root) {
    this.details = h("span", { class: "count", role: "status" });
    this.notice = h("div");
    this.host = h("div", {
      role: "listbox",
      "aria-multiselectable": "true",
      class: "wall",
      "aria-label": `Pictures for ${store.tagName(this.t)}`,
    });
    this.bar = new WallBar({
      decide: (verdict) => this.decide(verdict),
      all: () => this.selectAll(),
      none: () => this.selection.clear(),
    });
    const back = h("a", { class: "back", href: "#/tags", "aria-label": "All tags" }, "Tags");
    fill(
      root,
      h(
        "div",
        { class: "toolbar wall-head" },
        h("div", { class: "wall-title" }, back, h("h1", {}, store.tagName(this.t)), this.details),
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
    replaceAddress(this.address());
    show(this.threshold.element, state === "open");
    this.selection.clear();
    this.load();
  }

  async load() {
    this.first = null;
    const source = new GrowingList(
      (offset, limit) => get(`/api/tags/${this.t}`, { offset, limit, least: 0, state: this.state }),
      {
        keyOf: (row) => row.i,
        isOpen: (row) => this.isCounted(row),
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

  /** Whether the server would still list the row. */
  isCounted(row) {
    return this.state === "all" || isOpen(store.entries.stored(row.i, this.t, row.state));
  }

  failed(error) {
    fill(
      this.notice,
      emptyPage("", error, () => this.load()),
    );
  }

  loaded(answer) {
    store.updateRows(
      answer.rows.map((row) => ({ ...row, t: this.t })),
      answer.version,
    );
    this.first ??= this.opened(answer);
    this.recount();
    this.grid.rebuild(
      [...this.grid.cards.keys()].filter((index) => this.grid.cards.get(index).dataset.bare),
    );
  }

  /** The counts when the wall was opened. */
  opened({ histogram, total }) {
    const learned = atLeast(histogram, 0);
    // The tag was not learned: a threshold would hide every picture.
    if (!learned) this.threshold.set(0);
    return { histogram, total, unscored: this.state === "open" ? total - learned : 0 };
  }

  /** The length of the wall: the pictures above the threshold that were open when it was opened. */
  get length() {
    if (!this.first) return 0;
    const { histogram, total } = this.first;
    const { bin } = this.threshold;
    const wanted = this.state === "all" || !bin ? total : atLeast(histogram, bin);
    return this.source.complete ? Math.min(wanted, this.source.rows.length) : wanted;
  }

  recount() {
    const left = [...this.first.histogram];
    let { unscored } = this.first;
    let decided = 0;
    for (const row of this.source.rows) {
      if (isOpen(store.entries.stored(row.i, this.t, row.state)) || !isOpen(row.state)) continue;
      if (row.p === null) unscored -= 1;
      else left[binOf(row.p)] -= 1;
      decided += 1;
    }
    this.threshold.show(
      left.map((n) => Math.max(0, n)),
      Math.max(0, unscored),
    );
    const here = decided ? `, ${number(decided)} just decided` : "";
    this.details.textContent = `${many(atLeast(left, 0) + unscored, "picture")} undecided${here}`;
    if (this.grid.count !== this.length) this.grid.setCount(this.length);
    this.drawNotice();
    this.drawBar();
  }

  /** Say why the wall is empty, and offer what fills it. */
  drawNotice() {
    const { histogram, total } = this.first;
    const { bin } = this.threshold;
    const highest = histogram.findLastIndex((n) => n > 0);
    if (this.length) {
      const isLearned = this.state === "all" || highest >= 0;
      fill(this.notice, isLearned ? null : h("p", { class: "quiet-text" }, NOT_LEARNED));
    } else if (!total) {
      const all = button({ text: "Show all pictures", click: () => this.showAll() });
      fill(this.notice, emptyPage(ALL_DECIDED, null, null, this.state === "all" ? [] : [all]));
    } else {
      const to = percent(highest / BINS);
      const text =
        `No undecided picture has a confidence of ${percent(bin / BINS)} or more: the highest is ` +
        `below ${percent((highest + 1) / BINS)}.`;
      const lower = button({ text: `Lower to ${to}`, click: () => this.lower(highest) });
      fill(this.notice, emptyPage(text, null, null, [lower]));
    }
  }

  lower(bin) {
    this.threshold.set(bin);
    this.thresholdChanged();
    this.recount();
  }

  showAll() {
    this.host.ownerDocument.querySelector("select[aria-label=Show]").value = "all";
    this.change("all");
  }

  thresholdChanged() {
    for (const index of [...this.selection.selected])
      if (index >= this.length) this.selection.selected.delete(index);
    this.grid.setCount(this.length);
    this.drawNotice();
    this.drawBar();
    this.replaceAddressSoon();
  }

  selectionChanged() {
    this.grid.repaint();
    this.drawBar();
  }

  drawBar() {
    this.bar.show(this.selection.size, this.state === "all" ? 0 : this.threshold.open);
  }

  async selectAll() {
    await this.source.need(this.length);
    this.selection.selected = new Set();
    for (let index = 0; index < this.length; index += 1) {
      const row = this.source.get(index);
      if (row && isOpen(store.entries.look(row.i, this.t, row.state).state))
        this.selection.selected.add(index);
    }
    this.selection.changed();
    announce(`${this.selection.size} selected`);
  }

  async decide(verdict) {
    const isMany = this.selection.size > 0;
    // Nothing is decided on a card without visible focus.
    if (!isMany && !this.grid.hasFocus) {
      this.grid.focus(this.grid.current);
      return;
    }
    const indexes = isMany
      ? [...this.selection.selected].sort((a, b) => a - b)
      : [this.grid.current];
    await this.source.need(indexes.at(-1) + 1);
    const rows = indexes.map((index) => this.source.get(index)).filter(Boolean);
    this.selection.clear();
    // The pressed button is gone with the selection: the focus returns to the cards.
    this.grid.cards.get(this.grid.current)?.focus({ preventScroll: true });
    decide(
      rows.map(({ i, state }) => ({ i, t: this.t, state })),
      verdict,
    );
    // After a single card the focus moves to the next one.
    if (!isMany && this.grid.current + 1 < this.grid.count) this.grid.focus(this.grid.current + 1);
  }

  key(name, event) {
    const { grid, selection } = this;
    if (name === "all") {
      this.selectAll();
      return true;
    }
    const next = moveTarget(name, grid, event.shiftKey);
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

  /** Let "next picture" follow this wall. */
  remember() {
    const rows = this.source.rows.slice(0, this.length);
    rememberList(
      { wall: this.t },
      rows.map(({ i }) => i),
      this.address(),
    );
  }

  /** Back from a picture: the focus returns to its card. */
  returned() {
    const at = this.source.rows.findIndex((row) => row.i === lastViewed());
    if (at >= 0 && at < this.length) this.grid.focus(at);
  }

  entriesChanged(changed) {
    if (!this.first || !changed.some(({ t }) => t === this.t)) return;
    this.recount();
    this.grid.repaint();
  }

  destroy() {
    this.replaceAddressSoon.cancel();
    this.grid.destroy();
    store.removeEventListener("entries", this.onEntries);
  }
}

export const showWall = (root, place) => new WallView(root, place);

/** The bar below a wall: how many pictures are selected, and what can be done with them. */
class WallBar {
  /** `acts` has what the buttons do: decide(verdict), all(), none(). */
  constructor(acts) {
    this.acts = acts;
    this.look = null;
    this.element = h("div", {
      class: "action-bar",
      role: "toolbar",
      "aria-label": "Decide on the selection",
    });
  }

  /** `open` is how many can be selected at once. */
  show(selected, open) {
    show(this.element, selected + open > 0);
    const look = selected ? `selected ${selected}` : `open ${open}`;
    // Not rebuilt without a change: a button under the pointer must stay the same.
    if (this.look === look) return;
    this.look = look;
    fill(this.element, selected ? this.verdicts(selected) : this.invitation(open));
  }

  invitation(open) {
    const every = { text: `Select all ${number(open)}`, key: "Ctrl A", click: this.acts.all };
    const hint = h("span", { class: "hint" }, "Click, drag or Shift to select");
    return [hint, open ? button(every) : null];
  }

  verdicts(selected) {
    const n = number(selected);
    const verdict = (word, text, picture, key) =>
      button({
        text: `${text} ${n}`,
        picture,
        key,
        style: picture,
        click: () => this.acts.decide(word),
      });
    return [
      h("strong", { role: "status" }, `${n} selected`),
      verdict("accept", "Accept", "yes", "a"),
      verdict("reject", "Reject", "no", "r"),
      button({ text: "Clear selection", key: "Esc", style: "plain", click: this.acts.none }),
    ];
  }
}

/** A picture on the wall. */
function wallCard(row, width, open) {
  if (!row)
    return h("div", {
      class: "wall-card bare",
      role: "option",
      "data-bare": "1",
      "aria-label": "loading",
    });
  // For the pointer, because a click on the card selects it; Enter opens it by keyboard. It is no
  // link: an option of a list box may hold nothing that acts.
  const opener = h(
    "span",
    {
      class: "open-link",
      on: { click: open },
      "aria-hidden": "true",
      "data-own-click": true,
      title: "Open",
    },
    icon("open"),
  );
  return h(
    "div",
    { class: "wall-card", role: "option", title: store.imageName(row.i) },
    h("img", {
      class: "thumb",
      src: thumb(row.i, width),
      alt: "",
      decoding: "async",
      draggable: "false",
    }),
    h("span", { class: "percent" }, percent(row.p)),
    h("span", { class: "sign" }),
    h("span", { class: "tick", "aria-hidden": "true" }, icon("yes")),
    opener,
  );
}

function paintWallCard(card, row, t, isSelected) {
  card.setAttribute("aria-selected", String(isSelected));
  if (!row || card.dataset.bare) return;
  const look = store.entries.look(row.i, t, row.state);
  mark(card, look);
  card.querySelector(".sign").replaceWith(sign(look));
  const word = look.pending ? "not saved yet" : stateText(look.state);
  card.setAttribute(
    "aria-label",
    `${shortName(store.imageName(row.i))}, ${percent(row.p)}, ${word}`,
  );
}
