// The state of this tab: the collection, the entries, the history, and following other tabs.

import { client, get } from "./api.js";
import { Entries } from "./entries.js";
import { named, numbered } from "./naming.js";
import { troubleOf, Writes } from "./writes.js";

const POLL_MS = 2000;
// The server takes up to 2,000 decisions at once; one request is one step of undo.
const AT_ONCE = 2000;

class Store extends EventTarget {
  constructor() {
    super();
    this.collection = null;
    this.entries = new Entries();
    this.writes = new Writes(() => this.isStale && this.recheck());
    // What undo and redo would do, as the server tells: it counts the steps of every tab.
    this.history = { undo: null, redo: null, version: -1 };
    this.version = 0;
    // Set when the server was away: whoever answers next may be another one.
    this.isStale = false;
  }

  async load() {
    const collection = await get("/api/collection");
    this.take(collection);
    return collection;
  }

  take(collection) {
    this.collection = collection;
    this.version = collection.version;
    this.isStale = false;
    this.history = { ...collection.history, version: collection.version };
    this.tell("history");
  }

  /** Begin anew after learning or after a restart: what is shown is shown afresh. */
  async reload(collection = null) {
    this.entries.clear();
    if (collection) this.take(collection);
    else await this.load();
    this.tell("relearned");
  }

  /** After a silence: go on if it is the same server, begin anew if it is not. */
  async recheck() {
    const fresh = await get("/api/collection");
    this.isStale = false;
    if (!this.isSame(fresh)) await this.reload(fresh);
  }

  isSame({ boot, run, version, tags }) {
    const { collection } = this;
    if (boot !== collection.boot || run !== collection.run || version < this.version) return false;
    return !tags || collection.tags.every((name, t) => tags[t] === name);
  }

  imageName(i) {
    return this.collection.images[i] ?? `picture ${i}`;
  }

  tagName(t) {
    return this.collection.tags[t] ?? `tag ${t}`;
  }

  /** Take rows as the server had them at a version; without one, as of the last poll. */
  takeRows(rows, version = this.version) {
    for (const { i, t, state } of rows) this.entries.take(i, t, state, version);
  }

  /**
   * Decide on entries ({i, t, state}; with `tag` if its name was typed, without `t` if it is new).
   * Shown at once as waiting, solid only when stored. Resolves with the answers, null where one was
   * not stored.
   */
  decide(entries, verdict) {
    const sent = [];
    for (let start = 0; start < entries.length; start += AT_ONCE) {
      sent.push(this.decideSome(entries.slice(start, start + AT_ONCE), verdict));
    }
    return Promise.all(sent);
  }

  decideSome(some, verdict) {
    const meant = named(some, this.collection);
    const shown = some.filter(({ t }) => t !== undefined);
    for (const { i, t, state } of shown) this.entries.ask(i, t, verdict, state);
    this.tellEntries(shown);
    const settle = () => {
      for (const { i, t } of shown) this.entries.settle(i, t);
    };
    return this.writes.send({
      path: "/api/decide",
      body: () => ({ decisions: this.decisions(meant, verdict), client }),
      count: some.length,
      done: (answer) => {
        settle();
        this.applied(answer, answer.applied, shown);
      },
      failed: () => {
        settle();
        this.tellEntries(shown);
      },
      again: () => this.decideSome(numbered(meant, this.collection), verdict),
    });
  }

  decisions(meant, verdict) {
    return numbered(meant, this.collection).map((entry) => ({ ...entry, verdict }));
  }

  undo() {
    return this.step("/api/undo", "undone");
  }

  redo() {
    return this.step("/api/redo", "redone");
  }

  /** Resolves with the step that was taken, null if there was none or nobody answered. */
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
      },
      failed: () => {},
    });
    return step;
  }

  applied(answer, rows, also = []) {
    this.hearFacts(answer);
    this.takeRows(rows, answer.version);
    this.tellEntries([...rows, ...also]);
  }

  hearFacts({ tags, counts, history, version }) {
    if (tags) this.collection.tags = tags;
    if (counts) this.collection.counts = counts;
    // A poll that was answered before a click may arrive after it.
    if (version < this.history.version) return;
    this.history = { ...history, version };
    this.tell("history");
  }

  /** Follow what other tabs decide; keeps asking for as long as the page lives. */
  follow() {
    const ask = async () => {
      if (!document.hidden) await this.poll();
      setTimeout(ask, POLL_MS);
    };
    setTimeout(ask, POLL_MS);
    // A tab that comes back must not show old states for two more seconds.
    document.addEventListener("visibilitychange", () => document.hidden || this.poll());
  }

  async poll() {
    try {
      if (this.isStale) await this.recheck();
      const since = this.version;
      const answer = await get("/api/changes", { since, tags: this.collection.tags.length });
      this.writes.heard(null);
      if (this.isSame({ ...answer, tags: null })) this.hear(answer);
      else await this.reload();
    } catch (error) {
      this.isStale = true;
      this.writes.heard(troubleOf(error));
    }
  }

  hear(answer) {
    if (answer.version !== this.version) this.hearFacts(answer);
    this.version = answer.version;
    const changed = answer.applied.filter(({ i, t, state }) =>
      this.entries.take(i, t, state, answer.version),
    );
    if (changed.length) this.tellEntries(changed);
  }

  tell(name) {
    this.dispatchEvent(new Event(name));
  }

  tellEntries(entries) {
    this.dispatchEvent(new CustomEvent("entries", { detail: entries }));
  }
}

export const store = new Store();
