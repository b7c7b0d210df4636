import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./browser.js";

const { many, number, percent, sentence, shortName, stateText, stepText } = await load("format.js");

test("a probability is never shown as certain", () => {
  assert.equal(percent(0), "1 %");
  assert.equal(percent(0.004), "1 %");
  assert.equal(percent(0.425), "43 %");
  assert.equal(percent(0.999), "99 %");
  assert.equal(percent(1), "99 %");
  assert.equal(percent(null), "");
  assert.equal(percent(undefined), "");
});

test("thousands are separated by narrow spaces, and words have plurals", () => {
  assert.equal(number(1234567), "1\u202f234\u202f567");
  assert.equal(many(1, "picture"), "1 picture");
  assert.equal(many(0, "picture"), "0 pictures");
  assert.equal(many(2000, "entry", "entries"), "2\u202f000 entries");
});

test("a sentence ends with exactly one full stop", () => {
  assert.equal(sentence("the disk is full"), "the disk is full.");
  assert.equal(sentence("The disk is full."), "The disk is full.");
  assert.equal(sentence("Why?"), "Why?");
});

test("the short name of a picture is its last part", () => {
  assert.equal(shortName("2019/summer/beach.jpg"), "beach.jpg");
  assert.equal(shortName("beach.jpg"), "beach.jpg");
  assert.equal(shortName("odd/"), "odd/");
});

test("steps of the history are worded by verdict, number and tag", () => {
  const tagName = (t) => ["beach", "sea"][t];
  assert.equal(stepText({ verdict: "accept", n: 42, t: 0 }, tagName), "accepted 42 × beach");
  assert.equal(stepText({ verdict: "reject", n: 1, t: 1 }, tagName), "rejected sea");
  assert.equal(stepText({ verdict: "mixed", n: 3, t: null }, tagName), "changed 3 × tags");
  assert.equal(stepText({ verdict: "clear", n: 1, t: null }, tagName), "cleared one tag");
  assert.equal(stepText({ verdict: "of a later version", n: 1, t: 0 }, tagName), "changed beach");
});

test("unknown states are undecided", () => {
  assert.equal(stateText("suspected"), "known, suspected error");
  assert.equal(stateText("of a later version"), "undecided");
});
