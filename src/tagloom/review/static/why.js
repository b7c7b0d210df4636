// Why a tag is suggested: the most similar pictures, those with the tag first.

import { get, thumb } from "./api.js";
import { fill, h, debounce } from "./dom.js";
import { many } from "./format.js";
import { address } from "./router.js";
import { store } from "./store.js";

const WORDS = { present: "has the tag", absent: "does not have the tag", unknown: "unknown" };

export class Why {
  constructor() {
    this.title = h("h2", {}, "Why");
    this.body = h("div", { class: "why-body" });
    this.element = h(
      "section",
      { class: "why", "aria-label": "Why this tag" },
      this.title,
      this.body,
    );
    this.requested = null;
    // Moving quickly through the suggestions must not request each of them.
    this.soon = debounce((i, t) => this.load(i, t), 140);
  }

  show(i, t) {
    const key = `${i}:${t}`;
    if (this.requested === key) return;
    this.requested = key;
    this.title.textContent = `Why ${store.tagName(t)}?`;
    this.soon(i, t);
  }

  clear() {
    this.requested = null;
    this.soon.cancel();
    this.title.textContent = "Why";
    fill(
      this.body,
      h("p", { class: "quiet-text" }, "Select a suggestion to see the similar pictures behind it."),
    );
  }

  async load(i, t) {
    const key = `${i}:${t}`;
    try {
      const answer = await get("/api/why", { i, t });
      if (this.requested === key) this.draw(answer);
    } catch (error) {
      if (this.requested === key)
        fill(
          this.body,
          h("p", { class: "quiet-text" }, `This could not be loaded: ${error.message}.`),
        );
    }
  }

  draw({ neighbors, n_neighbors: total, looks_like: looks }) {
    const present = neighbors.filter(({ state }) => state === "present").length;
    const text = neighbors.length
      ? `${present} of the ${many(total, "most similar picture")} have it.`
      : "There are no similar pictures.";
    fill(
      this.body,
      looks ? h("p", { class: "looks-like" }, `It ${looks}.`) : null,
      h("p", { class: "quiet-text" }, text),
      h("div", { class: "neighbors" }, ...neighbors.slice(0, 12).map((one) => this.neighbor(one))),
    );
  }

  neighbor({ i, state }) {
    const name = store.imageName(i);
    return h(
      "a",
      {
        class: "neighbor",
        href: address(`picture/${i}`),
        "data-label": state,
        title: name,
        "aria-label": `${name}: ${WORDS[state] ?? state}`,
      },
      h("img", { src: thumb(i, 110), alt: "", loading: "lazy", decoding: "async" }),
      h("span", {}, WORDS[state] ?? state),
    );
  }
}
