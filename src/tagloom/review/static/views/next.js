// What is most worth asking, one question at a time.

import { decide, emptyPage } from "../actions.js";
import { get, large, thumb } from "../api.js";
import { button, fill, h } from "../dom.js";
import { mark } from "../marks.js";
import { address } from "../router.js";
import { Growing } from "../sources.js";
import { store } from "../store.js";
import { isOpen, many, number, percent, shortName, spoken } from "../words.js";

class NextView {
  constructor(root) {
    this.at = 0;
    this.answered = 0;
    this.image = h("img", { class: "large", alt: "" });
    this.words = h("h1", { class: "question", "aria-live": "polite" });
    this.facts = h("p", { class: "quiet-text" });
    this.progress = h("p", { class: "quiet-text", role: "status" });
    this.word = h("p", { class: "state-word" });
    this.no = button({
      text: "No",
      picture: "no",
      key: "r",
      style: "no big",
      click: () => this.answer("reject"),
    });
    this.yes = button({
      text: "Yes",
      picture: "yes",
      key: "a",
      style: "yes big",
      click: () => this.answer("accept"),
    });
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
      { class: "asking" },
      h("div", { class: "frame" }, this.image),
      h(
        "div",
        { class: "side" },
        this.words,
        this.facts,
        this.word,
        h("div", { class: "answers" }, this.no, this.yes),
        h("div", { class: "walk" }, back, skip),
        this.progress,
      ),
    );
    this.root = root;
    this.source = new Growing((offset, limit) => get("/api/questions", { offset, limit }), {
      keyOf: ({ i, t }) => `${i}:${t}`,
      // The list keeps what is decided in its place.
      isOpen: () => true,
      loaded: (answer) => {
        store.takeRows(answer.rows, answer.version);
        this.total = answer.total;
      },
      first: 40,
      bite: 100,
    });
    this.heard = () => this.paint();
    store.addEventListener("entries", this.heard);
    this.ready = this.begin();
  }

  async begin() {
    try {
      this.at = await this.undecided(0);
      const isThere = this.at < this.source.rows.length;
      fill(
        this.root,
        isThere ? this.body : emptyPage("There is nothing to ask: all is known or decided."),
      );
      this.draw();
    } catch (error) {
      fill(
        this.root,
        emptyPage("", error, () => this.begin()),
      );
    }
  }

  /** The first place from `at` on that nobody has answered; the length of the list if none. */
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
    this.image.src = thumb(i, 320);
    this.image.alt = name;
    const full = new Image();
    full.src = large(i);
    full.decode().then(
      () => {
        if (this.source.get(this.at)?.i === i) this.image.src = full.src;
      },
      () => {},
    );
    fill(this.words, "Is this ", h("em", {}, store.tagName(t)), "?");
    fill(
      this.facts,
      p === null ? "" : `${percent(p)} likely · `,
      h("a", { href: address(`picture/${i}`), title: name }, shortName(name)),
    );
    // The next picture is fetched while this one is looked at.
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
    this.word.textContent = look.pending ? "storing" : isOpen(look.state) ? "" : spoken(look.state);
    const answered = this.answered ? ` · ${many(this.answered, "answer")} stored` : "";
    const place = `Question ${number(this.at + 1)} of ${number(this.total)}`;
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
    // Forward over what is answered; back to it, as it may have been a slip.
    const next = step > 0 ? await this.undecided(this.at + 1).catch(() => this.at) : this.at + step;
    if (next < 0) return;
    if (next >= this.source.rows.length) {
      fill(
        this.root,
        emptyPage("That was the last question for now. Learn again to get new ones."),
      );
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
    store.removeEventListener("entries", this.heard);
  }
}

export const showNext = (root) => new NextView(root);
