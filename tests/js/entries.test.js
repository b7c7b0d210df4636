import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./browser.js";

const { Entries, expected, isNo, isOpen, isYes, lookOf, withNames, withNumbers } =
  await load("entries.js");

const STATES = {
  open: "open",
  suggested: "suggested",
  known: "known",
  suspected: "suspected",
  absent: "no",
  "suspected-absent": "suspected",
  accepted: "yes",
  added: "yes",
  rejected: "no",
  removed: "no",
  "of a later version": "open",
};

test("every state has one style and is exactly one of yes, no and open", () => {
  for (const [state, look] of Object.entries(STATES)) {
    assert.equal(lookOf(state), look, state);
    assert.equal([isYes, isNo, isOpen].filter((is) => is(state)).length, 1, state);
  }
});

test("a verdict is expected to lead where the server will lead", () => {
  assert.equal(expected("suggested", "accept"), "accepted");
  assert.equal(expected("suggested", "reject"), "rejected");
  assert.equal(expected("known", "reject"), "removed");
  assert.equal(expected("suspected", "accept"), "known");
  assert.equal(expected("removed", "accept"), "known");
  assert.equal(expected("absent", "accept"), "accepted");
  assert.equal(expected("accepted", "clear"), "open");
});

test("an older answer never replaces a newer one", () => {
  const entries = new Entries();
  assert.equal(entries.update(1, 2, "accepted", 5), true);
  assert.equal(entries.update(1, 2, "suggested", 4), false);
  assert.equal(entries.stored(1, 2), "accepted");
  assert.equal(entries.update(1, 2, "accepted", 6), false, "nothing has changed");
  assert.equal(entries.update(1, 2, "rejected", 7), true);
  assert.equal(entries.stored(1, 2), "rejected");
});

test("an entry is pending until every verdict sent for it was answered", () => {
  const entries = new Entries();
  assert.deepEqual(entries.look(1, 2, "suggested"), { state: "suggested", pending: false });
  entries.send(1, 2, "accept", "suggested");
  entries.send(1, 2, "reject", "suggested");
  assert.deepEqual(entries.look(1, 2, "suggested"), { state: "rejected", pending: true });
  assert.equal(entries.stored(1, 2, "suggested"), "suggested");
  entries.settle(1, 2);
  assert.equal(entries.look(1, 2).pending, true);
  entries.settle(1, 2);
  assert.deepEqual(entries.look(1, 2, "suggested"), { state: "suggested", pending: false });
  entries.settle(1, 2);
  assert.equal(entries.look(1, 2).pending, false, "nothing is left to settle");
});

test("entries kept by name survive another numbering of pictures and tags", () => {
  const before = { images: ["a.jpg", "b.jpg"], tags: ["sea", "sky"] };
  const after = { images: ["b.jpg", "a.jpg"], tags: ["sky", "tree", "sea"] };
  const byName = withNames(
    [
      { i: 0, t: 1 },
      { i: 1, tag: "new" },
    ],
    before,
  );
  assert.deepEqual(withNumbers(byName, before), [
    { i: 0, t: 1 },
    { i: 1, tag: "new" },
  ]);
  assert.deepEqual(withNumbers(byName, after), [
    { i: 1, t: 0 },
    { i: 0, tag: "new" },
  ]);
});

test("a missing picture is left out, a missing tag is sent by name", () => {
  const byName = withNames(
    [
      { i: 0, t: 0 },
      { i: 1, t: 1 },
    ],
    {
      images: ["a.jpg", "b.jpg"],
      tags: ["sea", "sky"],
    },
  );
  const now = { images: ["b.jpg"], tags: ["sea"] };
  assert.deepEqual(withNumbers(byName, now), [{ i: 0, tag: "sky" }]);
});
