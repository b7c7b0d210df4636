// All tags, with how much there is to review for each.

import { get } from "../api.js";
import { choice, emptyPage, listPage, searchBox } from "../components.js";
import { fill, h } from "../dom.js";
import { many, number } from "../format.js";
import { VirtualGrid } from "../grid.js";
import { moveTarget } from "../keyboard.js";
import { address, replaceAddress } from "../router.js";
import { store } from "../store.js";
import { Suggesting } from "../suggesting.js";

const SORTS = [
  ["open", "most suggestions"],
  ["name", "name"],
  ["known", "most known"],
];

const ROC_AUC =
  "How well the tag is ranked on held-out labels: the probability that a picture with the tag " +
  "ranks above one without it; 0.5 is chance.";

function rocAuc(value) {
  if (value === null || value === undefined) return null;
  return [" · ", h("span", { title: ROC_AUC }, `ROC AUC ${value.toFixed(2)}`)];
}

class TagsView {
  constructor(root, { query }) {
    this.query = { q: query.get("q") ?? "", sort: query.get("sort") ?? "open" };
    this.rows = [];
    const change = (name) => (value) => this.change({ [name]: value });
    const tools = [
      searchBox("Search tags", this.query.q, change("q")),
      choice("Sort by", SORTS, this.query.sort, change("sort")),
      h("a", { class: "button plain", href: address("vocabulary") }, "Manage tags"),
    ];
    this.suggesting = new Suggesting();
    Object.assign(this, listPage(root, "Tags", tools, this.suggesting.element));
    this.grid = new VirtualGrid(this.host, {
      least: 300,
      gap: 10,
      height: () => 76,
      make: (index) => this.card(this.rows[index]),
      paint: () => {},
    });
    this.onSuggested = () => this.load();
    store.addEventListener("suggested", this.onSuggested);
    this.ready = this.load();
  }

  change(some) {
    Object.assign(this.query, some);
    replaceAddress(
      address("tags", { q: this.query.q, sort: this.query.sort === "open" ? "" : this.query.sort }),
    );
    this.load();
  }

  async load() {
    const requested = { ...this.query };
    try {
      const { rows } = await get("/api/tags", requested);
      // The answer to an outdated search is dropped.
      if (requested.q !== this.query.q || requested.sort !== this.query.sort) return;
      this.rows = rows;
      this.grid.setCount(0);
      this.grid.setCount(rows.length);
      this.count.textContent = many(rows.length, "tag");
      fill(this.notice, rows.length ? null : emptyPage("No matching tags."));
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
    const details = [
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
          row.suggested ? `${number(row.suggested)} suggested` : "no suggestions",
        ),
        h("span", { class: "shares", "aria-hidden": "true" }, ...parts),
        h("span", { class: "details" }, details, rocAuc(row.roc_auc)),
      ),
    );
  }

  key(name) {
    const next = moveTarget(name, this.grid);
    if (next === null) return false;
    this.grid.focus(next);
    return true;
  }

  destroy() {
    this.grid.destroy();
    this.suggesting.destroy();
    store.removeEventListener("suggested", this.onSuggested);
  }
}

export const showTags = (root, place) => new TagsView(root, place);
