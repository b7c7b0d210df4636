// All pictures as a grid: search, filter, sort, open one, or decide on the suggestions of several.

import { announce, decide } from "../actions.js";
import { get, thumb } from "../api.js";
import { chip, choice, emptyPage, listPage, searchBox } from "../components.js";
import { fill, h } from "../dom.js";
import { many, shortName } from "../format.js";
import { VirtualGrid } from "../grid.js";
import { moveTarget } from "../keyboard.js";
import { lastViewed, PagedList, positionOf, rememberList } from "../lists.js";
import { address, go, replaceAddress } from "../router.js";
import { store } from "../store.js";
import { Suggesting } from "../suggesting.js";

const STATES = [
  ["all", "all pictures"],
  ["suggested", "with suggestions"],
  ["suspected", "with suspected errors"],
  ["untagged", "without tags"],
  ["decided", "with decisions"],
];
const SORTS = [
  ["name", "name"],
  ["certain", "most certain first"],
  ["uncertain", "least certain first"],
];
const CAPTION = 74;

class PicturesView {
  constructor(root, { query }) {
    this.query = {
      q: query.get("q") ?? "",
      state: query.get("state") ?? "all",
      sort: query.get("sort") ?? "name",
      tag: query.get("tag") ?? "",
    };
    const change = (name) => (value) => this.change({ [name]: value });
    const tools = [
      searchBox("Search names and tags", this.query.q, change("q")),
      choice("Show", STATES, this.query.state, change("state")),
      choice("Sort by", SORTS, this.query.sort, change("sort")),
    ];
    this.suggesting = new Suggesting();
    Object.assign(this, listPage(root, "Pictures", tools, this.suggesting.element));
    this.grid = new VirtualGrid(this.host, {
      least: 158,
      height: (width) => width * 0.75 + CAPTION,
      make: (index) => this.card(index),
      paint: (card, index) => this.paint(card, index),
      near: (first, last) => this.pages?.need(first, last),
    });
    this.range = null;
    this.onEntries = (event) => this.entriesChanged(event.detail);
    store.addEventListener("entries", this.onEntries);
    this.onSuggested = () => this.load();
    store.addEventListener("suggested", this.onSuggested);
    this.ready = this.load();
  }

  change(some) {
    Object.assign(this.query, some);
    replaceAddress(this.address());
    scrollTo(0, 0);
    this.load();
  }

  address(path = "pictures") {
    const { q, state, sort, tag } = this.query;
    return address(path, {
      q,
      state: state === "all" ? "" : state,
      sort: sort === "name" ? "" : sort,
      tag,
    });
  }

  async load() {
    this.grid.setCount(0);
    this.range = null;
    await new Promise((resolve) => {
      const pages = new PagedList(
        (offset, limit) => get("/api/pictures", { ...this.query, offset, limit }),
        60,
        (first, last, answer, error) => {
          // The answer to an outdated search is dropped.
          if (this.pages === pages) this.loaded(first, last, answer, error);
          resolve();
        },
      );
      this.pages = pages;
      pages.fetch(0);
    });
  }

  loaded(first, last, answer, error) {
    if (error) {
      fill(
        this.notice,
        emptyPage("", error, () => this.load()),
      );
      return;
    }
    for (const { i, tags } of answer.rows) {
      store.updateRows(
        tags.map((tag) => ({ ...tag, i })),
        answer.version,
      );
    }
    fill(this.notice, answer.total ? null : emptyPage("No matching pictures."));
    this.count.textContent = many(answer.total, "picture");
    if (this.grid.count !== answer.total) this.grid.setCount(answer.total);
    const fresh = Array.from({ length: last - first }, (_, k) => first + k);
    this.grid.rebuild(fresh.filter((index) => this.grid.cards.get(index)?.dataset.bare));
  }

  card(index) {
    const row = this.pages.get(index);
    if (!row) {
      return h(
        "div",
        { class: "picture-card bare", role: "listitem", "data-bare": "1" },
        h("a", { "data-focus": true, "aria-label": "loading" }),
      );
    }
    const name = store.imageName(row.i);
    const open = (event) => {
      if (event.shiftKey) {
        event.preventDefault();
        this.extend(index);
      } else {
        rememberList(this.query, this.pages.rows, this.pages.total, this.address());
      }
    };
    return h(
      "div",
      { class: "picture-card", role: "listitem" },
      h(
        "a",
        {
          href: this.address(`picture/${row.i}`),
          "data-focus": true,
          title: name,
          draggable: "false",
          on: { click: open },
        },
        h("img", {
          class: "thumb",
          src: thumb(row.i, this.grid.width),
          alt: "",
          decoding: "async",
          draggable: "false",
        }),
        h("span", { class: "name" }, shortName(name)),
      ),
      h("div", { class: "chips" }),
    );
  }

  paint(card, index) {
    const row = this.pages?.get(index);
    const chips = card.querySelector(".chips");
    card.classList.toggle("selected", this.isSelected(index));
    if (!row || !chips) return;
    fill(chips, ...row.tags.slice(0, 12).map((tag) => chip(row.i, tag)));
    const open = this.suggestions(row).length;
    const label = `${store.imageName(row.i)}, ${many(open, "suggestion")}`;
    card.querySelector("a").setAttribute("aria-label", label);
  }

  suggestions(row) {
    return row.tags
      .map((tag) => ({
        i: row.i,
        t: tag.t,
        state: store.entries.look(row.i, tag.t, tag.state).state,
      }))
      .filter(({ state }) => state === "suggested");
  }

  isSelected(index) {
    return (
      this.range !== null && index >= Math.min(...this.range) && index <= Math.max(...this.range)
    );
  }

  extend(index) {
    this.range = [this.range?.[0] ?? this.grid.current, index];
    this.grid.focus(index);
    this.grid.repaint();
    announce(`${Math.abs(this.range[0] - index) + 1} pictures selected`);
  }

  key(name, event) {
    const { grid } = this;
    const next = moveTarget(name, grid, event.shiftKey);
    if (next !== null) {
      if (event.shiftKey) this.extend(next);
      else {
        this.clearRange();
        grid.focus(next);
      }
      return true;
    }
    if (name === "Escape" && this.range) return this.clearRange();
    if (name === "a" || name === "r") return this.decide(name === "a" ? "accept" : "reject");
    return name === "Enter" && event.target === document.body ? this.open() : false;
  }

  /** Back from a picture: the focus returns to its card. */
  returned() {
    const found = positionOf(this.query, lastViewed());
    if (found && found[0] <= this.grid.count) this.grid.focus(found[0] - 1);
  }

  clearRange() {
    this.range = null;
    this.grid.repaint();
    return true;
  }

  open() {
    const row = this.pages.get(this.grid.current);
    if (!row) return false;
    rememberList(this.query, this.pages.rows, this.pages.total, this.address());
    go(this.address(`picture/${row.i}`));
    return true;
  }

  decide(verdict) {
    if (!this.range && !this.grid.hasFocus) return this.showFocus();
    const [first, last] = this.range
      ? [Math.min(...this.range), Math.max(...this.range)]
      : [this.grid.current, this.grid.current];
    const rows = this.pages.rows.slice(first, last + 1).filter(Boolean);
    const entries = rows.flatMap((row) => this.suggestions(row));
    if (entries.length) decide(entries, verdict);
    else announce("No undecided suggestions here");
    return true;
  }

  /** Nothing is decided on a card without visible focus. */
  showFocus() {
    this.grid.focus(this.grid.current);
    return true;
  }

  entriesChanged(changed) {
    const numbers = new Set(changed.map(({ i }) => i));
    const hit = [...this.grid.cards.keys()].filter((index) =>
      numbers.has(this.pages?.get(index)?.i),
    );
    for (const index of hit) this.addNewTags(this.pages.get(index), changed);
    this.grid.repaint(hit);
  }

  /** Add tags that the picture did not have when it was loaded. */
  addNewTags(row, changed) {
    for (const { i, t, state } of changed) {
      if (i === row.i && state && !row.tags.some((tag) => tag.t === t))
        row.tags.push({ t, p: null, state });
    }
  }

  destroy() {
    this.grid.destroy();
    this.suggesting.destroy();
    store.removeEventListener("suggested", this.onSuggested);
    store.removeEventListener("entries", this.onEntries);
  }
}

export const showPictures = (root, place) => new PicturesView(root, place);
