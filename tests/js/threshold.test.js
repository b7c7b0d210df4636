import assert from "node:assert/strict";
import { test } from "node:test";

import { load, openPage } from "./browser.js";

openPage();
const { atLeast, binOf, BINS, Threshold } = await load("threshold.js");

test("probabilities fall into the bins that the server counts", () => {
  assert.equal(binOf(0), 0);
  assert.equal(binOf(0.019), 0);
  assert.equal(binOf(0.02), 1);
  assert.equal(binOf(0.999), BINS - 1);
  assert.equal(binOf(1), BINS - 1, "1 belongs to the last bin");
  assert.equal(binOf(null), 0);
});

test("a threshold counts its own bin and those above it", () => {
  const histogram = [5, 3, 2];
  assert.equal(atLeast(histogram, 0), 10);
  assert.equal(atLeast(histogram, 1), 5);
  assert.equal(atLeast(histogram, 3), 0);
});

test("the slider words what is above it; pictures without a probability only count at 0", () => {
  const moves = [];
  const threshold = new Threshold(25, (bin) => moves.push(bin));
  const histogram = new Array(BINS).fill(0);
  histogram[10] = 7;
  histogram[30] = 4;
  threshold.show(histogram, 2);
  assert.equal(threshold.words.textContent, "4 undecided from 50% on");
  threshold.slider.value = 0;
  threshold.slider.dispatchEvent(new Event("input"));
  assert.equal(threshold.words.textContent, "13 undecided");
  assert.deepEqual(moves, [0]);
  assert.equal(threshold.picture.querySelectorAll("rect.within").length, BINS);
});
