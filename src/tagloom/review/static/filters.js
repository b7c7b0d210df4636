// Filters of the pictures by folder, date and tag, folded away until they are wanted.

import { get } from "./api.js";
import { choice } from "./components.js";
import { fill, h } from "./dom.js";
import { number, percent } from "./format.js";
import { store } from "./store.js";

const POLL_MS = 1500;
const MONTHS = [
  "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
  "November", "December",
];

/** "2019-05" as "May 2019", indented below its year. */
export function dateText(date) {
  const [year, month] = date.split("-");
  return month ? `\u2003${MONTHS[Number(month) - 1]} ${year}` : year;
}

/** A folder by its last part, indented by its depth. */
export function folderText(folder) {
  const parts = folder.split("/");
  return "\u2003".repeat(parts.length - 1) + parts.at(-1);
}

const counted = (text, n) => `${text} (${number(n)})`;

export class Filters {
  /** `query` has what is chosen; `changed({folder, date, tag})` is called with what is new. */
  constructor(query, changed) {
    this.query = query;
    this.changed = changed;
    this.summary = h("summary", { class: "button" });
    this.body = h("div", { class: "filter-choices" });
    this.element = h("details", { class: "filters" }, this.summary, this.body);
    this.element.open = this.active > 0;
    this.element.addEventListener("toggle", () => this.element.open && this.load());
    this.drawSummary();
    if (this.element.open) this.load();
  }

  get active() {
    return ["folder", "date", "tag"].filter((name) => this.query[name]).length;
  }

  drawSummary() {
    this.summary.textContent = this.active ? `Filters (${this.active})` : "Filters";
  }

  async load() {
    if (this.isLoaded) return;
    try {
      this.draw(await get("/api/filters"));
    } catch (error) {
      fill(this.body, h("p", { class: "quiet-text" }, `Not loaded: ${error.message}.`));
    }
  }

  draw({ folders, dates, dates_read: read }) {
    this.isLoaded = read >= 1;
    const ofFolders = folders.map(({ folder, n }) => [folder, counted(folderText(folder), n)]);
    const ofDates = dates.map(({ date, n }) => [date, counted(dateText(date), n)]);
    const byName = new Intl.Collator("en", { numeric: true });
    const ofTags = store.collection.tags
      .map((name, t) => [String(t), name])
      .sort((a, b) => byName.compare(a[1], b[1]));
    const reading = this.isLoaded ? "any date" : `any date (${percent(read)} read)`;
    // A list that is being used stays as it is.
    if (this.body.contains(document.activeElement)) this.isLoaded = false;
    else
      fill(
        this.body,
        folders.length ? this.choice("Folder", "folder", "all folders", ofFolders) : null,
        this.choice("Taken", "date", reading, ofDates),
        this.choice("Tag", "tag", "any tag", ofTags),
      );
    if (!this.isLoaded && !this.isGone) setTimeout(() => this.isGone || this.load(), POLL_MS);
  }

  choice(label, name, every, options) {
    return choice(label, [["", every], ...options], this.query[name], (value) => {
      this.changed({ [name]: value });
      this.drawSummary();
    });
  }

  clear() {
    for (const list of this.body.querySelectorAll("select")) list.value = "";
    this.drawSummary();
  }

  destroy() {
    this.isGone = true;
  }
}
