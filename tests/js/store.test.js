import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { load, openPage, serve } from "./browser.js";

openPage();
const { store } = await load("store.js");

const COLLECTION = {
  title: "Holidays",
  boot: "b1",
  run: "r1",
  version: 0,
  history: { undo: null, redo: null },
  images: ["a.jpg", "b.jpg"],
  tags: ["sea", "sky"],
  thresholds: [0.5, 0.5],
  counts: {},
};
const STATE = { accept: "accepted", reject: "rejected" };

/** A server that stores decisions; `more` answers other paths, or these first. */
function answering(more = () => undefined) {
  let version = store.version;
  return serve(async (path, body) => {
    const special = await more(path, body);
    if (special !== undefined) return special;
    if (path === "/api/collection") return structuredClone(COLLECTION);
    version += 1;
    const applied = body.decisions.map(({ i, t, verdict }) => ({ i, t, state: STATE[verdict] }));
    return { version, batch: version, applied, history: { undo: { batch: version }, redo: null } };
  });
}

beforeEach(async () => {
  store.entries.clear();
  store.writes.discard();
  answering();
  await store.load();
});

test("a decision is pending at once, and solid only when it is stored", async () => {
  let release;
  answering((path) =>
    path === "/api/decide" ? new Promise((resolve) => (release = () => resolve())) : undefined,
  );
  const done = store.decide([{ i: 0, t: 1, state: "suggested" }], "accept");
  assert.deepEqual(store.entries.look(0, 1, "suggested"), { state: "accepted", pending: true });
  await new Promise((resolve) => setTimeout(resolve, 5));
  release();
  await done;
  assert.deepEqual(store.entries.look(0, 1, "suggested"), { state: "accepted", pending: false });
  assert.equal(store.history.undo.batch, 1);
});

test("a decision that was not stored looks as before", async () => {
  serve(() => {
    throw new TypeError("connection refused");
  });
  const answers = await store.decide([{ i: 0, t: 1, state: "suggested" }], "accept");
  assert.deepEqual(answers, [null]);
  assert.deepEqual(store.entries.look(0, 1, "suggested"), { state: "suggested", pending: false });
  assert.equal(store.writes.lost.length, 1);
});

test("more than 2,000 decisions are sent in parts", async () => {
  const requests = answering();
  const entries = Array.from({ length: 4500 }, () => ({ i: 0, t: 0, state: "suggested" }));
  await store.decide(entries, "reject");
  assert.deepEqual(
    requests.map(({ body }) => body.decisions.length),
    [2000, 2000, 500],
  );
});

test("undo resolves with the step it has undone, and with null if there is none", async () => {
  store.history = { undo: { batch: 3, n: 2, verdict: "accept", t: 1 }, redo: null, version: 0 };
  let undone = { batch: 3, applied: [{ i: 0, t: 1, state: "suggested" }] };
  answering((path) =>
    path === "/api/undo"
      ? { version: 1, undone, history: { undo: null, redo: { batch: 3 } } }
      : undefined,
  );
  assert.equal((await store.undo()).n, 2);
  assert.equal(store.entries.stored(0, 1), "suggested");
  undone = null;
  assert.equal(await store.undo(), null);
});

test("a step of another tab is undone without its details", async () => {
  const applied = [{ i: 0, t: 1, state: "open" }];
  answering((path) =>
    path === "/api/undo"
      ? { version: 1, undone: { batch: 9, applied }, history: { undo: null, redo: null } }
      : undefined,
  );
  assert.deepEqual(await store.undo(), { n: 1, verdict: "mixed", t: null });
});

test("a poll takes the decisions of other tabs, and no older history", async () => {
  const seen = [];
  store.addEventListener("entries", ({ detail }) => seen.push(...detail));
  const changes = {
    ...COLLECTION,
    tags: undefined,
    version: 2,
    applied: [{ i: 1, t: 0, state: "accepted" }],
    history: { undo: { batch: 2 }, redo: null },
  };
  const requests = answering((path) => (path.startsWith("/api/changes") ? changes : undefined));
  await store.poll();
  assert.match(requests[0].path, /since=0&tags=2/);
  assert.deepEqual(seen, [{ i: 1, t: 0, state: "accepted" }]);
  assert.equal(store.version, 2);
  store.updateSummary({ history: { undo: null, redo: null }, version: 1 });
  assert.equal(store.history.undo.batch, 2);
});

test("after an outage the same server goes on, and another one starts over", async () => {
  let reloads = 0;
  store.addEventListener("reloaded", () => (reloads += 1));
  serve(() => {
    throw new TypeError("connection refused");
  });
  await store.poll();
  assert.equal(store.writes.trouble, "stopped");
  assert.equal(store.isStale, true);
  answering((path) =>
    path.startsWith("/api/changes") ? { ...COLLECTION, applied: [] } : undefined,
  );
  await store.poll();
  assert.equal(store.writes.trouble, null);
  assert.equal(reloads, 0);
  store.isStale = true;
  answering((path) =>
    path.startsWith("/api/changes")
      ? { ...COLLECTION, boot: "b2", applied: [] }
      : { ...structuredClone(COLLECTION), boot: "b2" },
  );
  await store.poll();
  assert.equal(reloads, 1);
  assert.equal(store.collection.boot, "b2");
});

test("a lost decision means the same to a server that numbers its tags differently", async () => {
  serve(() => {
    throw new TypeError("connection refused");
  });
  await store.decide([{ i: 0, t: 1, state: "suggested" }], "accept");
  store.isStale = true;
  const fresh = { ...structuredClone(COLLECTION), boot: "b2", tags: ["sky", "sea"] };
  const requests = answering((path) => (path === "/api/collection" ? fresh : undefined));
  await store.writes.retry();
  const sent = requests.find(({ path }) => path === "/api/decide").body.decisions;
  assert.deepEqual(sent, [{ i: 0, t: 0, verdict: "accept" }]);
});

test("an answer to a check is stored as a decision", async () => {
  const sent = [];
  answering((path, body) => {
    if (path !== "/api/answer") return undefined;
    sent.push([body.place, body.answer]);
    const applied = [{ i: 1, t: 0, state: "rejected" }];
    return { version: 1, applied, history: { undo: { batch: 1 }, redo: null }, check: {} };
  });
  const done = store.answerCheck({ place: 4, answer: "no", i: 1, t: 0 });
  assert.deepEqual(store.entries.look(1, 0, "open"), { state: "rejected", pending: true });
  assert.deepEqual((await done).check, {});
  assert.deepEqual(sent, [[4, "no"]]);
  assert.deepEqual(store.entries.look(1, 0, "open"), { state: "rejected", pending: false });
});

test("an answer that was not stored looks as before", async () => {
  serve(() => {
    throw new TypeError("connection refused");
  });
  assert.equal(await store.answerCheck({ place: 0, answer: "yes", i: 0, t: 0 }), null);
  assert.deepEqual(store.entries.look(0, 0, "open"), { state: "open", pending: false });
});

test("the address of a picture carries the mark of its content", async () => {
  const { large, thumb } = await load("api.js");
  answering((path) =>
    path === "/api/collection" ? { ...structuredClone(COLLECTION), marks: ["m0", "m1"] } : undefined,
  );
  await store.load();
  assert.equal(thumb(1, 100), "/thumb/1?size=160&v=m1");
  assert.equal(large(0), "/picture/0?v=m0");
});
