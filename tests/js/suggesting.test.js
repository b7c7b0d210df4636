import assert from "node:assert/strict";
import { test } from "node:test";

import { load, openPage, serve } from "./browser.js";

openPage();
const { store } = await load("store.js");
const { expectation, nearest, Suggesting } = await load("suggesting.js");
const { unanswered } = await load("views/check.js");

const ROWS = Array.from({ length: 99 }, (_, k) => ({
  threshold: (k + 1) / 100,
  n: 99 - k,
  precision: (k + 1) / 100,
  recall: (99 - k) / 100,
}));
const COLLECTION = {
  ...{ boot: "b", run: "r", version: 0, history: { undo: null, redo: null } },
  ...{ images: ["a.jpg"], tags: ["sea"], thresholds: [0.5], counts: {}, threshold: null },
};
const CURVE = { threshold: null, current: ROWS[49], rows: ROWS };
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test("an expectation in words", () => {
  assert.equal(
    expectation({ n: 1612, precision: 0.78, recall: 0.41 }),
    "1,612 suggestions, about 78% right, about 41% of what is missing",
  );
  assert.equal(expectation({ n: 0, precision: null, recall: 0 }), "no suggestions");
});

test("the slider starts where as much is suggested as by the run's own thresholds", () => {
  assert.equal(nearest(ROWS, 50), 0.5);
  assert.equal(nearest(ROWS, 1000), 0.01);
});

test("the words follow the slider without a request, and the choice is sent once", async () => {
  const sent = [];
  serve(async (path, body) => {
    if (path === "/api/collection") return structuredClone(COLLECTION);
    if (path === "/api/thresholds") return structuredClone(CURVE);
    sent.push(body);
    return { version: 0, threshold: body.threshold, thresholds: [body.threshold], counts: {} };
  });
  await store.load();
  const suggesting = new Suggesting();
  await pause(5);
  assert.equal(suggesting.slider.value, "50");
  assert.equal(suggesting.reset.hidden, true);
  let told = 0;
  store.addEventListener("suggested", () => (told += 1));
  for (const position of [60, 70, 80]) {
    suggesting.slider.value = position;
    suggesting.slider.dispatchEvent(new Event("input"));
  }
  assert.match(suggesting.words.textContent, /^80 suggestions, about 20% right/);
  assert.deepEqual(sent, []);
  await pause(300);
  assert.deepEqual(sent, [{ threshold: 0.2 }]);
  assert.equal(told, 1);
  assert.deepEqual(store.collection.thresholds, [0.2]);
  suggesting.destroy();
});

test("a threshold that another tab has chosen makes this tab start over", () => {
  assert.equal(store.isSame({ ...COLLECTION, threshold: 0.9 }), false);
  assert.equal(store.isSame({ ...COLLECTION, threshold: 0.2 }), true);
});

test("the next question is the first without an answer, later ones first", () => {
  const questions = ["yes", null, "unsure", null].map((answer) => ({ answer }));
  assert.equal(unanswered(questions), 1);
  assert.equal(unanswered(questions, 2), 3);
  assert.equal(unanswered(questions, 4), 1);
  assert.equal(unanswered([{ answer: "no" }]), -1);
});
