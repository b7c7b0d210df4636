import assert from "node:assert/strict";
import { test } from "node:test";

import { load, openPage } from "./browser.js";

openPage();
const { Combobox, completions } = await load("combobox.js");
const { store } = await load("store.js");
const names = (typed, tags) => completions(typed, tags).map(({ name }) => name);

test("tags that begin with the text come first, then shorter before longer", () => {
  const tags = ["seaside", "overseas", "sea", "nausea", "season"];
  assert.deepEqual(names("sea", tags), ["sea", "season", "seaside", "nausea", "overseas"]);
  assert.deepEqual(names("xyz", tags), []);
});

test("case and accents do not matter, and at most eight are listed", () => {
  assert.deepEqual(names("CAFE", ["café", "Cafeteria"]), ["café", "Cafeteria"]);
  const many = Array.from({ length: 30 }, (_, k) => `tag ${k}`);
  assert.equal(completions("tag", many).length, 8);
  assert.deepEqual(completions("tag 7", many)[0], { name: "tag 7", t: 7 });
});

test("a new tag is marked as new, and white space is normalised", () => {
  store.collection = { tags: ["Sea"] };
  const selected = [];
  const box = new Combobox((tag) => selected.push(tag));
  const press = (key) => box.keydown({ key, preventDefault() {} });
  box.input.value = "  sea ";
  box.update();
  assert.deepEqual(box.options, [{ name: "Sea", t: 0 }]);
  press("Enter");
  box.input.value = " deep   sea ";
  box.update();
  assert.deepEqual(box.options.at(-1), { name: "deep sea", isNew: true });
  assert.equal(box.list.querySelector(".badge").textContent, "new tag");
  press("ArrowUp");
  press("Enter");
  assert.deepEqual(selected, [
    { tag: "Sea", t: 0 },
    { tag: "deep sea", t: undefined },
  ]);
  assert.equal(box.list.hidden, true);
});
