// The state of this tab: the collection, the entries, the history, and following other tabs.

import { client, get, Unreachable } from "./api.js";
import { Entries } from "./entries.js";
import { History } from "./history.js";
import { Writes } from "./writes.js";

const POLL_MS = 2000;
// The server takes up to 2,000 decisions at once; one request is one step of undo.
const AT_ONCE = 2000;

class Store extends EventTarget {
  constructor() {
    super();
    this.collection = null;
    this.entries = new Entries();
    this.writes = new Writes();
    this.history = new History();
    this.version = 0;
  }

  async load() {
    const collection = await get("/api/collection");
    this.collection = collection;
    this.version = collection.version;
    this.history.take(collection.history);
    this.tell("collection");
    return collection;
  }

  /** Begin anew after learning: numbers may mean other pictures and tags than before. */
  async reload() {
    this.entries.clear();
    this.writes.forget();
    await this.load();
    this.tell("relearned");
  }

  imageName(i) {
    return this.collection.images[i] ?? `picture ${i}`;
  }

  tagName(t) {
    return this.collection.tags[t] ?? `tag ${t}`;
  }

  /** Take rows as the server had them at a version; without one, as of the last poll. */
  takeRows(rows, version = this.version) {
    for (const { i, t, state, said } of rows) this.entries.take(i, t, state, version, said);
  }

  /**
   * Decide on entries ({i, t, state} or {i, tag} for a name). Shown at once as waiting, solid only
   * when stored. Resolves with the answers, null where one was not stored.
   */
  decide(entries, verdict) {
    const sent = [];
    for (let start = 0; start < entries.length; start += AT_ONCE) {
      sent.push(this.decideSome(entries.slice(start, start + AT_ONCE), verdict));
    }
    return Promise.all(sent);
  }

  decideSome(some, verdict) {
    const numbered = some.filter(({ t }) => t !== undefined);
    for (const { i, t, state } of numbered) this.entries.ask(i, t, verdict, state);
    this.tellEntries(numbered);
    const settle = () => {
      for (const { i, t } of numbered) this.entries.settle(i, t);
    };
    const decisions = some.map(({ i, t, tag }) =>
      t === undefined ? { i, tag, verdict } : { i, t, verdict },
    );
    return this.writes.send({
      path: "/api/decide",
      body: { decisions, client },
      count: some.length,
      done: (answer) => {
        settle();
        this.history.did(answer, verdict);
        this.applied(answer, answer.applied, numbered);
      },
      failed: () => {
        settle();
        this.tellEntries(numbered);
      },
      again: () => this.decideSome(some, verdict),
    });
  }

  undo() {
    return this.step("/api/undo", "undone");
  }

  redo() {
    return this.step("/api/redo", "redone");
  }

  /** Resolves with the step that was undone or redone, null if there was none or nobody answered. */
  async step(path, word) {
    let step = null;
    await this.writes.send({
      path,
      body: { client },
      count: 0,
      done: (answer) => {
        const taken = answer[word] ?? answer.undone ?? answer.redone;
        step = taken && { ...taken, ...this.history.stepped(word, taken, answer.history) };
        if (!taken) this.history.ended(word);
        this.applied(answer, taken?.applied ?? []);
      },
      failed: () => {},
    });
    return step;
  }

  applied(answer, rows, also = []) {
    if (answer.tags) this.collection.tags = answer.tags;
    if (answer.counts) this.collection.counts = answer.counts;
    this.takeRows(rows, answer.version);
    this.tellEntries([...rows, ...also]);
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
    let answer;
    try {
      answer = await get("/api/changes", { since: this.version, tags: this.collection.tags.length });
    } catch (error) {
      // A refusal is an answer: somebody is there.
      this.writes.heard(!(error instanceof Unreachable));
      return;
    }
    this.writes.heard(true);
    if (answer.run !== undefined && answer.run !== this.collection.run) {
      await this.reload();
      return;
    }
    const isNews = answer.version !== this.version;
    this.version = answer.version;
    this.hear(answer, isNews);
  }

  hear(answer, isNews) {
    if (answer.tags) this.collection.tags = answer.tags;
    if (answer.counts) this.collection.counts = answer.counts;
    const changed = answer.applied.filter(({ i, t, state }) =>
      this.entries.take(i, t, state, answer.version),
    );
    if (changed.length) this.tellEntries(changed);
    if (isNews && this.history.heard(answer.history, changed.length > 0)) this.tell("history");
  }

  tell(name) {
    this.dispatchEvent(new Event(name));
  }

  tellEntries(entries) {
    this.dispatchEvent(new CustomEvent("entries", { detail: entries }));
  }
}

export const store = new Store();
