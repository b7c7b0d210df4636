// All tags, with how much there is to do for each.

import { emptyPage } from "../actions.js";
import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { VirtualGrid } from "../grid.js";
import { aim } from "../keyboard.js";
import { address, note } from "../router.js";
import { store } from "../store.js";
import { choice, searchBox } from "../toolbar.js";
import { many, number } from "../words.js";

const SORTS = [
  ["open", "most to do"],
  ["name", "name"],
  ["known", "most known"],
];

const QUALITY =
  "Of a hundred pairs of a picture whose tag had been hidden and one without the tag, " +
  "in how many the former ranks higher; 50 is chance.";

/** How well a tag is told, quietly; nothing where it could not be measured. */
function quality(share) {
  if (share === null || share === undefined) return null;
  return [" · ", h("span", { title: QUALITY }, `quality ${Math.round(100 * share)}`)];
}

class TagsView {
  constructor(root, { query }) {
    this.query = { q: query.get("q") ?? "", sort: query.get("sort") ?? "open" };
    this.rows = [];
    this.count = h("span", { class: "count", role: "status" });
    this.host = h("div", { role: "list", "aria-label": "Tags" });
    this.notice = h("div");
    const change = (name) => (value) => this.change({ [name]: value });
    fill(
      root,
      h(
        "div",
        { class: "toolbar" },
        h("h1", {}, "Tags"),
        searchBox("Search tags", this.query.q, change("q")),
        choice("Sort by", SORTS, this.query.sort, change("sort")),
        this.count,
      ),
      this.notice,
      this.host,
    );
    this.grid = new VirtualGrid(this.host, {
      least: 300,
      gap: 10,
      height: () => 76,
      make: (index) => this.card(this.rows[index]),
      paint: () => {},
    });
    this.ready = this.load();
  }

  change(some) {
    Object.assign(this.query, some);
    note(
      address("tags", { q: this.query.q, sort: this.query.sort === "open" ? "" : this.query.sort }),
    );
    this.load();
  }

  async load() {
    const asked = { ...this.query };
    try {
      const { rows } = await get("/api/tags", asked);
      // The answer to a search that was typed over comes too late.
      if (asked.q !== this.query.q || asked.sort !== this.query.sort) return;
      this.rows = rows;
      this.grid.setCount(0);
      this.grid.setCount(rows.length);
      this.count.textContent = many(rows.length, "tag");
      fill(this.notice, rows.length ? null : emptyPage("No tag fits."));
    } catch (error) {
      fill(
        this.notice,
        emptyPage("", error, () => this.load()),
      );
    }
  }

  card(row) {
    const all = row.known + row.suggested + row.accepted || 1;
    const parts = ["known", "accepted", "suggested"].map((word) => {
      const part = h("span", { class: `share share-${word}` });
      part.style.width = `${(100 * row[word]) / all}%`;
      return part;
    });
    const facts = [
      `${number(row.known)} known`,
      row.accepted ? `${number(row.accepted)} accepted` : null,
      row.rejected ? `${number(row.rejected)} rejected` : null,
    ]
      .filter(Boolean)
      .join(" · ");
    return h(
      "div",
      { role: "listitem", class: "tag-card" },
      h(
        "a",
        { href: address(`tag/${row.t}`), "data-focus": true },
        h("span", { class: "tag-name" }, store.tagName(row.t)),
        h(
          "span",
          { class: "tag-open" },
          row.suggested ? `${number(row.suggested)} suggested` : "nothing suggested",
        ),
        h("span", { class: "shares", "aria-hidden": "true" }, ...parts),
        h("span", { class: "facts" }, facts, quality(row.quality)),
      ),
    );
  }

  key(name) {
    const next = aim(name, this.grid);
    if (next === null) return false;
    this.grid.focus(next);
    return true;
  }

  destroy() {
    this.grid.destroy();
  }
}

export const showTags = (root, place) => new TagsView(root, place);
