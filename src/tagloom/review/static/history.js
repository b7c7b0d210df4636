// What undo and redo would do, in words. The server knows best, since it counts every tab's steps;
// where it does not say, the steps of this tab are remembered here.

const summary = (batch, rows, verdict) => {
  const tags = new Set(rows.map(({ t }) => t));
  const pictures = new Set(rows.map(({ i }) => i));
  return {
    batch,
    verdict,
    n: rows.length,
    t: tags.size === 1 ? rows[0].t : null,
    i: pictures.size === 1 ? rows[0].i : null,
  };
};

export class History {
  constructor() {
    this.back = [];
    this.forth = [];
    this.told = null;
  }

  /** The step that undo (redo) would take: undefined if unknown, null if there is none. */
  get undo() {
    return this.told ? this.told.undo : this.back.at(-1);
  }

  get redo() {
    return this.told ? this.told.redo : this.forth.at(-1) ?? null;
  }

  take(history) {
    if (history) this.told = history;
    return Boolean(history);
  }

  did(answer, verdict) {
    this.take(answer.history);
    // All was so already: no step, and nothing to undo.
    if (answer.batch === null) return;
    this.back.push(summary(answer.batch, answer.applied, verdict));
    this.forth = [];
  }

  /** A step was undone or redone; returns what is known of it. */
  stepped(word, taken, history) {
    const known = (word === "undone" ? this.undo : this.redo) ?? null;
    const [from, to] = word === "undone" ? [this.back, this.forth] : [this.forth, this.back];
    const own = from.at(-1)?.batch === taken.batch ? from.pop() : null;
    const step =
      own ?? (known?.batch === taken.batch ? known : summary(taken.batch, taken.applied, "mixed"));
    to.push(step);
    this.take(history);
    return step;
  }

  ended(word) {
    if (word === "undone") this.back = [null];
    else this.forth = [];
  }

  /** Another tab did something: what undo would do is known only if the server says so. */
  heard(history, foreign) {
    if (this.take(history)) return true;
    if (foreign) {
      this.back.push(undefined);
      this.forth = [];
    }
    return foreign;
  }
}
