// The threshold slider under a small histogram: how many open pictures are above the threshold.
// Counted from the histogram that the server sent, so that it follows the slider without requests.

import { h } from "./dom.js";
import { number, percent } from "./format.js";

export const BINS = 50;
export const binOf = (p) => Math.min(BINS - 1, Math.floor((p ?? 0) * BINS));
export const atLeast = (histogram, bin) => histogram.slice(bin).reduce((sum, n) => sum + n, 0);

const SVG = "http://www.w3.org/2000/svg";

function bars(histogram) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${BINS} 20`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("class", "histogram");
  svg.setAttribute("aria-hidden", "true");
  // On a log scale, or the few likely pictures could not be seen beside the many unlikely ones.
  const tallest = Math.log1p(Math.max(1, ...histogram));
  histogram.forEach((n, bin) => {
    const bar = document.createElementNS(SVG, "rect");
    const height = n ? Math.max(0.8, (20 * Math.log1p(n)) / tallest) : 0;
    for (const [name, value] of [
      ["x", bin + 0.1],
      ["y", 20 - height],
      ["width", 0.8],
      ["height", height],
    ]) {
      bar.setAttribute(name, value);
    }
    svg.append(bar);
  });
  return svg;
}

export class Threshold {
  /** `changed(bin)` is called while the slider moves. */
  constructor(bin, changed) {
    this.bin = bin;
    this.histogram = new Array(BINS).fill(0);
    this.unscored = 0;
    this.picture = h("div", { class: "histogram-place" });
    this.words = h("output", { class: "threshold-words" });
    this.slider = h("input", {
      type: "range",
      min: 0,
      max: BINS - 1,
      step: 1,
      "aria-label": "Minimum confidence",
      on: {
        input: () => {
          this.bin = Number(this.slider.value);
          this.draw();
          changed(this.bin);
        },
      },
    });
    this.slider.value = bin;
    this.element = h("div", { class: "threshold" }, this.picture, this.slider, this.words);
  }

  /** `unscored` pictures have no probability: they come last, and only with no threshold. */
  show(histogram, unscored = 0) {
    this.histogram = histogram;
    this.unscored = unscored;
    this.picture.replaceChildren(bars(histogram));
    this.draw();
  }

  get open() {
    return atLeast(this.histogram, this.bin) + (this.bin ? 0 : this.unscored);
  }

  set(bin) {
    this.bin = bin;
    this.slider.value = bin;
  }

  draw() {
    [...this.picture.querySelectorAll("rect")].forEach((bar, bin) =>
      bar.classList.toggle("within", bin >= this.bin),
    );
    const from = percent(this.bin / BINS);
    const count = `${number(this.open)} undecided`;
    const text = this.bin ? `${count} from ${from} on` : count;
    this.words.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
  }
}
