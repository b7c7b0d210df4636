// Why a tag is suggested: the pictures most like this one, those that carry the tag first.

import { get, thumb } from "./api.js";
import { fill, h, later } from "./dom.js";
import { address } from "./router.js";
import { store } from "./store.js";
import { many } from "./words.js";

const WORDS = { present: "has it", absent: "has it not", unknown: "not known" };

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
    this.asked = null;
    // Moving through the suggestions quickly must not ask for each.
    this.soon = later((i, t) => this.load(i, t), 140);
  }

  show(i, t) {
    const key = `${i}:${t}`;
    if (this.asked === key) return;
    this.asked = key;
    this.title.textContent = `Why ${store.tagName(t)}?`;
    this.soon(i, t);
  }

  clear() {
    this.asked = null;
    this.soon.cancel();
    this.title.textContent = "Why";
    fill(
      this.body,
      h("p", { class: "quiet-text" }, "Choose a suggestion to see which pictures speak for it."),
    );
  }

  async load(i, t) {
    const key = `${i}:${t}`;
    try {
      const answer = await get("/api/why", { i, t });
      if (this.asked === key) this.draw(answer);
    } catch (error) {
      if (this.asked === key)
        fill(this.body, h("p", { class: "quiet-text" }, `Not known: ${error.message}.`));
    }
  }

  draw({ neighbours, n_neighbors: total }) {
    const carriers = neighbours.filter(({ state }) => state === "present").length;
    const text = neighbours.length
      ? `${carriers} of the ${many(total, "most similar picture")} carry it.`
      : "No similar picture is known.";
    fill(
      this.body,
      h("p", { class: "quiet-text" }, text),
      h(
        "div",
        { class: "neighbours" },
        ...neighbours.slice(0, 12).map((one) => this.neighbour(one)),
      ),
    );
  }

  neighbour({ i, state }) {
    const name = store.imageName(i);
    return h(
      "a",
      {
        class: "neighbour",
        href: address(`picture/${i}`),
        "data-said": state,
        title: name,
        "aria-label": `${name}: ${WORDS[state] ?? state}`,
      },
      h("img", { src: thumb(i, 110), alt: "", loading: "lazy", decoding: "async" }),
      h("span", {}, WORDS[state] ?? state),
    );
  }
}
