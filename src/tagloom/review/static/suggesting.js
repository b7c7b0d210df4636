// More or fewer suggestions: one threshold over the whole collection, with what to expect of it, and
// the way to check that. All thresholds come in one answer, so that the words follow the slider.

import { announce } from "./actions.js";
import { get, post } from "./api.js";
import { button, debounce, h } from "./dom.js";
import { many, percent } from "./format.js";
import { store } from "./store.js";

export const N_CHECKED = 30;

/** "612 suggestions, about 78% right, about 41% of what is missing" */
export function expectation({ n, precision, recall }) {
  if (!n) return "no suggestions";
  return `${many(n, "suggestion")}, about ${percent(precision)} right, about ${percent(recall)} of what is missing`;
}

/** The threshold whose number of suggestions is closest to that of the run's own thresholds. */
export function nearest(rows, n) {
  const distance = (row) => Math.abs(row.n - n);
  return rows.reduce((best, row) => (distance(row) < distance(best) ? row : best)).threshold;
}

/** From "fewer" on the left to "more" on the right. */
const positionOf = (threshold) => 100 - Math.round(100 * threshold);
const thresholdAt = (position) => (100 - position) / 100;

export class Suggesting {
  constructor() {
    this.curve = null;
    this.words = h("output", { class: "suggesting-words" });
    this.slider = h("input", {
      type: "range",
      min: 1,
      max: 99,
      step: 1,
      disabled: true,
      "aria-label": "Fewer or more suggestions",
      on: { input: () => this.moved() },
    });
    this.reset = button({ text: "Reset", style: "plain", click: () => this.choose(null) });
    this.element = h(
      "div",
      { class: "suggesting wide" },
      h("span", { class: "end", "aria-hidden": "true" }, "fewer"),
      this.slider,
      h("span", { class: "end", "aria-hidden": "true" }, "more"),
      this.words,
      this.reset,
      h("a", { class: "button", href: "#/check" }, `Check ${N_CHECKED}`),
    );
    this.chooseSoon = debounce((threshold) => this.choose(threshold), 250);
    this.loadSoon = debounce(() => this.load(), 1000);
    // Decided entries are no suggestions any more.
    this.onEntries = () => this.loadSoon();
    store.addEventListener("entries", this.onEntries);
    this.load();
  }

  async load() {
    try {
      this.curve = await get("/api/thresholds");
    } catch {
      // The header says that the server does not answer.
      return;
    }
    if (!this.isMoving) this.draw();
  }

  draw() {
    const { threshold, current, rows } = this.curve;
    const isEmpty = !rows.some(({ n }) => n);
    this.slider.disabled = isEmpty;
    this.slider.value = positionOf(threshold ?? nearest(rows, current.n));
    this.reset.hidden = threshold === null;
    this.say(isEmpty ? "There is nothing to suggest." : expectation(current));
  }

  say(text) {
    this.words.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
  }

  moved() {
    this.isMoving = true;
    const threshold = thresholdAt(Number(this.slider.value));
    this.say(expectation(this.curve.rows[Math.round(100 * threshold) - 1]));
    this.chooseSoon(threshold);
  }

  async choose(threshold) {
    this.chooseSoon.cancel();
    try {
      store.suggestedFrom(await post("/api/threshold", { threshold }));
    } catch (error) {
      this.say(`The threshold was not saved: ${error.message}.`);
      return;
    } finally {
      this.isMoving = false;
    }
    await this.load();
    if (threshold === null) announce("The thresholds of the run are used again");
  }

  destroy() {
    // A choice that was waiting is made all the same.
    this.loadSoon.cancel();
    store.removeEventListener("entries", this.onEntries);
  }
}
