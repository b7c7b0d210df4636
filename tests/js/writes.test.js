import assert from "node:assert/strict";
import { test } from "node:test";

import { load, Refusal, serve } from "./browser.js";

const { Writes } = await load("writes.js");

/** Writes whose jobs are named; `log` has what became of each. */
function queue() {
  const writes = new Writes(async () => {});
  const log = [];
  const send = (name) =>
    writes.send({
      path: `/api/${name}`,
      body: () => ({ name }),
      count: 1,
      done: () => log.push(`${name} done`),
      failed: () => log.push(`${name} failed`),
      again: () => send(name),
    });
  return { writes, log, send };
}

test("writes are sent one after the other, in order", async () => {
  let running = 0;
  const requests = serve(async () => {
    running += 1;
    assert.equal(running, 1, "one request at a time");
    await new Promise((resolve) => setTimeout(resolve, 5));
    running -= 1;
    return {};
  });
  const { writes, log, send } = queue();
  const answers = [send("decide"), send("undo"), send("redo")];
  assert.equal(writes.unsaved, true);
  await Promise.all(answers);
  assert.deepEqual(log, ["decide done", "undo done", "redo done"]);
  assert.deepEqual(
    requests.map(({ path }) => path),
    ["/api/decide", "/api/undo", "/api/redo"],
  );
  assert.equal(requests[0].headers["X-Tagloom"], "1");
  assert.equal(writes.unsaved, false);
});

test("a lost write takes those behind it along, and all are kept for a retry", async () => {
  let isDown = true;
  const requests = serve(() => {
    if (isDown) throw new TypeError("connection refused");
    return {};
  });
  const { writes, log, send } = queue();
  const answers = await Promise.all([send("first"), send("second")]);
  assert.deepEqual(answers, [null, null]);
  assert.deepEqual(log, ["first failed", "second failed"]);
  assert.equal(requests.length, 1, "the second was not sent");
  assert.equal(writes.trouble, "stopped");
  assert.equal(writes.lost.length, 2);
  assert.equal(writes.unsaved, true);
  isDown = false;
  await writes.retry();
  assert.deepEqual(log.slice(2), ["first done", "second done"]);
  assert.equal(writes.trouble, null);
  assert.equal(writes.unsaved, false);
});

test("a refused write is not sent again, and the next one is", async () => {
  serve((path) => {
    if (path === "/api/bad") throw new Refusal(400, "i must be the number of a picture.");
    return {};
  });
  const { writes, log, send } = queue();
  const bad = send("bad");
  const good = send("good");
  assert.equal(await bad, null);
  assert.equal(writes.refusal, "i must be the number of a picture.");
  assert.deepEqual(await good, {});
  assert.deepEqual(log, ["bad failed", "good done"]);
  assert.equal(writes.lost.length, 0);
  assert.equal(writes.refusal, null);
});

test("writes refused by a restarted server are kept, and can be discarded", async () => {
  serve(() => {
    throw new Refusal(403, "Open the link.");
  });
  const { writes, send } = queue();
  await send("decide");
  assert.equal(writes.trouble, "shut");
  assert.equal(writes.lost.length, 1);
  writes.discard();
  assert.equal(writes.unsaved, false);
});

test("an answer that was cut short counts as lost", async () => {
  globalThis.fetch = async () => new Response('{"ver', { status: 200 });
  const { writes, send } = queue();
  assert.equal(await send("decide"), null);
  assert.equal(writes.trouble, "stopped");
});
