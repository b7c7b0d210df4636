import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./browser.js";

const { Selection } = await load("selection.js");
const sorted = (selection) => [...selection.selected].sort((a, b) => a - b);

test("toggling selects and deselects, and tells each change", () => {
  let changes = 0;
  const selection = new Selection(() => (changes += 1));
  selection.toggle(3);
  selection.toggle(5);
  selection.toggle(3);
  assert.deepEqual(sorted(selection), [5]);
  assert.equal(changes, 3);
  selection.clear();
  selection.clear();
  assert.equal(selection.size, 0);
  assert.equal(changes, 4, "clearing nothing is no change");
});

test("a range starts at the anchor, in both directions, and can shrink again", () => {
  const selection = new Selection(() => {});
  selection.toggle(4);
  selection.extend(7);
  assert.deepEqual(sorted(selection), [4, 5, 6, 7]);
  selection.extend(5);
  assert.deepEqual(sorted(selection), [4, 5]);
  selection.extend(2);
  assert.deepEqual(sorted(selection), [2, 3, 4]);
});

test("a range keeps what was selected before it", () => {
  const selection = new Selection(() => {});
  selection.toggle(0);
  selection.toggle(8);
  const kept = new Set(selection.selected);
  selection.extend(10, kept);
  selection.extend(9, kept);
  assert.deepEqual(sorted(selection), [0, 8, 9]);
});

test("without an anchor a range is one card", () => {
  const selection = new Selection(() => {});
  selection.extend(6);
  assert.deepEqual(sorted(selection), [6]);
  selection.all(3);
  assert.deepEqual(sorted(selection), [0, 1, 2]);
});
