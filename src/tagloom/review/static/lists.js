// Long lists: their rows are fetched as they come into view, and the list that a picture was opened
// from is remembered, so that "next picture" follows its order.

import { get } from "./api.js";

/** A list with random access, fetched by pages. */
export class PagedList {
  constructor(fetchPage, size, loaded) {
    Object.assign(this, { fetchPage, size, loaded });
    this.rows = [];
    this.wanted = new Set();
    this.total = 0;
  }

  get(index) {
    return this.rows[index];
  }

  /** Fetch the rows from first to last, unless they are there or on their way. */
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
 * A list fetched in chunks that may shrink on the server while its entries are decided: the next
 * chunk begins after the rows that are still undecided, and no row is added twice.
 */
export class GrowingList {
  constructor(fetchPage, { keyOf, isOpen, loaded, first = 120, chunk = 1000 }) {
    Object.assign(this, { fetchPage, keyOf, isOpen, loaded, first, chunk });
    this.rows = [];
    this.seen = new Set();
    this.complete = false;
    this.loading = null;
  }

  get(index) {
    return this.rows[index];
  }

  /** Resolves when the rows up to `last` are loaded, or there are no more. */
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
    let added = await this.fetchChunk(open);
    // Some lists keep decided rows: then the next rows come after all we have.
    if (!added.new && added.got && open < this.rows.length)
      added = await this.fetchChunk(this.rows.length);
    this.complete = !added.new;
    this.loaded(added.answer);
  }

  async fetchChunk(offset) {
    const limit = this.rows.length ? this.chunk : this.first;
    const answer = await this.fetchPage(offset, limit);
    const fresh = answer.rows.filter((row) => !this.seen.has(this.keyOf(row)));
    for (const row of fresh) this.seen.add(this.keyOf(row));
    this.rows.push(...fresh);
    return { new: fresh.length, got: answer.rows.length, answer };
  }
}

const PAGE_SIZE = 60;
let viewed = null;
let order = { key: null, numbers: [], total: 0, address: null };

// Addresses leave out default values; the list is the same.
const keyOf = ({ q, state, sort, tag, wall }) =>
  JSON.stringify([q || "", state || "all", sort || "name", tag || "", String(wall ?? "")]);

/** Remember the list that a picture is opened from; gaps are filled when they are reached. */
export function rememberList(query, rows, total, address) {
  order = { key: keyOf(query), numbers: rows.map((row) => row?.i), total, address };
}

/** The address of the list remembered for this query; null if another one is remembered. */
export const listAddress = (query) => (order.key === keyOf(query) ? order.address : null);

/** Note the picture viewed last, where a list continues after coming back. */
export const setLastViewed = (i) => {
  viewed = i;
};
export const lastViewed = () => viewed;

async function fetchAround(query, index) {
  // The wall of a tag shrinks as its pictures are decided: it is followed as it was.
  if (query.wall) return;
  const offset = Math.floor(index / PAGE_SIZE) * PAGE_SIZE;
  const answer = await get("/api/pictures", { ...query, offset, limit: PAGE_SIZE });
  order.total = Math.max(order.total, answer.total);
  answer.rows.forEach((row, k) => {
    order.numbers[offset + k] ??= row.i;
  });
}

/** The picture `step` places after picture i; null at the end of the list. */
export async function pictureAfter(query, i, step, count) {
  if (order.key !== keyOf(query)) {
    order = { key: keyOf(query), numbers: [], total: 0, address: null };
    await fetchAround(query, 0);
  }
  const at = order.numbers.indexOf(i);
  // Opened by address or from another list: then by number.
  if (at < 0) return i + step >= 0 && i + step < count ? i + step : null;
  const index = at + step;
  if (index < 0 || index >= order.total) return null;
  if (order.numbers[index] === undefined) await fetchAround(query, index);
  return order.numbers[index] ?? null;
}

/** The position of a picture as [position, total]; null if the list is not known. */
export function positionOf(query, i) {
  const at = order.key === keyOf(query) ? order.numbers.indexOf(i) : -1;
  return at < 0 ? null : [at + 1, order.total];
}
