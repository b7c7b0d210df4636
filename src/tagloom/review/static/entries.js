// The state of each (picture, tag) in this tab: what the server last confirmed, and what this tab
// has sent without an answer yet. They are kept apart: nothing looks stored before it is.

const YES = new Set(["known", "suspected", "accepted", "added"]);
const NO = new Set(["rejected", "removed", "absent", "suspected-absent"]);
const DECIDED = new Set(["accepted", "added", "rejected", "removed", "confirmed"]);

export const isYes = (state) => YES.has(state) || state === "confirmed";
export const isNo = (state) => NO.has(state);
export const isDecided = (state) => DECIDED.has(state);
export const isOpen = (state) => !isYes(state) && !isNo(state);

/** The style of a state; an unknown word is shown as open. */
export function lookOf(state) {
  if (state === "suggested") return "suggested";
  if (state === "suspected" || state === "suspected-absent") return "suspected";
  if (isNo(state)) return "no";
  return isYes(state) ? (isDecided(state) ? "yes" : "known") : "open";
}

/** The state that a verdict will lead to, shown as pending until the server has answered. */
export function expected(state, verdict) {
  const wasKnown = state === "known" || state === "suspected" || state === "removed";
  if (verdict === "accept") return wasKnown ? "known" : "accepted";
  if (verdict === "reject") return wasKnown ? "removed" : "rejected";
  return "open";
}

const keyOf = (i, t) => `${i}:${t}`;

export class Entries {
  constructor() {
    this.confirmed = new Map();
    this.pending = new Map();
  }

  clear() {
    this.confirmed.clear();
    this.pending.clear();
  }

  /** Set the state from an answer of a version; an older answer never replaces a newer one. */
  update(i, t, state, version) {
    const key = keyOf(i, t);
    const former = this.confirmed.get(key);
    if (former && former.version > version) return false;
    this.confirmed.set(key, { state, version });
    return !former || former.state !== state;
  }

  /** The state to show; `fallback` is that of the row when it was loaded. */
  look(i, t, fallback = "open") {
    const key = keyOf(i, t);
    const waiting = this.pending.get(key);
    const confirmed = this.confirmed.get(key)?.state ?? fallback;
    if (!waiting) return { state: confirmed, pending: false };
    return { state: waiting.state, pending: true };
  }

  /** The state that the server last confirmed, whatever this tab has sent since. */
  stored(i, t, fallback = "open") {
    return this.confirmed.get(keyOf(i, t))?.state ?? fallback;
  }

  /** Note that a verdict has been sent. */
  send(i, t, verdict, fallback) {
    const key = keyOf(i, t);
    const waiting = this.pending.get(key);
    const state = expected(this.confirmed.get(key)?.state ?? fallback, verdict);
    this.pending.set(key, { state, count: (waiting?.count ?? 0) + 1 });
  }

  /** Note that one of the sent verdicts was answered or lost. */
  settle(i, t) {
    const key = keyOf(i, t);
    const waiting = this.pending.get(key);
    if (!waiting) return;
    if (waiting.count > 1) waiting.count -= 1;
    else this.pending.delete(key);
  }
}

const indexOf = (list, name, hint) => (list[hint] === name ? hint : list.indexOf(name));

// A restarted server may number its tags differently: decisions that wait are kept by name, so that
// they still mean what they meant when they were made.

/** Add names to entries ({i, t} or {i, tag}). */
export function withNames(entries, { images, tags }) {
  return entries.map(({ i, t, tag }) => ({
    i,
    t,
    image: images[i],
    tag: tag ?? tags[t],
    isTyped: tag !== undefined,
  }));
}

/** The same entries as a collection numbers them now; pictures it does not have are left out. */
export function withNumbers(entries, { images, tags }) {
  const found = [];
  for (const { i, t, image, tag, isTyped } of entries) {
    const at = indexOf(images, image, i);
    const of = indexOf(tags, tag, t);
    if (at < 0) continue;
    if (isTyped || of < 0) found.push({ i: at, tag });
    else found.push({ i: at, t: of });
  }
  return found;
}
