// All pictures as a grid: search, filter, sort, open one, or decide on the suggestions of several.

import { announce, decide } from "../actions.js";
import { get, thumb } from "../api.js";
import { chip, choice, emptyPage, listPage, searchBox } from "../components.js";
import { button, fill, h } from "../dom.js";
import { Filters } from "../filters.js";
import { many, number, shortName } from "../format.js";
import { VirtualGrid } from "../grid.js";
import { moveTarget } from "../keyboard.js";
import { openLearn } from "../learn.js";
import { DEFAULT_STATE, lastViewed, PictureList, positionOf, rememberList } from "../lists.js";
import { address, go, replaceAddress } from "../router.js";
import { store } from "../store.js";
import { Suggesting } from "../suggesting.js";

const STATES = [
  ["open", "to decide"],
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
const PAGE_SIZE = 60;
const NO_FILTERS = { q: "", folder: "", date: "", tag: "" };
// Why there is nothing in a list without filters.
const NOTHING = {
  open: "Nothing is left to decide: every suggestion and every suspected error is decided.",
  all: "There are no pictures in this run.",
  suggested: "No picture has an undecided suggestion.",
  suspected: "No picture has a suspected error that is undecided.",
  untagged: "Every picture has a tag.",
  decided: "Nothing is decided yet.",
};

class PicturesView {
  constructor(root, { query }) {
    this.query = {
      q: query.get("q") ?? "",
      state: query.get("state") ?? DEFAULT_STATE,
      sort: query.get("sort") ?? "name",
      tag: query.get("tag") ?? "",
      folder: query.get("folder") ?? "",
      date: query.get("date") ?? "",
    };
    const change = (name) => (value) => this.change({ [name]: value });
    this.filters = new Filters(this.query, (some) => this.change(some));
    const tools = [
      searchBox("Search names and tags", this.query.q, change("q")),
      choice("Show", STATES, this.query.state, change("state")),
      choice("Sort by", SORTS, this.query.sort, change("sort")),
      this.filters.element,
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
    const { state, sort, ...others } = this.query;
    return address(path, {
      ...others,
      state: state === DEFAULT_STATE ? "" : state,
      sort: sort === "name" ? "" : sort,
    });
  }

  async load() {
    this.grid.setCount(0);
    this.range = null;
    await new Promise((resolve) => {
      const pages = new PictureList(
        () => get("/api/pictures", { ...this.query, limit: PAGE_SIZE }),
        (numbers) => get("/api/rows", { numbers: numbers.join(",") }),
        PAGE_SIZE,
        (first, last, answer, error) => {
          // The answer to an outdated search is dropped.
          if (this.pages === pages) this.loaded(first, last, answer, error);
          resolve();
        },
      );
      this.pages = pages;
      pages.open();
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
    const { total } = this.pages;
    fill(this.notice, total ? null : this.whyEmpty());
    this.count.textContent = many(total, "picture");
    if (this.grid.count !== total) this.grid.setCount(total);
    const fresh = Array.from({ length: last - first }, (_, k) => first + k);
    this.grid.rebuild(fresh.filter((index) => this.grid.cards.get(index)?.dataset.bare));
  }

  /** Say why no picture is listed, and offer what helps. */
  whyEmpty() {
    const { state } = this.query;
    const isFiltered = Object.keys(NO_FILTERS).some((name) => this.query[name]);
    const kind = state === "all" ? "" : ` ${STATES.find(([name]) => name === state)?.[1] ?? ""}`;
    const all = number(store.collection.images.length);
    const text = isFiltered
      ? `No picture${kind} matches the search and the filters.`
      : (NOTHING[state] ?? NOTHING.open);
    const clear = () => {
      this.filters.clear();
      document.querySelector("input[type=search]").value = "";
      this.change(NO_FILTERS);
      this.filters.drawSummary();
    };
    const showAll = () => {
      document.querySelector("select[aria-label=Show]").value = "all";
      this.change({ state: "all" });
    };
    const isDone = state === "open" && !isFiltered;
    return emptyPage(text, null, null, [
      isFiltered ? button({ text: "Clear filters", click: clear }) : null,
      state === "all" ? null : button({ text: `Show all ${all} pictures`, click: showAll }),
      isDone ? button({ text: "Learn again", style: "main", click: openLearn }) : null,
    ]);
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
        this.remember();
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
    this.remember();
    go(this.address(`picture/${row.i}`));
    return true;
  }

  /** Let "next picture" follow this list. */
  remember() {
    rememberList(this.query, this.pages.numbers, this.address());
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
    this.filters.destroy();
    this.suggesting.destroy();
    store.removeEventListener("suggested", this.onSuggested);
    store.removeEventListener("entries", this.onEntries);
  }
}

export const showPictures = (root, place) => new PicturesView(root, place);
