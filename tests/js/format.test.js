import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./browser.js";

const { duration, many, number, percent, sentence, shortName, stateText, stepText } =
  await load("format.js");

test("a probability is never shown as certain", () => {
  assert.equal(percent(0), "1%");
  assert.equal(percent(0.004), "1%");
  assert.equal(percent(0.425), "43%");
  assert.equal(percent(0.999), "99%");
  assert.equal(percent(1), "99%");
  assert.equal(percent(null), "");
  assert.equal(percent(undefined), "");
});

test("thousands are separated by commas, and words have plurals", () => {
  assert.equal(number(1234567), "1,234,567");
  assert.equal(many(1, "picture"), "1 picture");
  assert.equal(many(0, "picture"), "0 pictures");
  assert.equal(many(2000, "entry", "entries"), "2,000 entries");
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

test("steps of the history are worded by verdict, tag and picture", () => {
  const names = {
    tagName: (t) => ["beach", "sea"][t],
    imageName: (i) => ["2019/a.jpg", "b.jpg"][i],
  };
  const text = (step) => stepText(step, names);
  assert.equal(text({ verdict: "accept", n: 42, t: 0, i: null }), "accepted beach on 42 pictures");
  assert.equal(text({ verdict: "reject", n: 1, t: 1, i: 0 }), "rejected sea on a.jpg");
  assert.equal(text({ verdict: "accept", n: 3, t: null, i: 1 }), "accepted 3 tags on b.jpg");
  assert.equal(text({ verdict: "mixed", n: 3, t: null, i: null }), "changed 3 tags");
  assert.equal(text({ verdict: "of a later version", n: 1, t: 0, i: 1 }), "changed beach on b.jpg");
});

test("durations are said as one would say them", () => {
  assert.equal(duration(3), "a few seconds");
  assert.equal(duration(31), "about 30 seconds");
  assert.equal(duration(70), "about a minute");
  assert.equal(duration(200), "about 3 minutes");
  assert.equal(duration(9000), "about 2.5 hours");
});

test("unknown states are undecided", () => {
  assert.equal(stateText("suspected"), "known, suspected error");
  assert.equal(stateText("of a later version"), "undecided");
});
