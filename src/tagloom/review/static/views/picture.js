// One picture, large, with what is known of it and what is suggested.

import { decide, emptyPage, toggled } from "../actions.js";
import { get, large, thumb } from "../api.js";
import { Combobox } from "../combobox.js";
import { button, fill, h } from "../dom.js";
import { chip } from "../marks.js";
import { home, neighbour, seen, standing } from "../order.js";
import { address, go } from "../router.js";
import { store } from "../store.js";
import { announce } from "../telling.js";
import { Why } from "../why.js";
import { number, shortName } from "../words.js";
import { paintRow, suggestionRow } from "./suggestion.js";

class PictureView {
  constructor(root, { number: i, query }) {
    this.i = i;
    this.query = Object.fromEntries(query);
    seen(i);
    this.rows = [];
    this.current = 0;
    this.why = new Why();
    this.add = new Combobox((tag) => this.added(tag));
    this.build(root);
    this.heard = (event) => this.hear(event.detail);
    store.addEventListener("entries", this.heard);
    this.ready = this.load();
  }

  build(root) {
    const name = store.imageName(this.i);
    this.known = h("div", { class: "chips known" });
    this.suggested = h("ol", { class: "suggestions" });
    this.perhaps = h("ol", { class: "suggestions" });
    this.more = h("details", { class: "more" }, h("summary", {}, "Less likely"), this.perhaps);
    this.place = h("span", { class: "count" });
    this.waiting = h("p", { class: "quiet-text", role: "status" });
    const frame = h(
      "div",
      { class: "frame" },
      this.image(name),
      h(
        "div",
        { class: "walk" },
        button({
          label: "Previous picture",
          picture: "left",
          key: "←",
          style: "quiet",
          click: () => this.walk(-1),
        }),
        this.place,
        button({
          label: "Next picture",
          picture: "right",
          key: "→",
          style: "quiet",
          click: () => this.walk(1),
        }),
      ),
    );
    fill(
      root,
      h(
        "div",
        { class: "one" },
        frame,
        h(
          "div",
          { class: "side" },
          h(
            "div",
            { class: "one-title" },
            h(
              "a",
              { class: "back", href: this.back(), "aria-label": "Back to the pictures" },
              "Pictures",
            ),
            h("h1", { title: name }, shortName(name)),
          ),
          h(
            "section",
            { "aria-label": "Known tags" },
            h("h2", {}, "Tags"),
            this.known,
            this.add.element,
            this.waiting,
          ),
          h(
            "section",
            { "aria-label": "Suggestions" },
            h("h2", {}, "Suggestions"),
            this.suggested,
            this.more,
          ),
          this.why.element,
        ),
      ),
    );
    this.why.clear();
  }

  image(name) {
    // The thumbnail is at hand from the list: something is seen at once.
    const shown = h("img", { class: "large", src: thumb(this.i, 320), alt: name });
    const full = new Image();
    full.src = large(this.i);
    full.decode().then(
      () => {
        shown.src = full.src;
      },
      () => {},
    );
    return shown;
  }

  back() {
    const { wall } = this.query;
    const usual = wall ? address(`tag/${wall}`) : address("pictures", this.query);
    return home(this.query) ?? usual;
  }

  async load() {
    try {
      const picture = await get(`/api/pictures/${this.i}`);
      store.takeRows(
        picture.tags.map((tag) => ({ ...tag, i: this.i })),
        picture.version,
      );
      this.tags = picture.tags;
      this.sort(picture.candidates ?? []);
    } catch (error) {
      fill(
        this.suggested,
        h(
          "li",
          {},
          emptyPage("", error, () => this.load()),
        ),
      );
      return;
    }
    this.drawPlace();
    this.prefetch();
  }

  /** Rows keep their places while the picture is shown, whatever is decided. */
  sort(candidates) {
    const isGiven = ({ state, p }) =>
      ["known", "added"].includes(state) || (state === "accepted" && p === null);
    this.given = this.tags.filter(isGiven);
    const listed = this.tags.filter((tag) => !isGiven(tag));
    const below = candidates.map((tag) => ({ ...tag, state: "open" }));
    this.rows = [...listed, ...below].map((tag, k) => ({ tag, element: this.row(tag, k) }));
    fill(this.suggested, ...this.rows.slice(0, listed.length).map(({ element }) => element));
    if (!listed.length)
      fill(
        this.suggested,
        h("li", { class: "quiet-text" }, "Nothing is suggested for this picture."),
      );
    fill(this.perhaps, ...this.rows.slice(listed.length).map(({ element }) => element));
    this.more.hidden = !below.length;
    this.more.open = !listed.length;
    this.draw();
    if (this.rows.length) this.choose(0, false);
  }

  row(tag, k) {
    return suggestionRow(tag, k, {
      decide: (verdict) => this.decide(k, verdict),
      focus: () => this.choose(k, false),
    });
  }

  draw() {
    for (const { tag, element } of this.rows) paintRow(element, this.i, tag);
    fill(this.known, ...this.given.map((tag) => this.givenChip(tag)));
    if (!this.given.length) this.known.append(h("span", { class: "quiet-text" }, "none yet"));
  }

  givenChip(tag) {
    const { state } = store.entries.look(this.i, tag.t, tag.state);
    const isGone = state === "removed" || state === "rejected" || state === "open";
    const click = () => decide([{ i: this.i, t: tag.t, state }], isGone ? "accept" : "reject");
    const label = `${isGone ? "Put back" : "Remove"} ${store.tagName(tag.t)}`;
    const word = chip(this.i, tag);
    word.append(button({ label, picture: isGone ? "undo" : "no", style: "in-chip", click }));
    return word;
  }

  decide(k, verdict) {
    const { tag } = this.rows[k];
    const { state } = store.entries.look(this.i, tag.t, tag.state);
    this.choose(k, false);
    decide([{ i: this.i, t: tag.t, state }], toggled(state, verdict));
  }

  choose(k, isFocus = true) {
    if (k < 0 || k >= this.rows.length) return;
    this.current = k;
    this.rows.forEach(({ element }, other) => {
      element.classList.toggle("current", other === k);
      element.tabIndex = other === k ? 0 : -1;
    });
    const { tag, element } = this.rows[k];
    if (isFocus) {
      if (element.closest("details")) this.more.open = true;
      element.focus();
    }
    this.why.show(this.i, tag.t);
  }

  async added({ tag, t }) {
    const isNew = t === undefined;
    this.waiting.textContent = `${tag}: storing`;
    const rows = await decide([{ i: this.i, t, tag, state: "open" }], "accept");
    this.waiting.textContent = rows ? "" : `${tag} was not stored`;
    if (rows && isNew) announce(`${tag} is a new tag, added`);
  }

  hear(changed) {
    const here = changed.filter(({ i }) => i === this.i);
    if (!here.length || !this.given) return;
    for (const { t, state } of here) {
      const isListed =
        this.rows.some(({ tag }) => tag.t === t) || this.given.some((tag) => tag.t === t);
      if (!isListed) this.given.push({ t, p: null, state: state ?? "open" });
    }
    this.draw();
  }

  async walk(step) {
    const next = await neighbour(this.query, this.i, step, store.collection.images.length);
    if (next === null)
      announce(step > 0 ? "This is the last picture" : "This is the first picture");
    else go(address(`picture/${next}`, this.query));
  }

  drawPlace() {
    const found = standing(this.query, this.i);
    const [at, of] = found ?? [this.i + 1, store.collection.images.length];
    this.place.textContent = `${number(at)} of ${number(of)}`;
  }

  async prefetch() {
    const next = await neighbour(this.query, this.i, 1, store.collection.images.length).catch(
      () => null,
    );
    if (next !== null) new Image().src = large(next);
    this.drawPlace();
  }

  key(name, event) {
    const digit = Number.parseInt(name, 10);
    if (digit) this.pick(digit - 1, event.shiftKey ? "reject" : "accept");
    else if (name === "ArrowLeft") this.walk(-1);
    else if (name === "ArrowRight") this.walk(1);
    else if (name === "ArrowDown" || name === "ArrowUp") this.step(name === "ArrowDown" ? 1 : -1);
    else if ((name === "a" || name === "r") && this.rows.length)
      this.decide(this.current, name === "a" ? "accept" : "reject");
    else if (name === "t" || name === "/") this.add.input.focus();
    else if (name === "Escape") go(this.back());
    else return false;
    return true;
  }

  /** By digit; never what is folded away, for nobody would see what was decided. */
  pick(k, verdict) {
    if (this.rows[k]?.element.checkVisibility()) this.decide(k, verdict);
    else announce(`There is no suggestion ${k + 1}`);
  }

  step(step) {
    const isThere = this.rows[this.current]?.element.contains(document.activeElement);
    this.choose(isThere ? this.current + step : this.current);
  }

  destroy() {
    this.why.soon.cancel();
    store.removeEventListener("entries", this.heard);
  }
}

export const showPicture = (root, place) => new PictureView(root, place);
