// Rows of long lists, fetched when they are about to be seen.

/** Rows at any place: pages are fetched as they are asked for. */
export class Pages {
  constructor(fetchPage, size, loaded) {
    Object.assign(this, { fetchPage, size, loaded });
    this.rows = [];
    this.wanted = new Set();
    this.total = 0;
  }

  get(index) {
    return this.rows[index];
  }

  /** See that the rows from first to last are there, or on their way. */
  need(first, last) {
    for (let page = Math.floor(first / this.size); page * this.size < last; page += 1) {
      if (!this.wanted.has(page)) this.fetch(page);
    }
  }

  async fetch(page) {
    this.wanted.add(page);
    const offset = page * this.size;
    try {
      const answer = await this.fetchPage(offset, this.size);
      this.total = answer.total;
      answer.rows.forEach((row, k) => {
        this.rows[offset + k] = row;
      });
      this.loaded(offset, offset + answer.rows.length, answer);
    } catch (error) {
      this.wanted.delete(page);
      this.loaded(offset, offset, null, error);
    }
  }
}

/**
 * Rows one bite after the other, for lists that shrink on the server while their entries are
 * decided: the next bite begins after those that are still undecided, and nothing comes twice.
 */
export class Growing {
  constructor(fetchPage, { keyOf, isOpen, loaded, first = 120, bite = 1000 }) {
    Object.assign(this, { fetchPage, keyOf, isOpen, loaded, first, bite });
    this.rows = [];
    this.seen = new Set();
    this.complete = false;
    this.loading = null;
  }

  get(index) {
    return this.rows[index];
  }

  /** Resolves when the rows up to `last` are there, or there are no more. */
  async need(last) {
    while (this.rows.length < last && !this.complete) {
      this.loading ??= this.fetch().finally(() => {
        this.loading = null;
      });
      await this.loading;
    }
  }

  async fetch() {
    const open = this.rows.filter((row) => this.isOpen(row)).length;
    let added = await this.bitten(open);
    // Some lists keep what is decided: then the next rows come after all we have.
    if (!added.new && added.got && open < this.rows.length)
      added = await this.bitten(this.rows.length);
    this.complete = !added.new;
    this.loaded(added.answer);
  }

  async bitten(offset) {
    const limit = this.rows.length ? this.bite : this.first;
    const answer = await this.fetchPage(offset, limit);
    const fresh = answer.rows.filter((row) => !this.seen.has(this.keyOf(row)));
    for (const row of fresh) this.seen.add(this.keyOf(row));
    this.rows.push(...fresh);
    return { new: fresh.length, got: answer.rows.length, answer };
  }
}
