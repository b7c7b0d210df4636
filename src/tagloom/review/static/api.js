// Talking to the server. Two kinds of trouble are told apart, because they mean different things to
// the person: nobody answered (nothing was stored as far as we know), or the answer was a refusal.

export class Unreachable extends Error {}
export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

// Names this tab in the server's log; it is no secret and guards nothing.
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
  return answerOf(response);
}

async function answerOf(response) {
  let answer = null;
  try {
    answer = await response.json();
  } catch (error) {
    // The answer broke off: the server may have died while it spoke.
    if (response.ok) throw new Unreachable("the answer broke off", { cause: error });
  }
  if (response.ok) return answer;
  throw new Refused(answer?.error ?? `the server answered ${response.status}`, response.status);
}

/** Read; parameters that are empty are left out of the address. */
export function get(path, parameters = {}) {
  const wanted = Object.entries(parameters).filter(
    ([, v]) => v !== "" && v !== null && v !== undefined,
  );
  const query = new URLSearchParams(wanted).toString();
  return request(query ? `${path}?${query}` : path, {}, 30);
}

/** Write; the header cannot be sent by a form of another site. */
export function post(path, body = {}) {
  const headers = { "Content-Type": "application/json", "X-Tagloom": "1" };
  return request(path, { method: "POST", headers, body: JSON.stringify(body) }, 20);
}

export const thumb = (i, width) => `/thumb/${i}?size=${width * devicePixelRatio > 176 ? 320 : 160}`;
export const large = (i) => `/picture/${i}`;
