// Requests to the server. A failure is either no answer, when nothing was stored as far as we know,
// or a refusal.

export class Unreachable extends Error {}
export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

// Names this tab in the journal; it is not a secret.
export const client = crypto.randomUUID();

async function request(path, options, seconds) {
  let response;
  try {
    response = await fetch(path, {
      credentials: "same-origin",
      signal: AbortSignal.timeout(1000 * seconds),
      ...options,
    });
  } catch (error) {
    throw new Unreachable("the server does not answer", { cause: error });
  }
  return parse(response);
}

async function parse(response) {
  let answer = null;
  try {
    answer = await response.json();
  } catch (error) {
    // The answer was cut short: the server may have died while it was sending.
    if (response.ok) throw new Unreachable("the answer was cut short", { cause: error });
  }
  if (response.ok) return answer;
  throw new Refused(answer?.error ?? `the server answered ${response.status}`, response.status);
}

/** Read; empty parameters are left out of the address. */
export function get(path, parameters = {}) {
  const wanted = Object.entries(parameters).filter(
    ([, v]) => v !== "" && v !== null && v !== undefined,
  );
  const query = new URLSearchParams(wanted).toString();
  return request(query ? `${path}?${query}` : path, {}, 30);
}

/** Write; a form on another site cannot send this header. */
export function post(path, body = {}) {
  const headers = { "Content-Type": "application/json", "X-Tagloom": "1" };
  return request(path, { method: "POST", headers, body: JSON.stringify(body) }, 20);
}

let marks = [];

/** Take the mark of the content of each picture, which is part of its address. */
export function useMarks(given) {
  marks = given ?? [];
}

const mark = (i) => `v=${marks[i] ?? ""}`;

export const thumb = (i, width) =>
  `/thumb/${i}?size=${width * devicePixelRatio > 176 ? 320 : 160}&${mark(i)}`;
export const large = (i) => `/picture/${i}?${mark(i)}`;
export const zoomed = (i) => `/picture/${i}?zoom=1&${mark(i)}`;
