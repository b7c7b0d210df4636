import assert from "node:assert/strict";
import { test } from "node:test";

import { load, openPage } from "./browser.js";

openPage();
const { address, currentPlace, replaceAddress, start } = await load("router.js");

test("an address is a view, a number and a query", () => {
  replaceAddress("#/tag/5?least=0.50&state=all");
  const { name, number, query } = currentPlace();
  assert.equal(name, "tag");
  assert.equal(number, 5);
  assert.deepEqual(Object.fromEntries(query), { least: "0.50", state: "all" });
});

test("an empty or odd address leads to the pictures or has no number", () => {
  for (const hash of ["#", "#/", "#/?q=sea"]) {
    replaceAddress(hash);
    assert.equal(currentPlace().name, "pictures", hash);
  }
  for (const hash of ["#/tag", "#/tag/", "#/tag/x"]) {
    replaceAddress(hash);
    assert.ok(Number.isNaN(currentPlace().number), hash);
  }
});

test("empty parameters are left out, others are encoded and read back", () => {
  assert.equal(address("pictures", { q: "", state: null, tag: undefined }), "#/pictures");
  const query = { q: "a & b?#=<>", n: 0 };
  replaceAddress(address("pictures", query));
  assert.deepEqual(Object.fromEntries(currentPlace().query), { q: query.q, n: "0" });
});

test("a change of address shows its view; coming back to a list says so", async () => {
  replaceAddress("#/pictures");
  const shown = [];
  let returns = 0;
  await start(
    ({ name }) => shown.push(name),
    () => (returns += 1),
  );
  const change = async (hash) => {
    const changed = new Promise((resolve) => window.addEventListener("hashchange", resolve));
    location.hash = hash;
    await changed;
    await new Promise((resolve) => setTimeout(resolve));
  };
  await change("#/picture/3");
  assert.equal(returns, 0);
  await change("#/pictures");
  assert.deepEqual(shown, ["pictures", "picture", "pictures"]);
  assert.equal(returns, 1);
});
