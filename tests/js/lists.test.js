import assert from "node:assert/strict";
import { test } from "node:test";

import { load, serve } from "./browser.js";

const {
  GrowingList,
  lastViewed,
  listAddress,
  nextToDecide,
  pictureAfter,
  PictureList,
  positionOf,
  rememberList,
  setLastViewed,
} = await load("lists.js");

const settled = () => new Promise((resolve) => setTimeout(resolve));
const rowsFrom = (offset, limit, total) =>
  Array.from({ length: Math.max(0, Math.min(limit, total - offset)) }, (_, k) => ({
    i: offset + k,
  }));

const byNumbers = (numbers) => ({ rows: numbers.map((i) => ({ i })) });

test("the rows of a list are fetched once, by number, as they are needed", async () => {
  const requests = [];
  const numbers = Array.from({ length: 100 }, (_, k) => 1000 - k);
  const list = new PictureList(
    async () => ({ numbers, rows: [{ i: 1000 }] }),
    async (some) => {
      requests.push(some);
      return byNumbers(some);
    },
    10,
    () => {},
  );
  await list.open();
  assert.equal(list.total, 100);
  list.need(25, 41);
  list.need(30, 45);
  await settled();
  assert.deepEqual(requests, [numbers.slice(20, 30), numbers.slice(30, 40), numbers.slice(40, 50)]);
  assert.deepEqual(list.get(33), { i: 967 });
  assert.equal(list.get(5), undefined);
});

test("rows that could not be fetched are reported, and fetched when they are needed again", async () => {
  let isDown = true;
  const answers = [];
  const list = new PictureList(
    async () => ({ numbers: [3, 4, 5], rows: [] }),
    async (some) => {
      if (isDown) throw new Error("down");
      return byNumbers(some);
    },
    10,
    (first, last, answer, error) => answers.push([first, last, error?.message]),
  );
  await list.open();
  list.need(0, 3);
  await settled();
  isDown = false;
  list.need(0, 3);
  await settled();
  assert.deepEqual(answers, [
    [0, 0, undefined],
    [0, 0, "down"],
    [0, 3, undefined],
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
  rememberList(query, [7, 3, 9], "#/pictures?q=sea");
  assert.equal(await pictureAfter(query, 7, 1, 100), 3);
  assert.equal(await pictureAfter(query, 7, -1, 100), null);
  assert.equal(await pictureAfter(query, 9, 1, 100), null);
  assert.deepEqual(positionOf(query, 3), [2, 3]);
  assert.equal(listAddress(query), "#/pictures?q=sea");
  assert.equal(listAddress({ q: "sky" }), null);
  assert.equal(requests.length, 0);
});

test("a list that is not known is fetched once, without its rows", async () => {
  const requests = serve(() => ({ total: 3, rows: [], numbers: [5, 8, 2] }));
  assert.equal(await pictureAfter({ folder: "2019" }, 5, 1, 100), 8);
  assert.equal(await pictureAfter({ folder: "2019" }, 8, 1, 100), 2);
  assert.equal(requests.length, 1);
  assert.match(requests[0].path, /folder=2019&state=open&limit=0/);
});

test("the next picture to decide is the next of the list that is still open", async () => {
  let open = [3, 4, 7, 9];
  serve(() => ({ total: open.length, rows: [], numbers: open }));
  rememberList({ state: "all" }, [9, 1, 7, 2, 3], "#/pictures");
  assert.equal(await nextToDecide({ state: "all" }, 1), 7);
  assert.equal(await nextToDecide({ state: "all" }, 7), 3);
  // After the end of the list its beginning.
  assert.equal(await nextToDecide({ state: "all" }, 3), 9);
  open = [3, 4];
  assert.equal(await nextToDecide({ state: "all" }, 3), null);
});

test("a picture outside the list is followed by number", async () => {
  rememberList({}, [5], "#/pictures");
  assert.equal(await pictureAfter({}, 50, 1, 100), 51);
  assert.equal(await pictureAfter({}, 99, 1, 100), null);
  assert.equal(positionOf({}, 50), null);
  setLastViewed(50);
  assert.equal(lastViewed(), 50);
});
