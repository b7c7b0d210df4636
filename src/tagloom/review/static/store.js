// The state of this tab: the collection, the entries and the history, kept in step with the server
// and with other tabs.

import { client, get, useMarks } from "./api.js";
import { Entries, withNames, withNumbers } from "./entries.js";
import { troubleOf, Writes } from "./writes.js";

const POLL_MS = 2000;
// The server accepts up to 2,000 decisions at once; one request is one undo step.
const MAX_DECISIONS = 2000;

class Store extends EventTarget {
  constructor() {
    super();
    this.collection = null;
    this.entries = new Entries();
    this.writes = new Writes(() => this.isStale && this.recheck());
    // What undo and redo would do, according to the server, which counts the steps of all tabs.
    this.history = { undo: null, redo: null, version: -1 };
    this.version = 0;
    // Set when the server did not answer: the next answer may come from a restarted one.
    this.isStale = false;
  }

  async load() {
    const collection = await get("/api/collection");
    this.use(collection);
    return collection;
  }

  use(collection) {
    this.collection = collection;
    useMarks(collection.marks);
    this.version = collection.version;
    this.isStale = false;
    this.history = { ...collection.history, version: collection.version };
    this.emit("history");
  }

  /** Start over after learning or after a restart of the server. */
  async reload(collection = null) {
    this.entries.clear();
    if (collection) this.use(collection);
    else await this.load();
    this.emit("reloaded");
  }

  /** After an outage: continue with the same server, start over with another. */
  async recheck() {
    const fresh = await get("/api/collection");
    this.isStale = false;
    if (!this.isSame(fresh)) await this.reload(fresh);
  }

  isSame({ boot, run, version, tags, threshold }) {
    const { collection } = this;
    // Another tab has moved the slider: other entries are suggested.
    if ((threshold ?? null) !== (collection.threshold ?? null)) return false;
    if (boot !== collection.boot || run !== collection.run || version < this.version) return false;
    return !tags || collection.tags.every((name, t) => tags[t] === name);
  }

  imageName(i) {
    return this.collection.images[i] ?? `picture ${i}`;
  }

  tagName(t) {
    return this.collection.tags[t] ?? `tag ${t}`;
  }

  /** Update entries from rows of a version; without one, of the last poll. */
  updateRows(rows, version = this.version) {
    for (const { i, t, state } of rows) this.entries.update(i, t, state, version);
  }

  /**
   * Decide on entries ({i, t, state}; with `tag` if its name was typed, without `t` if it is new).
   * They are shown as pending until they are stored. Resolves with the answers, null for those that
   * were not stored.
   */
  decide(entries, verdict) {
    const sent = [];
    for (let start = 0; start < entries.length; start += MAX_DECISIONS) {
      sent.push(this.decideSome(entries.slice(start, start + MAX_DECISIONS), verdict));
    }
    return Promise.all(sent);
  }

  decideSome(some, verdict) {
    const byName = withNames(some, this.collection);
    const shown = some.filter(({ t }) => t !== undefined);
    for (const { i, t, state } of shown) this.entries.send(i, t, verdict, state);
    this.emitEntries(shown);
    const settle = () => {
      for (const { i, t } of shown) this.entries.settle(i, t);
    };
    return this.writes.send({
      path: "/api/decide",
      body: () => ({ decisions: this.decisions(byName, verdict), client }),
      count: some.length,
      done: (answer) => {
        settle();
        this.applied(answer, answer.applied, shown);
      },
      failed: () => {
        settle();
        this.emitEntries(shown);
      },
      again: () => this.decideSome(withNumbers(byName, this.collection), verdict),
    });
  }

  /** Answer a question of the sample to check; an answer is a decision. Null if it was not stored. */
  answerCheck({ place, answer, i, t }) {
    const verdict = { yes: "accept", no: "reject" }[answer] ?? "clear";
    this.entries.send(i, t, verdict, "open");
    return this.writes.send({
      path: "/api/answer",
      body: () => ({ place, answer, client }),
      count: 1,
      done: (stored) => {
        this.entries.settle(i, t);
        this.applied(stored, stored.applied);
      },
      failed: () => this.entries.settle(i, t),
    });
  }

  /** Decide about tags: {action, tags, to}. Resolves with the answer, null if it was not stored. */
  decideTags(decision) {
    return this.writes.send({
      path: "/api/vocabulary",
      body: () => ({ ...decision, client }),
      count: 1,
      done: (answer) => this.updateSummary(answer),
      failed: () => {},
    });
  }

  /** Continue with what is suggested from a newly chosen threshold on. */
  suggestedFrom({ threshold, thresholds, counts }) {
    Object.assign(this.collection, { threshold, thresholds, counts });
    this.entries.clear();
    this.emit("suggested");
  }

  decisions(byName, verdict) {
    return withNumbers(byName, this.collection).map((entry) => ({ ...entry, verdict }));
  }

  undo() {
    return this.step("/api/undo", "undone");
  }

  redo() {
    return this.step("/api/redo", "redone");
  }

  /** Resolves with the step that was undone or redone; null if there was none or no answer. */
  async step(path, word) {
    let step = null;
    await this.writes.send({
      path,
      body: () => ({ client }),
      count: 0,
      done: (answer) => {
        const taken = answer[word];
        const known = word === "undone" ? this.history.undo : this.history.redo;
        const isKnown = taken && known?.batch === taken.batch;
        step = isKnown ? known : taken && { n: taken.applied.length, verdict: "mixed", t: null };
        this.applied(answer, taken?.applied ?? []);
        if (step) this.dispatchEvent(new CustomEvent("stepped", { detail: step }));
      },
      failed: () => {},
    });
    return step;
  }

  applied(answer, rows, also = []) {
    this.updateSummary(answer);
    this.updateRows(rows, answer.version);
    this.emitEntries([...rows, ...also]);
  }

  updateSummary({ tags, counts, history, version }) {
    if (tags) this.collection.tags = tags;
    if (counts) this.collection.counts = counts;
    // A poll answered before a decision may arrive after it.
    if (version < this.history.version) return;
    this.history = { ...history, version };
    this.emit("history");
  }

  /** Poll for the decisions of other tabs, for as long as the page is open. */
  follow() {
    const repeat = async () => {
      if (!document.hidden) await this.poll();
      setTimeout(repeat, POLL_MS);
    };
    setTimeout(repeat, POLL_MS);
    // A tab that becomes visible again is updated at once.
    document.addEventListener("visibilitychange", () => document.hidden || this.poll());
  }

  async poll() {
    try {
      if (this.isStale) await this.recheck();
      const since = this.version;
      const answer = await get("/api/changes", { since, tags: this.collection.tags.length });
      this.writes.setTrouble(null);
      if (this.isSame({ ...answer, tags: null })) this.applyChanges(answer);
      else await this.reload();
    } catch (error) {
      this.isStale = true;
      this.writes.setTrouble(troubleOf(error));
    }
  }

  applyChanges(answer) {
    if (answer.version !== this.version) this.updateSummary(answer);
    this.version = answer.version;
    const changed = answer.applied.filter(({ i, t, state }) =>
      this.entries.update(i, t, state, answer.version),
    );
    if (changed.length) this.emitEntries(changed);
  }

  emit(name) {
    this.dispatchEvent(new Event(name));
  }

  emitEntries(entries) {
    this.dispatchEvent(new CustomEvent("entries", { detail: entries }));
  }
}

export const store = new Store();
