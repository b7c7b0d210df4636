// What is known here about each (picture, tag): the state the server last told, and what this tab
// asked for and has no answer to yet. The two are kept apart so that nothing looks stored before
// it is.

import { expected } from "./words.js";

const keyOf = (i, t) => `${i}:${t}`;

export class Entries {
  constructor() {
    this.told = new Map();
    this.asked = new Map();
  }

  clear() {
    this.told.clear();
    this.asked.clear();
  }

  /** Take a state from an answer of the given version; an older answer never covers a newer one. */
  take(i, t, state, version) {
    const key = keyOf(i, t);
    const former = this.told.get(key);
    if (former && former.version > version) return false;
    this.told.set(key, { state, version });
    return !former || former.state !== state;
  }

  /** The state to show; `fallback` is what the row said when it was loaded. */
  look(i, t, fallback = "open") {
    const key = keyOf(i, t);
    const waiting = this.asked.get(key);
    const told = this.told.get(key)?.state ?? fallback;
    if (!waiting) return { state: told, pending: false };
    return { state: waiting.state, pending: true };
  }

  /** The state the server last told, whatever this tab has asked for since. */
  stored(i, t, fallback = "open") {
    return this.told.get(keyOf(i, t))?.state ?? fallback;
  }

  ask(i, t, verdict, fallback) {
    const key = keyOf(i, t);
    const waiting = this.asked.get(key);
    const state = expected(this.told.get(key)?.state ?? fallback, verdict);
    this.asked.set(key, { state, count: (waiting?.count ?? 0) + 1 });
  }

  /** One question fewer is out: answered or lost. */
  settle(i, t) {
    const key = keyOf(i, t);
    const waiting = this.asked.get(key);
    if (!waiting) return;
    if (waiting.count > 1) waiting.count -= 1;
    else this.asked.delete(key);
  }
}
