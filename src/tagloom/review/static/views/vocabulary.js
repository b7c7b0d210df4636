// Manage tags: what each is linked to, which may be one, and which to learn. Decisions go into the
// vocabulary file and take effect when the run learns again.

import { toast, undo } from "../actions.js";
import { get } from "../api.js";
import { emptyPage, searchBox } from "../components.js";
import { button, fill, h } from "../dom.js";
import { many } from "../format.js";
import { learnNow } from "../learn.js";
import { address } from "../router.js";
import { store } from "../store.js";

const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
const capital = (text) => text[0].toUpperCase() + text.slice(1);

class VocabularyView {
  constructor(root) {
    this.answer = { rows: [], merges: [], pending: false, file: "" };
    this.search = "";
    this.deciding = false;
    // The tag whose name is being edited.
    this.editing = null;
    this.count = h("span", { class: "count", role: "status" });
    this.notice = h("div");
    this.pending = h("div");
    this.merges = h("section", { class: "vocabulary-merges", "aria-label": "May be one" });
    this.list = h("ul", { class: "vocabulary", "aria-label": "Tags" });
    const box = searchBox("Search tags", "", (text) => {
      this.search = plain(text);
      this.drawList();
    });
    const back = h("a", { class: "back", href: address("tags") }, "Tags");
    fill(
      root,
      h("div", { class: "toolbar" }, back, h("h1", {}, "Manage tags"), box, this.count),
      this.adder(),
      this.pending,
      this.notice,
      this.merges,
      this.list,
    );
    // Undone and redone steps, of this tab or another, may be about tags.
    this.onHistory = () => this.refresh();
    store.addEventListener("history", this.onHistory);
    this.ready = this.load();
  }

  async load() {
    try {
      this.draw(await get("/api/vocabulary"));
    } catch (error) {
      fill(
        this.notice,
        emptyPage("", error, () => this.load()),
      );
    }
  }

  /** Load again unless the last answer already shows the last step. */
  refresh() {
    const batch = store.history.undo?.batch ?? null;
    if (!this.deciding && batch !== this.batch) this.load();
  }

  async decide(decision, focus) {
    this.deciding = true;
    const answer = await store.decideTags(decision);
    this.deciding = false;
    if (answer === null) {
      this.load();
      return;
    }
    this.editing = null;
    this.draw(answer);
    this.focus(focus);
    const step = store.history.undo;
    if (step?.text)
      toast(`${capital(step.text)}.`, { label: "Undo", key: "u", run: () => undo() });
  }

  draw(answer) {
    this.answer = answer;
    this.batch = store.history.undo?.batch ?? null;
    fill(this.notice);
    this.drawPending();
    this.drawMerges();
    this.drawList();
  }

  drawPending() {
    const { pending, file } = this.answer;
    const learn = button({ text: "Learn again", style: "main", click: () => learnNow() });
    const text = pending
      ? `Your decisions are in ${file} and take effect when you learn again.`
      : `Decisions go into ${file} and take effect when you learn again. Your files with tags are never changed.`;
    fill(
      this.pending,
      h("div", { class: "vocabulary-note" }, h("p", { class: "quiet-text" }, text), pending ? learn : null),
    );
  }

  adder() {
    const input = h("input", {
      type: "text",
      name: "add-tag",
      placeholder: "Add a tag that no picture has yet",
      "aria-label": "Add a tag that no picture has yet",
      autocomplete: "off",
      maxlength: 200,
    });
    const submit = (event) => {
      event.preventDefault();
      const to = input.value.trim();
      if (!to) return;
      input.value = "";
      this.decide({ action: "add", tags: [], to }, () => input);
    };
    return h(
      "form",
      { class: "vocabulary-add", on: { submit } },
      input,
      h("button", { type: "submit", class: "button" }, "Add tag"),
    );
  }

  drawMerges() {
    const { merges } = this.answer;
    const title = h("h2", {}, "May be one");
    const items = merges.map(({ tags, why }) => {
      const into = h(
        "select",
        { "aria-label": `Name for ${tags.join(", ")}` },
        ...tags.map((tag) => h("option", { value: tag }, tag)),
      );
      const merge = button({
        text: "Merge",
        label: `Merge ${tags.join(", ")}`,
        click: () =>
          this.decide({ action: "merge", tags, to: into.value }, () =>
            this.merges.querySelector("button"),
          ),
      });
      return h(
        "li",
        {},
        h("span", { class: "vocabulary-names" }, tags.join(", ")),
        h("span", { class: "quiet-text" }, why),
        h("label", { class: "choice" }, h("span", {}, "into"), into),
        merge,
      );
    });
    fill(this.merges, ...(items.length ? [title, h("ul", {}, ...items)] : []));
  }

  drawList() {
    const rows = this.answer.rows
      .filter(({ tag, aliases }) => [tag, ...aliases].some((one) => plain(one).includes(this.search)))
      .sort((a, b) => b.n - a.n || (a.tag < b.tag ? -1 : 1));
    this.count.textContent = many(rows.length, "tag");
    fill(this.list, ...rows.map((row) => this.row(row)));
    if (!rows.length) fill(this.list, h("li", {}, emptyPage("No matching tags.")));
  }

  row(row) {
    const { tag, n, ignored } = row;
    const learn = h("input", {
      type: "checkbox",
      "aria-label": `Learn ${tag}`,
      on: {
        change: () =>
          this.decide({ action: learn.checked ? "learn" : "ignore", tags: [tag] }, () =>
            this.control(tag, "input[type=checkbox]"),
          ),
      },
    });
    learn.checked = !ignored;
    const rename = button({
      text: "Rename or merge",
      label: `Rename or merge ${tag}`,
      style: "quiet",
      click: () => this.edit(tag),
    });
    const content = [
      h("span", { class: "tag-name" }, tag),
      h("span", { class: "count" }, n ? many(n, "picture") : "no picture yet"),
      h("span", { class: "vocabulary-how" }, this.meaning(row)),
      rename,
    ];
    return h(
      "li",
      { class: "vocabulary-row", "data-tag": tag, "data-ignored": ignored ? "yes" : null },
      h("label", { class: "vocabulary-learn" }, learn, h("span", {}, "learn")),
      ...(this.editing === tag ? [this.editor(row)] : content),
    );
  }

  meaning({ how, aliases, implies, added, linked, n }) {
    const parts = [how];
    if (added && !linked && !n) parts.push("nothing to learn from until you tag a picture");
    if (aliases.length) parts.push(`also called ${aliases.join(", ")}`);
    if (implies.length) parts.push(`implies ${implies.join(", ")}`);
    return parts.join("; ");
  }

  edit(tag) {
    this.editing = tag;
    this.drawList();
    const input = this.control(tag, ".vocabulary-editor input");
    input?.focus();
    input?.select();
  }

  /** A field for a new name; the name of another tag merges both. */
  editor({ tag }) {
    const names = new Set(this.answer.rows.map((row) => row.tag));
    const id = "vocabulary-names";
    const input = h("input", {
      type: "text",
      list: id,
      "aria-label": `New name of ${tag}, or the tag to merge it into`,
      autocomplete: "off",
      maxlength: 200,
    });
    input.value = tag;
    const save = h("button", { type: "submit", class: "button main" }, "Rename");
    const other = () => names.has(input.value.trim()) && input.value.trim() !== tag;
    const stop = () => {
      this.editing = null;
      this.drawList();
      this.control(tag, "button")?.focus();
    };
    input.addEventListener("input", () => {
      save.textContent = other() ? "Merge" : "Rename";
    });
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      stop();
    });
    const submit = (event) => {
      event.preventDefault();
      const to = input.value.trim();
      if (!to || to === tag) stop();
      else
        this.decide({ action: other() ? "merge" : "rename", tags: [tag], to }, () =>
          this.control(to, "button"),
        );
    };
    return h(
      "form",
      { class: "vocabulary-editor", on: { submit } },
      input,
      h("datalist", { id }, ...[...names].map((name) => h("option", { value: name }))),
      save,
      button({ text: "Cancel", style: "quiet", click: stop }),
    );
  }

  control(tag, selector) {
    const rows = [...this.list.querySelectorAll("[data-tag]")];
    return rows.find((row) => row.dataset.tag === tag)?.querySelector(selector) ?? null;
  }

  focus(target) {
    target?.()?.focus();
  }

  key() {
    return false;
  }

  destroy() {
    store.removeEventListener("history", this.onHistory);
  }
}

export const showVocabulary = (root) => new VocabularyView(root);
