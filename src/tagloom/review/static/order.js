// In which order "next picture" walks: that of the list the person came from. The list is kept as
// it was, since a picture that was just decided may no longer be in it on the server.

import { get } from "./api.js";

const SIZE = 60;
let last = null;
let order = { key: null, numbers: [], total: 0, address: null };

// An address leaves out what is usual; the list it means is the same.
const keyOf = ({ q, state, sort, tag, wall }) =>
  JSON.stringify([q || "", state || "all", sort || "name", tag || "", String(wall ?? "")]);

/** Remember the list a picture is opened from; holes are filled when they are reached. */
export function remember(query, rows, total, address) {
  order = { key: keyOf(query), numbers: rows.map((row) => row?.i), total, address };
}

/** The address of the list that is remembered for this query; null if another one is. */
export const home = (query) => (order.key === keyOf(query) ? order.address : null);

/** The picture that was looked at last: a list that is come back to begins there. */
export const seen = (i) => {
  last = i;
};
export const lastSeen = () => last;

async function fillFrom(query, index) {
  // A wall is walked as it was seen; it cannot be asked for again once its pictures are decided.
  if (query.wall) return;
  const offset = Math.floor(index / SIZE) * SIZE;
  const answer = await get("/api/pictures", { ...query, offset, limit: SIZE });
  order.total = Math.max(order.total, answer.total);
  answer.rows.forEach((row, k) => {
    order.numbers[offset + k] ??= row.i;
  });
}

/** The picture `step` places after picture i, with where it stands; null at the end of the list. */
export async function neighbour(query, i, step, count) {
  if (order.key !== keyOf(query)) {
    order = { key: keyOf(query), numbers: [], total: 0, address: null };
    await fillFrom(query, 0);
  }
  const at = order.numbers.indexOf(i);
  // Opened by a bare address or from elsewhere: then by number.
  if (at < 0) return i + step >= 0 && i + step < count ? i + step : null;
  const index = at + step;
  if (index < 0 || index >= order.total) return null;
  if (order.numbers[index] === undefined) await fillFrom(query, index);
  return order.numbers[index] ?? null;
}

/** Where a picture stands: [place, total], or null if the list is not known. */
export function standing(query, i) {
  const at = order.key === keyOf(query) ? order.numbers.indexOf(i) : -1;
  return at < 0 ? null : [at + 1, order.total];
}
