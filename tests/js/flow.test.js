import assert from "node:assert/strict";
import { test } from "node:test";

import { load, openPage } from "./browser.js";

openPage();
const { Alike } = await load("alike.js");
const { dateText, folderText } = await load("filters.js");
const { kept } = await load("zoom.js");
const { store } = await load("store.js");

const withTag = (i, state) => ({ i, tags: state ? [{ t: 0, p: 0.5, state }] : [] });

test("near-identical pictures are decided together only if that is chosen, and nobody's word is changed", () => {
  store.use({ images: ["a", "b", "c", "d", "e"], tags: ["sea"], version: 1, history: {} });
  const alike = new Alike();
  alike.show(
    [withTag(1, "suggested"), withTag(2, "known"), withTag(3, "absent"), withTag(4, null)],
    1,
  );
  assert.equal(alike.element.hidden, false);
  assert.deepEqual(alike.others({ t: 0 }, "accept"), []);
  assert.equal(alike.toggle(), true);
  assert.deepEqual(
    alike.others({ t: 0 }, "reject").map(({ i }) => i),
    [1, 4],
  );
  store.updateRows([{ i: 1, t: 0, state: "rejected" }], 2);
  assert.deepEqual(
    alike.others({ t: 0 }, "clear").map(({ i }) => i),
    [1],
  );
  // A tag that does not exist yet is new on every picture.
  assert.equal(alike.others({ tag: "harbour" }, "accept").length, 4);
  alike.show([], 2);
  assert.equal(alike.toggle(), false);
  assert.equal(alike.element.hidden, true);
});

test("dates and folders are listed below what they are part of", () => {
  assert.equal(dateText("2019"), "2019");
  assert.equal(dateText("2019-05"), "\u2003May 2019");
  assert.equal(folderText("2019/summer"), "\u2003summer");
});

test("a zoomed picture does not leave the window", () => {
  assert.equal(kept(500, 1000, 2, 1200), 400);
  assert.equal(kept(-500, 1000, 2, 1200), -400);
  assert.equal(kept(30, 1000, 1, 1200), 0);
});
