// A browser for the tests: the globals that the modules of the review page expect, by jsdom, and a
// server that answers as a test says.

import { readFileSync } from "node:fs";

import { JSDOM } from "jsdom";

const PAGE = new URL("../../src/tagloom/review/static/index.html", import.meta.url);
const NAMES = [
  "document",
  "location",
  "history",
  "Element",
  "Event",
  "CustomEvent",
  "EventTarget",
  "HTMLElement",
  "HTMLInputElement",
  "HTMLSelectElement",
  "HTMLTextAreaElement",
  "KeyboardEvent",
  "Node",
];

/** Open the page of the review without running its scripts; call before importing its modules. */
export function openPage(hash = "") {
  const html = readFileSync(PAGE, "utf8");
  const dom = new JSDOM(html, { url: `http://127.0.0.1:4321/${hash}`, pretendToBeVisual: true });
  for (const name of NAMES) globalThis[name] = dom.window[name];
  globalThis.window = dom.window;
  globalThis.addEventListener = dom.window.addEventListener.bind(dom.window);
  globalThis.scrollTo = () => {};
  globalThis.scrollY = 0;
  globalThis.devicePixelRatio = 1;
  return dom;
}

/**
 * Answer all requests by `answer(path, body)`, which returns the JSON to send or throws: a
 * `Refusal` is sent with its status, any other error means that the server does not answer.
 * Returns the list of requests.
 */
export function serve(answer) {
  const requests = [];
  globalThis.fetch = async (path, { method = "GET", body, headers } = {}) => {
    const request = { method, path, headers, body: body ? JSON.parse(body) : null };
    requests.push(request);
    try {
      const content = await answer(path, request.body);
      return new Response(JSON.stringify(content), { status: 200 });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return new Response(JSON.stringify({ error: error.message }), { status: error.status });
    }
  };
  return requests;
}

export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Import a module of the review page. */
export const load = (name) =>
  import(new URL(`../../src/tagloom/review/static/${name}`, import.meta.url));
