// What to annotate next, by falling acquisition score, one entry at a time.

import { decide } from "../actions.js";
import { get, large } from "../api.js";
import { emptyPage, mark, showLarge } from "../components.js";
import { button, fill, h } from "../dom.js";
import { isOpen } from "../entries.js";
import { many, number, percent, shortName, stateText } from "../format.js";
import { GrowingList } from "../lists.js";
import { address } from "../router.js";
import { store } from "../store.js";

class AnnotateNextView {
  constructor(root) {
    this.at = 0;
    this.answered = 0;
    this.image = h("img", { class: "large", alt: "" });
    this.question = h("h1", { class: "question", "aria-live": "polite" });
    this.details = h("p", { class: "quiet-text" });
    this.progress = h("p", { class: "quiet-text", role: "status" });
    this.status = h("p", { class: "state-word" });
    const answer = (text, verdict, style, key) =>
      button({
        text,
        picture: style,
        key,
        style: `${style} big`,
        click: () => this.answer(verdict),
      });
    const no = answer("No", "reject", "no", "r");
    const yes = answer("Yes", "accept", "yes", "a");
    const back = button({
      label: "Back",
      picture: "left",
      key: "←",
      style: "quiet",
      click: () => this.step(-1),
    });
    const skip = button({
      text: "Skip",
      picture: "right",
      key: "→",
      style: "plain",
      click: () => this.step(1),
    });
    this.body = h(
      "div",
      { class: "annotating" },
      h("div", { class: "frame" }, this.image),
      h(
        "div",
        { class: "side" },
        this.question,
        this.details,
        this.status,
        h("div", { class: "answers" }, no, yes),
        h("div", { class: "walk" }, back, skip),
        this.progress,
      ),
    );
    this.root = root;
    this.source = new GrowingList((offset, limit) => get("/api/to-annotate", { offset, limit }), {
      keyOf: ({ i, t }) => `${i}:${t}`,
      // Decided rows stay in this list.
      isOpen: () => true,
      loaded: (answer) => {
        store.updateRows(answer.rows, answer.version);
        this.total = answer.total;
      },
      first: 40,
      chunk: 100,
    });
    this.onEntries = () => this.paint();
    store.addEventListener("entries", this.onEntries);
    this.ready = this.begin();
  }

  async begin() {
    try {
      this.at = await this.undecided(0);
      const isLeft = this.at < this.source.rows.length;
      fill(
        this.root,
        isLeft
          ? this.body
          : emptyPage("There is nothing left to annotate: everything is known or decided."),
      );
      this.draw();
    } catch (error) {
      fill(
        this.root,
        emptyPage("", error, () => this.begin()),
      );
    }
  }

  /** The first undecided index from `at` on; the length of the list if there is none. */
  async undecided(at) {
    for (let k = at; ; k += 1) {
      await this.source.need(k + 1);
      const row = this.source.get(k);
      if (!row || isOpen(store.entries.look(row.i, row.t, row.state).state)) return k;
    }
  }

  draw() {
    const row = this.source.get(this.at);
    if (!row) return;
    const { i, t, p } = row;
    const name = store.imageName(i);
    showLarge(this.image, i);
    fill(this.question, "Add tag ", h("em", {}, store.tagName(t)), "?");
    fill(
      this.details,
      p === null ? "" : `confidence ${percent(p)} · `,
      h("a", { href: address(`picture/${i}`), title: name }, shortName(name)),
    );
    // The next picture is fetched in advance.
    const next = this.source.get(this.at + 1);
    if (next) new Image().src = large(next.i);
    this.source.need(this.at + 12).catch(() => {});
    this.paint();
  }

  paint() {
    const row = this.source.get(this.at);
    if (!row || !this.body.isConnected) return;
    const look = store.entries.look(row.i, row.t, row.state);
    mark(this.body, look);
    this.status.textContent = look.pending
      ? "saving"
      : isOpen(look.state)
        ? ""
        : stateText(look.state);
    const answered = this.answered ? ` · ${many(this.answered, "answer")} saved` : "";
    const place = `${number(this.at + 1)} of ${number(this.total)}`;
    this.progress.textContent = place + answered;
  }

  async answer(verdict) {
    const row = this.source.get(this.at);
    if (!row) return;
    const stored = decide([row], verdict);
    this.step(1);
    // Counted when it is stored, not when it is clicked.
    if (await stored) this.answered += 1;
    this.paint();
  }

  async step(step) {
    // Forward skips decided entries; back does not, because one may have to be corrected.
    const next = step > 0 ? await this.undecided(this.at + 1).catch(() => this.at) : this.at + step;
    if (next < 0) return;
    if (next >= this.source.rows.length) {
      fill(this.root, emptyPage("That was the last one for now. Learn again to get new ones."));
      return;
    }
    this.at = next;
    this.draw();
  }

  key(name) {
    if (name === "a") this.answer("accept");
    else if (name === "r") this.answer("reject");
    else if (name === "ArrowRight" || name === "s") this.step(1);
    else if (name === "ArrowLeft") this.step(-1);
    else return false;
    return true;
  }

  destroy() {
    store.removeEventListener("entries", this.onEntries);
  }
}

export const showAnnotateNext = (root) => new AnnotateNextView(root);
