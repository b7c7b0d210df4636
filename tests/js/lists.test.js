import assert from "node:assert/strict";
import { test } from "node:test";

import { load, serve } from "./browser.js";

const {
  GrowingList,
  lastViewed,
  listAddress,
  PagedList,
  pictureAfter,
  positionOf,
  rememberList,
  setLastViewed,
} = await load("lists.js");

const settled = () => new Promise((resolve) => setTimeout(resolve));
const rowsFrom = (offset, limit, total) =>
  Array.from({ length: Math.max(0, Math.min(limit, total - offset)) }, (_, k) => ({
    i: offset + k,
  }));

test("pages are fetched once, as they are needed", async () => {
  const offsets = [];
  const pages = new PagedList(
    async (offset, limit) => {
      offsets.push(offset);
      return { total: 100, rows: rowsFrom(offset, limit, 100) };
    },
    10,
    () => {},
  );
  pages.need(25, 41);
  pages.need(30, 45);
  await settled();
  assert.deepEqual(offsets, [20, 30, 40]);
  assert.deepEqual(pages.get(33), { i: 33 });
  assert.equal(pages.get(5), undefined);
  assert.equal(pages.total, 100);
});

test("a page that failed is reported, and fetched again when it is needed again", async () => {
  let isDown = true;
  const answers = [];
  const pages = new PagedList(
    async (offset, limit) => {
      if (isDown) throw new Error("down");
      return { total: 5, rows: rowsFrom(offset, limit, 5) };
    },
    10,
    (first, last, answer, error) => answers.push([first, last, error?.message]),
  );
  pages.need(0, 5);
  await settled();
  isDown = false;
  pages.need(0, 5);
  await settled();
  assert.deepEqual(answers, [
    [0, 0, "down"],
    [0, 5, undefined],
  ]);
});

test("a list that shrinks while it is decided loses no row and has none twice", async () => {
  const decided = new Set();
  const all = rowsFrom(0, 20, 20);
  const list = new GrowingList(
    async (offset, limit) => {
      const open = all.filter((row) => !decided.has(row.i));
      return { total: open.length, rows: open.slice(offset, offset + limit) };
    },
    {
      keyOf: (row) => row.i,
      isOpen: (row) => !decided.has(row.i),
      loaded: () => {},
      first: 5,
      chunk: 5,
    },
  );
  await list.need(5);
  for (const i of [0, 2, 3]) decided.add(i);
  await list.need(12);
  decided.add(7);
  await list.need(100);
  assert.deepEqual(
    list.rows.map((row) => row.i),
    all.map((row) => row.i),
  );
  assert.equal(list.complete, true);
});

test("a list that keeps decided rows is fetched to its end as well", async () => {
  const decided = new Set([0, 1, 2, 3, 4]);
  const list = new GrowingList(
    async (offset, limit) => ({ total: 12, rows: rowsFrom(offset, limit, 12) }),
    {
      keyOf: (row) => row.i,
      isOpen: (row) => !decided.has(row.i),
      loaded: () => {},
      first: 5,
      chunk: 5,
    },
  );
  await list.need(100);
  assert.equal(list.rows.length, 12);
});

test("calls at the same time share one request", async () => {
  let requests = 0;
  const list = new GrowingList(
    async (offset, limit) => {
      requests += 1;
      return { total: 3, rows: rowsFrom(offset, limit, 3) };
    },
    { keyOf: (row) => row.i, isOpen: () => true, loaded: () => {} },
  );
  await Promise.all([list.need(1), list.need(2), list.need(3)]);
  assert.equal(requests, 1);
});

test("the next picture follows the list, even if one was decided since", async () => {
  const requests = serve(() => assert.fail("the list is known"));
  const query = { q: "sea", state: "suggested", sort: "certain" };
  rememberList(query, [{ i: 7 }, { i: 3 }, { i: 9 }], 3, "#/pictures?q=sea");
  assert.equal(await pictureAfter(query, 7, 1, 100), 3);
  assert.equal(await pictureAfter(query, 7, -1, 100), null);
  assert.equal(await pictureAfter(query, 9, 1, 100), null);
  assert.deepEqual(positionOf(query, 3), [2, 3]);
  assert.equal(listAddress(query), "#/pictures?q=sea");
  assert.equal(listAddress({ q: "sky" }), null);
  assert.equal(requests.length, 0);
});

test("gaps of a long list are fetched when they are reached", async () => {
  const requests = serve((path) => {
    const offset = Number(new URL(path, "http://x").searchParams.get("offset"));
    return { total: 130, rows: rowsFrom(offset, 60, 130).map(({ i }) => ({ i: 1000 + i })) };
  });
  const rows = Array.from({ length: 60 }, (_, k) => ({ i: 1000 + k }));
  rememberList({}, rows, 130, "#/pictures");
  assert.equal(await pictureAfter({ state: "all", sort: "name" }, 1059, 1, 5000), 1060);
  assert.equal(requests.length, 1);
  assert.match(requests[0].path, /offset=60/);
  assert.equal(await pictureAfter({}, 1060, 1, 5000), 1061);
  assert.equal(requests.length, 1);
});

test("a picture outside the list is followed by number", async () => {
  rememberList({}, [{ i: 5 }], 1, "#/pictures");
  assert.equal(await pictureAfter({}, 50, 1, 100), 51);
  assert.equal(await pictureAfter({}, 99, 1, 100), null);
  assert.equal(positionOf({}, 50), null);
  setLastViewed(50);
  assert.equal(lastViewed(), 50);
});
