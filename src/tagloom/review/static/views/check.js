// Check a sample: one picture at a time, a yes or no, and in the end how many suggestions are right.
// The probability is not shown, since it would lead the answer.

import { announce } from "../actions.js";
import { get, large, post } from "../api.js";
import { emptyPage, showLarge } from "../components.js";
import { button, fill, h, show } from "../dom.js";
import { number } from "../format.js";
import { learnNow } from "../learn.js";
import { go } from "../router.js";
import { store } from "../store.js";
import { N_CHECKED } from "../suggesting.js";

// Whether this tab has shown a result.
let isChecked = false;

const WORDS = { yes: "yes", no: "no", unsure: "don't know" };

/** The place of the first question without an answer, from `at` on and then from the start. */
export function unanswered(questions, at = 0) {
  const isOpen = ({ answer }) => answer === null;
  const later = questions.findIndex((question, place) => place >= at && isOpen(question));
  return later >= 0 ? later : questions.findIndex(isOpen);
}

class CheckView {
  constructor(root) {
    this.root = root;
    this.check = null;
    this.at = -1;
    this.asked = [];
    this.storing = 0;
    this.build();
    // Decisions of other tabs, and undo, change answers.
    this.onEntries = () => this.refresh();
    store.addEventListener("history", this.onEntries);
    this.ready = this.begin();
  }

  build() {
    this.image = h("img", { class: "large", alt: "" });
    this.question = h("h1", { class: "question", "aria-live": "polite" });
    this.bar = h("progress", { "aria-label": "Answered" });
    this.progress = h("p", { class: "quiet-text", role: "status" });
    const answer = (text, value, style, key, picture) =>
      button({ text, picture, key, style, click: () => this.answer(value) });
    const answers = h(
      "div",
      { class: "answers" },
      answer("No", "no", "no big", "n", "no"),
      answer("Yes", "yes", "yes big", "y", "yes"),
    );
    const walk = h(
      "div",
      { class: "walk" },
      button({
        text: "Back",
        picture: "undo",
        key: "Backspace",
        style: "plain",
        click: () => this.back(),
      }),
      answer("Don't know", "unsure", "plain", "Space"),
    );
    this.early = button({
      text: "Show the result so far",
      style: "link",
      click: () => this.showResult(),
    });
    this.body = h(
      "div",
      { class: "annotating" },
      h("div", { class: "frame" }, this.image),
      h("div", { class: "side" }, this.question, answers, walk, this.bar, this.progress, this.early),
    );
  }

  async begin() {
    try {
      this.check = (await get("/api/check")).check;
      if (this.check) this.show();
      else if (isChecked) this.offer();
      else await this.again();
    } catch (error) {
      fill(
        this.root,
        emptyPage("", error, () => this.begin()),
      );
    }
  }

  /** The run has learned since the last check. */
  offer() {
    fill(
      this.root,
      h(
        "div",
        { class: "check-result" },
        h("h1", {}, "Check again?"),
        h("p", {}, "The suggestions are new since the last check, which says nothing about them."),
        h("div", { class: "walk" }, this.newCheck("main")),
      ),
    );
  }

  newCheck(style) {
    return button({ text: "New check", style, click: () => this.again() });
  }

  get questions() {
    return this.check.questions;
  }

  show() {
    this.at = unanswered(this.questions, Math.max(0, this.at));
    if (this.at < 0) this.showResult();
    else this.ask();
  }

  ask() {
    if (!this.body.isConnected) fill(this.root, this.body);
    const { i, t } = this.questions[this.at];
    showLarge(this.image, i);
    fill(this.question, "Add tag ", h("em", {}, store.tagName(t)), "?");
    const done = this.questions.filter(({ answer }) => answer !== null).length;
    this.bar.max = this.questions.length;
    this.bar.value = done;
    show(this.early, done > 0);
    this.progress.textContent = `${number(done)} of ${number(this.questions.length)} answered`;
    const next = this.questions[unanswered(this.questions, this.at + 1)];
    if (next) new Image().src = large(next.i);
  }

  /** The next question is shown at once; the header says whether the answer is saved. */
  answer(value) {
    const place = this.at;
    if (place < 0) return;
    this.asked.push(place);
    this.put(place, value);
    announce(`${store.tagName(this.questions[place].t)}: ${WORDS[value]}`);
  }

  back() {
    const answered = this.questions.findLastIndex(({ answer }) => answer !== null);
    const place = this.asked.pop() ?? answered;
    if (place < 0) return;
    this.put(place, null);
    this.at = place;
    this.ask();
  }

  async put(place, answer) {
    const { i, t } = this.questions[place];
    this.questions[place] = { i, t, answer };
    if (answer !== null) {
      this.at = unanswered(this.questions, place + 1);
      if (this.at >= 0) this.ask();
    }
    this.storing += 1;
    const stored = await store.answerCheck({ place, answer, i, t });
    this.storing -= 1;
    if (this.isGone) return;
    if (!stored) {
      // The header says why: ask again.
      this.questions[place] = { i, t, answer: null };
      this.at = place;
      this.ask();
    } else if (!this.storing) {
      this.check = stored.check;
      if (unanswered(this.questions) < 0) this.showResult();
    }
  }

  async refresh() {
    if (!this.check || this.storing) return;
    const { check } = await get("/api/check").catch(() => ({ check: null }));
    if (!check || this.storing || this.isGone) return;
    this.check = check;
    if (this.at < 0) this.showResult();
    else this.show();
  }

  showResult() {
    this.at = -1;
    isChecked = true;
    const { sentences, threshold } = this.check;
    const isLeft = unanswered(this.questions) >= 0;
    const isMoved = threshold !== (store.collection.threshold ?? null);
    const learn = button({ text: "Learn from the answers", style: "main", click: learnNow });
    const rest = button({ text: "Answer the rest", click: () => this.show() });
    const back = button({
      text: "Back",
      picture: "undo",
      key: "Backspace",
      style: "plain",
      click: () => this.back(),
    });
    fill(
      this.root,
      h(
        "div",
        { class: "check-result" },
        h("h1", { tabindex: "-1" }, isLeft ? "The result so far" : "The result of the check"),
        ...estimates(this.check.estimate),
        ...sentences.map((text) => h("p", {}, text)),
        isMoved
          ? h("p", { class: "badge" }, "The slider was moved since: this is about the suggestions of then.")
          : null,
        h("div", { class: "walk" }, isLeft ? rest : learn, this.newCheck("plain"), back),
      ),
    );
    this.root.querySelector("h1").focus();
    announce(sentences.join(" "));
  }

  async again() {
    try {
      this.check = (await post("/api/check", { n: N_CHECKED })).check;
      this.asked = [];
      this.at = 0;
      this.show();
    } catch (error) {
      fill(
        this.root,
        emptyPage("", error, () => this.again()),
      );
    }
  }

  key(name, event) {
    // Space presses a button that was reached by keys.
    if (name === " " && event.target.matches?.("button:focus-visible, a:focus-visible")) return false;
    if (name === "Escape") go("#/pictures");
    else if (name === "Backspace") this.back();
    else if (this.at < 0) return false;
    else if (name === "y" || name === "a") this.answer("yes");
    else if (name === "n" || name === "r") this.answer("no");
    else if (name === " ") this.answer("unsure");
    else return false;
    return true;
  }

  destroy() {
    this.isGone = true;
    store.removeEventListener("history", this.onEntries);
  }
}

/** Both shares as bars with their intervals. */
function estimates({ precision, recall }) {
  const rows = [
    ["Suggestions that are right", precision],
    ["Missing tags that are suggested", recall],
  ];
  return rows.filter(([, share]) => share).map(([label, share]) => intervalBar(label, share));
}

function intervalBar(label, [value, low, high]) {
  const range = h("span", { class: "interval-range" });
  range.style.left = `${100 * low}%`;
  range.style.width = `${100 * (high - low)}%`;
  const point = h("span", { class: "interval-point" });
  point.style.left = `${100 * value}%`;
  const whole = (share) => Math.round(100 * share);
  return h(
    "div",
    { class: "interval" },
    h("span", {}, label),
    h("span", { class: "interval-bar", "aria-hidden": "true" }, range, point),
    h("strong", {}, `${whole(low)}–${whole(high)}%`),
  );
}

export const showCheck = (root) => new CheckView(root);
