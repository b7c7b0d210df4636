// Long lists: their rows are fetched as they come into view, and the list that a picture was opened
// from is remembered, so that "next picture" follows its order.

import { get } from "./api.js";

/**
 * Pictures in the order of their list when it was opened, however many are decided since; their rows
 * are fetched by number as they come into view.
 */
export class PictureList {
  /** `open()` fetches the numbers of all pictures with the first rows, `fetchRows(numbers)` others. */
  constructor(open, fetchRows, size, loaded) {
    Object.assign(this, { fetchOpening: open, fetchRows, size, loaded });
    this.numbers = [];
    this.rows = [];
    this.wanted = new Set();
  }

  get total() {
    return this.numbers.length;
  }

  get(index) {
    return this.rows[index];
  }

  async open() {
    try {
      const answer = await this.fetchOpening();
      this.numbers = answer.numbers;
      for (let page = 0; page * this.size < answer.rows.length; page += 1) this.wanted.add(page);
      this.take(0, answer);
    } catch (error) {
      this.loaded(0, 0, null, error);
    }
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
      this.take(offset, await this.fetchRows(this.numbers.slice(offset, offset + this.size)));
    } catch (error) {
      this.wanted.delete(page);
      this.loaded(offset, offset, null, error);
    }
  }

  take(offset, answer) {
    answer.rows.forEach((row, k) => {
      this.rows[offset + k] = row;
    });
    this.loaded(offset, offset + answer.rows.length, answer);
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

let viewed = null;
let order = { key: null, numbers: [], address: null };

// Addresses leave out default values; the list is the same.
export const DEFAULT_STATE = "open";
const keyOf = ({ q, state, sort, tag, folder, date, wall }) =>
  JSON.stringify([
    q || "",
    state || DEFAULT_STATE,
    sort || "name",
    tag || "",
    folder || "",
    date || "",
    String(wall ?? ""),
  ]);

/** Remember the numbers of the list that a picture is opened from. */
export function rememberList(query, numbers, address) {
  order = { key: keyOf(query), numbers, address };
}

/** The address of the list remembered for this query; null if another one is remembered. */
export const listAddress = (query) => (order.key === keyOf(query) ? order.address : null);

/** Note the picture viewed last, where a list continues after coming back. */
export const setLastViewed = (i) => {
  viewed = i;
};
export const lastViewed = () => viewed;

async function numbersOf(query) {
  if (order.key !== keyOf(query)) {
    order = { key: keyOf(query), numbers: [], address: null };
    // The wall of a tag shrinks as its pictures are decided: it is followed as it was, or not at all.
    if (query.wall === undefined) order.numbers = await matching(query);
  }
  return order.numbers;
}

async function matching({ state = DEFAULT_STATE, ...query }) {
  return (await get("/api/pictures", { ...query, state, limit: 0 })).numbers;
}

/** The picture `step` places after picture i; null at the end of the list. */
export async function pictureAfter(query, i, step, count) {
  const numbers = await numbersOf(query);
  const at = numbers.indexOf(i);
  // Opened by address or from another list: then by number.
  if (at < 0) return i + step >= 0 && i + step < count ? i + step : null;
  return numbers[at + step] ?? null;
}

/** The next picture of the list that has something to decide, from its start after its end. */
export async function nextToDecide(query, i) {
  const numbers = await numbersOf(query);
  const open = new Set(await matching({}));
  open.delete(i);
  const at = numbers.indexOf(i);
  const later = [...numbers.slice(at + 1), ...numbers.slice(0, Math.max(0, at))];
  return (at < 0 ? [...open] : later).find((other) => open.has(other)) ?? null;
}

/** The position of a picture as [position, total]; null if the list is not known. */
export function positionOf(query, i) {
  const at = order.key === keyOf(query) ? order.numbers.indexOf(i) : -1;
  return at < 0 ? null : [at + 1, order.numbers.length];
}
